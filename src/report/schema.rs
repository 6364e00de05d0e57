//! The shape of every file that cleartune reads or writes, as JSON Schema (2020-12).

/// The schema of one kind of file.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Its name.
    pub name: &'static str,
    /// Which files it is of.
    pub of: &'static str,
    /// The schema itself.
    pub text: &'static str,
}

macro_rules! schemas {
    ($($name:literal: $of:literal,)*) => {
        /// All schemas.
        pub const SCHEMAS: &[Schema] = &[$(Schema {
            name: $name,
            of: $of,
            text: include_str!(concat!("../../docs/schema/", $name, ".schema.json")),
        }),*];
    };
}

schemas! {
    "trace": "a line of a trace file",
    "config": "what --config reads, JSON or TOML",
    "workload": "a workload of the generator, TOML",
    "policy": "what --policy FILE.toml reads",
    "sweep": "sweep.json",
    "sweep-csv": "a row of sweep.csv",
    "per-transcript": "a row of per_transcript.csv or .parquet",
    "manifest": "manifest.json",
    "profile": "inspect --format json",
    "compare": "compare --format json",
    "lint": "lint --format json",
    "replay": "replay --format json",
    "replay-csv": "a row of replay --format csv",
}
