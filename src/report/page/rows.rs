//! Which configs stand in the page, and their columns.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::PageView;
use super::timelines::evenly;
use crate::decide::{Advice, Metric};
use crate::policy::{ClearToolInputs, Trigger};
use crate::report::policies::best_of_each;
use crate::sweep::{ConfigRow, Hindsight, Outcome};

/// Indices of the rows that are shown, ascending: all, or `most` of them, with those that the answer names first, then the front and the
/// plateau, then the plane around the best config, then the rest evenly. Those that the answer names are shown even beyond `most`.
pub(super) fn shown(view: &PageView, most: usize) -> Vec<usize> {
    let (outcome, rows) = (view.outcome, &view.outcome.rows);
    if rows.len() <= most {
        return (0..rows.len()).collect();
    }
    let mut taken: BTreeSet<usize> = best_of_each(outcome).into_iter().collect();
    taken.extend((0..rows.len()).filter(|&i| rows[i].knobs.is_none() || rows[i].knobs.hindsight().is_some()));
    let mut next: Vec<Vec<usize>> = Vec::new();
    if let Some(advice) = view.advice {
        let d = &advice.decision;
        taken.extend([d.row, d.none].into_iter().chain(d.best).chain(view.edit).chain(d.runner_up).chain(d.knee));
        taken.extend(d.against.iter().map(|a| a.row).chain(d.turns_below.map(|t| t.row)).chain(d.turns_above.map(|t| t.row)));
        next.push(d.front.clone());
        next.push(d.plateau.iter().flat_map(|p| p.rows.iter().copied()).collect());
        // What the heat map shows first.
        let of_edit = [Some(d.row), d.best, view.edit].into_iter().flatten().find(|&i| rows[i].knobs.edit.is_some());
        if let Some(i) = of_edit {
            next.push((0..rows.len()).filter(|&j| plane(&rows[j]) == plane(&rows[i])).collect());
        }
    }
    next.push((0..rows.len()).collect());
    for group in next {
        let room = most.saturating_sub(taken.len());
        let left: Vec<usize> = group.into_iter().filter(|i| !taken.contains(i)).collect();
        taken.extend(evenly(left.len(), room).into_iter().map(|at| left[at]));
    }
    taken.into_iter().collect()
}

/// The knobs that are no axis of the heat map.
fn plane(row: &ConfigRow) -> Option<(&'static str, String, String)> {
    row.knobs.edit.as_ref().map(|edit| (edit.trigger.type_name(), row.knobs.exclude_tools(), row.knobs.clear_tool_inputs()))
}

/// Strings that are named by their place.
#[derive(Default)]
struct Names<T>(Vec<T>);

impl<T: PartialEq> Names<T> {
    fn place(&mut self, name: T) -> usize {
        self.0.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        })
    }
}

/// The columns, a list each: names are those of `sweep.csv`; `null` is an empty cell.
#[derive(Serialize)]
pub(super) struct Columns {
    policies: Vec<String>,
    exclusions: Vec<Vec<String>>,
    inputs: Vec<Value>,
    params_of: Vec<String>,
    row: Vec<usize>,
    policy: Vec<usize>,
    /// 0: input tokens, 1: tool uses.
    trigger_type: Vec<u8>,
    trigger: Vec<Option<u64>>,
    keep: Vec<Option<u32>>,
    clear_at_least: Vec<Option<u64>>,
    exclude_tools: Vec<Option<usize>>,
    clear_tool_inputs: Vec<Option<usize>>,
    params: Vec<usize>,
    requests: Vec<Option<u64>>,
    refetch_requests: Vec<Option<u64>>,
    refetches: Vec<Option<u64>>,
    costly_refetches: Vec<Option<u64>>,
    missing_needs: Vec<Option<u64>>,
    clear_events: Vec<Option<u64>>,
    cache_invalidations: Vec<Option<u64>>,
    freed_tokens: Vec<Option<i64>>,
    invalidated_tokens: Vec<Option<u64>>,
    prompt_tokens: Vec<Option<u64>>,
    peak_prompt_tokens: Vec<Option<u64>>,
    cost_usd: Vec<f64>,
    refetches_per_100_requests: Vec<Option<f64>>,
    overflowed_transcripts: Vec<u64>,
    /// What is minimised, where it is not the cost.
    value: Option<Vec<f64>>,
}

/// The columns of these rows.
pub(super) fn columns(outcome: &Outcome, advice: Option<&Advice>, shown: &[usize]) -> Columns {
    let rows: Vec<&ConfigRow> = shown.iter().map(|&i| &outcome.rows[i]).collect();
    let (mut policies, mut exclusions, mut inputs, mut params_of) =
        (Names::default(), Names::default(), Names::default(), Names::default());
    let policy = rows.iter().map(|row| policies.place(row.knobs.policy.clone())).collect();
    let exclude_tools = rows
        .iter()
        .map(|row| row.knobs.excluded().filter(|_| row.knobs.hindsight().is_none()).map(|tools| exclusions.place(tools.to_vec())))
        .collect();
    let clear_tool_inputs = rows
        .iter()
        .map(|row| {
            row.knobs.edit.as_ref().map(|edit| {
                inputs.place(match &edit.clear_tool_inputs {
                    ClearToolInputs::No => json!(false),
                    ClearToolInputs::Yes => json!(true),
                    ClearToolInputs::Tools(tools) => json!(tools),
                })
            })
        })
        .collect();
    let params = rows.iter().map(|row| params_of.place(row.knobs.params().to_owned())).collect();
    // A bound is a cost and no replay.
    let replayed = |row: &ConfigRow| !matches!(row.knobs.hindsight(), Some(Hindsight::Bound(_)));
    let count = |of: &dyn Fn(&ConfigRow) -> u64| rows.iter().map(|row| replayed(row).then(|| of(row))).collect();
    let minimised = advice.map_or(Metric::Cost, |advice| advice.ask.objective.metric);
    let value = |i: usize| rounded((0..outcome.transcripts_done).map(|t| outcome.values(t)[i]).sum());
    Columns {
        policies: policies.0,
        exclusions: exclusions.0,
        inputs: inputs.0,
        params_of: params_of.0,
        row: shown.to_vec(),
        policy,
        trigger_type: rows.iter().map(|row| u8::from(matches!(row.knobs.trigger(), Some(Trigger::ToolUses(_))))).collect(),
        trigger: rows.iter().map(|row| row.knobs.trigger().map(Trigger::value)).collect(),
        keep: rows.iter().map(|row| row.knobs.keep()).collect(),
        clear_at_least: rows.iter().map(|row| row.knobs.clear_at_least()).collect(),
        exclude_tools,
        clear_tool_inputs,
        params,
        requests: count(&|row| row.totals.requests),
        refetch_requests: count(&|row| row.totals.refetch_requests),
        refetches: count(&|row| row.totals.refetches),
        costly_refetches: count(&|row| row.totals.costly_refetches),
        missing_needs: count(&|row| row.totals.lost_needs + row.totals.unmet_needs),
        clear_events: count(&|row| row.totals.clear_events),
        cache_invalidations: count(&|row| row.totals.cache_invalidations),
        freed_tokens: rows.iter().map(|row| replayed(row).then_some(row.totals.freed_tokens)).collect(),
        invalidated_tokens: count(&|row| row.totals.invalidated_tokens),
        prompt_tokens: count(&|row| row.totals.prompt_tokens),
        peak_prompt_tokens: count(&|row| row.totals.peak_prompt_tokens),
        cost_usd: rows.iter().map(|row| rounded(row.totals.cost_usd)).collect(),
        refetches_per_100_requests: rows
            .iter()
            .map(|row| row.derived.refetches_per_100_requests.filter(|_| replayed(row)).map(rounded))
            .collect(),
        overflowed_transcripts: rows.iter().map(|row| row.overflowed_transcripts).collect(),
        value: (minimised != Metric::Cost).then(|| shown.iter().map(|&i| value(i)).collect()),
    }
}

/// Six significant digits: more than anything of a page shows.
pub(super) fn rounded(n: f64) -> f64 {
    format!("{n:.5e}").parse().unwrap_or(n)
}
