//! Event logs of Claude Managed Agents: raw event streams, and lines that wrap an event (`{role, kind, tool, content, time, raw}`).
//!
//! A model call lies between `span.model_request_start` and `span.model_request_end`, which carries its usage. What the agent says, thinks
//! and uses in between is the call's output; results and what users and other threads send is the input of the next one.

mod event;
mod thread;

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::super::input::Input;
use super::super::lenient::Object;
use super::super::normal::hash;
use super::super::records::{Refusal, each_record};
use super::super::{FileReport, Options, time};
use super::{Format, Head, Parsed};
use event::{Event, Wrapper};
use thread::Threads;

/// Event logs of Managed Agents.
pub struct ManagedAgents;

/// Events that make up conversations.
const TELLING: &[&str] = &["agent.", "span.model_request_", "span.outcome_evaluation_", "user.", "session."];

impl Format for ManagedAgents {
    fn name(&self) -> &'static str {
        "managed_agents"
    }

    fn what(&self) -> &'static str {
        "Managed Agents event logs (events of types agent.*, span.*, session.*, user.*, plain or wrapped in raw)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let wrapped = o.has("raw") && o.has("role") && o.has("kind");
            let plain = o.text("type").is_some_and(|t| TELLING.iter().any(|p| t.starts_with(p))) && (o.has("processed_at") || o.has("id"));
            wrapped || plain
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut log =
            Log { threads: Threads::new(options.needs.find), seen: HashSet::new(), ignored: Vec::new(), duplicates: 0, unzoned: 0 };
        each_record(input.elements(), options.limits, report, &mut |text, _| log.record(text));
        report.duplicates += log.duplicates;
        for kind in &log.ignored {
            report.ignore(kind);
        }
        if log.unzoned > 0 {
            report.note(format!("{} timestamps without a zone were taken as UTC", log.unzoned));
        }
        Parsed { parts: log.threads.finish(report), documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // First calls with recorded usage: 13,000 tokens, of which the task's text is a tenth or two.
        11_000
    }
}

/// A log as it is read.
struct Log {
    threads: Threads,
    seen: HashSet<u128>,
    ignored: Vec<String>,
    duplicates: u64,
    unzoned: u64,
}

/// A page of the API's list of events.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Page<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl Log {
    fn record(&mut self, text: &str) -> Result<(), Refusal> {
        let wrapper = serde_json::from_str::<Object<Wrapper<'_>>>(text).ok().and_then(|o| o.0);
        let Some(wrapper) = wrapper else {
            // Keys that occur twice in an object: the last value counts, as in most JSON readers.
            let whole = serde_json::from_str::<serde_json::Value>(text).map_err(|_| Refusal::Syntax)?.to_string();
            let wrapper = serde_json::from_str::<Object<Wrapper<'_>>>(&whole).ok().and_then(|o| o.0).ok_or(Refusal::Syntax)?;
            return self.wrapped(&wrapper, &whole);
        };
        self.wrapped(&wrapper, text)
    }

    fn wrapped(&mut self, wrapper: &Wrapper<'_>, text: &str) -> Result<(), Refusal> {
        if wrapper.kind.0.is_none() && wrapper.raw.is_none() && text.contains("\"data\"") {
            let page = serde_json::from_str::<Object<Page<'_>>>(text).ok().and_then(|o| o.0?.data);
            if let Some(Ok(events)) = page.map(|data| serde_json::from_str::<Vec<&RawValue>>(data.get())) {
                for event in events.iter().filter_map(|e| Event::parse(e.get())) {
                    self.event(&event);
                }
                return Ok(());
            }
        }
        let event = match wrapper.raw.filter(|r| r.get().starts_with('{')) {
            Some(raw) => Event::parse(raw.get()).ok_or(Refusal::Syntax)?,
            None if wrapper.role.0.is_some() && wrapper.kind.0.is_some() => wrapper.event(),
            None => Event::parse(text).ok_or(Refusal::Syntax)?,
        };
        let event = Event { time: event.time.or(wrapper.time.get().and_then(time::parse)), ..event };
        self.event(&event);
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        if event.id().is_some_and(|id| !self.seen.insert(hash(&[id]))) {
            self.duplicates += 1;
            return;
        }
        self.unzoned += u64::from(event.time.is_some_and(|t| !t.zoned));
        if !self.threads.take(event) {
            self.ignored.push(event.kind().chars().take(64).collect());
        }
    }
}
