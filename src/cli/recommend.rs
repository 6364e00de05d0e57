//! `cleartune recommend`: the answer from an earlier sweep.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;
use cleartune::decide::sensitivity::Standing;
use cleartune::decide::{self, Advice};
use cleartune::findings::{Finding, Id, Severity};
use cleartune::policy::ClearToolUses;
use cleartune::report::snippets::Shape;
use cleartune::report::{Headline, Hindsights, RowFindings, answer, findings_of_answer, wrapped};
use serde_json::Value;

use super::decision::DecisionArgs;
use super::{output, paste, results};

/// The answer from an earlier sweep, without running it again
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune recommend results/research_agent
  cleartune recommend results/mine --paste python > clearing.py
  cleartune recommend results/mine --objective prompt_tokens --max-refetches-per-100 2
  cleartune recommend results/mine --lost-need-cost 0.05 --sessions-per-day 200")]
pub struct RecommendArgs {
    /// A folder that sweep wrote
    #[arg(value_name = "RESULTS")]
    results: PathBuf,

    /// Print the config alone, in this shape, ready to redirect; exits with 1 where there is nothing to paste
    #[arg(long, value_name = "SHAPE", value_parser = paste::shapes())]
    paste: Option<String>,

    #[command(flatten)]
    decision: DecisionArgs,
}

/// Runs the command.
///
/// # Errors
/// The results cannot be read, or lack what the choice is made from.
pub fn run(args: &RecommendArgs) -> anyhow::Result<ExitCode> {
    let shown = args.results.display();
    let mut ask = args.decision.ask()?;
    ensure!(
        !args.decision.prices_refetches(),
        "--refetch-costs goes into the replays; give it to sweep (which keeps what re-fetches cost in its results)"
    );
    let set = results::load(&args.results)?;
    if ask.current.is_none() {
        // What the sweep was told that the team runs.
        ask.current = recorded_current(&set.rows, set.answer.as_ref());
    }
    let all = set
        .outcome(|totals| ask.objective.value(totals))
        .with_context(|| format!("{shown}: holds no per_transcript.csv, which the choice is made from; sweep again"))?;
    let outcome = all.ours();
    if let Some(edit) = &ask.current {
        ensure!(
            outcome.rows.iter().any(|row| row.knobs.edit.as_ref() == Some(edit)),
            "--current: its config is no row of {shown}; sweep again with --current"
        );
    }
    if let Some(shape) = args.paste.as_deref().and_then(Shape::named) {
        return match paste::from_results(shape, &shown.to_string(), &all, &ask)?.alone() {
            Ok(snippet) => {
                output::stdout(format!("{}\n", snippet.text).as_bytes())?;
                if !snippet.note.is_empty() {
                    eprintln!("{}", wrapped(&snippet.note, 80));
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(why) => {
                eprintln!("{why}");
                Ok(ExitCode::from(1))
            }
        };
    }
    let decision = decide::decide(&outcome, &ask).with_context(|| format!("{shown}: holds no row none; sweep again"))?;
    let full = set.manifest.as_ref().and_then(|m| m["full_grid_configs"].as_u64()).unwrap_or(0) as usize;
    let totals: Vec<f64> = (0..outcome.rows.len()).map(|i| (0..outcome.transcripts_done).map(|t| outcome.values(t)[i]).sum()).collect();
    let importance = if full < outcome.rows.len() { decide::importance(&outcome.rows[1..=full], &totals[1..=full]) } else { Vec::new() };
    // Other assumptions need the transcripts; what the sweep found holds for the row and the objective that it was found for.
    let same = set.answer.as_ref().filter(|a| {
        a["row"] == decision.row
            && a["objective"]["metric"] == ask.objective.metric.name()
            && a["objective"]["lost_need_cost_usd"] == ask.objective.lost_need_cost
    });
    let known = same.is_some();
    let sensitivity = same.and_then(|a| a["sensitivity"].as_array()).map_or_else(Vec::new, |all| all.iter().filter_map(standing).collect());
    let paste = (decision.verdict.clears()).then(|| outcome.rows[decision.row].knobs.edit.as_ref().map(ClearToolUses::to_json)).flatten();
    let headline = Headline {
        source: results::name(&args.results),
        prices: prices(set.manifest.as_ref()),
        paste,
        hindsight: Hindsights::of(&set.rows),
        ..Headline::default()
    };
    let advice = Advice { ask, decision, importance, by_kind: None, sensitivity, sessions_per_day: args.decision.sessions_per_day() };
    output::stdout(answer(&headline, &outcome, Some(&advice)).as_bytes())?;
    let found: Vec<RowFindings> = if known { set.findings.iter().filter_map(row_findings).collect() } else { Vec::new() };
    if let Some(said) = findings_of_answer(&found) {
        output::stdout(format!("\n{said}").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn recorded_current(rows: &[cleartune::sweep::ConfigRow], answer: Option<&Value>) -> Option<ClearToolUses> {
    let current = answer?["against"].as_array()?.iter().find(|o| o["other"] == "current")?;
    rows.get(current["row"].as_u64()? as usize)?.knobs.edit.clone()
}

fn standing(value: &Value) -> Option<Standing> {
    Some(Standing {
        name: value["assumption"].as_str()?.to_owned(),
        stands: value["stands"].as_bool()?,
        saving: value["saving"].as_f64()?,
        lost: value["lost_or_unmet_needs"].as_u64()?,
        best: value["best"].as_u64().map(|n| n as usize),
        best_saving: value["best_saving"].as_f64()?,
    })
}

fn row_findings(value: &Value) -> Option<RowFindings> {
    let role = ["recommended", "current", "api_defaults"].into_iter().find(|role| value["config"] == *role)?;
    let finding = |f: &Value| {
        let severity = match f["severity"].as_str()? {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Note,
        };
        let text = |name: &str| f[name].as_str().map(str::to_owned);
        Some(Finding {
            id: Id::named(f["id"].as_str()?)?,
            severity,
            evidence: text("evidence")?,
            numbers: Vec::new(),
            remedy: text("remedy")?,
        })
    };
    Some(RowFindings {
        role,
        row: value["row"].as_u64()? as usize,
        found: value["findings"].as_array()?.iter().filter_map(finding).collect(),
    })
}

/// The models of the manifest: `prices of claude-sonnet-4-6, named by the trace` is the first's.
fn prices(manifest: Option<&Value>) -> String {
    let names: Vec<&str> = manifest
        .and_then(|m| m["settings"].as_object())
        .into_iter()
        .flat_map(|settings| settings.keys())
        .map(|key| key.strip_prefix("prices of ").and_then(|rest| rest.split(',').next()).unwrap_or("what was assumed or stated"))
        .collect();
    match names.as_slice() {
        [] => "the earlier sweep".to_owned(),
        [one] => (*one).to_owned(),
        many => format!("{} models", many.len()),
    }
}
