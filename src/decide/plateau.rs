//! The configs that are as good as the best, and the middle of them.

use std::collections::{BTreeMap, HashSet};

use crate::policy::Trigger;
use crate::sweep::{ConfigRow, Knobs};

/// Configs within this share of the best are as good as it.
pub const PLATEAU: f64 = 0.01;

/// The configs that are as good as the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plateau {
    /// Indices of the rows, ascending.
    pub rows: Vec<usize>,
    /// Least and largest trigger of those that have the chosen row's kind of trigger, in its unit.
    pub trigger: Option<(u64, u64)>,
    /// Least and largest keep.
    pub keep: Option<(u32, u32)>,
    /// Least and largest `clear_at_least`.
    pub clear_at_least: Option<(u64, u64)>,
}

impl Plateau {
    /// The plateau of these rows, described beside `chosen`, one of them.
    pub fn new(rows: &[ConfigRow], mut members: Vec<usize>, chosen: usize) -> Self {
        members.sort_unstable();
        let kind = family(&rows[chosen].knobs);
        let like: Vec<&Knobs> = members.iter().map(|&i| &rows[i].knobs).filter(|k| family(k) == kind).collect();
        Self {
            trigger: range(like.iter().filter_map(|k| k.trigger().map(Trigger::value))),
            keep: range(like.iter().filter_map(|k| k.keep())),
            clear_at_least: range(like.iter().filter_map(|k| k.clear_at_least())),
            rows: members,
        }
    }
}

fn range<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<(T, T)> {
    values.fold(None, |range, v| Some(range.map_or((v, v), |(a, b)| (v.min(a), v.max(b)))))
}

/// Configs that differ in trigger, keep and `clear_at_least` only.
fn family(knobs: &Knobs) -> (&str, &'static str, String, String) {
    (&knobs.policy, knobs.trigger().map_or("", |t| t.type_name()), knobs.exclude_tools(), knobs.clear_tool_inputs())
}

/// How deep inside the plateau each of its rows lies: 0 at its edge or at the grid's, 1 where only rows of depth 0 and more surround it,
/// and so on. Neighbours are the rows with the next smaller and larger value of one knob and the others equal; a knob with fewer than
/// three values has no inside and is left out.
pub fn depths(rows: &[ConfigRow], members: &[usize]) -> BTreeMap<usize, u32> {
    let member: HashSet<usize> = members.iter().copied().collect();
    // Every line of rows along one knob that a member lies on, in order of that knob.
    let mut lines: [BTreeMap<_, Vec<(u64, usize)>>; 3] = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    for (i, row) in rows.iter().enumerate() {
        let Some(at) = place(&row.knobs) else { continue };
        for (knob, lines) in lines.iter_mut().enumerate() {
            let mut rest = at;
            rest[knob] = 0;
            lines.entry((family(&row.knobs), rest)).or_default().push((at[knob], i));
        }
    }
    // Of each member: its neighbours; `None` is the grid's edge.
    let mut neighbours: BTreeMap<usize, Vec<Option<usize>>> = members.iter().map(|&i| (i, Vec::new())).collect();
    for line in lines.iter_mut().flat_map(BTreeMap::values_mut).filter(|line| line.len() >= 3) {
        line.sort_unstable();
        for (j, (_, i)) in line.iter().enumerate() {
            if let Some(of) = neighbours.get_mut(i) {
                of.push(j.checked_sub(1).map(|before| line[before].1));
                of.push(line.get(j + 1).map(|after| after.1));
            }
        }
    }
    // Peel the plateau layer by layer.
    let mut depth: BTreeMap<usize, u32> = BTreeMap::new();
    let mut inside = member;
    for layer in 0.. {
        let edge: Vec<usize> = neighbours
            .iter()
            .filter(|(i, of)| inside.contains(i) && (of.is_empty() || of.iter().any(|n| n.is_none_or(|n| !inside.contains(&n)))))
            .map(|(&i, _)| i)
            .collect();
        if edge.is_empty() {
            break;
        }
        for i in edge {
            inside.remove(&i);
            depth.insert(i, layer);
        }
    }
    depth
}

fn place(knobs: &Knobs) -> Option<[u64; 3]> {
    let edit = knobs.edit.as_ref()?;
    Some([edit.trigger.value(), u64::from(edit.keep), edit.clear_at_least])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ClearToolUses;
    use crate::replay::Totals;
    use crate::sweep::Derived;

    /// Rows of 7 triggers × 5 keeps, row `5 t + k`.
    fn grid() -> Vec<ConfigRow> {
        let rows = (0..7).flat_map(|t| (0..5).map(move |k| (t, k)));
        rows.map(|(t, k)| ConfigRow {
            knobs: Knobs::api(ClearToolUses { trigger: Trigger::InputTokens(10 * (t + 1)), keep: k, ..ClearToolUses::default() }),
            transcripts: 1,
            totals: Totals::default(),
            overflowed_transcripts: 0,
            derived: Derived::default(),
        })
        .collect()
    }

    #[test]
    fn the_middle_is_deepest() {
        let rows = grid();
        // A block of 5 × 3 inside the grid, with one hole beside its middle.
        let block: Vec<usize> = (1..6).flat_map(|t| (1..4).map(move |k| 5 * t + k)).collect();
        let depth = depths(&rows, &block);
        assert_eq!(depth.len(), 15);
        let deep: Vec<usize> = depth.iter().filter(|(_, d)| **d > 0).map(|(i, _)| *i).collect();
        assert_eq!(deep, [12, 17, 22], "the three with all four neighbours inside");
        let holed: Vec<usize> = block.iter().copied().filter(|&i| i != 7).collect();
        assert_eq!(depths(&rows, &holed).iter().filter(|(_, d)| **d > 0).map(|(i, _)| *i).collect::<Vec<_>>(), [17, 22]);
    }

    #[test]
    fn the_grids_edge_is_an_edge_and_the_whole_grid_has_a_middle() {
        let rows = grid();
        let depth = depths(&rows, &(0..35).collect::<Vec<_>>());
        assert_eq!((depth[&0], depth[&6], depth[&17]), (0, 1, 2));
        assert_eq!(depth.values().max(), Some(&2));
    }

    #[test]
    fn ranges_are_those_of_the_chosen_kind() {
        let mut rows = grid();
        rows[3].knobs.edit.as_mut().unwrap().exclude_tools = vec!["ask".to_owned()];
        let plateau = Plateau::new(&rows, vec![12, 3, 8], 8);
        assert_eq!((plateau.rows.as_slice(), plateau.trigger, plateau.keep), (&[3, 8, 12][..], Some((20, 30)), Some((2, 3))));
    }
}
