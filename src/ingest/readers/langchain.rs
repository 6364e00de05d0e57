//! Messages as `LangChain` dumps them, one by one or in the runs of a `LangSmith` export.

use serde_json::{Value, json};

use super::super::input::Input;
use super::super::records::{each_record, value};
use super::super::{FileReport, Options, time};
use super::linear::{count, text};
use super::messages_api::Log;
use super::{Format, Head, Parsed};

/// Message dumps of `LangChain` and runs of `LangSmith`.
pub struct LangChain;

impl Format for LangChain {
    fn name(&self) -> &'static str {
        "langchain"
    }

    fn what(&self) -> &'static str {
        "LangChain message dumps (objects with type constructor and kwargs, or type and data) and LangSmith runs"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let dump = o.text("type") == Some("constructor") && o.has("kwargs");
            let dict = o.has("data") && matches!(o.text("type"), Some("human" | "ai" | "system" | "tool"));
            dump || dict || (o.has("run_type") && (o.has("inputs") || o.has("outputs")))
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut log = Log::new(options.needs.find);
        let mut loose = Vec::new();
        let mut ignored = Vec::new();
        each_record(input.elements(), options.limits, report, &mut |record, _| {
            let record = value(record)?;
            match (message(&record), text(&record, "run_type")) {
                (Some(message), _) => loose.push(message),
                (None, "llm") => run(&record, &mut log, &mut ignored),
                (None, kind) => ignored.push(format!("run_{kind}")),
            }
            Ok(())
        });
        for kind in &ignored {
            report.ignore(kind);
        }
        if !loose.is_empty() {
            log.told(&json!({ "messages": loose }), None, None, None);
        }
        Parsed { parts: log.finish(report), documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        3_000
    }
}

/// A model call of `LangSmith`: its messages, perhaps in a batch of one, and the generation.
fn run(run: &Value, log: &mut Log, ignored: &mut Vec<String>) {
    let batch = &run["inputs"]["messages"];
    let sent = if batch[0].is_array() { &batch[0] } else { batch };
    let sent: Vec<Value> = sent.as_array().into_iter().flatten().map(|m| message(m).unwrap_or_else(|| m.clone())).collect();
    let outputs = &run["outputs"];
    let generation = if outputs["generations"][0].is_array() { &outputs["generations"][0][0] } else { &outputs["generations"][0] };
    if !run["error"].is_null() || generation["message"].is_null() || sent.is_empty() {
        ignored.push("failed_request".to_owned());
        return;
    }
    let mut answer = message(&generation["message"]).unwrap_or_else(|| generation["message"].clone());
    let parameters = &run["extra"]["invocation_params"];
    let mut body = json!({"model": parameters["model"], "messages": sent});
    if parameters["tools"].is_array() {
        body["tools"] = parameters["tools"].clone();
    }
    let usage = match answer["usage"].take() {
        Value::Null => outputs["llm_output"]["token_usage"].clone(),
        usage => usage,
    };
    let choice = json!({"message": answer, "finish_reason": "stop"});
    let response = json!({"id": run["id"], "model": answer["model"], "choices": [choice], "usage": usage});
    let session = ["trace_id", "session_id"].iter().find_map(|key| run[*key].as_str()).map(str::to_owned);
    log.told(&body, Some(&response), session, run["start_time"].as_str().and_then(time::parse));
}

/// A message of a dump in the shape of chat; `None` where the text is none.
pub fn from_dump(raw: &str) -> Option<String> {
    // Looked for first, so that other messages cost nothing.
    let perhaps = raw.contains("\"kwargs\"") || raw.contains("\"data\"");
    let value = perhaps.then(|| serde_json::from_str::<Value>(raw).ok())??;
    message(&value).map(|message| message.to_string())
}

fn message(value: &Value) -> Option<Value> {
    let constructed = value["kwargs"].is_object() && text(value, "type") == "constructor";
    let fields = if constructed { &value["kwargs"] } else { &value["data"] };
    let kind = if constructed { value["id"].as_array()?.last()?.as_str()? } else { text(value, "type") };
    if !fields.is_object() || value["role"].is_string() {
        return None;
    }
    let kind = kind.trim_end_matches("Chunk").trim_end_matches("Message");
    Some(match kind {
        "AI" | "ai" => answer(fields),
        "Tool" | "tool" | "Function" | "function" => {
            let id = if fields["tool_call_id"].is_string() { &fields["tool_call_id"] } else { &fields["name"] };
            json!({"role": "tool", "tool_call_id": id, "content": fields["content"]})
        }
        "System" | "system" => json!({"role": "system", "content": fields["content"]}),
        "Human" | "human" | "Chat" | "chat" => json!({"role": "user", "content": fields["content"]}),
        _ => return None,
    })
}

fn answer(fields: &Value) -> Value {
    let calls = fields["tool_calls"].as_array().filter(|calls| !calls.is_empty());
    let calls: Vec<Value> = match calls {
        Some(calls) => {
            let call = |c: &Value| json!({"id": c["id"], "function": {"name": c["name"], "arguments": c["args"].to_string()}});
            calls.iter().map(call).collect()
        }
        None => fields["additional_kwargs"]["tool_calls"].as_array().cloned().unwrap_or_default(),
    };
    let mut content = fields["content"].clone();
    // The provider's own blocks repeat the calls.
    if let Some(blocks) = content.as_array_mut().filter(|_| !calls.is_empty()) {
        blocks.retain(|block| text(block, "type") != "tool_use");
    }
    let used = &fields["usage_metadata"];
    let n = |key: &str| count(&used["input_token_details"][key]).unwrap_or(0);
    let usage = count(&used["input_tokens"]).map(|prompt| {
        let details = json!({"cached_tokens": n("cache_read"), "cache_creation_tokens": n("cache_creation")});
        json!({"prompt_tokens": prompt, "completion_tokens": used["output_tokens"], "prompt_tokens_details": details})
    });
    let about = &fields["response_metadata"];
    let model = ["model_name", "model"].iter().map(|key| &about[*key]).find(|m| m.is_string()).unwrap_or(&Value::Null);
    json!({"role": "assistant", "id": fields["id"], "model": model, "content": content, "tool_calls": calls, "usage": usage, "stop_reason": "stop"})
}
