//! The TOML schema of a workload, its checks and its errors.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::dist::{Dist, Share};
use super::plan::Plan;
use super::{script, trajectory};
use crate::trace::{Document, Refetch, to_line};

/// Why a workload cannot be used: the field, what is wrong with it, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct WorkloadError {
    /// Path of the field, or `line` n where the TOML itself is broken.
    pub field: String,
    /// What is wrong and what to write instead.
    pub problem: String,
}

/// A checked workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its name; transcripts are called `name-0000`, ….
    pub name: String,
    /// All randomness comes from it.
    pub seed: u64,
    /// How many transcripts a run takes unless told otherwise.
    pub transcripts: usize,
    pub(super) model: Option<String>,
    pub(super) kind: Kind,
}

/// How the transcripts come about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Simulated(Box<Simulation>),
    Script(Script),
}

/// A session simulator's parameters. What each means and its unit stands in the shipped workloads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Simulation {
    pub(super) bytes_per_token: f64,
    pub(super) session: Session,
    pub(super) output: Output,
    pub(super) gaps: Gaps,
    pub(super) cache: Cache,
    pub(super) phases: Vec<Phase>,
    pub(super) synthesis: Synthesis,
    pub(super) reuse: Reuse,
    pub(super) paging: Option<Paging>,
    pub(super) notes: Option<Notes>,
    pub(super) comparison: Option<Comparison>,
    pub(super) classes: BTreeMap<String, Class>,
}

/// The file as it is written: one of `[script]` and the simulator's sections.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) transcripts: usize,
    pub(super) model: Option<String>,
    pub(super) bytes_per_token: Option<f64>,
    pub(super) script: Option<Script>,
    pub(super) session: Option<Session>,
    pub(super) output: Option<Output>,
    pub(super) gaps: Option<Gaps>,
    pub(super) cache: Option<Cache>,
    pub(super) phases: Option<Vec<Phase>>,
    pub(super) synthesis: Option<Synthesis>,
    pub(super) reuse: Option<Reuse>,
    pub(super) paging: Option<Paging>,
    pub(super) notes: Option<Notes>,
    pub(super) comparison: Option<Comparison>,
    pub(super) classes: Option<BTreeMap<String, Class>>,
}

/// Length and rhythm.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Session {
    pub(super) uses: Dist,
    pub(super) base_tokens: Dist,
    pub(super) first_user_tokens: Dist,
    pub(super) turn_user_tokens: Dist,
    pub(super) turn_end: Share,
    #[serde(default)]
    pub(super) direct_answers: Share,
    pub(super) parallel: Share,
    pub(super) parallel_max: usize,
    pub(super) same_class: Share,
}

/// What the model says besides its tool uses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    pub(super) thinking_share: Share,
    pub(super) thinking_tokens: Dist,
    pub(super) text_share: Share,
    pub(super) text_tokens: Dist,
    pub(super) turn_text_tokens: Dist,
    pub(super) final_text_tokens: Dist,
}

/// Seconds between the starts of two requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gaps {
    pub(super) call_seconds: Dist,
    pub(super) turn_seconds: Dist,
}

/// What happens to the cache without any clearing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cache {
    pub(super) warm_start: Share,
    pub(super) invalidation: Share,
    pub(super) prefix_tokens: Dist,
}

/// A stretch of the session before the synthesis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phase {
    pub(super) until: f64,
    pub(super) mix: BTreeMap<String, f64>,
}

/// The end of the session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Synthesis {
    pub(super) share: (f64, f64),
    pub(super) again: Share,
    pub(super) mix: BTreeMap<String, f64>,
}

/// How far back the agent looks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reuse {
    pub(super) least_bytes: u64,
    pub(super) recency_uses: Dist,
    pub(super) revisit_uses: Dist,
}

/// Reads in pages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paging {
    pub(super) class: String,
    pub(super) share: Share,
    pub(super) page_bytes: u64,
    pub(super) within_uses: usize,
}

/// Notes of sources.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notes {
    pub(super) class: String,
    pub(super) tool: String,
    pub(super) share: Share,
    pub(super) sources: Vec<String>,
    pub(super) within_uses: usize,
    pub(super) spares: Share,
}

/// Results that are laid side by side all along.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Comparison {
    pub(super) classes: Vec<String>,
    pub(super) share: Share,
}

/// Tools that behave alike.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Class {
    pub(super) result_bytes: Dist,
    pub(super) use_tokens: Dist,
    pub(super) errors: Option<Errors>,
    pub(super) needed: Needed,
    pub(super) tools: BTreeMap<String, Tool>,
}

/// Failures, as a share of all calls whose results lie between two quantiles of the size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Errors {
    pub(super) share: Share,
    pub(super) from: Share,
    pub(super) to: Share,
}

/// The share of results, of those that can be needed, which each mechanism takes up.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Needed {
    pub(super) follow_up: Share,
    pub(super) recency: Share,
    pub(super) revisit: Share,
    pub(super) synthesis: Share,
}

/// One tool of a class.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) weight: f64,
    #[serde(default)]
    pub(super) refetch: Refetch,
    pub(super) refetch_usd: Option<f64>,
    pub(super) refetch_seconds: Option<f64>,
    pub(super) use_tokens: Option<Dist>,
}

/// A session of given sizes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) base_tokens: u32,
    pub(super) tools: BTreeMap<String, ScriptTool>,
    pub(super) requests: Vec<ScriptRequest>,
}

/// What is known of a script's tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptTool {
    #[serde(default)]
    pub(super) refetch: Refetch,
    pub(super) refetch_usd: Option<f64>,
    pub(super) refetch_seconds: Option<f64>,
}

/// One model call of a script; the results of its uses come with the next one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptRequest {
    #[serde(default)]
    pub(super) gap_seconds: f64,
    pub(super) user: Option<u32>,
    pub(super) thinking: Option<u32>,
    pub(super) text: Option<u32>,
    #[serde(default)]
    pub(super) uses: Vec<ScriptUse>,
    #[serde(default)]
    pub(super) needs: Vec<usize>,
    pub(super) flush_above: Option<u64>,
}

/// One use of a script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptUse {
    pub(super) tool: String,
    pub(super) tokens: u32,
    pub(super) result_tokens: u32,
    pub(super) result_bytes: u64,
}

impl Spec {
    /// Parses and checks a workload.
    ///
    /// # Errors
    /// The first thing that is wrong: its field and what to write. An unknown key names the nearest known one.
    pub fn from_toml(text: &str) -> Result<Self, WorkloadError> {
        let document = toml::Deserializer::parse(text).map_err(|e| syntax(text, &e))?;
        let file: File = serde_path_to_error::deserialize(document).map_err(|e| {
            let path = e.path().to_string();
            shape(if path == "." { "" } else { &path }, e.inner().message())
        })?;
        file.check()
    }

    /// Transcript `index`: the same whatever else is generated, in any order, on any thread and platform.
    pub fn generate(&self, index: usize) -> Document {
        self.plan(index).document()
    }

    /// Every transcript of a run, as lines of a trace file without their line ends.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.transcripts).map(|index| to_line(&self.generate(index)))
    }

    /// The session behind transcript `index`, with what its trace leaves out: failures, pages, notes, and why each need is there.
    pub fn plan(&self, index: usize) -> Plan {
        match &self.kind {
            Kind::Simulated(simulation) => trajectory::simulate(self, simulation, index),
            Kind::Script(script) => script::plan(self, script, index),
        }
    }

    /// The trace's id and source for transcript `index`.
    pub(super) fn head(&self, index: usize) -> (String, serde_json::Value) {
        let source = serde_json::json!({"workload": self.name, "seed": self.seed, "transcript": index});
        (format!("{}-{index:04}", self.name), source)
    }
}

pub(super) fn error(field: impl Into<String>, problem: impl Into<String>) -> WorkloadError {
    WorkloadError { field: field.into(), problem: problem.into() }
}

fn syntax(text: &str, e: &toml::de::Error) -> WorkloadError {
    let line = e.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    error(format!("line {line}"), format!("is not valid TOML ({}); write `key = value` or a [table]", e.message().replace('\n', ", ")))
}

/// serde's message about a value of the wrong shape, in the words of someone who writes TOML.
fn shape(path: &str, message: &str) -> WorkloadError {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let join = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else if path.rsplit('.').next() == Some(key) {
            path.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    if message.starts_with("unknown field") && !quoted.is_empty() {
        let (key, known) = (quoted[0], &quoted[1..]);
        let hint =
            nearest(key, known).map_or_else(|| format!("write one of {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
        return error(join(key), format!("is no key here; {hint}"));
    }
    if message.starts_with("missing field") && !quoted.is_empty() {
        return error(join(quoted[0]), "is missing; write it as the shipped workloads do");
    }
    let message = message.replace('\n', ", ");
    let advice = if message.contains("write") { "" } else { "; write it as the shipped workloads do" };
    error(path, format!("{message}{advice}"))
}

/// The known name that `word` was probably meant to be.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|k| (strsim::normalized_damerau_levenshtein(word, k), *k))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}
