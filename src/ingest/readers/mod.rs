//! The registry of log formats. A new format is one file here and one line in [`FORMATS`].

mod atif;
mod claude_code;
mod codex;
mod content;
mod gemini_cli;
mod head;
mod identity;
mod inspect;
mod langchain;
mod linear;
mod managed_agents;
mod messages_api;
mod mini_swe;
mod openhands;
mod otel;
mod pairing;
mod pi;
mod swe_agent;
mod trace_file;
mod usage;

use super::input::Input;
use super::normal::Part;
use super::{FileReport, Options};
use crate::trace::Document;

pub use head::Head;

/// What a reader yields.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Histories in the normal form.
    pub parts: Vec<Part>,
    /// Finished documents, from formats that are traces already.
    pub documents: Vec<Document>,
}

/// A log format.
pub trait Format: Sync {
    /// Its name, as reports print it.
    fn name(&self) -> &'static str;
    /// What it is, for the list of what is accepted.
    fn what(&self) -> &'static str;
    /// Whether a file that starts like this is one of it. Looks at content alone.
    fn sniff(&self, head: &Head) -> bool;
    /// Reads a whole file. Faults are told to the report and never stop the rest.
    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed;
    /// Tokens of system prompt and tools where the log does not let them be measured.
    fn assumed_base(&self) -> u32;
}

/// Every format, the most telling signs first.
pub const FORMATS: &[&dyn Format] = &[
    &trace_file::TraceFile,
    &claude_code::ClaudeCode,
    &managed_agents::ManagedAgents,
    &codex::Codex,
    &pi::Pi,
    &atif::Atif,
    &mini_swe::MiniSwe,
    &gemini_cli::GeminiCli,
    &inspect::Inspect,
    &openhands::OpenHands,
    &swe_agent::SweAgent,
    &langchain::LangChain,
    &otel::Otel,
    &messages_api::MessagesApi,
];

/// The format of a file that starts like this.
pub fn detect(head: &Head) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.sniff(head))
}

/// One line that says what an unknown file looks like and what is accepted.
pub fn unknown(head: &Head) -> String {
    let accepted: Vec<_> = FORMATS.iter().map(|f| f.what()).collect();
    format!("{}, which is no log that is known; accepted: {}", head.looks_like(), accepted.join(", "))
}
