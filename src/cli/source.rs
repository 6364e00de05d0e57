//! SOURCE on the command line.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use cleartune::trace::{Document, parse_line};
use cleartune::workload::Spec;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Sources
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// A workload, a trace file, an agent's log, a folder of these (searched recursively), or - for standard input
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<String>,
}

/// What the sources hold.
pub struct Loaded {
    pub name: String,
    pub documents: Vec<Document>,
    pub inputs: Vec<Input>,
    pub lost_something: bool,
}

/// One source, for the manifest.
pub struct Input {
    name: String,
    kind: &'static str,
    sha256: String,
    seed: Option<u64>,
}

impl Input {
    pub fn stamp(&self) -> Value {
        json!({"name": self.name, "kind": self.kind, "sha256": self.sha256, "seed": self.seed})
    }
}

impl SourceArgs {
    pub fn load(&self) -> anyhow::Result<Loaded> {
        let mut loaded = Loaded { name: String::new(), documents: Vec::new(), inputs: Vec::new(), lost_something: false };
        for source in &self.sources {
            let spec = if cleartune::workload::shipped_text(source).is_ok() || source.ends_with(".toml") {
                Some(super::generate::load_workload(source)?)
            } else {
                None
            };
            if let Some(spec) = spec {
                if loaded.name.is_empty() { loaded.name.clone_from(&spec.name); }
                loaded.inputs.push(Input { name: spec.name.clone(), kind: "workload", sha256: hash(&spec), seed: Some(spec.seed) });
                loaded.documents.extend((0..spec.transcripts).map(|i| spec.generate(i)));
                continue;
            }
            let text = fs::read(source).with_context(|| format!("{source}: cannot be read"))?;
            for line in text.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
                loaded.documents.push(parse_line(line).with_context(|| source.clone())?.0);
            }
            if loaded.name.is_empty() { loaded.name = Path::new(source).file_stem().unwrap().to_string_lossy().into_owned(); }
        }
        Ok(loaded)
    }
}

fn hash(spec: &Spec) -> String {
    format!("{:x?}", Sha256::digest(format!("{spec:?}").as_bytes()))
}
