//! `cleartune schema`: the shape of every file, as JSON Schema.

use std::path::PathBuf;

use clap::Args;
use cleartune::report::schema::{SCHEMAS, Schema};

use super::output::{self, OutputSet};

/// JSON Schemas of every file that cleartune reads or writes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune schema                    what there is
  cleartune schema sweep              that of sweep.json, to standard output
  cleartune schema --out schemas/     all of them

A line of a CSV is described as the object of its columns, a TOML file as the object that it stands for.")]
pub struct SchemaArgs {
    /// Name of a schema
    name: Option<String>,

    /// Write all into this folder, as NAME.schema.json
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// There is no such schema, or the folder cannot be written.
pub fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    if let Some(folder) = &args.out {
        let mut set = OutputSet::new(folder)?;
        for schema in SCHEMAS {
            set.write(&format!("{}.schema.json", schema.name), schema.text.as_bytes())?;
        }
        return set.commit();
    }
    let Some(name) = &args.name else {
        let widest = SCHEMAS.iter().map(|schema| schema.name.len()).max().unwrap_or(0);
        let line = |schema: &Schema| format!("{:widest$}  {}\n", schema.name, schema.of);
        return output::stdout(SCHEMAS.iter().map(line).collect::<String>().as_bytes());
    };
    let found = SCHEMAS.iter().find(|schema| schema.name == name.trim_end_matches(".schema.json"));
    let names = || SCHEMAS.iter().map(|schema| schema.name).collect::<Vec<_>>().join(", ");
    let found = found.ok_or_else(|| anyhow::anyhow!("{name:?} is no schema; write one of {}", names()))?;
    output::stdout(found.text.as_bytes())
}
