//! What sends the API's own object: Anthropic's SDKs, OpenRouter, LiteLLM.

use super::literal::{Language, Literal};
use super::{BETA, Snippet};
use crate::policy::{ClearToolInputs, ClearToolUses};

/// The object `context_management`; the optional keys only where they differ from the API's defaults.
fn context_management(edit: &ClearToolUses) -> Literal {
    let sized = |kind: &str, value: u64| Literal::Object(vec![("type", Literal::Text(kind.to_owned())), ("value", Literal::Number(value))]);
    let mut keys = vec![
        ("type", Literal::Text("clear_tool_uses_20250919".to_owned())),
        ("trigger", sized(edit.trigger.type_name(), edit.trigger.value())),
        ("keep", sized("tool_uses", u64::from(edit.keep))),
    ];
    if edit.clear_at_least > 0 {
        keys.push(("clear_at_least", sized("input_tokens", edit.clear_at_least)));
    }
    if !edit.exclude_tools.is_empty() {
        keys.push(("exclude_tools", Literal::texts(&edit.exclude_tools)));
    }
    match &edit.clear_tool_inputs {
        ClearToolInputs::No => {}
        ClearToolInputs::Yes => keys.push(("clear_tool_inputs", Literal::Bool(true))),
        ClearToolInputs::Tools(tools) => keys.push(("clear_tool_inputs", Literal::texts(tools))),
    }
    Literal::Object(vec![("edits", Literal::List(vec![Literal::Object(keys)]))])
}

const OWN: &str = "model, max_tokens, messages and tools are your own.";

fn python_call(client: &str, call: &str, betas: &str, edit: &ClearToolUses) -> String {
    let object = context_management(edit).write(Language::Python, 1);
    format!(
        "{client}\nresponse = {call}(\n    model=model,\n    max_tokens=max_tokens,\n    messages=messages,\n    tools=tools,\n{betas}    context_management={object},\n)"
    )
}

/// `client.beta.messages.create` of the package `anthropic`.
pub fn python(edit: &ClearToolUses) -> Snippet {
    let betas = format!("    betas=[\"{BETA}\"],\n");
    let text = python_call("import anthropic\n\nclient = anthropic.Anthropic()", "client.beta.messages.create", &betas, edit);
    Snippet::new("Python SDK", "python", text, OWN)
}

/// The same against OpenRouter, which has the Messages API too.
pub fn openrouter(edit: &ClearToolUses) -> Snippet {
    let client = "import os\n\nimport anthropic\n\nclient = anthropic.Anthropic(\n    base_url=\"https://openrouter.ai/api\",\n    auth_token=os.environ[\"OPENROUTER_API_KEY\"],\n)";
    let betas = format!("    betas=[\"{BETA}\"],\n");
    let text = python_call(client, "client.beta.messages.create", &betas, edit);
    let note = "OpenRouter takes the object at its Messages endpoint (/api/v1/messages), which Anthropic's SDK can call, not at chat completions; \
                route to a provider that serves Claude with context editing, and look for applied_edits in the answer: where it is missing, nothing was cleared.";
    Snippet::new("OpenRouter", "python", text, note)
}

/// `client.beta.messages.create` of `@anthropic-ai/sdk`.
pub fn typescript(edit: &ClearToolUses) -> Snippet {
    let object = context_management(edit).write(Language::Typescript, 1);
    let text = format!(
        "import Anthropic from \"@anthropic-ai/sdk\";\n\nconst client = new Anthropic();\nconst response = await client.beta.messages.create({{\n  model,\n  max_tokens,\n  messages,\n  tools,\n  betas: [\"{BETA}\"],\n  context_management: {object},\n}});"
    );
    Snippet::new("TypeScript SDK", "typescript", text, OWN)
}

/// `litellm.anthropic.messages.create`; `emulated`: the values come from replays of what LiteLLM does itself.
pub fn litellm(edit: &ClearToolUses, emulated: bool) -> Snippet {
    let object = context_management(edit).write(Language::Python, 1);
    let text = format!(
        "import litellm\n\nresponse = await litellm.anthropic.messages.acreate(\n    model=model,\n    max_tokens=max_tokens,\n    messages=messages,\n    tools=tools,\n    context_management={object},\n)"
    );
    let note = if emulated {
        "These values fit models of other providers, for which LiteLLM clears by itself: as the API does, but the newest complete result always \
         stays, whatever keep says, and sizes are those of its own counter. For Claude, whose provider clears, use those of the API."
    } else {
        "For Claude, LiteLLM hands the object on and the API clears. For other providers' models it clears by itself, and always keeps the newest \
         complete result; the values for that come from cleartune sweep --for litellm."
    };
    Snippet::new("LiteLLM", "python", text, note)
}
