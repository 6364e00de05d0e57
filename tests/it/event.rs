//! The event engine against the reference engine: the same totals, to the token.

use cleartune::policy::{Cache, ClearToolUses, ModelTerms, Settings, Trigger};
use cleartune::price::{Prices, Tier};
use cleartune::replay::event::{Engine, Prepared, Ran, Unfit, Way, totals};
use cleartune::replay::{Totals, plain};
use cleartune::sweep::{Axes, Axis, Grid, Profile, Sharing, Transcript, run_shared};
use cleartune::trace::{Block, Document, Trace};
use cleartune::workload::{Spec, shipped_text};

use super::random::{self, Dice};

/// A random transcript whose results arrive at once or never, with models that change, caches kept warm and calls that cost something; one
/// in four is four of them in a row.
fn document(seed: u64) -> Document {
    let mut dice = Dice::new(seed ^ 0xe7e2);
    let (warm, models, quiet, answered) = (dice.one_in(3), dice.one_in(4), dice.one_in(3), dice.one_in(2));
    let mut doc = random::document(seed);
    if dice.one_in(4) {
        for further in 1..4 {
            append(&mut doc, random::document(seed ^ (further << 40)));
        }
    }
    let mut issued: Vec<u64> = Vec::new();
    for request in &mut doc.requests {
        request.input.retain(|block| block.kind != "result" || block.use_id.is_some_and(|id| issued.contains(&id)));
        let open = |id: &&u64| request.input.iter().all(|block| block.use_id != Some(**id));
        let late: Vec<u64> = issued.iter().filter(open).copied().collect();
        request.input.extend(late.into_iter().filter(|_| answered).map(|id| Block::result(id, 700, None)));
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

/// Appends the requests of another transcript, with uses and times of their own.
fn append(doc: &mut Document, further: Document) {
    let uses = doc.requests.iter().flat_map(|r| &r.output).filter_map(|block| block.use_id).max().map_or(0, |most| most + 1);
    let at_ms = doc.requests.last().map_or(0, |request| request.at_ms);
    for mut request in further.requests {
        request.at_ms += at_ms;
        for block in request.input.iter_mut().chain(&mut request.output) {
            block.use_id = block.use_id.map(|id| id + uses);
        }
        request.needs.iter_mut().for_each(|id| *id += uses);
        doc.requests.push(request);
    }
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
            let more = ClearToolUses { clear_at_least: got.same_up_to, ..edit.clone() };
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
            Err(unfit) => assert!(unfit == Unfit::TailBreakpoints, "{seed}: {unfit:?}"),
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

/// Real sizes, needs and pauses, under configs that batch, slide, and keep more than there is.
#[test]
fn generated_transcripts_have_the_same_totals() {
    let (mut engine, mut judge) = (Engine::default(), plain::Engine::default());
    for workload in ["research_agent", "coding_agent"] {
        let spec = Spec::from_toml(shipped_text(workload).unwrap()).unwrap();
        for i in 0..4 {
            let trace = Trace::from_document(&spec.generate(i)).unwrap();
            for (trigger, keep, clear_at_least) in
                [(0, 1, 0), (20_000, 3, 0), (30_000, 12, 0), (30_000, 4, 10_000), (60_000, 20, 40_000), (20_000, 500, 0)]
            {
                for cache in ["entries", "prefix", "off"] {
                    let edit = ClearToolUses { trigger: Trigger::InputTokens(trigger), keep, clear_at_least, ..ClearToolUses::default() };
                    let mut settings = Settings { edit: Some(edit), ..Settings::default() };
                    settings.cache.mode = serde_json::from_value(cache.into()).unwrap();
                    settings.context_window = Some(60_000);
                    let mut usd = 0.0;
                    let want = judge.run(&trace, &settings, |row| usd += row.cost_usd);
                    let prepared = match Prepared::new(&trace, &settings) {
                        Ok(prepared) => prepared,
                        Err(unfit) => panic!("{}: {unfit:?}", trace.id),
                    };
                    for way in [Way::Auto, Way::Event, Way::Linear] {
                        let got = engine.run_by(&prepared, settings.edit.as_ref(), way).totals;
                        let named = format!("{}, {cache}, {way:?}, {:?}", trace.id, settings.edit);
                        assert_eq!(differences(i as u64, &named, &got, &want, usd), None);
                    }
                }
            }
        }
    }
}

#[test]
fn shared_outcomes_are_those_of_each_config() {
    let axes = Axes {
        trigger: Axis::Values(vec![0, 600, 601, 5_000, 12_000, 13_000, 40_000, 1_000_000]),
        keep: Axis::Values(vec![0, 1, 2, 5, 40]),
        clear_at_least: Axis::Values(vec![0, 1, 2, 500, 501, 4_000, 4_001, 12_000, 900_000]),
        exclude_tools: Some(vec![vec![], vec!["bash".to_owned(), "memory".to_owned()]]),
        ..Axes::default()
    };
    let transcript = |seed| Transcript { trace: Trace::from_document(&document(seed)).unwrap(), settings: settings(seed) };
    let many = if std::env::var_os("CLEARTUNE_LONG_TESTS").is_some() { 1_000 } else { 60 };
    share(&axes, &(0..many).map(transcript).collect::<Vec<_>>());
}

/// Real sizes, under every cache and every reading of what is taken: replays begin alike and meet again.
#[test]
fn shared_outcomes_of_generated_transcripts_are_those_of_each_config() {
    let axes = Axes {
        trigger: Axis::Values(vec![20_000, 30_000, 45_000, 60_000, 61_000, 90_000]),
        keep: Axis::Values(vec![1, 3, 12, 25]),
        clear_at_least: Axis::Values(vec![0, 1, 4_000, 20_000, 22_000, 50_000]),
        ..Axes::default()
    };
    let mut transcripts = Vec::new();
    for workload in ["research_agent", "coding_agent"] {
        let spec = Spec::from_toml(shipped_text(workload).unwrap()).unwrap();
        for (i, (cache, selection)) in [
            ("entries", "batched"),
            ("prefix", "batched"),
            ("off", "batched"),
            ("entries", "all_or_nothing"),
            ("entries", "stop_when_reached"),
            ("prefix", "stop_when_reached"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut settings = Settings::default();
            settings.cache.mode = serde_json::from_value(cache.into()).unwrap();
            settings.assume.selection = serde_json::from_value(selection.into()).unwrap();
            settings.context_window = Some(80_000);
            transcripts.push(Transcript { trace: Trace::from_document(&spec.generate(i)).unwrap(), settings });
        }
    }
    share(&axes, &transcripts);
}

/// Sweeps with shared outcomes and without, against each other and, here and there, the reference engine.
fn share(axes: &Axes, transcripts: &[Transcript]) {
    let grid = Grid::new(axes, &Profile::default().auto(), &[]);
    let sweep = |sharing| {
        let mut all = Vec::new();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let swept = run_shared::<()>(transcripts, &grid.configs, sharing, None, &stop, &|_| {}, |block| {
            all.push(block.totals.to_vec());
            Ok(())
        });
        let (outcome, work) = swept.unwrap();
        (all, outcome, work)
    };
    let (each, outcome, work) = sweep(Sharing::Preparation);
    let (shared, shared_outcome, shared_work) = sweep(Sharing::Outcomes);
    for (t, (each, shared)) in each.iter().zip(&shared).enumerate() {
        if let Some(i) = each.iter().zip(shared).position(|(each, shared)| each != shared) {
            let settings = &transcripts[t].settings;
            panic!("{t}, {:?}, {settings:?}\n{:?}\n{:?}", grid.configs[i], each[i], shared[i]);
        }
    }
    // Thousands of numbers: no message with them.
    assert!(shared_outcome == outcome);
    assert_eq!(work.asked, (grid.configs.len() * transcripts.len()) as u64);
    assert_eq!((work.replayed, shared_work.asked), (work.asked, work.asked));
    assert!(shared_work.replayed * 2 < work.asked, "{shared_work:?}");
    let mut judge = plain::Engine::default();
    for ((transcript, each), shared) in transcripts.iter().zip(&each).zip(&shared) {
        assert!(each == shared, "{}", transcript.trace.id);
        let mut settings = transcript.settings.clone();
        for (knobs, got) in grid.configs.iter().zip(each).step_by(7) {
            knobs.apply(&mut settings);
            assert_eq!(*got, judge.run(&transcript.trace, &settings, |_| {}), "{} {knobs:?}", transcript.trace.id);
        }
    }
}
