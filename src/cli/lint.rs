//! `cleartune lint`: what is wrong or pointless in a config, alone or on a workload.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use cleartune::findings::{Severity, find, find_alone};
use cleartune::report::{LINT_SCHEMA, findings_json, findings_markdown, findings_summary, findings_table};
use cleartune::trace::{Document, Trace};
use serde_json::json;

use super::logs::LogArgs;
use super::output;
use super::settings::SettingsArgs;
use super::source::SourceArgs;
use super::sweep::prepare;

/// What is wrong or pointless in a config, alone or on a workload
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune lint context_management.json
  cleartune lint context_management.json ~/.claude/projects
  cleartune lint config.toml research_agent --format markdown --fail-on error

Exit code 1: something as bad as --fail-on is found.")]
pub struct LintArgs {
    /// The context_management object that you run, with assume, cache, price beside it (JSON or TOML)
    #[arg(value_name = "CONFIG")]
    config: PathBuf,

    /// What to try it on: a workload, a trace file, an agent's log, a folder of these, or - for standard input
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// What goes to standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "markdown", "json"], help_heading = "Output")]
    format: String,

    /// The least severity that makes the exit code 1
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = ["error", "warning", "note", "never"], help_heading = "Output")]
    fail_on: String,
}

/// Runs the command.
///
/// # Errors
/// The config or a source cannot be read.
pub fn run(args: &LintArgs) -> anyhow::Result<ExitCode> {
    let stated = args.settings.read(Some(&args.config))?;
    let shown = args.config.display();
    let edit = stated.config.edit.as_ref();
    let (found, on) = if args.sources.is_empty() {
        let edit = edit.with_context(|| {
            format!("{shown}: holds no clear_tool_uses_20250919 edit; write the context_management object that you run, or name a SOURCE to see what clearing could do there")
        })?;
        // Window and smallest cacheable prefix follow from a model that the config names.
        let empty = Trace::from_document(&Document { schema: cleartune::trace::SCHEMA.to_owned(), ..Document::default() })?;
        let (settings, note) = stated.settings_of(&empty)?;
        let least = (!note.is_assumed()).then_some(settings.cache.min_tokens);
        (find_alone(edit, &settings.assume, settings.context_window, least), String::new())
    } else {
        let loaded = SourceArgs { sources: args.sources.clone(), log: args.log.clone() }.load()?;
        let (transcripts, _) = prepare(&loaded, &stated)?;
        let on = format!(" on {} ({})", loaded.name, cleartune::report::number::count(transcripts.len() as u64, "transcript"));
        (find(edit, &transcripts), on)
    };
    let bytes = match args.format.as_str() {
        "json" => {
            let all = json!({"schema": LINT_SCHEMA, "findings": findings_json(&found)});
            let mut bytes = serde_json::to_vec_pretty(&all)?;
            bytes.push(b'\n');
            bytes
        }
        "markdown" => findings_markdown(&found).into_bytes(),
        _ => format!("{}{on}: {}\n{}", args.config.display(), findings_summary(&found), findings_table(&found)).into_bytes(),
    };
    output::stdout(&bytes)?;
    let least = match args.fail_on.as_str() {
        "error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "note" => Some(Severity::Note),
        _ => None,
    };
    Ok(ExitCode::from(u8::from(least.is_some_and(|least| found.iter().any(|f| f.severity >= least)))))
}
