//! What no policy can cost less than.
//!
//! The proof stands in `docs/policies.md`; its steps are named there as here.

use super::Reach;
use super::cuts::{self, Event, Item};
use super::steps::{Seen, Step, results, steps};
use crate::policy::Settings;
use crate::replay::Totals;
use crate::trace::{Refetch, Trace};

/// More times, and more results, than this are looked at together: the recursion grows with the cube of the one and with the other.
const MOST: usize = 160;

/// Whether the [`bound`] holds for a replay: nothing that was needed was missing, all was seen whole once, and what was taken out came back
/// only by being fetched again.
pub fn is_comparable(totals: &Totals) -> bool {
    totals.lost_needs + totals.unmet_needs + totals.compactions + totals.given_back + totals.previews == 0
}

/// USD below which no policy within `reach` can bring the transcript, whenever it takes out what, under this cache and these prices, as
/// long as [`is_comparable`] holds of its replay. `edit` and `policy` of the settings are not looked at.
pub fn bound(trace: &Trace, settings: &Settings, reach: Reach) -> f64 {
    bound_within(trace, settings, reach, MOST)
}

/// As [`bound`], with at most so many times and results looked at one by one, which is faster and lower.
pub fn bound_within(trace: &Trace, settings: &Settings, reach: Reach, most: usize) -> f64 {
    let mut all = results(trace, reach);
    let steps = steps(trace, settings, &all, reach);
    let n = steps.len();
    let again = fetch_again(&steps, &all);
    // What a token costs that is held in the prompts of requests `1..=i`.
    let mut held = vec![0.0; n];
    for i in 1..n {
        held[i] = held[i - 1] + steps[i].hold;
    }
    let between = |after: usize, to: usize| held[to] - held[after];

    let mut usd: f64 = steps.iter().map(Step::unavoidable).sum();
    // From its arrival to its last need a result is held, or fetched again at least once.
    let mut out: Vec<f64> = Vec::with_capacity(all.len());
    for seen in &all {
        let size = seen.size as f64;
        usd += size * between(seen.arrives, seen.last());
        let more = refetched(trace, settings, &steps, &again, seen, &|a, b| size * between(a, b));
        if seen.last() + 1 == n {
            // The recursion does not look at what is needed to the end.
            usd += more.min(0.0);
        }
        out.push(more);
    }
    // Where cuts are looked for: all times, or blocks of them, of which each is as good as its best.
    let per_block = n.div_ceil(most).max(1);
    let blocks = n.div_ceil(per_block);
    let block_start = |block: usize| block * per_block;
    // The results that cost most to hold; the rest goes for nothing.
    let mut order: Vec<usize> = (0..all.len()).collect();
    if order.len() > most {
        let weight = |i: &usize| {
            let seen: &Seen = &all[*i];
            seen.size as f64 * between(seen.last(), n - 1)
        };
        order.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
        // What can be had for less than holding it until its last need does not leave with the rest.
        for &i in order[most..].iter().filter(|&&i| all[i].last() + 1 < n) {
            usd += out[i].min(0.0);
        }
        order.truncate(most);
        order.sort_unstable();
    }
    let all: Vec<(Seen, f64)> = order.into_iter().map(|i| (std::mem::replace(&mut all[i], nothing()), out[i])).collect();
    let items: Vec<Item> = all
        .iter()
        .map(|(seen, out)| {
            let size = seen.size as f64;
            let from = seen.last() + 1;
            // Time of block b is b + 1.
            let first = if from < n { from / per_block } else { blocks };
            let upto = |block: usize| if block == blocks { n - 1 } else { (block_start(block)).saturating_sub(1) };
            let held = (first..=blocks).map(|b| size * between(seen.last().min(upto(b)), upto(b))).collect();
            Item { from: first + 1, held, out: *out }
        })
        .collect();
    let tables = Behind::new(&steps, &all);
    let event = |item: usize| {
        let (seen, _) = &all[item];
        let from = seen.last() + 1;
        let least = |time: usize| {
            let (start, end) = (block_start(time - 1).max(from), block_start(time).min(n));
            (start..end).map(|at| tables.usd(&steps, seen.arrives, at)).fold(f64::INFINITY, f64::min)
        };
        Event { near: (items[item].from..=blocks).map(least).collect(), far: Vec::new(), parts: usize::MAX }
    };
    usd + cuts::solve(blocks, &items, event, false).0
}

/// What one request more before each, by which something is fetched again, costs at the least for each of those that it may fetch, USD.
fn fetch_again(steps: &[Step], all: &[Seen]) -> Vec<f64> {
    let mut needed = vec![0_u64; steps.len()];
    // It reads the words, and what has just come: each result, unless that was cleared as it came and is fetched again itself.
    let mut usd: Vec<f64> = steps.iter().map(|step| (step.old_words + step.new_words) as f64 * step.read).collect();
    for seen in all {
        let step = &steps[seen.arrives];
        let read = seen.size as f64 * step.read;
        usd[seen.arrives] += read.min(f64::from(seen.use_tokens) * step.output);
        seen.needed.iter().for_each(|&at| needed[at] += 1);
    }
    usd.iter().zip(needed).map(|(usd, needed)| usd / needed.max(1) as f64).collect()
}

fn nothing() -> Seen {
    Seen { origin: 0, arrives: 0, needed: Vec::new(), use_tokens: 0, result_tokens: 0, size: 0 }
}

/// What more it costs than holding it until its last need to let a result go before, and to fetch it again at least once; infinite where it
/// is not needed again or can not be had again.
fn refetched(trace: &Trace, settings: &Settings, steps: &[Step], again: &[f64], seen: &Seen, hold: &dyn Fn(usize, usize) -> f64) -> f64 {
    let tool = trace.uses[seen.origin as usize].tool;
    if trace.tools[tool as usize].refetch == Refetch::Never || settings.assume.max_refetch_rounds == 0 {
        return f64::INFINITY;
    }
    let (mut more, mut least, mut since) = (0.0, f64::INFINITY, seen.arrives);
    for &at in &seen.needed {
        let step = &steps[at];
        let copy = f64::from(seen.use_tokens) * (step.output + step.write) + f64::from(seen.result_tokens) * step.write;
        let against = again[at] + copy - hold(since, at);
        more += against.min(0.0);
        least = least.min(against);
        since = at;
    }
    // Once at least.
    if least > 0.0 { least } else { more }
}

/// What stands behind a change.
struct Behind {
    /// Words that came up to each request.
    words: Vec<u64>,
    /// Results that are needed again and can not be had again, by arrival: the last need, and tokens.
    stay: Vec<(usize, usize, u64)>,
}

impl Behind {
    fn new(steps: &[Step], all: &[(Seen, f64)]) -> Self {
        let mut words = Vec::with_capacity(steps.len());
        let mut sum = 0;
        for step in steps {
            sum += step.new_words;
            words.push(sum);
        }
        let stays = |(seen, out): &&(Seen, f64)| out.is_infinite() && !seen.needed.is_empty();
        let stay = all.iter().filter(stays).map(|(seen, _)| (seen.arrives, seen.last(), seen.size)).collect();
        Self { words, stay }
    }

    /// What it costs more that something which came with request `arrives` changes at request `at`: all that came in between is written
    /// anew.
    fn usd(&self, steps: &[Step], arrives: usize, at: usize) -> f64 {
        let behind = steps[at].behind;
        if behind == 0.0 {
            return 0.0;
        }
        let words = self.words[at - 1] - self.words[arrives];
        let stay: u64 = self.stay.iter().filter(|(a, last, _)| arrives < *a && *a < at && at <= *last).map(|(.., tokens)| tokens).sum();
        (words + stay) as f64 * behind
    }
}
