//! `cleartune sweep`, and the main job.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Args;
use cleartune::decide::{self, Choice, Verdict};
use cleartune::policy::ClearToolUses;
use cleartune::price::ModelNote;
use cleartune::replay::replay;
use cleartune::report::plot::{self, ContextView, SweepView};
use cleartune::report::{self, Headline, answer, bill, bill_line, by_session, csv, number};
use cleartune::sweep::{Grid, Outcome, Profile, Transcript, run as run_sweep};
use cleartune::trace::Trace;
use serde_json::json;

use super::axes::AxesArgs;
use super::manifest::{Manifest, manifest};
use super::output::{self, OutputSet};
use super::progress;
use super::settings::{ConfigArg, SettingsArgs};
use super::source::{Loaded, SourceArgs};

const RESULTS: &str = "Results";
/// Some minutes of work and a gigabyte of rows; more is taken for a slip of the pen.
const MOST_CONFIGS: u128 = 5_000_000;

/// Every config of a grid over every transcript, and the answer
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune sweep ~/.claude/projects
  cleartune sweep workloads/coding_agent.toml --keep 3..30:3 --clear-at-least 0,10k,40k
  cleartune sweep logs/ --price claude-haiku-4-5 --exclude-tools 'none,memory|todo' --out results/mine")]
pub struct SweepArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Folder for the results [default: results/NAME of the first source]
    #[arg(long, value_name = "DIR", help_heading = RESULTS)]
    out: Option<PathBuf>,

    #[command(flatten)]
    axes: AxesArgs,

    #[command(flatten)]
    config: ConfigArg,

    #[command(flatten)]
    settings: SettingsArgs,

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
    let stated = args.settings.read(args.config.config.as_deref())?;
    let loaded = args.source.load()?;
    let (transcripts, notes) = prepare(&loaded, &stated)?;

    // From here on an interrupt has something to leave behind.
    let stop = progress::interrupt_flag()?;
    let auto = Profile::new(transcripts.iter().map(|t| &t.trace)).auto();
    let current: Vec<_> = stated.config.edit.iter().cloned().collect();
    let axes = args.axes.axes();
    let size = Grid::size(&axes, &auto);
    anyhow::ensure!(
        size <= MOST_CONFIGS,
        "the grid has {size} configs; write fewer values or larger steps for --trigger, --keep or --clear-at-least, at most {MOST_CONFIGS} configs"
    );
    let grid = Grid::new(&axes, &auto, &current);
    for tool in unknown_tools(&grid, &transcripts) {
        eprintln!("{tool:?} is no tool of any transcript, so naming it changes nothing");
    }
    let folder = args.out.clone().unwrap_or_else(|| Path::new("results").join(&loaded.name));

    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.map_or(0, usize::from)).build()?;
    let mut set = OutputSet::new(&folder)?;
    let outcome = pool.install(|| replay_all(&transcripts, &grid, &stop, &mut set))?;
    if outcome.transcripts_done < transcripts.len() {
        drop(set);
        // Rows over no transcript at all say nothing.
        let rows = if outcome.transcripts_done == 0 { &[][..] } else { &outcome.rows };
        output::write_file(&folder.join("sweep.partial.csv"), &csv::sweep(rows))?;
        eprintln!(
            "interrupted after {} of {} transcripts; what was done is in {}",
            outcome.transcripts_done,
            transcripts.len(),
            folder.join("sweep.partial.csv").display()
        );
        return Ok(ExitCode::from(130));
    }

    let choice = decide::choose(&outcome);
    let bill = bill_of(&loaded, &transcripts)?;
    let headline = headline(&loaded, &transcripts, &notes, &outcome, choice.as_ref(), bill);
    set.write("sweep.csv", &csv::sweep(&outcome.rows))?;
    set.write("sweep.json", &report::json::sweep(env!("CARGO_PKG_VERSION"), &outcome, choice.as_ref()))?;
    for (name, png) in pictures(&headline, &transcripts, &outcome, choice.as_ref())? {
        set.write(name, &png)?;
    }
    // Last, so that a set is whole when its manifest is there.
    let asked = json!({"grid": args.axes.asked(), "logs": args.source.log.asked(), "config_sha256": stated.config_sha256});
    let facts = Manifest { asked: &asked, loaded: &loaded, transcripts: &transcripts, notes: &notes, grid: &grid };
    set.write("manifest.json", &manifest(&facts))?;
    set.commit()?;
    // A set that is complete makes what an interrupted run left behind stale.
    let _ = std::fs::remove_file(folder.join("sweep.partial.csv"));

    output::stdout(answer(&headline, &outcome, choice.as_ref()).as_bytes())?;
    output::stdout(format!("\nThe whole grid and four pictures are in {}\n", folder.display()).as_bytes())?;
    Ok(if args.strict && loaded.lost_something { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Tools that the grid names and no transcript has.
fn unknown_tools<'a>(grid: &'a Grid, transcripts: &[Transcript]) -> BTreeSet<&'a str> {
    let known: BTreeSet<&str> = transcripts.iter().flat_map(|t| &t.trace.tools).map(|tool| tool.name.as_str()).collect();
    let edits = grid.configs.iter().filter_map(|knobs| knobs.edit.as_ref());
    let named = edits.flat_map(|edit| edit.exclude_tools.iter().chain(edit.clear_tool_inputs.tools()));
    named.map(String::as_str).filter(|tool| !known.contains(tool)).collect()
}

/// The transcripts with their settings, and where the prices of each come from.
fn prepare(loaded: &Loaded, stated: &super::settings::Stated) -> anyhow::Result<(Vec<Transcript>, Vec<ModelNote>)> {
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

/// Runs the grid, writing `per_transcript.csv` as it goes.
fn replay_all(transcripts: &[Transcript], grid: &Grid, stop: &AtomicBool, set: &mut OutputSet) -> anyhow::Result<Outcome> {
    let bar = progress::bar((transcripts.len() * grid.configs.len()) as u64, "replays");
    let mut per_transcript = csv::PerTranscript::new(set.create("per_transcript.csv")?, &grid.configs)?;
    let outcome = run_sweep(transcripts, &grid.configs, stop, &|n| bar.inc(n), |block| {
        let trace = &transcripts[block.transcript].trace;
        per_transcript.add(&trace.id, &trace.session, block.totals)
    })
    .and_then(|outcome| per_transcript.finish().map(|_| outcome))
    .context("per_transcript.csv: cannot be written")?;
    bar.finish_and_clear();
    Ok(outcome)
}

/// How the replay without clearing compares with what was billed.
fn bill_of(loaded: &Loaded, transcripts: &[Transcript]) -> anyhow::Result<Option<String>> {
    let billed = loaded.documents.iter().zip(transcripts).filter(|(doc, _)| doc.requests.iter().any(|r| r.usage.is_some()));
    let checks = billed.map(|(doc, t)| bill(doc, &t.settings)).collect::<Result<Vec<_>, _>>()?;
    Ok(bill_line(&by_session(&checks)))
}

fn headline(
    loaded: &Loaded,
    transcripts: &[Transcript],
    notes: &[ModelNote],
    outcome: &Outcome,
    choice: Option<&Choice>,
    bill: Option<String>,
) -> Headline {
    let mut sessions: Vec<&str> = transcripts.iter().map(|t| t.trace.session.as_str()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let assumed = notes.iter().filter(|note| note.is_assumed()).count();
    let mut labels: Vec<String> = notes.iter().map(price_label).collect();
    labels.sort();
    labels.dedup();
    let prices = if labels.len() > 3 { format!("{} models", labels.len()) } else { labels.join(", ") };
    Headline {
        source: loaded.name.clone(),
        sessions: sessions.len(),
        prices,
        assumed: notes.iter().find(|note| note.is_assumed()).map(|note| {
            let share = if assumed == notes.len() { String::new() } else { format!(" ({assumed} of {} transcripts)", notes.len()) };
            let note = note.to_string();
            format!("{}{}{share}", note[..1].to_uppercase(), &note[1..])
        }),
        bill,
        paste: choice
            .filter(|c| c.verdict != Verdict::DoNotClear)
            .and_then(|c| outcome.rows[c.row].knobs.edit.as_ref())
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

/// The four pictures of a sweep, by file name.
fn pictures(
    headline: &Headline,
    transcripts: &[Transcript],
    outcome: &Outcome,
    choice: Option<&Choice>,
) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let title = format!("{} · {} · prices of {}", headline.source, number::count(transcripts.len() as u64, "transcript"), headline.prices);
    let front = decide::freed_against_refetches(&outcome.rows);
    let view = SweepView { title: &title, rows: &outcome.rows, chosen: choice.map(|c| c.row), front: &front };
    let mut all = vec![
        ("tradeoff.png", plot::tradeoff(&view)?),
        ("cost_heat_map.png", plot::heat_maps(&view)?),
        ("by_clear_at_least.png", plot::by_clear_at_least(&view)?),
    ];
    let median = median_transcript(transcripts, outcome, choice);
    let transcript = &transcripts[median];
    let mut settings = transcript.settings.clone();
    settings.edit = None;
    let none = replay(&transcript.trace, &settings);
    // Where clearing does not pay, the picture shows what was turned down.
    let shown = choice.and_then(|c| if c.verdict == Verdict::DoNotClear { c.cheapest } else { Some(c.row) });
    let cleared = shown.map(|row| {
        settings.edit.clone_from(&outcome.rows[row].knobs.edit);
        (&outcome.rows[row].knobs, replay(&transcript.trace, &settings))
    });
    let title = format!("{} · transcript {} of {}, the middle one by cost", headline.source, median + 1, transcripts.len());
    let view = ContextView {
        title: &title,
        none: Some(&none),
        config: cleared.as_ref().map(|(knobs, report)| (*knobs, report)),
        window: transcript.settings.context_window,
    };
    all.push(("context_size.png", plot::context_size(&view)?));
    Ok(all)
}

/// The transcript whose cost without clearing is the middle one.
fn median_transcript(transcripts: &[Transcript], outcome: &Outcome, choice: Option<&Choice>) -> usize {
    let none = choice.map_or(0, |c| c.none);
    let mut order: Vec<usize> = (0..transcripts.len()).collect();
    order.sort_by(|&a, &b| outcome.costs[a][none].total_cmp(&outcome.costs[b][none]).then(a.cmp(&b)));
    order[order.len() / 2]
}
