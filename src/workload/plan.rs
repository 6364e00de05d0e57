//! A session as simulated: everything that its trace holds, and why.

use std::collections::BTreeMap;

use crate::trace::{Block, Document, RequestDoc, SCHEMA, ToolDoc};

/// What makes a request draw on an earlier result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// The user asks on about what was just shown.
    FollowUp,
    /// The agent looks back over a few uses.
    Recency,
    /// The agent comes back to material of a while ago.
    Revisit,
    /// A read continues an earlier one, and the page before is used beside it.
    Paging,
    /// A note is taken of a source.
    Note,
    /// The report is written, or the work is checked, from all sources.
    Synthesis,
    /// Documents are laid side by side.
    Comparison,
    /// Given in a script.
    Script,
}

/// A tool use and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedUse {
    /// The class of its tool, as the workload names it (`read`, `web`, …).
    pub class: String,
    /// The tool's name.
    pub tool: String,
    /// Tokens of the use block.
    pub tokens: u32,
    /// Tokens of the result.
    pub result_tokens: u32,
    /// UTF-8 size of the result.
    pub result_bytes: u64,
    /// The call failed.
    pub error: bool,
    /// Index of the request whose output holds the use; the result stands in the input of the next one.
    pub issued: usize,
    /// The use whose read this one continues.
    pub page_of: Option<usize>,
    /// The use of whose result this one takes a note.
    pub note_of: Option<usize>,
}

impl PlannedUse {
    /// Index of the request whose input brings the result.
    pub fn arrives(&self) -> usize {
        self.issued + 1
    }
}

/// One model call. Its uses are a range of [`Plan::uses`], whose index is the use's id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedRequest {
    /// Start, milliseconds after the session's.
    pub at_ms: i64,
    /// Tokens of the user's words before it.
    pub user: Option<u32>,
    /// Tokens of thinking in its output.
    pub thinking: Option<u32>,
    /// Tokens of text in its output.
    pub text: Option<u32>,
    /// First use of its output: also the number of uses issued before.
    pub uses: usize,
    /// One past the last use of its output.
    pub uses_end: usize,
    /// Tokens of the prefix that is left in the cache before it.
    pub flush_above: Option<u64>,
    /// Which reading of the session it belongs to: `true` from the start of the synthesis phase.
    pub synthesis: bool,
}

/// A planted need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedNeed {
    /// Index of the request whose output draws on the result.
    pub request: usize,
    /// The use whose result it is.
    pub use_id: usize,
    /// What makes the request need it.
    pub mechanism: Mechanism,
}

/// A session as simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Workload and index; unique within a workload.
    pub id: String,
    /// The model's name.
    pub model: Option<String>,
    /// Tokens of tools + system prompt.
    pub base_tokens: u32,
    /// UTF-8 bytes of a token.
    pub bytes_per_token: f64,
    /// Workload, seed and index, for the trace's `source`.
    pub source: serde_json::Value,
    /// Every tool that the workload knows.
    pub tools: BTreeMap<String, ToolDoc>,
    /// Every use, in order; the index is the id.
    pub uses: Vec<PlannedUse>,
    /// The model calls.
    pub requests: Vec<PlannedRequest>,
    /// In the order of requests, then uses; one a request and use.
    pub needs: Vec<PlannedNeed>,
}

impl Plan {
    /// How many uses back `use_id` lies when `request` is answered: 1 is the newest use of the prompt, so that `keep` = k keeps
    /// it if this is at most k.
    pub fn uses_back(&self, need: PlannedNeed) -> usize {
        self.requests[need.request].uses - need.use_id
    }

    /// The trace: sizes, times and links.
    pub fn document(&self) -> Document {
        let mut requests: Vec<RequestDoc> = Vec::with_capacity(self.requests.len());
        let mut arriving = 0..0;
        for planned in &self.requests {
            let mut input: Vec<Block> =
                arriving.map(|id: usize| Block::result(id as u64, self.uses[id].result_tokens, Some(self.uses[id].result_bytes))).collect();
            input.extend(planned.user.map(Block::user));
            let mut output: Vec<Block> = planned.thinking.map(Block::thinking).into_iter().collect();
            output.extend(planned.text.map(Block::text));
            arriving = planned.uses..planned.uses_end;
            output.extend(arriving.clone().map(|id| Block::tool_use(id as u64, &self.uses[id].tool, self.uses[id].tokens)));
            requests.push(RequestDoc { at_ms: planned.at_ms, input, output, flush_above: planned.flush_above, ..RequestDoc::default() });
        }
        for need in &self.needs {
            requests[need.request].needs.push(need.use_id as u64);
        }
        Document {
            schema: SCHEMA.to_owned(),
            id: self.id.clone(),
            model: self.model.clone(),
            base_tokens: self.base_tokens,
            source: Some(self.source.clone()),
            tools: self.tools.clone(),
            requests,
            ..Document::default()
        }
    }
}
