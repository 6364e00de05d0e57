//! `OpenAI`'s Responses API in the shape of chat: items to messages, requests to bodies.

use serde_json::{Value, json};

use super::super::linear::text;

/// Whether an item of this type is what the model said or asked.
fn is_said(item: &Value) -> bool {
    let kind = text(item, "type");
    kind == "reasoning" || kind.ends_with("_call") || (text(item, "role") == "assistant" && matches!(kind, "message" | ""))
}

/// Whether a type is one of an item that is no message.
pub fn is_item(kind: &str) -> bool {
    kind == "reasoning" || kind == "item_reference" || kind.ends_with("_call") || kind.ends_with("_call_output")
}

/// The messages of a request's `input`: a text, or items, of which those that one answer gave are one message.
pub fn messages(input: &Value) -> Vec<Value> {
    let Some(items) = input.as_array() else {
        return input.as_str().map(|words| json!({"role": "user", "content": words})).into_iter().collect();
    };
    let mut messages = Vec::new();
    for run in items.chunk_by(|a, b| is_said(a) && is_said(b)) {
        if is_said(&run[0]) {
            messages.push(answer(run));
            continue;
        }
        let item = &run[0];
        if text(item, "type").ends_with("_output") {
            messages.push(json!({"role": "tool", "tool_call_id": item["call_id"], "content": content(&item["output"])}));
        } else if item["role"].is_string() {
            messages.push(json!({"role": item["role"], "content": content(&item["content"])}));
        }
    }
    messages
}

/// The message that the items of one answer make.
pub fn answer(items: &[Value]) -> Value {
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for item in items {
        let kind = text(item, "type");
        match kind {
            "reasoning" => {
                let words: String =
                    ["summary", "content"].iter().filter_map(|k| item[*k].as_array()).flatten().map(|p| text(p, "text")).collect();
                said.push(json!({"type": "thinking", "thinking": words}));
            }
            "function_call" => {
                calls.push(json!({"id": item["call_id"], "function": {"name": item["name"], "arguments": item["arguments"]}}));
            }
            "custom_tool_call" => {
                let input = Value::from(item["input"].to_string());
                calls.push(json!({"id": item["call_id"], "function": {"name": item["name"], "arguments": input}}));
            }
            // Those that the client runs have an output that names them.
            "local_shell_call" | "computer_call" | "shell_call" | "apply_patch_call" => {
                let input = if item["action"].is_null() { &item["operation"] } else { &item["action"] };
                let name = kind.trim_end_matches("_call");
                calls.push(json!({"id": item["call_id"], "function": {"name": name, "arguments": input.to_string()}}));
            }
            kind if kind.ends_with("_call") => {
                let input =
                    ["action", "queries", "code", "arguments"].iter().map(|k| &item[*k]).find(|v| !v.is_null()).unwrap_or(&Value::Null);
                said.push(json!({"type": "server_tool_use", "id": item["id"], "name": kind.trim_end_matches("_call"), "input": input}));
            }
            _ => match content(&item["content"]) {
                Value::Array(parts) => said.extend(parts),
                words => said.push(json!({"type": "text", "text": words})),
            },
        }
    }
    json!({"role": "assistant", "content": said, "tool_calls": calls})
}

/// Content as chat has it.
fn content(content: &Value) -> Value {
    let Some(parts) = content.as_array() else {
        return if content.is_string() || content.is_null() { content.clone() } else { Value::from(content.to_string()) };
    };
    let part = |part: &Value| match text(part, "type") {
        "input_image" | "computer_screenshot" => json!({"type": "image_url", "image_url": {"url": part["image_url"]}}),
        "input_file" => json!({"type": "document"}),
        "refusal" => json!({"type": "text", "text": part["refusal"]}),
        _ => json!({"type": "text", "text": part["text"]}),
    };
    Value::Array(parts.iter().map(part).collect())
}

/// A request as chat has it. `before`: the messages of the responses that it continues.
pub fn body(request: &Value, before: Vec<Value>) -> Value {
    let all: Vec<Value> = before.into_iter().chain(messages(&request["input"])).collect();
    let mut body = json!({"model": request["model"], "messages": all});
    for (key, name) in [("instructions", "system"), ("tools", "tools"), ("metadata", "metadata")] {
        if !request[key].is_null() {
            body[name] = request[key].clone();
        }
    }
    body
}

/// What each response was asked and said, so that a request that names the one before it has its history.
#[derive(Default)]
pub struct Chains(std::collections::HashMap<String, (Option<String>, Vec<Value>)>);

impl Chains {
    /// The messages up to and with the response of this id.
    pub fn before(&self, id: Option<&str>) -> Vec<Value> {
        let mut links = Vec::new();
        let mut at = id;
        // A chain is no longer than there are responses, so that no damage makes a loop.
        while let Some((previous, own)) = at.and_then(|id| self.0.get(id)).filter(|_| links.len() <= self.0.len()) {
            links.push(own);
            at = previous.as_deref();
        }
        links.into_iter().rev().flatten().cloned().collect()
    }

    /// Notes what a response was asked and said.
    pub fn add(&mut self, request: &Value, response: &Value) {
        if let (Some(id), Some(output)) = (response["id"].as_str(), response["output"].as_array()) {
            let previous = request["previous_response_id"].as_str().map(str::to_owned);
            let mut own = messages(&request["input"]);
            own.push(answer(output));
            self.0.insert(id.to_owned(), (previous, own));
        }
    }
}
