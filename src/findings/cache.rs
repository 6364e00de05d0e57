//! What the cache and the prices make of it.

use super::survey::Survey;
use super::{Finding, Id, Severity, count, n};
use crate::policy::{Cache, CacheMode, ClearToolUses, Settings};
use crate::replay::Masks;
use crate::sweep::Transcript;
use crate::trace::{BlockKind, Trace};

/// More than this share of the clear events cut farther back than the lookback.
const MOST: f64 = 0.5;
/// Clear events before a pause are worth a word from this share of all that broke a warm cache.
const BEFORE_IDLE: f64 = 0.05;

pub(super) fn find(edit: &ClearToolUses, transcripts: &[Transcript], surveys: &[Survey], total: &Survey, found: &mut Vec<Finding>) {
    lookback(edit, transcripts, total, found);
    if total.brought_below_minimum > 0 {
        let least = transcripts.iter().map(|t| t.settings.cache.min_tokens).max().unwrap_or(0);
        found.push(Finding {
            id: Id::BelowMinimumCacheable,
            severity: Severity::Warning,
            evidence: format!(
                "clearing brings {} below the smallest cacheable prefix of {} tokens, so that they are not cached at all",
                count(total.brought_below_minimum, "prompt"),
                n(least)
            ),
            numbers: vec![("requests", total.brought_below_minimum as f64), ("min_tokens", least as f64)],
            remedy: "set a larger trigger or a larger keep".to_owned(),
        });
    }
    price_cliff(total, surveys, found);
    let share = total.events_before_idle as f64 / total.invalidations.max(1) as f64;
    if total.events_before_idle > 0 && share >= BEFORE_IDLE {
        found.push(Finding {
            id: Id::ClearBeforeIdle,
            severity: Severity::Note,
            evidence: format!(
                "{} of {} that break a warm cache come right before a pause in which it expires, after which they would have been free ({} tokens written again)",
                n(total.events_before_idle),
                count(total.invalidations, "clear event"),
                n(total.before_idle_tokens)
            ),
            numbers: vec![
                ("events_before_idle", total.events_before_idle as f64),
                ("invalidations", total.invalidations as f64),
                ("tokens", total.before_idle_tokens as f64),
            ],
            remedy: "clear on the client after the pause, or use a longer cache lifetime".to_owned(),
        });
    }
    cold(total, found);
    read_too_cheap(transcripts, total, found);
}

/// What can be said where nothing is cleared.
pub(super) fn find_without(transcripts: &[Transcript], total: &Survey, found: &mut Vec<Finding>) {
    if total.below_minimum > 0 && total.below_minimum == total.requests {
        let least = transcripts.iter().map(|t| t.settings.cache.min_tokens).max().unwrap_or(0);
        found.push(Finding {
            id: Id::BelowMinimumCacheable,
            severity: Severity::Note,
            evidence: format!("every prompt is below the smallest cacheable prefix of {} tokens, so nothing is cached", n(least)),
            numbers: vec![("requests", total.below_minimum as f64), ("min_tokens", least as f64)],
            remedy: "nothing to do: prompts this small are cheap".to_owned(),
        });
    }
    price_cliff(total, &[], found);
    cold(total, found);
    read_too_cheap(transcripts, total, found);
}

fn lookback(edit: &ClearToolUses, transcripts: &[Transcript], total: &Survey, found: &mut Vec<Finding>) {
    let cuts = total.positions_behind.len() as f64;
    // A cut beyond the lookback does no harm where there was little before it to read.
    if cuts == 0.0 || total.events_beyond_lookback as f64 <= MOST * cuts || total.beyond_lookback_tokens == 0 {
        return;
    }
    let lookback = transcripts.iter().map(|t| t.settings.cache.lookback).min().unwrap_or(0);
    let mut behind = total.positions_behind.clone();
    behind.sort_unstable();
    let median = behind[behind.len() / 2];
    found.push(Finding {
        id: Id::LookbackCliff,
        severity: Severity::Warning,
        evidence: format!(
            "after {} of {} the kept tail spans more positions than the cache is looked up ({lookback}; half of them have {median} or more), so the read falls to the system prompt; {} tokens are written again for that",
            n(total.events_beyond_lookback),
            count(total.positions_behind.len() as u64, "clear event"),
            n(total.beyond_lookback_tokens)
        ),
        numbers: vec![
            ("events_beyond_lookback", total.events_beyond_lookback as f64),
            ("clear_events", cuts),
            ("lookback", f64::from(lookback)),
            ("median_positions", f64::from(median)),
            ("tokens", total.beyond_lookback_tokens as f64),
        ],
        remedy: format!(
            "set keep to about {} (now {}), or put further cache breakpoints into the conversation (--cache tail_breakpoints=3 shows what they do)",
            u64::from(edit.keep) * u64::from(lookback.saturating_sub(1)) / u64::from(median.max(1)),
            edit.keep
        ),
    });
}

fn price_cliff(total: &Survey, surveys: &[Survey], found: &mut Vec<Finding>) {
    if total.above_tier == 0 {
        return;
    }
    let below = surveys.iter().filter(|s| s.above_tier == 0).count();
    let of =
        if surveys.is_empty() { String::new() } else { format!(" ({below} of {} stay below)", count(surveys.len() as u64, "transcript")) };
    found.push(Finding {
        id: Id::PriceCliff,
        severity: Severity::Warning,
        evidence: format!(
            "{} above {} tokens, where the whole request costs more: ${:.2} in all{of}",
            if total.above_tier == 1 { "1 prompt is".to_owned() } else { format!("{} prompts are", n(total.above_tier)) },
            n(total.tier),
            total.tier_usd
        ),
        numbers: vec![("requests", total.above_tier as f64), ("above_tokens", total.tier as f64), ("usd", total.tier_usd)],
        remedy: format!("set trigger below {} so that prompts stay under it", n(total.tier)),
    });
}

fn cold(total: &Survey, found: &mut Vec<Finding>) {
    if total.cold_missed == 0 {
        return;
    }
    found.push(Finding {
        id: Id::ClearWhenColdIsFree,
        severity: Severity::Note,
        evidence: format!(
            "{} of {} after the cache expired still carry results that could have been cleared free of charge, {} tokens each in the mean",
            n(total.cold_missed),
            count(total.cold_requests, "request"),
            n(total.cold_missed_tokens / total.cold_missed)
        ),
        numbers: vec![
            ("cold_requests", total.cold_requests as f64),
            ("missed", total.cold_missed as f64),
            ("tokens", total.cold_missed_tokens as f64),
        ],
        remedy: "clear on the client when a session goes on after a pause longer than the cache lives".to_owned(),
    });
}

fn read_too_cheap(transcripts: &[Transcript], total: &Survey, found: &mut Vec<Finding>) {
    let Some(least) = total.least_read_price else { return };
    let ratio = |t: &Transcript| t.settings.prices.cache_read / t.settings.prices.input.max(f64::MIN_POSITIVE);
    // The dearest read of any transcript: where that is too cheap, all are.
    let read = transcripts.iter().map(ratio).fold(0.0, f64::max);
    if read >= least {
        return;
    }
    found.push(Finding {
        id: Id::ReadTooCheap,
        severity: Severity::Warning,
        evidence: format!(
            "a token read from the cache costs {read:.3} of an uncached one; here a clear of a warm cache pays back only from {least:.3} on, even without any re-fetch"
        ),
        numbers: vec![("read_price_ratio", read), ("least_that_pays", least)],
        remedy: "do not clear to save money on this model; clear only to stay within the window, or when the cache is cold".to_owned(),
    });
}

/// At most so many requests and so many first candidates are looked at: more of them lie too close together to differ.
const SAMPLES: usize = 120;

/// The smallest read price (over the input price) at which one clear of a warm cache pays back on this transcript, fetched again or not.
///
/// A clear frees F tokens, rewrites W and is followed by R requests before the cache expires; it pays if F ≥ (w − r)/r · W/(R + 1), that is
/// if r ≥ w·W/(F·(R + 1) + W), with r and w the read and write prices over the input price. Tried are clears at every request (a sample of
/// long transcripts) of all candidates from any one on. `None`: nothing can be cleared, or nothing is cached.
pub(super) fn least_read_price(trace: &Trace, settings: &Settings, masks: &Masks) -> Option<f64> {
    let keep = settings.edit.as_ref().map_or(0, |e| e.keep as usize);
    if settings.cache.mode == CacheMode::Off || settings.prices.input <= 0.0 {
        return None;
    }
    let ttl_of = |i: usize| settings.terms(trace.requests[i].model).0.ttl(trace.requests[i].ttl_ms);
    let requests = trace.requests.len();
    // How many requests follow each while the cache is warm.
    let mut follow = vec![0_u64; requests];
    for i in (0..requests.saturating_sub(1)).rev() {
        let next = &trace.requests[i + 1];
        let warm = next.kept_warm || next.at_ms - trace.requests[i].at_ms <= ttl_of(i + 1);
        follow[i] = if warm && next.flush_above.is_none_or(|n| n > u64::from(u32::MAX) / 2) { follow[i + 1] + 1 } else { 0 };
    }
    // Results in order: tokens before each in the unedited prompt, and what its clearing frees.
    let mut before = trace.base_tokens;
    let mut results: Vec<(u64, u64)> = Vec::new();
    let mut least: Option<f64> = None;
    let step = requests.div_ceil(SAMPLES).max(1);
    for (i, request) in trace.requests.iter().enumerate() {
        let mut add = |from: u32, to: u32, results: &mut Vec<(u64, u64)>| {
            for b in from as usize..to as usize {
                if trace.kinds[b] == BlockKind::Result && !masks.excluded[trace.uses[trace.block_use[b] as usize].tool as usize] {
                    results.push((before, u64::from(trace.tokens[b]).saturating_sub(u64::from(settings.assume.placeholder_tokens))));
                }
                before += u64::from(trace.tokens[b]);
            }
            before
        };
        let prompt = add(request.input, request.output, &mut results);
        if i % step == 0 && follow[i] > 0 {
            let candidates = &results[..results.len().saturating_sub(keep)];
            let one_hour = ttl_of(i) > Cache::DEFAULT_TTL_MS;
            let write = if one_hour { settings.prices.cache_write_1h } else { settings.prices.cache_write } / settings.prices.input;
            let mut freed = 0_u64;
            let stride = candidates.len().div_ceil(SAMPLES).max(1);
            for (j, (at, saved)) in candidates.iter().enumerate().rev() {
                freed += saved;
                if j % stride == 0 && freed > 0 {
                    let rewritten = (prompt - at).saturating_sub(freed) as f64;
                    let price = write * rewritten / (freed as f64 * (follow[i] + 1) as f64 + rewritten);
                    least = Some(least.map_or(price, |l: f64| l.min(price)));
                }
            }
        }
        add(request.output, request.end, &mut results);
    }
    least
}
