//! The configs of a sweep.

use super::{Auto, Axis, Knobs};
use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};

/// What is asked for: the values of each knob. Default: `auto`, and inputs kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes {
    /// Values of `trigger`.
    pub trigger: Axis,
    /// Whether the trigger counts tool uses rather than input tokens.
    pub trigger_counts_uses: bool,
    /// Values of `keep`.
    pub keep: Axis,
    /// Values of `clear_at_least`; 0 is none.
    pub clear_at_least: Axis,
    /// Sets of excluded tools; `None`: `auto`.
    pub exclude_tools: Option<Vec<Vec<String>>>,
    /// Values of `clear_tool_inputs`.
    pub clear_tool_inputs: Vec<ClearToolInputs>,
}

impl Default for Axes {
    fn default() -> Self {
        Self {
            trigger: Axis::Auto,
            trigger_counts_uses: false,
            keep: Axis::Auto,
            clear_at_least: Axis::Auto,
            exclude_tools: None,
            clear_tool_inputs: vec![ClearToolInputs::No],
        }
    }
}

/// The configs of a sweep, `none` first, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The configs.
    pub configs: Vec<Knobs>,
    /// How many of them, after `none`, are the full grid of the axes' values; what follows was added one by one.
    pub full: usize,
}

impl Grid {
    /// How many configs [`Grid::new`] would make of the axes, before doubles are left out.
    pub fn size(axes: &Axes, auto: &Auto) -> u128 {
        let values = |axis: &Axis, auto: &[u64]| match axis {
            Axis::Auto => auto.len() as u128,
            Axis::Values(values) => values.len() as u128,
        };
        let triggers = if axes.trigger_counts_uses { &auto.keep } else { &auto.trigger };
        let sets = axes.exclude_tools.as_ref().unwrap_or(&auto.exclude_tools).len() as u128;
        values(&axes.trigger, triggers)
            * values(&axes.keep, &auto.keep)
            * values(&axes.clear_at_least, &auto.clear_at_least)
            * sets
            * axes.clear_tool_inputs.len() as u128
    }

    /// Every combination of the axes' values, `none` before them and `further` after them, each config once.
    pub fn new(axes: &Axes, auto: &Auto, further: &[ClearToolUses]) -> Self {
        let values = |axis: &Axis, auto: &[u64]| match axis {
            Axis::Auto => auto.to_vec(),
            Axis::Values(values) => values.clone(),
        };
        let triggers: Vec<Trigger> = if axes.trigger_counts_uses {
            values(&axes.trigger, &auto.keep).into_iter().map(Trigger::ToolUses).collect()
        } else {
            values(&axes.trigger, &auto.trigger).into_iter().map(Trigger::InputTokens).collect()
        };
        let keeps = values(&axes.keep, &auto.keep);
        let goals = values(&axes.clear_at_least, &auto.clear_at_least);
        let mut configs = vec![Knobs::none()];
        let mut seen = std::collections::HashSet::new();
        for exclude_tools in axes.exclude_tools.as_ref().unwrap_or(&auto.exclude_tools) {
            for clear_tool_inputs in &axes.clear_tool_inputs {
                for &trigger in &triggers {
                    for &keep in &keeps {
                        for &clear_at_least in &goals {
                            let edit = ClearToolUses {
                                trigger,
                                keep: u32::try_from(keep).unwrap_or(u32::MAX),
                                clear_at_least,
                                exclude_tools: exclude_tools.clone(),
                                clear_tool_inputs: clear_tool_inputs.clone(),
                            };
                            if seen.insert(edit.clone()) {
                                configs.push(Knobs::api(edit));
                            }
                        }
                    }
                }
            }
        }
        let full = seen.len();
        for edit in further {
            if seen.insert(edit.clone()) {
                configs.push(Knobs::api(edit.clone()));
            }
        }
        if auto.cold {
            for exclude_tools in axes.exclude_tools.as_ref().unwrap_or(&auto.exclude_tools) {
                configs.extend(keeps.iter().map(|&keep| Knobs::when_cold(u32::try_from(keep).unwrap_or(u32::MAX), exclude_tools.clone())));
            }
        }
        Self { configs, full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_first_and_nothing_stands_twice() {
        let auto = Auto { trigger: vec![10, 20], keep: vec![3], clear_at_least: vec![0, 5], exclude_tools: vec![vec![]], cold: false };
        let grid = Grid::new(&Axes::default(), &auto, &[]);
        assert!(grid.configs[0].is_none());
        assert_eq!(grid.configs.len(), 1 + 4);
        assert_eq!(Grid::size(&Axes::default(), &auto), 4);
        let known = grid.configs[2].edit.clone().unwrap();
        let other = ClearToolUses { keep: 9, ..known.clone() };
        assert_eq!(Grid::new(&Axes::default(), &auto, &[known, other]).configs.len(), 1 + 4 + 1);
        let both_ways = Auto { exclude_tools: vec![vec![], vec!["ask_user".to_owned()]], ..auto.clone() };
        assert_eq!(Grid::new(&Axes::default(), &both_ways, &[]).configs.len(), 1 + 8);
        let cold = Auto { cold: true, ..auto.clone() };
        assert_eq!(Grid::new(&Axes::default(), &cold, &[]).configs.last().unwrap(), &Knobs::when_cold(3, Vec::new()));
        let as_asked = Axes { exclude_tools: Some(vec![vec![]]), ..Axes::default() };
        assert_eq!(Grid::new(&as_asked, &both_ways, &[]).configs.len(), 1 + 4);
    }
}
