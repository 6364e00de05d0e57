//! The history of a conversation as it grows, and which of its tool uses are cleared in the prompt.

use super::Masks;
use crate::policy::Assume;
use crate::trace::{BlockKind, NONE, Trace};

/// One block of the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The live use whose clearing changes this block, or [`NONE`].
    pub cleared_with: u32,
    /// Tokens when it is not cleared.
    pub tokens: u32,
    /// Tokens when it is.
    pub cleared_tokens: u32,
}

/// One tool use of the history; re-fetched copies are uses of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveUse {
    /// The live use that this is a copy of, or [`NONE`].
    pub copy_of: u32,
    pub tool: u16,
    /// Counted against the trigger and for `keep`: neither excluded nor tiny.
    pub clearable: bool,
    pub has_result: bool,
    pub use_block: u32,
    pub result_block: u32,
    pub use_tokens: u32,
    pub result_tokens: u32,
    pub result_bytes: u32,
    /// Unedited minus edited tokens when it is cleared; negative where the placeholder is larger.
    pub saved: i64,
}

/// The history: blocks, messages as cacheable positions, tool uses, and the cleared set of the prompt.
#[derive(Debug, Default)]
pub(super) struct History {
    pub blocks: Vec<Block>,
    /// Position `p` ends before block `position_ends[p]`; position 0 is the base and holds no block.
    pub position_ends: Vec<u32>,
    /// Last positions of the messages that hold `user` or `result` blocks.
    pub user_message_ends: Vec<u32>,
    pub uses: Vec<LiveUse>,
    /// By index of the trace's use: its newest live copy, or [`NONE`].
    pub newest: Vec<u32>,
    /// Whether each live use is cleared in the prompt.
    pub cleared: Vec<bool>,
    pub clearable_uses: u64,
    pub cleared_uses: u64,
    pub base_tokens: u64,
    /// Unedited size.
    pub original_tokens: u64,
    /// What the cleared set takes out of it.
    pub saved_tokens: i64,
    message_open: Option<BlockKind>,
    message_is_user_side: bool,
}

impl History {
    /// Empties the history, keeping its memory, and starts one with `trace`'s base.
    pub fn reset(&mut self, trace: &Trace) {
        self.blocks.clear();
        self.position_ends.clear();
        self.position_ends.push(0);
        self.user_message_ends.clear();
        self.uses.clear();
        self.newest.clear();
        self.newest.resize(trace.uses.len(), NONE);
        self.cleared.clear();
        self.clearable_uses = 0;
        self.cleared_uses = 0;
        self.base_tokens = trace.base_tokens;
        self.original_tokens = trace.base_tokens;
        self.saved_tokens = 0;
        self.message_open = None;
        self.message_is_user_side = false;
    }

    /// Size of the prompt that is sent.
    pub fn prompt_tokens(&self) -> u64 {
        self.original_tokens.strict_sub_signed(self.saved_tokens)
    }

    /// Index of the last position.
    pub fn last_position(&self) -> u32 {
        self.position_ends.len() as u32 - 1
    }

    /// The position that holds block `block`.
    pub fn position_of(&self, block: u32) -> u32 {
        self.position_ends.partition_point(|&end| end <= block) as u32
    }

    /// Closes the message: the next block starts another.
    pub fn end_message(&mut self) {
        if self.message_is_user_side {
            self.user_message_ends.push(self.last_position());
        }
        self.message_open = None;
        self.message_is_user_side = false;
    }

    /// Appends a block that no clearing changes.
    pub fn push_plain(&mut self, kind: BlockKind, tokens: u32, group_parallel: bool) {
        self.push(kind, Block { cleared_with: NONE, tokens, cleared_tokens: tokens }, group_parallel);
    }

    /// Appends a `use` block of the trace's use `origin`, or of a copy of it.
    pub fn push_use(&mut self, origin: u32, tool: u16, tokens: u32, masks: &Masks, assume: &Assume, group_parallel: bool) {
        let live = self.uses.len() as u32;
        let input_cleared = masks.input_cleared[tool as usize];
        let clearable = !masks.excluded[tool as usize];
        self.uses.push(LiveUse {
            copy_of: self.newest[origin as usize],
            tool,
            clearable,
            has_result: false,
            use_block: self.blocks.len() as u32,
            result_block: NONE,
            use_tokens: tokens,
            result_tokens: 0,
            result_bytes: NONE,
            saved: 0,
        });
        self.cleared.push(false);
        self.clearable_uses += u64::from(clearable);
        self.newest[origin as usize] = live;
        let block = if input_cleared {
            Block { cleared_with: live, tokens, cleared_tokens: assume.cleared_input_tokens }
        } else {
            Block { cleared_with: NONE, tokens, cleared_tokens: tokens }
        };
        self.push(BlockKind::Use, block, group_parallel);
    }

    /// The live use that the newest copy of the trace's use `origin` is a copy of.
    pub fn previous_copy(&self, origin: u32) -> u32 {
        self.uses[self.newest[origin as usize] as usize].copy_of
    }

    /// Appends the result of the newest copy of the trace's use `origin`.
    pub fn push_result(&mut self, origin: u32, tokens: u32, bytes: u32, masks: &Masks, assume: &Assume, group_parallel: bool) {
        let live = self.newest[origin as usize];
        let result_block = self.blocks.len() as u32;
        let use_ = &mut self.uses[live as usize];
        let input_cleared = masks.input_cleared[use_.tool as usize];
        let tiny = bytes != NONE && (1..=assume.tiny_result_bytes).contains(&bytes);
        if use_.clearable && tiny && !input_cleared {
            use_.clearable = false;
            self.clearable_uses -= 1;
        }
        use_.has_result = true;
        use_.result_block = result_block;
        use_.result_tokens = tokens;
        use_.result_bytes = bytes;
        use_.saved = i64::from(tokens) - i64::from(assume.placeholder_tokens);
        if input_cleared {
            use_.saved += i64::from(use_.use_tokens) - i64::from(assume.cleared_input_tokens);
        }
        let block = Block { cleared_with: live, tokens, cleared_tokens: assume.placeholder_tokens };
        self.push(BlockKind::Result, block, group_parallel);
    }

    fn push(&mut self, kind: BlockKind, block: Block, group_parallel: bool) {
        self.blocks.push(block);
        self.original_tokens += u64::from(block.tokens);
        let end = self.blocks.len() as u32;
        // A run of uses, or of results, of one message is a single position.
        let joins = group_parallel && matches!(kind, BlockKind::Use | BlockKind::Result) && self.message_open == Some(kind);
        if joins {
            *self.position_ends.last_mut().expect("the base is a position") = end;
        } else {
            self.position_ends.push(end);
        }
        self.message_open = Some(kind);
        self.message_is_user_side |= matches!(kind, BlockKind::User | BlockKind::Result);
    }
}
