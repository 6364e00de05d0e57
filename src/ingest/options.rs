//! What a caller can set of the import, with every default in one place.

use std::collections::BTreeMap;

use crate::trace::Refetch;

/// Options of an import. `Options::default()` is what the command line uses when no flag is given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// How needs are found in the text.
    pub needs: NeedOptions,
    /// Which agents' transcripts are kept.
    pub agent: AgentFilter,
    /// Whether a cleared result can be had again, by tool name; wins over [`default_refetch`].
    pub refetch: BTreeMap<String, Refetch>,
    /// Limits on the input.
    pub limits: Limits,
}

/// When a later output counts as a need of an earlier result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedOptions {
    /// Whether needs are looked for at all. Without them no re-fetch is ever billed.
    pub find: bool,
    /// Smallest quotation in bytes of UTF-8 after white space is collapsed to single spaces; at least 8.
    pub min_bytes: usize,
    /// Smallest number of different characters in it, so that rules and blank tables are not quotations.
    pub min_distinct: usize,
    /// When the user's or the agent's own text, which is never cleared, stands for a quotation.
    pub own_text: OwnText,
}

/// When own text that holds a quotation too makes the result unneeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnText {
    /// Where it is the most recent holder: what was said once is quoted from there the second time.
    #[default]
    MostRecent,
    /// Wherever it stands before the output: a path that the agent wrote itself is not drawn from the results that repeat it.
    Anywhere,
}

impl Default for NeedOptions {
    fn default() -> Self {
        Self { find: true, min_bytes: 40, min_distinct: 14, own_text: OwnText::MostRecent }
    }
}

/// Which agents' transcripts are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentFilter {
    /// The main agent's and the sub-agents'.
    #[default]
    All,
    /// The main agent's only.
    Main,
    /// Sub-agents' only.
    Sub,
}

/// Bounds that keep memory in hand on hostile or broken input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest record in bytes; a longer one is skipped and named. Default 64 MiB.
    pub record_bytes: usize,
    /// How many skipped records a report names; the rest are counted. Default 1,000.
    pub named_skips: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record_bytes: 64 << 20, named_skips: 1000 }
    }
}

/// Whether a cleared result of this tool can be had again, by the names that Claude Code, Managed Agents and the API give their tools.
///
/// | class | tools | why |
/// |---|---|---|
/// | `yes` | `Read`, `Grep`, `Glob`, `LS`, `NotebookRead`, `ToolSearch`; `read`, `grep`, `glob`, `memory`; MCP tools, everything else | reading again is fast and has no effect |
/// | `costly` | `Bash`, `BashOutput`, `WebFetch`, `WebSearch`, `Task`, `Agent`, `Skill`, `Edit`, `MultiEdit`, `Write`, `NotebookEdit`, `KillShell`, `Task*`, `Monitor`; `bash`, `edit`, `write`, `web_fetch`, `web_search`, `code_execution`, `bash_code_execution`, `text_editor_code_execution`, `str_replace_based_edit_tool`, `str_replace_editor`, `computer` | slow, rate-limited, or it does something when called again |
/// | `never` | `AskUserQuestion`, `ExitPlanMode` | the answer of a person |
///
/// `str_replace_based_edit_tool` both shows and edits files, so it counts as what it does at worst. `memory` edits too, but what is fetched
/// again is what was read. An MCP tool's name says nothing about its cost, so it counts as re-fetchable; override it in
/// [`Options::refetch`].
pub fn default_refetch(tool: &str) -> Refetch {
    match tool {
        "Bash"
        | "BashOutput"
        | "KillShell"
        | "KillBash"
        | "WebFetch"
        | "WebSearch"
        | "Task"
        | "Agent"
        | "Skill"
        | "SlashCommand"
        | "Edit"
        | "MultiEdit"
        | "Write"
        | "NotebookEdit"
        | "TaskOutput"
        | "TaskCreate"
        | "TaskUpdate"
        | "TaskStop"
        | "Monitor"
        | "PowerShell"
        | "bash"
        | "edit"
        | "write"
        | "web_fetch"
        | "web_search"
        | "code_execution"
        | "bash_code_execution"
        | "text_editor_code_execution"
        | "str_replace_based_edit_tool"
        | "str_replace_editor"
        | "computer" => Refetch::Costly,
        "AskUserQuestion" | "ExitPlanMode" => Refetch::Never,
        _ => Refetch::Yes,
    }
}
