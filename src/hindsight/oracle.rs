//! A schedule that knows what follows: it clears nothing that is needed again, and the rest where that costs least.
//!
//! The recursion of [`cuts`] gives a first schedule, with what a cut costs where entries of the cache lie behind every request, live as long
//! as the transcript's pauses let them and are found within the lookback. The reference engine then judges every schedule that is tried:
//! each cut is moved, widened, narrowed and left out as long as that helps; and where the transcript is small, every schedule of cuts is
//! tried, save those that cost more than the best one before they are at their end.

use std::sync::Arc;

use super::Reach;
use super::cuts::{self, Event, Item};
use super::steps::{Seen, Step, held_from, results, steps};
use crate::policy::space::{Schedule, State};
use crate::policy::{CacheMode, Policy, Settings};
use crate::replay::{Totals, plain};
use crate::trace::{BlockKind, Trace};

/// As in the bound; longer transcripts are cut at the best of this many times.
const MOST: usize = 120;
/// Requests that are replayed in search of a better schedule, and schedules that are tried, at most.
const MOST_REQUESTS: usize = 40_000;
const TRIES: usize = 240;
/// Requests times results up to which every schedule is tried.
const SMALL: usize = 150;
/// Replays after which trying every schedule is given up.
const MOST_REPLAYS: usize = 60_000;

/// A schedule and what it costs.
#[derive(Debug, Clone)]
pub struct Oracle {
    /// What it clears, and when.
    pub schedule: Schedule,
    /// Its replay.
    pub totals: Totals,
    /// Whether every schedule was tried, so that none without a re-fetch costs less.
    pub is_proven: bool,
}

impl Oracle {
    /// The schedule as a policy of its transcript.
    pub fn policy(&self) -> Policy {
        Policy::of_schedule(Arc::clone(&self.schedule), State::Cleared)
    }
}

/// The cheapest schedule that can be found for a transcript. `edit` and `policy` of the settings are not looked at; it never costs more
/// than not clearing.
pub fn oracle(engine: &mut plain::Engine, trace: &Trace, settings: &Settings) -> Oracle {
    let mut search = Search::new(engine, trace, settings);
    let none = search.judge(&[]);
    let mut best = Found { cuts: Vec::new(), usd: none };
    if !search.items.is_empty() {
        let cuts = search.first();
        search.take(&mut best, cuts);
        search.improve(&mut best);
    }
    let is_proven = search.all(&mut best);
    let schedule = search.schedule(&best.cuts);
    let totals = search.run(&schedule, search.trace.requests.len());
    Oracle { schedule, totals, is_proven }
}

/// A cut: before a request everything from an item on that may go.
type Cut = (usize, usize);

struct Found {
    /// In the order of time, one a request.
    cuts: Vec<Cut>,
    usd: f64,
}

struct Search<'a> {
    engine: &'a mut plain::Engine,
    trace: &'a Trace,
    settings: Settings,
    /// Results that are worth clearing, in their order.
    items: Vec<Seen>,
    steps: Vec<Step>,
    tries: usize,
}

impl<'a> Search<'a> {
    fn new(engine: &'a mut plain::Engine, trace: &'a Trace, settings: &Settings) -> Self {
        let reach = Reach { left: settings.assume.placeholder_tokens, ..Reach::RESULTS };
        let n = trace.requests.len();
        let mut items = results(trace, reach);
        let steps = steps(trace, settings, &items, reach);
        items.retain(|seen| seen.size > 0 && seen.last() + 1 < n);
        Self { engine, trace, settings: settings.clone(), items, steps, tries: 0 }
    }

    /// What is cleared when, by these cuts.
    fn schedule(&self, cuts: &[Cut]) -> Schedule {
        let mut gone = vec![false; self.items.len()];
        let mut schedule: Vec<(u32, Vec<u32>)> = Vec::new();
        for &(at, from) in cuts {
            let mut cleared = Vec::new();
            for (i, seen) in self.items.iter().enumerate().skip(from) {
                if seen.last() < at && !std::mem::replace(&mut gone[i], true) {
                    cleared.push(seen.origin);
                }
            }
            if !cleared.is_empty() {
                schedule.push((at as u32, cleared));
            }
        }
        schedule.into()
    }

    fn run(&mut self, schedule: &Schedule, requests: usize) -> Totals {
        self.settings.edit = None;
        self.settings.policy = Some(Arc::new(Policy::of_schedule(Arc::clone(schedule), State::Cleared)));
        self.tries += 1;
        self.engine.watch_first(self.trace, requests, &self.settings, |_, _| {})
    }

    fn judge(&mut self, cuts: &[Cut]) -> f64 {
        let schedule = self.schedule(cuts);
        self.run(&schedule, self.trace.requests.len()).cost_usd
    }

    /// Takes the cuts if they are cheaper; whether they are.
    fn take(&mut self, best: &mut Found, cuts: Vec<Cut>) -> bool {
        let usd = self.judge(&cuts);
        // By more than rounding.
        let better = usd < best.usd - 1e-12 * best.usd.abs();
        if better {
            *best = Found { cuts, usd };
        }
        better
    }

    /// The cuts of the recursion.
    fn first(&self) -> Vec<Cut> {
        let n = self.trace.requests.len();
        // Of long transcripts the results that cost most to hold, and times at even distances.
        let mut held = vec![0.0; n];
        for i in 1..n {
            held[i] = held[i - 1] + self.steps[i].hold;
        }
        let weight = |i: &usize| {
            let seen = &self.items[*i];
            seen.size as f64 * (held[n - 1] - held[seen.last()])
        };
        let mut chosen: Vec<usize> = (0..self.items.len()).collect();
        if chosen.len() > MOST {
            chosen.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
            chosen.truncate(MOST);
            chosen.sort_unstable();
        }
        let stride = n.div_ceil(MOST).max(1);
        let times = n.div_ceil(stride);
        // The request of time t.
        let request = |time: usize| (time - 1) * stride;
        let items: Vec<Item> = chosen
            .iter()
            .map(|&i| {
                let seen = &self.items[i];
                let from = (seen.last() + 1).div_ceil(stride) + 1;
                let held_to = |time: usize| if time > times { held[n - 1] } else { held[request(time).saturating_sub(1)] };
                let held = (from..=times + 1).map(|t| seen.size as f64 * (held_to(t) - held[seen.last()]).max(0.0)).collect();
                Item { from, held, out: f64::INFINITY }
            })
            .collect();
        let costs = Costs::new(self, &held_from(self.trace, &self.settings), stride);
        let event = |item: usize| {
            let seen = &self.items[chosen[item]];
            let each = |near: bool| (items[item].from..=times).map(|time| costs.usd(seen, request(time), near)).collect();
            // Entries that a cut can read lie before what the one before it wrote, if that came later.
            Event { near: each(true), far: each(false), parts: (1..=times).find(|&t| request(t) >= seen.arrives).unwrap_or(usize::MAX) }
        };
        let (_, cuts) = cuts::solve(times, &items, event, true);
        let mut cuts: Vec<Cut> = cuts.into_iter().map(|(time, item)| (request(time), chosen[item])).collect();
        // One a request, the widest.
        cuts.sort_unstable();
        cuts.dedup_by_key(|cut| cut.0);
        cuts
    }

    /// Moves, widens, narrows, leaves out and adds cuts as long as that helps.
    fn improve(&mut self, best: &mut Found) {
        let n = self.trace.requests.len();
        // One cut alone, at each of some requests, may be better than what the recursion found.
        let limit = self.tries + TRIES.min(MOST_REQUESTS / n.max(1));
        let stride = n.div_ceil(12).max(1);
        for at in (1..n).step_by(stride) {
            if self.tries < limit {
                self.take(best, vec![(at, 0)]);
            }
        }
        let mut better = true;
        while better && self.tries < limit {
            better = false;
            let mut i = 0;
            while i < best.cuts.len() && self.tries < limit {
                let (at, from) = best.cuts[i];
                let with = |cut: Option<Cut>| {
                    let mut cuts: Vec<Cut> = best.cuts.iter().copied().enumerate().filter(|&(j, _)| j != i).map(|(_, c)| c).collect();
                    cuts.extend(cut);
                    cuts.sort_unstable();
                    cuts.dedup_by_key(|cut| cut.0);
                    cuts
                };
                let moved = [1_usize, 2, 4].into_iter().flat_map(|by| [at.checked_sub(by), Some(at + by).filter(|&at| at < n)]).flatten();
                let tries: Vec<Vec<Cut>> = [with(None), with(Some((at, 0)))]
                    .into_iter()
                    .chain(moved.map(|at| with(Some((at, from)))))
                    .chain(
                        [from.checked_sub(1), Some(from + 1).filter(|&f| f < self.items.len())]
                            .into_iter()
                            .flatten()
                            .map(|f| with(Some((at, f)))),
                    )
                    .collect();
                let mut changed = false;
                for cuts in tries {
                    changed |= cuts != best.cuts && self.take(best, cuts);
                }
                better |= changed;
                i += usize::from(!changed);
            }
        }
    }

    /// Tries every schedule of cuts, if they are few; whether it came to its end.
    fn all(&mut self, best: &mut Found) -> bool {
        let n = self.trace.requests.len();
        if n * self.items.len() > SMALL {
            return false;
        }
        // What is to come costs so much at the least.
        let mut rest = vec![0.0; n + 1];
        for i in (0..n).rev() {
            rest[i] = rest[i + 1] + self.steps[i].unavoidable();
        }
        let limit = self.tries + MOST_REPLAYS;
        self.from(1, &mut Vec::new(), &rest, limit, best)
    }

    fn from(&mut self, at: usize, cuts: &mut Vec<Cut>, rest: &[f64], limit: usize, best: &mut Found) -> bool {
        let n = self.trace.requests.len();
        if self.tries > limit {
            return false;
        }
        let mut gone = vec![false; self.items.len()];
        for &(when, from) in cuts.iter() {
            for (i, seen) in self.items.iter().enumerate().skip(from) {
                gone[i] |= seen.last() < when;
            }
        }
        // The next request at which there is a choice.
        let Some(at) = (at..n).find(|&at| self.items.iter().zip(&gone).any(|(seen, gone)| !gone && seen.last() < at)) else {
            self.take(best, cuts.clone());
            return true;
        };
        let may: Vec<usize> = (0..self.items.len()).filter(|&i| !gone[i] && self.items[i].last() < at).collect();
        let mut whole = true;
        for cut in may.into_iter().map(Some).chain([None]) {
            cuts.extend(cut.map(|from| (at, from)));
            let schedule = self.schedule(cuts);
            let so_far = self.run(&schedule, at + 1).cost_usd;
            if so_far + rest[at + 1] < best.usd - 1e-12 * best.usd.abs() {
                whole &= self.from(at + 1, cuts, rest, limit, best);
            }
            if cut.is_some() {
                cuts.pop();
            }
        }
        whole
    }
}

/// What a cut costs more than none, as the recursion sees it.
struct Costs {
    /// By request: tokens that came with it and those before it, and its positions.
    tokens: Vec<u64>,
    positions: Vec<u64>,
    /// For each `stride`th request: of the results that may go by it, what they free, by the request that brings them; summed over those.
    freed: Vec<Vec<u64>>,
    stride: usize,
    at_ms: Vec<i64>,
    /// By request: how long its entries live.
    life: Vec<i64>,
    behind: Vec<f64>,
    base: u64,
    lookback: u64,
    mode: CacheMode,
}

impl Costs {
    fn new(search: &Search<'_>, held: &[Option<usize>], stride: usize) -> Self {
        let (trace, settings) = (search.trace, &search.settings);
        let cache = &settings.cache;
        let n = trace.requests.len();
        let (mut tokens, mut positions) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (mut sum, mut count) = (trace.base_tokens, 0);
        let mut from = 0;
        for request in &trace.requests {
            let blocks = from as usize..request.output as usize;
            from = request.output;
            sum += blocks.clone().map(|b| u64::from(trace.tokens[b])).sum::<u64>();
            let runs = |b: &usize| {
                let kind = trace.kinds[*b];
                let grouped = cache.group_parallel && matches!(kind, BlockKind::Use | BlockKind::Result);
                !(grouped && *b > blocks.start && trace.kinds[*b - 1] == kind)
            };
            count += blocks.clone().filter(runs).count() as u64;
            tokens.push(sum);
            positions.push(count);
        }
        // Freed by arrival, for each request the sum over arrivals up to each.
        let freed = (0..n)
            .step_by(stride)
            .map(|at| {
                let mut by_arrival = vec![0; n];
                for seen in search.items.iter().filter(|seen| seen.last() < at) {
                    by_arrival[seen.arrives] += seen.size;
                }
                let mut sum = 0;
                for f in &mut by_arrival {
                    sum += *f;
                    *f = sum;
                }
                by_arrival
            })
            .collect();
        let life = trace.requests.iter().map(|request| settings.terms(request.model).0.ttl(request.ttl_ms)).collect();
        let behind = search.steps.iter().zip(held).map(|(step, held)| if held.is_some() { step.behind } else { 0.0 }).collect();
        Self {
            tokens,
            positions,
            freed,
            stride,
            at_ms: trace.requests.iter().map(|request| request.at_ms).collect(),
            life,
            behind,
            base: trace.base_tokens,
            lookback: cache.lookback.into(),
            mode: cache.mode,
        }
    }

    /// What a cut before a result at request `at` costs. `near`: the entry before the result was not written over.
    fn usd(&self, seen: &Seen, at: usize, near: bool) -> f64 {
        let behind = self.behind[at];
        if behind == 0.0 {
            return 0.0;
        }
        // Written anew: what came from request `first` on, less what is gone of it.
        let freed = &self.freed[at / self.stride];
        let anew = |first: usize| {
            let (before, gone) = first.checked_sub(1).map_or((self.base, 0), |b| (self.tokens[b], freed[b]));
            (self.tokens[at - 1] - before).saturating_sub(freed[at - 1] - gone)
        };
        let first = seen.arrives;
        // The entry before it, behind the prompt of the request before its own, was last used by that.
        let alive = first < at && self.at_ms[at].saturating_sub(self.at_ms[first]) <= self.life[first];
        let near = match self.mode {
            CacheMode::Prefix => true,
            _ => near && first > 0 && alive && self.positions[at] - self.positions[first - 1] < self.lookback,
        };
        anew(if near { first } else { 0 }) as f64 * behind
    }
}
