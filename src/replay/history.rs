//! The history of a conversation as it grows, and how much of it stands in the prompt.

use super::plan::Plan;
use crate::policy::space::{State, Unit};
use crate::trace::{BlockKind, NONE, Trace, Use};

/// What a block of the history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Result,
    Thinking,
    Text,
    Use,
    /// What a compaction left of everything before it.
    Summary,
}

impl From<BlockKind> for Kind {
    fn from(kind: BlockKind) -> Self {
        match kind {
            BlockKind::User => Self::User,
            BlockKind::Result => Self::Result,
            BlockKind::Thinking => Self::Thinking,
            BlockKind::Text => Self::Text,
            BlockKind::Use => Self::Use,
        }
    }
}

/// One block of the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The live use whose state changes this block, or [`NONE`].
    pub of: u32,
    /// The first state of that use in which this block is not whole.
    pub least: State,
    pub kind: Kind,
    pub tokens: u32,
    /// Tokens in the state [`State::Cleared`].
    pub cleared_tokens: u32,
}

/// One tool use of the history; re-fetched copies are uses of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveUse {
    /// Index of the trace's use.
    pub origin: u32,
    /// The live use that this is a copy of, or [`NONE`].
    pub copy_of: u32,
    pub tool: u16,
    /// A bit a rule: whether the use counts for it, as its tool is not protected and its result not tiny.
    pub clearable: u8,
    pub has_result: bool,
    pub error: bool,
    /// Number of what was read, or [`NONE`].
    pub key: u32,
    pub use_block: u32,
    pub result_block: u32,
    pub use_tokens: u32,
    pub result_tokens: u32,
    pub result_bytes: u32,
    /// Unedited minus edited tokens in the state [`State::Cleared`]; negative where the placeholder is larger.
    pub saved: i64,
}

/// How much of the history stands in a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Edited {
    /// By live use.
    pub uses: Vec<State>,
    /// Thinking blocks before this block are dropped.
    pub thinking_from: u32,
    /// Everything before this block is dropped; it is the summary of it.
    pub history_from: u32,
}

impl Edited {
    /// The state of a use, a compaction included.
    pub fn state_of(&self, index: usize, use_: &LiveUse) -> State {
        if use_.result_block < self.history_from { State::Removed } else { self.uses[index] }
    }

    pub fn clear(&mut self) {
        self.uses.clear();
        self.thinking_from = 0;
        self.history_from = 0;
    }
}

/// Blocks that were appended together.
#[derive(Debug, Clone, Copy)]
struct Message {
    start: u32,
    end: u32,
    /// An answer of the model.
    output: bool,
}

/// The history: blocks, messages as cacheable positions, tool uses, and what of them stands in the prompt.
#[derive(Debug, Default)]
pub(super) struct History {
    pub blocks: Vec<Block>,
    /// Position `p` ends before block `position_ends[p]`; position 0 is the base and holds no block.
    pub position_ends: Vec<u32>,
    /// First and last positions of the messages that hold `user` or `result` blocks.
    pub user_messages: Vec<(u32, u32)>,
    messages: Vec<Message>,
    /// The first thinking block of each answer that holds any.
    thinking_turns: Vec<u32>,
    pub uses: Vec<LiveUse>,
    /// By index of the trace's use: its newest live copy, or [`NONE`].
    pub newest: Vec<u32>,
    /// What stands in the prompt.
    pub now: Edited,
    /// Clearable uses, by rule.
    pub clearable_uses: Vec<u64>,
    pub cleared_uses: u64,
    pub base_tokens: u64,
    /// Unedited size; summaries are no part of it.
    pub original_tokens: u64,
    /// What the states of the uses take out of it.
    pub saved_tokens: i64,
    trimmed_tokens: u32,
    /// Whether whole blocks can be missing in a prompt.
    pub drops: bool,
    message_open: Option<Kind>,
    /// First block and position of the open message.
    message_start: (u32, u32),
    message_is_user_side: bool,
}

impl History {
    /// Empties the history, keeping its memory, and starts one with `trace`'s base.
    pub fn reset(&mut self, trace: &Trace, plan: &Plan) {
        self.blocks.clear();
        self.position_ends.clear();
        self.position_ends.push(0);
        self.user_messages.clear();
        self.messages.clear();
        self.thinking_turns.clear();
        self.uses.clear();
        self.newest.clear();
        self.newest.resize(trace.uses.len(), NONE);
        self.now.clear();
        self.clearable_uses.clear();
        self.clearable_uses.resize(plan.policy.rules.len(), 0);
        self.cleared_uses = 0;
        self.base_tokens = trace.base_tokens;
        self.original_tokens = trace.base_tokens;
        self.saved_tokens = 0;
        self.trimmed_tokens = plan.policy.trimmed_tokens;
        self.drops = plan.drops;
        self.message_open = None;
        self.message_is_user_side = false;
    }

    /// Size of the prompt that is sent.
    pub fn prompt_tokens(&self) -> u64 {
        if self.drops { self.tokens_of(&self.now) } else { self.original_tokens.strict_sub_signed(self.saved_tokens) }
    }

    /// Size of the prompt in which so much of the history stands.
    pub fn tokens_of(&self, edited: &Edited) -> u64 {
        if self.drops {
            let shown = (0..self.blocks.len()).filter_map(|block| self.shown(block, edited));
            return self.base_tokens + shown.map(|(_, tokens)| u64::from(tokens)).sum::<u64>();
        }
        let saved: i64 = self.uses.iter().zip(&edited.uses).map(|(use_, &state)| self.saved(use_, state)).sum();
        self.original_tokens.strict_sub_signed(saved)
    }

    /// State and tokens of a block in a prompt; `None`: it is not there.
    pub fn shown(&self, index: usize, edited: &Edited) -> Option<(State, u32)> {
        let block = &self.blocks[index];
        if self.drops && is_dropped(block, index as u32, edited) {
            return None;
        }
        if block.of == NONE {
            return Some((State::Whole, block.tokens));
        }
        match edited.uses[block.of as usize] {
            state if state < block.least => Some((State::Whole, block.tokens)),
            State::Whole => Some((State::Whole, block.tokens)),
            State::Trimmed => Some((State::Trimmed, block.tokens.min(self.trimmed_tokens))),
            State::Cleared => Some((State::Cleared, block.cleared_tokens)),
            State::Removed => None,
        }
    }

    /// Unedited minus edited tokens of a use in a state.
    pub fn saved(&self, use_: &LiveUse, state: State) -> i64 {
        match state {
            State::Whole => 0,
            State::Trimmed => i64::from(use_.result_tokens.saturating_sub(self.trimmed_tokens)),
            State::Cleared => use_.saved,
            State::Removed => i64::from(use_.result_tokens) + i64::from(use_.use_tokens),
        }
    }

    /// The first block that is another when a use goes from one state to another.
    pub fn first_changed(&self, use_: &LiveUse, was: State, is: State) -> u32 {
        let use_block = &self.blocks[use_.use_block as usize];
        let as_shown = |state: State| if use_block.of == NONE || state < use_block.least { State::Whole } else { state };
        if as_shown(was) == as_shown(is) { use_.result_block } else { use_.use_block }
    }

    /// Index of the last position.
    pub fn last_position(&self) -> u32 {
        self.position_ends.len() as u32 - 1
    }

    /// The position that holds block `block`.
    pub fn position_of(&self, block: u32) -> u32 {
        self.position_ends.partition_point(|&end| end <= block) as u32
    }

    /// Closes the message: the next block starts another. `output`: it is an answer of the model.
    pub fn end_message(&mut self, output: bool) {
        let (start, position) = self.message_start;
        if self.message_open.take().is_some() {
            self.messages.push(Message { start, end: self.blocks.len() as u32, output });
        }
        if std::mem::take(&mut self.message_is_user_side) {
            self.user_messages.push((position, self.last_position()));
        }
    }

    /// Appends a block that belongs to no use.
    pub fn push_plain(&mut self, kind: BlockKind, tokens: u32, group_parallel: bool) {
        let first = if self.message_open.is_some() { self.message_start.0 } else { self.blocks.len() as u32 };
        if kind == BlockKind::Thinking && self.thinking_turns.last().is_none_or(|&turn| turn < first) {
            self.thinking_turns.push(self.blocks.len() as u32);
        }
        self.push(Block { of: NONE, least: State::Removed, kind: kind.into(), tokens, cleared_tokens: tokens }, group_parallel);
    }

    /// Replaces everything before it by a summary of so many tokens.
    pub fn compact(&mut self, tokens: u32) {
        self.now.history_from = self.blocks.len() as u32;
        self.push(Block { of: NONE, least: State::Removed, kind: Kind::Summary, tokens, cleared_tokens: tokens }, false);
        self.original_tokens -= u64::from(tokens);
        self.end_message(false);
    }

    /// Drops the thinking of all but the newest `keep` answers that hold any.
    pub fn drop_thinking(&mut self, keep: u32) {
        let kept = self.thinking_turns.len().checked_sub(keep as usize);
        let end = self.blocks.len() as u32;
        self.now.thinking_from = kept.map_or(0, |k| self.thinking_turns.get(k).copied().unwrap_or(end));
    }

    /// Tokens and first block of the thinking that is dropped now and was not before block `before`.
    pub fn newly_dropped_thinking(&self, before: u32) -> Option<(u64, u32)> {
        let thinking = |b: &u32| self.blocks[*b as usize].kind == Kind::Thinking;
        let blocks = (before.max(self.now.history_from)..self.now.thinking_from).filter(thinking);
        let first = blocks.clone().next()?;
        Some((blocks.map(|b| u64::from(self.blocks[b as usize].tokens)).sum(), first))
    }

    /// Appends a `use` block of the trace's use `origin`, or of a copy of it.
    pub fn push_use(&mut self, origin: u32, use_: &Use, tokens: u32, plan: &Plan, group_parallel: bool) {
        let live = self.uses.len() as u32;
        let clearable = plan.clearable[use_.tool as usize];
        self.uses.push(LiveUse {
            origin,
            copy_of: self.newest[origin as usize],
            tool: use_.tool,
            clearable,
            has_result: false,
            error: use_.error,
            key: use_.key,
            use_block: self.blocks.len() as u32,
            result_block: NONE,
            use_tokens: tokens,
            result_tokens: 0,
            result_bytes: NONE,
            saved: 0,
        });
        self.now.uses.push(State::Whole);
        self.count(clearable, 1);
        self.newest[origin as usize] = live;
        let block = if plan.input_cleared[use_.tool as usize] {
            Block { of: live, least: State::Cleared, kind: Kind::Use, tokens, cleared_tokens: plan.cleared_input_tokens }
        } else {
            let of = if plan.removes { live } else { NONE };
            Block { of, least: State::Removed, kind: Kind::Use, tokens, cleared_tokens: tokens }
        };
        self.push(block, group_parallel);
    }

    /// Adds `n` clearable uses to the rules whose bits are set.
    fn count(&mut self, clearable: u8, n: i64) {
        for (rule, count) in self.clearable_uses.iter_mut().enumerate() {
            if clearable >> rule & 1 == 1 {
                *count = count.strict_add_signed(n);
            }
        }
    }

    /// The live use that the newest copy of the trace's use `origin` is a copy of.
    pub fn previous_copy(&self, origin: u32) -> u32 {
        self.uses[self.newest[origin as usize] as usize].copy_of
    }

    /// Appends the result of the newest copy of the trace's use `origin`.
    pub fn push_result(&mut self, origin: u32, tokens: u32, bytes: u32, plan: &Plan, group_parallel: bool) {
        let live = self.newest[origin as usize];
        let result_block = self.blocks.len() as u32;
        let use_ = &mut self.uses[live as usize];
        let input_cleared = plan.input_cleared[use_.tool as usize];
        let tiny = bytes != NONE && (1..=plan.tiny_result_bytes).contains(&bytes);
        let uncounted = if tiny && !input_cleared { std::mem::take(&mut use_.clearable) } else { 0 };
        use_.has_result = true;
        use_.result_block = result_block;
        use_.result_tokens = tokens;
        use_.result_bytes = bytes;
        use_.saved = i64::from(tokens) - i64::from(plan.placeholder_tokens);
        if input_cleared {
            use_.saved += i64::from(use_.use_tokens) - i64::from(plan.cleared_input_tokens);
        }
        self.count(uncounted, -1);
        self.push(
            Block { of: live, least: State::Trimmed, kind: Kind::Result, tokens, cleared_tokens: plan.placeholder_tokens },
            group_parallel,
        );
    }

    fn push(&mut self, block: Block, group_parallel: bool) {
        let first = self.blocks.len() as u32;
        self.blocks.push(block);
        self.original_tokens += u64::from(block.tokens);
        let end = first + 1;
        // A run of uses, or of results, of one message is a single position.
        let joins = group_parallel && matches!(block.kind, Kind::Use | Kind::Result) && self.message_open == Some(block.kind);
        if joins {
            *self.position_ends.last_mut().expect("the base is a position") = end;
        } else {
            self.position_ends.push(end);
        }
        if self.message_open.is_none() {
            self.message_start = (first, self.last_position());
        }
        self.message_open = Some(block.kind);
        self.message_is_user_side |= matches!(block.kind, Kind::User | Kind::Result);
    }

    /// How many units stand in the prompt.
    pub fn units(&self, unit: Unit) -> u64 {
        self.messages.iter().map(|message| self.starts(message, unit).count() as u64).sum()
    }

    /// The block with which the newest `count` units begin; the first of all where there are fewer.
    pub fn tail_block(&self, unit: Unit, count: u64) -> u32 {
        let Some(skip) = usize::try_from(count).unwrap_or(usize::MAX).checked_sub(1) else { return self.blocks.len() as u32 };
        self.messages.iter().rev().flat_map(|message| self.starts(message, unit)).nth(skip).unwrap_or(0)
    }

    /// Messages after the newest result that is not whole; all of them where there is none.
    pub fn messages_since_clear(&self) -> u64 {
        let changed = self.uses.iter().enumerate().filter(|(i, u)| u.has_result && self.now.state_of(*i, u) != State::Whole);
        let newest = changed.map(|(_, u)| u.result_block).max();
        let after = |message: &&Message| newest.is_none_or(|block| message.start > block);
        let there = |message: &&Message| self.starts(message, Unit::Messages).next().is_some();
        self.messages.iter().rev().take_while(after).filter(there).count() as u64
    }

    /// The first blocks of the units of a message that stand in the prompt, newest first.
    fn starts(&self, message: &Message, unit: Unit) -> impl Iterator<Item = u32> + '_ {
        let Message { start, end, output } = *message;
        let there = move |b: &u32| self.shown(*b as usize, &self.now).is_some();
        let is = move |b: u32, kinds: &[Kind]| kinds.contains(&self.blocks[b as usize].kind) && there(&b);
        let any_of = move |kind: Kind| (start..end).any(|b| is(b, &[kind]));
        let anything = move || (start..end).any(|b| there(&b));
        // Either the message is one unit, or each block of these kinds is.
        let (one, each): (bool, &[Kind]) = match (unit, output) {
            (Unit::UserTurns, false) => (any_of(Kind::User), &[]),
            (Unit::AssistantTurns, false) | (Unit::UserTurns, true) => (false, &[]),
            (Unit::Items | Unit::Events, false) => (false, &[Kind::User, Kind::Result, Kind::Summary]),
            (Unit::Events, true) if any_of(Kind::Use) => (false, &[Kind::Use]),
            (Unit::Messages, _) | (Unit::AssistantTurns | Unit::Items | Unit::Events, true) => (anything(), &[]),
        };
        one.then_some(start).into_iter().chain((start..end).rev().filter(move |&b| is(b, each)))
    }
}

fn is_dropped(block: &Block, index: u32, edited: &Edited) -> bool {
    index < edited.history_from
        || (block.kind == Kind::Thinking && index < edited.thinking_from)
        // A later compaction's summary, in a prompt that does not have it.
        || (block.kind == Kind::Summary && index != edited.history_from)
}
