//! The reference engine: a replay as it is defined, one request after the other, one block after the other.

use super::cache::{PromptCache, When};
use super::history::History;
use super::{Masks, Row, RowKind, Totals};
use crate::policy::select::{Candidate, Sizes, select};
use crate::policy::{Assume, Cache, CacheMode, Memory, Settings, TriggerCmp};
use crate::trace::{BlockKind, NONE, Refetch, Request, Trace};

/// The memory of an engine, kept from one replay to the next.
#[derive(Debug, Default)]
pub struct Engine {
    pub(super) history: History,
    pub(super) cache: PromptCache,
    /// The cleared set of the previous row.
    before: Vec<bool>,
    /// Trace uses that are missing in the prompt and can be fetched again, in order of need.
    pub(super) missing: Vec<u32>,
    /// The request at which each trace use was last looked at as a need, so that each counts once.
    looked_at: Vec<u32>,
    looks: u32,
    /// Whether the request comes after the entries of the one before expired, and nothing was selected for it yet.
    cold: bool,
    /// Trace uses that are needed, missing and gone for good.
    pub(super) lost: Vec<u32>,
    /// Live uses that the row cleared, and the first position whose content it changed.
    pub(super) newly: Vec<u32>,
    pub(super) changed_from: Option<u32>,
}

impl Engine {
    /// Replays `trace` under `settings`; `masks` are [`Masks::new`] of the two. Gives every row to `sink`, in the order
    /// sent, and returns the totals.
    pub fn run(&mut self, trace: &Trace, masks: &Masks, settings: &Settings, mut sink: impl FnMut(&Row)) -> Totals {
        self.watch(trace, masks, settings, |row, _| sink(row))
    }

    /// As [`Engine::run`], with a look at the engine after each row; see [`explain`](super::explain).
    pub fn watch(&mut self, trace: &Trace, masks: &Masks, settings: &Settings, mut sink: impl FnMut(&Row, &Self)) -> Totals {
        let mut totals = Totals::default();
        let mut out = |row: &Row, engine: &Self| {
            totals.add(row, settings.context_window);
            sink(row, engine);
        };
        self.history.reset(trace);
        self.cache.reset(trace.base_tokens);
        self.before.clear();
        self.looked_at.clear();
        self.looked_at.resize(trace.uses.len(), 0);
        self.looks = 0;

        for (index, request) in trace.requests.iter().enumerate() {
            // 1. Append the input.
            self.append(trace, masks, settings, request.input, request.output);
            if let (true, Some(before)) = (request.kept_warm, index.checked_sub(1)) {
                self.cache.keep_warm(trace.requests[before].at_ms, request.at_ms);
            }
            let before = index.checked_sub(1).map(|before| &trace.requests[before]);
            self.cold = before.is_some_and(|before| {
                let ttl = settings.terms(before.model).0.ttl(before.ttl_ms);
                !request.kept_warm && request.at_ms.saturating_sub(before.at_ms) > ttl
            });
            // A natural invalidation happens once, before a re-fetch request.
            if let Some(n) = request.flush_above {
                self.cache.flush_above(n);
            }
            let mut rounds_left = settings.assume.max_refetch_rounds;
            let (lost, unmet) = loop {
                // 2. Select.
                self.select(settings);
                // 3. Needs.
                let lost = self.look_at_needs(trace, request);
                if self.missing.is_empty() || rounds_left == 0 {
                    break (lost, self.missing.len() as u64);
                }
                rounds_left -= 1;
                let mut row = Row { request: index as u32, kind: RowKind::Refetch, at_ms: request.at_ms, ..Row::default() };
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
                out(&row, self);
                self.append_copies(masks, settings);
            };
            // 4. Account the request, then append its output.
            let mut row = Row { request: index as u32, kind: RowKind::Original, at_ms: request.at_ms, lost, unmet, ..Row::default() };
            row.output_tokens = trace.tokens[request.output as usize..request.end as usize].iter().map(|&t| u64::from(t)).sum();
            self.account(trace, request, settings, &mut row);
            out(&row, self);
            self.append(trace, masks, settings, request.output, request.end);
        }
        totals
    }

    /// Appends the blocks `from..to` of the trace as one message.
    fn append(&mut self, trace: &Trace, masks: &Masks, settings: &Settings, from: u32, to: u32) {
        let group = settings.cache.group_parallel;
        for block in from as usize..to as usize {
            let (kind, tokens, origin) = (trace.kinds[block], trace.tokens[block], trace.block_use[block]);
            match kind {
                BlockKind::Use => {
                    let tool = trace.uses[origin as usize].tool;
                    self.history.push_use(origin, tool, tokens, masks, &settings.assume, group);
                }
                BlockKind::Result => {
                    self.history.push_result(origin, tokens, trace.bytes[block], masks, &settings.assume, group);
                }
                _ => self.history.push_plain(kind, tokens, group),
            }
        }
        self.history.end_message();
    }

    /// Appends what a re-fetch brings: one message of uses and one of their results.
    fn append_copies(&mut self, masks: &Masks, settings: &Settings) {
        let group = settings.cache.group_parallel;
        for &origin in &self.missing {
            let copied = self.history.uses[self.history.newest[origin as usize] as usize];
            self.history.push_use(origin, copied.tool, copied.use_tokens, masks, &settings.assume, group);
        }
        self.history.end_message();
        for &origin in &self.missing {
            // The new copy has no result yet; that of the use before it is the same.
            let copied = self.history.uses[self.history.previous_copy(origin) as usize];
            self.history.push_result(origin, copied.result_tokens, copied.result_bytes, masks, &settings.assume, group);
        }
        self.history.end_message();
    }

    /// Selects the cleared set of this prompt; `before` keeps the previous row's until the row is accounted.
    fn select(&mut self, settings: &Settings) {
        let Some(edit) = &settings.edit else { return };
        let remembered;
        let assume = if settings.when_cold {
            if !std::mem::take(&mut self.cold) {
                return;
            }
            // At any size, and for good.
            remembered = Assume { memory: Memory::Sticky, trigger_cmp: TriggerCmp::Ge, ..settings.assume.clone() };
            &remembered
        } else {
            &settings.assume
        };
        let history = &mut self.history;
        let sizes = Sizes {
            base_tokens: history.base_tokens,
            original_tokens: history.original_tokens,
            edited_tokens: history.prompt_tokens(),
            clearable_uses: history.clearable_uses,
        };
        debug_assert!(assume.memory == Memory::Stateless || self.before.len() <= history.cleared.len());
        select(
            edit,
            assume,
            sizes,
            &history.uses,
            |u| Candidate { clearable: u.clearable, has_result: u.has_result, saved: u.saved },
            &mut history.cleared,
        );
    }

    /// Finds what the request needs and the prompt does not hold: fills `missing`, and returns how many more are lost.
    fn look_at_needs(&mut self, trace: &Trace, request: &Request) -> u64 {
        self.missing.clear();
        self.lost.clear();
        self.looks += 1;
        let listed = trace.needs[request.needs as usize..request.needs_end as usize].iter().copied();
        // Then those whose results its own input brings: one that is cleared on arrival was never seen.
        let arriving = (request.input as usize..request.output as usize)
            .filter(|&block| trace.kinds[block] == BlockKind::Result)
            .map(|block| trace.block_use[block]);
        for origin in listed.chain(arriving) {
            let newest = self.history.newest[origin as usize];
            if newest == NONE || !self.history.cleared[newest as usize] {
                continue;
            }
            if std::mem::replace(&mut self.looked_at[origin as usize], self.looks) == self.looks {
                continue;
            }
            let tool = self.history.uses[newest as usize].tool;
            if trace.tools[tool as usize].refetch == Refetch::Never {
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
        self.before.resize(history.cleared.len(), false);

        // What changed against the previous row, and the first position that shows it.
        let mut changed_block = NONE;
        self.newly.clear();
        if self.before != history.cleared {
            for (i, use_) in history.uses.iter().enumerate() {
                let (was, is) = (self.before[i], history.cleared[i]);
                if was == is {
                    continue;
                }
                let first = if history.blocks[use_.use_block as usize].cleared_with == NONE { use_.result_block } else { use_.use_block };
                changed_block = changed_block.min(first);
                if is {
                    self.newly.push(i as u32);
                    row.newly_cleared += 1;
                    row.freed_tokens += use_.saved;
                    history.saved_tokens += use_.saved;
                    history.cleared_uses += 1;
                } else {
                    history.saved_tokens -= use_.saved;
                    history.cleared_uses -= 1;
                }
            }
        }
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
        if let (Some(from), true) = (changed_from, row.newly_cleared > 0) {
            // The same history under the previous row's cleared set.
            let unsaved: i64 = history
                .uses
                .iter()
                .enumerate()
                .map(|(i, u)| match (self.before[i], history.cleared[i]) {
                    (false, true) => u.saved,
                    (true, false) => -u.saved,
                    _ => 0,
                })
                .sum();
            if caches(row.prompt_tokens.strict_add_signed(unsaved)) {
                self.cache.follow_other(history, &self.before, from);
                row.invalidated_tokens = self.cache.read_other(cache, when).saturating_sub(row.cache_read);
            }
        }
        if caches(row.prompt_tokens) {
            self.cache.write(cache, when);
        }
        row.cost_usd =
            prices.cost(row.prompt_tokens, row.uncached, row.cache_read, row.cache_write, row.output_tokens, ttl > Cache::DEFAULT_TTL_MS);
        self.before.clone_from(&history.cleared);
    }
}
