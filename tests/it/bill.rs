//! The bill: requests priced by their own model and lifetime, and the replay without clearing against what was recorded.

use cleartune::ingest::{HeldOut, Ingest, Ingested, Options};
use cleartune::policy::{Config, Settings};
use cleartune::price::{Catalogue, Overrides, resolve_trace};
use cleartune::replay::{RowKind, replay};
use cleartune::report::{BillCheck, Why, bill, bill_table, by_session};
use cleartune::trace::{Block, Cause, Document, RequestDoc, SCHEMA, Trace, Usage};

fn settings(doc: &Document, config: &str) -> Settings {
    let config: Config = cleartune::policy::from_json(config).unwrap();
    let trace = Trace::from_document(doc).unwrap();
    resolve_trace(&config, &Overrides::default(), &trace, Catalogue::shipped()).unwrap().0
}

/// A transcript of three requests a minute apart, 2,000 tokens of base and 3,000 new ones a request.
fn three() -> Document {
    let request =
        |i: i64| RequestDoc { at_ms: i * 60_000, input: vec![Block::user(3_000)], output: vec![Block::text(100)], ..RequestDoc::default() };
    Document {
        schema: SCHEMA.to_owned(),
        id: "a".to_owned(),
        model: Some("claude-sonnet-4-6".to_owned()),
        base_tokens: 2_000,
        requests: (0..3).map(request).collect(),
        ..Document::default()
    }
}

#[test]
fn a_request_of_another_model_has_its_prices_and_its_own_cache() {
    let mut doc = three();
    doc.requests[1].model = Some("claude-opus-4-1".to_owned());
    let settings = settings(&doc, "{}");
    let rows = replay(&Trace::from_document(&doc).unwrap(), &settings).requests;
    // The other model's cache is empty, and what the first one wrote is there when it is asked again.
    assert_eq!(rows.iter().map(|r| r.cache_read).collect::<Vec<_>>(), [0, 0, 5_000]);
    let opus = &settings.other_models[0].prices;
    assert!(opus.output > settings.prices.output);
    assert_eq!(rows[1].cost_usd, opus.cost(8_100, 0, 0, 8_100, 100, false));
    assert_eq!(rows[2].cost_usd, settings.prices.cost(11_200, 0, 5_000, 6_200, 100, false));
    // The trace's own model named once more changes nothing.
    let mut same = three();
    same.requests[1].model.clone_from(&same.model);
    let of = |doc: &Document| replay(&Trace::from_document(doc).unwrap(), &settings);
    assert_eq!(of(&same), of(&three()));
    assert_eq!(of(&same).requests[1].cache_read, 5_000);
}

#[test]
fn a_fetch_before_a_request_has_its_model() {
    let mut doc = three();
    doc.requests[0].output = vec![Block::tool_use(1, "Read", 50)];
    doc.requests[1].input = vec![Block::result(1, 3_000, None)];
    doc.requests[2].model = Some("claude-opus-4-1".to_owned());
    doc.requests[2].needs = vec![1];
    let edit = r#"{"context_management":{"edits":[{"type":"clear_tool_uses_20250919",
        "trigger":{"type":"input_tokens","value":9000},"keep":{"type":"tool_uses","value":0}}]},"assume":{"max_refetch_rounds":1}}"#;
    let settings = settings(&doc, edit);
    let rows = replay(&Trace::from_document(&doc).unwrap(), &settings).requests;
    let fetch = rows.iter().find(|r| r.kind == RowKind::Refetch && r.request == 2).unwrap();
    let opus = &settings.other_models[0].prices;
    assert_eq!(
        fetch.cost_usd,
        opus.cost(fetch.prompt_tokens, fetch.uncached, fetch.cache_read, fetch.cache_write, fetch.output_tokens, false)
    );
}

#[test]
fn what_was_kept_warm_outlives_its_ttl_and_what_was_not_expires() {
    let mut doc = three();
    doc.requests[1].at_ms = 300_001;
    doc.requests[2].at_ms = 600_001;
    let reads = |doc: &Document| -> Vec<u64> {
        replay(&Trace::from_document(doc).unwrap(), &Settings::default()).requests.iter().map(|r| r.cache_read).collect()
    };
    assert_eq!(reads(&doc), [0, 0, 8_100]);
    doc.requests[1].kept_warm = true;
    assert_eq!(reads(&doc), [0, 5_000, 8_100]);
    // Only what lived at the request before: these were dead by then.
    doc.requests[1].kept_warm = false;
    doc.requests[1].at_ms = 100;
    doc.requests[1].model = Some("other".to_owned());
    doc.requests[2].kept_warm = true;
    doc.requests[2].at_ms = 999_999_999;
    assert_eq!(reads(&doc), [0, 0, 5_000]);
    doc.requests[1].at_ms = 300_001;
    assert_eq!(reads(&doc), [0, 0, 0]);
}

fn with_usage(usages: [Usage; 3]) -> Document {
    let mut doc = three();
    for (request, usage) in doc.requests.iter_mut().zip(usages) {
        request.usage = Some(usage);
    }
    doc
}

fn exact() -> [Usage; 3] {
    let usage = |cache_read, cache_write_5m| Usage { cache_read, cache_write_5m, output: 100, ..Usage::default() };
    [usage(0, 5_000), usage(5_000, 3_100), usage(8_100, 3_100)]
}

fn check(doc: &Document) -> BillCheck {
    let check = bill(doc, &settings(doc, "{}")).unwrap();
    let sum: f64 = check.differences.iter().map(|d| d.usd).sum();
    assert!((sum - (check.replayed.cost_usd - check.recorded.cost_usd)).abs() < 1e-8, "{check:?}");
    check
}

fn why(check: &BillCheck) -> Vec<Why> {
    check.differences.iter().map(|d| d.why).collect()
}

#[test]
fn a_bill_that_the_replay_meets_has_no_difference() {
    let check = check(&with_usage(exact()));
    assert_eq!((check.relative(), check.differences.len(), check.requests_with_usage), (Some(0.0), 0, 3));
    assert_eq!(check.recorded, check.replayed);
}

#[test]
fn each_difference_has_its_cause() {
    let mut usages = exact();
    usages[2].output = 90;
    assert_eq!(why(&check(&with_usage(usages))), [Why::Output]);
    let mut usages = exact();
    usages[2].cache_write_5m += 50;
    assert_eq!(why(&check(&with_usage(usages))), [Why::Sizes]);
    let mut usages = exact();
    usages[1] = Usage { cache_read: 4_500, cache_write_5m: 3_600, ..usages[1] };
    assert_eq!(why(&check(&with_usage(usages))), [Why::SmallShortfall]);
    let mut usages = exact();
    usages[1] = Usage { cache_read: 6_000, cache_write_5m: 2_100, ..usages[1] };
    assert_eq!(why(&check(&with_usage(usages))), [Why::UnloggedCalls]);
    let mut usages = exact();
    usages[0] = Usage { cache_read: 500, cache_write_5m: 4_500, ..usages[0] };
    assert_eq!(why(&check(&with_usage(usages))), [Why::WarmStart]);
    let mut usages = exact();
    usages[1] = Usage { input: 6, cache_write_5m: 3_094, ..usages[1] };
    // The tokens that went uncached are written by the replay, and read the next time.
    usages[2] = Usage { cache_read: 8_094, cache_write_5m: 3_106, ..usages[2] };
    let uncached = check(&with_usage(usages));
    assert_eq!((why(&uncached), uncached.differences[0].requests), (vec![Why::Uncached], 2));
    let mut usages = exact();
    usages[1] = Usage { cache_write_1h: 3_100, cache_write_5m: 0, ..usages[1] };
    assert_eq!(why(&check(&with_usage(usages))), [Why::WritePrice]);
    // With the lifetime that was paid for, the price fits.
    let mut doc = with_usage(usages);
    doc.requests[1].ttl_ms = Some(3_600_000);
    assert!(check(&doc).differences.is_empty());
}

#[test]
fn an_invalidation_is_priced_and_named() {
    let mut usages = exact();
    usages[2] = Usage { cache_read: 0, cache_write_5m: 11_200, ..usages[2] };
    let mut doc = with_usage(usages);
    doc.requests[2].invalidation_cause = Some(Cause::SystemChanged);
    let missed = check(&doc);
    assert_eq!(why(&missed), [Why::Invalidation(Cause::SystemChanged)]);
    doc.requests[2].flush_above = Some(0);
    let met = check(&doc);
    assert!(met.differences.is_empty());
    let priced = met.invalidations[0];
    assert_eq!((priced.cause, priced.requests, priced.tokens, met.flushed_requests), (Cause::SystemChanged, 1, 8_100, 1));
    assert!((priced.usd - 8_100.0 * (3.75 - 0.3) / 1e6).abs() < 1e-12);
}

#[test]
fn requests_without_usage_count_on_neither_side_and_sessions_add_up() {
    let mut doc = with_usage(exact());
    doc.session = Some("s".to_owned());
    doc.requests[2].usage = None;
    let one = check(&doc);
    assert_eq!((one.requests, one.requests_with_usage, one.relative()), (3, 2, Some(0.0)));
    let other = BillCheck { session: "t".to_owned(), ..one.clone() };
    let sessions = by_session(&[one.clone(), other, one.clone()]);
    assert_eq!(sessions.len(), 2);
    assert_eq!((sessions[0].transcripts, sessions[0].requests, sessions[1].transcripts), (2, 6, 1));
    assert_eq!(sessions[0].recorded.prompt_tokens, 2 * one.recorded.prompt_tokens);
}

fn samples(folder: &str) -> Option<Ingested> {
    let dir = super::shared::folder(folder)?;
    let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut ingest = Ingest::new(Options::default());
    for name in names {
        ingest.read(&name, std::fs::File::open(dir.join(&name)).unwrap());
    }
    Some(ingest.finish())
}

#[test]
fn the_replay_without_clearing_costs_what_was_recorded() {
    for (folder, expected) in [("real/claude-code", 4), ("real/managed-agents", 2)] {
        let Some(all) = samples(folder) else { return };
        let checks: Vec<BillCheck> = all.documents.iter().map(|doc| bill(doc, &settings(doc, "{}")).unwrap()).collect();
        let sessions = by_session(&checks);
        eprintln!("{folder}\n{}", bill_table(&sessions));
        let billed: Vec<_> = sessions.iter().filter(|s| s.requests_with_usage > 0).collect();
        assert_eq!(billed.len(), expected, "{folder}");
        for session in billed {
            let (recorded, replayed) = (session.recorded.cost_usd, session.replayed.cost_usd);
            let allowed = if session.requests_with_usage >= 20 { recorded * 0.02 } else { (recorded * 0.05).max(0.01) };
            assert!((replayed - recorded).abs() <= allowed, "{}: {replayed} replayed, {recorded} recorded", session.session);
            // A model of the cache, and no copy of the recorded reads. A first request alone may have found it warm.
            assert!(session.requests < 10 || session.flushed_requests * 10 < session.requests, "{}", session.session);
        }
    }
}

#[test]
fn sizes_predict_steps_that_they_were_not_fitted_to() {
    for folder in ["real/claude-code", "real/managed-agents"] {
        let Some(all) = samples(folder) else { return };
        for report in all.reports.iter().filter(|r| r.sizes.held_out.steps() > 0) {
            let errors = &report.sizes.held_out;
            let at = |errors: &[f64], share| 100.0 * HeldOut::quantile(errors, share).unwrap_or(f64::NAN);
            eprintln!(
                "{}: {} steps; of the prompt {:.2} p95 {:.2}, cumulative p95 {:.2}; of growth {:.1} p95 {:.1}; of {} results {:.1} p95 {:.1}",
                report.name,
                errors.steps(),
                at(&errors.of_prompt, 0.5),
                at(&errors.of_prompt, 0.95),
                at(&errors.cumulative, 0.95),
                at(&errors.of_growth, 0.5),
                at(&errors.of_growth, 0.95),
                errors.of_result.len(),
                at(&errors.of_result, 0.5),
                at(&errors.of_result, 0.95),
            );
            assert!(at(&errors.of_prompt, 0.5) <= 1.0, "{}", report.name);
            assert!(at(&errors.of_prompt, 0.95) <= 4.0, "{}", report.name);
            assert!(at(&errors.cumulative, 0.95) <= 8.0, "{}", report.name);
        }
    }
}
