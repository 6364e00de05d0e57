//! `cleartune completions`.

use clap::Args;
use clap_complete::Shell;

use super::output;

/// Completions for a shell, to standard output
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune completions bash > ~/.local/share/bash-completion/completions/cleartune
  cleartune completions zsh > ~/.zfunc/_cleartune
  cleartune completions fish > ~/.config/fish/completions/cleartune.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &CompletionsArgs, mut command: clap::Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "cleartune", &mut script);
    output::stdout(&script)
}
