//! The generator: a workload (one commented TOML file) in, transcripts out, the same bytes on every platform.
//!
//! | file | owns |
//! |---|---|
//! | `spec`, `check` | the TOML schema, its errors and its checks |
//! | `dist` | random numbers: one stream a transcript, quantile functions |
//! | `trajectory` | the session simulator: which calls are made, how large they are, when |
//! | `needs` | which results are drawn on again, where and by which mechanism |
//! | `plan` | the session as simulated, with what a trace leaves out, and the trace made of it |
//! | `script` | workloads of given sizes |
//! | `text`, `quotes`, `words` | the session in words, in which later outputs quote the results that they need |
//! | `messages` | these words as Messages API requests and responses |
//!
//! Needs follow from what the simulated agent does, never from a flat probability: a follow-up question, a short look back, a
//! return to earlier material, paging through a file, a note taken, a synthesis phase that draws on the sources, documents compared.

mod check;
mod dist;
mod messages;
mod needs;
mod plan;
mod quotes;
mod script;
mod spec;
mod text;
mod trajectory;
mod words;

pub use plan::{Mechanism, Plan, PlannedNeed, PlannedRequest, PlannedUse};
pub use quotes::{PlantedQuote, QuoteKind};
pub use spec::{Spec, WorkloadError};
pub use text::{BlockText, Conversation, RequestText};

/// The name of the workload that a run without arguments takes.
pub const DEFAULT: &str = "research_agent";

const SHIPPED: [(&str, &str); 7] = [
    (DEFAULT, include_str!("../../workloads/research_agent.toml")),
    ("coding_agent", include_str!("../../workloads/coding_agent.toml")),
    ("notebook", include_str!("../../workloads/notebook.toml")),
    ("web_research_100", include_str!("../../workloads/web_research_100.toml")),
    ("compare_documents", include_str!("../../workloads/compare_documents.toml")),
    ("ephemeral_api", include_str!("../../workloads/ephemeral_api.toml")),
    ("long_chat", include_str!("../../workloads/long_chat.toml")),
];

/// The workloads that the library brings along: name and TOML text, the default one first.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &SHIPPED
}

/// The TOML text of a shipped workload by its name.
///
/// # Errors
/// An unknown name: the message lists what is shipped, the nearest name first.
pub fn shipped_text(name: &str) -> Result<&'static str, WorkloadError> {
    if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
        return Ok(text);
    }
    let mut known: Vec<&str> = SHIPPED.iter().map(|(known, _)| *known).collect();
    let hint = spec::nearest(name, &known).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    known.sort_unstable();
    Err(WorkloadError {
        field: name.to_owned(),
        problem: format!("is no shipped workload; {hint}write the path of a .toml file or one of {}", known.join(", ")),
    })
}
