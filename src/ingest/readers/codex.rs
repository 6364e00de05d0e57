//! Rollouts of Codex: `response_item` lines are what the model saw and said, `event_msg` lines repeat them for the terminal.
//!
//! A call ends where its usage is told (`token_count` whose running total advanced); in a log without usage, where a result or a prompt
//! follows what the model said.

use serde_json::Value;

use super::super::input::Input;
use super::super::normal::{Call, Part, hash};
use super::super::records::{each_record, value};
use super::super::{FileReport, Options};
use super::content::{Gathered, Piece, Raw, text_piece, thinking_piece, use_piece};
use super::linear::{Linear, count, exit_code_behind, gather, inclusive, text};
use super::{Format, Head, Parsed};

/// Rollouts of Codex.
pub struct Codex;

const TYPES: [&str; 5] = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn what(&self) -> &'static str {
        "Codex rollouts (JSON lines with timestamp, type and payload)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| o.has("payload") && o.text("type").is_some_and(|t| TYPES.contains(&t)))
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        // As text: as values they would take several times as much memory.
        let mut lines: Vec<String> = Vec::new();
        let mut billed = false;
        each_record(input, options.limits, report, &mut |line, _| {
            billed |= total(&value(line)?["payload"]).is_some();
            lines.push(line.to_owned());
            Ok(())
        });
        let mut reader = Reader {
            linear: Linear::new("", options.needs.find),
            billed,
            model: None,
            output: Vec::new(),
            later: Vec::new(),
            at_ms: None,
            total: 0,
            parts: Vec::new(),
            calls: 0,
        };
        for line in lines {
            if let Ok(line) = value(&line) {
                reader.line(&line, report);
            }
        }
        reader.end_call(None);
        let mut parts = reader.parts;
        parts.extend(reader.linear.finish(report));
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // First calls with recorded usage: 12,000 to 22,000 tokens, of which instructions and tools are the most.
        10_000
    }
}

/// The running total of a `token_count`; `None` where the event tells none.
fn total(payload: &Value) -> Option<u64> {
    (text(payload, "type") == "token_count").then(|| count(&payload["info"]["total_token_usage"]["total_tokens"]))?
}

struct Reader {
    linear: Linear,
    /// Whether the log tells usage at all.
    billed: bool,
    model: Option<String>,
    /// What the model said in the call that is not ended yet.
    output: Vec<Piece>,
    /// What the client appended since it began to.
    later: Vec<Later>,
    at_ms: Option<i64>,
    total: u64,
    parts: Vec<Part>,
    calls: u64,
}

enum Later {
    User(Value),
    Result(String, Value),
}

impl Reader {
    fn line(&mut self, line: &Value, report: &mut FileReport) {
        let payload = &line["payload"];
        match text(line, "type") {
            "session_meta" => {
                if self.calls == 0 && self.output.is_empty() {
                    self.linear = Linear::new(text(payload, "id"), self.linear.keep);
                    self.linear.base(gather(&payload["base_instructions"]["text"], false).bytes as usize);
                }
            }
            "turn_context" => self.model = payload["model"].as_str().map(str::to_owned).or(self.model.take()),
            "response_item" => self.item(payload, line["timestamp"].as_str(), report),
            "compacted" => {
                self.end_call(None);
                report.compactions += 1;
                self.parts.extend(self.linear.split(report));
                let history = if payload["replacement_history"].is_array() { &payload["replacement_history"] } else { &payload["message"] };
                match history {
                    Value::Array(items) => items.iter().for_each(|item| self.linear.user(&item["content"])),
                    words => self.linear.user(words),
                }
            }
            "event_msg" => match (text(payload, "type"), total(payload)) {
                ("token_count", Some(total)) if total > self.total => {
                    self.total = total;
                    let last = &payload["info"]["last_token_usage"];
                    self.end_call(Some(last));
                }
                // The same running total again, or a fresh one after a compaction.
                ("token_count", Some(total)) => self.total = total,
                ("thread_rolled_back", _) => {
                    report.note("the session was rolled back; what was rolled back is read as if it had stayed".to_owned());
                }
                _ => {}
            },
            other => report.ignore(&other.chars().take(64).collect::<String>()),
        }
    }

    fn item(&mut self, item: &Value, at: Option<&str>, report: &mut FileReport) {
        let keep = self.linear.keep;
        let kind = text(item, "type");
        let input = match kind {
            "message" if text(item, "role") != "assistant" => Some(Later::User(item["content"].clone())),
            _ if kind.ends_with("_output") => Some(Later::Result(text(item, "call_id").to_owned(), item["output"].clone())),
            _ => None,
        };
        if let Some(input) = input {
            if self.output.is_empty() {
                self.append(input);
            } else {
                self.later.push(input);
            }
            return;
        }
        // A log without usage: what the model says after a result is another call.
        if !self.billed && !self.later.is_empty() {
            self.end_call(None);
        }
        let piece = match kind {
            "message" => {
                let words: Gathered = gather(&item["content"], true);
                text_piece(&words.text, keep)
            }
            "reasoning" => thinking_piece(""),
            "function_call" => use_piece(text(item, "call_id"), text(item, "name"), text(item, "arguments"), keep),
            "custom_tool_call" => use_piece(text(item, "call_id"), text(item, "name"), &item["input"].to_string(), keep),
            "local_shell_call" => use_piece(text(item, "call_id"), "local_shell", &item["action"].to_string(), keep),
            // Run by the provider: no result of its own comes from the client.
            "web_search_call" => {
                let asked = use_piece(text(item, "id"), "web_search", &item["action"].to_string(), keep);
                Piece {
                    raw: Raw::Text,
                    item: super::super::normal::Item { kind: super::super::normal::Kind::Text, ..asked.item },
                    mark: asked.mark,
                }
            }
            other => return report.ignore(&other.chars().take(64).collect::<String>()),
        };
        if self.output.is_empty() {
            self.at_ms = self.linear.at(at);
        }
        self.output.push(piece);
    }

    fn append(&mut self, input: Later) {
        match input {
            Later::User(content) => self.linear.user(&content),
            Later::Result(id, output) => {
                let failed = exit_code_behind(&gather(&output, true).text, "Process exited with code ");
                self.linear.result(&id, &output);
                self.linear.failed(failed);
            }
        }
    }

    /// Ends the call whose output was gathered, with what was billed for it.
    fn end_call(&mut self, billed: Option<&Value>) {
        if self.output.is_empty() {
            return;
        }
        let usage =
            billed.and_then(|u| inclusive(count(&u["input_tokens"]), count(&u["cached_input_tokens"]), None, count(&u["output_tokens"])));
        self.calls += 1;
        let call = Call {
            key: Some(hash(&["codex", &self.calls.to_string(), &self.at_ms.unwrap_or(0).to_string(), &format!("{usage:?}")])),
            model: self.model.clone(),
            at_ms: self.at_ms,
            complete: usage.is_some(),
            usage,
            records: self.output.len() as u64,
            ..Call::default()
        };
        let output = std::mem::take(&mut self.output);
        self.linear.call(call, output);
        for input in std::mem::take(&mut self.later) {
            self.append(input);
        }
    }
}
