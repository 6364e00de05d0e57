//! Logs of `OpenHands`: rows of an evaluation (`output.jsonl`), lists of events, one event a line; of both of its event models.

mod event;
mod walk;

use serde_json::{Value, json};

use super::super::input::Input;
use super::super::normal::hash;
use super::super::records::{Refusal, each_record, value};
use super::super::{FileReport, Options};
use super::linear::text;
use super::{Format, Head, Parsed};
use walk::walk;

/// Logs of `OpenHands`.
pub struct OpenHands;

impl Format for OpenHands {
    fn name(&self) -> &'static str {
        "openhands"
    }

    fn what(&self) -> &'static str {
        "OpenHands logs (rows with instance_id and history, or events with source and action, observation or kind)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let row = o.has("history") && ["metrics", "instruction", "test_result", "metadata"].iter().any(|key| o.has(key));
            // The history may begin behind what detection sees.
            let long = o.has("instance_id") && o.has("instruction") && o.has("metadata");
            let event = o.has("source") && (o.text("action").is_some() || o.text("observation").is_some());
            let newer = o.has("source") && o.text("kind").is_some_and(event::is_kind);
            row || long || event || newer
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let keep = options.needs.find;
        let mut parts = Vec::new();
        let mut loose: Vec<Value> = Vec::new();
        let mut notes = FileReport::default();
        each_record(input.elements(), options.limits, report, &mut |text, _| {
            let record = value(text)?;
            if let Some(history) = record["history"].as_array() {
                // A row may be there twice, of two attempts: the history tells them apart.
                let session = format!("{} {:032x}", record["instance_id"].as_str().unwrap_or_default(), hash(&[text]));
                parts.extend(walk(&events(history), &record["metrics"], &session, keep, &mut notes));
            } else if record["instance_id"].is_null() {
                loose.push(record);
            } else {
                return Err(Refusal::Unusable("has no history".to_owned()));
            }
            Ok(())
        });
        if !loose.is_empty() {
            let first = &loose[0];
            let session = format!("{:032x}", hash(&[&first["id"].to_string(), text(first, "timestamp"), &first["args"].to_string()]));
            parts.extend(walk(&loose, &Value::Null, &session, keep, &mut notes));
        }
        report.orphan_uses += notes.orphan_uses;
        report.orphan_results += notes.orphan_results;
        report.compactions += notes.compactions;
        report.duplicates += notes.duplicates;
        for (kind, n) in &notes.ignored_types {
            (0..*n).for_each(|_| report.ignore(kind));
        }
        notes.notes.into_iter().for_each(|note| report.note(note));
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // First calls with recorded usage: 3,400 tokens with a short task, system prompt and half a dozen tools.
        3_000
    }
}

/// The events of a row: a list, or in old logs pairs of an action and its observation.
fn events(history: &[Value]) -> Vec<Value> {
    let mut events = Vec::new();
    for (i, entry) in history.iter().enumerate() {
        let Some(pair) = entry.as_array() else {
            events.push(entry.clone());
            continue;
        };
        let id = json!(format!("pair {i}"));
        for (at, event) in pair.iter().enumerate() {
            let mut event = event.clone();
            if let Some(event) = event.as_object_mut() {
                event.insert((if at == 0 { "id" } else { "cause" }).to_owned(), id.clone());
            }
            events.push(event);
        }
    }
    events
}
