//! The command line.

mod cli;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Find the right trigger, keep and `clear_at_least` for your own agent.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Import(cli::import::ImportArgs),
}

fn main() -> ExitCode {
    let Command::Import(args) = Args::parse().command;
    match cli::import::run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
