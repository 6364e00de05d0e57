//! The choice: the cheapest config that loses nothing, or not to clear.

use super::{Spread, held_out};
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
    /// No config that loses nothing is more than [`PLATEAU`] cheaper than never clearing, here and on sessions that it was
    /// not chosen on.
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
    /// The cheapest row that clears and loses nothing, where there is one: what was turned down when the verdict is not to
    /// clear.
    pub cheapest: Option<usize>,
    /// What configs chosen on four fifths of the sessions save on the rest, as a share of the cost of `none`; `None` for
    /// fewer than [`held_out::LEAST_SESSIONS`] sessions or where no config qualifies.
    pub held_out: Option<f64>,
    /// Savings of the chosen row, or else of [`Self::cheapest`], over the transcripts.
    pub spread: Option<Spread>,
}

/// Chooses among the rows; `None` where there is no row `none` or no transcript was replayed.
///
/// Considered are configs that clear at all, without lost or unmet needs, and, of those, the ones that overflow the window in
/// the fewest transcripts. The cheapest of them wins; among equals the one with fewer re-fetches, fewer invalidations, the larger keep,
/// the larger trigger, then the earlier in the grid. It has to
/// be more than [`PLATEAU`] cheaper than `none`, and so have configs that are chosen on a part of the sessions on the rest of
/// them: the best of many configs looks good on the sessions it was chosen on even where none of them helps. Neither holds
/// where `none` overflows more often.
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
    let mut candidates: Vec<usize> =
        (0..rows.len()).filter(|&i| i != none && rows[i].totals.clear_events > 0 && loses_nothing(&rows[i])).collect();
    candidates.sort_by(better);
    let cheapest = candidates.first().copied();
    let held_out = held_out::saving(outcome, none, &candidates);
    let pays = |i: usize| rows[i].totals.cost_usd < rows[none].totals.cost_usd * (1.0 - PLATEAU) && held_out.is_none_or(|s| s > PLATEAU);
    let (row, verdict) = match cheapest {
        Some(i) if overflows(i) <= overflows(none) && pays(i) => (i, Verdict::Clear),
        Some(i) if overflows(i) < overflows(none) => (i, Verdict::ClearToFit),
        _ => (none, Verdict::DoNotClear),
    };
    let compared = if row == none { cheapest } else { Some(row) };
    let spread = compared.and_then(|i| Spread::new(outcome.costs.iter().map(|costs| (costs[none], costs[i]))));
    Some(Choice { verdict, row, none, cheapest, held_out, spread })
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
            totals: Totals { clear_events: 1, lost_needs, cost_usd, ..Totals::default() },
            overflowed_transcripts,
            derived: Derived::default(),
        }
    }

    fn chosen(rows: Vec<ConfigRow>) -> (usize, Verdict) {
        let costs = vec![rows.iter().map(|r| r.totals.cost_usd).collect()];
        let choice = choose(&Outcome { rows, costs, sessions: vec![0], transcripts_done: 1 }).unwrap();
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
    fn what_never_fires_is_no_choice() {
        let mut quiet = row(Some(1), 1.0, 0, 0);
        quiet.totals.clear_events = 0;
        let rows = vec![row(None, 1.0, 0, 0), quiet];
        let choice = choose(&Outcome { rows, costs: vec![vec![1.0, 1.0]], sessions: vec![0], transcripts_done: 1 }).unwrap();
        assert_eq!((choice.verdict, choice.cheapest), (Verdict::DoNotClear, None));
    }

    /// Twenty sessions of cost 1 without clearing, and one config that costs what `of_session` says.
    fn over_sessions(of_session: fn(usize) -> Vec<f64>) -> Choice {
        let costs: Vec<Vec<f64>> = (0..20).map(|s| [vec![1.0], of_session(s)].concat()).collect();
        let total = |i: usize| costs.iter().map(|c| c[i]).sum();
        let rows = (0..costs[0].len()).map(|i| row((i > 0).then_some(i as u32), total(i), 0, 0)).collect();
        choose(&Outcome { rows, costs, sessions: (0..20).collect(), transcripts_done: 20 }).unwrap()
    }

    #[test]
    fn the_best_of_many_by_luck_is_not_recommended() {
        // Config k is good on session k alone and a little dear elsewhere; each saves 2.6 % by its one session.
        let lucky = over_sessions(|s| (0..20).map(|k| if k == s { 0.3 } else { 1.01 }).collect());
        assert_eq!(lucky.verdict, Verdict::DoNotClear);
        assert!(lucky.held_out.unwrap() < 0.0);
        // One that is good everywhere is.
        let real = over_sessions(|s| {
            (0..20)
                .map(|k| {
                    if k == 3 {
                        0.9
                    } else if k == s {
                        0.3
                    } else {
                        1.01
                    }
                })
                .collect()
        });
        assert_eq!((real.verdict, real.row), (Verdict::Clear, 4));
        assert!((real.held_out.unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn nothing_replayed_is_no_answer() {
        assert_eq!(choose(&Outcome { rows: vec![row(None, 0.0, 0, 0)], costs: vec![], sessions: vec![], transcripts_done: 0 }), None);
    }
}
