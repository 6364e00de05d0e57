//! The space of clearing policies: when, what is protected, how much goes, what is remembered, what takes its place.
//!
//! A policy that agents run is a point here. The API's edit is one too ([`Policy::of_edit`]), under every reading of [`Assume`].

use std::sync::Arc;

use super::{Assume, ClearToolInputs, ClearToolUses, KeepCounts, Memory, Selection, Trigger, TriggerCmp};

/// More rules than this in one policy are refused.
pub const MOST_RULES: usize = 8;

/// How much of a tool use stands in the prompt, from most to least. A later rule never gives back what an earlier one took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// All of it.
    #[default]
    Whole,
    /// Head and tail of the result, [`Policy::trimmed_tokens`] together.
    Trimmed,
    /// A placeholder instead of the result; and instead of the input, where [`Policy::clear_tool_inputs`] covers the tool.
    Cleared,
    /// Neither the use nor its result.
    Removed,
}

/// A policy: rules that run in their order at every request, each on what those before it left. No rule: nothing is ever cleared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// At most [`MOST_RULES`].
    pub rules: Vec<Rule>,
    /// Tokens of what replaces a result; `None`: as [`Assume::placeholder_tokens`].
    pub placeholder_tokens: Option<u32>,
    /// Tokens left of a trimmed result; smaller ones are not trimmed.
    pub trimmed_tokens: u32,
    /// A text result of 1..N bytes is neither counted nor touched; `None`: as [`Assume::tiny_result_bytes`].
    pub tiny_result_bytes: Option<u32>,
    /// Whose inputs are cleared with the results.
    pub clear_tool_inputs: ClearToolInputs,
    /// Tokens left of a cleared input; `None`: as [`Assume::cleared_input_tokens`].
    pub cleared_input_tokens: Option<u32>,
    /// Tokens of the note that the agent writes of a result that cannot be had again, with the answer to the request from which it is gone.
    /// The note stays, and serves whoever needs the result. `None`: it writes none.
    pub note_tokens: Option<u32>,
}

/// One rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Takes results out of the prompt.
    Clear(Clear),
    /// Drops the thinking of all but the newest answers that hold any (`clear_thinking_20251015`).
    ClearThinking {
        /// Answers with thinking that keep it; `None`: all.
        keep_turns: Option<u32>,
    },
    /// Replaces the whole history by a summary (`compact_20260112`): one more request reads the prompt and writes the summary.
    Compact {
        /// Fires when the edited prompt is larger, tokens.
        trigger: u64,
        /// Tokens of the summary, written as output and kept in the prompt.
        summary_tokens: u32,
    },
    /// Clears what is listed, request by request, of one trace; remembered.
    Schedule {
        /// What goes when.
        schedule: Schedule,
        /// How far.
        to: State,
    },
}

/// What is cleared when, of one trace: the request's index, and the uses, by their index in the trace, whose newest copies go then. The
/// requests stand in order, each at most once.
pub type Schedule = Arc<[(u32, Vec<u32>)]>;

/// Takes results out of the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Clear {
    /// Fires when all conditions of one of these hold; empty: at every request.
    pub when: Vec<Vec<Condition>>,
    /// What is never touched.
    pub protect: Protect,
    /// Which of the candidates are taken.
    pub take: Take,
    /// What is taken has to free so much, together.
    pub gate: Option<Gate>,
    /// A result that grows when it is replaced counts against what the others free; else it counts nothing.
    pub growth: bool,
    /// Kept uses move on only when so many further ones have come (`polling`); 0 and 1: with every one.
    pub every: u32,
    /// Recomputed from the full history at every request, or remembered.
    pub memory: Memory,
    /// How far a taken use is reduced.
    pub to: State,
}

/// One condition of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What is looked at.
    pub basis: Basis,
    /// Above the value, or at it.
    pub cmp: TriggerCmp,
    /// In the unit of the basis.
    pub value: u64,
}

/// What a condition looks at. Edited: after memory and the rules before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The unedited prompt, tokens.
    OriginalTokens,
    /// The edited prompt, tokens.
    EditedTokens,
    /// The unedited prompt without system prompt and tools, tokens.
    OriginalMessageTokens,
    /// The edited prompt without system prompt and tools, tokens.
    EditedMessageTokens,
    /// The unedited prompt, millionths of the context window; without a known window it never holds.
    OriginalWindowShare,
    /// The edited prompt, millionths of the context window; without a known window it never holds.
    EditedWindowShare,
    /// Clearable uses, those that are cleared or without a result included.
    ToolUses,
    /// Units of the conversation that stand in the prompt.
    Count(Unit),
    /// Messages after the newest result that is not whole; all of them where there is none.
    MessagesSinceClear,
    /// Time since the request before started, milliseconds.
    IdleMs,
    /// 1 where the request comes later after the one before than that one's cache entries live, else 0.
    CacheCold,
}

/// What a conversation is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Messages as the Messages API has them: an answer, or all that the client sends between two answers.
    Messages,
    /// Messages as chat APIs have them: an answer; a user's words; each result.
    Items,
    /// Events of a log: a user's words, each use, each result, an answer without a use.
    Events,
    /// Messages that hold a user's words.
    UserTurns,
    /// Answers.
    AssistantTurns,
}

/// What a rule never touches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Protect {
    /// The newest part of the conversation; of several the largest.
    pub newest: Vec<Tail>,
    /// So many of the oldest uses.
    pub first: u32,
    /// Results of these tools.
    pub exclude_tools: Vec<String>,
    /// Results of all tools but these.
    pub only_tools: Option<Vec<String>>,
    /// Which uses take up a place among the newest and the first; `None`: as [`Assume::keep_counts`].
    pub keep_counts: Option<KeepCounts>,
    /// Results smaller than this, tokens.
    pub min_tokens: u32,
    /// Results that report an error, where the trace says so.
    pub errors: bool,
    /// Results that were fetched again.
    pub refetched: bool,
    /// Results without a newer one of the same key (the same file read again); a use without a key has none.
    pub unless_read_again: bool,
}

/// A newest part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tail {
    /// So many uses.
    Uses(u64),
    /// So many uses with a result.
    Results(u64),
    /// Uses whose results have together at most so many tokens; those that are not whole do not count.
    ResultTokens(u64),
    /// The same, in millionths of the context window; without a known window it protects nothing.
    WindowShare(u64),
    /// So many units.
    Units(Unit, u64),
}

/// Which of the candidates are taken; always oldest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Take {
    /// All.
    #[default]
    All,
    /// In batches that free at least so many tokens; an incomplete last batch is left alone.
    Batches(u64),
    /// Until so many tokens are freed.
    Until(u64),
    /// All, and where they free fewer tokens than this, kept ones too, newest first, until it is reached; but only once there are more
    /// than are kept.
    IntoKept(u64),
    /// Until the prompt has at most so many tokens.
    DownTo(u64),
}

/// Tokens that have to be freed for anything to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gate {
    /// More than that, or as much.
    pub cmp: TriggerCmp,
    /// Tokens.
    pub tokens: u64,
}

impl TriggerCmp {
    /// Whether `value` passes `threshold`.
    pub fn passes(self, value: u64, threshold: u64) -> bool {
        match self {
            Self::Gt => value > threshold,
            Self::Ge => value >= threshold,
        }
    }
}

impl Policy {
    /// The API's edit under a reading of the public record.
    pub fn of_edit(edit: &ClearToolUses, assume: &Assume) -> Self {
        let rules = vec![Rule::Clear(Clear::of_edit(edit, assume))];
        Self { rules, clear_tool_inputs: edit.clear_tool_inputs.clone(), ..Self::default() }
    }

    /// `clear_when_cold`: all but the newest `keep` results, less those of some tools, whenever the cache is cold; remembered.
    pub fn when_cold(keep: u32, exclude_tools: Vec<String>) -> Self {
        let cold = Condition { basis: Basis::CacheCold, cmp: TriggerCmp::Ge, value: 1 };
        let protect = Protect { newest: vec![Tail::Uses(keep.into())], exclude_tools, ..Protect::default() };
        let rule = Clear { when: vec![vec![cold]], protect, memory: Memory::Sticky, to: State::Cleared, ..Clear::default() };
        Self { rules: vec![Rule::Clear(rule)], ..Self::default() }
    }

    /// A schedule and nothing else, by which uses are reduced to `to`.
    pub fn of_schedule(schedule: Schedule, to: State) -> Self {
        Self { rules: vec![Rule::Schedule { schedule, to }], ..Self::default() }
    }

    /// The rules that take results.
    pub fn clears(&self) -> impl Iterator<Item = &Clear> {
        self.rules.iter().filter_map(|rule| if let Rule::Clear(clear) = rule { Some(clear) } else { None })
    }
}

impl Clear {
    /// The API's edit under a reading of the public record.
    pub fn of_edit(edit: &ClearToolUses, assume: &Assume) -> Self {
        let basis = match (edit.trigger, assume.memory, assume.trigger_counts_base) {
            (Trigger::ToolUses(_), ..) => Basis::ToolUses,
            (_, Memory::Stateless, true) => Basis::OriginalTokens,
            (_, Memory::Stateless, false) => Basis::OriginalMessageTokens,
            (_, Memory::Sticky, true) => Basis::EditedTokens,
            (_, Memory::Sticky, false) => Basis::EditedMessageTokens,
        };
        let goal = edit.clear_at_least;
        let (take, gate) = match assume.selection {
            _ if goal == 0 => (Take::All, None),
            Selection::Batched => (Take::Batches(goal), None),
            Selection::AllOrNothing => (Take::All, Some(Gate { cmp: TriggerCmp::Ge, tokens: goal })),
            Selection::StopWhenReached => (Take::Until(goal), None),
        };
        Self {
            when: vec![vec![Condition { basis, cmp: assume.trigger_cmp, value: edit.trigger.value() }]],
            protect: Protect {
                newest: vec![Tail::Uses(edit.keep.into())],
                exclude_tools: edit.exclude_tools.clone(),
                ..Protect::default()
            },
            take,
            gate,
            growth: false,
            every: 0,
            memory: assume.memory,
            to: State::Cleared,
        }
    }

    /// Whether results of `tool` are protected.
    pub fn spares_tool(&self, tool: &str) -> bool {
        let named = |tools: &[String]| tools.iter().any(|t| t == tool);
        named(&self.protect.exclude_tools) || self.protect.only_tools.as_ref().is_some_and(|only| !named(only))
    }
}
