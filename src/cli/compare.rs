//! `cleartune compare`: the regression gate.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use cleartune::compare::{Gate, Rows, Selection, Threshold, compare};
use cleartune::report::{compare_json, compare_junit, compare_markdown, compare_table};
use cleartune::sweep::Axis;

use super::axes::{each, excluded, inputs};
use super::{output, results};

/// Heading of the flags that select.
const CONFIGS: &str = "Configs (values: 30k; lists: 0,5k,20k; ranges: 30k..150k:10k)";

/// Values to select by.
fn values(text: &str, none_is_zero: bool) -> Result<Axis, String> {
    match Axis::parse(text, none_is_zero).map_err(|e| e.to_string())? {
        Axis::Auto => Err("auto selects nothing; write values such as 30k,60k, or leave the flag out".to_owned()),
        values @ Axis::Values(_) => Ok(values),
    }
}

/// What changed between two result sets, and whether it is too much
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune compare results/baseline results/mine
  cleartune compare results/baseline results/mine --fail-if 'cost_usd > +2%' --fail-if 'refetches > +5%'
  cleartune compare results/baseline results/mine --keep 4 --clear-at-least 10k,20k
  cleartune compare base.json head.json --markdown comment.md --junit report.xml

A VALUE with a sign is a change; one without is a value of HEAD. A change that can be chance (at least 10 sessions, 95 %
interval) does not fail. Exit code 1: a threshold is missed, or --strict found a difference.")]
pub struct CompareArgs {
    /// The earlier results: a folder of sweep, its sweep.csv, sweep.json or per_transcript.csv, or replay --format json;
    /// also compressed (.gz, .zst)
    #[arg(value_name = "BASE")]
    base: PathBuf,

    /// The later results
    #[arg(value_name = "HEAD")]
    head: PathBuf,

    /// Fail when a metric moves so far, such as 'cost_usd > +2%', 'cache_invalidations > +10' or
    /// 'peak_prompt_tokens > 180k'; a metric is a column of sweep.csv; may be given several times
    #[arg(long, value_name = "EXPR", help_heading = "The gate")]
    fail_if: Vec<Threshold>,

    /// Fail also on changes that may be chance
    #[arg(long, help_heading = "The gate")]
    fail_on_noise: bool,

    /// Fail when anything but the results differs: version, price table, inputs, grid, assumptions
    #[arg(long, help_heading = "The gate")]
    strict: bool,

    /// Compare every config that both sides have, not only what you run, what BASE recommends and no clearing; the
    /// ten that changed most are shown
    #[arg(long, conflicts_with_all = ["trigger", "trigger_type", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"], help_heading = CONFIGS)]
    all: bool,

    /// Compare the configs with these values of trigger; further flags narrow them
    #[arg(long, value_name = "VALUES", value_parser = |s: &str| values(s, false), help_heading = CONFIGS)]
    trigger: Option<Axis>,

    /// Compare the configs whose trigger counts this
    #[arg(long, value_name = "TYPE", value_parser = ["input_tokens", "tool_uses"], help_heading = CONFIGS)]
    trigger_type: Option<String>,

    /// Compare the configs with these values of keep
    #[arg(long, value_name = "VALUES", value_parser = |s: &str| values(s, false), help_heading = CONFIGS)]
    keep: Option<Axis>,

    /// Compare the configs with these values of clear_at_least; none is 0
    #[arg(long, value_name = "VALUES", value_parser = |s: &str| values(s, true), help_heading = CONFIGS)]
    clear_at_least: Option<Axis>,

    /// Compare the configs that exclude these sets of tools: tools of a set joined by |, sets by commas, as in none,memory|todo
    #[arg(long, value_name = "SETS", help_heading = CONFIGS)]
    exclude_tools: Option<String>,

    /// Compare the configs with these values of clear_tool_inputs: false, true, or tools joined by |
    #[arg(long, value_name = "VALUES", help_heading = CONFIGS)]
    clear_tool_inputs: Option<String>,

    /// What goes to standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "markdown", "json", "junit"], help_heading = "Output")]
    format: String,

    /// Write Markdown for a pull request here as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    /// Write JUnit XML here as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,

    /// Write JSON here as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
}

impl CompareArgs {
    fn selection(&self) -> Selection {
        let numbers = |axis: &Option<Axis>| match axis {
            Some(Axis::Values(values)) => Some(values.clone()),
            _ => None,
        };
        Selection {
            trigger: numbers(&self.trigger),
            trigger_type: self.trigger_type.clone(),
            keep: numbers(&self.keep),
            clear_at_least: numbers(&self.clear_at_least),
            exclude_tools: self.exclude_tools.as_deref().map(|sets| each(sets, excluded)),
            clear_tool_inputs: self.clear_tool_inputs.as_deref().map(|all| each(all, inputs)),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// A result set cannot be read, or no config stands on both sides.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (base, head) = (results::load(&args.base)?, results::load(&args.head)?);
    let selection = args.selection();
    if let Some(no) = selection.unknown(&base, &head) {
        let known =
            if no.known.is_empty() { "there is no config that clears".to_owned() } else { format!("there are {}", no.known.join(", ")) };
        bail!("{} {}: no config of {} or {} has it; {known}", no.flag, no.value, args.base.display(), args.head.display());
    }
    let rows = match (args.all, selection.is_empty()) {
        (true, _) => Rows::All,
        (false, true) => Rows::Usual,
        (false, false) => Rows::Matching(selection),
    };
    let gate = Gate { rows, thresholds: args.fail_if.clone(), over_noise: args.fail_on_noise, strict: args.strict };
    let comparison = compare(&base, &head, &gate);
    if comparison.rows.is_empty() {
        bail!(
            "no config that is wanted stands in both {} and {}; see --all, or name some by --trigger, --keep and --clear-at-least",
            args.base.display(),
            args.head.display()
        );
    }
    let write = |path: &Option<PathBuf>, bytes: &[u8]| -> anyhow::Result<()> {
        path.as_deref().map_or(Ok(()), |path: &Path| output::write_file(path, bytes))
    };
    write(&args.markdown, compare_markdown(&comparison).as_bytes())?;
    write(&args.junit, compare_junit(&comparison).as_bytes())?;
    write(&args.json, &compare_json(&comparison))?;
    let bytes = match args.format.as_str() {
        "markdown" => compare_markdown(&comparison).into_bytes(),
        "json" => compare_json(&comparison),
        "junit" => compare_junit(&comparison).into_bytes(),
        _ => compare_table(&comparison).into_bytes(),
    };
    output::stdout(&bytes)?;
    Ok(ExitCode::from(u8::from(comparison.failed())))
}
