//! What the log shows of the cache: the warm start, and invalidations that no clearing caused, each with its cause.
//!
//! *Held* is what the previous request left in the cache (its read + written); *shortfall* = held − read. A shortfall of 1,000 tokens or
//! more is a natural invalidation. Where the provider caches prefixes by itself no write is recorded: there the previous request left its
//! whole prompt, and the threshold is 128, the step of such caches.
//!
//! Only these become `flush_above` on a request, so that they happen under every config; reads are never copied. Three causes need none:
//! what the TTL, a model switch or the lookback takes away comes out of the replay's own rules, so that another TTL can be tried on the
//! same log. And what clearing took away, the provider's or the client's own, is no natural invalidation: the replay decides anew what is
//! cleared.

use super::normal::{Call, Item, Kind};
use crate::price::Catalogue;
use crate::trace::{Cause, Document, Usage};

/// TTL where the log states none and the model is unknown.
const DEFAULT_TTL_MS: i64 = 300_000;
/// Drops no entry, and lets the provider serve the base: no prompt is longer.
pub const NOTHING_DROPPED: u64 = u32::MAX as u64;
/// Positions that the provider walks back from a breakpoint, the breakpoint included.
const LOOKBACK: usize = 20;

/// How the provider of a part caches, told by what it records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// Nothing is ever read or written.
    Unseen,
    /// Writes are recorded: entries at breakpoints.
    Entries,
    /// Reads without any write: prefixes are cached by themselves.
    Prefix,
}

impl Caching {
    /// Told by the usage of all requests of a part.
    pub fn of(usages: impl IntoIterator<Item = Option<Usage>>) -> Self {
        let (mut read, mut written) = (0, 0);
        for usage in usages.into_iter().flatten() {
            read += usage.cache_read;
            written += usage.cache_write_5m + usage.cache_write_1h;
        }
        match (read, written) {
            (0, 0) => Self::Unseen,
            (_, 0) => Self::Prefix,
            _ => Self::Entries,
        }
    }

    /// Shortfalls below this are noise of the provider (a parallel request, a moved breakpoint, the last incomplete step).
    pub fn least_shortfall(self) -> u64 {
        match self {
            Self::Prefix => 128,
            _ => 1000,
        }
    }

    /// What a request left in the cache.
    pub fn held(self, usage: Usage) -> u64 {
        match self {
            Self::Unseen => 0,
            Self::Entries => usage.cache_read + usage.cache_write_5m + usage.cache_write_1h,
            // Shorter prompts are not cached by any of these providers.
            Self::Prefix => Some(usage.prompt()).filter(|&p| p >= 1024).unwrap_or(0),
        }
    }

    /// Tokens of a request that were billed because the cache did not give them.
    fn missed(self, usage: Usage) -> u64 {
        match self {
            Self::Prefix => usage.input,
            _ => usage.cache_write_5m + usage.cache_write_1h,
        }
    }
}

/// A request to which the cache gave much less than it held, for a reason other than clearing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NaturalInvalidation {
    /// Index of the request in its transcript.
    pub request: u32,
    /// Why.
    pub cause: Cause,
    /// Tokens that the cache gave less than it held.
    pub tokens: u64,
    /// Those of them that this request paid for at the write price (or the input price, where writes are free) instead of the read price.
    pub billed_tokens: u64,
    /// Tokens that it still gave.
    pub read: u64,
    /// Milliseconds since the previous request; `None` where the log tells no time.
    pub gap_ms: Option<i64>,
}

/// The natural invalidations that a transcript carries, from a log or from a trace file, in order.
///
/// ```
/// use cleartune::trace::{Cause, Document, RequestDoc, Usage};
/// let usage = |cache_read, cache_write_5m| Some(Usage { cache_read, cache_write_5m, ..Usage::default() });
/// let first = RequestDoc { usage: usage(0, 9_000), ..RequestDoc::default() };
/// let late = RequestDoc { at_ms: 400_000, usage: usage(0, 9_500), invalidation_cause: Some(Cause::TtlExpired), ..first.clone() };
/// let doc = Document { requests: vec![first, late], ..Document::default() };
/// let found = cleartune::ingest::natural_invalidations(&doc);
/// assert_eq!((found[0].request, found[0].tokens, found[0].gap_ms), (1, 9_000, Some(400_000)));
/// ```
pub fn natural_invalidations(doc: &Document) -> Vec<NaturalInvalidation> {
    let caching = Caching::of(doc.requests.iter().map(|r| r.usage));
    let pairs = doc.requests.iter().zip(doc.requests.iter().skip(1)).enumerate();
    pairs
        .filter_map(|(i, (before, now))| {
            let (cause, a, b) = (now.invalidation_cause?, before.usage?, now.usage?);
            let tokens = caching.held(a).saturating_sub(b.cache_read);
            Some(NaturalInvalidation {
                request: i as u32 + 1,
                cause,
                tokens,
                billed_tokens: tokens.min(caching.missed(b)),
                read: b.cache_read,
                gap_ms: Some(now.at_ms - before.at_ms),
            })
        })
        .collect()
}

/// What one part shows, call by call, and what has to be said of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Natural {
    /// `flush_above` of every call.
    pub flush: Vec<Option<u64>>,
    /// Whether a call that is not in the log kept the cache warm before it.
    pub kept_warm: Vec<bool>,
    /// Those of them that read more than the previous call left: only another call can have written that.
    pub kept_warm_proven: u64,
    /// Tokens that the first request read.
    pub warm_start_tokens: u64,
    /// The invalidations; `request` is the index of the call.
    pub invalidations: Vec<NaturalInvalidation>,
    /// Invalidations whose request still read most of system prompt and tools, though the replay's rules leave nothing.
    pub base_served: u64,
}

/// TTL of the entries that each call leaves behind, milliseconds.
fn ttls(calls: &[Call], caching: Caching) -> Vec<i64> {
    let model = calls.iter().find_map(|c| c.model.as_deref());
    // Only providers that cache by themselves have other defaults, and looking one up takes a while.
    let known = model.filter(|_| caching == Caching::Prefix).and_then(|m| Catalogue::shipped().find(m));
    let default = known.map_or(DEFAULT_TTL_MS, |m| m.ttl.default_ms());
    let mut ttl = default;
    let next = |call: &Call| {
        ttl = call.ttl_ms.unwrap_or(if call.usage.is_some() { default } else { ttl });
        ttl
    };
    calls.iter().map(next).collect()
}

/// Cache positions of the blocks between the last one of `before`'s prompt and the last one of `now`'s: a run of uses, or of results, is
/// one.
fn appended_positions(before: &Call, now: &Call) -> usize {
    let runs = |items: &[Item]| {
        let class = |i: &Item| match i.kind {
            Kind::Use(_) => 1,
            Kind::Result(_) => 2,
            _ => 0,
        };
        let joined = items.windows(2).filter(|w| class(&w[0]) != 0 && class(&w[0]) == class(&w[1])).count();
        items.len() - joined
    };
    runs(&before.output) + runs(&now.input)
}

/// The one cause of a shortfall at `now`. What changed the content comes first, for a longer TTL would not have helped then.
fn cause(before: &Call, now: &Call, gap: Option<i64>, ttl: i64, caching: Caching) -> Cause {
    let differ = |a: Option<u128>, b: Option<u128>| a.zip(b).is_some_and(|(a, b)| a != b);
    let shrank = before.usage.zip(now.usage).is_some_and(|(a, b)| b.prompt() < a.prompt());
    let thinking = |call: &Call| call.applied.map_or(0, |a| a.cleared_thinking_tokens);
    if now.cleared_uses > before.cleared_uses {
        Cause::Cleared
    } else if before.model.is_some() && now.model.is_some() && before.model != now.model {
        Cause::ModelChanged
    } else if differ(before.tools_hash, now.tools_hash) {
        Cause::ToolsChanged
    } else if differ(before.system_hash, now.system_hash) {
        Cause::SystemChanged
    } else if now.messages_changed || shrank || thinking(now) > thinking(before) {
        Cause::MessagesChanged
    } else if gap.is_some_and(|gap| gap > ttl) {
        Cause::TtlExpired
    } else if caching == Caching::Entries && appended_positions(before, now) >= LOOKBACK {
        Cause::LookbackExceeded
    } else {
        Cause::Unknown
    }
}

/// What the calls show. Sizes must be set; `base`: tokens of system prompt and tools.
pub fn natural(calls: &[Call], base: u64) -> Natural {
    let caching = Caching::of(calls.iter().map(|c| c.usage));
    let least = caching.least_shortfall();
    let mut seen = Natural { flush: vec![None; calls.len()], kept_warm: vec![false; calls.len()], ..Natural::default() };
    if let Some(warm) = calls.first().and_then(|c| c.usage).map(|u| u.cache_read).filter(|&r| r > 0) {
        seen.warm_start_tokens = warm;
        seen.flush[0] = Some(warm);
    }
    let prompts = prompts(calls, base);
    let positions = if caching == Caching::Prefix { positions(calls, base) } else { Vec::new() };
    let ttls = ttls(calls, caching);
    for i in 1..calls.len() {
        let (before, now) = (&calls[i - 1], &calls[i]);
        let (Some(a), Some(b)) = (before.usage, now.usage) else { continue };
        let gap = before.at_ms.zip(now.at_ms).map(|(a, b)| b - a);
        let held = caching.held(a);
        let tokens = held.saturating_sub(b.cache_read);
        if tokens < least {
            if held >= least && gap.is_some_and(|gap| gap > ttls[i - 1]) {
                seen.kept_warm[i] = true;
                seen.kept_warm_proven += u64::from(b.cache_read > held);
            }
            continue;
        }
        let cause = cause(before, now, gap, ttls[i - 1], caching);
        let billed_tokens = tokens.min(caching.missed(b));
        seen.invalidations.push(NaturalInvalidation { request: i as u32, cause, tokens, billed_tokens, read: b.cache_read, gap_ms: gap });
        if cause == Cause::Cleared {
            continue;
        }
        seen.flush[i] = if matches!(cause, Cause::TtlExpired | Cause::ModelChanged | Cause::LookbackExceeded) {
            // The replay empties the cache by itself. Where the provider still served most of system prompt and tools, kept warm by other
            // sessions, that is nearer; no entry is dropped for it.
            let served = b.cache_read * 2 > base && cause != Cause::LookbackExceeded;
            seen.base_served += u64::from(served);
            served.then_some(NOTHING_DROPPED)
        } else if caching == Caching::Prefix {
            Some(nearest(&positions, b.cache_read, base, prompts[i - 1]))
        } else {
            Some(survivor(calls, &prompts, i, b.cache_read, base, caching))
        };
    }
    seen
}

/// The prompt of each call as the replay will see it.
fn prompts(calls: &[Call], base: u64) -> Vec<u64> {
    let tokens = |items: &[Item]| items.iter().map(|i| i.tokens).sum::<u64>();
    let mut prompt = base;
    calls
        .iter()
        .map(|call| {
            let here = prompt + tokens(&call.input);
            prompt = here + tokens(&call.output);
            here
        })
        .collect()
}

/// Ends of the cache positions of the longest prompt, in tokens, ascending: system prompt and tools, then every block, a run of uses or of
/// results as one.
fn positions(calls: &[Call], base: u64) -> Vec<u64> {
    let mut ends = vec![base];
    let class = |item: &Item| match item.kind {
        Kind::Use(_) => 1,
        Kind::Result(_) => 2,
        _ => 0,
    };
    for items in calls.iter().flat_map(|call| [&call.input, &call.output]) {
        for (i, item) in items.iter().enumerate() {
            let end = ends[ends.len() - 1] + item.tokens;
            let same_run = i > 0 && class(item) != 0 && class(item) == class(&items[i - 1]);
            if same_run {
                ends.pop();
            }
            ends.push(end);
        }
    }
    ends
}

/// Where a prefix cache that gave `read` tokens is taken to have been cut: at the position next to it, of those that `held` tokens have.
///
/// Such caches serve a part of a block, the replay whole ones. Cut at `read` itself the replay would read up to the position before it, so
/// less than was recorded at every such request; the next one in either direction leaves no bias.
fn nearest(positions: &[u64], read: u64, base: u64, held: u64) -> u64 {
    if read < base {
        return read;
    }
    let after = positions.partition_point(|&end| end <= read);
    let below = after.checked_sub(1).map_or(read, |i| positions[i]);
    match positions.get(after).filter(|&&end| end <= held) {
        Some(&above) if above - read < read - below => above,
        _ => read,
    }
}

/// The size up to which entries survive at call `i`, which read `read`.
///
/// The entry that was read survives. The provider's figure ends a few tokens before the prompt that wrote it, because the last tokens of a
/// prompt go uncached, and the replay's entry spans that prompt whole.
fn survivor(calls: &[Call], prompts: &[u64], i: usize, read: u64, base: u64, caching: Caching) -> u64 {
    let written_by = |&k: &usize| calls[k].usage.is_some_and(|u| (1..=read).contains(&caching.held(u)));
    let entry = (0..i).rev().find(written_by).filter(|_| read > base);
    read.max(entry.map_or(0, |k| prompts[k]))
}
