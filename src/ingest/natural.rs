//! What the log shows of the cache: the warm start, and invalidations that no clearing caused.
//!
//! *Held* is what the previous request left in the cache (its read + written); *shortfall* = held − read. A shortfall of 1,000 tokens or
//! more within the TTL is a natural invalidation and becomes `flush_above` on the request, so that it happens under every config. Only that:
//! reads are never copied, and a shortfall after a gap longer than the TTL comes out of the replay's own clock, so that another TTL can be
//! tried on the same log.

use super::normal::Call;

/// Shortfalls below this are noise of the provider (a parallel request, a moved breakpoint).
pub const LEAST_SHORTFALL: u64 = 1000;
/// TTL where the log states none.
const DEFAULT_TTL_MS: i64 = 300_000;
/// Drops no entry, and lets the provider serve the base: no prompt is longer.
const NOTHING_DROPPED: u64 = u32::MAX as u64;

/// What was seen in one part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Natural {
    /// Tokens that the first request read.
    pub warm_start_tokens: u64,
    /// Shortfalls within the TTL.
    pub invalidations: u64,
    /// Their tokens.
    pub invalidation_tokens: u64,
    /// Shortfalls after a longer gap.
    pub expiries: u64,
}

/// A request at which the cache gave much less than it held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Index of the call.
    pub call: usize,
    /// Tokens that it gave less.
    pub tokens: u64,
    /// Whether the gap before the call is longer than the TTL, which explains it.
    pub expired: bool,
}

/// Shortfalls of a part, of unknown usage none. A cause beyond expiry is for the reader of this list to name.
pub fn shortfalls(calls: &[Call]) -> Vec<Shortfall> {
    let mut out = Vec::new();
    let mut ttl = DEFAULT_TTL_MS;
    for (call, (before, now)) in calls.iter().zip(calls.iter().skip(1)).enumerate() {
        ttl = before.ttl_ms.unwrap_or(if before.usage.is_some() { DEFAULT_TTL_MS } else { ttl });
        let (Some(a), Some(b)) = (before.usage, now.usage) else { continue };
        let tokens = held(a).saturating_sub(b.cache_read);
        if tokens >= LEAST_SHORTFALL {
            let expired = before.at_ms.zip(now.at_ms).is_some_and(|(a, b)| b - a > ttl);
            out.push(Shortfall { call: call + 1, tokens, expired });
        }
    }
    out
}

fn held(usage: crate::trace::Usage) -> u64 {
    usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
}

/// Moves calls whose entries outlived their TTL: a hit after a longer gap shows that a call which the log does not hold (the client's own
/// summaries and suggestions) refreshed them. The call before the gap then counts as that much later, so that the gap is the TTL, unless that
/// opens a gap before it. The number of calls moved.
pub fn refresh(calls: &mut [Call]) -> u64 {
    let mut moved = 0;
    let mut ttl = DEFAULT_TTL_MS;
    for i in 1..calls.len() {
        let before_ttl = ttl;
        ttl = calls[i - 1].ttl_ms.unwrap_or(if calls[i - 1].usage.is_some() { DEFAULT_TTL_MS } else { ttl });
        let (Some(a), Some(b)) = (calls[i - 1].usage, calls[i].usage) else { continue };
        let (Some(then), Some(now)) = (calls[i - 1].at_ms, calls[i].at_ms) else { continue };
        let alive = held(a) >= LEAST_SHORTFALL && b.cache_read + LEAST_SHORTFALL > held(a);
        let later = now - ttl;
        let opens = i >= 2 && calls[i - 2].at_ms.is_some_and(|at| later - at > before_ttl);
        if alive && later > then && !opens {
            calls[i - 1].at_ms = Some(later);
            moved += 1;
        }
    }
    moved
}

/// `flush_above` of every call, and what was seen. Sizes must be set; `base`: tokens of system prompt and tools.
pub fn flushes(calls: &[Call], base: u64) -> (Vec<Option<u64>>, Natural) {
    let mut flush = vec![None; calls.len()];
    let mut seen = Natural::default();
    if let Some(warm) = calls.first().and_then(|c| c.usage).map(|u| u.cache_read).filter(|&r| r > 0) {
        seen.warm_start_tokens = warm;
        flush[0] = Some(warm);
    }
    // The prompt of each call as the replay will see it.
    let mut prompts = Vec::with_capacity(calls.len());
    let mut prompt = base;
    for call in calls {
        prompt += call.input.iter().map(|i| i.tokens).sum::<u64>();
        prompts.push(prompt);
        prompt += call.output.iter().map(|i| i.tokens).sum::<u64>();
    }
    for short in shortfalls(calls) {
        let read = calls[short.call].usage.map_or(0, |u| u.cache_read);
        if short.expired {
            seen.expiries += 1;
            // The replay's clock empties the cache and reads nothing. Where the provider still served most of system prompt and tools, kept
            // warm by other sessions, that is nearer; no entry is dropped for it.
            if read * 2 > base {
                flush[short.call] = Some(NOTHING_DROPPED);
            }
            continue;
        }
        seen.invalidations += 1;
        seen.invalidation_tokens += short.tokens;
        // The entry that was read survives. The provider's figure ends a few tokens before the prompt that wrote it, because the last tokens
        // of a prompt go uncached, and the replay's entry spans that prompt whole.
        let survivor = (0..short.call).rev().find(|&k| calls[k].usage.is_some_and(|u| held(u) <= read && held(u) > 0));
        let entry = survivor.filter(|_| read > base).map_or(0, |k| prompts[k]);
        flush[short.call] = Some(read.max(entry));
    }
    (flush, seen)
}
