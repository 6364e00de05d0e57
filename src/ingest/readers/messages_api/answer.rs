//! Responses to answers: JSON of either shape, and streams put together from server-sent events.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::super::lenient::{Content, Object, Str};
use super::super::super::normal::Applied;
use super::super::super::repair::repair;
use super::super::content::Piece;
use super::super::usage::RawUsage;
use super::message::Msg;
use super::wire::{ContextManagement, Message, Received, Response, elements, object, unwrapped};

/// What became of a request.
#[derive(Debug)]
pub enum Reply {
    /// The log holds no response.
    Missing,
    /// It failed; nothing was billed.
    Failed,
    /// The model's answer.
    Answer(Box<Answer>),
}

/// A model's answer.
#[derive(Debug, Default)]
pub struct Answer {
    pub id: Option<String>,
    pub model: Option<String>,
    pub pieces: Vec<Piece>,
    /// By this it is recognised in the next request.
    pub hash: u128,
    /// Whether it came to its end.
    pub complete: bool,
    pub usage: Option<RawUsage>,
    pub applied: Option<Applied>,
}

/// The reply that the `response` of a record holds.
pub fn reply(raw: Option<&RawValue>, keep: bool) -> Reply {
    let Some(raw) = raw.map(RawValue::get).filter(|r| *r != "null") else { return Reply::Missing };
    let text = unwrapped(raw);
    if raw.starts_with('"') {
        return body(&text, keep);
    }
    let Some(received) = object::<Received<'_>>(raw) else { return Reply::Missing };
    if received.status_code.0.or(received.status.0).is_some_and(|s| s >= 400) {
        return Reply::Failed;
    }
    match (given(received.body), given(received.body_raw), received.events) {
        (Some(text), ..) | (None, Some(text), _) => body(&text, keep),
        (None, None, Some(events)) => stream(elements(events.get()).unwrap_or_default().into_iter().map(RawValue::get), keep),
        (None, None, None) => body(raw, keep),
    }
}

fn given(raw: Option<&RawValue>) -> Option<std::borrow::Cow<'_, str>> {
    raw.map(RawValue::get).filter(|r| *r != "null").map(unwrapped)
}

/// A body: JSON, or the text of a stream.
fn body(text: &str, keep: bool) -> Reply {
    let start = text.trim_start();
    if ["event:", "data:", ":", "id:", "retry:"].iter().any(|p| start.starts_with(p)) {
        return stream(events(text).iter().map(String::as_str), keep);
    }
    let Some(response) = object::<Response<'_>>(start) else { return Reply::Missing };
    if response.kind.text() == "error" || response.error.is_some_and(|e| e.get() != "null") {
        return Reply::Failed;
    }
    let choice = match &response.choices {
        Content::Blocks(choices) => choices.iter().flatten().next(),
        _ => None,
    };
    let items = response.output.filter(|_| choice.is_none() && response.content.is_none());
    let items = items.and_then(|o| serde_json::from_str::<Vec<Value>>(o.get()).ok());
    let (msg, stopped) = match (choice, response.content) {
        (None, None) if items.is_some() => {
            let message = super::responses::answer(items.as_deref().unwrap_or_default()).to_string();
            (assistant(&message, keep), response.status.text() == "completed")
        }
        (Some(choice), _) => (assistant(choice.message.map_or("{}", RawValue::get), keep), choice.finish_reason.get().is_some()),
        (None, Some(content)) => {
            let message = format!("{{\"content\":{}}}", content.get());
            (assistant(&message, keep), response.stop_reason.get().is_some())
        }
        (None, None) if response.usage.0.is_some() => (assistant("{}", keep), true),
        (None, None) => return Reply::Missing,
    };
    let Some(msg) = msg else { return Reply::Missing };
    Reply::Answer(Box::new(Answer {
        id: response.id.get().map(str::to_owned),
        model: response.model.get().map(str::to_owned),
        pieces: msg.pieces,
        hash: msg.hash,
        complete: stopped,
        usage: response.usage.0,
        applied: applied(&response.context_management),
    }))
}

/// The response of the Responses API that the `response` of a record holds, also at the end of a stream.
pub fn whole(raw: Option<&RawValue>) -> Option<Value> {
    let text = unwrapped(raw?.get()).into_owned();
    let inner = match object::<Received<'_>>(&text) {
        Some(received) => given(received.body).or(given(received.body_raw)).map(std::borrow::Cow::into_owned),
        None => None,
    };
    let text = inner.unwrap_or(text);
    let whole = if text.trim_start().starts_with('{') {
        serde_json::from_str::<Value>(&text).ok()?
    } else {
        let event = |text: &String| serde_json::from_str::<Value>(text).ok().filter(|e| e["response"]["output"].is_array());
        events(&text).iter().rev().find_map(event)?["response"].take()
    };
    whole["output"].is_array().then_some(whole)
}

/// A message as an assistant's, whether it says so or not.
fn assistant(json: &str, keep: bool) -> Option<Msg> {
    let repaired = if object::<Message<'_>>(json).is_none() { Some(repair(json)) } else { None };
    let mut message = object::<Message<'_>>(repaired.as_deref().unwrap_or(json))?;
    message.role = Str(Some("assistant".into()));
    Some(Msg::new(&message, keep).0)
}

fn applied(management: &Object<ContextManagement<'_>>) -> Option<Applied> {
    let Content::Blocks(edits) = &management.0.as_ref()?.applied_edits else { return None };
    let mut all = Applied::default();
    for edit in edits.iter().flatten() {
        let n = |c: super::super::super::lenient::Count| c.0.unwrap_or(0);
        if edit.kind.text().starts_with("clear_thinking") {
            all.cleared_thinking_turns += n(edit.cleared_thinking_turns);
            all.cleared_thinking_tokens += n(edit.cleared_input_tokens);
        } else {
            all.cleared_tool_uses += n(edit.cleared_tool_uses);
            all.cleared_input_tokens += n(edit.cleared_input_tokens);
        }
    }
    Some(all)
}

/// The data of each server-sent event.
fn events(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut data = String::new();
    for line in text.lines().chain(std::iter::once("")) {
        if line.is_empty() {
            if !data.is_empty() {
                all.push(std::mem::take(&mut data));
            }
        } else if let Some(more) = line.strip_prefix("data:") {
            // Some gateways leave out the blank line between events; one event's JSON is whole on its line.
            let more = more.strip_prefix(' ').unwrap_or(more);
            if !data.is_empty() && more.starts_with('{') {
                all.push(std::mem::take(&mut data));
            }
            data.push_str(more);
        }
    }
    all
}

/// An answer in the making.
#[derive(Default)]
struct Stream {
    answer: Answer,
    blocks: Vec<(u64, Value, String)>,
    failed: bool,
    any: bool,
    /// The whole response, as the last event of the Responses API repeats it.
    whole: Option<Value>,
    /// Chunks of `OpenAI` chat.
    chunks: super::chunks::Chunks,
}

/// Puts a stream together; one that breaks off is kept as far as it goes.
fn stream<'e>(events: impl Iterator<Item = &'e str>, keep: bool) -> Reply {
    let mut stream = Stream::default();
    for event in events {
        // Raw events, or objects that hold one under `data` as an object or as text.
        let Some(mut event) = super::log::lenient(event) else { continue };
        if let Some(data) = event.get_mut("data").map(Value::take) {
            event = match data {
                Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
                data => data,
            };
        }
        stream.event(&event);
    }
    stream.finish(keep)
}

impl Stream {
    fn event(&mut self, event: &Value) {
        if event["object"] == super::chunks::CHUNK {
            return self.chunks.add(event);
        }
        match event["type"].as_str().unwrap_or("") {
            "message_start" => {
                self.any = true;
                let message = &event["message"];
                self.answer.id = message["id"].as_str().map(str::to_owned);
                self.answer.model = message["model"].as_str().map(str::to_owned);
                self.usage(&message["usage"]);
            }
            "content_block_start" => {
                self.any = true;
                let index = event["index"].as_u64().unwrap_or(self.blocks.len() as u64);
                self.blocks.push((index, event["content_block"].clone(), String::new()));
            }
            "content_block_delta" => {
                let index = event["index"].as_u64();
                let delta = &event["delta"];
                let Some((_, block, input)) = self.blocks.iter_mut().rev().find(|(i, ..)| index.is_none_or(|index| index == *i)) else {
                    return;
                };
                let mut append = |key: &str| {
                    if let (Some(more), Some(block)) = (delta[key].as_str(), block.as_object_mut()) {
                        match block.get_mut(key) {
                            Some(Value::String(text)) => text.push_str(more),
                            _ => drop(block.insert(key.to_owned(), json!(more))),
                        }
                    }
                };
                match delta["type"].as_str().unwrap_or("") {
                    "text_delta" => append("text"),
                    "thinking_delta" => append("thinking"),
                    "compaction_delta" => append("content"),
                    "input_json_delta" => input.push_str(delta["partial_json"].as_str().unwrap_or("")),
                    // A signature is opaque and counts for nothing; so do citations.
                    _ => {}
                }
            }
            "message_delta" => {
                self.any = true;
                self.answer.complete |= event["delta"]["stop_reason"].is_string();
                self.usage(&event["usage"]);
                for holder in [event, &event["delta"]] {
                    if holder["context_management"].is_object() {
                        let text = holder["context_management"].to_string();
                        self.answer.applied = applied(&serde_json::from_str(&text).unwrap_or_default());
                    }
                }
            }
            "response.completed" | "response.incomplete" => self.whole = Some(event["response"].clone()),
            "error" | "response.failed" => self.failed = true,
            _ => {}
        }
    }

    fn usage(&mut self, usage: &Value) {
        if let Ok(Object(Some(usage))) = serde_json::from_str::<Object<RawUsage>>(&usage.to_string()) {
            self.answer.usage.get_or_insert_default().update(&usage);
        }
    }

    fn finish(self, keep: bool) -> Reply {
        let Self { mut answer, blocks, failed, any, whole, chunks } = self;
        if let Some(whole) = whole.or_else(|| chunks.finish().into_iter().next()) {
            return body(&whole.to_string(), keep);
        }
        if !any {
            return if failed { Reply::Failed } else { Reply::Missing };
        }
        let blocks: Vec<Value> = blocks
            .into_iter()
            .map(|(_, mut block, input)| {
                if let Some(block) = block.as_object_mut().filter(|_| !input.is_empty()) {
                    // Cut input is no JSON; its text counts all the same.
                    let whole = serde_json::from_str(&input).unwrap_or(Value::String(input));
                    block.insert("input".to_owned(), whole);
                }
                block
            })
            .collect();
        if let Some(msg) = assistant(&json!({ "content": blocks }).to_string(), keep) {
            answer.pieces = msg.pieces;
            answer.hash = msg.hash;
        }
        Reply::Answer(Box::new(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied_in(response: &str) -> Option<Applied> {
        let raw: &RawValue = serde_json::from_str(response).unwrap();
        match reply(Some(raw), false) {
            Reply::Answer(answer) => answer.applied,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn absent_edits_are_unknown_and_an_empty_list_is_none() {
        let with = |management: &str| applied_in(&format!(r#"{{"id":"m","content":[],"stop_reason":"end_turn"{management}}}"#));
        assert_eq!(with(""), None);
        assert_eq!(with(r#","context_management":null"#), None);
        assert_eq!(with(r#","context_management":{"applied_edits":[]}"#), Some(Applied::default()));
        let both = r#","context_management":{"applied_edits":[
            {"type":"clear_tool_uses_20250919","cleared_tool_uses":3,"cleared_input_tokens":900},
            {"type":"clear_thinking_20251015","cleared_thinking_turns":2,"cleared_input_tokens":50}]}"#;
        let expected = Applied { cleared_tool_uses: 3, cleared_input_tokens: 900, cleared_thinking_turns: 2, cleared_thinking_tokens: 50 };
        assert_eq!(with(both), Some(expected));
    }

    #[test]
    fn a_stream_tells_its_edits_in_the_last_delta() {
        let start = r#"{"type":"message_start","message":{"id":"m"}}"#;
        let edits = r#"{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":3,"cleared_input_tokens":900}]}"#;
        let with = |more: &str| {
            let delta = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}}{more}}}"#);
            applied_in(&json!({ "body_raw": format!("data: {start}\n\ndata: {delta}\n\n") }).to_string())
        };
        assert_eq!(with(""), None);
        assert_eq!(
            with(&format!(r#","context_management":{edits}"#)).map(|a| (a.cleared_tool_uses, a.cleared_input_tokens)),
            Some((3, 900))
        );
    }
}
