//! Events to histories, a thread of the session each.

use std::collections::HashMap;

use super::super::super::FileReport;
use super::super::super::normal::{Call, Item, Kind, Part, hash};
use super::super::content::{Gathered, Piece, Raw, input_pieces, output_pieces, thinking_piece, use_piece};
use super::super::pairing::pair;
use super::super::usage::{HOUR_MS, RawUsage};
use super::event::Event;

/// A call that is under way.
#[derive(Default)]
struct Open {
    /// The id of its start event; `None` for a call that the log does not announce.
    start: Option<u128>,
    at_ms: Option<i64>,
    input: Vec<Piece>,
    output: Vec<Piece>,
    events: u64,
}

/// A call whose pieces are still unpaired.
struct Done {
    call: Call,
    split: bool,
    input: Vec<Piece>,
    output: Vec<Piece>,
}

#[derive(Default)]
struct Thread {
    name: String,
    parts: Vec<Vec<Done>>,
    calls: Vec<Done>,
    open: Option<Open>,
    pending: Vec<Piece>,
    pending_at: Option<i64>,
}

/// The threads of one session. The main one has the empty name.
pub struct Threads {
    keep: bool,
    all: Vec<Thread>,
    by_name: HashMap<u128, usize>,
    /// The session's id, or else that of its first event.
    session: Option<String>,
    /// The id that status events give the main thread.
    main: Option<String>,
    failed: u64,
    evaluations: u64,
    totals: RawUsage,
}

impl Threads {
    /// No thread yet. `keep`: whether text is kept for the search of quotations.
    pub fn new(keep: bool) -> Self {
        Self {
            keep,
            all: Vec::new(),
            by_name: HashMap::new(),
            session: None,
            main: None,
            failed: 0,
            evaluations: 0,
            totals: RawUsage::default(),
        }
    }

    fn thread(&mut self, event: &Event<'_>) -> &mut Thread {
        let id = event.fields.session_thread_id.text();
        let name = if self.main.as_deref() == Some(id) { "" } else { id };
        let index = *self.by_name.entry(hash(&[name])).or_insert_with(|| {
            self.all.push(Thread { name: name.to_owned(), ..Thread::default() });
            self.all.len() - 1
        });
        &mut self.all[index]
    }

    /// Takes an event; `false` when it says nothing about a conversation.
    pub fn take(&mut self, event: &Event<'_>) -> bool {
        let keep = self.keep;
        let f = &event.fields;
        if self.session.is_none() || f.session_id.get().is_some() {
            self.session = f.session_id.get().or(f.id.get()).map(str::to_owned).or(self.session.take());
        }
        let at = event.time.map(|t| t.ms);
        let input = f.input.map_or("", |i| i.get());
        match event.kind() {
            "span.model_request_start" => self.thread(event).start(event.id().map(|id| hash(&[id])), at),
            "span.model_request_end" => {
                let model = f.model.get().map(str::to_owned);
                let failed = self.thread(event).end(f.model_usage.0.unwrap_or_default(), f.is_error.0, model, at);
                self.failed += u64::from(failed);
            }
            "agent.message" | "agent.thread_message_sent" => {
                for piece in output_pieces(&event.blocks(), keep) {
                    self.thread(event).output(piece, at);
                }
            }
            "agent.thinking" => self.thread(event).output(thinking_piece(""), at),
            "agent.tool_use" | "agent.custom_tool_use" | "agent.mcp_tool_use" => {
                self.thread(event).output(use_piece(f.id.text(), f.name.text(), input, keep), at);
            }
            "agent.tool_result" | "agent.mcp_tool_result" | "user.custom_tool_result" => {
                let item = Item { error: f.is_error.0, ..Gathered::result(&event.result(), keep).item(Kind::Result(0)) };
                self.thread(event).input(vec![Piece { raw: Raw::Result(hash(&[event.answers()])), item, mark: 0 }], at);
            }
            "user.message" | "agent.thread_message_received" => {
                let pieces = input_pieces(&event.blocks(), keep).pieces;
                self.thread(event).input(pieces, at);
            }
            "user.define_outcome" => {
                let mut all = Gathered::default();
                all.push(f.description.text(), keep);
                if let Some(rubric) = &f.rubric.0 {
                    all.push(rubric.text.text(), keep);
                    all.inner(&rubric.content, keep);
                }
                self.thread(event).input(vec![all.piece()], at);
            }
            "span.outcome_evaluation_end" => {
                // The grader's verdict goes back to the agent. Its own usage is that of another context.
                self.evaluations += u64::from(f.usage.0.is_some());
                let mut all = Gathered::default();
                all.push(f.explanation.text(), keep);
                self.thread(event).input(vec![all.piece()], at);
            }
            "agent.thread_context_compacted" => self.thread(event).compact(),
            "session.usage" => {
                if let Some(usage) = f.usage.0 {
                    self.totals = usage;
                }
                return false;
            }
            "session.thread_status_running" | "session.thread_created" => {
                if self.main.is_none() {
                    self.main = f.session_thread_id.get().map(str::to_owned);
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Sorts out what was read into histories.
    pub fn finish(mut self, report: &mut FileReport) -> Vec<Part> {
        if self.failed > 0 {
            report.note(format!("{} model requests failed without usage; they are no requests here", self.failed));
        }
        if self.evaluations > 0 {
            report.note(format!("{} outcome evaluations have a usage of their own, which is in no transcript", self.evaluations));
        }
        // A stream of one thread alone names it on every event.
        if !self.all.is_empty() && self.all.iter().all(|t| !t.name.is_empty()) {
            self.all[0].name = String::new();
        }
        // The session's totals tell the TTL where the calls do not and all writes were for the same.
        let split = self.totals.cache_creation.0.unwrap_or_default();
        let (minutes, hours) = (split.ephemeral_5m_input_tokens.0.unwrap_or(0), split.ephemeral_1h_input_tokens.0.unwrap_or(0));
        let for_an_hour = hours > 0 && minutes == 0;
        let mut mixed = hours > 0 && minutes > 0;
        let session = self.session.unwrap_or_default();
        let mut parts = Vec::new();
        for mut thread in self.all {
            thread.close();
            report.compactions += thread.parts.len() as u64;
            let last = std::mem::take(&mut thread.calls);
            let pending = std::mem::take(&mut thread.pending);
            thread.parts.push(last);
            let count = thread.parts.len();
            let mut pending = Some(pending);
            let mut number = 0;
            for (i, calls) in thread.parts.into_iter().enumerate() {
                if calls.is_empty() {
                    continue;
                }
                mixed &= !calls.iter().any(|c| c.split);
                let mut part = Part {
                    session: session.clone(),
                    agent: thread.name.clone(),
                    sub_agent: !thread.name.is_empty(),
                    number,
                    ..Part::default()
                };
                number += 1;
                let mut pieces = Vec::with_capacity(calls.len());
                let mut ttl_ms = None;
                for Done { mut call, split, input, output } in calls {
                    if let Some(usage) = &mut call.usage {
                        if for_an_hour && !split {
                            usage.cache_write_1h += std::mem::take(&mut usage.cache_write_5m);
                        }
                        let written = usage.cache_write_5m + usage.cache_write_1h > 0;
                        // A call that writes nothing keeps the TTL of the one before it.
                        if written {
                            ttl_ms = (usage.cache_write_1h > 0).then_some(HOUR_MS);
                        }
                    }
                    call.ttl_ms = ttl_ms;
                    part.calls.push(call);
                    pieces.push((input, output));
                }
                let left = if i + 1 == count { pending.take().unwrap_or_default() } else { Vec::new() };
                let orphans = pair(&mut part, pieces, left);
                report.orphan_uses += orphans.uses.len() as u64;
                report.orphan_results += orphans.results.len() as u64;
                parts.push(part);
            }
        }
        if mixed {
            report.note("the session wrote to the cache for 5 minutes and for an hour and no call says which: 5 minutes are taken");
        }
        parts
    }
}

impl Thread {
    fn input(&mut self, pieces: Vec<Piece>, at_ms: Option<i64>) {
        self.pending.extend(pieces);
        self.pending_at = at_ms.or(self.pending_at);
    }

    fn begin(&mut self, start: Option<u128>, at_ms: Option<i64>) {
        self.open =
            Some(Open { start, at_ms: at_ms.or(self.pending_at), input: std::mem::take(&mut self.pending), output: Vec::new(), events: 0 });
        self.pending_at = None;
    }

    fn start(&mut self, id: Option<u128>, at_ms: Option<i64>) {
        self.close();
        self.begin(id.or(Some(0)), at_ms);
    }

    fn output(&mut self, piece: Piece, at_ms: Option<i64>) {
        match &self.open {
            // In a log without request spans, what comes after new input is the next call's.
            Some(open) if open.start.is_none() && !self.pending.is_empty() && !open.output.is_empty() => {
                self.close();
                self.begin(None, at_ms);
            }
            Some(_) => {}
            // An event that arrives after its call's end.
            None if self.pending.is_empty() && !self.calls.is_empty() => {
                if let Some(last) = self.calls.last_mut() {
                    last.output.push(piece);
                    last.call.records += 1;
                }
                return;
            }
            None => self.begin(None, self.pending_at.or(at_ms)),
        }
        if let Some(open) = &mut self.open {
            open.output.push(piece);
            open.events += 1;
        }
    }

    /// Ends the call; `true` when it failed and counts for nothing.
    fn end(&mut self, raw: RawUsage, is_error: bool, model: Option<String>, at_ms: Option<i64>) -> bool {
        if self.open.is_none() {
            self.begin(None, at_ms);
        }
        let Some(open) = self.open.take() else { return false };
        let (usage, _) = raw.disjoint();
        if is_error && usage.prompt() == 0 {
            // The next attempt sends the same and what came since; what the agent said all the same is in the next prompt.
            let later = std::mem::replace(&mut self.pending, open.input);
            self.pending.extend(open.output.into_iter().map(|p| match p.raw {
                Raw::Text => Piece { raw: Raw::User, item: Item { kind: Kind::User, ..p.item }, mark: 0 },
                _ => p,
            }));
            self.pending.retain(|p| matches!(p.raw, Raw::User | Raw::Result(_)));
            self.pending.extend(later);
            self.pending_at = open.at_ms.or(self.pending_at);
            return true;
        }
        self.push(open, Some(raw), model);
        false
    }

    fn push(&mut self, open: Open, raw: Option<RawUsage>, model: Option<String>) {
        let usage = raw.map(|r| r.disjoint().0).filter(|u| u.prompt() > 0);
        let key = open.start.filter(|&s| s != 0).map(|s| hash(&["managed", &format!("{s:032x}")]));
        let call = Call { key, model, at_ms: open.at_ms, usage, complete: usage.is_some(), records: open.events + 1, ..Call::default() };
        self.calls.push(Done { call, split: raw.is_some_and(|r| r.split_by_ttl()), input: open.input, output: open.output });
    }

    /// Ends a call that the log does not end.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.output.is_empty() {
            let later = std::mem::replace(&mut self.pending, open.input);
            self.pending.extend(later);
        } else {
            self.push(open, None, None);
        }
    }

    fn compact(&mut self) {
        self.close();
        let calls = std::mem::take(&mut self.calls);
        if !calls.is_empty() {
            self.parts.push(calls);
        }
    }
}
