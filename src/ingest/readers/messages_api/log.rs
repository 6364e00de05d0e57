//! A log as it is read: what each record is, its messages numbered, and the conversations made of them at the end.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::super::lenient::Object;
use super::super::super::normal::{Asked, Held, Part, hash, short};
use super::super::super::records::{Refusal, value};
use super::super::super::repair::repair;
use super::super::super::{FileReport, time};
use super::super::content::CacheControl;
use super::super::identity::{originals, restore};
use super::answer::{self, Reply, reply};
use super::chunks::{self, Chunks};
use super::message::{Marks, Msg, Role};
use super::regroup::{Exchange, regroup};
use super::wire::{Body, Line, Message, Sent, elements, moment, object, unwrapped};
use super::{responses, wire};

/// Where and when a request was sent.
#[derive(Default)]
struct Context {
    at: Option<time::Instant>,
    session: Option<String>,
    /// Whether the record shows the request as it was sent (a `LiteLLM` payload does not).
    whole: bool,
    /// Whether the request is one that was sent, and no mere list of messages.
    sent: bool,
}

/// A log as it is read: requests and responses, of which conversations are made at the end. Other formats whose requests repeat their history
/// hand theirs in by [`Log::told`].
pub struct Log {
    keep: bool,
    messages: Vec<Msg>,
    by_hash: HashMap<u128, u32>,
    /// By the hash of a message's JSON, so that what every request repeats is parsed once.
    by_text: HashMap<u128, (u32, Marks)>,
    bases: HashMap<u128, (u128, u64, Marks)>,
    exchanges: Vec<Exchange>,
    by_key: HashMap<u128, usize>,
    /// Bare messages in a row.
    loose: Vec<u32>,
    /// Bare items of the Responses API in a row.
    items: Vec<Value>,
    chains: responses::Chains,
    chunks: Chunks,
    file_session: Option<String>,
    ignored: Vec<String>,
    duplicates: u64,
    repaired: u64,
    unzoned: u64,
    redacted: u64,
    cache_hits: u64,
}

/// What `LiteLLM` writes in the place of a message.
const REDACTED: &str = "redacted-by-litellm";

impl Log {
    /// A log of nothing yet. `keep`: whether text is needed later.
    pub fn new(keep: bool) -> Self {
        Self {
            keep,
            messages: Vec::new(),
            by_hash: HashMap::new(),
            by_text: HashMap::new(),
            bases: HashMap::new(),
            exchanges: Vec::new(),
            by_key: HashMap::new(),
            loose: Vec::new(),
            items: Vec::new(),
            chains: responses::Chains::default(),
            chunks: Chunks::default(),
            file_session: None,
            ignored: Vec::new(),
            duplicates: 0,
            repaired: 0,
            unzoned: 0,
            redacted: 0,
            cache_hits: 0,
        }
    }

    /// A request and its response in the shape of `OpenAI` chat or the Messages API; without a response, a mere list of messages.
    pub fn told(&mut self, body: &Value, response: Option<&Value>, session: Option<String>, at: Option<time::Instant>) {
        let (body, response) = (body.to_string(), response.map(Value::to_string));
        let Some(body) = object::<Body<'_>>(&body) else { return };
        let raw = response.as_deref().and_then(|r| serde_json::from_str::<&RawValue>(r).ok());
        let sent = raw.is_some();
        self.exchange(&body, Context { at, session, whole: sent, sent }, reply(raw, self.keep));
    }

    /// The conversations, and what the report is to say of them.
    pub fn finish(mut self, report: &mut FileReport) -> Vec<Part> {
        self.end_of_messages();
        for response in std::mem::take(&mut self.chunks).finish() {
            self.answer_alone(&response.to_string());
        }
        report.duplicates += self.duplicates;
        report.repaired += self.repaired;
        for kind in &self.ignored {
            report.ignore(kind);
        }
        let notes = [
            (self.unzoned, "timestamps without a zone were taken as UTC"),
            (self.redacted, "requests are redacted: only their usage counts, and what they hold is taken as client text"),
            (self.cache_hits, "requests were answered from the gateway's own cache: no provider billed them, their usage is left out"),
        ];
        for (n, what) in notes.into_iter().filter(|&(n, _)| n > 0) {
            report.note(format!("{n} {what}"));
        }
        self.restore();
        regroup(self.messages, self.exchanges, report)
    }

    /// Puts originals in the place of placeholders, where some message of the log holds them. A message that some request sent whole stays
    /// beside the one with placeholders.
    fn restore(&mut self) {
        let pieces = || self.messages.iter().flat_map(|m| &m.pieces);
        if pieces().any(|p| p.item.held == Held::Placeholder) {
            let originals = originals(pieces());
            self.messages.iter_mut().flat_map(|m| &mut m.pieces).for_each(|piece| restore(piece, &originals));
        }
    }

    /// Takes one record.
    pub fn record(&mut self, text: &str) -> Result<(), Refusal> {
        if let Some(line) = object::<Line<'_>>(text) {
            self.line(&line, text);
            return Ok(());
        }
        // Keys that occur twice in an object: the last value counts, as in most JSON readers.
        let whole = serde_json::from_str::<Value>(text).map_err(|_| Refusal::Syntax)?.to_string();
        let line = object::<Line<'_>>(&whole).ok_or(Refusal::Syntax)?;
        self.repaired += 1;
        self.line(&line, &whole);
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>, text: &str) {
        // Once: a payload inside a payload is none.
        if let Some(inner) = line.standard_logging_object
            && let Some(line) = object::<Line<'_>>(inner.get())
        {
            return self.line(&Line { standard_logging_object: None, ..line }, inner.get());
        }
        let session = line.trace_id.get().or(line.session_id.get()).map(str::to_owned);
        let session = session.or_else(|| line.metadata.0.as_ref().and_then(wire::Metadata::session));
        if let Some(request) = line.request.or(line.request_body).filter(|r| r.get().starts_with(['{', '"'])) {
            self.pair(line, &unwrapped(request.get()), session);
        } else if !line.call_type.text().is_empty() || (line.start_time.is_some() && line.response.is_some()) {
            self.payload(line, text, session);
        } else if line.messages.is_none() && line.role.0.is_none() && (line.input.is_some_and(is_items) || line.object.text() == "response")
        {
            self.end_of_messages();
            let at = moment(line.timestamp.or(line.created_at));
            let response = if line.object.text() == "response" { Some(text) } else { line.response.map(RawValue::get) };
            self.responses(text, response, Context { at, session, whole: true, sent: true });
        } else if line.object.text() == chunks::CHUNK {
            let Some(chunk) = lenient(text) else { return };
            self.chunks.add(&chunk);
        } else if line.object.text() == "chat.completion" && line.messages.is_none() {
            self.end_of_messages();
            self.answer_alone(text);
        } else if responses::is_item(line.kind.text()) || (line.kind.text() == "message" && line.content.is_some_and(parts_of_items)) {
            self.items.extend(lenient(text));
        } else if line.messages.is_some() {
            self.end_of_messages();
            let Some(body) = object::<Body<'_>>(text) else { return };
            let at = moment(line.timestamp.or(line.created_at));
            let sent = body.model.get().is_some()
                || line.max_tokens.0.is_some()
                || [body.system, body.tools, line.response].iter().any(Option::is_some);
            let reply = reply(line.response, self.keep);
            self.exchange(&body, Context { at, session, whole: sent, sent }, reply);
        } else if line.role.0.is_some() && line.content.is_some() {
            let (id, _) = self.message(text);
            self.loose.extend(id);
        } else if let Some(Ok(lines)) = line.data.map(|d| serde_json::from_str::<Vec<&RawValue>>(d.get())) {
            for raw in lines {
                match object::<Line<'_>>(raw.get()) {
                    Some(line) => self.line(&Line { data: None, ..line }, raw.get()),
                    None => self.ignored.push("(unnamed)".to_owned()),
                }
            }
        } else {
            self.ignored.push(line.kind.text().chars().take(64).collect());
        }
    }

    /// A request and its response, each in a wrapper of its own or bare.
    fn pair(&mut self, line: &Line<'_>, request: &str, session: Option<String>) {
        let Some(sent) = object::<Sent<'_>>(request) else {
            self.ignored.push("request".to_owned());
            return;
        };
        let given = sent.body.filter(|_| sent.messages.is_none()).map(|b| unwrapped(b.get()));
        let body = given.as_deref().unwrap_or(request);
        let parsed = object::<Body<'_>>(body).filter(|b| b.messages.is_some());
        let at = moment(sent.timestamp.or(sent.created_at).or(line.timestamp).or(line.created_at).or(line.start_time));
        if parsed.is_none() && object::<Line<'_>>(body).is_some_and(|b| b.input.is_some_and(is_items)) {
            let response = line.response.or(line.response_body).map(RawValue::get);
            return self.responses(body, response, Context { at, session, whole: true, sent: true });
        }
        let Some(parsed) = parsed.filter(|_| !sent.url.text().contains("count_tokens")) else {
            self.ignored.push("other_request".to_owned());
            return;
        };
        let mut session = session.or_else(|| parsed.metadata.0.as_ref().and_then(wire::Metadata::session));
        if session.is_none() && line.logged_at.is_some() {
            // claude-trace writes a file for each run of the client.
            let file = self.file_session.get_or_insert_with(|| format!("file {}", short(hash(&[request]))));
            session = Some(file.clone());
        }
        let reply = reply(line.response.or(line.response_body), self.keep);
        self.exchange(&parsed, Context { at, session, whole: true, sent: true }, reply);
    }

    /// A chat response whose request the log does not hold: what it was billed, and when.
    fn answer_alone(&mut self, response: &str) {
        let raw = serde_json::from_str::<&RawValue>(response).ok();
        let at = object::<Line<'_>>(response).and_then(|line| moment(line.created.or(line.created_at)));
        let Some(body) = object::<Body<'_>>("{}") else { return };
        self.exchange(&body, Context { at, session: None, whole: false, sent: true }, reply(raw, self.keep));
    }

    /// A request to the Responses API and what came of it.
    fn responses(&mut self, request: &str, response: Option<&str>, mut context: Context) {
        let Some(request) = lenient(request) else { return };
        let response = response.and_then(lenient).map(|r| r.to_string());
        let raw = response.as_deref().and_then(|r| serde_json::from_str::<&RawValue>(r).ok());
        let body = responses::body(&request, self.chains.before(request["previous_response_id"].as_str())).to_string();
        if let Some(whole) = answer::whole(raw) {
            self.chains.add(&request, &whole);
        }
        let Some(body) = object::<Body<'_>>(&body) else { return };
        context.session = context.session.or_else(|| body.metadata.0.as_ref().and_then(wire::Metadata::session));
        self.exchange(&body, context, reply(raw, self.keep));
    }

    /// `LiteLLM`'s payload.
    fn payload(&mut self, line: &Line<'_>, text: &str, session: Option<String>) {
        let Some(body) = object::<Body<'_>>(text) else { return };
        let context = Context { at: moment(line.start_time), session, whole: false, sent: true };
        if line.status.text() == "failure" {
            self.exchange(&body, context, Reply::Failed);
            return;
        }
        let mut reply = reply(line.response, self.keep);
        if matches!(reply, Reply::Missing) && (line.prompt_tokens.0.is_some() || line.metadata.0.is_some()) {
            reply = Reply::Answer(Box::default());
        }
        if let Reply::Answer(answer) = &mut reply {
            answer.id = line.id.get().map(str::to_owned).or(answer.id.take());
            let stated = line.metadata.0.as_ref().and_then(|m| m.usage_object.0);
            let totals = super::super::usage::RawUsage {
                prompt_tokens: line.prompt_tokens,
                completion_tokens: line.completion_tokens,
                ..super::super::usage::RawUsage::default()
            };
            let totals = Some(totals).filter(|t| t.prompt_tokens.0.is_some());
            answer.usage = stated.filter(|u| u.disjoint().0.prompt() > 0).or(answer.usage).or(totals);
            if line.cache_hit.0 {
                self.cache_hits += 1;
                answer.usage = None;
            }
        }
        self.exchange(&body, context, reply);
    }

    /// The message's number; `None` when it is no message.
    fn message(&mut self, raw: &str) -> (Option<u32>, Marks) {
        let key = hash(&[raw]);
        if let Some(&(id, marks)) = self.by_text.get(&key) {
            return (Some(id), marks);
        }
        let converted = super::super::langchain::from_dump(raw);
        let text = converted.as_deref().unwrap_or(raw);
        // What is raw until here may hold what only a repair makes JSON.
        let repaired = if object::<Message<'_>>(text).is_none() { Some(repair(text)) } else { None };
        let Some(message) = object::<Message<'_>>(repaired.as_deref().unwrap_or(text)) else {
            return (None, Marks::default());
        };
        let (msg, marks) = Msg::new(&message, self.keep);
        // Two messages may be the same to the recognition and differ in what they hold (a reminder more, a result cleared).
        let sizes: Vec<_> = msg.pieces.iter().map(|p| (p.item.bytes, p.item.fixed)).collect();
        let exact = format!("{:032x} {sizes:?} {:?} {:?}", msg.hash, msg.id, msg.usage.map(|u| u.disjoint().0));
        let id = *self.by_hash.entry(hash(&[&exact])).or_insert_with(|| {
            self.messages.push(msg);
            self.messages.len() as u32 - 1
        });
        self.by_text.insert(key, (id, marks));
        (Some(id), marks)
    }

    /// Hash, bytes and breakpoints of a system prompt or of tool definitions.
    fn base(&mut self, raw: Option<&RawValue>) -> Option<(u128, u64, Marks)> {
        let raw = raw.map(RawValue::get).filter(|r| *r != "null")?;
        let key = hash(&[raw]);
        if let Some(&known) = self.bases.get(&key) {
            return Some(known);
        }
        let mut marks = Marks::default();
        let mut shown = Vec::new();
        if raw.starts_with('[') {
            for element in elements(raw).unwrap_or_default() {
                let Ok(mut value) = serde_json::from_str::<Value>(element.get()) else { continue };
                if let Some(control) = value.as_object_mut().and_then(|o| o.remove("cache_control")) {
                    let control = serde_json::from_str::<Object<CacheControl>>(&control.to_string()).ok().and_then(|o| o.0);
                    marks.add(control.as_ref());
                }
                match value.get("text").and_then(Value::as_str) {
                    // A header that the API takes out before the prompt is made; it differs from request to request.
                    Some(text) if text.starts_with("x-anthropic-billing-header") => {}
                    Some(text) => shown.push(text.to_owned()),
                    None => shown.push(value.to_string()),
                }
            }
        } else {
            shown.push(unwrapped(raw).into_owned());
        }
        let parts: Vec<&str> = shown.iter().map(String::as_str).collect();
        let base = (hash(&parts), shown.iter().map(|s| s.len() as u64).sum(), marks);
        self.bases.insert(key, base);
        Some(base)
    }

    fn exchange(&mut self, body: &Body<'_>, context: Context, reply: Reply) {
        if matches!(reply, Reply::Failed) {
            self.ignored.push("failed_request".to_owned());
            return;
        }
        self.unzoned += u64::from(context.at.is_some_and(|a| !a.zoned));
        let mut marks = Marks::default();
        marks.add(body.cache_control.0.as_ref());
        let mut messages = Vec::new();
        // Some datasets have the messages as text.
        let raw = unwrapped(body.messages.map_or("", RawValue::get));
        for raw in elements(&raw).unwrap_or_default() {
            let (id, more) = self.message(raw.get());
            marks.join(more);
            messages.extend(id);
        }
        let redacted = messages.is_empty() || (messages.len() == 1 && raw.contains(REDACTED));
        let answer = match reply {
            Reply::Answer(answer) => Some(*answer),
            _ => None,
        };
        if redacted {
            if answer.as_ref().is_none_or(|a| a.usage.is_none()) {
                self.ignored.push("empty_request".to_owned());
                return;
            }
            self.redacted += 1;
            messages.clear();
        }
        let system = self.base(body.system);
        let tools = self.base(body.tools);
        for (.., more) in [system, tools].iter().flatten() {
            marks.join(*more);
        }
        // System messages at the head are the system prompt.
        let head = messages.iter().take_while(|&&m| self.messages[m as usize].role == Role::System).count();
        let head: Vec<u32> = messages.drain(..head).collect();
        let head_bytes: u64 = head.iter().map(|&m| self.messages[m as usize].bytes()).sum();
        let system_hash = match head.as_slice() {
            [] => system.map(|s| s.0),
            head => {
                let parts: Vec<String> = head.iter().map(|&m| format!("{:032x}", self.messages[m as usize].hash)).collect();
                Some(hash(&parts.iter().map(String::as_str).collect::<Vec<_>>()))
            }
        };
        let shown = system.is_some() || tools.is_some() || !head.is_empty();
        let base_bytes = (shown || (context.whole && !redacted)).then(|| system.map_or(0, |s| s.1) + tools.map_or(0, |t| t.1) + head_bytes);
        // A body that ends with the model's words and has no response is a conversation, and no request that waits for more.
        let ended = messages.last().is_some_and(|&m| self.messages[m as usize].role == Role::Assistant);
        let exchange = Exchange {
            key: 0,
            prompt: 0,
            at_ms: context.at.map(|a| a.ms),
            session: context.session,
            model: answer.as_ref().and_then(|a| a.model.clone()).or(body.model.get().map(str::to_owned)),
            system_hash,
            tools_hash: tools.map(|t| t.0),
            base_bytes,
            sent: context.sent && (answer.is_some() || !ended),
            asked: if context.whole { asked(body.context_management) } else { Asked::Unknown },
            marks,
            redacted,
            messages,
            answer,
        };
        self.add(exchange);
    }

    fn add(&mut self, mut exchange: Exchange) {
        exchange.identify(&self.messages);
        if let Some(&known) = self.by_key.get(&exchange.key) {
            self.duplicates += 1;
            let known = &mut self.exchanges[known];
            if known.answer.is_none() {
                known.answer = exchange.answer;
            }
            return;
        }
        self.by_key.insert(exchange.key, self.exchanges.len());
        self.exchanges.push(exchange);
    }

    /// Makes a conversation of the bare messages so far.
    fn end_of_messages(&mut self) {
        if !self.items.is_empty() {
            let items = Value::Array(std::mem::take(&mut self.items));
            self.told(&responses::body(&serde_json::json!({"input": items}), Vec::new()), None, None, None);
        }
        let messages = std::mem::take(&mut self.loose);
        if messages.is_empty() {
            return;
        }
        let head = messages.iter().take_while(|&&m| self.messages[m as usize].role == Role::System).count();
        let bytes: u64 = messages[..head].iter().map(|&m| self.messages[m as usize].bytes()).sum();
        self.add(Exchange { messages: messages[head..].to_vec(), base_bytes: (head > 0).then_some(bytes), ..Exchange::default() });
    }
}

/// A value that may need a repair.
pub fn lenient(text: &str) -> Option<Value> {
    value(text).or_else(|_| value(&repair(text))).ok()
}

/// Whether an `input` is that of a request, and no tool's.
fn is_items(input: &RawValue) -> bool {
    input.get().starts_with(['"', '['])
}

/// Whether content has the parts of the Responses API.
fn parts_of_items(content: &RawValue) -> bool {
    ["\"input_text\"", "\"output_text\""].iter().any(|part| content.get().contains(part))
}

/// What a request asks of context editing.
fn asked(raw: Option<&RawValue>) -> Asked {
    let Some(raw) = raw else { return Asked::Nothing };
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(value) if value["edits"].as_array().is_some_and(|e| !e.is_empty()) => Asked::Edits(value.to_string()),
        _ => Asked::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_asks_is_kept_as_it_asks_it() {
        let of = |json: &str| asked(Some(serde_json::from_str(json).unwrap()));
        assert_eq!(asked(None), Asked::Nothing);
        assert_eq!(of("null"), Asked::Nothing);
        assert_eq!(of(r#"{"edits":[]}"#), Asked::Nothing);
        let edits = r#"{"edits":[{"type":"clear_tool_uses_20250919"}]}"#;
        assert_eq!(of(edits), Asked::Edits(edits.to_owned()));
    }

    #[test]
    fn a_base_is_the_same_wherever_its_breakpoint_stands() {
        let mut log = Log::new(false);
        let mut of = |json: &str| log.base(Some(serde_json::from_str(json).unwrap())).unwrap();
        let plain = of(r#"[{"type":"text","text":"abc"}]"#);
        let marked = of(
            r#"[{"type":"text","text":"x-anthropic-billing-header: 1"},{"type":"text","text":"abc","cache_control":{"type":"ephemeral","ttl":"1h"}}]"#,
        );
        assert_eq!((plain.0, plain.1, plain.2), (marked.0, 3, Marks::default()));
        assert_eq!(marked.2, Marks { minutes: false, hour: true });
        assert_eq!(of("\"abc\"").0, plain.0);
        assert_ne!(of("\"abd\"").0, plain.0);
    }
}
