//! The event engine against the reference engine: the same totals, to the token.

use cleartune::policy::{Cache, ModelTerms, Settings};
use cleartune::price::{Prices, Tier};
use cleartune::replay::event::{Engine, Prepared, Ran, Unfit, Way, totals};
use cleartune::replay::{Totals, plain};
use cleartune::trace::{Document, Trace};

use super::random::{self, Dice};

/// A random transcript whose results arrive at once or never, with models that change, caches kept warm and calls that cost something.
fn document(seed: u64) -> Document {
    let mut doc = random::document(seed);
    let mut dice = Dice::new(seed ^ 0xe7e2);
    let mut issued: Vec<u64> = Vec::new();
    let (warm, models) = (dice.one_in(3), dice.one_in(4));
    let quiet = dice.one_in(3);
    for request in &mut doc.requests {
        request.input.retain(|block| block.kind != "result" || block.use_id.is_some_and(|id| issued.contains(&id)));
        issued = request.output.iter().filter(|block| block.kind == "use").filter_map(|block| block.use_id).collect();
        request.kept_warm = warm && dice.one_in(4);
        if models && dice.one_in(3) {
            request.model = Some(dice.pick(&["other", "another"]).to_owned());
        }
        if quiet {
            request.flush_above = None;
            request.at_ms = 0;
        }
    }
    for tool in doc.tools.values_mut() {
        tool.refetch_usd = dice.pick(&[None, Some(0.001)]);
        tool.refetch_seconds = dice.pick(&[None, Some(1.25)]);
    }
    doc
}

fn settings(seed: u64) -> Settings {
    let mut settings = random::settings(seed);
    let mut dice = Dice::new(seed ^ 0x7e45);
    settings.cache.tail_breakpoints = dice.pick(&[1, 1, 1, settings.cache.tail_breakpoints]);
    if dice.one_in(2) {
        let tiers = dice.pick(&[vec![], vec![Tier { above: 4_000, cache_read: Some(1.0), ..Tier::default() }]]);
        let cache = Cache { min_tokens: dice.pick(&[512, 2048]), lookback: dice.pick(&[1, 20]), ..settings.cache.clone() };
        settings.other_models.push(ModelTerms { cache, prices: Prices { input: 7.0, tiers, ..Prices::default() } });
    }
    settings
}

fn differences(seed: u64, way: &str, got: &Totals, want: &Totals, rows_usd: f64) -> Option<String> {
    let alike = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    // The same tokens at the same prices: to the bit as the reference engine sums them, to 1e-9 as single rows add up.
    let same = got == want && alike(got.cost_usd, rows_usd);
    (!same).then(|| format!("{seed}, {way}:\n got {got:?}\nwant {want:?}"))
}

/// What differs in one random pair, if the engine can replay it.
fn compare(seed: u64, engine: &mut Engine, judge: &mut plain::Engine) -> Result<Option<String>, Unfit> {
    let trace = Trace::from_document(&document(seed)).unwrap();
    let settings = settings(seed.wrapping_mul(31));
    let prepared = Prepared::new(&trace, &settings)?;
    let mut usd = 0.0;
    let want = judge.run(&trace, &settings, |row| usd += row.cost_usd);
    for way in [Way::Auto, Way::Event, Way::Linear] {
        let got = engine.run_by(&prepared, settings.edit.as_ref(), way);
        if let Some(differs) = differences(seed, &format!("{way:?}"), &got.totals, &want, usd) {
            return Ok(Some(format!("{differs}\n{settings:?}")));
        }
        if let Some(edit) = settings.edit.as_ref().filter(|edit| edit.clear_at_least > 0 && got.same_up_to > edit.clear_at_least) {
            let more = cleartune::policy::ClearToolUses { clear_at_least: got.same_up_to, ..edit.clone() };
            let also = judge.run(&trace, &Settings { edit: Some(more), ..settings.clone() }, |_| {});
            if also != want {
                return Ok(Some(format!("{seed}: not the same up to {}", got.same_up_to)));
            }
        }
    }
    Ok(None)
}

#[test]
fn random_pairs_have_the_same_totals() {
    let pairs = if std::env::var_os("CLEARTUNE_LONG_TESTS").is_some() { 150_000 } else { 6_000 };
    let (mut engine, mut judge) = (Engine::default(), plain::Engine::default());
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for seed in 0..pairs {
        match compare(seed, &mut engine, &mut judge) {
            Ok(differs) => {
                ran += 1;
                wrong.extend(differs);
            }
            Err(unfit) => assert!(matches!(unfit, Unfit::TailBreakpoints | Unfit::FlushedPrefix), "{seed}: {unfit:?}"),
        }
    }
    assert!(wrong.is_empty(), "{} of {ran}\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n"));
    assert!(ran * 3 >= pairs * 2, "only {ran} of {pairs} pairs were replayed by the event engine");
}

#[test]
fn what_it_cannot_replay_is_said_and_replayed_all_the_same() {
    let doc = |json: &str| Trace::from_document(&serde_json::from_str(json).unwrap()).unwrap();
    let plain = |trace: &Trace, settings: &Settings| plain::Engine::default().run(trace, settings, |_| {});
    let late = doc(r#"{"schema":"cleartune.trace/1","id":"late","base_tokens":10,"requests":[
            {"output":[{"kind":"use","use":0,"tool":"bash","tokens":5}]},{"output":[]},{"input":[{"kind":"result","use":0,"tokens":9}]}]}"#);
    let on_time = doc(r#"{"schema":"cleartune.trace/1","id":"on time","base_tokens":10,"requests":[
            {"at_ms":5,"output":[{"kind":"use","use":0,"tool":"bash","tokens":5}]},
            {"at_ms":5,"input":[{"kind":"result","use":0,"tokens":9}]},{"at_ms":5,"output":[]}]}"#);
    let mut back = on_time.clone();
    back.requests[2].at_ms = 4;
    let settings = Settings::default();
    let policy = Settings { policy: Some(std::sync::Arc::default()), ..Settings::default() };
    for (trace, settings, ran) in [
        (&late, &settings, Ran::Plain(Unfit::LateResult)),
        (&back, &settings, Ran::Plain(Unfit::TimeRunsBack)),
        (&on_time, &policy, Ran::Plain(Unfit::Policy)),
        (&on_time, &settings, Ran::Event),
    ] {
        assert_eq!(totals(trace, settings), (plain(trace, settings), ran), "{}", trace.id);
    }
}
