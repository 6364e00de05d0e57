//! What each request of a transcript costs at the least, token by token.

use super::Reach;
use crate::policy::{Cache, CacheMode, Settings};
use crate::trace::{BlockKind, NONE, Trace};

/// One request. Prices in USD a token, the least that any prompt of the replay can meet.
#[derive(Debug, Clone, Default)]
pub(super) struct Step {
    /// Reading a token of the prompt.
    pub read: f64,
    /// Writing one; where the prompt may be too small to be cached, sending one if that is less.
    pub write: f64,
    /// Answering one.
    pub output: f64,
    /// What a token of a result costs that stood in the prompt before: reading it, or writing it where that is not held any more.
    pub hold: f64,
    /// What a token costs more for standing behind a change; 0 where it is written in any case.
    pub behind: f64,
    /// Tokens that come with this request and can not be taken out again: the user's and the model's words, and what else is out of reach.
    pub new_words: u64,
    /// Tokens that come with it and can, of results and, where they are in reach, their uses.
    pub new_uses: u64,
    /// Tokens of the answer.
    pub answer: u64,
    /// Of the words that stood in the prompt before, what is written anew in any case: all, where nothing is held.
    pub rewritten: u64,
    /// How much of all that is counted as written can be read at best, whatever is held.
    pub read_at_most: u64,
    /// Words of all requests before, base included.
    pub old_words: u64,
}

impl Step {
    /// What the words of this request and the first sight of its results cost, USD.
    pub fn unavoidable(&self) -> f64 {
        let cheap = (self.write - self.read).max(0.0);
        self.old_words as f64 * self.read + self.rewritten as f64 * cheap - self.read_at_most as f64 * cheap
            + (self.new_words + self.new_uses) as f64 * self.write
            + self.answer as f64 * self.output
    }
}

/// A result of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Index of the use.
    pub origin: u32,
    /// The request that brings it.
    pub arrives: usize,
    /// Later requests that need it, each once, in order.
    pub needed: Vec<usize>,
    /// Tokens of the use and of the result.
    pub use_tokens: u32,
    pub result_tokens: u32,
    /// Tokens of both that can be taken out.
    pub size: u64,
}

impl Seen {
    /// The last request that needs it, or brings it.
    pub fn last(&self) -> usize {
        self.needed.last().copied().unwrap_or(self.arrives)
    }
}

/// The results of a transcript, in the order in which they stand.
pub(super) fn results(trace: &Trace, reach: Reach) -> Vec<Seen> {
    let mut use_tokens = vec![0; trace.uses.len()];
    for (block, kind) in trace.kinds.iter().enumerate() {
        if *kind == BlockKind::Use {
            use_tokens[trace.block_use[block] as usize] = trace.tokens[block];
        }
    }
    let mut seen: Vec<Seen> = Vec::new();
    let mut number = vec![NONE; trace.uses.len()];
    for (i, request) in trace.requests.iter().enumerate() {
        for block in (request.input as usize..request.output as usize).filter(|&b| trace.kinds[b] == BlockKind::Result) {
            let origin = trace.block_use[block];
            number[origin as usize] = seen.len() as u32;
            let (use_tokens, result_tokens) = (use_tokens[origin as usize], trace.tokens[block]);
            let size = result_tokens.saturating_sub(reach.left).into();
            let size = if reach.uses { size + u64::from(use_tokens) } else { size };
            seen.push(Seen { origin, arrives: i, needed: Vec::new(), use_tokens, result_tokens, size });
        }
        for &origin in &trace.needs[request.needs as usize..request.needs_end as usize] {
            let Some(result) = seen.get_mut(number[origin as usize] as usize) else { continue };
            if result.last() < i {
                result.needed.push(i);
            }
        }
    }
    seen
}

/// The last request before each whose entries the cache may still hold for it; `None`: nothing is held.
pub(super) fn held_from(trace: &Trace, settings: &Settings) -> Vec<Option<usize>> {
    let requests = &trace.requests;
    let life = |i: usize| settings.terms(requests[i].model).0.ttl(requests[i].ttl_ms);
    (0..requests.len())
        .map(|i| {
            let now = requests[i].at_ms;
            // What a client kept alive counts as used then.
            let mut used = i64::MIN;
            for before in (0..i).rev() {
                if requests[before + 1].kept_warm {
                    used = used.max(requests[before + 1].at_ms);
                }
                let kept = before + 1 == i && requests[i].kept_warm;
                let alive = kept || now.saturating_sub(used.max(requests[before].at_ms)) <= life(before);
                if requests[before].model == requests[i].model && alive {
                    return Some(before);
                }
            }
            None
        })
        .collect()
}

/// What each request costs at the least.
pub(super) fn steps(trace: &Trace, settings: &Settings, results: &[Seen], reach: Reach) -> Vec<Step> {
    let mut answered = vec![false; trace.uses.len()];
    for block in (0..trace.kinds.len()).filter(|&b| trace.kinds[b] == BlockKind::Result) {
        answered[trace.block_use[block] as usize] = true;
    }
    let words = |blocks: std::ops::Range<u32>| -> u64 {
        blocks.map(|b| u64::from(trace.tokens[b as usize]) - taken(trace, reach, &answered, b as usize)).sum()
    };
    // Thinking is dropped before a prompt ever holds it.
    let uses = |blocks: std::ops::Range<u32>| -> u64 {
        let there = blocks.map(|b| b as usize).filter(|&b| trace.kinds[b] != BlockKind::Thinking);
        there.map(|b| taken(trace, reach, &answered, b)).sum()
    };
    let held = held_from(trace, settings);
    let mut steps: Vec<Step> = Vec::with_capacity(trace.requests.len());
    // Words that had come with each request and those before it.
    let mut come = Vec::with_capacity(trace.requests.len());
    let mut old_words = 0;
    for (i, request) in trace.requests.iter().enumerate() {
        // The answer before, and the input.
        let come_now = i.checked_sub(1).map_or(0, |before| trace.requests[before].output)..request.output;
        let base = if i == 0 { trace.base_tokens } else { 0 };
        let mut step = Step { old_words, new_words: base + words(come_now.clone()), new_uses: uses(come_now), ..Step::default() };
        step.answer = (request.output..request.end).map(|b| u64::from(trace.tokens[b as usize])).sum();
        let (cache, _) = settings.terms(request.model);
        prices(&mut step, settings, request.model, cache.ttl(request.ttl_ms) > Cache::DEFAULT_TTL_MS);
        let from = held[i];
        let off = cache.mode == CacheMode::Off;
        let before = |request: Option<usize>| request.map_or(0, |r| come[r]);
        step.hold = step.read;
        step.behind = (step.write - step.read).max(0.0);
        if off || from.is_none() {
            step.hold = step.write;
            step.behind = 0.0;
            step.rewritten = old_words;
            step.read_at_most = if off { 0 } else { request.flush_above.map_or(0, |n| n.min(trace.base_tokens)) };
        } else {
            // Words that came after the entry can not be read.
            step.rewritten = old_words - before(from);
            if let Some(n) = request.flush_above {
                // Nor what a natural invalidation took: of words and results together no more than so much is read. Where they are fewer,
                // the first is the better measure.
                let needed = results.iter().filter(|seen| seen.arrives < i && i <= seen.last());
                let needed: u64 = needed.map(|seen| seen.size).sum();
                if old_words + needed > n {
                    (step.rewritten, step.read_at_most, step.hold) = (old_words, n, step.write);
                }
            }
            if request.flush_above.is_some() || from.is_some_and(|f| f + 1 < i) {
                step.behind = 0.0;
            }
        }
        old_words += step.new_words;
        come.push(old_words);
        steps.push(step);
    }
    steps
}

/// How much of a block can be taken out of the prompt.
fn taken(trace: &Trace, reach: Reach, answered: &[bool], block: usize) -> u64 {
    let tokens = trace.tokens[block];
    let taken = match trace.kinds[block] {
        BlockKind::User | BlockKind::Text => 0,
        BlockKind::Thinking => tokens * u32::from(reach.thinking),
        BlockKind::Use => tokens * u32::from(reach.uses && answered[trace.block_use[block] as usize]),
        BlockKind::Result => tokens.saturating_sub(reach.left),
    };
    taken.into()
}

/// The least prices that a prompt with at least the step's words can meet.
fn prices(step: &mut Step, settings: &Settings, model: u16, one_hour: bool) {
    let (cache, prices) = settings.terms(model);
    let smallest = step.old_words + step.new_words;
    let sizes = prices.tiers.iter().map(|tier| tier.above.saturating_add(1)).filter(|&size| size > smallest).chain([smallest]);
    let mut least = [f64::INFINITY; 4];
    for of in sizes.map(|size| prices.at(size)) {
        let write = if one_hour { of.cache_write_1h } else { of.cache_write };
        for (least, price) in least.iter_mut().zip([of.input, of.cache_read, write, of.output]) {
            *least = least.min(price / 1e6);
        }
    }
    let [input, read, write, output] = least;
    step.output = output;
    (step.read, step.write) = if cache.mode == CacheMode::Off {
        (input, input)
    } else if smallest < cache.min_tokens {
        (read.min(input), write.min(input))
    } else {
        (read, write)
    };
    step.read = step.read.min(step.write);
}
