//! A checked transcript in columns.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::document::{Block, Document, SCHEMA};

/// Marks the absence of an index or a size in a `u32` column.
pub const NONE: u32 = u32::MAX;

/// Whether a cleared result can be had again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Refetch {
    /// Call the tool again (read a file once more).
    #[default]
    Yes,
    /// Again, but slow, rate-limited or with side effects: counted apart.
    Costly,
    /// Gone once cleared (an answer of the user, an ephemeral API).
    Never,
}

/// A tool of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name as the log spells it.
    pub name: String,
    /// Whether its results can be had again.
    pub refetch: Refetch,
    /// What one more call costs in itself, USD.
    pub refetch_usd: f64,
    /// How long one more call takes, seconds.
    pub refetch_seconds: f64,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A user's words.
    User,
    /// A tool result.
    Result,
    /// Thinking.
    Thinking,
    /// The model's words.
    Text,
    /// A tool use.
    Use,
}

/// A tool use; its place in [`Trace::uses`] is its index, in the order of the `use` blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The id in the file.
    pub id: u64,
    /// Index into [`Trace::tools`].
    pub tool: u16,
    /// Number of what was read, the same for uses that read the same; [`NONE`] where the file does not say.
    pub key: u32,
    /// Whether its result reports an error.
    pub error: bool,
}

/// One model call: ranges into the block and need columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Start, milliseconds.
    pub at_ms: i64,
    /// First input block.
    pub input: u32,
    /// First output block, which is one past the last input block.
    pub output: u32,
    /// One past the last output block.
    pub end: u32,
    /// First need.
    pub needs: u32,
    /// One past the last need.
    pub needs_end: u32,
    /// Natural invalidation before this request, see the file format.
    pub flush_above: Option<u64>,
    /// TTL of entries written or hit, milliseconds.
    pub ttl_ms: Option<i64>,
    /// Who answers: 0 the trace's model, n the model `n - 1` of [`Trace::other_models`].
    pub model: u16,
    /// Whether what the cache held at the previous request is held still, see the file format.
    pub kept_warm: bool,
}

/// One transcript in columns: every block of it in order, and the requests as ranges over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Id of the transcript.
    pub id: String,
    /// Id of the session that it belongs to.
    pub session: String,
    /// Model named by the source.
    pub model: Option<String>,
    /// Models other than it that answer single requests, in the order of first use.
    pub other_models: Vec<String>,
    /// Tokens of tools + system prompt.
    pub base_tokens: u64,
    /// Tools in the order of first use, at most 65,535.
    pub tools: Vec<Tool>,
    /// Tool uses in the order of their blocks.
    pub uses: Vec<Use>,
    /// Kind of each block.
    pub kinds: Vec<BlockKind>,
    /// Tokens of each block.
    pub tokens: Vec<u32>,
    /// `use` and `result` blocks: index into `uses`; else [`NONE`].
    pub block_use: Vec<u32>,
    /// `result` blocks: UTF-8 bytes of a text-only result; [`NONE`] when unknown, and for all other blocks.
    pub bytes: Vec<u32>,
    /// The model calls in order.
    pub requests: Vec<Request>,
    /// Needed uses as indices into `uses`, request by request.
    pub needs: Vec<u32>,
    /// Needs dropped because the transcript has no use of that id.
    pub unknown_needs: u32,
}

/// Why a document is not a valid transcript: the field and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct TraceError {
    /// Path of the field, as in `requests[3].input[0].use`.
    pub field: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl TraceError {
    fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

/// What is known of the uses while the blocks are laid out.
#[derive(Default)]
struct Seen {
    index_of: HashMap<u64, u32>,
    answered: Vec<bool>,
    tool_of: HashMap<String, u16>,
    key_of: HashMap<String, u32>,
}

impl Trace {
    /// Checks a document and lays it out in columns.
    ///
    /// # Errors
    /// The schema is another; a block's kind does not belong where it stands or lacks a field; a use id occurs twice;
    /// a result answers no earlier use, or one that is answered already; sizes beyond `u32`.
    pub fn from_document(doc: &Document) -> Result<Self, TraceError> {
        check_schema(&doc.schema)?;
        for (name, tool) in &doc.tools {
            for (key, value) in [("refetch_usd", tool.refetch_usd), ("refetch_seconds", tool.refetch_seconds)] {
                if let Some(n) = value.filter(|n| !(0.0..=1e9).contains(n)) {
                    return Err(TraceError::new(format!("tools.{name}.{key}"), format!("is {n}; write a number from 0 to 1e9")));
                }
            }
        }
        let blocks = doc.requests.iter().map(|r| r.input.len() + r.output.len()).sum();
        let mut trace = Self {
            id: doc.id.clone(),
            session: doc.session.clone().unwrap_or_else(|| doc.id.clone()),
            model: doc.model.clone(),
            other_models: Vec::new(),
            base_tokens: u64::from(doc.base_tokens),
            tools: Vec::new(),
            uses: Vec::new(),
            kinds: Vec::with_capacity(blocks),
            tokens: Vec::with_capacity(blocks),
            block_use: Vec::with_capacity(blocks),
            bytes: Vec::with_capacity(blocks),
            requests: Vec::with_capacity(doc.requests.len()),
            needs: Vec::new(),
            unknown_needs: 0,
        };
        let mut seen = Seen::default();
        for (i, request) in doc.requests.iter().enumerate() {
            let input = trace.kinds.len() as u32;
            for (j, block) in request.input.iter().enumerate() {
                trace.push(doc, &mut seen, block, &|| format!("requests[{i}].input[{j}]"), true)?;
            }
            let output = trace.kinds.len() as u32;
            for (j, block) in request.output.iter().enumerate() {
                trace.push(doc, &mut seen, block, &|| format!("requests[{i}].output[{j}]"), false)?;
            }
            if request.ttl_ms.is_some_and(|ttl| ttl < 0) {
                return Err(TraceError::new(format!("requests[{i}].ttl_ms"), "is negative; write milliseconds, such as 300000"));
            }
            let model = trace
                .model_index(request.model.as_deref())
                .ok_or_else(|| TraceError::new(format!("requests[{i}].model"), "is one model too many; at most 65534 others are held"))?;
            trace.requests.push(Request {
                at_ms: request.at_ms,
                input,
                output,
                end: trace.kinds.len() as u32,
                needs: 0,
                needs_end: 0,
                flush_above: request.flush_above,
                ttl_ms: request.ttl_ms,
                model,
                kept_warm: request.kept_warm,
            });
        }
        // A need may name any use of the transcript, a later one too, so needs follow when all uses are known.
        for (request, doc) in trace.requests.iter_mut().zip(&doc.requests) {
            request.needs = trace.needs.len() as u32;
            for id in &doc.needs {
                match seen.index_of.get(id) {
                    Some(&index) => trace.needs.push(index),
                    None => trace.unknown_needs += 1,
                }
            }
            request.needs_end = trace.needs.len() as u32;
        }
        Ok(trace)
    }

    /// The number of a request's model, see [`Request::model`].
    fn model_index(&mut self, name: Option<&str>) -> Option<u16> {
        let Some(name) = name.filter(|&name| self.model.as_deref() != Some(name)) else { return Some(0) };
        let known = self.other_models.iter().position(|m| m == name);
        let index = known.unwrap_or_else(|| {
            self.other_models.push(name.to_owned());
            self.other_models.len() - 1
        });
        u16::try_from(index + 1).ok().filter(|&n| n < u16::MAX)
    }

    fn push(&mut self, doc: &Document, seen: &mut Seen, block: &Block, at: &dyn Fn() -> String, input: bool) -> Result<(), TraceError> {
        let field = |name: &str| format!("{}.{name}", at());
        let use_id = || block.use_id.ok_or_else(|| TraceError::new(field("use"), "is missing; write the id of the tool use"));
        let kind = match (block.kind.as_str(), input) {
            ("user", true) => BlockKind::User,
            ("result", true) => BlockKind::Result,
            ("thinking", false) => BlockKind::Thinking,
            ("text", false) => BlockKind::Text,
            ("use", false) => BlockKind::Use,
            (_, true) => return Err(TraceError::new(field("kind"), "is not a kind of input block; write user or result")),
            (_, false) => return Err(TraceError::new(field("kind"), "is not a kind of output block; write thinking, text or use")),
        };
        let (mut index, mut bytes) = (NONE, NONE);
        if kind == BlockKind::Use {
            let id = use_id()?;
            let name = block.tool.as_deref().ok_or_else(|| TraceError::new(field("tool"), "is missing; write the tool's name"))?;
            let tool =
                self.tool(doc, seen, name).ok_or_else(|| TraceError::new(field("tool"), "is one tool too many; at most 65535 are held"))?;
            index = self.uses.len() as u32;
            if seen.index_of.insert(id, index).is_some() {
                return Err(TraceError::new(field("use"), format!("{id} occurs twice; use ids are unique within a transcript")));
            }
            let keys = seen.key_of.len() as u32;
            let key = block.key.as_ref().map_or(NONE, |key| *seen.key_of.entry(key.clone()).or_insert(keys));
            self.uses.push(Use { id, tool, key, error: false });
            seen.answered.push(false);
        } else if kind == BlockKind::Result {
            let id = use_id()?;
            index = *seen
                .index_of
                .get(&id)
                .ok_or_else(|| TraceError::new(field("use"), format!("{id} is no earlier tool use; a result follows its use")))?;
            if std::mem::replace(&mut seen.answered[index as usize], true) {
                return Err(TraceError::new(field("use"), format!("{id} has a result already; each use has at most one")));
            }
            self.uses[index as usize].error = block.error;
            if let Some(n) = block.bytes {
                // Sizes that do not fit are larger than any tiny result, which is all that they are compared with.
                bytes = u32::try_from(n).unwrap_or(NONE - 1).min(NONE - 1);
            }
        }
        self.kinds.push(kind);
        self.tokens.push(block.tokens);
        self.block_use.push(index);
        self.bytes.push(bytes);
        Ok(())
    }

    fn tool(&mut self, doc: &Document, seen: &mut Seen, name: &str) -> Option<u16> {
        if let Some(&tool) = seen.tool_of.get(name) {
            return Some(tool);
        }
        let tool = u16::try_from(self.tools.len()).ok().filter(|&t| t < u16::MAX)?;
        let known = doc.tools.get(name).cloned().unwrap_or_default();
        self.tools.push(Tool {
            name: name.to_owned(),
            refetch: known.refetch,
            refetch_usd: known.refetch_usd.unwrap_or(0.0),
            refetch_seconds: known.refetch_seconds.unwrap_or(0.0),
        });
        seen.tool_of.insert(name.to_owned(), tool);
        Some(tool)
    }
}

fn check_schema(schema: &str) -> Result<(), TraceError> {
    if schema == SCHEMA {
        return Ok(());
    }
    let problem = match schema.strip_prefix("cleartune.trace/") {
        Some(version) if version.parse::<u32>().is_ok() => format!(
            "is version {version} of the trace format and this cleartune reads version 1; upgrade cleartune, or write the file again with this one (`cleartune import`, `cleartune generate`)"
        ),
        _ => format!("is not {SCHEMA:?}; a trace file has one such object a line"),
    };
    Err(TraceError::new("schema", problem))
}
