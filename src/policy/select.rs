//! Which tool uses a rule takes out of a prompt.

use super::KeepCounts;
use super::space::{Basis, Clear, Condition, Tail, Take, Unit};

/// One tool use, as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Neither of a protected tool nor tiny: counted against a trigger in uses, and for what is kept.
    pub clearable: bool,
    /// Its result has arrived.
    pub has_result: bool,
    /// Protected by what it is, or reduced as far already: counted, never taken.
    pub spared: bool,
    /// Tokens that taking it frees, against what stands in the prompt now; negative where the placeholder is larger.
    pub saved: i64,
    /// Tokens of its result; 0 where the result is not whole.
    pub tokens: u32,
    /// The block of its result in the history.
    pub block: u32,
}

/// What a rule looks at: the history at one request, with what memory and the rules before left of it.
pub trait Scene {
    /// Tokens of tools + system prompt.
    fn base_tokens(&self) -> u64;
    /// Unedited size of the whole history, base included.
    fn original_tokens(&self) -> u64;
    /// The size with what is already cleared replaced.
    fn edited_tokens(&self) -> u64;
    /// Clearable uses, those without a result included.
    fn clearable_uses(&self) -> u64;
    /// Units that stand in the prompt.
    fn count(&self, unit: Unit) -> u64;
    /// Messages after the newest result that is not whole.
    fn messages_since_clear(&self) -> u64;
    /// Milliseconds since the request before.
    fn idle_ms(&self) -> u64;
    /// Whether the cache has expired since.
    fn cache_cold(&self) -> bool;
    /// Context window, tokens.
    fn window(&self) -> Option<u64>;
    /// The block with which the newest `count` units begin.
    fn tail_block(&self, unit: Unit, count: u64) -> u32;
    /// How many uses there are.
    fn uses(&self) -> usize;
    /// The use at `index`, in the order of the `use` blocks.
    fn use_at(&self, index: usize) -> Candidate;
}

/// Whether a rule fires.
pub fn fires(rule: &Clear, scene: &impl Scene) -> bool {
    rule.when.is_empty() || rule.when.iter().any(|all| all.iter().all(|condition| holds(*condition, scene)))
}

fn holds(condition: Condition, scene: &impl Scene) -> bool {
    let share = |tokens: u64| scene.window().filter(|&w| w > 0).map(|w| (u128::from(tokens) * 1_000_000 / u128::from(w)) as u64);
    let value = match condition.basis {
        Basis::OriginalTokens => Some(scene.original_tokens()),
        Basis::EditedTokens => Some(scene.edited_tokens()),
        Basis::OriginalMessageTokens => Some(scene.original_tokens() - scene.base_tokens()),
        Basis::EditedMessageTokens => Some(scene.edited_tokens() - scene.base_tokens()),
        Basis::OriginalWindowShare => share(scene.original_tokens()),
        Basis::EditedWindowShare => share(scene.edited_tokens()),
        Basis::ToolUses => Some(scene.clearable_uses()),
        Basis::Count(unit) => Some(scene.count(unit)),
        Basis::MessagesSinceClear => Some(scene.messages_since_clear()),
        Basis::IdleMs => Some(scene.idle_ms()),
        Basis::CacheCold => Some(scene.cache_cold().into()),
    };
    value.is_some_and(|value| condition.cmp.passes(value, condition.value))
}

/// The part of the history in which candidates are: uses `first..end` whose results stand before block `block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// The first use.
    pub first: usize,
    /// One past the last use.
    pub end: usize,
    /// Results at this block and after it are protected.
    pub block: u32,
}

/// What lies outside the protected first and newest part. `counts`: which uses take up a place.
pub fn open_part(rule: &Clear, counts: KeepCounts, scene: &impl Scene) -> Open {
    let all = scene.uses();
    let counted = |i: &usize| counts == KeepCounts::All || scene.use_at(*i).clearable;
    let mut open = Open { first: 0, end: all, block: u32::MAX };
    if let Some(skip) = (rule.protect.first as usize).checked_sub(1) {
        open.first = (0..all).filter(counted).nth(skip).map_or(all, |i| i + 1);
    }
    for tail in &rule.protect.newest {
        let end = match *tail {
            Tail::Uses(keep) if rule.every > 1 => {
                let further = (0..all).filter(counted).count() as u64 % u64::from(rule.every);
                before_newest(all, keep.saturating_add(further), counted)
            }
            Tail::Uses(keep) => before_newest(all, keep, counted),
            Tail::Results(keep) => before_newest(all, keep, |i| scene.use_at(*i).has_result),
            Tail::ResultTokens(tokens) => before_tokens(scene, tokens, counted),
            Tail::WindowShare(share) => scene
                .window()
                .map_or(all, |window| before_tokens(scene, (u128::from(window) * u128::from(share) / 1_000_000) as u64, counted)),
            Tail::Units(unit, count) => {
                open.block = open.block.min(scene.tail_block(unit, count));
                all
            }
        };
        open.end = open.end.min(end);
    }
    open.first = open.first.min(open.end);
    open
}

/// How many uses come before the newest `keep` counted ones.
fn before_newest(all: usize, keep: u64, counted: impl Fn(&usize) -> bool) -> usize {
    let Some(skip) = usize::try_from(keep).unwrap_or(usize::MAX).checked_sub(1) else { return all };
    (0..all).rev().filter(counted).nth(skip).unwrap_or(0)
}

/// How many uses come before the newest ones whose results have together at most `tokens`.
fn before_tokens(scene: &impl Scene, tokens: u64, counted: impl Fn(&usize) -> bool) -> usize {
    let mut sum = 0;
    let crosses = |i: &usize| {
        sum += u64::from(scene.use_at(*i).tokens);
        sum > tokens
    };
    (0..scene.uses()).rev().filter(counted).find(crosses).map_or(0, |i| i + 1)
}

/// Selects what a rule takes at this request, into `taken`: indices of uses, each once.
pub fn select(rule: &Clear, counts: KeepCounts, scene: &impl Scene, taken: &mut Vec<u32>) {
    taken.clear();
    if !fires(rule, scene) {
        return;
    }
    let open = open_part(rule, counts, scene);
    let candidate = |i: usize| {
        let u = scene.use_at(i);
        (u.clearable && u.has_result && !u.spared).then(|| (i as u32, u.block, if rule.growth { u.saved } else { u.saved.max(0) }))
    };
    let candidates = (open.first..open.end).filter_map(candidate).filter(|&(_, block, _)| block < open.block);
    let reached = |freed: i64, goal: u64| u64::try_from(freed).is_ok_and(|freed| freed >= goal);
    let mut freed: i64 = 0;
    match rule.take {
        Take::Batches(goal) if goal > 0 => {
            let (mut whole, mut sum) = (0, 0);
            for (i, _, saved) in candidates {
                taken.push(i);
                sum += saved;
                if reached(sum, goal) {
                    whole = taken.len();
                    freed += std::mem::take(&mut sum);
                }
            }
            taken.truncate(whole);
        }
        Take::Until(goal) if goal > 0 => {
            for (i, _, saved) in candidates {
                taken.push(i);
                freed += saved;
                if reached(freed, goal) {
                    break;
                }
            }
        }
        Take::DownTo(low) => {
            let mut size = scene.edited_tokens();
            for (i, _, saved) in candidates {
                if size <= low {
                    break;
                }
                taken.push(i);
                freed += saved;
                size = size.saturating_sub_signed(saved);
            }
        }
        Take::All | Take::Batches(_) | Take::Until(_) | Take::IntoKept(_) => {
            for (i, _, saved) in candidates {
                taken.push(i);
                freed += saved;
            }
            if let Take::IntoKept(goal) = rule.take
                && goal > 0
            {
                let any_beyond = (0..open.end).any(|i| scene.use_at(i).has_result);
                let kept = |i: &usize| any_beyond && (*i >= open.end || scene.use_at(*i).block >= open.block);
                for (i, _, saved) in (open.first..scene.uses()).rev().filter(kept).filter_map(candidate) {
                    if reached(freed, goal) {
                        break;
                    }
                    taken.push(i);
                    freed += saved;
                }
            }
        }
    }
    if rule.gate.is_some_and(|gate| freed < 0 || !gate.cmp.passes(freed.unsigned_abs(), gate.tokens)) {
        taken.clear();
    }
}

/// A history of which only sizes and uses are known: enough for the API's edit.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// Tokens of tools + system prompt.
    pub base_tokens: u64,
    /// Unedited size, tokens.
    pub original_tokens: u64,
    /// Edited size, tokens.
    pub edited_tokens: u64,
    /// In the order of their `use` blocks.
    pub uses: &'a [Candidate],
}

impl Scene for Listed<'_> {
    fn base_tokens(&self) -> u64 {
        self.base_tokens
    }
    fn original_tokens(&self) -> u64 {
        self.original_tokens
    }
    fn edited_tokens(&self) -> u64 {
        self.edited_tokens
    }
    fn clearable_uses(&self) -> u64 {
        self.uses.iter().filter(|u| u.clearable).count() as u64
    }
    fn count(&self, _: Unit) -> u64 {
        0
    }
    fn messages_since_clear(&self) -> u64 {
        0
    }
    fn idle_ms(&self) -> u64 {
        0
    }
    fn cache_cold(&self) -> bool {
        false
    }
    fn window(&self) -> Option<u64> {
        None
    }
    fn tail_block(&self, _: Unit, _: u64) -> u32 {
        0
    }
    fn uses(&self) -> usize {
        self.uses.len()
    }
    fn use_at(&self, index: usize) -> Candidate {
        self.uses[index]
    }
}
