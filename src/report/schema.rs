//! The schemas of the files that are read and written, as they stand under `docs/schema/`.

/// The schema of one kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSchema {
    /// Its name on the command line, and of its file without `.json`.
    pub name: &'static str,
    /// Which files it describes.
    pub files: &'static str,
    /// JSON Schema (draft 2020-12); of a CSV file a Frictionless Table Schema.
    pub text: &'static str,
}

/// All, those that are read first.
pub const SCHEMAS: [FileSchema; 7] = [
    FileSchema { name: "trace", files: "*.trace.jsonl, a line", text: include_str!("../../docs/schema/trace.json") },
    FileSchema { name: "config", files: "--config, --current, lint", text: include_str!("../../docs/schema/config.json") },
    FileSchema { name: "policy", files: "--policy FILE.toml", text: include_str!("../../docs/schema/policy.json") },
    FileSchema { name: "sweep", files: "sweep.json", text: include_str!("../../docs/schema/sweep.json") },
    FileSchema { name: "manifest", files: "manifest.json", text: include_str!("../../docs/schema/manifest.json") },
    FileSchema { name: "sweep_csv", files: "sweep.csv", text: include_str!("../../docs/schema/sweep_csv.json") },
    FileSchema { name: "per_transcript_csv", files: "per_transcript.csv", text: include_str!("../../docs/schema/per_transcript_csv.json") },
];
