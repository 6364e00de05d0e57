//! Spans of `OpenTelemetry`'s conventions for generative AI, as JSON lines: as a console exporter prints them, or as OTLP wraps them.
//!
//! A span of a model call holds what was sent and answered where content is recorded, and what it used. Spans of tools repeat what the next
//! call sends, and spans of agents add up those of their calls; neither is read.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::input::Input;
use super::super::records::{each_record, value};
use super::super::time::{Instant, parse};
use super::super::{FileReport, Options};
use super::linear::{count, text};
use super::messages_api::Log;
use super::{Format, Head, Parsed};

/// Spans of generative AI.
pub struct Otel;

impl Format for Otel {
    fn name(&self) -> &'static str {
        "otel_genai"
    }

    fn what(&self) -> &'static str {
        "OpenTelemetry GenAI spans as JSON lines (spans with attributes gen_ai.*, or resourceSpans)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let ids = ["context", "trace_id", "traceId", "span_id", "spanId", "startTimeUnixNano"];
        head.objects()
            .iter()
            .any(|o| o.has("resourceSpans") || o.has("resource_spans") || (o.has("attributes") && ids.iter().any(|id| o.has(id))))
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut reader = Reader { log: Log::new(options.needs.find), ignored: Vec::new(), cut: 0 };
        each_record(input.elements(), options.limits, report, &mut |record, _| {
            let record = value(record)?;
            let any = |of: &Value, keys: [&str; 2]| -> Vec<Value> {
                keys.iter().find_map(|key| of[*key].as_array().cloned()).unwrap_or_default()
            };
            let resources = any(&record, ["resourceSpans", "resource_spans"]);
            if resources.is_empty() {
                reader.span(&record);
            }
            for scope in resources.iter().flat_map(|r| any(r, ["scopeSpans", "scope_spans"])) {
                scope["spans"].as_array().into_iter().flatten().for_each(|span| reader.span(span));
            }
            Ok(())
        });
        let Reader { log, ignored, cut } = reader;
        for kind in &ignored {
            report.ignore(kind);
        }
        if cut > 0 {
            report.note(format!("{cut} attributes are no whole JSON: the exporter cut them; raise its limit on the length of attributes"));
        }
        Parsed { parts: log.finish(report), documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        3_000
    }
}

struct Reader {
    log: Log,
    ignored: Vec<String>,
    /// Attributes that are no whole JSON.
    cut: u64,
}

impl Reader {
    fn span(&mut self, span: &Value) {
        let mut attributes = flat(&span["attributes"]);
        for event in span["events"].as_array().into_iter().flatten() {
            if text(event, "name") == "gen_ai.client.inference.operation.details" {
                attributes.extend(flat(&event["attributes"]));
            }
        }
        let get = |key: &str| attributes.get(key).unwrap_or(&Value::Null);
        let operation = get("gen_ai.operation.name").as_str().unwrap_or_default();
        let calls = ["chat", "text_completion", "generate_content"].contains(&operation);
        // Older instrumentations name no operation.
        let signs = ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.prompt.0.role", "gen_ai.prompt.0.content"];
        if !calls && (!operation.is_empty() || signs.iter().all(|sign| get(sign).is_null())) {
            let kind = if operation.is_empty() { "other_span" } else { operation };
            return self.ignored.push(kind.chars().take(64).collect());
        }
        let either = |keys: [&str; 2]| keys.iter().find_map(|key| count(attributes.get(*key)?));
        let prompt = either(["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"]);
        let usage = prompt.map(|prompt| {
            json!({
                "prompt_tokens": prompt,
                "completion_tokens": either(["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"]),
                "cache_read_input_tokens": either(["gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"]),
                "cache_creation_input_tokens": either(["gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"]),
            })
        });
        if usage.is_none() && !get("error.type").is_null() {
            return self.ignored.push("failed_request".to_owned());
        }
        let mut cut = 0;
        let mut whole = |key: &str| match attributes.get(key) {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| {
                cut += 1;
                Value::Null
            }),
            Some(value) => value.clone(),
            None => Value::Null,
        };
        let mut sent = messages(&whole("gen_ai.input.messages"));
        let mut answers = messages(&whole("gen_ai.output.messages"));
        sent.extend(numbered(&attributes, "gen_ai.prompt."));
        answers.extend(numbered(&attributes, "gen_ai.completion."));
        let (system, tools) = (whole("gen_ai.system_instructions"), whole("gen_ai.tool.definitions"));
        self.cut += cut;
        for event in span["events"].as_array().into_iter().flatten() {
            older(text(event, "name"), &flat(&event["attributes"]), &mut sent, &mut answers);
        }
        let mut body = json!({"model": get("gen_ai.request.model"), "messages": sent});
        if let Some(parts) = system.as_array() {
            body["system"] = parts.iter().map(part).collect();
        }
        if tools.is_array() {
            body["tools"] = tools;
        }
        let message = answers.into_iter().next().unwrap_or_else(|| json!({}));
        let choice = json!({"message": message, "finish_reason": "stop"});
        let response = json!({"id": get("gen_ai.response.id"), "model": get("gen_ai.response.model"), "choices": [choice], "usage": usage});
        let trace = ["trace_id", "traceId"].iter().find_map(|key| span[*key].as_str().or(span["context"][*key].as_str()));
        let session = get("gen_ai.conversation.id").as_str().or(trace).map(str::to_owned);
        self.log.told(&body, Some(&response), session, start(span));
    }
}

/// When a span began.
fn start(span: &Value) -> Option<Instant> {
    let nanos = ["startTimeUnixNano", "start_time_unix_nano", "start_time"].iter().find_map(|key| {
        let value = &span[*key];
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let instant = |n: u64| Instant { ms: (n / 1_000_000) as i64, zoned: true };
    nanos.map(instant).or_else(|| span["start_time"].as_str().and_then(parse))
}

/// Attributes as a map, whichever way they are written.
fn flat(attributes: &Value) -> Map<String, Value> {
    match attributes {
        Value::Object(map) => map.clone(),
        Value::Array(pairs) => pairs.iter().map(|pair| (text(pair, "key").to_owned(), plain(&pair["value"]))).collect(),
        _ => Map::new(),
    }
}

/// A value of OTLP as JSON.
fn plain(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|o| o.iter().next()) else { return value.clone() };
    match kind.as_str() {
        // 64-bit numbers are written as text.
        "intValue" => inner.as_str().and_then(|n| n.parse::<i64>().ok()).map_or_else(|| inner.clone(), Value::from),
        "arrayValue" => inner["values"].as_array().into_iter().flatten().map(plain).collect(),
        "kvlistValue" => Value::Object(flat(&inner["values"])),
        _ => inner.clone(),
    }
}

/// Messages of the conventions as chat has them.
fn messages(list: &Value) -> Vec<Value> {
    let mut messages = Vec::new();
    for message in list.as_array().into_iter().flatten() {
        let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
        for result in parts.iter().filter(|p| text(p, "type") == "tool_call_response") {
            let response = ["response", "result", "content"].iter().map(|key| &result[*key]).find(|v| !v.is_null()).unwrap_or(&Value::Null);
            let content = if response.is_string() { response.clone() } else { Value::from(response.to_string()) };
            messages.push(json!({"role": "tool", "tool_call_id": result["id"], "content": content}));
        }
        let rest: Vec<Value> = parts.iter().filter(|p| !text(p, "type").starts_with("tool_call")).map(part).collect();
        let calls = parts.iter().filter(|p| text(p, "type") == "tool_call").map(|call| {
            let arguments = &call["arguments"];
            let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            json!({"id": call["id"], "function": {"name": call["name"], "arguments": arguments}})
        });
        let calls: Vec<Value> = calls.collect();
        match text(message, "role") {
            "tool" => {}
            role @ ("assistant" | "model") => messages.push(json!({"role": role, "content": rest, "tool_calls": calls})),
            role if !rest.is_empty() => messages.push(json!({"role": role, "content": rest})),
            _ => {}
        }
    }
    messages
}

fn part(part: &Value) -> Value {
    let words = if part["content"].is_string() { &part["content"] } else { &part["text"] };
    match text(part, "type") {
        "reasoning" | "thinking" => json!({"type": "thinking", "thinking": words}),
        "blob" | "uri" | "file" if text(part, "modality") == "image" => json!({"type": "image"}),
        "blob" | "uri" | "file" => json!({"type": "document"}),
        _ => json!({"type": "text", "text": words}),
    }
}

/// The fields of a message, and those of its calls by number.
type Numbered = (Map<String, Value>, BTreeMap<u64, Map<String, Value>>);

/// Messages that older instrumentations write as an attribute for each field: `gen_ai.prompt.0.role`, `gen_ai.completion.0.content`,
/// `gen_ai.prompt.2.tool_calls.0.name`.
fn numbered(attributes: &Map<String, Value>, start: &str) -> Vec<Value> {
    let mut messages: BTreeMap<u64, Numbered> = BTreeMap::new();
    for (name, value) in attributes {
        let Some((number, field)) = name.strip_prefix(start).and_then(|rest| rest.split_once('.')) else { continue };
        let Ok(number) = number.parse() else { continue };
        let (fields, calls) = messages.entry(number).or_default();
        let call = field.strip_prefix("tool_calls.").and_then(|rest| rest.split_once('.'));
        match call.and_then(|(number, field)| Some((number.parse().ok()?, field))) {
            Some((number, field)) => _ = calls.entry(number).or_default().insert(field.to_owned(), value.clone()),
            None => _ = fields.insert(field.to_owned(), value.clone()),
        }
    }
    let message = |(fields, calls): Numbered| {
        let get = |key: &str| fields.get(key).cloned().unwrap_or_default();
        let calls: Vec<Value> = calls
            .into_values()
            .map(|call| {
                let arguments = call.get("arguments").cloned().unwrap_or_default();
                let arguments = if arguments.is_string() { arguments } else { Value::from(arguments.to_string()) };
                json!({"id": call.get("id"), "function": {"name": call.get("name"), "arguments": arguments}})
            })
            .collect();
        // Content of several parts is written as JSON.
        let content = match get("content") {
            Value::String(text) if text.starts_with("[{") => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            content => content,
        };
        match get("role").as_str() {
            Some("tool") => json!({"role": "tool", "tool_call_id": get("tool_call_id"), "content": content}),
            Some(role) => json!({"role": role, "content": content, "tool_calls": calls}),
            None => {
                json!({"role": if start.contains("completion") { "assistant" } else { "user" }, "content": content, "tool_calls": calls})
            }
        }
    };
    messages.into_values().map(message).collect()
}

/// Messages of versions up to 1.36, which are events of the span.
fn older(name: &str, event: &Map<String, Value>, sent: &mut Vec<Value>, answers: &mut Vec<Value>) {
    let get = |key: &str| event.get(key).unwrap_or(&Value::Null);
    let parsed = |value: &Value| value.as_str().and_then(|t| serde_json::from_str(t).ok()).unwrap_or_else(|| value.clone());
    match name {
        "gen_ai.system.message" => sent.push(json!({"role": "system", "content": get("content")})),
        "gen_ai.user.message" => sent.push(json!({"role": "user", "content": get("content")})),
        "gen_ai.tool.message" => sent.push(json!({"role": "tool", "tool_call_id": get("id"), "content": get("content")})),
        "gen_ai.assistant.message" => {
            sent.push(json!({"role": "assistant", "content": get("content"), "tool_calls": parsed(get("tool_calls"))}));
        }
        "gen_ai.choice" => {
            let message = parsed(get("message"));
            let message = if message.is_object() { message } else { Value::Object(event.clone()) };
            answers.push(json!({"role": "assistant", "content": message["content"], "tool_calls": parsed(&message["tool_calls"])}));
        }
        _ => {}
    }
}
