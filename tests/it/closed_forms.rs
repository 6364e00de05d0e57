//! Replays of steady transcripts against the formulas that they have.

use std::sync::Arc;

use cleartune::policy::space::State;
use cleartune::policy::{Assume, Cache, CacheMode, ClearToolUses, Policy, Settings, Trigger};
use cleartune::price::Prices;
use cleartune::replay::replay;
use cleartune::trace::{Block, Document, RequestDoc, SCHEMA, Trace};

use super::random::{self, Dice};

fn many(short: u64) -> u64 {
    if std::env::var_os("CLEARTUNE_LONG_TESTS").is_some() { 1000 } else { short }
}

/// `n` calls a second apart, each with one use whose result, of `result` tokens, comes with the next; every `cold`th after a long pause.
fn steady(n: u64, base: u32, use_tokens: u32, result: u32, cold: u64) -> Trace {
    let mut at_ms = 0;
    let requests = (0..n)
        .map(|i| {
            at_ms += if cold > 0 && i % cold == cold - 1 { 400_000 } else { 1000 };
            let input = if i == 0 { vec![] } else { vec![Block::result(i - 1, result, None)] };
            RequestDoc { at_ms, input, output: vec![Block::tool_use(i, "read", use_tokens)], ..RequestDoc::default() }
        })
        .collect();
    let doc = Document { schema: SCHEMA.to_owned(), id: "steady".to_owned(), base_tokens: base, requests, ..Document::default() };
    Trace::from_document(&doc).unwrap()
}

fn settings(read: f64, write: f64) -> Settings {
    Settings {
        cache: Cache { mode: CacheMode::Prefix, min_tokens: 0, ..Cache::default() },
        prices: Prices { input: 1.0, cache_read: read, cache_write: write, cache_write_1h: write, output: 5.0, tiers: Vec::new() },
        ..Settings::default()
    }
}

/// One clear that frees F and has W written anew, R requests before the end, saves r·F·(R + 1) - (w - r)·W: it pays if
/// F > (w - r)/r · W/(R + 1).
#[test]
fn break_even_decides_whether_one_clear_pays() {
    let (mut paid, mut lost) = (0, 0);
    for seed in 0..many(1000) {
        let mut dice = Dice::new(seed ^ 0xb4ea);
        let n = 4 + dice.below(60);
        let (use_tokens, result) = (dice.below(200) as u32, 20 + dice.below(5000) as u32);
        let trace = steady(n, 1000 + dice.below(20_000) as u32, use_tokens, result, 0);
        let (read, write) = (dice.pick(&[0.025, 0.05, 0.1, 0.25, 0.5]), dice.pick(&[1.0, 1.25, 2.0]));
        let mut with = settings(read, write);
        let none = replay(&trace, &with).totals.cost_usd;
        // At request `at` the results of uses `first..first + count` go; the newest that are there is that of use `at - 1`.
        let at = 2 + dice.below(n - 2);
        let first = dice.below(at - 1);
        let count = 1 + dice.below(at - 1 - first);
        let cleared: Vec<u32> = (first..first + count).map(|i| i as u32).collect();
        with.policy = Some(Arc::new(Policy::of_schedule([(at as u32, cleared)].into(), State::Cleared)));
        let cost = replay(&trace, &with).totals.cost_usd;
        let placeholder = f64::from(with.assume.placeholder_tokens);
        let (use_tokens, result) = (f64::from(use_tokens), f64::from(result));
        let freed = count as f64 * (result - placeholder);
        // Of what the request before had sent: what is left of the results that go, and the uses and results behind the first of them. The
        // newest use and its result are new in any case.
        let whole = (at - 1 - first - count) as f64;
        let anew = count as f64 * placeholder + whole * result + (at - 2 - first) as f64 * use_tokens;
        let further = (n - at - 1) as f64;
        let saved = (read * freed * (further + 1.0) - (write - read) * anew) / 1e6;
        assert!((none - cost - saved).abs() < 1e-9 * none, "seed {seed}: {} is not {saved}", none - cost);
        if saved.abs() > 1e-9 * none {
            assert_eq!(none > cost, freed > (write - read) / read * anew / (further + 1.0), "seed {seed}");
            if none > cost { paid += 1 } else { lost += 1 }
        }
    }
    assert!(paid > 100 && lost > 100, "{paid} {lost}");
}

/// The batch that costs least: M* = √(2bP(g + c)/a), a = r(1 - l) + wl, b = (w - r)(1 - l), with P protected tokens, growth g + c a call and
/// a share l of cold calls.
fn best_batch(read: f64, write: f64, protected: f64, growth: f64, cold: f64) -> f64 {
    let a = read * (1.0 - cold) + write * cold;
    let b = (write - read) * (1.0 - cold);
    (2.0 * b * protected * growth / a).sqrt()
}

#[test]
fn the_figures_of_the_best_batch() {
    for (write, cold, expected) in [(1.25, 0.0, 76_700.0), (2.0, 0.0, 98_600.0), (1.25, 0.1, 49_600.0)] {
        let best = best_batch(0.1, write, 40_000.0, 6400.0, cold);
        assert!((best - expected).abs() < 100.0, "{best}");
    }
}

/// What a batch of `batch` tokens costs on a steady transcript, USD.
fn cost_of(trace: &Trace, settings: &Settings, keep: u32, batch: u64) -> f64 {
    let edit = ClearToolUses { trigger: Trigger::InputTokens(0), keep, clear_at_least: batch, ..ClearToolUses::default() };
    replay(trace, &Settings { edit: Some(edit), ..settings.clone() }).totals.cost_usd
}

#[test]
fn the_best_batch_lies_at_the_minimum_of_the_grid() {
    // The three sets of figures, then random ones: protected uses, tokens a result, prices, cold calls.
    let figures = [(50, 800, 0.1, 1.25, 0), (50, 800, 0.1, 2.0, 0), (50, 800, 0.1, 1.25, 10)];
    // So many protected that a batch is of a dozen results or more, as batches are of whole ones.
    let random = (0..many(40)).map(|seed| {
        let mut dice = Dice::new(seed ^ 0xba7c);
        (20 + dice.below(45) as u32, 200 + dice.below(6000) as u32, dice.pick(&[0.05, 0.1, 0.2]), dice.pick(&[1.25, 2.0]), 0)
    });
    let mut steep = 0;
    for (keep, result, read, write, cold) in figures.into_iter().chain(random) {
        let mut with = settings(read, write);
        with.assume = Assume { placeholder_tokens: 0, max_refetch_rounds: 0, ..Assume::default() };
        let share = if cold == 0 { 0.0 } else { 1.0 / cold as f64 };
        let best = best_batch(read, write, f64::from(keep) * f64::from(result), f64::from(result), share);
        let calls = u64::from(keep) + (12.0 * best / f64::from(result)) as u64;
        let trace = steady(calls, 0, 0, result, cold);
        let at = |factor: f64| cost_of(&trace, &with, keep, (best * factor) as u64);
        let grid: Vec<f64> = (-6..=6).map(|i| at(1.25_f64.powi(i))).collect();
        let least = grid.iter().copied().fold(f64::INFINITY, f64::min);
        let here = at(1.0);
        assert!(here <= 1.01 * least, "{keep} {result} {read} {write} {cold}: {here} against {least}");
        steep += u32::from(at(0.15) > 1.01 * least && at(6.0) > 1.01 * least);
    }
    assert!(steep > 20, "elsewhere it costs more: {steep}");
}

#[test]
fn without_needs_more_keep_never_clears_more() {
    let mut fewer = 0;
    for seed in 0..many(1000) {
        let mut doc = random::document(seed);
        doc.requests.iter_mut().for_each(|r| r.needs.clear());
        let trace = Trace::from_document(&doc).unwrap();
        let mut with = random::settings(seed);
        with.assume.memory = cleartune::policy::Memory::Stateless;
        // A result that goes as it comes would be fetched again.
        with.assume.max_refetch_rounds = 0;
        let Some(edit) = with.edit.clone() else { continue };
        let mut cleared = |keep: u32| {
            with.edit = Some(ClearToolUses { keep, ..edit.clone() });
            replay(&trace, &with)
                .requests
                .iter()
                .map(|row| (row.cleared_uses, row.original_tokens - row.prompt_tokens.min(row.original_tokens)))
                .collect::<Vec<_>>()
        };
        let mut before = cleared(0);
        for keep in [1, 2, 3, 5, 9] {
            let now = cleared(keep);
            assert!(now.iter().zip(&before).all(|(now, before)| now.0 <= before.0), "seed {seed}, keep {keep}");
            fewer += now.iter().zip(&before).filter(|(now, before)| now.0 < before.0).count();
            before = now;
        }
    }
    assert!(fewer > 1000, "{fewer}");
}
