//! Which configs are compared, and which of the head stands against which of the base.

use std::collections::{HashMap, HashSet};

use super::{Role, Rows, Side};
use crate::policy::{ClearToolInputs, ClearToolUses};
use crate::results::ResultSet;
use crate::sweep::{ConfigRow, Knobs};

/// Values of knobs by which configs are selected. A knob without values is not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Values of the trigger.
    pub trigger: Option<Vec<u64>>,
    /// What the trigger counts: `input_tokens` or `tool_uses`.
    pub trigger_type: Option<String>,
    /// Tool uses kept.
    pub keep: Option<Vec<u64>>,
    /// Input tokens; 0 is none.
    pub clear_at_least: Option<Vec<u64>>,
    /// Sets of tools, each sorted.
    pub exclude_tools: Option<Vec<Vec<String>>>,
    /// Values of `clear_tool_inputs`, tools sorted.
    pub clear_tool_inputs: Option<Vec<ClearToolInputs>>,
}

/// A value of a selection that no config has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchConfig {
    /// The flag.
    pub flag: &'static str,
    /// The value that none has.
    pub value: String,
    /// Values that there are, in order, each once.
    pub known: Vec<String>,
}

impl Selection {
    /// Whether no knob is looked at.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the config is selected. The row `none` never is: it has no knobs.
    pub fn holds(&self, knobs: &Knobs) -> bool {
        let among = |values: &Option<Vec<u64>>, value: u64| values.as_ref().is_none_or(|all| all.contains(&value));
        same(knobs).edit.is_some_and(|edit| {
            among(&self.trigger, edit.trigger.value())
                && self.trigger_type.as_deref().is_none_or(|name| name == edit.trigger.type_name())
                && among(&self.keep, u64::from(edit.keep))
                && among(&self.clear_at_least, edit.clear_at_least)
                && self.exclude_tools.as_ref().is_none_or(|sets| sets.contains(&edit.exclude_tools))
                && self.clear_tool_inputs.as_ref().is_none_or(|all| all.contains(&edit.clear_tool_inputs))
        })
    }

    /// The first value that no config of either side has: a slip of the pen, where a gate must not pass for want of a config.
    pub fn unknown(&self, base: &ResultSet, head: &ResultSet) -> Option<NoSuchConfig> {
        let edits: Vec<ClearToolUses> = base.rows.iter().chain(&head.rows).filter_map(|row| same(&row.knobs).edit).collect();
        let numbers = |flag, asked: &Option<Vec<u64>>, of: fn(&ClearToolUses) -> u64| {
            let mut known: Vec<u64> = edits.iter().map(of).collect();
            known.sort_unstable();
            known.dedup();
            let value = asked.iter().flatten().find(|value| !known.contains(value))?;
            Some(NoSuchConfig { flag, value: value.to_string(), known: known.iter().map(u64::to_string).collect() })
        };
        let texts = |flag, asked: Vec<String>, of: &dyn Fn(&ClearToolUses) -> String| {
            let mut known: Vec<String> = edits.iter().map(of).collect();
            known.sort_unstable();
            known.dedup();
            let value = asked.into_iter().find(|value| !known.contains(value))?;
            Some(NoSuchConfig { flag, value, known })
        };
        let set = |tools: &[String]| if tools.is_empty() { "none".to_owned() } else { tools.join("|") };
        let inputs = |value: &ClearToolInputs| match value {
            ClearToolInputs::No => "false".to_owned(),
            ClearToolInputs::Yes => "true".to_owned(),
            ClearToolInputs::Tools(tools) => tools.join("|"),
        };
        numbers("--trigger", &self.trigger, |e| e.trigger.value())
            .or_else(|| texts("--trigger-type", self.trigger_type.iter().cloned().collect(), &|e| e.trigger.type_name().to_owned()))
            .or_else(|| numbers("--keep", &self.keep, |e| u64::from(e.keep)))
            .or_else(|| numbers("--clear-at-least", &self.clear_at_least, |e| e.clear_at_least))
            .or_else(|| {
                let asked = self.exclude_tools.iter().flatten().map(|tools| set(tools)).collect();
                texts("--exclude-tools", asked, &|e| set(&e.exclude_tools))
            })
            .or_else(|| {
                let asked = self.clear_tool_inputs.iter().flatten().map(inputs).collect();
                texts("--clear-tool-inputs", asked, &|e| inputs(&e.clear_tool_inputs))
            })
    }
}

/// The config with its tools in order: two orders of `exclude_tools` are one config.
fn same(knobs: &Knobs) -> Knobs {
    let mut knobs = knobs.clone();
    if let Some(edit) = &mut knobs.edit {
        edit.exclude_tools.sort();
        if let ClearToolInputs::Tools(tools) = &mut edit.clear_tool_inputs {
            tools.sort();
        }
    }
    knobs
}

/// Two rows that are compared, by their places.
pub(super) struct Matched {
    pub base: usize,
    pub head: usize,
    pub role: Role,
}

/// The rows that are compared, and configs that one side lacks.
pub(super) fn matched(base: &ResultSet, head: &ResultSet, wanted: &Rows) -> (Vec<Matched>, Vec<(Knobs, Side)>) {
    let places = |set: &ResultSet| {
        let mut places: HashMap<Knobs, usize> = HashMap::new();
        for (i, row) in set.rows.iter().enumerate() {
            places.entry(same(&row.knobs)).or_insert(i);
        }
        places
    };
    let (of_base, of_head) = (places(base), places(head));
    let (mut found, mut missing, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    let mut pair = |base: Option<usize>, head: Option<usize>, knobs: &Knobs, role| match (base, head) {
        (Some(base), Some(head)) => {
            if known.insert((base, head)) {
                found.push(Matched { base, head, role });
            }
        }
        (None, _) => missing.push((knobs.clone(), Side::Base)),
        (_, None) => missing.push((knobs.clone(), Side::Head)),
    };
    let mut each = |selected: &dyn Fn(&Knobs) -> bool| {
        let role = |row: &ConfigRow| if row.knobs.is_none() { Role::None } else { Role::Asked };
        for (i, row) in base.rows.iter().enumerate().filter(|(_, row)| selected(&row.knobs)) {
            pair(Some(i), of_head.get(&same(&row.knobs)).copied(), &row.knobs, role(row));
        }
        for row in head.rows.iter().filter(|row| selected(&row.knobs) && !of_base.contains_key(&same(&row.knobs))) {
            pair(None, Some(0), &row.knobs, role(row));
        }
    };
    match wanted {
        Rows::All => each(&|_| true),
        Rows::Matching(selection) => each(&|knobs| selection.holds(knobs)),
        Rows::Usual => {
            let at = |places: &HashMap<Knobs, usize>, knobs: &Knobs| places.get(&same(knobs)).copied();
            match (current(base), current(head)) {
                // A config that was changed is what the gate is for: the old one on the base against the new one on the head.
                (Some(b), Some(h)) => pair(Some(b), Some(h), &base.rows[b].knobs, Role::Current),
                (Some(b), None) => pair(Some(b), at(&of_head, &base.rows[b].knobs), &base.rows[b].knobs, Role::Current),
                (None, Some(h)) => pair(at(&of_base, &head.rows[h].knobs), Some(h), &head.rows[h].knobs, Role::Current),
                (None, None) => {}
            }
            let answer = base.answer.as_ref().and_then(|a| a["row"].as_u64()).map(|i| i as usize);
            if let Some((i, row)) = answer.and_then(|i| Some((i, base.rows.get(i)?))).filter(|(_, row)| !row.knobs.is_none()) {
                pair(Some(i), at(&of_head, &row.knobs), &row.knobs, Role::Recommended);
            }
            if let Some(i) = base.rows.iter().position(|row| row.knobs.is_none()) {
                pair(Some(i), at(&of_head, &Knobs::none()), &base.rows[i].knobs, Role::None);
            }
            // The output of a replay holds one config.
            if let [row] = base.rows.as_slice()
                && !row.knobs.is_none()
            {
                pair(Some(0), at(&of_head, &row.knobs), &row.knobs, Role::Asked);
            }
        }
    }
    (found, missing)
}

/// The row of what the team runs, where the sweep was told.
fn current(set: &ResultSet) -> Option<usize> {
    let against = set.answer.as_ref()?["against"].as_array()?;
    let row = against.iter().find(|other| other["other"] == "current")?["row"].as_u64()? as usize;
    (row < set.rows.len()).then_some(row)
}
