//! `cleartune schema`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use cleartune::report::schema::SCHEMAS;

use super::output::{self, OutputSet};

/// JSON Schemas of the files that are read and written
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune schema
  cleartune schema sweep > sweep.schema.json
  cleartune schema --out schemas/")]
pub struct SchemaArgs {
    /// The kind of file [default: a list of them]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(SCHEMAS.map(|schema| schema.name)))]
    name: Option<String>,

    /// Write all of them into this folder, as NAME.json
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A file cannot be written.
pub fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    if let Some(folder) = &args.out {
        let mut set = OutputSet::new(folder)?;
        for schema in SCHEMAS {
            set.write(&format!("{}.json", schema.name), schema.text.as_bytes())?;
        }
        return set.commit();
    }
    let one = args.name.as_ref().and_then(|name| SCHEMAS.into_iter().find(|schema| schema.name == name));
    if let Some(schema) = one {
        return output::stdout(schema.text.as_bytes());
    }
    let mut list = String::new();
    for schema in SCHEMAS {
        let _ = writeln!(list, "{:<20} {}", schema.name, schema.files);
    }
    output::stdout(list.as_bytes())
}
