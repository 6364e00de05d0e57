//! The command line.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run().unwrap_or_else(|error| {
        eprintln!("cleartune: {error:#}");
        ExitCode::from(2)
    })
}
