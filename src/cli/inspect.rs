//! `cleartune inspect`: the workload's profile.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use cleartune::ingest::{ClearingReport, FileReport, RecordedClearing, parse_timestamp};
use cleartune::policy::{ClearToolUses, Settings};
use cleartune::profile::{ClearingFit, Exclusions, Profile, Recorded, Rules, natural_invalidations};
use cleartune::report::plot::{self, ProfileView};
use cleartune::report::{Inspection, RecordedClearingSection, Shown, number, profile_json, profile_table};
use cleartune::sweep::Transcript;
use cleartune::trace::{Document, Trace};

use super::output::{self, OutputSet};
use super::settings::{ConfigArg, SettingsArgs, Stated};
use super::source::{Filter, Loaded, Part, SourceArgs};

/// What a workload looks like: sizes, growth, reuse and the keep curve, pauses, recorded usage
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune inspect ~/.claude/projects --since 2026-05-01 --agent main
  cleartune inspect ~/.claude/projects --project '*shop*' --tool Read --tool Bash
  cleartune inspect logs/ --plots pictures/
  cleartune inspect research_agent logs/ --plots pictures/    (both on one keep curve)
  cleartune inspect logs/ --format json --config production.json

keep_curve.png shows the share of needs and of results that each keep would cut off; result_sizes.png the
results tool by tool; growth.png the prompts request by request; gaps.png the pauses between requests.
The exclusions that are proposed are measured by replaying --config, else the API's defaults.")]
pub struct InspectArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Only transcripts that start then or later: 2026-05-01 (UTC) or 2026-05-01T09:30:00+02:00
    #[arg(long, value_name = "DATE", value_parser = since)]
    since: Option<(String, i64)>,

    /// Only files whose path within its SOURCE has this form: * is any text, ? any one character
    #[arg(long, value_name = "GLOB")]
    project: Option<String>,

    /// Only this tool in tables and pictures by tool. May be repeated
    #[arg(long, value_name = "NAME")]
    tool: Vec<String>,

    /// Rows of each table by tool; 0: all
    #[arg(long, value_name = "N", default_value_t = 8)]
    top: usize,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Draw the keep curve, result sizes, growth and pauses as PNG files into this folder
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,

    #[command(flatten)]
    config: ConfigArg,

    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, within 80 columns
    Table,
    /// One object with everything
    Json,
}

fn since(text: &str) -> Result<(String, i64), String> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    match parse_timestamp(&whole) {
        Some(instant) => Ok((text.to_owned(), instant.ms)),
        None => Err("write a date such as 2026-05-01, or a time such as 2026-05-01T09:30:00Z".to_owned()),
    }
}

/// Runs the command.
///
/// # Errors
/// A source, filter or config is wrong, nothing is left to look at, or the output cannot be written.
pub fn run(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let stated = args.settings.read(args.config.config.as_deref())?;
    let filter = Filter { project: args.project.clone(), since: args.since.clone() };
    let loaded = args.source.load_where(&filter)?;
    let mut all = Vec::with_capacity(loaded.parts.len());
    for part in &loaded.parts {
        if part.documents.is_empty() {
            eprintln!("{}: no transcript is left of it", part.name);
            continue;
        }
        all.push(inspect(part, &loaded, &stated)?);
    }
    check_tools(&args.tool, &all)?;
    let shown = Shown { tools: args.tool.clone(), top: args.top };
    if let Some(folder) = &args.plots {
        let sources: Vec<(&str, &Profile)> = all.iter().map(|one| (one.name.as_str(), &one.profile)).collect();
        let view = ProfileView { sources: &sources, tools: &args.tool };
        let mut set = OutputSet::new(folder)?;
        set.write("keep_curve.png", &plot::keep_curve(&view)?)?;
        set.write("result_sizes.png", &plot::result_sizes(&view)?)?;
        set.write("growth.png", &plot::growth(&view)?)?;
        set.write("gaps.png", &plot::gaps(&view)?)?;
        set.commit()?;
    }
    match args.format {
        Format::Json => output::stdout(&profile_json(&all, &shown))?,
        Format::Table => {
            let tables: Vec<String> = all.iter().map(|one| profile_table(one, &shown)).collect();
            output::stdout(tables.join("\n\n").as_bytes())?;
        }
    }
    if let Some(folder) = &args.plots {
        eprintln!("keep_curve.png, result_sizes.png, growth.png, gaps.png are in {}", folder.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn inspect(part: &Part, loaded: &Loaded, stated: &Stated) -> anyhow::Result<Inspection> {
    let documents = &loaded.documents[part.documents.clone()];
    let recorded = &loaded.recorded_clearing[part.documents.clone()];
    let mut transcripts = Vec::with_capacity(documents.len());
    let mut dollars_assumed = false;
    for document in documents {
        let trace = Trace::from_document(document).with_context(|| format!("transcript {}", document.id))?;
        let (settings, note) = stated.settings_of(&trace)?;
        dollars_assumed |= note.is_assumed();
        transcripts.push(Transcript { trace, settings });
    }
    let profile = Profile::new(documents.iter().zip(transcripts.iter().map(|t| &t.trace)));
    let edit = stated.config.edit.clone();
    let config = edit.as_ref().map_or("the API's defaults".to_owned(), |_| "the config given".to_owned());
    let edit = edit.unwrap_or_default();
    Ok(Inspection {
        name: part.name.clone(),
        recorded: predicted(documents, recorded, &transcripts, stated)?,
        recorded_clearing: recorded_clearing(&loaded.reports[part.reports.clone()], recorded)?,
        natural_invalidations: natural_invalidations(documents, &transcripts),
        bill: stated.bills(documents.iter().zip(recorded).zip(&transcripts).map(|((doc, recorded), t)| (doc, recorded, t)))?,
        config: format!("{config} ({})", words(&edit)),
        exclusions: Exclusions::new(&profile, &transcripts, &edit, Rules::default()),
        profile,
        dollars_assumed,
        files: loaded.reports[part.reports.clone()].iter().map(Into::into).collect(),
    })
}

/// What logs recorded with clearing on show of it.
fn recorded_clearing(reports: &[FileReport], recorded: &[Option<RecordedClearing>]) -> anyhow::Result<Option<RecordedClearingSection>> {
    let mut log = ClearingReport::default();
    for report in reports {
        log.add(&report.clearing);
    }
    if !log.is_on() {
        return Ok(None);
    }
    Ok(Some(RecordedClearingSection { log, fit: ClearingFit::new(recorded.iter().flatten())? }))
}

/// Predicted against recorded usage: without clearing, or under the recorded config.
fn predicted(
    documents: &[Document],
    recorded: &[Option<RecordedClearing>],
    transcripts: &[Transcript],
    stated: &Stated,
) -> anyhow::Result<Option<Recorded>> {
    let as_recorded =
        recorded.iter().map(|r| r.as_ref().map(|r| stated.settings_as_recorded(r)).transpose()).collect::<Result<Vec<_>, _>>()?;
    let all = documents.iter().zip(transcripts).zip(recorded.iter().zip(&as_recorded));
    Ok(Recorded::under(all.map(|((doc, t), (recorded, replayed))| match (recorded, replayed) {
        (Some(recorded), Some((trace, settings))) => (recorded.document(), trace, settings.clone()),
        _ => (doc, &t.trace, Settings { edit: None, ..t.settings.clone() }),
    })))
}

fn words(edit: &ClearToolUses) -> String {
    let size = |n: u64| number::short(n as f64);
    let unit = if edit.trigger.type_name() == "tool_uses" { " tool uses" } else { "" };
    format!("trigger {}{unit}, keep {}, clear_at_least {}", size(edit.trigger.value()), edit.keep, size(edit.clear_at_least))
}

fn check_tools(wanted: &[String], all: &[Inspection]) -> anyhow::Result<()> {
    for name in wanted {
        let mut known: Vec<&str> = all.iter().flat_map(|one| one.profile.tools.iter().map(|t| t.name.as_str())).collect();
        if known.contains(&name.as_str()) {
            continue;
        }
        known.sort_unstable();
        known.dedup();
        known.sort_by_key(|k| strsim::damerau_levenshtein(&k.to_lowercase(), &name.to_lowercase()));
        known.truncate(5);
        match known.as_slice() {
            [] => bail!("--tool {name}: the transcripts use no tool"),
            near => bail!("--tool {name}: no transcript uses such a tool; write one of {}", near.join(", ")),
        }
    }
    Ok(())
}
