//! The reference engine: a replay as it is defined, one request after the other, one block after the other.

use std::sync::Arc;

use super::cache::{PromptCache, When};
use super::history::{Edited, History};
use super::plan::Plan;
use super::scene::View;
use super::tariff::Bill;
use super::{Row, RowKind, Totals};
use crate::policy::select::select;
use crate::policy::space::{Clear, Rule, State};
use crate::policy::{Cache, CacheMode, Memory, Settings};
use crate::trace::{BlockKind, NONE, Refetch, Request, Trace};

/// The memory of an engine, kept from one replay to the next.
#[derive(Debug, Default)]
pub struct Engine {
    pub(super) history: History,
    pub(super) cache: PromptCache,
    pub(super) plan: Arc<Plan>,
    /// What the previous row held of the history.
    before: Edited,
    /// What the remembered rules took, where others are recomputed.
    remembered: Vec<State>,
    taken: Vec<u32>,
    /// Trace uses that are missing in the prompt and can be fetched again, in order of need.
    pub(super) missing: Vec<u32>,
    /// By the trace's use, where the policy has notes: whether there is one of it.
    noted: Vec<bool>,
    /// Results that the request saw head and tail of, and no more, as they arrived.
    previews: u64,
    /// The request at which each trace use was last looked at as a need, so that each counts once.
    looked_at: Vec<u32>,
    looks: u32,
    /// Index of the request for which nothing was selected yet.
    request: Option<u32>,
    /// What a rule may know of the time since the request before; nothing has passed any more once a prompt was selected.
    pub(super) pause: Pause,
    /// Trace uses that are needed, missing and gone for good.
    pub(super) lost: Vec<u32>,
    /// Live uses that the row cleared, and the first position whose content it changed.
    pub(super) newly: Vec<u32>,
    pub(super) changed_from: Option<u32>,
}

/// The time since the request before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pause {
    pub idle_ms: u64,
    /// Whether the entries of the request before have expired.
    pub cold: bool,
}

impl Engine {
    /// Replays `trace` under `settings`. Gives every row to `sink`, in the order sent, and returns the totals.
    pub fn run(&mut self, trace: &Trace, settings: &Settings, mut sink: impl FnMut(&Row)) -> Totals {
        self.watch(trace, settings, |row, _| sink(row))
    }

    /// As [`Engine::run`], with a look at the engine after each row; see [`explain`](super::explain).
    pub fn watch(&mut self, trace: &Trace, settings: &Settings, sink: impl FnMut(&Row, &Self)) -> Totals {
        self.watch_first(trace, trace.requests.len(), settings, sink)
    }

    /// As [`Engine::watch`], of the first `requests` requests alone.
    pub fn watch_first(&mut self, trace: &Trace, requests: usize, settings: &Settings, mut sink: impl FnMut(&Row, &Self)) -> Totals {
        let mut totals = Totals::default();
        let mut bill = Bill::new(settings);
        let mut out = |row: &Row, request: &Request, engine: &Self| {
            totals.add(row, settings.context_window);
            bill.add(request.model, settings.terms(request.model).0.ttl(request.ttl_ms), row);
            sink(row, engine);
        };
        let plan = Arc::new(Plan::new(trace, settings));
        self.plan = Arc::clone(&plan);
        let plan = plan.as_ref();
        self.history.reset(trace, plan);
        self.cache.reset(trace.base_tokens, plan.drops);
        self.before.clear();
        self.remembered.clear();
        self.noted.clear();
        self.noted.resize(if plan.policy.note_tokens.is_some() { trace.uses.len() } else { 0 }, false);
        self.looked_at.clear();
        self.looked_at.resize(trace.uses.len(), 0);
        self.looks = 0;

        for (index, request) in trace.requests.iter().enumerate().take(requests) {
            self.request = Some(index as u32);
            let (seen, mut notes) = (self.history.blocks.len() as u32, 0);
            // 1. Append the input.
            self.append(trace, plan, settings, request.input, request.output);
            let before = index.checked_sub(1).map(|before| &trace.requests[before]);
            if let (true, Some(before)) = (request.kept_warm, before) {
                self.cache.keep_warm(before.at_ms, request.at_ms);
            }
            self.pause = before.map_or_else(Pause::default, |before| {
                let ttl = settings.terms(before.model).0.ttl(before.ttl_ms);
                let idle = request.at_ms.saturating_sub(before.at_ms);
                Pause { idle_ms: u64::try_from(idle).unwrap_or(0), cold: !request.kept_warm && idle > ttl }
            });
            // A natural invalidation happens once, before a re-fetch request.
            if let Some(n) = request.flush_above {
                self.cache.flush_above(n);
            }
            let new_row = |kind| Row { request: index as u32, kind, at_ms: request.at_ms, ..Row::default() };
            let mut rounds_left = settings.assume.max_refetch_rounds;
            let (lost, unmet) = loop {
                // 2. Select.
                if let Some((rule, summary)) = self.select(plan, settings, 0) {
                    // One more request reads the prompt as it is and writes the summary that takes its place.
                    let mut row = Row { output_tokens: summary.into(), ..new_row(RowKind::Compact) };
                    self.account(trace, request, settings, &mut row);
                    out(&row, request, self);
                    self.history.compact(summary);
                    self.select(plan, settings, rule + 1);
                }
                notes += self.take_notes(trace, plan, seen);
                // 3. Needs.
                let lost = self.look_at_needs(trace, request);
                if self.missing.is_empty() || rounds_left == 0 {
                    break (lost, self.missing.len() as u64);
                }
                rounds_left -= 1;
                let mut row = new_row(RowKind::Refetch);
                row.refetched = self.missing.len() as u64;
                for &origin in &self.missing {
                    let copied = self.history.uses[self.history.newest[origin as usize] as usize];
                    row.output_tokens += u64::from(copied.use_tokens);
                    let tool = &trace.tools[copied.tool as usize];
                    row.costly_refetched += u64::from(tool.refetch == Refetch::Costly);
                    row.refetch_usd += tool.refetch_usd;
                    row.refetch_seconds += tool.refetch_seconds;
                }
                self.account(trace, request, settings, &mut row);
                out(&row, request, self);
                self.append_copies(trace, plan, settings);
            };
            // 4. Account the request, then append its output.
            let mut row = Row { lost, unmet, previews: self.previews, ..new_row(RowKind::Original) };
            row.output_tokens = trace.tokens[request.output as usize..request.end as usize].iter().map(|&t| u64::from(t)).sum();
            row.output_tokens += u64::from(notes);
            self.account(trace, request, settings, &mut row);
            out(&row, request, self);
            if notes > 0 {
                self.history.push_plain(BlockKind::Text, notes, settings.cache.group_parallel);
            }
            self.append(trace, plan, settings, request.output, request.end);
        }
        // Multiplied once, so that the sum depends on nothing but the tokens.
        totals.cost_usd = bill.usd(settings);
        totals
    }

    /// Appends the blocks `from..to` of the trace as one message.
    fn append(&mut self, trace: &Trace, plan: &Plan, settings: &Settings, from: u32, to: u32) {
        let group = settings.cache.group_parallel;
        let mut output = false;
        for block in from as usize..to as usize {
            let (kind, tokens, origin) = (trace.kinds[block], trace.tokens[block], trace.block_use[block]);
            match kind {
                BlockKind::Use => self.history.push_use(origin, &trace.uses[origin as usize], tokens, plan, group),
                BlockKind::Result => self.history.push_result(origin, tokens, trace.bytes[block], plan, group),
                _ => self.history.push_plain(kind, tokens, group),
            }
            output |= !matches!(kind, BlockKind::User | BlockKind::Result);
        }
        self.history.end_message(output);
    }

    /// Appends what a re-fetch brings: one message of uses and one of their results.
    fn append_copies(&mut self, trace: &Trace, plan: &Plan, settings: &Settings) {
        let group = settings.cache.group_parallel;
        for &origin in &self.missing {
            let copied = self.history.uses[self.history.newest[origin as usize] as usize];
            self.history.push_use(origin, &trace.uses[origin as usize], copied.use_tokens, plan, group);
        }
        self.history.end_message(true);
        for &origin in &self.missing {
            // The new copy has no result yet; that of the use before it is the same.
            let copied = self.history.uses[self.history.previous_copy(origin) as usize];
            self.history.push_result(origin, copied.result_tokens, copied.result_bytes, plan, group);
        }
        self.history.end_message(false);
    }

    /// Selects what stands in this prompt, by the rules from number `first` on; `before` keeps the previous row's until the row is
    /// accounted. Stops at a compaction that fires: its rule, and the tokens of the summary.
    fn select(&mut self, plan: &Plan, settings: &Settings, first: usize) -> Option<(usize, u32)> {
        // The size as accounted holds until something is taken or given back.
        let mut sized = true;
        if first == 0 && plan.recomputes {
            sized = false;
            if plan.remembers {
                self.remembered.resize(self.history.uses.len(), State::Whole);
                self.history.now.uses.copy_from_slice(&self.remembered);
            } else {
                self.history.now.uses.fill(State::Whole);
            }
        }
        for (number, rule) in plan.policy.rules.iter().enumerate().skip(first) {
            match rule {
                Rule::Clear(clear) => {
                    self.take(plan, settings, number, clear, sized && first == 0);
                    sized &= self.taken.is_empty();
                }
                Rule::ClearThinking { keep_turns } => {
                    if let Some(keep) = keep_turns {
                        self.history.drop_thinking(*keep);
                    }
                }
                Rule::Schedule { schedule, to } => {
                    let at = self.request.and_then(|now| schedule.binary_search_by_key(&now, |&(request, _)| request).ok());
                    for &origin in at.map_or(&[][..], |at| &schedule[at].1) {
                        if let Some(state) = self.history.now.uses.get_mut(self.history.newest[origin as usize] as usize) {
                            *state = (*state).max(*to);
                            sized = false;
                        }
                    }
                }
                Rule::Compact { trigger, summary_tokens } => {
                    if self.history.tokens_of(&self.history.now) > *trigger {
                        return Some((number, *summary_tokens));
                    }
                }
            }
        }
        self.pause = Pause::default();
        self.request = None;
        None
    }

    /// Runs a rule that takes results. `sized`: the prompt's size is known from the last row.
    fn take(&mut self, plan: &Plan, settings: &Settings, number: usize, clear: &Clear, sized: bool) {
        let history = &mut self.history;
        let edited_tokens = sized.then(|| history.prompt_tokens());
        let view = View { history, clear, number, pause: self.pause, window: settings.context_window, edited_tokens, superseded: &[] };
        if clear.protect.unless_read_again {
            let superseded = view.superseded();
            select(clear, plan.counts[number], &View { superseded: &superseded, ..view }, &mut self.taken);
        } else {
            select(clear, plan.counts[number], &view, &mut self.taken);
        }
        for &i in &self.taken {
            history.now.uses[i as usize] = clear.to;
            if plan.recomputes && clear.memory == Memory::Sticky {
                self.remembered[i as usize] = clear.to;
            }
        }
    }

    /// Notes what is gone from this prompt and cannot be had again, if the model has seen it, that is if it stands before block `seen`. Tokens
    /// of the notes.
    fn take_notes(&mut self, trace: &Trace, plan: &Plan, seen: u32) -> u32 {
        let Some(tokens) = plan.policy.note_tokens else { return 0 };
        let mut notes = 0_u32;
        for (i, use_) in self.history.uses.iter().enumerate() {
            let gone = use_.result_block < seen && self.history.now.state_of(i, use_) != State::Whole;
            if gone && trace.tools[use_.tool as usize].refetch == Refetch::Never {
                notes += u32::from(!std::mem::replace(&mut self.noted[use_.origin as usize], true));
            }
        }
        notes.saturating_mul(tokens)
    }

    /// Finds what the request needs and the prompt does not hold: fills `missing`, and returns how many more are lost.
    fn look_at_needs(&mut self, trace: &Trace, request: &Request) -> u64 {
        self.missing.clear();
        self.lost.clear();
        self.previews = 0;
        self.looks += 1;
        let listed = trace.needs[request.needs as usize..request.needs_end as usize].iter().copied();
        // Then those whose results its own input brings: one that is cleared on arrival was never seen.
        let arriving = (request.input as usize..request.output as usize)
            .filter(|&block| trace.kinds[block] == BlockKind::Result)
            .map(|block| trace.block_use[block]);
        for (origin, arrives) in listed.map(|origin| (origin, false)).chain(arriving.map(|origin| (origin, true))) {
            let newest = self.history.newest[origin as usize];
            if newest == NONE {
                continue;
            }
            let use_ = &self.history.uses[newest as usize];
            let state = self.history.now.state_of(newest as usize, use_);
            // What arrives is seen by the request that brings it, if not whole then its head and tail, or by the one that compacts.
            let seen = arrives && (state == State::Trimmed || use_.result_block < self.history.now.history_from);
            self.previews += u64::from(arrives && state == State::Trimmed);
            if state == State::Whole || seen || self.noted.get(origin as usize) == Some(&true) {
                continue;
            }
            if std::mem::replace(&mut self.looked_at[origin as usize], self.looks) == self.looks {
                continue;
            }
            if trace.tools[use_.tool as usize].refetch == Refetch::Never {
                self.lost.push(origin);
            } else {
                self.missing.push(origin);
            }
        }
        self.lost.len() as u64
    }

    /// Fills the row with sizes, cache and cost of the prompt as selected.
    fn account(&mut self, trace: &Trace, request: &Request, settings: &Settings, row: &mut Row) {
        let (cache, prices) = settings.terms(request.model);
        let history = &mut self.history;
        self.before.uses.resize(history.now.uses.len(), State::Whole);

        // What changed against the previous row, and the first position that shows it.
        let mut changed_block = NONE;
        self.newly.clear();
        if self.before != history.now {
            for i in 0..history.uses.len() {
                let use_ = history.uses[i];
                let (was, is) = (self.before.state_of(i, &use_), history.now.state_of(i, &use_));
                if was == is {
                    continue;
                }
                changed_block = changed_block.min(history.first_changed(&use_, was, is));
                let saved = history.saved(&use_, is) - history.saved(&use_, was);
                if is > was {
                    self.newly.push(i as u32);
                    row.newly_cleared += 1;
                    row.freed_tokens += saved;
                } else {
                    row.given_back += 1;
                }
                history.saved_tokens += saved;
                history.cleared_uses += u64::from(was == State::Whole);
                history.cleared_uses -= u64::from(is == State::Whole);
            }
            if history.drops {
                changed_block = changed_block.min(self.account_dropped(row));
            }
        }
        let history = &self.history;
        let changed_from = (changed_block != NONE).then(|| history.position_of(changed_block));
        self.changed_from = changed_from;
        row.cleared_uses = history.cleared_uses;
        row.original_tokens = history.original_tokens;
        row.prompt_tokens = history.prompt_tokens();

        let ttl = cache.ttl(request.ttl_ms);
        let floor = request.flush_above.map_or(0, |n| n.min(trace.base_tokens));
        let when = When { now: request.at_ms, ttl, floor };
        let caches = |prompt: u64| cache.mode != CacheMode::Off && prompt >= cache.min_tokens;

        self.cache.enter(request.model);
        self.cache.follow(history, changed_from);
        self.cache.mark_breakpoints(history, cache);
        if caches(row.prompt_tokens) {
            row.cache_read = self.cache.read(cache, when);
            row.cache_write = row.prompt_tokens - row.cache_read;
        } else {
            row.uncached = row.prompt_tokens;
        }
        if let (Some(from), true) = (changed_from, row.is_clear_event()) {
            // The same history as the previous row had it.
            if caches(history.tokens_of(&self.before)) {
                self.cache.follow_other(history, &self.before, from);
                row.invalidated_tokens = self.cache.read_other(cache, when).saturating_sub(row.cache_read);
            }
        }
        if caches(row.prompt_tokens) {
            self.cache.write(cache, when);
        }
        row.cost_usd =
            prices.cost(row.prompt_tokens, row.uncached, row.cache_read, row.cache_write, row.output_tokens, ttl > Cache::DEFAULT_TTL_MS);
        self.before.clone_from(&history.now);
    }

    /// Accounts what goes besides uses and their results: thinking, and everything before a compaction. The first block that changed, or
    /// [`NONE`].
    fn account_dropped(&mut self, row: &mut Row) -> u32 {
        let (before, history) = (&self.before, &self.history);
        if before.history_from != history.now.history_from {
            // Of the summary before, which was a part of the prompt, nothing is left either.
            row.dropped_tokens = history.tokens_of(before).saturating_sub(history.tokens_of(&history.now));
            row.freed_tokens = row.dropped_tokens as i64;
            return before.history_from;
        }
        let Some((tokens, block)) = history.newly_dropped_thinking(before.thinking_from) else { return NONE };
        row.dropped_tokens = tokens;
        row.freed_tokens += tokens as i64;
        block
    }
}
