//! LangChain's middleware, which clears on the client by rules of its own.

use std::fmt::Write;

use super::Snippet;
use super::literal::{Language, Literal};
use crate::policy::{ClearToolUses, Trigger};
use crate::sweep::Knobs;

/// The knobs that a policy shares with the API's edit; `None` where it lacks one of them.
pub fn as_edit(knobs: &Knobs) -> Option<ClearToolUses> {
    Some(ClearToolUses {
        trigger: Trigger::InputTokens(knobs.trigger()?.value()),
        keep: knobs.keep()?,
        clear_at_least: knobs.clear_at_least()?,
        exclude_tools: knobs.excluded()?.to_vec(),
        ..ClearToolUses::default()
    })
}

/// `ContextEditingMiddleware` of the package `langchain`.
pub fn python(knobs: &Knobs) -> Option<Snippet> {
    let edit = as_edit(knobs)?;
    let mut text = "from langchain.agents import create_agent\nfrom langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware\n\nagent = create_agent(\n    model=model,\n    tools=tools,\n    middleware=[\n        ContextEditingMiddleware(\n            edits=[\n                ClearToolUsesEdit(\n".to_owned();
    let _ = writeln!(text, "                    trigger={},", edit.trigger.value());
    let _ = writeln!(text, "                    keep={},", edit.keep);
    if edit.clear_at_least > 0 {
        let _ = writeln!(text, "                    clear_at_least={},", edit.clear_at_least);
    }
    if !edit.exclude_tools.is_empty() {
        let _ = writeln!(text, "                    exclude_tools={},", Literal::texts(&edit.exclude_tools).write(Language::Python, 5));
    }
    text.push_str("                ),\n            ],\n        ),\n    ],\n)");
    let mut note =
        "LangChain clears by itself: the trigger counts messages alone, not system prompt and tools, by an estimate of its own; results \
                    of excluded tools take up places of keep; and what is cleared is worked out anew at every call."
            .to_owned();
    if edit.clear_at_least > 0 {
        note.push_str(" With clear_at_least it stops as soon as that much is freed, every time at the same oldest results, so that the prompt grows on.");
    }
    Some(Snippet::new("LangChain", "python", text, &note))
}

/// `contextEditingMiddleware` of the npm package `langchain`.
pub fn javascript(knobs: &Knobs) -> Option<Snippet> {
    let edit = as_edit(knobs)?;
    // The package refuses 0.
    let trigger = edit.trigger.value().max(1);
    let mut text = "import { ClearToolUsesEdit, contextEditingMiddleware, createAgent } from \"langchain\";\n\nconst agent = createAgent({\n  model,\n  tools,\n  middleware: [\n    contextEditingMiddleware({\n      edits: [\n        new ClearToolUsesEdit({\n".to_owned();
    let _ = writeln!(text, "          trigger: {{ tokens: {trigger} }},");
    let _ = writeln!(text, "          keep: {{ messages: {} }},", edit.keep);
    if edit.clear_at_least > 0 {
        let _ = writeln!(text, "          clearAtLeast: {},", edit.clear_at_least);
    }
    if !edit.exclude_tools.is_empty() {
        let _ = writeln!(text, "          excludeTools: {},", Literal::texts(&edit.exclude_tools).write(Language::Typescript, 5));
    }
    text.push_str("        }),\n      ],\n    }),\n  ],\n});");
    let mut note = "LangChain clears by itself: from that many tokens of messages on (not more than; without system prompt and tools), by an estimate \
                    of its own; results of excluded tools take up places of keep; and in an agent of createAgent what is cleared stays cleared."
        .to_owned();
    if edit.clear_at_least > 0 {
        note.push_str(" clearAtLeast is deprecated there: where it is not reached, kept results go too, the newest first.");
    }
    Some(Snippet::new("LangChain JS", "typescript", text, &note))
}
