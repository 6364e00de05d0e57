//! The commands: the only place that touches files, terminal and clock.

// Doc comments of arguments are the help that users read on a terminal, where backticks are noise.
#![allow(clippy::doc_markdown)]

mod axes;
mod compare;
mod completions;
mod decision;
mod events;
mod generate;
mod import;
mod inspect;
mod lint;
mod logs;
mod man;
mod manifest;
mod models;
pub mod output;
mod page;
mod paste;
mod policies;
mod progress;
mod read_report;
mod recommend;
mod replay;
mod results;
mod schema;
mod settings;
mod source;
mod sweep;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Finds the trigger, keep and clear_at_least of tool-result clearing that suit your own agent
///
/// Without a command it does the main job: the grid over the shipped research-agent workload, with results under
/// results/research_agent/ and a short answer on the terminal.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = false,
    max_term_width = 100,
    after_help = "Examples:
  cleartune                                   the main job
  cleartune sweep ~/.claude/projects          the same on your own logs
  cleartune replay session.jsonl --trigger 60k --keep 5 --clear-at-least 20k

Exit codes: 0 done; 1 a threshold was missed (compare, lint, --strict); 2 usage or input error."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sweep(sweep::SweepArgs),
    Recommend(recommend::RecommendArgs),
    Compare(compare::CompareArgs),
    Replay(replay::ReplayArgs),
    Generate(generate::GenerateArgs),
    Import(import::ImportArgs),
    Inspect(inspect::InspectArgs),
    Lint(lint::LintArgs),
    Policies(policies::PoliciesArgs),
    Models(models::ModelsArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Parses the command line and runs the command.
///
/// # Errors
/// Whatever the command could not do.
pub fn run() -> anyhow::Result<ExitCode> {
    let command = Cli::parse().command.unwrap_or_else(|| {
        let main_job = Cli::parse_from(["cleartune", "sweep", "research_agent"]);
        main_job.command.expect("the main job is a command")
    });
    match command {
        Command::Sweep(args) => sweep::run(&args),
        Command::Recommend(args) => recommend::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Generate(args) => generate::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Import(args) => import::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Policies(args) => policies::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Models(args) => models::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Schema(args) => schema::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Completions(args) => completions::run(&args, Cli::command()).map(|()| ExitCode::SUCCESS),
        Command::Man(args) => man::run(&args, Cli::command()).map(|()| ExitCode::SUCCESS),
    }
}
