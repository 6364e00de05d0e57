//! The file form of a trace: plain serde types, one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Refetch;

/// The schema string that this version reads and writes.
pub const SCHEMA: &str = "cleartune.trace/1";

/// One transcript, content-free: sizes in tokens, times in milliseconds, tool names and links between blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Unique among the transcripts of one run.
    pub id: String,
    /// The session that this transcript is a part of (sub-agents, parts between compactions); absent: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model's name as the log spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of tools + system prompt.
    pub base_tokens: u32,
    /// The context window in tokens, as the log states it. The replay itself ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Free-form origin (log format, file hash, workload and seed). The replay ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<serde_json::Value>,
    /// What is known of the tools, by name; one that is absent can be re-fetched.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolDoc>,
    /// The model calls, in the order sent.
    pub requests: Vec<RequestDoc>,
}

/// What is known of one tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolDoc {
    /// Whether a cleared result can be had again.
    #[serde(default)]
    pub refetch: Refetch,
    /// What one more call of the tool costs in itself, USD: a search that is billed by the query. The objective of a choice may count
    /// it; the bill of the model does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refetch_usd: Option<f64>,
    /// How long one more call of the tool takes, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refetch_seconds: Option<f64>,
}

impl ToolDoc {
    /// A tool of which nothing else is known.
    pub fn new(refetch: Refetch) -> Self {
        Self { refetch, ..Self::default() }
    }
}

/// One model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestDoc {
    /// Start of the request, milliseconds from any origin.
    #[serde(default)]
    pub at_ms: i64,
    /// What the client appended since the previous request's output: `user` and `result` blocks.
    #[serde(default)]
    pub input: Vec<Block>,
    /// What the model answered: `thinking`, `text` and `use` blocks.
    #[serde(default)]
    pub output: Vec<Block>,
    /// Uses whose results the output draws on, beyond the moment that the result first arrived.
    #[serde(default)]
    pub needs: Vec<u64>,
    /// A natural invalidation before this request: entries with a prefix of more tokens than this are gone, and the provider still serves
    /// the first `min(flush_above, base_tokens)` tokens. A value above every prompt (readers write 4,294,967,295) drops nothing and only
    /// serves system prompt and tools, which other sessions kept warm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_above: Option<u64>,
    /// How long cache entries live that this request writes or hits, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// The model that answered, where it is not the trace's: the request is priced by it, and reads only entries that it wrote itself, as
    /// caches are kept per model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether a call that the log does not hold used the cache since the previous request: what was held then is held still, whatever
    /// the gap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept_warm: bool,
    /// Why the cache gave this request less than it held, where the log shows that it did. The replay ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalidation_cause: Option<Cause>,
    /// What the provider recorded. The replay ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Why a cache gave less than it held, in the provider's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The gap before the request is longer than the entries lived.
    TtlExpired,
    /// Another model answered; caches are kept per model.
    ModelChanged,
    /// The tool definitions differ from those of the request before.
    ToolsChanged,
    /// The system prompt differs from that of the request before.
    SystemChanged,
    /// Messages that were sent before differ: history was edited, cleared or cut.
    MessagesChanged,
    /// More positions were appended than the provider walks back for an entry.
    LookbackExceeded,
    /// Clearing by the provider or the client, in a log that was recorded with it.
    Cleared,
    /// The log does not show why.
    #[serde(other)]
    Unknown,
}

impl Cause {
    /// All causes, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::TtlExpired,
        Self::ModelChanged,
        Self::ToolsChanged,
        Self::SystemChanged,
        Self::MessagesChanged,
        Self::LookbackExceeded,
        Self::Cleared,
        Self::Unknown,
    ];

    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::TtlExpired => "ttl_expired",
            Self::ModelChanged => "model_changed",
            Self::ToolsChanged => "tools_changed",
            Self::SystemChanged => "system_changed",
            Self::MessagesChanged => "messages_changed",
            Self::LookbackExceeded => "lookback_exceeded",
            Self::Cleared => "cleared",
            Self::Unknown => "unknown",
        }
    }
}

/// One block of a prompt. Which fields belong to which `kind`: see the constructors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// `user`, `result`, `thinking`, `text` or `use`.
    pub kind: String,
    /// `use` and `result`: the id of the tool use.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub use_id: Option<u64>,
    /// `use`: the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Size in tokens.
    pub tokens: u32,
    /// `result`: UTF-8 size of a text-only result; absent: not text, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// `use`: what was read, as a hash or any other name that tells nothing of its content; uses of one key read the same thing. Only
    /// policies that ask for it look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `result`: it reports an error. Only policies that ask for it look at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
}

impl Block {
    fn plain(kind: &str, tokens: u32) -> Self {
        Self { kind: kind.to_owned(), tokens, ..Self::default() }
    }

    /// A user's own words (or any client-side text that is not a tool result).
    pub fn user(tokens: u32) -> Self {
        Self::plain("user", tokens)
    }

    /// The result of tool use `use_id`.
    pub fn result(use_id: u64, tokens: u32, bytes: Option<u64>) -> Self {
        Self { use_id: Some(use_id), bytes, ..Self::plain("result", tokens) }
    }

    /// The model's thinking.
    pub fn thinking(tokens: u32) -> Self {
        Self::plain("thinking", tokens)
    }

    /// The model's words.
    pub fn text(tokens: u32) -> Self {
        Self::plain("text", tokens)
    }

    /// A call of `tool`; `use_id` is unique within the transcript.
    pub fn tool_use(use_id: u64, tool: &str, tokens: u32) -> Self {
        Self { use_id: Some(use_id), tool: Some(tool.to_owned()), ..Self::plain("use", tokens) }
    }
}

/// Tokens as the provider recorded them, disjoint: their sum without `output` is the whole prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Uncached prompt tokens.
    pub input: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache for 5 minutes.
    #[serde(default)]
    pub cache_write_5m: u64,
    /// Prompt tokens written to the cache for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// Output tokens.
    pub output: u64,
}

impl Usage {
    /// The whole prompt in tokens.
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
}
