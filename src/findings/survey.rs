//! What the rules look at: one replay of each transcript under the config, watched.

use rayon::prelude::*;

use crate::policy::{Cache, CacheMode, ClearToolUses, Memory, Settings, Trigger, TriggerCmp};
use crate::replay::{Masks, RowKind, plain};
use crate::sweep::Transcript;
use crate::trace::{BlockKind, Refetch, Trace};

/// Candidates of fewer tokens are not worth a clear, not even a free one.
pub const WORTH_CLEARING: u64 = 1_000;

/// What was done with one tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolSurvey {
    pub name: String,
    pub excluded: bool,
    pub refetch: Refetch,
    /// Tokens of its results in the transcript.
    pub result_tokens: u64,
    pub cleared: u64,
    pub refetched: u64,
    pub lost: u64,
}

/// What one transcript shows, or all of them together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survey {
    pub transcripts: u64,
    /// Original requests.
    pub requests: u64,
    pub fired_requests: u64,
    /// Requests of either kind from the one with the first clear event on, and clear events among them.
    pub since_first: u64,
    pub events: u64,
    pub freed: i64,
    pub invalidated: u64,
    pub invalidations: u64,
    /// What the invalidated tokens cost: write less read price, USD.
    pub invalidated_usd: f64,
    /// The largest quantity that the trigger looks at, up to the first request that overflows the window without clearing.
    pub largest: u64,
    /// The most that could be cleared at once, likewise, and whether the window would overflow after it.
    pub most_to_clear: u64,
    pub would_overflow: bool,
    /// Remembered clearing: requests whose prompt, every candidate cleared, is at or above the trigger; the least such prompt less the
    /// trigger; whether the last request is one.
    pub saturated_requests: u64,
    pub floor_at_end: u64,
    pub saturated_at_end: bool,
    /// Remembered clearing: clear events after which the usual growth of one request passes the trigger again.
    pub events_near_trigger: u64,
    /// First request that does not fit, its prompt + output, where no clear event comes before.
    pub overflow_before_clear: Option<(u32, u64)>,
    pub overflows_before_clear: u64,
    /// Clear events whose kept tail spans the lookback, positions from each cut on, and tokens that a longer lookback would have read.
    pub events_beyond_lookback: u64,
    pub positions_behind: Vec<u32>,
    pub beyond_lookback_tokens: u64,
    /// Prompts below the smallest cacheable prefix: all of them, and those that only clearing brought there.
    pub below_minimum: u64,
    pub brought_below_minimum: u64,
    /// Rows above a price tier and what the tier adds, USD; the tier's bound.
    pub above_tier: u64,
    pub tier_usd: f64,
    pub tier: u64,
    /// Clear events that broke a warm cache and whose next request came after it expired; their tokens.
    pub events_before_idle: u64,
    pub before_idle_tokens: u64,
    /// Requests after the cache had expired; those with something worth clearing that was not cleared, and its tokens.
    pub cold_requests: u64,
    pub cold_missed: u64,
    pub cold_missed_tokens: u64,
    /// Parallel batches of clearable uses, by size (index), and results cleared on arrival.
    pub batches: Vec<u64>,
    /// Uses fetched again more than once, and the most times.
    pub chained: u64,
    pub longest_chain: u32,
    pub result_tokens: u64,
    pub excluded_tokens: u64,
    /// The smallest read price, over the input price, at which some clear of a warm cache pays; `None`: there is nothing to clear.
    pub least_read_price: Option<f64>,
    pub tools: Vec<ToolSurvey>,
}

/// Surveys every transcript under `edit`.
pub fn of_all(edit: Option<&ClearToolUses>, transcripts: &[Transcript]) -> Vec<Survey> {
    transcripts.par_iter().map_init(plain::Engine::default, |engine, t| of_one(engine, edit, t)).collect()
}

fn of_one(engine: &mut plain::Engine, edit: Option<&ClearToolUses>, transcript: &Transcript) -> Survey {
    let trace = &transcript.trace;
    let settings = Settings { edit: edit.cloned(), policy: None, ..transcript.settings.clone() };
    let masks = Masks::new(trace, edit);
    let mut seen = Survey { transcripts: 1, requests: trace.requests.len() as u64, ..Survey::default() };
    seen.tools = tools_of(trace, edit);
    for tool in &seen.tools {
        seen.result_tokens += tool.result_tokens;
        seen.excluded_tokens += if tool.excluded { tool.result_tokens } else { 0 };
    }
    count_batches(trace, &masks, &mut seen);
    let growth = usual_growth(trace);
    let sticky = settings.assume.memory == Memory::Sticky;
    let mut fetched = vec![0_u32; trace.uses.len()];
    let mut overflowed_unedited = false;
    // The request before this row: its start, and what the row invalidated if it cleared.
    let mut previous: Option<(u32, u64)> = None;
    let mut cleared_yet = false;
    engine.watch(trace, &settings, |row, engine| {
        let request = &trace.requests[row.request as usize];
        let (cache, prices) = settings.terms(request.model);
        let ttl = cache.ttl(request.ttl_ms);
        let unit = prices.at(row.prompt_tokens);
        let write = if ttl > Cache::DEFAULT_TTL_MS { unit.cache_write_1h } else { unit.cache_write };
        let candidates = engine.candidates(&settings);
        let event = row.newly_cleared > 0;
        cleared_yet |= event;
        seen.since_first += u64::from(cleared_yet);
        seen.events += u64::from(event);
        seen.freed += row.freed_tokens;
        seen.invalidated += row.invalidated_tokens;
        seen.invalidations += u64::from(row.invalidated_tokens > 0);
        seen.invalidated_usd += row.invalidated_tokens as f64 * (write - unit.cache_read) / 1e6;
        for (tool, _) in engine.newly_cleared() {
            seen.tools[tool as usize].cleared += 1;
        }
        let tool_of = |origin: u32| trace.uses[origin as usize].tool as usize;
        if row.kind == RowKind::Refetch {
            for &origin in engine.missing() {
                fetched[origin as usize] += 1;
                seen.tools[tool_of(origin)].refetched += 1;
            }
        } else {
            seen.fired_requests += u64::from(candidates.fired);
            for &origin in engine.lost() {
                seen.tools[tool_of(origin)].lost += 1;
            }
        }
        // The trigger, up to the request that would be the last chance.
        if !overflowed_unedited {
            if let Some(edit) = edit {
                let base = if settings.assume.trigger_counts_base { 0 } else { trace.base_tokens };
                let size = if sticky { row.prompt_tokens.saturating_add_signed(row.freed_tokens) } else { row.original_tokens };
                let looked_at = if matches!(edit.trigger, Trigger::ToolUses(_)) { engine.clearable_uses() } else { size - base };
                seen.largest = seen.largest.max(looked_at);
            }
            if candidates.fired {
                seen.most_to_clear = seen.most_to_clear.max(candidates.tokens);
            }
            overflowed_unedited = settings.context_window.is_some_and(|w| row.original_tokens + row.output_tokens > w);
            seen.would_overflow = overflowed_unedited;
        }
        if let (true, Some(Trigger::InputTokens(trigger))) = (sticky, edit.map(|e| e.trigger)) {
            let base = if settings.assume.trigger_counts_base { 0 } else { trace.base_tokens };
            let floor = candidates.floor_tokens - base;
            let reached = floor >= trigger;
            seen.saturated_requests += u64::from(reached);
            seen.floor_at_end = floor;
            seen.saturated_at_end = reached;
            let again = row.prompt_tokens - base + row.output_tokens + growth;
            let passes = if settings.assume.trigger_cmp == TriggerCmp::Gt { again > trigger } else { again >= trigger };
            seen.events_near_trigger += u64::from(event && !reached && passes);
        }
        if let Some(window) = settings.context_window.filter(|_| !cleared_yet && seen.overflow_before_clear.is_none()) {
            let size = row.prompt_tokens + row.output_tokens;
            if size > window {
                seen.overflow_before_clear = Some((row.request, size));
                seen.overflows_before_clear = 1;
            }
        }
        if let Some(cut) = engine.cut().filter(|_| event && cache.mode == CacheMode::Entries) {
            seen.positions_behind.push(cut.behind);
            // The entry before the cleared result has to be among the last `lookback` positions.
            if cut.behind >= cache.lookback {
                seen.events_beyond_lookback += 1;
                // Only what the cache held can have been missed.
                seen.beyond_lookback_tokens += cut.before_tokens.saturating_sub(row.cache_read).min(row.invalidated_tokens);
            }
        }
        if cache.mode != CacheMode::Off && row.prompt_tokens < cache.min_tokens {
            seen.below_minimum += 1;
            seen.brought_below_minimum += u64::from(row.original_tokens >= cache.min_tokens);
        }
        if let Some(tier) = prices.tiers.iter().filter(|t| row.prompt_tokens > t.above).map(|t| t.above).min() {
            let flat = crate::price::Prices { tiers: Vec::new(), ..prices.clone() };
            let plain =
                flat.cost(row.prompt_tokens, row.uncached, row.cache_read, row.cache_write, row.output_tokens, ttl > Cache::DEFAULT_TTL_MS);
            seen.above_tier += 1;
            seen.tier_usd += row.cost_usd - plain;
            seen.tier = tier;
        }
        if row.kind == RowKind::Original {
            let cold =
                previous.is_some_and(|(before, _)| request.at_ms - trace.requests[before as usize].at_ms > ttl && !request.kept_warm);
            if cold {
                seen.cold_requests += 1;
                if let Some((_, tokens)) = previous.filter(|(_, tokens)| *tokens > 0) {
                    seen.events_before_idle += 1;
                    seen.before_idle_tokens += tokens;
                }
                if !event && candidates.tokens >= WORTH_CLEARING {
                    seen.cold_missed += 1;
                    seen.cold_missed_tokens += candidates.tokens;
                }
            }
            previous = Some((row.request, row.invalidated_tokens));
        }
    });
    seen.chained = fetched.iter().filter(|&&times| times > 1).count() as u64;
    seen.longest_chain = fetched.iter().copied().max().unwrap_or(0);
    seen.least_read_price = super::cache::least_read_price(trace, &settings, &masks);
    seen
}

fn tools_of(trace: &Trace, edit: Option<&ClearToolUses>) -> Vec<ToolSurvey> {
    let mut tools: Vec<ToolSurvey> = trace
        .tools
        .iter()
        .map(|tool| ToolSurvey {
            name: tool.name.clone(),
            excluded: edit.is_some_and(|e| e.exclude_tools.contains(&tool.name)),
            refetch: tool.refetch,
            ..ToolSurvey::default()
        })
        .collect();
    for (block, kind) in trace.kinds.iter().enumerate() {
        if *kind == BlockKind::Result {
            let tool = trace.uses[trace.block_use[block] as usize].tool;
            tools[tool as usize].result_tokens += u64::from(trace.tokens[block]);
        }
    }
    tools
}

fn count_batches(trace: &Trace, masks: &Masks, seen: &mut Survey) {
    for request in &trace.requests {
        let blocks = request.output as usize..request.end as usize;
        let uses =
            blocks.filter(|&b| trace.kinds[b] == BlockKind::Use && !masks.excluded[trace.uses[trace.block_use[b] as usize].tool as usize]);
        let size = uses.count();
        if size > 0 {
            seen.batches.resize(seen.batches.len().max(size + 1), 0);
            seen.batches[size] += 1;
        }
    }
}

/// The median of what one request appends, tokens.
fn usual_growth(trace: &Trace) -> u64 {
    let sum = |from: u32, to: u32| trace.tokens[from as usize..to as usize].iter().map(|&t| u64::from(t)).sum::<u64>();
    let mut growth: Vec<u64> = trace.requests.iter().skip(1).map(|r| sum(r.input, r.output)).collect();
    growth.sort_unstable();
    growth.get(growth.len() / 2).copied().unwrap_or(0)
}

impl Survey {
    /// All of them together: sums, largest values, tools by name.
    pub fn sum(all: &[Self]) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.transcripts += one.transcripts;
            sum.requests += one.requests;
            sum.fired_requests += one.fired_requests;
            sum.since_first += one.since_first;
            sum.events += one.events;
            sum.freed += one.freed;
            sum.invalidated += one.invalidated;
            sum.invalidations += one.invalidations;
            sum.invalidated_usd += one.invalidated_usd;
            sum.largest = sum.largest.max(one.largest);
            sum.most_to_clear = sum.most_to_clear.max(one.most_to_clear);
            sum.would_overflow |= one.would_overflow;
            sum.saturated_requests += one.saturated_requests;
            sum.floor_at_end = sum.floor_at_end.max(one.floor_at_end);
            sum.saturated_at_end |= one.saturated_at_end;
            sum.events_near_trigger += one.events_near_trigger;
            sum.overflow_before_clear = sum.overflow_before_clear.or(one.overflow_before_clear);
            sum.overflows_before_clear += one.overflows_before_clear;
            sum.events_beyond_lookback += one.events_beyond_lookback;
            sum.positions_behind.extend(&one.positions_behind);
            sum.beyond_lookback_tokens += one.beyond_lookback_tokens;
            sum.below_minimum += one.below_minimum;
            sum.brought_below_minimum += one.brought_below_minimum;
            sum.above_tier += one.above_tier;
            sum.tier_usd += one.tier_usd;
            sum.tier = if sum.tier == 0 {
                one.tier
            } else if one.tier == 0 {
                sum.tier
            } else {
                sum.tier.min(one.tier)
            };
            sum.events_before_idle += one.events_before_idle;
            sum.before_idle_tokens += one.before_idle_tokens;
            sum.cold_requests += one.cold_requests;
            sum.cold_missed += one.cold_missed;
            sum.cold_missed_tokens += one.cold_missed_tokens;
            sum.batches.resize(sum.batches.len().max(one.batches.len()), 0);
            sum.batches.iter_mut().zip(&one.batches).for_each(|(a, b)| *a += b);
            sum.chained += one.chained;
            sum.longest_chain = sum.longest_chain.max(one.longest_chain);
            sum.result_tokens += one.result_tokens;
            sum.excluded_tokens += one.excluded_tokens;
            sum.least_read_price = match (sum.least_read_price, one.least_read_price) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            for tool in &one.tools {
                if let Some(known) = sum.tools.iter_mut().find(|t| t.name == tool.name) {
                    known.result_tokens += tool.result_tokens;
                    known.cleared += tool.cleared;
                    known.refetched += tool.refetched;
                    known.lost += tool.lost;
                } else {
                    sum.tools.push(tool.clone());
                }
            }
        }
        sum.tools.sort_by(|a, b| a.name.cmp(&b.name));
        sum
    }
}
