//! What clearing could save at best, with all that follows known beforehand.
//!
//! [`oracle`] is a schedule that can be run: it clears nothing that is needed again. [`bound`] is a number: no policy costs less, as
//! long as it loses nothing. Both look for cuts, that is for a request and a position of the history behind which everything goes that is
//! not needed any more, by the same recursion ([`cuts`]): one with what a cut costs in the cache of the replay, the other with what it
//! costs at the very least.

mod bound;
mod cuts;
mod oracle;
mod steps;

pub use bound::{bound, bound_within, is_comparable};
pub use oracle::{Oracle, oracle};

use crate::policy::space::{Policy, Rule, State};
use crate::policy::{Assume, ClearToolInputs};

/// What a policy takes out of prompts at the most, besides the results of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reach {
    /// Tool uses, or their inputs, go with their results.
    pub uses: bool,
    /// Thinking.
    pub thinking: bool,
    /// Tokens that stay in the place of a result, at the least.
    pub left: u32,
}

impl Reach {
    /// Results, of which nothing stays.
    pub const RESULTS: Self = Self { uses: false, thinking: false, left: 0 };
    /// All that is not words.
    pub const ALL: Self = Self { uses: true, thinking: true, left: 0 };

    /// That of a policy. What a compaction takes is beyond any.
    pub fn of(policy: &Policy, assume: &Assume) -> Self {
        let mut reach = Self { left: policy.placeholder_tokens.unwrap_or(assume.placeholder_tokens), ..Self::RESULTS };
        reach.uses = policy.clear_tool_inputs != ClearToolInputs::No;
        for rule in &policy.rules {
            match rule {
                Rule::Clear(clear) if clear.to == State::Trimmed => reach.left = reach.left.min(policy.trimmed_tokens),
                Rule::Clear(super::policy::space::Clear { to, .. }) | Rule::Schedule { to, .. } if *to == State::Removed => {
                    (reach.uses, reach.left) = (true, 0);
                }
                Rule::ClearThinking { keep_turns } => reach.thinking |= keep_turns.is_some(),
                Rule::Clear(_) | Rule::Schedule { .. } | Rule::Compact { .. } => {}
            }
        }
        reach
    }

    /// `takes=results|uses|thinking;left=11`.
    pub fn words(self) -> String {
        let further = [(self.uses, "|uses"), (self.thinking, "|thinking")];
        let further: String = further.into_iter().filter(|(takes, _)| *takes).map(|(_, word)| word).collect();
        format!("takes=results{further};left={}", self.left)
    }

    /// Reads [`Self::words`] back.
    pub fn from_words(words: &str) -> Option<Self> {
        let mut reach = Self::RESULTS;
        for part in words.split(';') {
            match part.split_once('=')? {
                ("takes", takes) => {
                    for take in takes.split('|') {
                        match take {
                            "results" => {}
                            "uses" => reach.uses = true,
                            "thinking" => reach.thinking = true,
                            _ => return None,
                        }
                    }
                }
                ("left", left) => reach.left = left.parse().ok()?,
                _ => return None,
            }
        }
        Some(reach)
    }

    /// What both take together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { uses: self.uses || other.uses, thinking: self.thinking || other.thinking, left: self.left.min(other.left) }
    }
}
