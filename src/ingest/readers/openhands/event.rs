//! What an event of either model is to the conversation.

use serde_json::{Value, json};

use super::super::super::normal::Kind;
use super::super::content::{Piece, text_piece, thinking_piece, use_piece};
use super::super::linear::{gather, text};

/// What an event is.
pub enum What<'e> {
    /// System prompt and tools.
    System(Vec<&'e Value>),
    /// Client text.
    User(Value),
    /// Part of a model call: `response` names the call, where the log does.
    Call { response: Option<&'e str>, event: &'e Value },
    /// The result of a use: the id of the call's tool use, else the event that asked.
    Result { id: Option<&'e str>, cause: String, content: Vec<&'e Value> },
    /// The agent dropped old events and put a summary in their place.
    Condensed { forgotten: Vec<String>, summary: Option<&'e str> },
    /// Nothing that the model sees, by its type.
    Nothing(&'e str),
}

/// Kinds of the newer event model.
pub fn is_kind(kind: &str) -> bool {
    ["Event", "Observation"].iter().any(|end| kind.ends_with(end)) || matches!(kind, "Condensation" | "CondensationRequest")
}

/// The id of an event: a number or a string.
pub fn id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Types that the model never sees, whoever they come from.
const UNSEEN: [&str; 7] = ["agent_state_changed", "change_agent_state", "null", "recall", "condensation_request", "loop_recovery", "pause"];

/// What an event is.
pub fn what(event: &Value) -> What<'_> {
    if let Some(kind) = event["kind"].as_str() {
        return newer(event, kind);
    }
    let agent = text(event, "source") == "agent";
    let metadata = &event["tool_call_metadata"];
    if let Some(action) = event["action"].as_str() {
        let args = &event["args"];
        return match action {
            "system" => What::System(vec![&args["content"], &args["tools"]]),
            "condensation" => What::Condensed { forgotten: forgotten(args), summary: args["summary"].as_str() },
            action if UNSEEN.contains(&action) => What::Nothing(action),
            _ if agent => What::Call { response: metadata["model_response"]["id"].as_str(), event },
            "message" => What::User(said(args)),
            // What a person runs is shown by its observation.
            action => What::Nothing(action),
        };
    }
    match event["observation"].as_str() {
        Some(unseen) if UNSEEN.contains(&unseen) => What::Nothing(unseen),
        Some(_) => {
            let about = &event["extras"]["metadata"];
            let content = vec![&about["prefix"], &event["content"], &about["suffix"]];
            What::Result { id: metadata["tool_call_id"].as_str(), cause: id(&event["cause"]), content }
        }
        None => What::Nothing("(unnamed)"),
    }
}

fn newer<'e>(event: &'e Value, kind: &'e str) -> What<'e> {
    match kind {
        "SystemPromptEvent" => What::System(vec![&event["system_prompt"], &event["tools"]]),
        "MessageEvent" if text(event, "source") == "agent" => What::Call { response: event["llm_response_id"].as_str(), event },
        "MessageEvent" => What::User(joined(&[&event["llm_message"]["content"], &event["extended_content"]])),
        "ActionEvent" => What::Call { response: event["llm_response_id"].as_str(), event },
        "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation" => {
            let content = vec![&event["observation"]["content"], &event["error"], &event["rejection_reason"]];
            What::Result { id: event["tool_call_id"].as_str(), cause: id(&event["action_id"]), content }
        }
        "Condensation" => What::Condensed { forgotten: forgotten(event), summary: event["summary"].as_str() },
        kind => What::Nothing(kind),
    }
}

/// What a person says, pictures among it.
fn said(args: &Value) -> Value {
    let pictures = args["image_urls"].as_array().into_iter().flatten();
    let pictures = pictures.map(|url| json!({"type": "image_url", "image_url": {"url": url}}));
    Value::Array(std::iter::once(args["content"].clone()).chain(pictures).collect())
}

/// Pieces of content as one list, empty ones left out.
pub fn joined(content: &[&Value]) -> Value {
    Value::Array(content.iter().filter(|v| !v.is_null() && **v != "").map(|v| (*v).clone()).collect())
}

/// The events that a condensation forgets: a list, or a range of numbers.
fn forgotten(of: &Value) -> Vec<String> {
    if let Some(ids) = of["forgotten_event_ids"].as_array() {
        return ids.iter().map(id).collect();
    }
    let (Some(from), Some(to)) = (of["forgotten_events_start_id"].as_u64(), of["forgotten_events_end_id"].as_u64()) else {
        return Vec::new();
    };
    (from..=to.min(from.saturating_add(1_000_000))).map(|n| n.to_string()).collect()
}

/// Actions whose words are the model's answer and no use of a tool.
fn speaks(event: &Value) -> bool {
    event["tool_call_metadata"]["function_name"].is_null() && matches!(text(event, "action"), "message" | "finish" | "think")
}

/// The blocks of a call, from the events that it gave.
pub fn output(events: &[&Value], keep: bool) -> Vec<Piece> {
    let Some(first) = events.first() else { return Vec::new() };
    let mut output = Vec::new();
    let message = &first["tool_call_metadata"]["model_response"]["choices"][0]["message"];
    let newer = first["kind"].is_string();
    let thought = if newer { &first["reasoning_content"] } else { &message["reasoning_content"] };
    if let Some(words) = thought.as_str().filter(|words| !words.is_empty()) {
        output.push(thinking_piece(words));
    }
    for block in first["thinking_blocks"].as_array().into_iter().flatten().filter(|_| thought.is_null()) {
        output.push(thinking_piece(text(block, "thinking")));
    }
    let mut words = gather(&message["content"], true).text;
    if newer {
        words = [&first["thought"], &first["llm_message"]["content"]].map(|v| gather(v, true).text).concat();
    } else if message.is_null() {
        // `content` of what the agent says, `thought` of what it does.
        let said = if speaks(first) { "content" } else { "thought" };
        let args = &first["args"];
        words = gather(if args[said].is_string() { &args[said] } else { &args["thought"] }, true).text;
        if words.is_empty() && text(first, "action") == "finish" {
            words = gather(&first["message"], true).text;
        }
    }
    if !words.is_empty() {
        output.push(text_piece(&words, keep));
    }
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    for call in calls {
        let arguments = &call["function"]["arguments"];
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        output.push(use_piece(text(call, "id"), text(&call["function"], "name"), &arguments, keep));
    }
    if calls.is_empty() {
        output.extend(events.iter().filter_map(|event| use_of(event, keep)));
    }
    debug_assert!(output.iter().all(|piece| piece.item.kind != Kind::User));
    output
}

/// The use that an event is, where no response says it.
fn use_of(event: &Value, keep: bool) -> Option<Piece> {
    let id = use_id(event)?;
    if event["kind"].is_string() {
        let arguments = &event["tool_call"]["arguments"];
        let nested = &event["tool_call"]["function"]["arguments"];
        let written = [arguments, nested].iter().find_map(|v| v.as_str()).map(str::to_owned);
        return Some(use_piece(&id, text(event, "tool_name"), &written.unwrap_or_else(|| event["action"].to_string()), keep));
    }
    let name = event["tool_call_metadata"]["function_name"].as_str().unwrap_or_else(|| text(event, "action"));
    let mut args = event["args"].clone();
    if let Some(args) = args.as_object_mut() {
        // Words and what the client adds, none of it the tool's input.
        for key in ["thought", "blocking", "hidden", "confirmation_state", "security_risk", "is_confirmed"] {
            args.remove(key);
        }
    }
    Some(use_piece(&id, name, &args.to_string(), keep))
}

/// The id by which a result finds the use that an event is; `None` where it is none.
pub fn use_id(event: &Value) -> Option<String> {
    if event["kind"].is_string() {
        return (event["kind"] == "ActionEvent").then(|| text(event, "tool_call_id").to_owned());
    }
    if speaks(event) {
        return None;
    }
    let named = event["tool_call_metadata"]["tool_call_id"].as_str().map(str::to_owned);
    Some(named.unwrap_or_else(|| format!("event {}", id(&event["id"]))))
}
