//! The commands: the only place that touches files, terminal and clock.

pub mod models;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(version, about)]
enum Cli {
    Models(models::ModelsArgs),
}

/// Parses the command line and runs the command.
pub fn run() -> anyhow::Result<ExitCode> {
    match Cli::parse() {
        Cli::Models(args) => models::run(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
