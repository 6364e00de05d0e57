//! `cleartune compare`: the regression gate.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use cleartune::compare::{Rows, Threshold, compare};
use cleartune::report::{compare_json, compare_junit, compare_markdown, compare_table};
use cleartune::sweep::{Grid, Profile};

use super::axes::AxesArgs;
use super::{output, results};

/// What changed between two result sets, and whether it is too much
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune compare results/baseline results/mine
  cleartune compare results/baseline results/mine --fail-if 'cost_usd > +2%' --fail-if 'refetches > +5%'
  cleartune compare base.json head.json --markdown comment.md --junit report.xml

A VALUE with a sign is a change; one without is a value of HEAD. A change that can be chance (at least 10 sessions, 95 %
interval) does not fail. Exit code 1: a threshold is missed.")]
pub struct CompareArgs {
    /// The earlier results: a folder of sweep, its sweep.csv, sweep.json or per_transcript.csv, or replay --format json
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

    /// Compare every config that both sides have, not only what you run, what BASE recommends and no clearing
    #[arg(long, conflicts_with_all = ["trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"], help_heading = "Configs")]
    all: bool,

    #[command(flatten)]
    axes: AxesArgs,

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

/// Runs the command.
///
/// # Errors
/// A result set cannot be read, or no config stands on both sides.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (base, head) = (results::load(&args.base)?, results::load(&args.head)?);
    let wanted = if args.all {
        Rows::All
    } else if args.axes.is_default() {
        Rows::Usual
    } else {
        let grid = Grid::new(&args.axes.axes(), &Profile::default().auto(), &[]);
        Rows::Named(grid.configs.into_iter().skip(1).collect())
    };
    let comparison = compare(&base, &head, &wanted, &args.fail_if, args.fail_on_noise);
    if comparison.rows.is_empty() {
        bail!(
            "no config that is wanted stands in both {} and {}; see --all, or name one by --trigger, --keep and --clear-at-least",
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
    let refused = args.strict && !(comparison.changed.is_empty() && comparison.missing.is_empty());
    if refused {
        let what: Vec<&str> = comparison.changed.iter().map(|c| c.what).collect();
        let what = if what.is_empty() { "configs stand on one side only".to_owned() } else { what.join(", ") };
        eprintln!("--strict: more than the results differs: {what}");
    }
    Ok(ExitCode::from(u8::from(refused || comparison.failed())))
}
