//! The choice: the cheapest config that loses nothing, or not to clear.

use super::Spread;
use crate::policy::Trigger;
use crate::sweep::{ConfigRow, Outcome};

/// Configs within this share of the best cost are as good as it.
pub const PLATEAU: f64 = 0.01;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Clear with the chosen config.
    Clear,
    /// Clear with the chosen config, though it costs more: without it some transcripts overflow the window.
    ClearToFit,
    /// No config that loses nothing is more than [`PLATEAU`] cheaper than never clearing.
    DoNotClear,
}

/// The answer of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// What to do.
    pub verdict: Verdict,
    /// The row to run; that of `none` for [`Verdict::DoNotClear`].
    pub row: usize,
    /// The row `none`.
    pub none: usize,
    /// The cheapest row besides `none` that loses nothing, where there is one: what was turned down when the verdict is
    /// not to clear.
    pub cheapest: Option<usize>,
    /// Savings of the chosen row, or else of [`Self::cheapest`], over the transcripts.
    pub spread: Option<Spread>,
}

/// Chooses among the rows; `None` where there is no row `none` or no transcript was replayed.
///
/// Considered are configs without lost or unmet needs and, of those, the ones that overflow the window in the fewest
/// transcripts. The cheapest of them wins; among equals the one with fewer re-fetches, fewer invalidations, the larger keep,
/// the larger trigger, then the earlier in the grid. It has to be more than [`PLATEAU`] cheaper than `none`, unless `none` overflows more often.
pub fn choose(outcome: &Outcome) -> Option<Choice> {
    let rows = &outcome.rows;
    let none = rows.iter().position(|row| row.knobs.is_none())?;
    if outcome.transcripts_done == 0 {
        return None;
    }
    let loses_nothing = |row: &ConfigRow| row.totals.lost_needs == 0 && row.totals.unmet_needs == 0;
    let trigger = |i: usize| rows[i].knobs.trigger().map(Trigger::value);
    let overflows = |i: usize| rows[i].overflowed_transcripts;
    let better = |a: &usize, b: &usize| {
        let (x, y) = (&rows[*a].totals, &rows[*b].totals);
        overflows(*a)
            .cmp(&overflows(*b))
            .then(x.cost_usd.total_cmp(&y.cost_usd))
            .then(x.refetches.cmp(&y.refetches))
            .then(x.cache_invalidations.cmp(&y.cache_invalidations))
            // What does the same with less clearing allowed is the safer of the two.
            .then(rows[*b].knobs.keep().cmp(&rows[*a].knobs.keep()))
            .then(trigger(*b).cmp(&trigger(*a)))
            .then(a.cmp(b))
    };
    let cheapest = (0..rows.len()).filter(|&i| i != none && loses_nothing(&rows[i])).min_by(better);
    let (row, verdict) = match cheapest {
        Some(i) if overflows(i) <= overflows(none) && rows[i].totals.cost_usd < rows[none].totals.cost_usd * (1.0 - PLATEAU) => {
            (i, Verdict::Clear)
        }
        Some(i) if overflows(i) < overflows(none) => (i, Verdict::ClearToFit),
        _ => (none, Verdict::DoNotClear),
    };
    let compared = if row == none { cheapest } else { Some(row) };
    let spread = compared.and_then(|i| Spread::new(outcome.costs.iter().map(|costs| (costs[none], costs[i]))));
    Some(Choice { verdict, row, none, cheapest, spread })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ClearToolUses;
    use crate::replay::Totals;
    use crate::sweep::{Derived, Knobs};

    fn row(keep: Option<u32>, cost_usd: f64, lost_needs: u64, overflowed_transcripts: u64) -> ConfigRow {
        ConfigRow {
            knobs: keep.map_or_else(Knobs::none, |keep| Knobs::api(ClearToolUses { keep, ..ClearToolUses::default() })),
            transcripts: 1,
            totals: Totals { lost_needs, cost_usd, ..Totals::default() },
            overflowed_transcripts,
            derived: Derived::default(),
        }
    }

    fn chosen(rows: Vec<ConfigRow>) -> (usize, Verdict) {
        let costs = vec![rows.iter().map(|r| r.totals.cost_usd).collect()];
        let choice = choose(&Outcome { rows, costs, transcripts_done: 1 }).unwrap();
        (choice.row, choice.verdict)
    }

    #[test]
    fn the_cheapest_that_loses_nothing() {
        let rows = vec![row(None, 1.0, 0, 0), row(Some(1), 0.5, 1, 0), row(Some(2), 0.8, 0, 0), row(Some(3), 0.7, 0, 0)];
        assert_eq!(chosen(rows), (3, Verdict::Clear));
    }

    #[test]
    fn one_percent_is_not_worth_it_and_a_little_more_is() {
        assert_eq!(chosen(vec![row(None, 1.0, 0, 0), row(Some(1), 0.99, 0, 0)]), (0, Verdict::DoNotClear));
        assert_eq!(chosen(vec![row(None, 1.0, 0, 0), row(Some(1), 0.989, 0, 0)]), (1, Verdict::Clear));
    }

    #[test]
    fn what_loses_needs_is_not_chosen_however_cheap() {
        assert_eq!(chosen(vec![row(None, 1.0, 0, 0), row(Some(1), 0.1, 1, 0)]), (0, Verdict::DoNotClear));
    }

    #[test]
    fn what_fits_is_chosen_though_dearer() {
        let rows = vec![row(None, 1.0, 0, 2), row(Some(1), 0.6, 0, 1), row(Some(2), 1.2, 0, 0)];
        assert_eq!(chosen(rows), (2, Verdict::ClearToFit));
    }

    #[test]
    fn among_equals_the_larger_keep_is_safer() {
        assert_eq!(chosen(vec![row(None, 1.0, 0, 0), row(Some(1), 0.5, 0, 0), row(Some(2), 0.5, 0, 0)]), (2, Verdict::Clear));
        assert_eq!(chosen(vec![row(None, 1.0, 0, 0), row(Some(1), 0.4, 0, 0), row(Some(2), 0.5, 0, 0)]), (1, Verdict::Clear));
    }

    #[test]
    fn nothing_replayed_is_no_answer() {
        assert_eq!(choose(&Outcome { rows: vec![row(None, 0.0, 0, 0)], costs: vec![], transcripts_done: 0 }), None);
    }
}
