//! What holds of every replay.

use cleartune::policy::{Memory, Settings};
use cleartune::replay::{Row, RowKind, plain, replay};
use cleartune::trace::Trace;
use proptest::prelude::*;

use super::random;

fn trace(seed: u64) -> Trace {
    Trace::from_document(&random::document(seed)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_adds_up(seed: u64) {
        let (trace, settings) = (trace(seed), random::settings(seed));
        let report = replay(&trace, &settings);
        let mut grown = 0;
        for row in &report.requests {
            prop_assert_eq!(row.cache_read + row.cache_write + row.uncached, row.prompt_tokens);
            prop_assert!(row.original_tokens >= grown, "the history only grows");
            grown = row.original_tokens;
            if row.kind == RowKind::Refetch {
                prop_assert!(row.refetched > 0 && row.lost == 0 && row.unmet == 0);
                prop_assert!(row.costly_refetched <= row.refetched);
            } else {
                prop_assert!(row.refetched == 0);
            }
            if row.newly_cleared == 0 {
                prop_assert!(row.freed_tokens == 0 && row.invalidated_tokens == 0);
            }
            if row.cleared_uses == 0 {
                prop_assert_eq!(row.prompt_tokens, row.original_tokens);
            }
        }
        let t = &report.totals;
        prop_assert_eq!(t.requests - t.refetch_requests, trace.requests.len() as u64);
        prop_assert_eq!(t.cache_read_tokens + t.cache_write_tokens + t.uncached_tokens, t.prompt_tokens);
        prop_assert!(t.refetch_requests <= trace.requests.len() as u64 * u64::from(settings.assume.max_refetch_rounds));
        prop_assert!(t.cache_invalidations <= t.clear_events);
    }

    #[test]
    fn remembered_clearing_only_grows(seed: u64) {
        let mut settings = random::settings(seed);
        settings.assume.memory = Memory::Sticky;
        let report = replay(&trace(seed), &settings);
        let counts: Vec<u64> = report.requests.iter().map(|r| r.cleared_uses).collect();
        prop_assert!(counts.is_sorted());
        prop_assert_eq!(report.totals.cleared_uses, counts.last().copied().unwrap_or(0));
    }

    #[test]
    fn an_engine_keeps_nothing_from_one_replay_to_the_next(seed: u64, other: u64) {
        let (first, second) = (trace(seed), trace(other));
        let (a, b) = (random::settings(seed), random::settings(other));
        let mut engine = plain::Engine::default();
        let mut run = |trace: &Trace, settings: &Settings| {
            let mut rows: Vec<Row> = Vec::new();
            let totals = engine.run(trace, settings, |row| rows.push(row.clone()));
            (totals, rows)
        };
        run(&first, &a);
        let (totals, rows) = run(&second, &b);
        let fresh = replay(&second, &b);
        prop_assert_eq!(totals, fresh.totals);
        prop_assert_eq!(rows, fresh.requests);
    }

    #[test]
    fn without_an_edit_nothing_is_cleared(seed: u64) {
        let mut settings = random::settings(seed);
        settings.edit = None;
        let t = replay(&trace(seed), &settings).totals;
        prop_assert_eq!((t.clear_events, t.refetches, t.lost_needs, t.unmet_needs, t.freed_tokens), (0, 0, 0, 0, 0));
    }
}

/// The random cases are worth nothing if what they are meant to provoke never happens.
#[test]
fn random_cases_provoke_what_they_should() {
    let (mut refetches, mut lost, mut unmet, mut invalidations, mut unclears, mut overflows) = (0, 0, 0, 0, 0, 0);
    for seed in 0..3000 {
        let report = replay(&trace(seed), &random::settings(seed));
        let t = &report.totals;
        refetches += u64::from(t.refetches > 0);
        lost += u64::from(t.lost_needs > 0);
        unmet += u64::from(t.unmet_needs > 0);
        invalidations += u64::from(t.cache_invalidations > 0);
        overflows += u64::from(t.first_overflow.is_some());
        unclears += u64::from(report.requests.windows(2).any(|w| w[1].cleared_uses < w[0].cleared_uses));
    }
    for (what, n) in [
        ("re-fetches", refetches),
        ("lost needs", lost),
        ("unmet needs", unmet),
        ("invalidations", invalidations),
        ("overflows", overflows),
        ("cleared sets that shrink", unclears),
    ] {
        assert!(n >= 30, "{what} in only {n} of 3000 cases");
    }
}
