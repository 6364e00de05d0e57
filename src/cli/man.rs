//! `cleartune man`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap_mangen::Man;

use super::output::{self, OutputSet};

/// Man pages: that of cleartune, or those of all commands into a folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune man | man -l -
  cleartune man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for one page a command [default: that of cleartune to standard output]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A page cannot be written.
pub fn run(args: &ManArgs, command: clap::Command) -> anyhow::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    // Names of pages and of what is typed come from this.
    command.build();
    let Some(folder) = &args.folder else { return output::stdout(&page(command)?) };
    let mut set = OutputSet::new(folder)?;
    set.write("cleartune.1", &page(command.clone())?)?;
    for sub in command.get_subcommands() {
        let name = sub.get_display_name().unwrap_or_else(|| sub.get_name()).to_owned();
        set.write(&format!("{name}.1"), &page(sub.clone().version(env!("CARGO_PKG_VERSION")))?)?;
    }
    set.commit()
}

fn page(command: clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Man::new(command).render(&mut bytes).context("the page cannot be rendered")?;
    Ok(bytes)
}
