//! The events of one conversation, in order, to its parts.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::super::FileReport;
use super::super::super::normal::{Call, Part, hash};
use super::super::linear::{Linear, count, inclusive, text};
use super::super::usage::RawUsage;
use super::event::{What, id, joined, output, use_id, what};
use crate::trace::Usage;

/// What is known before the events are walked.
struct Known<'e> {
    /// The events of each response, in order.
    of_response: HashMap<&'e str, Vec<&'e Value>>,
    /// Usage that is told beside the events, by response.
    usage: HashMap<&'e str, Usage>,
    /// The id of the use that an event is, by the event's id.
    uses: HashMap<String, String>,
}

/// The parts of a conversation. `metrics`: what a row tells of its calls.
pub fn walk(events: &[Value], metrics: &Value, session: &str, keep: bool, report: &mut FileReport) -> Vec<Part> {
    let known = know(events, metrics);
    let mut walk = Walk { linear: Linear::new(session, keep), parts: Vec::new(), calls: 0, shown: Vec::new() };
    let mut called: HashSet<&str> = HashSet::new();
    let mut ids: HashSet<String> = HashSet::new();
    for event in events {
        // Events are numbered; the same one again is a copy.
        if !event["id"].is_null() && !ids.insert(id(&event["id"])) {
            report.duplicates += 1;
            continue;
        }
        match what(event) {
            What::System(content) => {
                if walk.calls == 0 {
                    let bytes: u64 = content.iter().map(|v| super::super::linear::gather(v, false).bytes).sum();
                    walk.linear.base(bytes as usize);
                }
            }
            What::User(content) => walk.user(event, content),
            What::Call { response, event } => {
                let events = response.and_then(|r| known.of_response.get(r)).cloned().unwrap_or_else(|| vec![event]);
                if response.is_none_or(|r| called.insert(r)) {
                    walk.call(&events, response, &known, session);
                }
            }
            What::Result { id, cause, content } => {
                let content = joined(&content);
                match id.map(str::to_owned).or_else(|| known.uses.get(&cause).cloned()).filter(|id| !id.is_empty()) {
                    Some(used) => {
                        walk.linear.result(&used, &content);
                        let code = &event["extras"]["metadata"]["exit_code"];
                        walk.linear.failed(event["observation"] == "error" || code.as_i64().is_some_and(|code| code != 0));
                        walk.shown.push((super::event::id(&event["id"]), content));
                    }
                    // A call that the log does not hold, or a person's own command: the model sees the words.
                    None => walk.user(event, content),
                }
            }
            What::Condensed { forgotten, summary } => {
                report.compactions += 1;
                walk.condense(&forgotten, summary, report);
            }
            What::Nothing(kind) => report.ignore(&kind.chars().take(64).collect::<String>()),
        }
    }
    let Walk { linear, mut parts, .. } = walk;
    parts.extend(linear.finish(report));
    parts
}

fn know<'e>(events: &'e [Value], metrics: &'e Value) -> Known<'e> {
    let mut known = Known { of_response: HashMap::new(), usage: HashMap::new(), uses: HashMap::new() };
    let mut seen = HashSet::new();
    for event in events {
        if !event["id"].is_null() && !seen.insert(id(&event["id"])) {
            continue;
        }
        if let What::Call { response, event } = what(event) {
            if let Some(response) = response {
                known.of_response.entry(response).or_default().push(event);
            }
            if let Some(used) = use_id(event) {
                known.uses.insert(id(&event["id"]), used);
            }
        }
    }
    for told in metrics["token_usages"].as_array().into_iter().flatten() {
        let n = |key: &str| count(&told[key]);
        let usage = inclusive(n("prompt_tokens"), n("cache_read_tokens"), n("cache_write_tokens"), n("completion_tokens"));
        if let (Some(response), Some(usage)) = (told["response_id"].as_str(), usage) {
            known.usage.insert(response, usage);
        }
    }
    known
}

struct Walk {
    linear: Linear,
    parts: Vec<Part>,
    calls: u64,
    /// What the model was shown, by event, for what a condensation leaves of it.
    shown: Vec<(String, Value)>,
}

impl Walk {
    fn user(&mut self, event: &Value, content: Value) {
        self.linear.user(&content);
        self.shown.push((id(&event["id"]), content));
    }

    fn call(&mut self, events: &[&Value], response: Option<&str>, known: &Known<'_>, session: &str) {
        let keep = self.linear.keep;
        let first = events[0];
        let answer = &first["tool_call_metadata"]["model_response"];
        let recorded = RawUsage::deserialize_lenient(&answer["usage"]).map(|u| u.disjoint().0).filter(|u| u.prompt() > 0);
        let usage = recorded.or_else(|| known.usage.get(response?).copied());
        self.calls += 1;
        let key = match response {
            Some(response) => hash(&["openhands", response, text(first, "timestamp")]),
            None => hash(&["openhands", session, &id(&first["id"]), text(first, "timestamp")]),
        };
        let call = Call {
            key: Some(key),
            model: answer["model"].as_str().map(str::to_owned),
            at_ms: self.linear.at(first["timestamp"].as_str()),
            complete: usage.is_some(),
            usage,
            records: events.len() as u64,
            ..Call::default()
        };
        self.linear.call(call, output(events, keep));
        // Of the model's own words a condensation leaves what it says.
        self.shown.push((id(&first["id"]), Value::from(output(events, true).iter().map(|p| p.item.text.as_str()).collect::<String>())));
    }

    /// The history becomes what is kept of it and a summary.
    fn condense(&mut self, forgotten: &[String], summary: Option<&str>, report: &mut FileReport) {
        let forgotten: HashSet<&str> = forgotten.iter().map(String::as_str).collect();
        self.parts.extend(self.linear.split(report));
        self.shown.retain(|(event, _)| !forgotten.contains(event.as_str()));
        for (_, content) in &self.shown {
            self.linear.user(content);
        }
        if let Some(summary) = summary.filter(|s| !s.is_empty()) {
            let summary = Value::from(summary);
            self.linear.user(&summary);
            self.shown.push((String::new(), summary));
        }
    }
}
