//! `cleartune replay`: one config, request by request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use cleartune::policy::{ClearToolInputs, ClearToolUses, Trigger, size};
use cleartune::replay::{Report, add_by_tool, replay};
use cleartune::report::plot::{self, ContextView};
use cleartune::report::{by_tool_table, csv, json, replay_table, why};
use cleartune::sweep::Knobs;
use cleartune::trace::Trace;

use super::output;
use super::policies::PolicyArgs;
use super::settings::{ConfigArg, SettingsArgs};
use super::source::SourceArgs;

const OUTPUT: &str = "Output";

/// One config, request by request
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune replay workloads/notebook.toml --trigger 30k --keep 4 --clear-at-least 10k
  cleartune replay session.jsonl --config production.json --plot context.png
  cleartune replay traces.trace.jsonl --config production.json --format json

Without --config and without a flag of the edit, nothing is ever cleared.
In the table, a request marked + fetches results again; `broken` is what the cache gave less
for a clear event, `missing` counts needed results that are gone or not fetched again.")]
pub struct ReplayArgs {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    config: ConfigArg,

    #[command(flatten)]
    edit: EditArgs,

    #[command(flatten)]
    policy: PolicyArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = OUTPUT)]
    format: Format,

    /// Every request in the table, however long it gets
    #[arg(long, help_heading = OUTPUT)]
    all: bool,

    /// Instead: what happens to the results of each tool, all transcripts together
    #[arg(long, conflicts_with_all = ["format", "all", "why"], help_heading = OUTPUT)]
    by_tool: bool,

    /// Instead: what the cache gave at this request, and why
    #[arg(long, value_name = "REQUEST", conflicts_with_all = ["format", "all"], help_heading = OUTPUT)]
    why: Option<u32>,

    /// Which transcript --why is about, by id [default: the first]
    #[arg(long, value_name = "ID", requires = "why", help_heading = OUTPUT)]
    transcript: Option<String>,

    /// Draw context size over requests, with and without clearing, into this PNG
    #[arg(long, value_name = "FILE.png", conflicts_with_all = ["by_tool", "why"], help_heading = OUTPUT, value_parser = png)]
    plot: Option<PathBuf>,

    /// Which transcript to draw, by id [default: the first]
    #[arg(long, value_name = "ID", requires = "plot", help_heading = OUTPUT)]
    plot_transcript: Option<String>,
}

/// The edit
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Edit (on top of --config, else of the API's defaults)")]
struct EditArgs {
    /// Input tokens at which clearing begins
    #[arg(long, value_name = "TOKENS", value_parser = size::parse)]
    trigger: Option<u64>,

    /// What --trigger counts
    #[arg(long, value_name = "TYPE", value_parser = ["input_tokens", "tool_uses"])]
    trigger_type: Option<String>,

    /// Newest tool uses that are never cleared
    #[arg(long, value_name = "USES")]
    keep: Option<u32>,

    /// Input tokens that one clear has to free; 0: any
    #[arg(long, value_name = "TOKENS", value_parser = size::parse)]
    clear_at_least: Option<u64>,

    #[arg(long, value_name = "TOOLS", value_delimiter = '|', help = "Tools whose results are never cleared, joined by |; none for none")]
    exclude_tools: Option<Vec<String>>,

    /// Clear tool inputs as well: true, false, or tools joined by |
    #[arg(long, value_name = "TOOLS", value_delimiter = '|')]
    clear_tool_inputs: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, within 80 columns
    Table,
    /// One report a line
    Json,
    /// One row a request
    Csv,
}

fn png(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let other = path.extension().is_some_and(|e| !e.eq_ignore_ascii_case("png"));
    if text == "-" || other { Err("pictures are PNG files; write a name such as context.png".to_owned()) } else { Ok(path) }
}

impl EditArgs {
    /// `edit` with the flags on top; a flag alone starts from the API's defaults.
    fn over(&self, edit: Option<ClearToolUses>) -> Option<ClearToolUses> {
        let flags = self.trigger.is_some()
            || self.trigger_type.is_some()
            || self.keep.is_some()
            || self.clear_at_least.is_some()
            || self.exclude_tools.is_some()
            || self.clear_tool_inputs.is_some();
        if !flags {
            return edit;
        }
        let mut edit = edit.unwrap_or_default();
        let counts_uses = self.trigger_type.as_ref().map_or(matches!(edit.trigger, Trigger::ToolUses(_)), |t| t == "tool_uses");
        let value = self.trigger.unwrap_or(edit.trigger.value());
        edit.trigger = if counts_uses { Trigger::ToolUses(value) } else { Trigger::InputTokens(value) };
        edit.keep = self.keep.unwrap_or(edit.keep);
        edit.clear_at_least = self.clear_at_least.unwrap_or(edit.clear_at_least);
        if let Some(tools) = &self.exclude_tools {
            edit.exclude_tools = tools.iter().filter(|tool| *tool != "none").cloned().collect();
        }
        if let Some(tools) = &self.clear_tool_inputs {
            edit.clear_tool_inputs = match tools.as_slice() {
                [one] if one == "true" => ClearToolInputs::Yes,
                [one] if one == "false" => ClearToolInputs::No,
                tools => ClearToolInputs::Tools(tools.to_vec()),
            };
        }
        Some(edit)
    }
}

/// Runs the command.
///
/// # Errors
/// A source, flag or config is wrong, or the output cannot be written.
pub fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let mut stated = args.settings.read(args.config.config.as_deref())?;
    stated.config.edit = args.edit.over(stated.config.edit);
    if let Some(knobs) = args.policy.one()? {
        ensure!(
            stated.config.edit.is_none(),
            "--policy: stands instead of the edit; leave out --config's edit and the flags of the edit, or write knobs after the name"
        );
        stated.config.edit.clone_from(&knobs.edit);
        stated.policy = Some(knobs);
    }
    let loaded = args.source.load()?;
    ensure!(!loaded.documents.is_empty(), "the sources hold no transcript to replay");

    if let Some(request) = args.why {
        return explain(args, &stated, &loaded.documents, request);
    }
    let mut by_tool = BTreeMap::new();
    let mut reports = Vec::with_capacity(loaded.documents.len());
    let mut assumed = None;
    for document in &loaded.documents {
        let trace = Trace::from_document(document).with_context(|| format!("transcript {}", document.id))?;
        let (settings, note) = stated.settings_of(&trace)?;
        if note.is_assumed() {
            assumed.get_or_insert(note);
        }
        if args.by_tool {
            add_by_tool(&mut by_tool, &trace, &settings);
        } else {
            reports.push(replay(&trace, &settings));
        }
    }
    if let Some(note) = assumed {
        eprintln!("{note}");
    }
    if let Some(path) = &args.plot {
        draw(args, &stated, &loaded.documents, &reports, path)?;
    }
    if args.by_tool {
        output::stdout(by_tool_table(&by_tool).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    match args.format {
        Format::Json => output::stdout(&json::replay(&reports))?,
        Format::Csv => output::stdout(&csv::replay(&reports))?,
        Format::Table => {
            let tables: Vec<String> = reports.iter().map(|report| replay_table(report, args.all)).collect();
            output::stdout(tables.join("\n").as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(
    args: &ReplayArgs,
    stated: &super::settings::Stated,
    documents: &[cleartune::trace::Document],
    request: u32,
) -> anyhow::Result<ExitCode> {
    let document = match &args.transcript {
        None => &documents[0],
        Some(id) => documents
            .iter()
            .find(|d| d.id == *id)
            .with_context(|| format!("--transcript: no transcript {id:?}; the first is {:?}", documents[0].id))?,
    };
    let trace = Trace::from_document(document)?;
    let (settings, _) = stated.settings_of(&trace)?;
    let told = why(document, &trace, &settings, request).with_context(|| {
        format!("--why: no request {request} in transcript {:?}; write 0 to {}", document.id, trace.requests.len().saturating_sub(1))
    })?;
    output::stdout(told.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn draw(
    args: &ReplayArgs,
    stated: &super::settings::Stated,
    documents: &[cleartune::trace::Document],
    reports: &[Report],
    path: &std::path::Path,
) -> anyhow::Result<()> {
    let index = match &args.plot_transcript {
        None => 0,
        Some(id) => documents
            .iter()
            .position(|d| d.id == *id)
            .with_context(|| format!("--plot-transcript: no transcript {id:?}; the first is {:?}", documents[0].id))?,
    };
    let trace = Trace::from_document(&documents[index])?;
    let (mut settings, _) = stated.settings_of(&trace)?;
    let edit = settings.edit.take();
    let knobs = stated.policy.clone().unwrap_or_else(|| edit.map_or_else(Knobs::none, Knobs::api));
    settings.policy = None;
    let none = replay(&trace, &settings);
    let title = format!("transcript {}", trace.id);
    let view = ContextView {
        oracle: None,
        bound: None,
        title: &title,
        none: Some(&none),
        config: (!knobs.is_none()).then_some((&knobs, &reports[index])),
        window: settings.context_window,
    };
    output::write_file(path, &plot::context_size(&view)?)
}
