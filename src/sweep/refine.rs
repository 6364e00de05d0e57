//! Finer values where they matter: around the best configs of a coarser grid.

use std::collections::{BTreeMap, HashSet};

use super::ConfigRow;
use crate::policy::{ClearToolUses, Trigger};

/// Two values of a knob in tokens are told apart when the larger is this many times the smaller.
const STEP: f64 = 1.1;

/// Configs to try next.
///
/// For each row of `around`, and each knob: the value half way to the next smaller and the next larger value that was tried with the
/// other knobs equal, until values in tokens lie within a tenth of each other and keeps are neighbours. Where `member` says that both ends
/// are as good as the best, nothing is to be found between them; `always` are rows both of whose sides are tried. In the order of the
/// rows, each config once, none that was tried.
pub fn refine(rows: &[ConfigRow], around: &[usize], always: &[usize], member: impl Fn(usize) -> bool) -> Vec<ClearToolUses> {
    let edits: Vec<(usize, &ClearToolUses)> = rows.iter().enumerate().filter_map(|(i, r)| Some((i, r.knobs.edit.as_ref()?))).collect();
    let mut seen: HashSet<ClearToolUses> = edits.iter().map(|(_, edit)| (*edit).clone()).collect();
    let mut next = Vec::new();
    for knob in Knob::ALL {
        // Rows that differ in this knob only, in its order.
        let mut lines: BTreeMap<String, Vec<(u64, usize)>> = BTreeMap::new();
        for &(i, edit) in &edits {
            lines.entry(line(edit, knob)).or_default().push((knob.of(edit), i));
        }
        for line in lines.values_mut() {
            line.sort_unstable();
        }
        for &i in around.iter().chain(always) {
            let Some(edit) = rows[i].knobs.edit.as_ref() else { continue };
            let Some(line) = lines.get(&line(edit, knob)) else { continue };
            let Some(at) = line.iter().position(|&(_, row)| row == i) else { continue };
            let sides = [at.checked_sub(1), Some(at + 1)];
            for (value, other) in sides.into_iter().flatten().filter_map(|j| line.get(j)) {
                if member(*other) && !always.contains(&i) {
                    continue;
                }
                if let Some(middle) = knob.between(knob.of(edit).min(*value), knob.of(edit).max(*value)) {
                    let finer = knob.with(edit, middle);
                    if seen.insert(finer.clone()) {
                        next.push(finer);
                    }
                }
            }
        }
    }
    next
}

#[derive(Clone, Copy, PartialEq)]
enum Knob {
    Trigger,
    Keep,
    ClearAtLeast,
}

impl Knob {
    const ALL: [Self; 3] = [Self::Trigger, Self::Keep, Self::ClearAtLeast];

    fn of(self, edit: &ClearToolUses) -> u64 {
        match self {
            Self::Trigger => edit.trigger.value(),
            Self::Keep => u64::from(edit.keep),
            Self::ClearAtLeast => edit.clear_at_least,
        }
    }

    fn with(self, edit: &ClearToolUses, value: u64) -> ClearToolUses {
        let mut edit = edit.clone();
        match self {
            Self::Trigger => {
                edit.trigger = match edit.trigger {
                    Trigger::InputTokens(_) => Trigger::InputTokens(value),
                    Trigger::ToolUses(_) => Trigger::ToolUses(value),
                }
            }
            Self::Keep => edit.keep = u32::try_from(value).unwrap_or(u32::MAX),
            Self::ClearAtLeast => edit.clear_at_least = value,
        }
        edit
    }

    /// The value half way between two, rounded to two or three digits; `None` where they are close enough.
    fn between(self, low: u64, high: u64) -> Option<u64> {
        let middle = low.midpoint(high);
        if self == Self::Keep || high < 1_000 {
            return (middle > low && middle < high).then_some(middle);
        }
        // Small numbers of tokens are all alike.
        if (high as f64) < (low.max(500) as f64) * STEP {
            return None;
        }
        // The widest step of 1, 2 or 5 times a power of ten that still lies between.
        let mut unit = 1;
        while unit * 10 <= middle {
            unit *= 10;
        }
        loop {
            for step in [5 * unit, 2 * unit, unit] {
                let rounded = (middle + step / 2) / step * step;
                if rounded > low && rounded < high && rounded.abs_diff(middle) * 4 <= high - low {
                    return Some(rounded);
                }
            }
            if unit == 1 {
                return None;
            }
            unit /= 10;
        }
    }
}

/// Everything of the edit but one knob.
fn line(edit: &ClearToolUses, knob: Knob) -> String {
    let rest = knob.with(edit, 0);
    format!("{} {rest:?}", edit.trigger.type_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Totals;
    use crate::sweep::{Derived, Knobs};

    fn rows(edits: &[(u64, u32, u64)]) -> Vec<ConfigRow> {
        let row =
            |knobs| ConfigRow { knobs, transcripts: 1, totals: Totals::default(), overflowed_transcripts: 0, derived: Derived::default() };
        let edit = |&(trigger, keep, clear_at_least): &(u64, u32, u64)| ClearToolUses {
            trigger: Trigger::InputTokens(trigger),
            keep,
            clear_at_least,
            ..ClearToolUses::default()
        };
        std::iter::once(row(Knobs::none())).chain(edits.iter().map(|e| row(Knobs::api(edit(e))))).collect()
    }

    fn found(edits: &[(u64, u32, u64)], around: &[usize], always: &[usize], members: &[usize]) -> Vec<(u64, u32, u64)> {
        let next = refine(&rows(edits), around, always, |i| members.contains(&i));
        next.iter().map(|e| (e.trigger.value(), e.keep, e.clear_at_least)).collect()
    }

    #[test]
    fn half_way_to_the_neighbours_on_each_line() {
        let grid = [(30_000, 3, 0), (60_000, 3, 0), (100_000, 3, 0), (60_000, 9, 0), (60_000, 3, 20_000), (90_000, 9, 5)];
        assert_eq!(found(&grid, &[2], &[], &[2]), [(50_000, 3, 0), (80_000, 3, 0), (60_000, 6, 0), (60_000, 3, 10_000)]);
        // Nothing between two of the plateau, unless it is asked for.
        assert_eq!(found(&grid, &[2], &[], &[2, 1, 4]), [(80_000, 3, 0), (60_000, 3, 10_000)]);
        assert_eq!(found(&grid, &[], &[2], &[2, 1, 4]).len(), 4);
    }

    #[test]
    fn it_comes_to_an_end() {
        let mut grid = vec![(30_000, 3, 0), (60_000, 3, 0), (60_000, 9, 0), (60_000, 3, 20_000)];
        let mut rounds = 0;
        loop {
            let all: Vec<usize> = (1..=grid.len()).collect();
            let next = found(&grid, &all, &[], &[]);
            if next.is_empty() {
                break;
            }
            grid.extend(next);
            rounds += 1;
            assert!(rounds < 30);
        }
        assert!(grid.contains(&(60_000, 4, 0)) && grid.contains(&(60_000, 8, 0)));
        let mut triggers: Vec<u64> = grid.iter().filter(|e| e.1 == 3 && e.2 == 0).map(|e| e.0).collect();
        triggers.sort_unstable();
        assert!(triggers.windows(2).all(|w| (w[1] as f64) < w[0] as f64 * 1.1), "{triggers:?}");
    }
}
