//! The Vercel AI SDK: the API's edit as provider options, or `pruneMessages` on the client.

use super::Snippet;
use super::literal::{Language, Literal};
use crate::policy::{ClearToolInputs, ClearToolUses};
use crate::sweep::Knobs;

/// `providerOptions.anthropic.contextManagement` of `@ai-sdk/anthropic`.
pub fn edits(edit: &ClearToolUses) -> Snippet {
    let sized = |kind: &str, value: u64| Literal::Object(vec![("type", Literal::Text(kind.to_owned())), ("value", Literal::Number(value))]);
    let mut keys = vec![
        ("type", Literal::Text("clear_tool_uses_20250919".to_owned())),
        ("trigger", sized(edit.trigger.type_name(), edit.trigger.value())),
        ("keep", sized("tool_uses", u64::from(edit.keep))),
    ];
    if edit.clear_at_least > 0 {
        keys.push(("clearAtLeast", sized("input_tokens", edit.clear_at_least)));
    }
    if !edit.exclude_tools.is_empty() {
        keys.push(("excludeTools", Literal::texts(&edit.exclude_tools)));
    }
    let mut note = "The provider sends the beta header by itself, and the API clears.".to_owned();
    match &edit.clear_tool_inputs {
        ClearToolInputs::No => {}
        ClearToolInputs::Yes => keys.push(("clearToolInputs", Literal::Bool(true))),
        ClearToolInputs::Tools(_) => note.push_str(
            " Its clearToolInputs is true or false: inputs of some tools alone cannot be cleared through it, so that they stay here; the \
             others of the config are the same.",
        ),
    }
    let object = Literal::Object(vec![("edits", Literal::List(vec![Literal::Object(keys)]))]).write(Language::Typescript, 3);
    let text = format!(
        "import {{ anthropic, type AnthropicLanguageModelOptions }} from \"@ai-sdk/anthropic\";\nimport {{ generateText }} from \"ai\";\n\nconst result = await generateText({{\n  model: anthropic(model),\n  messages,\n  tools,\n  providerOptions: {{\n    anthropic: {{\n      contextManagement: {object},\n    }} satisfies AnthropicLanguageModelOptions,\n  }},\n}});"
    );
    Snippet::new("Vercel AI SDK", "typescript", text, &note)
}

/// `pruneMessages` before every step; `None` without its knob `messages`.
pub fn prune(knobs: &Knobs) -> Option<Snippet> {
    let messages: u64 = knobs.params().split(';').find_map(|p| p.strip_prefix("messages="))?.parse().ok()?;
    // The package has no words for "before the last 0".
    let which = if messages == 0 { "all".to_owned() } else { format!("before-last-{messages}-messages") };
    let text = format!(
        "import {{ generateText, pruneMessages }} from \"ai\";\n\nconst result = await generateText({{\n  model,\n  messages,\n  tools,\n  prepareStep: ({{ messages }}) => ({{\n    messages: pruneMessages({{ messages, toolCalls: \"{which}\" }}),\n  }}),\n}});"
    );
    let note = "The client removes calls together with their results at every step, whatever the size of the prompt: there is no trigger, no \
                clear_at_least, and the cut moves with every message, so that the cache seldom reaches beyond it.";
    Some(Snippet::new("Vercel AI SDK, on the client", "typescript", text, note))
}
