//! Every figure on every kind of data: no text clipped or covered, marks on the page, the same bytes twice.

use std::path::Path;

use proptest::prelude::*;

use super::canvas::Canvas;
use super::labels::Rect;
use super::*;
use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};
use crate::replay::{Row, RowKind, Totals};
use crate::sweep::Derived;

/// A sweep with its choice, made by a formula.
struct Sweep {
    rows: Vec<ConfigRow>,
    chosen: Option<usize>,
    front: Vec<usize>,
}

impl Sweep {
    fn view(&self) -> SweepView<'_> {
        SweepView {
            title: "research_agent \u{b7} 200 transcripts \u{b7} claude-sonnet-4-6 (prices of 2026-11-02)",
            rows: &self.rows,
            chosen: self.chosen,
            hindsight: None,
            front: &self.front,
        }
    }
}

fn none_row() -> ConfigRow {
    let totals = Totals { cost_usd: 412.0, requests: 20_000, ..Totals::default() };
    ConfigRow {
        knobs: Knobs::none(),
        transcripts: 200,
        totals,
        overflowed_transcripts: 3,
        derived: Derived { cost_vs_none: Some(1.0), ..Derived::default() },
    }
}

/// Clearing earlier and more frees more, is fetched again more often, and breaks the cache less the larger its batches are.
fn row(edit: ClearToolUses) -> ConfigRow {
    let (trigger, keep, batch) = (edit.trigger.value() as f64, f64::from(edit.keep), edit.clear_at_least as f64);
    let reach = (-trigger / 60_000.0).exp();
    let freed = 9e6 * reach * (-keep / 14.0).exp() * (1.0 - batch / 300_000.0).max(0.0);
    let refetches = (freed / 2_600.0 * (-keep / 3.5).exp()).round();
    let invalidations = (14_000.0 * reach / (1.0 + batch / 3_000.0) / (1.0 + keep / 10.0)).round();
    let cost = 412.0 - freed * 22e-6 + invalidations * 0.021 + refetches * 0.05;
    let totals = Totals {
        requests: 20_000,
        refetches: refetches as u64,
        lost_needs: if keep < 3.0 && trigger < 60_000.0 { 12 } else { 0 },
        freed_tokens: freed as i64,
        cache_invalidations: invalidations as u64,
        cost_usd: cost,
        ..Totals::default()
    };
    let derived = Derived { cost_vs_none: Some(cost / 412.0), ..Derived::default() };
    ConfigRow { knobs: Knobs::api(edit), transcripts: 200, totals, overflowed_transcripts: 0, derived }
}

fn edit(trigger: u64, keep: u32, clear_at_least: u64) -> ClearToolUses {
    ClearToolUses { trigger: Trigger::InputTokens(trigger), keep, clear_at_least, ..ClearToolUses::default() }
}

fn grid(triggers: &[u64], keeps: &[u32], batches: &[u64]) -> Sweep {
    let mut rows = vec![none_row()];
    for &t in triggers {
        for &k in keeps {
            rows.extend(batches.iter().map(|&c| row(edit(t, k, c))));
        }
    }
    choose(rows)
}

/// The cheapest without misses, and the front in cost, freed tokens and re-fetches.
fn choose(rows: Vec<ConfigRow>) -> Sweep {
    let cost = |r: &ConfigRow| r.derived.cost_vs_none.unwrap_or(f64::MAX);
    let front = (0..rows.len())
        .filter(|&i| {
            let a = &rows[i];
            !rows.iter().any(|b| {
                let no_worse =
                    cost(b) <= cost(a) && b.totals.refetches <= a.totals.refetches && b.totals.freed_tokens >= a.totals.freed_tokens;
                no_worse && (cost(b) < cost(a) || b.totals.refetches < a.totals.refetches || b.totals.freed_tokens > a.totals.freed_tokens)
            })
        })
        .collect();
    let chosen = (0..rows.len()).filter(|&i| rows[i].totals.lost_needs == 0).min_by(|&a, &b| cost(&rows[a]).total_cmp(&cost(&rows[b])));
    Sweep { rows, chosen, front }
}

fn steps(n: u64, step: u64) -> Vec<u64> {
    (0..n).map(|i| i * step).collect()
}

/// Named sweeps that the pictures have to stand.
fn sweeps() -> Vec<(&'static str, Sweep)> {
    let keeps = |n: u32| (0..n).collect::<Vec<u32>>();
    let triggers: Vec<u64> = (3..13).map(|i| i * 10_000).collect();
    let normal = || grid(&triggers, &[0, 1, 2, 3, 4, 6, 8, 12], &[0, 5_000, 10_000, 20_000, 40_000, 80_000]);
    let mut none_chosen = normal();
    for r in &mut none_chosen.rows[1..] {
        r.derived.cost_vs_none = r.derived.cost_vs_none.map(|c| c * 0.2 + 0.97);
        r.totals.cost_usd = r.totals.cost_usd * 0.2 + 390.0;
    }
    none_chosen.chosen = Some(0);
    let mut equal = normal();
    for r in &mut equal.rows {
        r.totals = Totals { cost_usd: 3.2, ..Totals::default() };
        r.derived.cost_vs_none = Some(1.0);
    }
    let mut undefined = grid(&[30_000, 60_000], &[2, 4], &[0, 10_000]);
    for (i, r) in undefined.rows.iter_mut().enumerate() {
        r.derived.cost_vs_none = [None, Some(f64::NAN), Some(f64::INFINITY), Some(0.0)][i % 4];
        r.totals.cost_usd = if i % 3 == 0 { f64::NAN } else { 0.0 };
    }
    let mut axes = vec![none_row()];
    for t in [30_000, 60_000, 90_000] {
        for (k, exclude) in [(2, vec![]), (4, vec!["memory".to_owned(), "a_tool_with_a_rather_long_name".repeat(4)])] {
            axes.push(row(ClearToolUses { exclude_tools: exclude.clone(), clear_tool_inputs: ClearToolInputs::Yes, ..edit(t, k, 5_000) }));
            axes.push(row(ClearToolUses { exclude_tools: exclude, ..edit(t, k, 0) }));
            axes.push(row(ClearToolUses { trigger: Trigger::ToolUses(t / 3_000), ..edit(0, k, 0) }));
        }
    }
    let mut further = choose(axes);
    further.chosen = Some(10);
    let mut tail = normal();
    for (i, r) in tail.rows.iter_mut().enumerate() {
        r.totals.refetches = if i % 100 == 3 { 2_000_000 } else { r.totals.refetches / 40 };
        r.totals.freed_tokens = if i % 90 == 7 { 3_000_000_000 } else { r.totals.freed_tokens - 40_000 };
    }
    let nothing_chosen = Sweep { chosen: None, front: vec![9_999], ..grid(&triggers, &[3], &[0, 10_000]) };
    vec![
        ("normal", normal()),
        ("one", grid(&[30_000], &[4], &[10_000])),
        ("many", grid(&steps(15, 12_500), &keeps(10), &steps(20, 4_000))),
        ("equal", equal),
        ("none_chosen", none_chosen),
        ("none_alone", Sweep { rows: vec![none_row()], chosen: Some(0), front: vec![0] }),
        ("undefined", undefined),
        ("further", further),
        ("tail", tail),
        ("one_trigger", grid(&[1_234_567], &keeps(40), &[0])),
        ("one_keep", grid(&steps(300, 1_731), &[4], &steps(4, 25_000))),
        ("small", grid(&[30_000, 100_000], &[2, 4, 8], &[0, 10_000, 40_000])),
        ("nothing_chosen", nothing_chosen),
        ("empty", Sweep { rows: vec![], chosen: Some(3), front: vec![1] }),
    ]
}

/// A transcript of `n` requests, cleared by the trigger if there is one.
fn report(n: u32, trigger: Option<u64>, every: u32) -> Report {
    let mut requests = Vec::new();
    let (mut full, mut freed, mut cleared) = (4_000_u64, 0_u64, 0_u64);
    for i in 0..n {
        full += 900 + u64::from(i * 7_919 % 4_001) * u64::from(i % 4 == 1);
        let clears = trigger.is_some_and(|t| full - freed > t) && i % every == 0;
        let gone = if clears { (full - freed) * 6 / 10 } else { 0 };
        freed += gone;
        cleared += gone / 2_000;
        let blank = Row {
            request: i,
            kind: RowKind::Original,
            at_ms: i64::from(i) * 9_000,
            original_tokens: full,
            prompt_tokens: full - freed,
            cleared_uses: cleared,
            newly_cleared: u64::from(clears) * (gone / 2_000),
            freed_tokens: gone as i64,
            cache_read: 0,
            cache_write: full - freed,
            uncached: 0,
            output_tokens: 90,
            invalidated_tokens: gone / 2,
            refetched: 0,
            costly_refetched: 0,
            lost: 0,
            unmet: 0,
            cost_usd: (full - freed) as f64 * 5e-7,
            ..Row::default()
        };
        if trigger.is_some() && freed > 0 && i % 11 == 5 {
            requests.push(Row { kind: RowKind::Refetch, refetched: 2, newly_cleared: 0, ..blank.clone() });
            full += 2_400;
        }
        requests.push(Row { lost: u64::from(freed > 0 && i % 37 == 17), unmet: u64::from(freed > 0 && i % 53 == 19), ..blank });
    }
    let mut totals = Totals::default();
    for row in &requests {
        totals.add(row, None);
    }
    Report { id: "t".to_owned(), totals, requests }
}

/// A named replay: name, `none`, config, window.
type Replay = (&'static str, Option<Report>, Option<(Knobs, Report)>, Option<u64>);

fn replays() -> Vec<Replay> {
    let config = |n, trigger, every| Some((Knobs::api(edit(trigger, 4, 10_000)), report(n, Some(trigger), every)));
    let long_name = ClearToolUses { exclude_tools: (0..40).map(|i| format!("tool_number_{i}")).collect(), ..edit(60_000, 3, 0) };
    vec![
        ("both", Some(report(120, None, 1)), config(120, 60_000, 1), Some(200_000)),
        ("one_request", Some(report(1, None, 1)), config(1, 60_000, 1), None),
        ("long", Some(report(3_000, None, 1)), config(3_000, 100_000, 9), Some(1_000_000)),
        ("sliding", Some(report(3_000, None, 1)), config(3_000, 4_500, 1), None),
        ("alone", None, config(60, 40_000, 1), Some(46_000)),
        ("none_chosen", Some(report(60, None, 1)), Some((Knobs::none(), report(60, None, 1))), Some(200_000)),
        ("none_alone", Some(report(25, None, 1)), None, Some(1_000_000)),
        ("close_lines", Some(report(40, None, 1)), Some((Knobs::api(long_name), report(40, Some(60_000), 1))), Some(60_300)),
        (
            "tool_uses",
            None,
            Some((Knobs::api(ClearToolUses { trigger: Trigger::ToolUses(12), ..edit(0, 4, 0) }), report(30, Some(30_000), 1))),
            None,
        ),
        ("no_rows", Some(report(0, None, 1)), config(0, 10, 1), Some(10)),
    ]
}

fn context_view(case: &Replay) -> ContextView<'_> {
    ContextView {
        oracle: None,
        bound: None,
        title: "research_agent \u{b7} transcript 17 of 200",
        none: case.1.as_ref(),
        config: case.2.as_ref().map(|(k, r)| (k, r)),
        window: case.3,
    }
}

type Draw = fn(&SweepView) -> Canvas;

const FIGURES: [(&str, Draw); 3] =
    [("tradeoff", super::tradeoff::draw), ("heat_maps", super::heat_maps::draw), ("by_clear_at_least", super::by_clear_at_least::draw)];

/// Says which text is clipped or meets another.
fn check_texts(name: &str, canvas: &Canvas) -> Result<(), String> {
    let page = canvas.bounds().grow(-2.0);
    let texts: Vec<Rect> = canvas.texts.clone();
    for (i, a) in texts.iter().enumerate() {
        if !page.holds(*a) {
            return Err(format!("{name}: text {i} {a:?} leaves the page"));
        }
        if let Some((j, b)) = texts.iter().enumerate().skip(i + 1).find(|(_, b)| a.meets(**b)) {
            return Err(format!("{name}: text {i} {a:?} meets text {j} {b:?}"));
        }
    }
    Ok(())
}

/// Pixels that are neither white nor grey.
fn coloured(pixels: &[u8]) -> usize {
    pixels.chunks_exact(3).filter(|p| p.iter().max().unwrap() - p.iter().min().unwrap() > 40).count()
}

/// Width, height, pixels of a PNG file.
fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("a frame");
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width, info.height, pixels)
}

/// Keeps the picture for a look at it, where one asks for it.
fn keep(name: &str, bytes: &[u8]) {
    if let Ok(dir) = std::env::var("CLEARTUNE_PLOT_DIR") {
        std::fs::write(Path::new(&dir).join(format!("{name}.png")), bytes).expect("the picture can be written");
    }
}

#[test]
fn no_text_is_clipped_or_covered_in_any_sweep() {
    for (name, sweep) in sweeps() {
        for (figure, draw) in FIGURES {
            let canvas = draw(&sweep.view());
            keep(&format!("{figure}.{name}"), &canvas.png().unwrap());
            check_texts(&format!("{figure} of {name}"), &canvas).unwrap();
        }
    }
}

#[test]
fn no_text_is_clipped_or_covered_in_any_replay() {
    for case in replays() {
        let canvas = super::context_size::draw(&context_view(&case));
        keep(&format!("context_size.{}", case.0), &canvas.png().unwrap());
        check_texts(case.0, &canvas).unwrap();
    }
}

/// A transcript of `n` requests in which every third result is needed again, `lag` uses later.
fn profiled(n: u64, tools: &[&str], lag: u64, gap_ms: i64) -> Profile {
    use crate::trace::{Block, Document, RequestDoc, SCHEMA, Trace};
    let mut documents = Vec::new();
    for t in 0..3_u64 {
        let mut doc = Document { schema: SCHEMA.to_owned(), id: format!("t{t}"), base_tokens: 4_000, ..Document::default() };
        for i in 0..n - n * t / 4 {
            let mut request = RequestDoc { at_ms: i as i64 * gap_ms * (1 + (i % 5) as i64), ..RequestDoc::default() };
            match i {
                0 => request.input.push(Block::user(50)),
                _ => request.input.push(Block::result(i - 1, (i * 7_919 % 9_001) as u32, None)),
            }
            if i > lag && i % 3 == 0 {
                request.needs.push(i - 1 - lag);
            }
            if !tools.is_empty() {
                request.output.push(Block::tool_use(i, tools[(i % tools.len() as u64) as usize], 40));
            }
            doc.requests.push(request);
            if tools.is_empty() {
                break;
            }
        }
        documents.push(doc);
    }
    let traces: Vec<Trace> = documents.iter().map(|d| Trace::from_document(d).unwrap()).collect();
    Profile::new(documents.iter().zip(&traces))
}

/// Named sets of profiles that the pictures have to stand, each profile with its source's name.
fn profiles() -> Vec<(&'static str, Vec<(String, Profile)>)> {
    let long = "an_mcp_tool_with_a_name_that_is_longer_than_anyone_would_read_in_a_legend_or_beside_a_row";
    let many: Vec<String> = (0..40).map(|i| format!("tool_{i}_{}", "x".repeat(i % 30))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let named = |name: &str, profile| (name.to_owned(), profile);
    vec![
        ("one", vec![named("research_agent", profiled(120, &["read_file", "web_fetch", "bash"], 17, 9_000))]),
        ("many_tools", vec![named("logs", profiled(400, &many, 90, 1_000))]),
        (
            "two",
            vec![
                named("research_agent", profiled(120, &["read"], 40, 9_000)),
                named("managed-agents", profiled(90, &["a", "b"], 5, 700_000)),
            ],
        ),
        ("nine", (0..9).map(|i| (format!("{long}_{i}"), profiled(30 + i, &["read", long], i, 1_000_000_000))).collect()),
        ("no_need", vec![named("s", profiled(1, &["read"], 1, 0))]),
        ("two_requests", vec![named("s", profiled(2, &["read"], 0, 5))]),
        ("no_tool", vec![named("s", profiled(3, &[], 1, 0))]),
        ("nothing", vec![named("s", Profile::default())]),
        ("no_source", vec![]),
    ]
}

type DrawProfile = fn(&ProfileView) -> Canvas;

const PROFILE_FIGURES: [(&str, DrawProfile); 4] = [
    ("keep_curve", super::keep_curve::draw),
    ("result_sizes", super::result_sizes::draw),
    ("growth", super::growth::draw),
    ("gaps", super::gaps::draw),
];

#[test]
fn no_text_is_clipped_or_covered_in_any_profile() {
    for (name, set) in profiles() {
        let sources: Vec<(&str, &Profile)> = set.iter().map(|(n, p)| (n.as_str(), p)).collect();
        let mut seen = Vec::new();
        for (figure, draw) in PROFILE_FIGURES {
            let canvas = draw(&ProfileView { sources: &sources, tools: &[] });
            let png = canvas.png().unwrap();
            keep(&format!("{figure}.{name}"), &png);
            check_texts(&format!("{figure} of {name}"), &canvas).unwrap();
            assert_eq!(png, draw(&ProfileView { sources: &sources, tools: &[] }).png().unwrap(), "{figure} of {name}");
            seen.push(coloured(&canvas.pixels()) > 60);
        }
        // What has nothing to show is a page of words.
        let expected = match name {
            "no_need" | "no_tool" => [false, false, true, false],
            "two_requests" => [false, true, true, true],
            "nothing" | "no_source" => [false; 4],
            _ => [true; 4],
        };
        assert_eq!(seen, expected, "{name}");
    }
}

#[test]
fn tools_that_are_not_asked_for_are_not_drawn() {
    let profile = profiled(120, &["read_file", "web_fetch", "bash"], 17, 9_000);
    let sources = [("s", &profile)];
    let only = ["bash".to_owned()];
    for draw in [super::keep_curve::draw, super::result_sizes::draw] {
        let texts = |tools| draw(&ProfileView { sources: &sources, tools }).texts.len();
        assert!(texts(&only) < texts(&[]));
    }
}

#[test]
fn the_pngs_are_1600_wide_and_twice_the_same() {
    let sweeps = sweeps();
    for (name, sweep) in &sweeps {
        for figure in [tradeoff, heat_maps, by_clear_at_least] {
            let bytes = figure(&sweep.view()).unwrap();
            let (width, height, pixels) = decode(&bytes);
            assert_eq!(width, 1600, "{name}");
            assert!((300..=1600).contains(&height), "{name}: {height}");
            assert_eq!(pixels[..3], [255, 255, 255], "a white page");
            assert_eq!(bytes, figure(&sweep.view()).unwrap(), "{name}");
        }
    }
    let case = &replays()[0];
    assert_eq!(context_size(&context_view(case)).unwrap(), context_size(&context_view(case)).unwrap());
}

#[test]
fn the_data_are_on_the_page() {
    for (name, sweep) in sweeps() {
        let seen = FIGURES.map(|(_, draw)| coloured(&draw(&sweep.view()).pixels()));
        match name {
            // A page of words.
            "empty" => assert_eq!(seen, [0, 0, 0]),
            "none_alone" => assert!(seen[0] > 10_000 && seen[1] == 0 && seen[2] == 0, "{seen:?}"),
            // Nothing but the colour bar has a colour; the lines do.
            "equal" | "undefined" => assert!(seen.iter().all(|n| *n > 1_000), "{name}: {seen:?}"),
            _ => assert!(seen[0] > 10_000 && seen[1] > 10_000 && seen[2] > 900, "{name}: {seen:?}"),
        }
    }
    for case in replays() {
        let seen = coloured(&super::context_size::draw(&context_view(&case)).pixels());
        // `none` is grey.
        assert_eq!(seen > 1_000, !["none_alone", "no_rows"].contains(&case.0), "{}: {seen}", case.0);
    }
}

/// Pixels of one colour.
fn count(canvas: &Canvas, colour: colour::Rgb) -> usize {
    canvas.pixels().chunks_exact(3).filter(|p| *p == [colour.0, colour.1, colour.2]).count()
}

#[test]
fn points_of_a_colour_are_there_when_a_config_costs_that() {
    // One config far cheaper than `none`, one far dearer: the ends of the scale are on the points, not only on the bar.
    let mut sweep = grid(&[30_000, 90_000], &[4], &[10_000]);
    sweep.rows[1].derived.cost_vs_none = Some(0.5);
    sweep.rows[2].derived.cost_vs_none = Some(2.0);
    let both = super::tradeoff::draw(&sweep.view());
    sweep.rows.truncate(1);
    sweep.rows.push(ConfigRow { derived: Derived { cost_vs_none: Some(1.0), ..Derived::default() }, ..row(edit(30_000, 4, 0)) });
    sweep.chosen = None;
    let neither = super::tradeoff::draw(&sweep.view());
    for end in [-1.0, 1.0] {
        let colour = colour::diverging(end);
        assert!(count(&both, colour) > count(&neither, colour) + 100, "{end}");
    }
}

#[test]
fn clears_refetches_and_misses_are_marked_only_where_they_happen() {
    let knobs = Knobs::api(edit(60_000, 4, 10_000));
    let (plain, cleared) = (report(120, None, 1), report(120, Some(60_000), 1));
    let draw = |r: &Report| {
        super::context_size::draw(&ContextView {
            title: "",
            none: None,
            config: Some((&knobs, r)),
            oracle: None,
            bound: None,
            window: None,
        })
    };
    let (with, without) = (draw(&cleared), draw(&plain));
    for colour in [colour::VERMILLION, (0, 130, 95), colour::PURPLE] {
        assert!(
            count(&with, colour) > 2 * count(&without, colour) / 3 + 60,
            "{colour:?}: {} {}",
            count(&with, colour),
            count(&without, colour)
        );
    }
}

#[test]
fn a_choice_that_does_not_clear_is_named_once() {
    let mut sweep = grid(&[30_000], &[4], &[10_000]);
    let named = super::tradeoff::draw(&sweep.view()).texts.len();
    sweep.chosen = Some(0);
    // Config with four lines and `none` with one, against the one label of the chosen `none`; the rest of the page is the same.
    assert!(super::tradeoff::draw(&sweep.view()).texts.len() < named);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var("CLEARTUNE_LONG_TESTS").is_ok() { 300 } else { 12 }))]
    #[test]
    fn no_text_is_clipped_or_covered_whatever_the_data(
        configs in prop::collection::vec(
            (0..2_000_000_u64, 0..60_u32, 0..300_000_u64, -1_000_000..1_000_000_000_000_i64, 0..10_000_000_u64, prop::option::of(0.001..400.0_f64)),
            0..60,
        ),
        lattice in any::<bool>(),
        scale in 0..12_u32,
        chosen in prop::option::of(0..60_usize),
        title in ".{0,200}",
    ) {
        let mut rows = vec![none_row()];
        for (t, k, c, freed, refetches, ratio) in configs {
            // A lattice has few values on each axis, so that panels and lines have more than one cell.
            let e = if lattice { edit(t % 7 * 1_000_003, k % 5, c % 5 * 12_345) } else { edit(t, k, c) };
            let mut r = row(e);
            r.totals.freed_tokens = freed / 10_i64.pow(scale);
            r.totals.refetches = refetches / 10_u64.pow(scale.min(7));
            r.totals.cost_usd = ratio.unwrap_or(f64::NAN) * 10_f64.powi(5 - scale as i32);
            r.derived.cost_vs_none = ratio;
            rows.push(r);
        }
        let front: Vec<usize> = (0..rows.len()).step_by(3).collect();
        let view = SweepView { title: &title, rows: &rows, chosen, front: &front, hindsight: None };
        for (figure, draw) in FIGURES {
            prop_assert_eq!(check_texts(figure, &draw(&view)), Ok(()));
        }
    }
}
