//! What each shipped workload is made to show: the decision on it, on a moderate grid.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use cleartune::decide::{Ask, Decision, Verdict, decide};
use cleartune::policy::Config;
use cleartune::price::{Catalogue, Overrides, resolve};
use cleartune::sweep::{Axes, Axis, ConfigRow, Grid, Outcome, Profile, Transcript, run};
use cleartune::trace::Trace;

use super::spec;

/// The workload's own transcripts under triggers from early to late, each keep and batch; irrecoverable tools excluded and not.
fn decision(name: &str) -> (Outcome, Decision) {
    let spec = spec(name);
    let transcripts: Vec<Transcript> = (0..spec.transcripts)
        .map(|i| {
            let trace = Trace::from_document(&spec.generate(i)).unwrap();
            let (settings, _) = resolve(&Config::default(), &Overrides::default(), trace.model.as_deref(), Catalogue::shipped()).unwrap();
            Transcript { trace, settings }
        })
        .collect();
    let axes = Axes {
        trigger: Axis::Values(vec![10_000, 20_000, 40_000, 80_000]),
        keep: Axis::Values(vec![0, 3, 6, 12]),
        clear_at_least: Axis::Values(vec![0, 5_000, 20_000, 50_000]),
        ..Axes::default()
    };
    let grid = Grid::new(&axes, &Profile::new(transcripts.iter().map(|t| &t.trace)).auto(), &[]);
    let outcome = run::<Infallible>(&transcripts, &grid.configs, None, &AtomicBool::new(false), &|_| {}, |_| Ok(())).unwrap();
    let choice = decide(&outcome, &Ask::default()).unwrap();
    (outcome, choice)
}

// A filter's predicate.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn clears(row: &&ConfigRow) -> bool {
    row.knobs.edit.is_some() && row.totals.clear_events > 0
}

#[test]
fn web_research_clears_and_sends_less_than_a_third() {
    let (outcome, choice) = decision("web_research_100");
    assert_eq!(choice.verdict, Verdict::Clear);
    let none = &outcome.rows[choice.none].totals;
    let (chosen, least) = (&outcome.rows[choice.row].totals, outcome.rows.iter().map(|r| r.totals.prompt_tokens).min().unwrap());
    assert!(least * 10 <= none.prompt_tokens * 3, "{least} of {}", none.prompt_tokens);
    // With caching on, fewer tokens save less than their share.
    let (tokens, cost) = (chosen.prompt_tokens as f64 / none.prompt_tokens as f64, chosen.cost_usd / none.cost_usd);
    assert!(tokens < cost && cost < 0.8, "tokens {tokens}, cost {cost}");
    let requests = none.requests as f64 / 40.0;
    assert!((96.0..112.0).contains(&requests), "{requests}");
}

#[test]
fn comparing_documents_does_not_clear_and_every_clear_costs() {
    let (outcome, choice) = decision("compare_documents");
    assert_eq!(choice.verdict, Verdict::DoNotClear);
    let none = outcome.rows[choice.none].totals.cost_usd;
    assert!(outcome.rows.iter().filter(clears).count() > 20);
    // A config that leaves needs unmet is cheap, as the agent works without what it needs.
    for row in outcome.rows.iter().filter(clears) {
        let misses = row.totals.lost_needs + row.totals.unmet_needs > 0;
        assert!(misses || row.totals.cost_usd > none, "{:?}: {} against {none}", row.knobs, row.totals.cost_usd);
    }
    // Most requests after the reading need several of the documents.
    let documents: Vec<_> = (0..40).map(|i| spec("compare_documents").generate(i)).collect();
    let needs: Vec<usize> = documents.iter().flat_map(|d| &d.requests).map(|r| r.needs.len()).collect();
    let many = needs.iter().filter(|&&n| n >= 3).count();
    assert!(many * 10 >= needs.len() * 6, "{many} of {}", needs.len());
}

#[test]
fn an_ephemeral_api_excludes_its_tools_or_does_not_clear() {
    let (outcome, choice) = decision("ephemeral_api");
    let excludes = |row: &ConfigRow| {
        let edit = row.knobs.edit.as_ref().unwrap();
        ["search_offers", "get_quote"].iter().all(|tool| edit.exclude_tools.iter().any(|e| e == tool))
    };
    assert!(choice.verdict == Verdict::DoNotClear || excludes(&outcome.rows[choice.row]));
    let (with, without): (Vec<&ConfigRow>, Vec<&ConfigRow>) = outcome.rows.iter().filter(clears).partition(|row| excludes(row));
    assert!(with.len() > 10 && without.len() > 10);
    assert!(without.iter().all(|row| row.totals.lost_needs > 0), "what cannot be fetched again is needed later");
    assert!(with.iter().all(|row| row.totals.lost_needs == 0));
    // What is left to clear once the tools are excluded is a small part of what was there.
    let most = |rows: &[&ConfigRow]| rows.iter().map(|r| r.totals.freed_tokens).max().unwrap();
    assert!(most(&with) * 10 < most(&without), "{} of {}", most(&with), most(&without));
}

#[test]
fn a_long_chat_has_nothing_to_clear() {
    let (outcome, choice) = decision("long_chat");
    assert_eq!(choice.verdict, Verdict::DoNotClear);
    let none = &outcome.rows[choice.none].totals;
    // Even the greediest config takes little out of what is sent.
    let least = outcome.rows.iter().map(|r| r.totals.prompt_tokens).min().unwrap();
    assert!(least * 100 > none.prompt_tokens * 93, "{least} of {}", none.prompt_tokens);
}

#[test]
fn a_late_synthesis_fetches_again_under_every_small_keep() {
    let (outcome, choice) = decision("research_agent");
    assert!(choice.verdict != Verdict::Clear);
    let refetches = |row: &ConfigRow| row.totals.refetches + row.totals.lost_needs + row.totals.unmet_needs;
    let small: Vec<&ConfigRow> = outcome.rows.iter().filter(clears).filter(|row| row.knobs.keep().is_some_and(|keep| keep <= 6)).collect();
    assert!(small.len() > 40);
    assert!(small.iter().all(|row| refetches(row) > 0), "the report draws on every source");
    // It is the synthesis: without the needs of the last fifth of the requests most re-fetches are gone.
    let needs_late = |i| {
        let doc = spec("research_agent").generate(i);
        let from = doc.requests.len() * 4 / 5;
        let count = |range: std::ops::Range<usize>| doc.requests[range].iter().map(|r| r.needs.len()).sum::<usize>();
        (count(from..doc.requests.len()), count(0..doc.requests.len()))
    };
    let (late, all) = (0..40).map(needs_late).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert!(late * 2 > all, "{late} of {all}");
}
