//! `cleartune man`: the help of every command as manual pages.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;

use super::output::{self, OutputSet};

/// Manual pages: that of cleartune to standard output, or those of all commands into a folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune man | man -l -
  cleartune man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for cleartune.1, cleartune-sweep.1 and so on; made if it is not there
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The pages cannot be written.
pub fn run(args: &ManArgs, command: Command) -> anyhow::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.folder else { return output::stdout(&page(command)?) };
    let mut set = OutputSet::new(folder)?;
    for sub in command.get_subcommands() {
        // A page is named as it is asked for: man cleartune-sweep.
        let name = format!("cleartune-{}", sub.get_name());
        set.write(&format!("{name}.1"), &page(sub.clone().display_name(&name).bin_name(format!("cleartune {}", sub.get_name())))?)?;
    }
    set.write("cleartune.1", &page(command)?)?;
    set.commit()
}

fn page(command: Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    // No date: the same program, the same page.
    Man::new(command).source(concat!("cleartune ", env!("CARGO_PKG_VERSION"))).manual("cleartune").render(&mut page)?;
    Ok(page)
}
