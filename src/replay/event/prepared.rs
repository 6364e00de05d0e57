//! What the event engine knows of a transcript before it replays it under any one edit.

use crate::policy::{Cache, CacheMode, ClearToolInputs, KeepCounts, Memory, Settings};
use crate::replay::Masks;
use crate::replay::tariff::Tariff;
use crate::trace::{BlockKind, NONE, Trace};

/// Needs in one block of [`Prepared::needs_min`].
pub(super) const NEEDS_A_BLOCK: usize = 16;

/// Why a transcript cannot be replayed by the event engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unfit {
    /// The policy is another than the API's edit.
    Policy,
    /// A result arrives later than with the request after its use.
    LateResult,
    /// A request starts before the one before it.
    TimeRunsBack,
    /// More than one breakpoint at the end of the prompt.
    TailBreakpoints,
    /// Models of the transcript are cached in different modes.
    MixedCaches,
}

/// What is fixed about one request, as long as nothing was fetched again before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stop {
    /// Unedited size of its prompt.
    pub original: i64,
    pub output: i64,
    pub at: i64,
    pub ttl: i64,
    /// The last position of its prompt.
    pub position: u32,
    /// Items in its prompt.
    pub items: u32,
    /// Uses that count against a trigger in uses.
    pub counted: u32,
    /// First of its needs.
    pub needs: u32,
    /// Price class below all tiers.
    pub class: u32,
    /// Tokens that the provider still serves after a natural invalidation.
    pub floor: u32,
    pub model: u16,
    /// Entries are dropped or kept warm before it.
    pub natural: bool,
}

/// One use that takes up a place among the newest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// The request whose output holds it.
    pub issue: u32,
    pub use_tokens: u32,
    pub result_tokens: u32,
    pub tool: u16,
}

/// Cache terms of one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Smallest prompt that is cached; none at all: [`i64::MAX`].
    pub min_tokens: i64,
    pub lookback: u32,
    pub system_breakpoint: bool,
}

/// A transcript made ready to be replayed under many edits that differ in `trigger`, `keep` and `clear_at_least` only.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) trace: &'a Trace,
    pub(super) settings: Settings,
    pub(super) tariff: Tariff,
    pub(super) mode: CacheMode,
    /// By model; see [`Prepared::terms`].
    terms: Vec<Terms>,
    /// The largest lookback of them all.
    pub(super) lookback: u32,
    /// How many models answer.
    pub(super) models: usize,
    /// By request, and a last one that holds ends.
    pub(super) stops: Vec<Stop>,
    /// [`Stop::original`] once more, for searches.
    pub(super) original: Vec<i64>,
    /// Sums of [`Stop::original`] and [`Stop::output`] before each request.
    pub(super) original_sum: Vec<i64>,
    pub(super) output_sum: Vec<i64>,
    /// By request: the first one from it on that an undisturbed stretch cannot hold.
    pub(super) next_irregular: Vec<u32>,
    /// Uses that take up a place among the newest, in the order of their blocks. Those that cannot be cleared free nothing.
    pub(super) items: Vec<Item>,
    /// By item and one more: what those before it free for a selection, what they take out of the prompt, and how many can be cleared.
    pub(super) freed: Vec<i64>,
    pub(super) saved: Vec<i64>,
    pub(super) clearable: Vec<u32>,
    /// By item: the first from it on that can be cleared.
    pub(super) next_clearable: Vec<u32>,
    /// By number of items: the first request whose prompt has as many.
    pub(super) open_at: Vec<u32>,
    /// Needed items, request by request, each once; only those that can be cleared.
    pub(super) needs: Vec<u32>,
    /// By need: its request.
    pub(super) need_request: Vec<u32>,
    /// By [`NEEDS_A_BLOCK`] needs: the smallest item.
    pub(super) needs_min: Vec<u32>,
    /// By use of the trace: its item, if it can be cleared.
    pub(super) item_of: Vec<u32>,
    /// By tool: whether its inputs are cleared too.
    pub(super) input_cleared: Vec<bool>,
    /// Some price depends on the size of the prompt.
    pub(super) tiered: bool,
    /// Some tool called again costs something in itself.
    pub(super) priced: bool,
    pub(super) placeholder: i64,
    pub(super) cleared_input: i64,
}

impl<'a> Prepared<'a> {
    /// Makes `trace` ready under `settings`, whose edit says which tools are excluded and whose inputs are cleared.
    ///
    /// # Errors
    /// What the event engine cannot replay.
    pub fn new(trace: &'a Trace, settings: &Settings) -> Result<Self, Unfit> {
        let mode = check(trace, settings)?;
        let (assume, edit) = (&settings.assume, settings.edit.as_ref());
        let masks = Masks::new(trace, edit);
        let group = settings.cache.group_parallel;
        let results = results(trace)?;
        let (placeholder, cleared_input) = (i64::from(assume.placeholder_tokens), i64::from(assume.cleared_input_tokens));

        let mut it = Self {
            trace,
            settings: settings.clone(),
            tariff: Tariff::new(settings),
            mode,
            terms: (0..=settings.other_models.len()).map(|model| terms(settings.terms(model as u16).0)).collect(),
            lookback: trace.requests.iter().map(|r| settings.terms(r.model).0.lookback).max().unwrap_or(0),
            models: trace.requests.iter().map(|r| usize::from(r.model) + 1).max().unwrap_or(1),
            stops: Vec::with_capacity(trace.requests.len() + 1),
            original: Vec::with_capacity(trace.requests.len()),
            original_sum: vec![0],
            output_sum: vec![0],
            next_irregular: Vec::new(),
            items: Vec::with_capacity(trace.uses.len()),
            freed: vec![0],
            saved: vec![0],
            clearable: vec![0],
            next_clearable: Vec::new(),
            open_at: vec![0],
            needs: Vec::new(),
            need_request: Vec::new(),
            needs_min: Vec::new(),
            item_of: vec![NONE; trace.uses.len()],
            input_cleared: masks.input_cleared,
            priced: trace.tools.iter().any(|tool| tool.refetch_usd != 0.0 || tool.refetch_seconds != 0.0),
            tiered: trace.requests.iter().any(|r| !settings.terms(r.model).1.tiers.is_empty()),
            placeholder,
            cleared_input,
        };
        let (mut tokens, mut position, mut counted) = (trace.base_tokens as i64, 0, 0);
        let tokens_of = |from: u32, to: u32| trace.tokens[from as usize..to as usize].iter().map(|&t| i64::from(t)).sum::<i64>();
        for (i, request) in trace.requests.iter().enumerate() {
            tokens += tokens_of(request.input, request.output);
            position += positions(trace, request.input, request.output, group);
            let output = tokens_of(request.output, request.end);
            let ttl = settings.terms(request.model).0.ttl(request.ttl_ms);
            while it.open_at.len() <= it.items.len() {
                it.open_at.push(i as u32);
            }
            it.stops.push(Stop {
                original: tokens,
                output,
                at: request.at_ms,
                ttl,
                position,
                items: it.items.len() as u32,
                counted,
                needs: it.needs.len() as u32,
                model: request.model,
                floor: request.flush_above.map_or(0, |n| n.min(trace.base_tokens)) as u32,
                class: it.tariff.class(request.model, ttl) as u32,
                natural: mode != CacheMode::Off && i > 0 && (request.flush_above.is_some() || request.kept_warm),
            });
            it.original.push(tokens);
            it.original_sum.push(it.original_sum[i] + tokens);
            it.output_sum.push(it.output_sum[i] + output);
            it.push_needs(i);
            tokens += output;
            position += positions(trace, request.output, request.end, group);
            // The uses of this answer; nothing asks about them before their results are there.
            for block in (request.output..request.end).map(|b| b as usize).filter(|&b| trace.kinds[b] == BlockKind::Use) {
                let origin = trace.block_use[block] as usize;
                let (tool, result) = (trace.uses[origin].tool, results[origin]);
                let inputs = it.input_cleared[usize::from(tool)];
                let bytes = if result == NONE { NONE } else { trace.bytes[result as usize] };
                let tiny = bytes != NONE && (1..=assume.tiny_result_bytes).contains(&bytes) && !inputs;
                let counts = edit.is_some() && !masks.excluded[usize::from(tool)] && !tiny;
                counted += u32::from(counts);
                if edit.is_some() && (counts || assume.keep_counts == KeepCounts::All) {
                    it.push_item(i, origin, block, if counts { result } else { NONE });
                }
            }
        }
        it.finish();
        Ok(it)
    }

    /// The cache terms of a request of model `model`.
    pub(super) fn terms(&self, model: u16) -> &Terms {
        self.terms.get(usize::from(model)).unwrap_or(&self.terms[0])
    }

    /// How many requests the transcript has.
    pub fn requests(&self) -> usize {
        self.trace.requests.len()
    }

    /// Whether clearing is remembered rather than recomputed.
    pub fn remembers(&self) -> bool {
        self.sticky()
    }

    /// Whether this was made for the same excluded tools and cleared inputs.
    pub fn holds_for(&self, exclude_tools: &[String], clear_tool_inputs: &ClearToolInputs) -> bool {
        self.settings.edit.as_ref().is_some_and(|e| e.exclude_tools == exclude_tools && e.clear_tool_inputs == *clear_tool_inputs)
    }

    /// Adds one item; without a result it cannot be cleared.
    fn push_item(&mut self, issue: usize, origin: usize, block: usize, result: u32) {
        let trace = self.trace;
        let (use_tokens, tool) = (trace.tokens[block], trace.uses[origin].tool);
        let result_tokens = if result == NONE { 0 } else { trace.tokens[result as usize] };
        let mut saved = 0;
        if result != NONE {
            self.item_of[origin] = self.items.len() as u32;
            saved = i64::from(result_tokens) - self.placeholder;
            if self.input_cleared[usize::from(tool)] {
                saved += i64::from(use_tokens) - self.cleared_input;
            }
        }
        let n = self.items.len();
        self.freed.push(self.freed[n] + saved.max(0));
        self.saved.push(self.saved[n] + saved);
        self.clearable.push(self.clearable[n] + u32::from(result != NONE));
        self.items.push(Item { issue: issue as u32, use_tokens, result_tokens, tool });
    }

    /// Adds the needs of a request. Uses that are not there yet are no needs.
    fn push_needs(&mut self, i: usize) {
        let request = &self.trace.requests[i];
        let first = self.needs.len();
        for &origin in &self.trace.needs[request.needs as usize..request.needs_end as usize] {
            let item = self.item_of[origin as usize];
            if item != NONE && !self.needs[first..].contains(&item) {
                self.needs.push(item);
                self.need_request.push(i as u32);
            }
        }
    }

    fn finish(&mut self) {
        let requests = self.stops.len();
        let last = self.stops.last().copied().unwrap_or_default();
        self.stops.push(Stop { needs: self.needs.len() as u32, ..last });
        self.needs_min = self.needs.chunks(NEEDS_A_BLOCK).map(|block| block.iter().copied().min().unwrap_or(NONE)).collect();
        let items = self.items.len();
        self.next_clearable = vec![NONE; items + 1];
        for k in (0..items).rev() {
            let clears = self.clearable[k + 1] > self.clearable[k];
            self.next_clearable[k] = if clears { k as u32 } else { self.next_clearable[k + 1] };
        }
        self.next_irregular = vec![requests as u32; requests + 1];
        for i in (1..requests).rev() {
            self.next_irregular[i] = if self.is_regular(i) { self.next_irregular[i + 1] } else { i as u32 };
        }
        if requests > 0 {
            self.next_irregular[0] = 0;
        }
    }

    /// Whether request `i` reads what the one before it wrote, where nothing is cleared in between.
    fn is_regular(&self, i: usize) -> bool {
        let (before, stop) = (&self.stops[i - 1], &self.stops[i]);
        let alike = before.class == stop.class && before.model == stop.model;
        let cached = match self.mode {
            CacheMode::Off => return alike,
            CacheMode::Prefix => true,
            CacheMode::Entries => stop.position > before.position && stop.position - before.position < self.terms(stop.model).lookback,
        };
        alike && cached && !stop.natural && stop.at.saturating_sub(before.at) <= before.ttl
    }

    /// Whether a clearing is remembered.
    pub(super) fn sticky(&self) -> bool {
        self.settings.assume.memory == Memory::Sticky
    }
}

fn terms(cache: &Cache) -> Terms {
    let min_tokens = if cache.mode == CacheMode::Off { i64::MAX } else { i64::try_from(cache.min_tokens).unwrap_or(i64::MAX) };
    Terms { min_tokens, lookback: cache.lookback, system_breakpoint: cache.system_breakpoint }
}

/// The mode in which all requests are cached, if the engine can replay them.
fn check(trace: &Trace, settings: &Settings) -> Result<CacheMode, Unfit> {
    if settings.policy.is_some() {
        return Err(Unfit::Policy);
    }
    let mode = settings.cache.mode;
    for (i, request) in trace.requests.iter().enumerate() {
        let cache = settings.terms(request.model).0;
        if cache.mode != mode {
            return Err(Unfit::MixedCaches);
        }
        if mode == CacheMode::Entries && cache.tail_breakpoints > 1 {
            return Err(Unfit::TailBreakpoints);
        }
        if i > 0 && request.at_ms < trace.requests[i - 1].at_ms {
            return Err(Unfit::TimeRunsBack);
        }
    }
    Ok(mode)
}

/// By use: the block of its result, or [`NONE`].
fn results(trace: &Trace) -> Result<Vec<u32>, Unfit> {
    let mut results = vec![NONE; trace.uses.len()];
    let mut issued = vec![NONE; trace.uses.len()];
    for (i, request) in trace.requests.iter().enumerate() {
        for block in request.input..request.end {
            let origin = trace.block_use[block as usize];
            match trace.kinds[block as usize] {
                BlockKind::Use => issued[origin as usize] = i as u32,
                BlockKind::Result if issued[origin as usize] as usize + 1 < i => return Err(Unfit::LateResult),
                BlockKind::Result => results[origin as usize] = block,
                _ => {}
            }
        }
    }
    Ok(results)
}

/// How many positions the blocks of one message take up.
fn positions(trace: &Trace, from: u32, to: u32, group_parallel: bool) -> u32 {
    let kinds = &trace.kinds[from as usize..to as usize];
    let joined = |pair: &&[BlockKind]| pair[0] == pair[1] && matches!(pair[0], BlockKind::Use | BlockKind::Result);
    let joins = if group_parallel { kinds.windows(2).filter(joined).count() } else { 0 };
    (kinds.len() - joins) as u32
}
