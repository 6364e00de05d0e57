//! What a choice saves on sessions that it was not made on.

use super::PLATEAU;
use crate::sweep::Outcome;

/// Fewer sessions than this say nothing of others.
pub const LEAST_SESSIONS: usize = 10;
/// Parts that the sessions are split into; each is held out once.
const PARTS: usize = 5;

/// The share of the cost of row `none` that is saved when the sessions are split into five parts and each part is run under
/// the config that is cheapest on the other four (or under `none`, where that saves no more than [`PLATEAU`] there).
///
/// `candidates` are rows in order of preference. `None` for fewer than [`LEAST_SESSIONS`] sessions or without candidates.
pub fn saving(outcome: &Outcome, none: usize, candidates: &[usize]) -> Option<f64> {
    let sessions = outcome.sessions.iter().max().map_or(0, |last| last + 1);
    if sessions < LEAST_SESSIONS || candidates.is_empty() {
        return None;
    }
    let sums = |row: usize| {
        let mut sums = [0.0; PARTS];
        for (costs, session) in outcome.costs.iter().zip(&outcome.sessions) {
            sums[session % PARTS] += costs[row];
        }
        sums
    };
    let of_none = sums(none);
    let mut best: [(f64, f64); PARTS] = std::array::from_fn(|part| (f64::INFINITY, of_none[part]));
    for &row in candidates {
        let of_row = sums(row);
        let all: f64 = of_row.iter().sum();
        for (part, best) in best.iter_mut().enumerate() {
            let others = all - of_row[part];
            if others < best.0 {
                *best = (others, of_row[part]);
            }
        }
    }
    let total: f64 = of_none.iter().sum();
    let spent: f64 = (0..PARTS)
        .map(|part| {
            let pays = best[part].0 < (total - of_none[part]) * (1.0 - PLATEAU);
            if pays { best[part].1 } else { of_none[part] }
        })
        .sum();
    (total > 0.0).then(|| 1.0 - spent / total)
}
