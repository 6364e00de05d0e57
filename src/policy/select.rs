//! Which tool uses are cleared in a prompt: the rule of `clear_tool_uses_20250919`, in each of its readings.

use super::{Assume, ClearToolUses, KeepCounts, Memory, Selection, Trigger, TriggerCmp};

/// What the trigger looks at.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Tokens of tools + system prompt.
    pub base_tokens: u64,
    /// Unedited size of the whole history, base included.
    pub original_tokens: u64,
    /// The size with what is already cleared replaced.
    pub edited_tokens: u64,
    /// Clearable uses, those without a result included.
    pub clearable_uses: u64,
}

/// One tool use, as the selection sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Neither excluded nor tiny.
    pub clearable: bool,
    /// Its result has arrived.
    pub has_result: bool,
    /// Unedited minus edited tokens when it is cleared.
    pub saved: i64,
}

/// Whether clearing begins at these sizes.
pub fn fires(edit: &ClearToolUses, assume: &Assume, sizes: Sizes) -> bool {
    let (value, threshold) = match edit.trigger {
        Trigger::ToolUses(n) => (sizes.clearable_uses, n),
        Trigger::InputTokens(n) => {
            let size = match assume.memory {
                Memory::Stateless => sizes.original_tokens,
                Memory::Sticky => sizes.edited_tokens,
            };
            (if assume.trigger_counts_base { size } else { size - sizes.base_tokens }, n)
        }
    };
    match assume.trigger_cmp {
        TriggerCmp::Gt => value > threshold,
        TriggerCmp::Ge => value >= threshold,
    }
}

/// Selects the cleared set of a prompt into `cleared`, one flag a use.
///
/// `uses` stand in the order of their `use` blocks. With [`Memory::Sticky`], `cleared` holds on entry what is cleared
/// already, and stays so; otherwise it is overwritten.
pub fn select<U>(edit: &ClearToolUses, assume: &Assume, sizes: Sizes, uses: &[U], view: impl Fn(&U) -> Candidate, cleared: &mut [bool]) {
    let sticky = assume.memory == Memory::Sticky;
    if !sticky {
        cleared.fill(false);
    }
    if !fires(edit, assume, sizes) {
        return;
    }
    let older = &uses[..before_kept(edit, assume, uses, &view)];
    let candidates = || {
        older.iter().enumerate().filter_map(|(i, u)| {
            let u = view(u);
            (u.clearable && u.has_result).then(|| (i, u.saved.max(0).unsigned_abs()))
        })
    };
    let goal = edit.clear_at_least;
    // Up to which use, exclusively, the candidates are taken.
    let end = match assume.selection {
        _ if goal == 0 => older.len(),
        Selection::Batched => {
            let (mut end, mut sum) = (0, 0);
            for (i, freed) in candidates().filter(|&(i, _)| !(sticky && cleared[i])) {
                sum += freed;
                if sum >= goal {
                    (end, sum) = (i + 1, 0);
                }
            }
            end
        }
        Selection::AllOrNothing => {
            let sum: u64 = candidates().filter(|&(i, _)| !(sticky && cleared[i])).map(|(_, freed)| freed).sum();
            if sum >= goal { older.len() } else { 0 }
        }
        Selection::StopWhenReached => {
            let (mut end, mut sum) = (older.len(), 0);
            for (i, freed) in candidates().filter(|&(i, _)| !(sticky && cleared[i])) {
                sum += freed;
                if sum >= goal {
                    end = i + 1;
                    break;
                }
            }
            end
        }
    };
    for (i, _) in candidates().take_while(|&(i, _)| i < end) {
        cleared[i] = true;
    }
}

/// How many uses come before the newest `keep`: those among which the candidates are.
pub fn before_kept<U>(edit: &ClearToolUses, assume: &Assume, uses: &[U], view: impl Fn(&U) -> Candidate) -> usize {
    let keep = edit.keep as usize;
    match assume.keep_counts {
        KeepCounts::All => uses.len().saturating_sub(keep),
        KeepCounts::Clearable if keep == 0 => uses.len(),
        KeepCounts::Clearable => uses.iter().enumerate().rev().filter(|(_, u)| view(u).clearable).nth(keep - 1).map_or(0, |(i, _)| i),
    }
}
