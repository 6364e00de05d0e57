//! One config for all agents, or one for each kind.

use super::{Ask, chosen_on};
use crate::sweep::Outcome;

/// What a config of its own for each kind of agent is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct ByKind {
    /// The row of each kind that is best on the sessions chosen on; that of `none` where clearing does not help the kind.
    pub rows: Vec<usize>,
    /// Value on the other sessions (on all, where there are too few) when every kind runs the one row that is best for all.
    pub one: f64,
    /// The same when each kind runs its own.
    pub each: f64,
}

impl ByKind {
    /// The share that configs of their own save.
    pub fn saving(&self) -> f64 {
        if self.one > 0.0 { 1.0 - self.each / self.one } else { 0.0 }
    }
}

/// Compares one config for all with one a kind. `kinds[t]`: number of transcript `t`'s kind, from 0, below `count`.
///
/// Both are chosen on the sessions of [`chosen_on`] among `none` and the rows that keep the bounds over all transcripts, and measured on
/// the rest. `None` where there is a single kind, no row `none` or nothing was replayed.
pub fn by_kind(outcome: &Outcome, ask: &Ask, kinds: &[usize], count: usize) -> Option<ByKind> {
    let none = outcome.rows.iter().position(|row| row.knobs.is_none())?;
    if count < 2 || outcome.transcripts_done == 0 {
        return None;
    }
    let fewest = outcome.rows[none].overflowed_transcripts;
    let admitted = |i: &usize| {
        let row = &outcome.rows[*i];
        *i == none || (row.totals.clear_events > 0 && row.overflowed_transcripts <= fewest && ask.constraints.broken(row).is_none())
    };
    let rows: Vec<usize> = (0..outcome.rows.len()).filter(admitted).collect();
    let choosing = chosen_on(&outcome.session_names);
    let some_left = choosing.iter().any(|c| !c);
    // Values by kind and row, on the sessions chosen on and on those measured on.
    let mut chosen = vec![vec![0.0; outcome.rows.len()]; count];
    let mut measured = chosen.clone();
    for (t, &kind) in kinds.iter().enumerate().take(outcome.transcripts_done) {
        let chooses = choosing[outcome.sessions[t]];
        for &i in &rows {
            let value = outcome.values(t)[i];
            if chooses {
                chosen[kind][i] += value;
            }
            if !chooses || !some_left {
                measured[kind][i] += value;
            }
        }
    }
    // `none` comes first, so that it wins ties.
    let order = || std::iter::once(none).chain(rows.iter().copied().filter(|&i| i != none));
    let best = |value: &dyn Fn(usize) -> f64| order().min_by(|&a, &b| value(a).total_cmp(&value(b)));
    let all = best(&|i| chosen.iter().map(|of| of[i]).sum())?;
    let own: Vec<usize> = chosen.iter().map(|of| best(&|i| of[i])).collect::<Option<_>>()?;
    Some(ByKind { one: measured.iter().map(|of| of[all]).sum(), each: measured.iter().zip(&own).map(|(of, &i)| of[i]).sum(), rows: own })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ClearToolUses;
    use crate::replay::Totals;
    use crate::sweep::{ConfigRow, Derived, Knobs};

    /// Twelve sessions with one transcript of each of two kinds: the first kind gains by config 1, the second loses by it.
    fn outcome(lost: u64) -> Outcome {
        let costs: Vec<Vec<f64>> = (0..24).map(|t| if t % 2 == 0 { vec![3.0, 2.0] } else { vec![1.0, 1.5] }).collect();
        let row = |i: usize, knobs| ConfigRow {
            knobs,
            transcripts: 24,
            totals: Totals { clear_events: 1, lost_needs: lost, cost_usd: costs.iter().map(|c| c[i]).sum(), ..Totals::default() },
            overflowed_transcripts: 0,
            derived: Derived::default(),
        };
        Outcome {
            rows: vec![row(0, Knobs::none()), row(1, Knobs::api(ClearToolUses::default()))],
            costs,
            other_values: None,
            sessions: (0..24).map(|t| t / 2).collect(),
            session_names: (0..12).map(|s| format!("s{s}")).collect(),
            transcripts_done: 24,
        }
    }

    #[test]
    fn each_kind_gets_its_own_where_they_differ() {
        let kinds: Vec<usize> = (0..24).map(|t| t % 2).collect();
        let own = by_kind(&outcome(0), &Ask::default(), &kinds, 2).unwrap();
        assert_eq!(own.rows, [1, 0]);
        // Six sessions are measured on: 3.5 each under one config, 3 each under two.
        assert!((own.one - 21.0).abs() < 1e-9 && (own.each - 18.0).abs() < 1e-9 && (own.saving() - 1.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn a_row_that_breaks_a_bound_is_nobodys_and_one_kind_has_nothing_to_compare() {
        let kinds: Vec<usize> = (0..24).map(|t| t % 2).collect();
        let own = by_kind(&outcome(1), &Ask::default(), &kinds, 2).unwrap();
        assert_eq!((own.rows.as_slice(), own.saving()), (&[0, 0][..], 0.0));
        assert_eq!(by_kind(&outcome(0), &Ask::default(), &[0; 24], 1), None);
    }
}
