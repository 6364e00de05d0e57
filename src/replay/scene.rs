//! The history as a rule of a policy sees it.

use super::history::History;
use super::plain::Pause;
use crate::policy::select::{Candidate, Scene};
use crate::policy::space::{Clear, State, Unit};
use crate::trace::NONE;

/// The history at one request, for rule number `number`.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub history: &'a History,
    pub clear: &'a Clear,
    pub number: usize,
    pub pause: Pause,
    pub window: Option<u64>,
    /// The edited size, where it is known.
    pub edited_tokens: Option<u64>,
    /// By live use, where the rule asks: whether a newer result of the same key is whole.
    pub superseded: &'a [bool],
}

impl View<'_> {
    /// Whether a newer result of the same key is whole, by live use.
    pub fn superseded(&self) -> Vec<bool> {
        let uses = &self.history.uses;
        let keys = uses.iter().map(|u| u.key).filter(|&key| key != NONE).max().map_or(0, |most| most as usize + 1);
        let mut seen = vec![false; keys];
        let mut superseded = vec![false; uses.len()];
        for (i, u) in uses.iter().enumerate().rev().filter(|(_, u)| u.key != NONE) {
            superseded[i] = seen[u.key as usize];
            seen[u.key as usize] |= u.has_result && self.history.now.state_of(i, u) == State::Whole;
        }
        superseded
    }
}

impl Scene for View<'_> {
    fn base_tokens(&self) -> u64 {
        self.history.base_tokens
    }

    fn original_tokens(&self) -> u64 {
        self.history.original_tokens
    }

    fn edited_tokens(&self) -> u64 {
        self.edited_tokens.unwrap_or_else(|| self.history.tokens_of(&self.history.now))
    }

    fn clearable_uses(&self) -> u64 {
        let from = self.history.now.history_from;
        if from == 0 {
            return self.history.clearable_uses[self.number];
        }
        let counts = |u: &&super::history::LiveUse| u.use_block >= from && u.clearable >> self.number & 1 == 1;
        self.history.uses.iter().filter(counts).count() as u64
    }

    fn count(&self, unit: Unit) -> u64 {
        self.history.units(unit)
    }

    fn messages_since_clear(&self) -> u64 {
        self.history.messages_since_clear()
    }

    fn idle_ms(&self) -> u64 {
        self.pause.idle_ms
    }

    fn cache_cold(&self) -> bool {
        self.pause.cold
    }

    fn window(&self) -> Option<u64> {
        self.window
    }

    fn tail_block(&self, unit: Unit, count: u64) -> u32 {
        self.history.tail_block(unit, count)
    }

    fn uses(&self) -> usize {
        self.history.uses.len()
    }

    fn use_at(&self, index: usize) -> Candidate {
        let (history, protect, to) = (self.history, &self.clear.protect, self.clear.to);
        let u = &history.uses[index];
        let state = history.now.state_of(index, u);
        let saved = history.saved(u, to) - history.saved(u, state);
        let spared = state >= to
            || u.result_tokens < protect.min_tokens
            || (protect.errors && u.error)
            || (protect.refetched && u.copy_of != NONE)
            || (protect.unless_read_again && self.superseded.get(index) != Some(&true))
            // A result that is no larger than its head and tail stays as it is.
            || (to == State::Trimmed && saved <= 0);
        Candidate {
            clearable: u.clearable >> self.number & 1 == 1,
            has_result: u.has_result,
            spared,
            saved,
            tokens: if state == State::Whole { u.result_tokens } else { 0 },
            block: u.result_block,
        }
    }
}
