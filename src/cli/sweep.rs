//! `cleartune sweep`, and the main job.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;
use cleartune::decide::sensitivity::{scenarios, sensitivity};
use cleartune::decide::{self, Advice, Ask, Decision, Objective, Verdict};
use cleartune::findings;
use cleartune::hindsight::{Reach, bound, oracle};
use cleartune::policy::ClearToolUses;
use cleartune::price::ModelNote;
use cleartune::replay::{Totals, plain, replay};
use cleartune::report::plot::{self, ContextView, SweepView};
use cleartune::report::{self, Headline, Hindsights, RowFindings, answer, bill_line, csv, number};
use cleartune::sweep::{
    Grid, Knobs, Outcome, Profile, Sharing, Transcript, Value, Work, refine as finer, run as run_sweep, run_shared, trap,
};
use cleartune::trace::Trace;
use serde_json::json;

use super::axes::AxesArgs;
use super::decision::DecisionArgs;
use super::manifest::{self, Manifest, manifest};
use super::output::{self, OutputSet};
use super::page::Swept;
use super::paste::ForArgs;
use super::policies::PolicyArgs;
use super::progress;
use super::rows::{self, Rows};
use super::settings::{ConfigArg, SettingsArgs, Stated};
use super::source::{Loaded, SourceArgs};

const RESULTS: &str = "Results";
/// Some minutes of work and a gigabyte of rows; more is taken for a slip of the pen.
const MOST_CONFIGS: u128 = 5_000_000;

/// Every config of a grid over every transcript, and the answer
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune sweep ~/.claude/projects
  cleartune sweep workloads/coding_agent.toml --keep 3..30:3 --clear-at-least 0,10k,40k
  cleartune sweep logs/ --for langchain,vercel
  cleartune sweep logs/ --price claude-haiku-4-5 --exclude-tools 'none,memory|todo' --out results/mine")]
// Flags of the command line.
#[allow(clippy::struct_excessive_bools)]
pub struct SweepArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Folder for the results [default: results/NAME of the first source]
    #[arg(long, value_name = "DIR", help_heading = RESULTS)]
    out: Option<PathBuf>,

    #[command(flatten)]
    axes: AxesArgs,

    #[command(flatten)]
    policies: PolicyArgs,

    #[command(flatten)]
    shapes: ForArgs,

    #[command(flatten)]
    decision: DecisionArgs,

    #[command(flatten)]
    config: ConfigArg,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Try finer values around the best configs until the choice is resolved
    #[arg(long, help_heading = "The choice")]
    refine: bool,

    /// Leave out the replays under other assumptions
    #[arg(long, help_heading = "The choice")]
    no_sensitivity: bool,

    /// Write the rows of each transcript as per_transcript.parquet too
    #[arg(long, help_heading = RESULTS)]
    parquet: bool,

    /// Threads [default: one a core]; changes no byte of the results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = RESULTS)]
    threads: Option<u16>,

    /// Exit with 1 if any record of the sources had to be skipped
    #[arg(long, help_heading = RESULTS)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// A source, flag or config is wrong, or the results cannot be written.
pub fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    rows::check(args.parquet)?;
    let stated = args.settings.read(args.config.config.as_deref())?;
    let mut ask = args.decision.ask()?;
    if ask.current.is_none() {
        ask.current.clone_from(&stated.config.edit);
    }
    let loaded = args.source.load()?;
    let (mut transcripts, notes) = prepare(&loaded, &stated)?;
    args.decision.price_refetches(&mut transcripts)?;

    // From here on an interrupt has something to leave behind.
    let stop = progress::interrupt_flag()?;
    let auto = Profile::new(transcripts.iter().map(|t| &t.trace)).auto();
    // What the recommended config is compared with stands in every grid.
    let further: Vec<ClearToolUses> = std::iter::once(ClearToolUses::default()).chain(ask.current.clone()).collect();
    let axes = args.axes.axes();
    let size = Grid::size(&axes, &auto);
    anyhow::ensure!(
        size <= MOST_CONFIGS,
        "the grid has {size} configs; write fewer values or larger steps for --trigger, --keep or --clear-at-least, at most {MOST_CONFIGS} configs"
    );
    let (policies, unfit) = args.policies.configs(&axes, args.shapes.asks(&axes, &auto))?;
    for line in &unfit {
        eprintln!("{line}");
    }
    let mut grid = Grid::new(&axes, &auto, &further);
    for tool in unknown_tools(&grid, &transcripts) {
        eprintln!("{tool:?} is no tool of any transcript, so naming it changes nothing");
    }
    let folder = args.out.clone().unwrap_or_else(|| Path::new("results").join(&loaded.name));

    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.map_or(0, usize::from)).build()?;
    let mut set = OutputSet::new(&folder)?;
    if args.refine {
        pool.install(|| refine(&transcripts, &mut grid, &ask, &stop));
    }
    // Behind the configs among which the choice is made.
    let known: HashSet<Knobs> = grid.configs.iter().cloned().collect();
    grid.configs.extend(policies.into_iter().filter(|config| !known.contains(config)));
    grid.configs.extend(Knobs::all_hindsight(&grid.configs, &stated.config.assume));
    let (outcome, work) = pool.install(|| replay_all(&transcripts, &grid, &ask, &stop, &mut set, args.parquet))?;
    if outcome.transcripts_done < transcripts.len() {
        drop(set);
        return interrupted(&folder, &outcome, transcripts.len());
    }

    let ours = outcome.ours();
    let asked_for = ask.clone();
    let advice = pool.install(|| advise(args, ask, &loaded, &transcripts, &grid, &ours, &stop));
    if stop.load(Ordering::Relaxed) {
        drop(set);
        return interrupted(&folder, &outcome, transcripts.len());
    }
    let findings = pool.install(|| findings_of(&ours, advice.as_ref(), &transcripts));
    let bill = bill_of(&loaded, &transcripts, &stated)?;
    let mut headline = headline(&loaded, &notes, &ours, advice.as_ref(), bill);
    headline.hindsight = Hindsights::of(&outcome.rows);
    set.write("sweep.csv", &csv::sweep(&outcome.rows))?;
    set.write("sweep.json", &report::json::sweep(env!("CARGO_PKG_VERSION"), &outcome, advice.as_ref(), &findings))?;
    for (name, png) in pictures(&headline, &transcripts, &ours, advice.as_ref().map(|a| &a.decision))? {
        set.write(name, &png)?;
    }
    let best = report::best_of_each(&outcome);
    let side_by_side = args.policies.any().then(|| {
        let traps = pool.install(|| best.iter().map(|&i| trap(&outcome.rows[i].knobs, &transcripts)).collect::<Vec<_>>());
        (report::policies_table(&outcome, &best, &traps), traps)
    });
    if let Some((_, traps)) = &side_by_side {
        let title = picture_title(&headline, transcripts.len());
        let view = plot::PoliciesView { title: &title, rows: &outcome.rows, best: &best, traps };
        set.write("policies.png", &plot::policies(&view)?)?;
    }
    let decision = advice.as_ref().map(|advice| &advice.decision);
    let shapes = pool.install(|| args.shapes.answers(&outcome, &asked_for, decision, &transcripts));
    let mut asked = json!({
        "grid": args.axes.asked(),
        "policies": args.policies.asked(),
        "refine": args.refine,
        "choice": args.decision.asked()?,
        "logs": args.source.log.asked(),
        "config_sha256": stated.config_sha256,
    });
    if let Some(shapes) = args.shapes.asked() {
        asked["for"] = shapes;
    }
    let facts = Manifest { asked: &asked, loaded: &loaded, transcripts: &transcripts, notes: &notes, grid: &grid, work };
    let manifest = manifest(&facts);
    let swept =
        Swept { head: &headline, loaded: &loaded, transcripts: &transcripts, outcome: &outcome, advice: advice.as_ref(), shapes: &shapes };
    set.write("report.html", pool.install(|| swept.page(&findings, &manifest)).as_bytes())?;
    // Last, so that a set is whole when its manifest is there.
    set.write("manifest.json", &manifest::bytes(&manifest))?;
    set.commit()?;
    // A set that is complete makes what an interrupted run left behind stale.
    let _ = std::fs::remove_file(folder.join("sweep.partial.csv"));

    output::stdout(answer(&headline, &ours, advice.as_ref()).as_bytes())?;
    if let Some(said) = report::findings_of_answer(&findings) {
        output::stdout(format!("\n{said}").as_bytes())?;
    }
    if let Some((table, _)) = &side_by_side {
        output::stdout(format!("\n{table}").as_bytes())?;
    }
    for shape in &shapes {
        output::stdout(format!("\n{}", shape.text()).as_bytes())?;
    }
    let many = if side_by_side.is_some() { "five" } else { "four" };
    output::stdout(format!("\nThe whole grid, report.html and {many} pictures are in {}\n", folder.display()).as_bytes())?;
    Ok(if args.strict && loaded.lost_something { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Leaves what was done beside the complete set, if there is one.
fn interrupted(folder: &Path, outcome: &Outcome, transcripts: usize) -> anyhow::Result<ExitCode> {
    // Rows over no transcript at all say nothing.
    let rows = if outcome.transcripts_done == 0 { &[][..] } else { &outcome.rows };
    let path = folder.join("sweep.partial.csv");
    output::write_file(&path, &csv::sweep(rows))?;
    eprintln!("interrupted after {} of {transcripts} transcripts; what was done is in {}", outcome.transcripts_done, path.display());
    Ok(ExitCode::from(130))
}

/// Tools that the grid names and no transcript has.
fn unknown_tools<'a>(grid: &'a Grid, transcripts: &[Transcript]) -> BTreeSet<&'a str> {
    let known: BTreeSet<&str> = transcripts.iter().flat_map(|t| &t.trace.tools).map(|tool| tool.name.as_str()).collect();
    let edits = grid.configs.iter().filter_map(|knobs| knobs.edit.as_ref());
    let named = edits.flat_map(|edit| edit.exclude_tools.iter().chain(edit.clear_tool_inputs.tools()));
    named.map(String::as_str).filter(|tool| !known.contains(tool)).collect()
}

/// The transcripts with their settings, and where the prices of each come from.
pub fn prepare(loaded: &Loaded, stated: &super::settings::Stated) -> anyhow::Result<(Vec<Transcript>, Vec<ModelNote>)> {
    let mut transcripts = Vec::with_capacity(loaded.documents.len());
    let mut notes = Vec::with_capacity(loaded.documents.len());
    for document in &loaded.documents {
        let trace = Trace::from_document(document).with_context(|| format!("transcript {}", document.id))?;
        let (settings, note) = stated.settings_of(&trace)?;
        transcripts.push(Transcript { trace, settings });
        notes.push(note);
    }
    anyhow::ensure!(
        transcripts.iter().any(|t| !t.trace.requests.is_empty()),
        "the sources hold no request to replay; name logs with tool uses, or a workload such as research_agent"
    );
    Ok((transcripts, notes))
}

/// Runs the grid, writing the rows of each transcript as it goes.
fn replay_all(
    transcripts: &[Transcript],
    grid: &Grid,
    ask: &Ask,
    stop: &AtomicBool,
    set: &mut OutputSet,
    parquet: bool,
) -> anyhow::Result<(Outcome, Work)> {
    let bar = progress::bar((transcripts.len() * grid.configs.len()) as u64, "replays");
    let priced = transcripts.iter().flat_map(|t| &t.trace.tools).any(|t| t.refetch_usd > 0.0 || t.refetch_seconds > 0.0);
    let mut rows = Rows::new(set, &grid.configs, priced, parquet)?;
    let value = |totals: &Totals| ask.objective.value(totals);
    let value: Option<Value<'_>> = if ask.objective == Objective::default() && !priced { None } else { Some(&value) };
    let swept = run_shared(transcripts, &grid.configs, Sharing::Outcomes, value, stop, &|n| bar.inc(n), |block| {
        let trace = &transcripts[block.transcript].trace;
        rows.add(&trace.id, &trace.session, block.totals)
    });
    let (outcome, work) = swept.and_then(|done| rows.finish().map(|()| done))?;
    bar.finish_and_clear();
    eprintln!("{work}");
    Ok((outcome, work))
}

/// Rounds of refinement; each halves the steps, so that the widest grid is resolved before.
const MOST_ROUNDS: usize = 10;
/// Configs that refinement adds at most.
const MOST_ADDED: usize = 5_000;

/// Adds finer values around the best configs to the grid, until there is nothing finer to try.
fn refine(transcripts: &[Transcript], grid: &mut Grid, ask: &Ask, stop: &AtomicBool) {
    let value = |totals: &Totals| ask.objective.value(totals);
    let replay = |configs: &[Knobs], round: usize| {
        let bar = progress::bar((transcripts.len() * configs.len()) as u64, if round == 0 { "replays" } else { "finer replays" });
        let outcome = run_sweep::<Infallible>(transcripts, configs, Some(&value), stop, &|n| bar.inc(n), |_| Ok(()));
        let Ok(outcome) = outcome;
        bar.finish_and_clear();
        outcome
    };
    let mut outcome = replay(&grid.configs, 0);
    let mut added = 0;
    for round in 1..=MOST_ROUNDS {
        if outcome.transcripts_done < transcripts.len() {
            return;
        }
        let Some(decision) = decide::decide(&outcome, ask) else { return };
        let plateau: BTreeSet<usize> = decision.plateau.iter().flat_map(|p| p.rows.iter().copied()).collect();
        let around: Vec<usize> = plateau.iter().copied().collect();
        let always: Vec<usize> = decision.best.into_iter().chain(decision.knee).chain(decision.front.iter().copied().take(5)).collect();
        let mut next = finer(&outcome.rows, &around, &always, |i| plateau.contains(&i));
        next.truncate(MOST_ADDED - added);
        if next.is_empty() {
            return;
        }
        added += next.len();
        let configs: Vec<Knobs> = std::iter::once(Knobs::none()).chain(next.into_iter().map(Knobs::api)).collect();
        outcome.extend(replay(&configs, round));
        grid.configs.extend(configs.into_iter().skip(1));
    }
}

/// Rows that are replayed under other assumptions beside the recommended one.
const BESIDE: usize = 12;

/// The decision and everything around it.
fn advise(
    args: &SweepArgs,
    mut ask: Ask,
    loaded: &Loaded,
    transcripts: &[Transcript],
    grid: &Grid,
    outcome: &Outcome,
    stop: &AtomicBool,
) -> Option<Advice> {
    let decision = decide_soundly(outcome, &mut ask, transcripts)?;
    let totals: Vec<f64> = (0..outcome.rows.len()).map(|i| (0..outcome.transcripts_done).map(|t| outcome.values(t)[i]).sum()).collect();
    let full = 1..=grid.full;
    let importance = decide::importance(&outcome.rows[full.clone()], &totals[full]);
    let (names, kinds) = kinds(loaded);
    let by_kind = decide::by_kind(outcome, &ask, &kinds, names.len()).map(|by_kind| (names, by_kind));
    let sensitivity = if args.no_sensitivity {
        Vec::new()
    } else {
        let beside: Vec<usize> =
            decision.best.into_iter().chain(decision.runner_up).chain(decision.front.iter().copied()).take(BESIDE).collect();
        let mut standings = Vec::new();
        let mut assumes: Vec<_> = transcripts.iter().map(|t| &t.settings.assume).collect();
        assumes.dedup();
        // All transcripts are read alike: readings come from the command line and the config.
        if let [assume] = assumes.as_slice() {
            let scenarios = scenarios(assume);
            let bar = progress::bar(scenarios.len() as u64, "other assumptions");
            // Where there are too few sessions to recommend a row, the question is whether it would still save.
            let subject = decision.best.filter(|_| decision.verdict == Verdict::TooFewSessions).unwrap_or(decision.row);
            standings = sensitivity(transcripts, &outcome.rows, (subject, &beside), &ask, &scenarios, stop, &|| bar.inc(1));
            bar.finish_and_clear();
        }
        standings
    };
    Some(Advice { ask, decision, importance, by_kind, sensitivity, sessions_per_day: args.decision.sessions_per_day() })
}

/// Rows that are barred one after the other at most.
const MOST_BARRED: usize = 64;

/// Decides, and again without a row that turns out to fire for ever: it is never to be recommended.
fn decide_soundly(outcome: &Outcome, ask: &mut Ask, transcripts: &[Transcript]) -> Option<Decision> {
    for _ in 0..MOST_BARRED {
        let decision = decide::decide(outcome, ask)?;
        let named = decision.best.into_iter().chain(decision.runner_up).filter_map(|i| Some((i, outcome.rows[i].knobs.edit.as_ref()?)));
        let saturated: Vec<usize> = named.filter(|(_, edit)| findings::is_saturated(edit, transcripts)).map(|(i, _)| i).collect();
        if saturated.is_empty() {
            return Some(decision);
        }
        ask.barred.extend(saturated);
    }
    // So many: none of the others is worth a search.
    ask.barred.extend(0..outcome.rows.len());
    decide::decide(outcome, ask)
}

/// What is wrong with the configs that the answer is about: what is recommended, what the team runs, the API's defaults.
fn findings_of(outcome: &Outcome, advice: Option<&Advice>, transcripts: &[Transcript]) -> Vec<RowFindings> {
    let Some(decision) = advice.map(|a| &a.decision) else { return Vec::new() };
    let recommended = [("recommended", decision.row)];
    let others = decision.against.iter().map(|against| (against.other.name(), against.row));
    recommended
        .into_iter()
        .chain(others)
        .map(|(role, row)| RowFindings { role, row, found: findings::find(outcome.rows[row].knobs.edit.as_ref(), transcripts) })
        .collect()
}

/// Kinds of agents: main agents and sub-agents of each source; their names, and the kind of each transcript.
fn kinds(loaded: &Loaded) -> (Vec<String>, Vec<usize>) {
    let mut names: Vec<String> = Vec::new();
    let mut kinds = Vec::with_capacity(loaded.documents.len());
    for part in &loaded.parts {
        for document in &loaded.documents[part.documents.clone()] {
            let sub = document.source.as_ref().and_then(|s| s.get("agent")).is_some_and(|agent| agent == "sub");
            let agent = if sub { "sub-agents" } else { "main agents" };
            let name = if loaded.parts.len() > 1 { format!("{}, {agent}", part.name) } else { agent.to_owned() };
            let kind = names.iter().position(|n| *n == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            kinds.push(kind);
        }
    }
    (names, kinds)
}

/// How the replay without clearing compares with what was billed.
fn bill_of(loaded: &Loaded, transcripts: &[Transcript], stated: &Stated) -> anyhow::Result<Option<String>> {
    let all = loaded.documents.iter().zip(&loaded.recorded_clearing).zip(transcripts);
    Ok(bill_line(&stated.bills(all.map(|((doc, recorded), t)| (doc, recorded, t)))?))
}

fn headline(loaded: &Loaded, notes: &[ModelNote], outcome: &Outcome, advice: Option<&Advice>, bill: Option<String>) -> Headline {
    let assumed = notes.iter().filter(|note| note.is_assumed()).count();
    let mut labels: Vec<String> = notes.iter().map(price_label).collect();
    labels.sort();
    labels.dedup();
    let prices = if labels.len() > 3 { format!("{} models", labels.len()) } else { labels.join(", ") };
    Headline {
        source: loaded.name.clone(),
        prices,
        assumed: notes.iter().find(|note| note.is_assumed()).map(|note| {
            let share = if assumed == notes.len() { String::new() } else { format!(" ({assumed} of {} transcripts)", notes.len()) };
            let note = note.to_string();
            format!("{}{}{share}", note[..1].to_uppercase(), &note[1..])
        }),
        bill,
        hindsight: None,
        paste: advice
            .map(|advice| &advice.decision)
            .filter(|d| d.verdict.clears() && d.verdict != Verdict::ClearWhenCold)
            .and_then(|d| outcome.rows[d.row].knobs.edit.as_ref())
            .map(ClearToolUses::to_json),
    }
}

fn price_label(note: &ModelNote) -> String {
    match note {
        ModelNote::Known { name, .. } => name.clone(),
        ModelNote::Stated => "the command line".to_owned(),
        ModelNote::Assumed { .. } => "claude-sonnet-4-6 (assumed)".to_owned(),
    }
}

fn picture_title(headline: &Headline, transcripts: usize) -> String {
    format!("{} · {} · prices of {}", headline.source, number::count(transcripts as u64, "transcript"), headline.prices)
}

/// The four pictures of a sweep, by file name.
fn pictures(
    headline: &Headline,
    transcripts: &[Transcript],
    outcome: &Outcome,
    choice: Option<&Decision>,
) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let title = picture_title(headline, transcripts.len());
    let front = decide::freed_against_refetches(&outcome.rows);
    let view =
        SweepView { title: &title, rows: &outcome.rows, chosen: choice.map(|c| c.row), front: &front, hindsight: headline.hindsight };
    let mut all = vec![
        ("tradeoff.png", plot::tradeoff(&view)?),
        ("cost_heat_map.png", plot::heat_maps(&view)?),
        ("by_clear_at_least.png", plot::by_clear_at_least(&view)?),
    ];
    // Where clearing does not pay, the picture shows what was turned down.
    let shown = choice.and_then(|c| c.best);
    let median = median_transcript(outcome, choice, shown);
    let transcript = &transcripts[median];
    let mut settings = transcript.settings.clone();
    Knobs::none().apply(&mut settings);
    let none = replay(&transcript.trace, &settings);
    let cleared = shown.map(|row| {
        outcome.rows[row].knobs.apply(&mut settings);
        (&outcome.rows[row].knobs, replay(&transcript.trace, &settings))
    });
    let title = format!(
        "{} · transcript {} of {}, the middle one by cost of those that it changes",
        headline.source,
        median + 1,
        transcripts.len()
    );
    let known = oracle(&mut plain::Engine::default(), &transcript.trace, &transcript.settings);
    settings.edit = None;
    settings.policy = Some(Arc::new(known.policy()));
    let known = replay(&transcript.trace, &settings);
    // As in the sweep: for policies that take results alone.
    let reach = Reach { left: settings.assume.placeholder_tokens, ..Reach::RESULTS };
    let view = ContextView {
        oracle: Some(&known),
        bound: Some(bound(&transcript.trace, &transcript.settings, reach)),
        title: &title,
        none: Some(&none),
        config: cleared.as_ref().map(|(knobs, report)| (*knobs, report)),
        window: transcript.settings.context_window,
    };
    all.push(("context_size.png", plot::context_size(&view)?));
    Ok(all)
}

/// The transcript whose cost without clearing is the middle one, of those where the row `shown` makes a difference.
fn median_transcript(outcome: &Outcome, choice: Option<&Decision>, shown: Option<usize>) -> usize {
    let none = choice.map_or(0, |c| c.none);
    let differs = |t: &usize| shown.is_some_and(|row| outcome.costs[*t][row].total_cmp(&outcome.costs[*t][none]).is_ne());
    let mut order: Vec<usize> = (0..outcome.costs.len()).filter(differs).collect();
    if order.is_empty() {
        order = (0..outcome.costs.len()).collect();
    }
    order.sort_by(|&a, &b| outcome.costs[a][none].total_cmp(&outcome.costs[b][none]).then(a.cmp(&b)));
    order[order.len() / 2]
}
