//! The choice: the best config that keeps the bounds, if sessions that it was not chosen on confirm it.

use std::collections::BTreeSet;

use super::bootstrap::{Interval, LEAST_SESSIONS, Statistic, paired};
use super::plateau::{PLATEAU, Plateau, depths};
use super::{Constraints, Metric, Objective, Spread, chosen_on, front_of_three, knee, missing};
use crate::policy::{ClearToolUses, Trigger};
use crate::sweep::{ConfigRow, Outcome};

/// The policy that clears only what the provider's cache has forgotten anyway.
const CLEAR_WHEN_COLD: &str = "clear_when_cold";
/// The middle of the plateau is taken as long as it keeps this share of the best row's saving.
const KEEPS_OF_SAVING: f64 = 0.75;
/// Of the bootstrap, for the same bytes every time.
const SEED: u64 = 0xC1EA_27C5_E551_0450;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Clear with the chosen config: it saves on sessions that it was not chosen on.
    Clear,
    /// Clear with the chosen config, whatever it costs: without it some transcripts overflow the window.
    ClearToFit,
    /// Clear only after a pause that lets the cache expire: clearing while it is warm does not pay.
    ClearWhenCold,
    /// No config that keeps the bounds is more than [`PLATEAU`] better than never clearing.
    DoNotClear,
    /// The sessions say neither that clearing saves nor that it does not.
    NoSupportedDifference,
    /// Fewer than [`LEAST_SESSIONS`] sessions.
    TooFewSessions,
}

impl Verdict {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::ClearToFit => "clear_to_fit",
            Self::ClearWhenCold => "clear_when_cold",
            Self::DoNotClear => "do_not_clear",
            Self::NoSupportedDifference => "no_supported_difference",
            Self::TooFewSessions => "too_few_sessions",
        }
    }

    /// Whether it says to clear.
    pub fn clears(self) -> bool {
        matches!(self, Self::Clear | Self::ClearToFit | Self::ClearWhenCold)
    }
}

/// What a decision is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// What is minimised.
    pub objective: Objective,
    /// What is not allowed.
    pub constraints: Constraints,
    /// The config that the team runs today.
    pub current: Option<ClearToolUses>,
    /// Rows that are not to be recommended for another reason.
    pub barred: BTreeSet<usize>,
}

/// What the recommended row is compared with besides `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// The API's edit with nothing set.
    Defaults,
    /// What the team runs today.
    Current,
}

impl Other {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defaults => "api_defaults",
            Self::Current => "current",
        }
    }
}

/// The recommended row against another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Against {
    /// Which other.
    pub other: Other,
    /// Its row.
    pub row: usize,
    /// The share that the recommended row saves of the other's value, all sessions together.
    pub saving: f64,
    /// The same on the sessions that it was not chosen on; `None` where there are too few sessions.
    pub confirmed: Option<Interval>,
}

/// A price of a lost need at which the choice turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// The row that would be chosen beyond it.
    pub row: usize,
    /// USD a lost or unmet need.
    pub usd: f64,
}

/// The answer of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What to do.
    pub verdict: Verdict,
    /// The row to run: that of `none` unless the verdict says to clear.
    pub row: usize,
    /// The row `none`.
    pub none: usize,
    /// The best row that clears and keeps the bounds, where there is one: what is recommended or was turned down.
    pub best: Option<usize>,
    /// The bounds that rows which clear break, by name, with how many rows break each first; empty where a row keeps all of them.
    pub broken: Vec<(&'static str, usize)>,
    /// Sessions in all.
    pub sessions: usize,
    /// Sessions that [`Self::best`] was not chosen on.
    pub held_out: usize,
    /// The share of the value of `none` that [`Self::best`] saves, all sessions together.
    pub saving: Option<f64>,
    /// The same on the sessions that it was not chosen on.
    pub confirmed: Option<Interval>,
    /// The recommended row against others.
    pub against: Vec<Against>,
    /// Savings of [`Self::best`] in USD shares over the transcripts.
    pub spread: Option<Spread>,
    /// The rows as good as [`Self::best`].
    pub plateau: Option<Plateau>,
    /// The best row beyond the plateau that clears and keeps the bounds.
    pub runner_up: Option<usize>,
    /// Rows that no other beats in value, in results missing and in peak at once, best value first.
    pub front: Vec<usize>,
    /// The knee of the front of value against results missing.
    pub knee: Option<usize>,
    /// Below this price of a lost need a row that loses more would be chosen.
    pub turns_below: Option<Turn>,
    /// Above this price a row that loses less would be.
    pub turns_above: Option<Turn>,
}

/// Values of each row, summed over some of the sessions.
fn sums(outcome: &Outcome, counts: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut sums = vec![0.0; outcome.rows.len()];
    for (t, session) in outcome.sessions.iter().enumerate() {
        if counts(*session) {
            sums.iter_mut().zip(outcome.values(t)).for_each(|(sum, value)| *sum += value);
        }
    }
    sums
}

/// Decides; `None` where there is no row `none` or no transcript was replayed.
///
/// Considered are rows that clear at all and keep the bounds; of those the ones that overflow the window in the fewest transcripts. On
/// half of the sessions (see [`chosen_on`]) the best of them is found, and of the rows within [`PLATEAU`] of it the one deepest inside
/// ([`depths`]), as long as it keeps most of the saving: a config at the edge of a cliff is a bad thing to paste. On the other half the
/// saving is measured again. The best of many configs looks good on the sessions that it was chosen on even where none of them helps,
/// so the verdict goes by the 95 % interval on the rest: above nothing, clear; too low to matter, do not clear; neither, no supported
/// difference.
pub fn decide(outcome: &Outcome, ask: &Ask) -> Option<Decision> {
    let rows = &outcome.rows;
    let none = rows.iter().position(|row| row.knobs.is_none())?;
    if outcome.transcripts_done == 0 {
        return None;
    }
    let choosing = chosen_on(&outcome.session_names);
    let sessions = outcome.session_names.len();
    let held_out = choosing.iter().filter(|c| !**c).count();
    let total = sums(outcome, |_| true);
    let on_chosen = sums(outcome, |s| choosing[s]);

    let clears = |i: &usize| *i != none && rows[*i].totals.clear_events > 0 && !ask.barred.contains(i);
    let (kept, broken): (Vec<usize>, Vec<usize>) =
        (0..rows.len()).filter(clears).partition(|&i| ask.constraints.broken(&rows[i]).is_none());
    let (cold, warm): (Vec<usize>, Vec<usize>) = kept.into_iter().partition(|&i| rows[i].knobs.policy == CLEAR_WHEN_COLD);
    let ranked = Ranked::new(rows, warm, &on_chosen, none);
    let best = ranked.best;
    let confirm = |row: usize, other: usize| {
        let pairs = by_session(outcome, |t| outcome.values(t), other, row, |s| !choosing[s]);
        (held_out > 0).then(|| paired(&pairs, Statistic::Saving, SEED)).flatten()
    };
    let share = |row: usize, other: usize, of: &[f64]| if of[other] > 0.0 { 1.0 - of[row] / of[other] } else { 0.0 };
    let judge = |i: usize| judge(share(i, none, &on_chosen), confirm(i, none), sessions);

    let overflows = |i: usize| rows[i].overflowed_transcripts;
    let mut verdict = match best {
        Some(i) if overflows(i) < overflows(none) => {
            // Fitting is no matter of chance; whether it also saves may be.
            if overflows(i) == 0 && judge(i) == Verdict::Clear { Verdict::Clear } else { Verdict::ClearToFit }
        }
        Some(i) if overflows(i) <= overflows(none) => judge(i),
        _ => Verdict::DoNotClear,
    };
    let mut best = best;
    if !verdict.clears() {
        let cold = Ranked::new(rows, cold, &on_chosen, none);
        if let Some(i) = cold.best.filter(|&i| overflows(i) <= overflows(none) && judge(i) == Verdict::Clear) {
            (verdict, best) = (Verdict::ClearWhenCold, Some(i));
        }
    }
    if sessions < LEAST_SESSIONS && verdict != Verdict::ClearToFit && best.is_some_and(|i| share(i, none, &total) > PLATEAU) {
        verdict = Verdict::TooFewSessions;
    }
    let row = if verdict.clears() { best.unwrap_or(none) } else { none };

    let find = |edit: &ClearToolUses| rows.iter().position(|r| r.knobs.policy == API && r.knobs.edit.as_ref() == Some(edit));
    let others = [(Other::Defaults, find(&ClearToolUses::default())), (Other::Current, ask.current.as_ref().and_then(find))];
    let against = others
        .into_iter()
        .filter_map(|(other, at)| at.map(|at| (other, at)))
        .filter(|(_, at)| *at != row)
        .map(|(other, at)| Against { other, row: at, saving: share(row, at, &total), confirmed: confirm(row, at) })
        .collect();
    let front = front(rows, &total);
    Some(Decision {
        verdict,
        row,
        none,
        best,
        broken: if best.is_none() { bounds_broken(rows, &broken, ask) } else { Vec::new() },
        sessions,
        held_out,
        saving: best.map(|i| share(i, none, &total)),
        confirmed: best.and_then(|i| confirm(i, none)),
        against,
        spread: best.and_then(|i| Spread::new(outcome.costs.iter().map(|costs| (costs[none], costs[i])))),
        runner_up: ranked.runner_up,
        plateau: ranked.plateau.filter(|_| verdict != Verdict::ClearWhenCold),
        knee: knee_of(rows, &total),
        front,
        // A row that loses more has to save enough, also where it was not chosen, to be worth a thought.
        turns_below: turn(rows, &total, none, row, ask, false)
            .filter(|t| rows[t.row].totals.cost_usd < rows[row].totals.cost_usd * (1.0 - PLATEAU))
            .filter(|t| {
                let pairs = by_session(outcome, |t| &outcome.costs[t], row, t.row, |s| !choosing[s]);
                held_out == 0 || paired(&pairs, Statistic::Saving, SEED).is_some_and(|rest| rest.above(0.0))
            }),
        turns_above: turn(rows, &total, none, row, ask, true),
    })
}

/// The edit's own name.
const API: &str = "clear_tool_uses_20250919";

/// What a row's saving on the sessions that it was chosen on and on the rest supports.
fn judge(on_chosen: f64, on_rest: Option<Interval>, sessions: usize) -> Verdict {
    if on_chosen <= PLATEAU {
        return Verdict::DoNotClear;
    }
    match on_rest {
        // With few sessions the caller has the last word.
        None if sessions < LEAST_SESSIONS => Verdict::Clear,
        Some(rest) if rest.above(0.0) => Verdict::Clear,
        Some(rest) if rest.below(PLATEAU) => Verdict::DoNotClear,
        _ => Verdict::NoSupportedDifference,
    }
}

/// Sums of two rows by session, of the sessions that count.
fn by_session<'a>(
    outcome: &Outcome,
    values: impl Fn(usize) -> &'a [f64],
    first: usize,
    second: usize,
    counts: impl Fn(usize) -> bool,
) -> Vec<(f64, f64)> {
    let mut sums = vec![None; outcome.session_names.len()];
    for (t, &session) in outcome.sessions.iter().enumerate() {
        if counts(session) {
            let (a, b): &mut (f64, f64) = sums[session].get_or_insert((0.0, 0.0));
            *a += values(t)[first];
            *b += values(t)[second];
        }
    }
    sums.into_iter().flatten().collect()
}

/// The best of some rows, and what stands around it.
struct Ranked {
    best: Option<usize>,
    plateau: Option<Plateau>,
    runner_up: Option<usize>,
}

impl Ranked {
    fn new(rows: &[ConfigRow], mut kept: Vec<usize>, values: &[f64], none: usize) -> Self {
        let least = kept.iter().map(|&i| rows[i].overflowed_transcripts).min();
        kept.retain(|&i| Some(rows[i].overflowed_transcripts) == least);
        let trigger = |i: usize| rows[i].knobs.trigger().map(Trigger::value);
        let better = |a: &usize, b: &usize| {
            let (x, y) = (&rows[*a].totals, &rows[*b].totals);
            values[*a]
                .total_cmp(&values[*b])
                .then(x.refetches.cmp(&y.refetches))
                .then(x.cache_invalidations.cmp(&y.cache_invalidations))
                // What does the same with less clearing allowed is the safer of the two.
                .then(rows[*b].knobs.keep().cmp(&rows[*a].knobs.keep()))
                .then(trigger(*b).cmp(&trigger(*a)))
                .then(a.cmp(b))
        };
        kept.sort_by(better);
        let Some(&cheapest) = kept.first() else { return Self { best: None, plateau: None, runner_up: None } };
        let within = values[cheapest] * (1.0 + PLATEAU);
        let (members, beyond): (Vec<usize>, Vec<usize>) = kept.into_iter().partition(|&i| values[i] <= within);
        // A small saving leaves no room for a margin.
        let worst = values[none] - KEEPS_OF_SAVING * (values[none] - values[cheapest]);
        let depth = depths(rows, &members);
        let deep = members.iter().copied().filter(|&i| values[i] <= worst.max(values[cheapest]));
        let best = deep.min_by(|a, b| depth.get(b).cmp(&depth.get(a)).then(better(a, b)));
        let plateau = best.map(|best| Plateau::new(rows, members, best));
        Self { best, plateau, runner_up: beyond.first().copied() }
    }
}

/// Rows that no other beats in value, results missing and peak at once.
fn front(rows: &[ConfigRow], total: &[f64]) -> Vec<usize> {
    let points: Vec<(f64, u64, u64)> =
        rows.iter().zip(total).map(|(row, &value)| (value, missing(row), row.totals.peak_prompt_tokens)).collect();
    front_of_three(&points)
}

fn knee_of(rows: &[ConfigRow], total: &[f64]) -> Option<usize> {
    let points: Vec<(f64, f64)> = rows.iter().zip(total).map(|(row, &value)| (value, missing(row) as f64)).collect();
    let front = super::front(&points);
    let on: Vec<(f64, f64)> = front.iter().map(|&i| points[i]).collect();
    knee(&on).map(|at| front[at])
}

fn bounds_broken(rows: &[ConfigRow], broken: &[usize], ask: &Ask) -> Vec<(&'static str, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for bound in broken.iter().filter_map(|&i| ask.constraints.broken(&rows[i])) {
        *counts.entry(bound).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The price of a lost need at which another row becomes the better one: one that loses less (`above`) or more, whatever the bound on
/// lost needs. The nearest price to the present one counts; among equals the row that comes first.
fn turn(rows: &[ConfigRow], total: &[f64], none: usize, row: usize, ask: &Ask, above: bool) -> Option<Turn> {
    if ask.objective.metric != Metric::Cost {
        return None;
    }
    let lost = |i: usize| rows[i].totals.lost_needs + rows[i].totals.unmet_needs;
    let bounds = Constraints { max_lost: None, ..ask.constraints };
    let price = |i: usize| {
        // The row's value with lost needs free of charge.
        let plain = |i: usize| total[i] - ask.objective.lost_need_cost * lost(i) as f64;
        (plain(row) - plain(i)) / (lost(i) as f64 - lost(row) as f64)
    };
    let fits = |i: usize| rows[i].overflowed_transcripts <= rows[row].overflowed_transcripts;
    let candidates = (0..rows.len())
        .filter(|&i| if above { lost(i) < lost(row) } else { lost(i) > lost(row) })
        .filter(|&i| i == none || (bounds.broken(&rows[i]).is_none() && fits(i)))
        .map(|i| Turn { row: i, usd: price(i) })
        .filter(|turn| turn.usd > 0.0);
    if above {
        candidates.min_by(|a, b| a.usd.total_cmp(&b.usd))
    } else {
        candidates.max_by(|a, b| a.usd.total_cmp(&b.usd).then(b.row.cmp(&a.row)))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
