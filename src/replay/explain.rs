//! Why a row is as it is: what the reference engine knows beyond its reports, for findings and for people who ask.

use super::plain::{Engine, Pause};
use super::scene::View;
use crate::policy::select::{fires, open_part};
use crate::policy::space::{Rule, State};
use crate::policy::{Memory, Settings};
use crate::trace::NONE;

/// What could be cleared in the prompt of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Whether the trigger has fired.
    pub fired: bool,
    /// How many uses may be cleared: clearable, with a result, older than the kept ones; with remembered clearing less those that were
    /// cleared before this row.
    pub uses: u64,
    /// What clearing all of them frees, tokens, as the selection counts it.
    pub tokens: u64,
    /// The prompt once every candidate is cleared, those of earlier rows included, tokens.
    pub floor_tokens: u64,
}

/// Where a clear event cut the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Positions from that of the newest result that was cleared to the end, both included: one more than the kept tail.
    pub behind: u32,
    /// Tokens of the prompt before the first position that changed: what a cache without a limit of positions could still have given.
    pub before_tokens: u64,
}

impl Engine {
    /// What the first rule that takes results could take at the row that was just given. `settings` are those of the run.
    pub fn candidates(&self, settings: &Settings) -> Candidates {
        let history = &self.history;
        let first = self.plan.policy.rules.iter().enumerate().find_map(|(number, rule)| match rule {
            Rule::Clear(clear) => Some((number, clear)),
            _ => None,
        });
        let Some((number, clear)) = first else {
            return Candidates { floor_tokens: history.prompt_tokens(), ..Candidates::default() };
        };
        let sticky = clear.memory == Memory::Sticky;
        let is_new = |i: usize| self.newly.binary_search(&(i as u32)).is_ok();
        // With remembered clearing the trigger looks at the size before this row cleared anything.
        let freed_now: i64 = self.newly.iter().map(|&i| history.saved(&history.uses[i as usize], clear.to)).sum();
        let edited_tokens = Some(history.prompt_tokens().saturating_add_signed(freed_now));
        let window = settings.context_window;
        let view = View { history, clear, number, pause: Pause::default(), window, edited_tokens, superseded: &[] };
        let open = open_part(clear, self.plan.counts[number], &view);
        let mut found = Candidates { fired: fires(clear, &view), ..Candidates::default() };
        let mut all_saved = 0;
        for (i, u) in history.uses.iter().enumerate().take(open.end).skip(open.first) {
            if u.clearable >> number & 1 == 0 || !u.has_result || u.result_block >= open.block {
                continue;
            }
            let saved = history.saved(u, clear.to);
            all_saved += saved;
            if !(sticky && history.now.state_of(i, u) != State::Whole && !is_new(i)) {
                found.uses += 1;
                found.tokens += saved.max(0).unsigned_abs();
            }
        }
        found.floor_tokens = history.original_tokens.saturating_add_signed(-all_saved);
        found
    }

    /// Of which uses of the trace the prompt of the row that was just given does not hold the whole result, by index, in order; of one that was
    /// fetched again the newest copy counts.
    pub fn not_whole(&self) -> Vec<u32> {
        let history = &self.history;
        let there = history.newest.iter().enumerate().filter(|(_, live)| **live != NONE);
        let gone = there.filter(|(_, live)| {
            let use_ = &history.uses[**live as usize];
            use_.has_result && history.now.state_of(**live as usize, use_) != State::Whole
        });
        gone.map(|(origin, _)| origin as u32).collect()
    }

    /// Whether a remembered rule of the policy would fire again at what stands in the prompt of the row that was just given, by its size.
    pub fn fires_again(&self, settings: &Settings) -> bool {
        let history = &self.history;
        let edited_tokens = Some(history.prompt_tokens());
        self.plan.policy.rules.iter().enumerate().any(|(number, rule)| {
            let Rule::Clear(clear) = rule else { return false };
            let view =
                View { history, clear, number, pause: Pause::default(), window: settings.context_window, edited_tokens, superseded: &[] };
            clear.memory == Memory::Sticky && !clear.when.is_empty() && fires(clear, &view)
        })
    }

    /// Clearable uses of the history, those without a result included: what a trigger of `tool_uses` looks at.
    pub fn clearable_uses(&self) -> u64 {
        self.history.clearable_uses.first().copied().unwrap_or(0)
    }

    /// Where the row that was just given cut the prompt; `None` where nothing changed.
    pub fn cut(&self) -> Option<Cut> {
        let from = self.changed_from?;
        let newest = self.newly.last().map_or(from, |&i| self.history.position_of(self.history.uses[i as usize].result_block));
        Some(Cut { behind: self.history.last_position() + 1 - newest, before_tokens: self.cache.tokens_before(from) })
    }

    /// Tool (index into the trace's) and freed tokens of each use that the row cleared.
    pub fn newly_cleared(&self) -> impl Iterator<Item = (u16, i64)> + '_ {
        let history = &self.history;
        self.newly
            .iter()
            .map(|&i| (i as usize, &history.uses[i as usize]))
            .map(|(i, u)| (u.tool, history.saved(u, history.now.state_of(i, u))))
    }

    /// The trace's uses that the row's request needs and misses, in order of need: fetched again by a re-fetch row, unmet at an original
    /// one.
    pub fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// The trace's uses that are needed and gone for good.
    pub fn lost(&self) -> &[u32] {
        &self.lost
    }
}
