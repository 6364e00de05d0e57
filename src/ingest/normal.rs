//! The normal form of a log: what every reader yields and everything after it works on.
//!
//! A *part* is one history: a session's main agent or one sub-agent between two compactions. A *call* is one model call: what the client
//! appended since the previous call's output, what the model answered, and the usage recorded for it (disjoint fields).

use sha2::{Digest, Sha256};

use crate::trace::Usage;

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Client-side text that is no tool result.
    User,
    /// The result of a use, by index into [`Part::uses`].
    Result(u32),
    /// Thinking; empty text means that the log keeps none of it.
    Thinking,
    /// The model's words.
    Text,
    /// A tool use, by index into [`Part::uses`].
    Use(u32),
}

/// Whether a result is what its tool answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Held {
    /// It is, or it is no result.
    #[default]
    Whole,
    /// The client's placeholder for a result that it cleared, and the log holds the original nowhere.
    Placeholder,
    /// It is, though the request that first sent it held a placeholder: another record of the log holds the original.
    Restored,
    /// "The file did not change": the client kept back a result that it believed to be in the prompt still.
    Unchanged,
}

/// What tells whether a tool use repeats another one. 0: unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity {
    /// Hash of the tool's name and its input, the same in whatever order the input has its keys.
    pub input: u64,
    /// Hash of the path that the input names.
    pub path: u64,
}

/// One block of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// UTF-8 bytes of what counts as text.
    pub bytes: u64,
    /// The same, weighed by how much of a token each byte is likely to make, in hundredths of a byte: what sizes are estimated from.
    pub weight: u64,
    /// Tokens of what counts by pixels.
    pub fixed: u64,
    /// Whether it holds text only.
    pub text_only: bool,
    /// Whether the client renders the record in its own way, so that `bytes` is a guess.
    pub guessed: bool,
    /// The text in which quotations are looked for; empty when needs are not wanted. U+001F separates unrelated pieces.
    pub text: String,
    /// Tokens; set by the sizing.
    pub tokens: u64,
    /// Of a result: whether it is the tool's own.
    pub held: Held,
    /// Of a result: whether it says that the use failed.
    pub error: bool,
    /// Of a use: what it asks for.
    pub identity: Identity,
}

impl Item {
    /// An item without content.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            bytes: 0,
            weight: 0,
            fixed: 0,
            text_only: true,
            guessed: false,
            text: String::new(),
            tokens: 0,
            held: Held::Whole,
            error: false,
            identity: Identity::default(),
        }
    }

    /// Joins another item of client text to this one.
    // Taken whole: its text has no further use.
    #[allow(clippy::needless_pass_by_value)]
    pub fn absorb(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.weight += other.weight;
        self.fixed += other.fixed;
        self.tokens += other.tokens;
        self.text_only &= other.text_only;
        self.guessed |= other.guessed;
        if !other.text.is_empty() {
            self.text.push('\u{1f}');
            self.text.push_str(&other.text);
        }
    }
}

/// What a request asked of context editing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Asked {
    /// The log does not show requests.
    #[default]
    Unknown,
    /// The request asked for nothing.
    Nothing,
    /// The request's `context_management`, as JSON. It is a config, no text of the conversation.
    Edits(String),
}

/// What a response says that context editing did (`context_management.applied_edits`), summed over its edits.
// Named as the API names them.
#[allow(clippy::struct_field_names)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Applied {
    /// Tool uses cleared.
    pub cleared_tool_uses: u64,
    /// Tokens that went with them.
    pub cleared_input_tokens: u64,
    /// Turns whose thinking was cleared.
    pub cleared_thinking_turns: u64,
    /// Tokens that went with these.
    pub cleared_thinking_tokens: u64,
}

/// One model call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// Identifies the call across files; `None` when the log gives no id.
    pub key: Option<u128>,
    /// The model as the log names it.
    pub model: Option<String>,
    /// Start, milliseconds since 1970, as well as the log tells it.
    pub at_ms: Option<i64>,
    /// What the client appended: results first, then at most one item of client text.
    pub input: Vec<Item>,
    /// What the model answered.
    pub output: Vec<Item>,
    /// Recorded usage; `None` where unknown.
    pub usage: Option<Usage>,
    /// Whether the recorded output count is final.
    pub complete: bool,
    /// How long cache entries live that it wrote, where the log says.
    pub ttl_ms: Option<i64>,
    /// Records of the log that make up the answer.
    pub records: u64,
    /// Whether an earlier file holds the same call.
    pub repeated: bool,
    /// Hash of the system prompt, cache breakpoints left out; `None` where the log does not show it.
    pub system_hash: Option<u128>,
    /// Hash of the tool definitions, likewise.
    pub tools_hash: Option<u128>,
    /// What the request asked of context editing.
    pub asked: Asked,
    /// Whether the log shows that the client edited messages which earlier requests sent (its own clearing of old results).
    pub messages_changed: bool,
    /// Ids of the uses, as hashes, whose results the client sends as placeholders from this call on, where the log names them.
    pub replaced_ids: Vec<u128>,
    /// The same as indices into [`Part::uses`]; set when uses and results are paired.
    pub replaced: Vec<u32>,
    /// What the response says of it. `None`: it says nothing, and gateways drop the field, so that is *unknown* and not *none*.
    pub applied: Option<Applied>,
    /// Results that were not in its prompt because provider or client had cleared them; set by the sizing.
    pub cleared_uses: u64,
}

/// One history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// The session's id in the log; only its hash leaves.
    pub session: String,
    /// Which agent of the session: empty for the main one. Only its hash leaves.
    pub agent: String,
    /// Whether it is a sub-agent's.
    pub sub_agent: bool,
    /// Number of the part within agent and session, from 0.
    pub number: u32,
    /// Bytes of system prompt and tool definitions, where the log shows them.
    pub base_bytes: Option<u64>,
    /// Names of the tools of all uses.
    pub uses: Vec<String>,
    /// The calls in order.
    pub calls: Vec<Call>,
}

impl Part {
    /// A copy without the texts in which quotations are looked for.
    pub fn without_text(&self) -> Self {
        let bare = |items: &[Item]| -> Vec<Item> {
            items.iter().map(|i| Item { text: String::new(), held: i.held, identity: i.identity, ..*i }).collect()
        };
        let calls = self.calls.iter().map(|call| {
            let asked = call.asked.clone();
            Call {
                key: call.key,
                model: call.model.clone(),
                at_ms: call.at_ms,
                input: bare(&call.input),
                output: bare(&call.output),
                usage: call.usage,
                complete: call.complete,
                ttl_ms: call.ttl_ms,
                records: call.records,
                repeated: call.repeated,
                system_hash: call.system_hash,
                tools_hash: call.tools_hash,
                asked,
                messages_changed: call.messages_changed,
                replaced_ids: Vec::new(),
                replaced: call.replaced.clone(),
                applied: call.applied,
                cleared_uses: call.cleared_uses,
            }
        });
        Self { calls: calls.collect(), uses: self.uses.clone(), session: self.session.clone(), agent: self.agent.clone(), ..*self }
    }
}

/// The first 16 bytes of SHA-256: what stands for an id wherever ids are compared or leave.
pub fn hash(parts: &[&str]) -> u128 {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part.as_bytes());
    }
    let digest = sha.finalize();
    u128::from_be_bytes(std::array::from_fn(|i| digest[i]))
}

/// A hash as 16 hexadecimal digits.
pub fn short(hash: u128) -> String {
    format!("{:016x}", (hash >> 64) as u64)
}

/// Puts the results of a call's input first, as the API demands, and joins the client's texts to one item.
///
/// Clients join adjacent texts of one message, and no text is ever cleared, so nothing is lost; separate blocks would be separate cache
/// positions and use up the lookback of 20 that the provider really has.
pub fn arrange(input: &mut Vec<Item>) {
    let mut text: Option<Item> = None;
    let mut arranged = Vec::with_capacity(input.len());
    for item in input.drain(..) {
        match (&mut text, item.kind) {
            (_, Kind::Result(_)) => arranged.push(item),
            (Some(text), _) => text.absorb(item),
            (None, _) => text = Some(item),
        }
    }
    arranged.extend(text);
    *input = arranged;
}
