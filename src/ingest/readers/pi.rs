//! Sessions of Pi: a tree of entries by `id` and `parentId`, of which the path to the last one is the conversation.

use std::collections::HashMap;

use serde_json::Value;

use super::super::input::Input;
use super::super::normal::{Call, hash};
use super::super::records::{each_record, value};
use super::super::{FileReport, Options};
use super::content::{Piece, text_piece, thinking_piece, use_piece};
use super::linear::{Linear, count, text};
use super::{Format, Head, Parsed};
use crate::trace::Usage;

/// Sessions of Pi.
pub struct Pi;

impl Format for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn what(&self) -> &'static str {
        "Pi sessions (JSON lines with type, id and parentId)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let session = o.text("type") == Some("session") && o.has("cwd") && o.has("timestamp");
            session || (o.text("type") == Some("message") && o.has("parentId") && o.has("message"))
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut entries: Vec<Entry> = Vec::new();
        let mut session = String::new();
        let mut ignored = Vec::new();
        each_record(input, options.limits, report, &mut |line, _| {
            let entry = value(line)?;
            match text(&entry, "type") {
                "session" => text(&entry, "id").clone_into(&mut session),
                "message" | "compaction" | "model_change" => entries.push(Entry::new(&entry, Some(line))),
                other => {
                    ignored.push(other.chars().take(64).collect::<String>());
                    // It is a link of the chain all the same.
                    entries.push(Entry::new(&entry, None));
                }
            }
            Ok(())
        });
        for kind in &ignored {
            report.ignore(kind);
        }
        let path = path(&entries, report);
        if session.is_empty() {
            session = path.first().map_or_else(String::new, |&i| entries[i].id.clone());
        }
        let mut reader = Reader { linear: Linear::new(&session, options.needs.find), model: None, parts: Vec::new() };
        for (at, &i) in path.iter().enumerate() {
            reader.entry(&entries, &path[..at], &entries[i].value(), report);
        }
        let mut parts = reader.parts;
        parts.extend(reader.linear.finish(report));
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // A short system prompt and a handful of tools.
        4_000
    }
}

/// An entry that waits until it is known which path the session took: its links, and its text, which takes less memory than what it says.
struct Entry {
    id: String,
    parent: String,
    is_message: bool,
    line: String,
}

impl Entry {
    fn new(entry: &Value, line: Option<&str>) -> Self {
        Self {
            id: text(entry, "id").to_owned(),
            parent: text(entry, "parentId").to_owned(),
            is_message: text(entry, "type") == "message",
            line: line.unwrap_or_default().to_owned(),
        }
    }

    fn value(&self) -> Value {
        value(&self.line).unwrap_or_default()
    }
}

/// Indices of the entries from the first to the last one along `parentId`; an entry without a parent in the file follows the one before.
fn path(entries: &[Entry], report: &mut FileReport) -> Vec<usize> {
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (i, entry) in entries.iter().enumerate() {
        let id = entry.id.as_str();
        if !id.is_empty() && by_id.insert(id, i).is_some() {
            report.duplicates += 1;
        }
    }
    let mut path = Vec::new();
    let mut at = entries.len().checked_sub(1);
    while let Some(i) = at {
        path.push(i);
        // A parent stands before its child, so that no damage makes a loop.
        at = by_id.get(entries[i].parent.as_str()).copied().filter(|&parent| parent < i);
    }
    path.reverse();
    let left_out = entries.iter().filter(|e| e.is_message).count() - path.iter().filter(|&&i| entries[i].is_message).count();
    if left_out > 0 {
        report.note(format!("{left_out} messages lie on branches that the session left again; they are left out"));
    }
    path
}

struct Reader {
    linear: Linear,
    model: Option<String>,
    parts: Vec<super::super::normal::Part>,
}

impl Reader {
    fn entry(&mut self, entries: &[Entry], before: &[usize], entry: &Value, report: &mut FileReport) {
        match text(entry, "type") {
            "model_change" => self.model = entry["modelId"].as_str().map(str::to_owned),
            "compaction" => {
                report.compactions += 1;
                self.parts.extend(self.linear.split(report));
                self.linear.user(&entry["summary"]);
                // What is kept of the history enters the next prompt as it is; its calls were billed before.
                let kept = text(entry, "firstKeptEntryId");
                let from = before.iter().position(|&i| !kept.is_empty() && entries[i].id == kept);
                for &i in &before[from.unwrap_or(before.len())..] {
                    self.linear.user(&entries[i].value()["message"]["content"]);
                }
            }
            "message" => self.message(entry, report),
            _ => {}
        }
    }

    fn message(&mut self, entry: &Value, report: &mut FileReport) {
        let message = &entry["message"];
        match text(message, "role") {
            "toolResult" => {
                self.linear.result(text(message, "toolCallId"), &message["content"]);
                self.linear.failed(message["isError"] == true);
            }
            "assistant" => {
                let keep = self.linear.keep;
                let usage = usage(&message["usage"]);
                // A failed attempt: nothing was said and nothing billed.
                if usage.is_none() && text(message, "stopReason") == "error" && message["content"].as_array().is_none_or(Vec::is_empty) {
                    return report.ignore("failed_request");
                }
                let output = match &message["content"] {
                    Value::Array(blocks) => blocks.iter().filter_map(|b| piece(b, keep)).collect(),
                    Value::String(words) => vec![text_piece(words, keep)],
                    _ => Vec::new(),
                };
                let call = Call {
                    key: Some(hash(&["pi", text(entry, "id"), text(entry, "timestamp")])),
                    model: message["model"].as_str().map(str::to_owned).or_else(|| self.model.clone()),
                    at_ms: self.linear.at(entry["timestamp"].as_str()),
                    complete: usage.is_some(),
                    ttl_ms: usage.filter(|u| u.cache_write_1h > 0).map(|_| super::usage::HOUR_MS),
                    usage,
                    records: 1,
                    ..Call::default()
                };
                self.linear.call(call, output);
            }
            _ => self.linear.user(&message["content"]),
        }
    }
}

fn piece(block: &Value, keep: bool) -> Option<Piece> {
    match text(block, "type") {
        "text" => Some(text_piece(text(block, "text"), keep)),
        "thinking" => Some(thinking_piece(text(block, "thinking"))),
        "toolCall" => Some(use_piece(text(block, "id"), text(block, "name"), &block["arguments"].to_string(), keep)),
        _ => None,
    }
}

/// Usage with disjoint fields; all zero is unknown.
fn usage(usage: &Value) -> Option<Usage> {
    let n = |key: &str| count(&usage[key]).unwrap_or(0);
    let written = n("cacheWrite");
    let hour = n("cacheWrite1h").min(written);
    let usage =
        Usage { input: n("input"), cache_read: n("cacheRead"), cache_write_5m: written - hour, cache_write_1h: hour, output: n("output") };
    (usage.prompt() > 0).then_some(usage)
}
