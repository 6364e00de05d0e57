//! Which configs are compared, and which of the head stands against which of the base.

use std::collections::{HashMap, HashSet};

use super::{Role, Rows, Side};
use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};
use crate::results::ResultSet;
use crate::sweep::{ConfigRow, Knobs, Point};

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

    /// Whether the config is selected: it has each knob that is looked at, with one of its values. The row `none` has no knob.
    pub fn holds(&self, knobs: &Knobs) -> bool {
        fn among<T: PartialEq>(asked: Option<&Vec<T>>, value: Option<T>) -> bool {
            asked.is_none_or(|all| value.is_some_and(|value| all.contains(&value)))
        }
        let knobs = same(knobs);
        let trigger = knobs.trigger();
        let counts = trigger.map(Trigger::type_name);
        !knobs.is_none()
            && among(self.trigger.as_ref(), trigger.map(Trigger::value))
            && self.trigger_type.as_deref().is_none_or(|name| counts == Some(name))
            && among(self.keep.as_ref(), knobs.keep().map(u64::from))
            && among(self.clear_at_least.as_ref(), knobs.clear_at_least())
            && among(self.exclude_tools.as_ref(), knobs.excluded().map(<[String]>::to_vec))
            && among(self.clear_tool_inputs.as_ref(), knobs.edit.map(|e| e.clear_tool_inputs))
    }

    /// The first value that no config of either side has: a slip of the pen, where a gate must not pass for want of a config.
    pub fn unknown(&self, base: &ResultSet, head: &ResultSet) -> Option<NoSuchConfig> {
        let all: Vec<Knobs> = base.rows.iter().chain(&head.rows).map(|row| same(&row.knobs)).collect();
        let numbers = |flag, asked: &Option<Vec<u64>>, of: fn(&Knobs) -> Option<u64>| {
            let mut known: Vec<u64> = all.iter().filter_map(of).collect();
            known.sort_unstable();
            known.dedup();
            let value = asked.iter().flatten().find(|value| !known.contains(value))?;
            Some(NoSuchConfig { flag, value: value.to_string(), known: known.iter().map(u64::to_string).collect() })
        };
        let texts = |flag, asked: Vec<String>, of: &dyn Fn(&Knobs) -> Option<String>| {
            let mut known: Vec<String> = all.iter().filter_map(of).collect();
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
        let type_name = |k: &Knobs| k.trigger().map(|t| t.type_name().to_owned());
        numbers("--trigger", &self.trigger, |k| k.trigger().map(Trigger::value))
            .or_else(|| texts("--trigger-type", self.trigger_type.iter().cloned().collect(), &type_name))
            .or_else(|| numbers("--keep", &self.keep, |k| k.keep().map(u64::from)))
            .or_else(|| numbers("--clear-at-least", &self.clear_at_least, Knobs::clear_at_least))
            .or_else(|| {
                let asked = self.exclude_tools.iter().flatten().map(|tools| set(tools)).collect();
                texts("--exclude-tools", asked, &|k| k.excluded().map(set))
            })
            .or_else(|| {
                let asked = self.clear_tool_inputs.iter().flatten().map(inputs).collect();
                texts("--clear-tool-inputs", asked, &|k| k.edit.as_ref().map(|e| inputs(&e.clear_tool_inputs)))
            })
    }
}

/// The config with its tools in order: two orders of `exclude_tools` are one config.
fn same(knobs: &Knobs) -> Knobs {
    let sorted = |edit: Option<&ClearToolUses>| {
        edit.cloned().map(|mut edit| {
            edit.exclude_tools.sort();
            if let ClearToolInputs::Tools(tools) = &mut edit.clear_tool_inputs {
                tools.sort();
            }
            edit
        })
    };
    let point = knobs.point.clone().map(|mut point| {
        point.exclude_tools.sort();
        // Name and knobs say which it is.
        Point { policy: None, ..point }
    });
    Knobs { policy: knobs.policy.clone(), edit: sorted(knobs.edit.as_ref()), point }
}

/// Whether two configs are the same one.
pub(super) fn alike(one: &Knobs, other: &Knobs) -> bool {
    same(one) == same(other)
}

/// Two rows that are compared, by their places.
pub(super) struct Matched {
    pub base: usize,
    pub head: usize,
    pub role: Role,
}

/// The role that a bound on the head is for: what the team runs where that is known, else what it is told to run. No clearing stands there
/// to compare with, and is beyond many a bound for good. `None`: every row that was asked for.
pub(super) fn bounded(base: &ResultSet, head: &ResultSet, wanted: &Rows) -> Option<Role> {
    (*wanted == Rows::Usual).then(|| {
        if current(base).or_else(|| current(head)).is_some() {
            Role::Current
        } else if recommended(base).is_some() {
            Role::Recommended
        } else if base.rows.iter().any(|row| row.knobs.is_none()) {
            Role::None
        } else {
            Role::Asked
        }
    })
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
        // What hindsight could reach is no config.
        Rows::All => each(&|knobs| knobs.hindsight().is_none()),
        Rows::Matching(selection) => each(&|knobs| knobs.hindsight().is_none() && selection.holds(knobs)),
        Rows::Usual => {
            let at = |places: &HashMap<Knobs, usize>, knobs: &Knobs| places.get(&same(knobs)).copied();
            match (current(base), current(head)) {
                // A config that was changed is what the gate is for: the old one on the base against the new one on the head.
                (Some(b), Some(h)) => pair(Some(b), Some(h), &base.rows[b].knobs, Role::Current),
                (Some(b), None) => pair(Some(b), at(&of_head, &base.rows[b].knobs), &base.rows[b].knobs, Role::Current),
                (None, Some(h)) => pair(at(&of_base, &head.rows[h].knobs), Some(h), &head.rows[h].knobs, Role::Current),
                (None, None) => {}
            }
            if let Some(i) = recommended(base) {
                let knobs = &base.rows[i].knobs;
                pair(Some(i), at(&of_head, knobs), knobs, Role::Recommended);
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

/// The row that the set recommends, where that clears.
fn recommended(set: &ResultSet) -> Option<usize> {
    let row = set.answer.as_ref()?["row"].as_u64()? as usize;
    set.rows.get(row).filter(|row| !row.knobs.is_none()).map(|_| row)
}
