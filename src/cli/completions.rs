//! `cleartune completions`: what a shell needs to complete commands and flags.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::output;

/// Completions of commands and flags for a shell, to standard output
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune completions bash > ~/.local/share/bash-completion/completions/cleartune
  cleartune completions zsh > ~/.zfunc/_cleartune
  cleartune completions fish > ~/.config/fish/completions/cleartune.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// Those of standard output.
pub fn run(args: &CompletionsArgs, command: &mut Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(args.shell, command, "cleartune", &mut script);
    output::stdout(&script)
}
