//! Each shape with every optional field and without; what the packages make of them is checked by tools/snippets.

use super::*;
use crate::policy::named;
use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};
use crate::sweep::PolicyAsk;

fn bare() -> Knobs {
    Knobs::api(ClearToolUses { trigger: Trigger::InputTokens(60_000), keep: 5, ..ClearToolUses::default() })
}

fn full() -> Knobs {
    Knobs::api(ClearToolUses {
        trigger: Trigger::ToolUses(30),
        keep: 4,
        clear_at_least: 10_000,
        exclude_tools: vec!["memory".to_owned(), "a \"b\"".to_owned()],
        clear_tool_inputs: ClearToolInputs::Yes,
    })
}

fn point(policy: &str, stated: &[&str]) -> Knobs {
    let ask = PolicyAsk::new(named::find(policy).unwrap(), stated).unwrap();
    ask.configs().unwrap().remove(0)
}

fn text(shape: Shape, knobs: &Knobs) -> String {
    shape.snippet(knobs).unwrap().text
}

#[test]
fn python() {
    assert_eq!(
        text(Shape::Python, &bare()),
        r#"import anthropic

client = anthropic.Anthropic()
response = client.beta.messages.create(
    model=model,
    max_tokens=max_tokens,
    messages=messages,
    tools=tools,
    betas=["context-management-2025-06-27"],
    context_management={
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 60000},
                "keep": {"type": "tool_uses", "value": 5},
            },
        ],
    },
)"#
    );
    let full = text(Shape::Python, &full());
    let optional = r#"                "trigger": {"type": "tool_uses", "value": 30},
                "keep": {"type": "tool_uses", "value": 4},
                "clear_at_least": {"type": "input_tokens", "value": 10000},
                "exclude_tools": ["memory", "a \"b\""],
                "clear_tool_inputs": True,
"#;
    assert!(full.contains(optional), "{full}");
}

#[test]
fn typescript() {
    assert_eq!(
        text(Shape::Typescript, &bare()),
        r#"import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const response = await client.beta.messages.create({
  model,
  max_tokens,
  messages,
  tools,
  betas: ["context-management-2025-06-27"],
  context_management: {
    edits: [
      {
        type: "clear_tool_uses_20250919",
        trigger: { type: "input_tokens", value: 60000 },
        keep: { type: "tool_uses", value: 5 },
      },
    ],
  },
});"#
    );
    let full = text(Shape::Typescript, &full());
    assert!(full.contains("clear_at_least: { type: \"input_tokens\", value: 10000 },\n        exclude_tools: [\"memory\", \"a \\\"b\\\"\"],\n        clear_tool_inputs: true,\n"), "{full}");
}

#[test]
fn some_tools_inputs() {
    let Knobs { edit: Some(edit), .. } = full() else { unreachable!() };
    let knobs = Knobs::api(ClearToolUses { clear_tool_inputs: ClearToolInputs::Tools(vec!["bash".to_owned()]), ..edit });
    assert!(text(Shape::Python, &knobs).contains("\"clear_tool_inputs\": [\"bash\"],"));
    let vercel = Shape::Vercel.snippet(&knobs).unwrap();
    assert!(!vercel.text.contains("clearToolInputs") && vercel.note.contains("clearToolInputs"));
    let all = Shape::Vercel.snippet(&full()).unwrap();
    assert!(all.text.contains("clearToolInputs: true,") && !all.note.contains("clearToolInputs"));
}

#[test]
fn gateways() {
    let openrouter = text(Shape::Openrouter, &bare());
    assert!(openrouter.contains("base_url=\"https://openrouter.ai/api\"") && openrouter.contains("\"value\": 60000"), "{openrouter}");
    let handed_on = Shape::Litellm.snippet(&bare()).unwrap();
    let emulated = Shape::Litellm.snippet(&point("litellm", &["trigger=60000", "keep=5"])).unwrap();
    assert_eq!(handed_on.text, emulated.text);
    assert_ne!(handed_on.note, emulated.note);
}

#[test]
fn langchain() {
    let bare = point("langchain_py", &["trigger=60000", "keep=5"]);
    assert_eq!(
        text(Shape::Langchain, &bare),
        r"from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware

agent = create_agent(
    model=model,
    tools=tools,
    middleware=[
        ContextEditingMiddleware(
            edits=[
                ClearToolUsesEdit(
                    trigger=60000,
                    keep=5,
                ),
            ],
        ),
    ],
)"
    );
    let full = point("langchain_py", &["trigger=60000", "keep=5", "clear_at_least=9000", "exclude_tools=memory|todo"]);
    let full = Shape::Langchain.snippet(&full).unwrap();
    let optional = "                    clear_at_least=9000,\n                    exclude_tools=[\"memory\", \"todo\"],\n";
    assert!(full.text.contains(optional) && full.note.contains("grows on"), "{full:?}");
    assert!(!Shape::Langchain.snippet(&bare).unwrap().note.contains("grows on"));
}

#[test]
fn langchain_js() {
    let bare = point("langchain_js", &["trigger=0", "keep=5"]);
    assert_eq!(
        text(Shape::LangchainJs, &bare),
        r#"import { ClearToolUsesEdit, contextEditingMiddleware, createAgent } from "langchain";

const agent = createAgent({
  model,
  tools,
  middleware: [
    contextEditingMiddleware({
      edits: [
        new ClearToolUsesEdit({
          trigger: { tokens: 1 },
          keep: { messages: 5 },
        }),
      ],
    }),
  ],
});"#
    );
    let full = text(Shape::LangchainJs, &point("langchain_js", &["trigger=9k", "clear_at_least=2k", "exclude_tools=memory"]));
    assert!(full.contains("trigger: { tokens: 9000 },\n          keep: { messages: 3 },\n          clearAtLeast: 2000,\n          excludeTools: [\"memory\"],\n"), "{full}");
}

#[test]
fn vercel() {
    let edits = text(Shape::Vercel, &full());
    let optional =
        "            clearAtLeast: { type: \"input_tokens\", value: 10000 },\n            excludeTools: [\"memory\", \"a \\\"b\\\"\"],\n";
    assert!(edits.contains(optional), "{edits}");
    let edits = text(Shape::Vercel, &bare());
    assert!(!edits.contains("clearAtLeast") && !edits.contains("excludeTools") && !edits.contains("clearToolInputs"));
    let prune = |n: &str| text(Shape::VercelPrune, &point("vercel_prune", &[n]));
    assert!(prune("messages=6").contains("toolCalls: \"before-last-6-messages\""));
    assert!(prune("messages=0").contains("toolCalls: \"all\""));
}

#[test]
fn each_shape_takes_its_own_policy_alone() {
    for knobs in [bare(), point("langchain_py", &[]), point("langchain_js", &[]), point("litellm", &[]), point("vercel_prune", &[])] {
        let titles: Vec<String> = snippets(&knobs).into_iter().map(|s| s.title).collect();
        let expected = Shape::ALL.iter().filter(|s| if knobs.edit.is_some() { s.takes_edits() } else { s.policy() == Some(&knobs.policy) });
        assert_eq!(titles.len(), expected.count(), "{titles:?}");
    }
    assert!(snippets(&Knobs::none()).is_empty());
    assert!(snippets(&Knobs::when_cold(3, Vec::new())).is_empty());
    for shape in Shape::ALL {
        assert_eq!(Shape::named(shape.name()), Some(shape));
        assert!(shape.policy().is_none_or(|policy| named::find(policy).is_some()));
    }
}
