//! The oracle and the bound against every schedule there is.

use std::sync::Arc;

use cleartune::hindsight::{Reach, bound, bound_within, is_comparable, oracle};
use cleartune::policy::space::State;
use cleartune::policy::{Cache, CacheMode, Policy, Settings};
use cleartune::price::Prices;
use cleartune::replay::{Totals, plain::Engine, replay};
use cleartune::trace::{Block, BlockKind, Document, Refetch, RequestDoc, SCHEMA, ToolDoc, Trace};
use cleartune::workload::{Spec, shipped, shipped_text};

use super::policies::every_policy;
use super::random::{self, Dice};

/// A transcript of up to 10 uses in up to 8 requests; results of all sizes, needs, pauses, invalidations, tools that cannot be called again.
fn small(seed: u64, most_uses: u64) -> (Trace, Settings) {
    let mut dice = Dice::new(seed ^ 0x000b_ac1e);
    let mut doc = Document {
        schema: SCHEMA.to_owned(),
        id: "small".to_owned(),
        base_tokens: dice.pick(&[1024, 3000, 15_000]),
        ..Document::default()
    };
    doc.tools.insert("ask".to_owned(), ToolDoc::new(Refetch::Never));
    let (mut at_ms, mut uses, mut open) = (0, 0, Vec::new());
    let sizes: &[u32] = dice.pick(&[&[50, 300, 2000][..], &[300, 5000, 20_000], &[5, 11, 40, 60_000]]);
    let requests = 2 + dice.below(7);
    for i in 0..requests {
        at_ms += dice.pick(&[2_000, 8_000, 20_000, 20_000, 290_000, 310_000]);
        let mut request = RequestDoc { at_ms, ..RequestDoc::default() };
        if i == 0 || dice.one_in(7) {
            request.input.push(Block::user(dice.pick(&[20, 400])));
        }
        for use_id in std::mem::take(&mut open) {
            if dice.one_in(12) {
                open.push(use_id);
            } else {
                request.input.push(Block::result(use_id, dice.pick(sizes), None));
            }
        }
        if dice.one_in(2) {
            request.output.push(Block::text(dice.pick(&[10, 200, 900])));
        }
        for _ in 0..dice.pick(&[0, 1, 1, 1, 2, 3]) {
            if uses < most_uses && i + 1 < requests {
                request.output.push(Block::tool_use(uses, dice.pick(&["read", "read", "bash", "ask"]), dice.pick(&[20, 60, 300])));
                open.push(uses);
                uses += 1;
            }
        }
        while uses > 0 && dice.one_in(3) {
            request.needs.push(dice.below(uses));
        }
        if dice.one_in(15) {
            request.flush_above = Some(dice.pick(&[0, 2000, 20_000]));
        }
        doc.requests.push(request);
    }
    let settings = Settings {
        cache: Cache {
            mode: dice.pick(&[CacheMode::Entries, CacheMode::Entries, CacheMode::Prefix, CacheMode::Off]),
            lookback: dice.pick(&[20, 20, 20, 6]),
            tail_breakpoints: dice.pick(&[1, 1, 2]),
            ..Cache::default()
        },
        prices: dice.pick(&[
            Prices::default(),
            Prices { cache_read: 0.15, ..Prices::default() },
            Prices { cache_write: 3.0, ..Prices::default() },
        ]),
        ..Settings::default()
    };
    (Trace::from_document(&doc).unwrap(), settings)
}

/// Every schedule, by depth first, left where what it cost so far and what all cost that follows is no less than the best.
struct Exhaustive<'a> {
    engine: Engine,
    trace: &'a Trace,
    settings: Settings,
    /// Index of the request that brings each use's result, and whether it may go by a request.
    arrives: Vec<Option<usize>>,
    last_need: Vec<usize>,
    with_refetches: bool,
    to: State,
    rest: Vec<f64>,
    best: f64,
    runs: usize,
}

const MOST_RUNS: usize = 30_000;

impl<'a> Exhaustive<'a> {
    fn new(trace: &'a Trace, settings: &Settings, with_refetches: bool, to: State) -> Self {
        let mut arrives = vec![None; trace.uses.len()];
        let mut last_need = vec![0; trace.uses.len()];
        for (i, request) in trace.requests.iter().enumerate() {
            for block in request.input as usize..request.output as usize {
                if trace.kinds[block] == BlockKind::Result {
                    arrives[trace.block_use[block] as usize] = Some(i);
                    last_need[trace.block_use[block] as usize] = i;
                }
            }
            for &need in &trace.needs[request.needs as usize..request.needs_end as usize] {
                last_need[need as usize] = last_need[need as usize].max(i);
            }
        }
        // Answers, and what comes with each request, cost the same or more under any schedule.
        let mut rest = vec![0.0; trace.requests.len() + 1];
        for (i, request) in trace.requests.iter().enumerate().rev() {
            let tokens = |from: u32, to: u32, skip: bool| -> f64 {
                let counts = |b: &usize| !skip || matches!(trace.kinds[*b], BlockKind::User | BlockKind::Result);
                (from as usize..to as usize).filter(counts).map(|b| f64::from(trace.tokens[b])).sum()
            };
            let (p, base) = (&settings.prices, trace.base_tokens as f64);
            let least = p.cache_write.min(p.input);
            let usd = tokens(request.output, request.end, false) * p.output + tokens(request.input, request.output, true) * least;
            rest[i] = rest[i + 1] + (usd + base * p.cache_read.min(p.input)) / 1e6;
        }
        let settings = Settings { edit: None, policy: None, ..settings.clone() };
        let best = replay(trace, &settings).totals.cost_usd;
        Self { engine: Engine::default(), trace, settings, arrives, last_need, with_refetches, to, rest, best, runs: 0 }
    }

    fn run(&mut self, schedule: &[(u32, Vec<u32>)], requests: usize) -> Totals {
        self.runs += 1;
        self.settings.policy = Some(Arc::new(Policy::of_schedule(schedule.into(), self.to)));
        self.engine.watch_first(self.trace, requests, &self.settings, |_, _| {})
    }

    /// Looks at request `at` and those after it; false: there are too many schedules.
    fn from(&mut self, at: usize, schedule: &mut Vec<(u32, Vec<u32>)>, gone: &[bool]) -> bool {
        if at == self.trace.requests.len() {
            let totals = self.run(schedule, at);
            assert!(self.with_refetches || totals.refetches == 0);
            if is_comparable(&totals) {
                self.best = self.best.min(totals.cost_usd);
            }
            return true;
        }
        let request = &self.trace.requests[at];
        let needs = &self.trace.needs[request.needs as usize..request.needs_end as usize];
        let may: Vec<u32> = (0..gone.len())
            .filter(|&u| {
                // What is cleared as it comes is fetched again at once.
                let there = |a: usize| if self.with_refetches { a <= at } else { a < at && self.last_need[u] < at };
                !gone[u] && self.arrives[u].is_some_and(there)
            })
            .map(|u| u as u32)
            .collect();
        if self.runs > MOST_RUNS {
            return false;
        }
        for set in 0..1_u32 << may.len() {
            let cleared: Vec<u32> = may.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, &u)| u).collect();
            let mut after = gone.to_vec();
            for &u in &cleared {
                after[u as usize] = true;
            }
            // What is needed now is fetched again and whole.
            for &u in needs {
                after[u as usize] = false;
            }
            (0..after.len()).filter(|&u| self.arrives[u] == Some(at)).for_each(|u| after[u] = false);
            let pushed = !cleared.is_empty();
            if pushed {
                schedule.push((at as u32, cleared));
            }
            let so_far = self.run(schedule, at + 1).cost_usd;
            let fits = so_far + self.rest[at + 1] >= self.best || self.from(at + 1, schedule, &after);
            if pushed {
                schedule.pop();
            }
            if !fits {
                return false;
            }
        }
        true
    }

    fn least(mut self) -> Option<f64> {
        let gone = vec![false; self.trace.uses.len()];
        self.from(0, &mut Vec::new(), &gone).then_some(self.best)
    }
}

/// How many random transcripts are tried: more where there is time.
fn many(long: usize, short: usize) -> usize {
    if std::env::var_os("CLEARTUNE_LONG_TESTS").is_some() { long } else { short }
}

fn run_in_parallel(count: usize, of: impl Fn(u64) -> Option<[f64; 2]> + Sync) -> Vec<[f64; 2]> {
    use rayon::prelude::*;
    let mut done: Vec<[f64; 2]> = Vec::new();
    let mut seed = 0;
    while done.len() < count {
        let next: Vec<_> = (seed..seed + 64).into_par_iter().map(&of).collect();
        done.extend(next.into_iter().flatten());
        seed += 64;
    }
    done.truncate(count);
    done
}

#[test]
fn the_oracle_is_the_best_of_all_schedules_without_a_refetch() {
    let all = run_in_parallel(many(1000, 100), |seed| {
        let (trace, settings) = small(seed, 10);
        let least = Exhaustive::new(&trace, &settings, false, State::Cleared).least()?;
        let found = oracle(&mut Engine::default(), &trace, &settings);
        assert!(found.is_proven, "seed {seed}");
        assert_eq!(found.totals.refetches + found.totals.lost_needs + found.totals.unmet_needs, 0, "seed {seed}");
        assert!((found.totals.cost_usd - least).abs() <= 1e-9 * least, "seed {seed}: {} is not {least}", found.totals.cost_usd);
        let none = replay(&trace, &settings).totals.cost_usd;
        Some([found.totals.cleared_uses as f64, none / least])
    });
    assert!(all.iter().filter(|[cleared, _]| *cleared > 0.0).count() * 2 > all.len(), "most of them clear");
    assert!(all.iter().any(|[_, saved]| *saved > 1.5), "some save much");
}

#[test]
fn the_bound_holds_and_lies_close_to_the_least_of_all_schedules() {
    let all = run_in_parallel(many(1000, 60), |seed| {
        let (trace, settings) = small(seed, 10);
        let (to, reach) = if seed % 2 == 0 {
            (State::Cleared, Reach { left: settings.assume.placeholder_tokens, ..Reach::RESULTS })
        } else {
            (State::Removed, Reach { uses: true, ..Reach::RESULTS })
        };
        let least = Exhaustive::new(&trace, &settings, true, to).least()?;
        let low = bound(&trace, &settings, reach);
        assert!(low <= least * (1.0 + 1e-9), "seed {seed}: {low} is above {least}");
        // Blocks of requests and fewer results make it lower, never wrong.
        for most in [1, 2, 3] {
            assert!(bound_within(&trace, &settings, reach, most) <= low * (1.0 + 1e-9), "seed {seed}, {most}");
        }
        Some([low / least, 0.0])
    });
    let worst = all.iter().map(|[ratio, _]| *ratio).fold(1.0, f64::min);
    assert!(worst >= 0.9, "{worst}");
}

#[test]
fn no_policy_that_loses_nothing_costs_less_than_the_bound() {
    let (mut held, mut beyond) = (0, 0);
    for seed in 0..many(600, 100) as u64 {
        let trace = Trace::from_document(&random::document(seed)).unwrap();
        let env = random::settings(seed);
        let low = bound(&trace, &env, Reach::ALL);
        assert!(bound_within(&trace, &env, Reach::ALL, 5) <= low * (1.0 + 1e-9));
        for (name, policy) in every_policy() {
            let with = Settings { policy: policy.policy, edit: policy.edit, context_window: Some(60_000), ..env.clone() };
            let totals = replay(&trace, &with).totals;
            if is_comparable(&totals) {
                held += 1;
                assert!(low <= totals.cost_usd * (1.0 + 1e-9), "{name}, seed {seed}: {low} is above {}", totals.cost_usd);
                let own = bound(&trace, &env, Reach::of(&with.policy(), &with.assume));
                assert!(low <= own * (1.0 + 1e-9) && own <= totals.cost_usd * (1.0 + 1e-9), "{name}, seed {seed}: {own}");
            } else {
                beyond += 1;
            }
        }
        let found = oracle(&mut Engine::default(), &trace, &env);
        assert!(low <= found.totals.cost_usd * (1.0 + 1e-9));
        assert!(found.totals.cost_usd <= replay(&trace, &Settings { edit: None, ..env.clone() }).totals.cost_usd);
        assert_eq!(
            found.totals.refetches + found.totals.lost_needs + found.totals.unmet_needs - never_seen(&trace, &env),
            0,
            "seed {seed}"
        );
    }
    assert!(held > 2000 && beyond > 500, "{held} {beyond}");
}

/// Needs that not clearing leaves unmet: none.
fn never_seen(trace: &Trace, env: &Settings) -> u64 {
    let none = replay(trace, &Settings { edit: None, ..env.clone() }).totals;
    none.lost_needs + none.unmet_needs
}

/// What the API's edit takes.
const REACH: Reach = Reach { left: 11, ..Reach::RESULTS };

#[test]
fn on_the_shipped_workloads_the_bound_is_most_of_the_oracle() {
    for (name, _) in shipped() {
        let spec = Spec::from_toml(shipped_text(name).unwrap()).unwrap();
        let (mut low, mut high, mut none) = (0.0, 0.0, 0.0);
        for i in 0..spec.transcripts.min(8) {
            let trace = Trace::from_document(&spec.generate(i)).unwrap();
            let settings = Settings::default();
            low += bound(&trace, &settings, REACH);
            high += oracle(&mut Engine::default(), &trace, &settings).totals.cost_usd;
            none += replay(&trace, &settings).totals.cost_usd;
        }
        eprintln!("{name}: none {none:.3}, oracle {high:.3}, bound {low:.3}, bound/oracle {:.3}", low / high);
        assert!(low >= 0.7 * high && high <= none, "{name}: {low} {high} {none}");
    }
}

#[test]
fn what_makes_a_replay_not_comparable() {
    let fine = Totals::default();
    assert!(is_comparable(&fine));
    for not in [
        Totals { lost_needs: 1, ..fine.clone() },
        Totals { unmet_needs: 1, ..fine.clone() },
        Totals { compactions: 1, ..fine.clone() },
        Totals { given_back: 1, ..fine.clone() },
        Totals { previews: 1, ..fine.clone() },
    ] {
        assert!(!is_comparable(&not));
    }
}
