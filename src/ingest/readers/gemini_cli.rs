//! Sessions of Gemini CLI: chat files, and the lines of `--output-format stream-json`.

use serde_json::Value;

use super::super::input::Input;
use super::super::normal::{Call, hash};
use super::super::records::{Lazy, each_record, value};
use super::super::{FileReport, Options};
use super::content::{Piece, text_piece, thinking_piece, use_piece};
use super::linear::{Linear, count, gather, inclusive, text};
use super::{Format, Head, Parsed};

/// Sessions of Gemini CLI.
pub struct GeminiCli;

impl Format for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini_cli"
    }

    fn what(&self) -> &'static str {
        "Gemini CLI sessions (chat files with sessionId and projectHash, or stream-json lines)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let chat = o.has("projectHash") && o.has("sessionId");
            let init = o.text("type") == Some("init") && o.has("session_id") && o.has("model");
            let tool = matches!(o.text("type"), Some("tool_use" | "tool_result")) && o.has("tool_id");
            chat || init || tool
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut reader = Reader {
            linear: Linear::new("", options.needs.find),
            model: None,
            output: Vec::new(),
            at: None,
            calls: 0,
            parts: Vec::new(),
            empty_results: 0,
        };
        let mut ignored = Vec::new();
        let mut notes = FileReport::default();
        each_record(input.elements(), options.limits, report, &mut |record, _| {
            let Lazy { rest: line, list } = Lazy::new(record, "messages")?;
            if let Some(messages) = list {
                // Only what can be read whole is begun: the record may come again, repaired.
                for message in &messages {
                    value(message.get())?;
                }
                reader.end_call();
                reader.begin(text(&line, "sessionId"), &mut notes);
                for message in messages {
                    reader.chat(&value(message.get())?, &mut ignored);
                }
            } else if matches!(text(&line, "type"), "gemini" | "user") && line["id"].is_string() {
                reader.chat(&line, &mut ignored);
            } else {
                reader.stream(&line, &mut ignored, &mut notes);
            }
            Ok(())
        });
        for kind in &ignored {
            report.ignore(kind);
        }
        reader.end_call();
        if reader.empty_results > 0 {
            report.note(format!("{} tool results are logged empty; their sizes are unknown and count as nothing", reader.empty_results));
        }
        let mut parts = reader.parts;
        parts.extend(reader.linear.finish(&mut notes));
        report.orphan_uses += notes.orphan_uses;
        report.orphan_results += notes.orphan_results;
        notes.notes.iter().for_each(|note| report.note(note.clone()));
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // A long system prompt and a dozen tools.
        10_000
    }
}

struct Reader {
    linear: Linear,
    model: Option<String>,
    /// What the model said in the call that is not ended yet (stream).
    output: Vec<Piece>,
    at: Option<i64>,
    calls: u64,
    parts: Vec<super::super::normal::Part>,
    empty_results: u64,
}

impl Reader {
    /// Another session begins.
    fn begin(&mut self, session: &str, report: &mut FileReport) {
        let next = Linear::new(session, self.linear.keep);
        self.parts.extend(std::mem::replace(&mut self.linear, next).finish(report));
    }

    /// A message of a chat file.
    fn chat(&mut self, message: &Value, ignored: &mut Vec<String>) {
        match text(message, "type") {
            "user" => self.linear.user(&message["content"]),
            "gemini" => {
                let keep = self.linear.keep;
                let mut output = Vec::new();
                for thought in message["thoughts"].as_array().into_iter().flatten() {
                    output.push(thinking_piece(&gather(thought, true).text));
                }
                let words = gather(&message["content"], true).text;
                if !words.is_empty() {
                    output.push(text_piece(&words, keep));
                }
                let calls = message["toolCalls"].as_array().map_or(&[][..], Vec::as_slice);
                for call in calls {
                    output.push(use_piece(text(call, "id"), text(call, "name"), &call["args"].to_string(), keep));
                }
                let tokens = &message["tokens"];
                let thought = count(&tokens["thoughts"]).unwrap_or(0);
                let usage =
                    inclusive(count(&tokens["input"]), count(&tokens["cached"]), None, count(&tokens["output"]).map(|n| n + thought));
                let call = Call {
                    key: Some(hash(&["gemini_cli", text(message, "id")])),
                    model: message["model"].as_str().map(str::to_owned).or_else(|| self.model.clone()),
                    at_ms: self.linear.at(message["timestamp"].as_str()),
                    complete: usage.is_some(),
                    usage,
                    records: 1,
                    ..Call::default()
                };
                self.linear.call(call, output);
                for call in calls.iter().filter(|c| !c["result"].is_null()) {
                    let parts = call["result"].as_array().map_or(&[][..], Vec::as_slice);
                    let shown: Vec<Value> = parts.iter().map(|p| shown(p).clone()).collect();
                    self.linear.result(text(call, "id"), &Value::Array(shown));
                    self.linear.failed(text(call, "status") == "error");
                }
            }
            other => ignored.push(other.chars().take(64).collect()),
        }
    }

    /// A line of the stream.
    fn stream(&mut self, line: &Value, ignored: &mut Vec<String>, report: &mut FileReport) {
        let keep = self.linear.keep;
        match text(line, "type") {
            "init" => {
                self.model = line["model"].as_str().map(str::to_owned);
                if self.calls == 0 {
                    // A prompt may be logged before the session has its name.
                    self.linear.name(text(line, "session_id"));
                } else {
                    self.end_call();
                    self.begin(text(line, "session_id"), report);
                }
            }
            "message" if text(line, "role") == "assistant" => {
                self.at = self.at.or_else(|| self.linear.at(line["timestamp"].as_str()));
                self.output.push(text_piece(&gather(&line["content"], true).text, keep));
            }
            "message" => {
                self.end_call();
                self.linear.user(&line["content"]);
            }
            "tool_use" => {
                self.at = self.at.or_else(|| self.linear.at(line["timestamp"].as_str()));
                self.output.push(use_piece(text(line, "tool_id"), text(line, "tool_name"), &line["parameters"].to_string(), keep));
            }
            "tool_result" => {
                self.end_call();
                let empty = gather(&line["output"], false).bytes == 0;
                let content = if empty && !line["error"].is_null() { &line["error"]["message"] } else { &line["output"] };
                self.empty_results += u64::from(empty && line["error"].is_null());
                self.linear.result(text(line, "tool_id"), content);
                self.linear.failed(text(line, "status") == "error");
            }
            other => ignored.push(other.chars().take(64).collect()),
        }
    }

    /// Ends the call whose output was gathered from a stream.
    fn end_call(&mut self) {
        let output = std::mem::take(&mut self.output);
        if output.is_empty() {
            return;
        }
        self.calls += 1;
        let at_ms = self.at.take();
        let key = hash(&["gemini_cli", &self.calls.to_string(), &at_ms.unwrap_or(0).to_string(), self.model.as_deref().unwrap_or("")]);
        let call = Call { key: Some(key), model: self.model.clone(), at_ms, records: output.len() as u64, ..Call::default() };
        self.linear.call(call, output);
    }
}

/// What a part of a result shows the model: the output or error of a function's response, or the part itself.
fn shown(part: &Value) -> &Value {
    let response = &part["functionResponse"]["response"];
    ["output", "error", "content"].iter().map(|key| &response[*key]).find(|v| !v.is_null()).unwrap_or(if response.is_null() {
        part
    } else {
        response
    })
}
