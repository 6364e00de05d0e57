//! The part of a sweep that a plane over trigger, keep and `clear_at_least` can show: the rows that agree in all other knobs.

use std::collections::BTreeMap;

use super::SweepView;
use crate::sweep::ConfigRow;

/// The knobs that are no axis of the figures: policy, type of trigger, `exclude_tools`, `clear_tool_inputs`.
type Rest = (String, &'static str, String, String);

/// Rows that agree in their other knobs, by (`clear_at_least`, keep, trigger).
pub(super) struct Slice<'a> {
    pub(super) cells: BTreeMap<(u64, u32, u64), &'a ConfigRow>,
    pub(super) triggers: Vec<u64>,
    pub(super) keeps: Vec<u32>,
    pub(super) clear_at_leasts: Vec<u64>,
    /// Type of the trigger, as the API names it.
    pub(super) trigger_type: &'static str,
    /// The chosen config, if it clears.
    pub(super) chosen: Option<(u64, u32, u64)>,
    /// What was left out, for the subtitle; empty if nothing was.
    pub(super) note: String,
}

fn place(row: &ConfigRow) -> Option<(u64, u32, u64)> {
    row.knobs.edit.as_ref().map(|e| (e.clear_at_least, e.keep, e.trigger.value()))
}

fn rest(row: &ConfigRow) -> Option<Rest> {
    let k = &row.knobs;
    k.trigger().map(|t| (k.policy.clone(), t.type_name(), k.exclude_tools(), k.clear_tool_inputs()))
}

/// The slice of the chosen config, or, if that does not clear, the one with the most rows. `None`: no row clears.
pub(super) fn slice<'a>(view: &SweepView<'a>) -> Option<Slice<'a>> {
    let mut counts: Vec<(Rest, usize)> = Vec::new();
    let mut index: BTreeMap<Rest, usize> = BTreeMap::new();
    for key in view.rows.iter().filter_map(rest) {
        let i = *index.entry(key.clone()).or_insert_with(|| {
            counts.push((key, 0));
            counts.len() - 1
        });
        counts[i].1 += 1;
    }
    let chosen = view.chosen().map(|i| &view.rows[i]).filter(|r| !r.knobs.is_none());
    let most = counts.iter().rev().max_by_key(|(_, n)| *n).map(|(key, _)| key.clone());
    let shown = chosen.and_then(rest).or(most)?;

    let mut cells = BTreeMap::new();
    for row in view.rows.iter().filter(|r| rest(r).as_ref() == Some(&shown)) {
        if let Some(at) = place(row) {
            cells.entry(at).or_insert(row);
        }
    }
    let distinct = |values: Vec<u64>| -> Vec<u64> {
        let mut values = values;
        values.sort_unstable();
        values.dedup();
        values
    };
    let (policy, trigger_type, exclude, inputs) = shown;
    let note = if counts.len() > 1 {
        let name = |s: &str| if s.is_empty() { "none".to_owned() } else { s.to_owned() };
        let several = counts.iter().any(|((p, ..), _)| *p != policy);
        format!(
            "1 of {} combinations of the further knobs (all are in sweep.csv): {}trigger in {} \u{b7} clear_tool_inputs {} \u{b7} exclude_tools {}",
            counts.len(),
            if several { format!("{policy} \u{b7} ") } else { String::new() },
            unit(trigger_type),
            name(&inputs),
            name(&exclude)
        )
    } else {
        String::new()
    };
    Some(Slice {
        triggers: distinct(cells.keys().map(|k| k.2).collect()),
        keeps: distinct(cells.keys().map(|k| u64::from(k.1)).collect()).into_iter().map(|k| k as u32).collect(),
        clear_at_leasts: distinct(cells.keys().map(|k| k.0).collect()),
        cells,
        trigger_type,
        chosen: chosen.and_then(place),
        note,
    })
}

/// Unit of a trigger of this type.
pub(super) fn unit(trigger_type: &str) -> &'static str {
    if trigger_type == "tool_uses" { "tool uses" } else { "input tokens" }
}

impl Slice<'_> {
    /// The chosen config, or else the cheapest of the slice, one without lost or unmet needs if there is one.
    pub(super) fn focus(&self) -> Option<(u64, u32, u64)> {
        let rank = |row: &ConfigRow| {
            let cost = row.derived.cost_vs_none.filter(|c| c.is_finite()).unwrap_or(f64::MAX);
            (row.totals.lost_needs + row.totals.unmet_needs > 0, cost)
        };
        self.chosen.or_else(|| {
            let better = |a: &ConfigRow, b: &ConfigRow| {
                let (a, b) = (rank(a), rank(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            };
            self.cells.iter().min_by(|a, b| better(a.1, b.1)).map(|(k, _)| *k)
        })
    }
}
