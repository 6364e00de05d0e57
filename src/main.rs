//! The command line: parse, run, map the outcome to an exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(error) if cli::output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // One line: the chain of causes, outermost first.
            let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
            eprintln!("cleartune: {}", causes.join(": "));
            ExitCode::from(2)
        }
    }
}
