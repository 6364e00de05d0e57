//! The `answer` of `sweep.json`: the whole advice under stable names.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::decide::bootstrap::Interval;
use crate::decide::{Advice, Constraints, DAYS_A_MONTH, Metric, Objective, Plateau, Spread, Turn};
use crate::policy::ClearToolUses;
use crate::sweep::Outcome;

#[derive(Serialize)]
struct Answer {
    verdict: &'static str,
    /// Index into `rows` of the config to run.
    row: usize,
    /// Index into `rows` of `none`.
    none: usize,
    /// Index into `rows` of the best config besides `none` that keeps the bounds.
    best: Option<usize>,
    /// The bounds that configs break, with how many do, where none keeps them all.
    broken_bounds: BTreeMap<&'static str, usize>,
    context_management: Option<Value>,
    objective: ObjectiveFile,
    bounds: BoundsFile,
    sessions: usize,
    held_out_sessions: usize,
    /// Share of the objective of `none` that `best` saves, all sessions together.
    saving: Option<f64>,
    /// The same on the sessions that it was not chosen on, with its 95 % interval.
    held_out_saving: Option<IntervalFile>,
    saving_per_transcript: Option<SpreadFile>,
    against: Vec<AgainstFile>,
    plateau: Option<PlateauFile>,
    runner_up: Option<usize>,
    pareto_front: Vec<usize>,
    knee: Option<usize>,
    turns_below: Option<TurnFile>,
    turns_above: Option<TurnFile>,
    importance: Vec<ShareFile>,
    by_kind: Option<ByKindFile>,
    sensitivity: Vec<StandingFile>,
    month: Option<MonthFile>,
}

#[derive(Serialize)]
struct ObjectiveFile {
    metric: &'static str,
    lost_need_cost_usd: f64,
    latency: Option<LatencyFile>,
}

#[derive(Serialize)]
struct LatencyFile {
    first_seconds: f64,
    seconds_per_new_token: f64,
    seconds_per_read_token: f64,
    output_tokens_per_second: f64,
}

// Named as the flags are.
#[allow(clippy::struct_field_names)]
#[derive(Serialize)]
struct BoundsFile {
    max_lost: Option<u64>,
    max_refetches_per_100: Option<f64>,
    max_invalidations_per_100: Option<f64>,
    max_peak: Option<u64>,
}

#[derive(Serialize)]
struct IntervalFile {
    estimate: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct SpreadFile {
    transcripts: usize,
    worst: f64,
    lower_quartile: f64,
    median: f64,
    upper_quartile: f64,
    best: f64,
    dearer_transcripts: usize,
    unchanged_transcripts: usize,
}

#[derive(Serialize)]
struct AgainstFile {
    other: &'static str,
    row: usize,
    saving: f64,
    held_out_saving: Option<IntervalFile>,
}

#[derive(Serialize)]
struct PlateauFile {
    configs: usize,
    trigger: Option<(u64, u64)>,
    keep: Option<(u32, u32)>,
    clear_at_least: Option<(u64, u64)>,
}

#[derive(Serialize)]
struct TurnFile {
    row: usize,
    usd_per_lost_need: f64,
}

#[derive(Serialize)]
struct ShareFile {
    knobs: Vec<&'static str>,
    share: f64,
}

#[derive(Serialize)]
struct ByKindFile {
    kinds: Vec<KindFile>,
    saving: f64,
}

#[derive(Serialize)]
struct KindFile {
    name: String,
    row: usize,
}

#[derive(Serialize)]
struct StandingFile {
    assumption: String,
    stands: bool,
    saving: f64,
    lost_or_unmet_needs: u64,
    best: Option<usize>,
    best_saving: f64,
}

#[derive(Serialize)]
struct MonthFile {
    sessions_per_day: f64,
    cost_of_none_usd: f64,
    saved_usd: Option<f64>,
}

/// The advice as JSON; indices are those of the outcome's rows.
pub fn answer(outcome: &Outcome, advice: &Advice) -> impl Serialize + use<> {
    let d = &advice.decision;
    let (none, best) = (&outcome.rows[d.none].totals, d.best.map(|i| &outcome.rows[i].totals));
    let edit = if d.verdict.clears() { outcome.rows[d.row].knobs.edit.as_ref() } else { None };
    Answer {
        verdict: d.verdict.name(),
        row: d.row,
        none: d.none,
        best: d.best,
        broken_bounds: d.broken.iter().copied().collect(),
        context_management: edit.map(context_management),
        objective: objective(&advice.ask.objective),
        bounds: bounds(&advice.ask.constraints),
        sessions: d.sessions,
        held_out_sessions: d.held_out,
        saving: d.saving,
        held_out_saving: d.confirmed.map(interval),
        saving_per_transcript: d.spread.map(spread),
        against: d
            .against
            .iter()
            .map(|a| AgainstFile { other: a.other.name(), row: a.row, saving: a.saving, held_out_saving: a.confirmed.map(interval) })
            .collect(),
        plateau: d.plateau.as_ref().map(plateau),
        runner_up: d.runner_up,
        pareto_front: d.front.clone(),
        knee: d.knee,
        turns_below: d.turns_below.map(turn),
        turns_above: d.turns_above.map(turn),
        importance: advice.importance.iter().map(|s| ShareFile { knobs: s.knobs.clone(), share: s.share }).collect(),
        by_kind: advice.by_kind.as_ref().map(|(names, by_kind)| ByKindFile {
            kinds: names.iter().zip(&by_kind.rows).map(|(name, &row)| KindFile { name: name.clone(), row }).collect(),
            saving: by_kind.saving(),
        }),
        sensitivity: advice
            .sensitivity
            .iter()
            .map(|s| StandingFile {
                assumption: s.name.clone(),
                stands: s.stands,
                saving: s.saving,
                lost_or_unmet_needs: s.lost,
                best: s.best,
                best_saving: s.best_saving,
            })
            .collect(),
        month: advice.sessions_per_day.map(|sessions_per_day| {
            let months = sessions_per_day * DAYS_A_MONTH / d.sessions.max(1) as f64;
            MonthFile {
                sessions_per_day,
                cost_of_none_usd: none.cost_usd * months,
                saved_usd: best.map(|best| (none.cost_usd - best.cost_usd) * months),
            }
        }),
    }
}

fn context_management(edit: &ClearToolUses) -> Value {
    let object: Value = serde_json::from_str(&edit.to_json()).expect("the object to paste is JSON");
    object["context_management"].clone()
}

fn objective(o: &Objective) -> ObjectiveFile {
    let latency = (o.metric == Metric::Latency).then_some(LatencyFile {
        first_seconds: o.latency.first,
        seconds_per_new_token: o.latency.per_new,
        seconds_per_read_token: o.latency.per_read,
        output_tokens_per_second: o.latency.output_per_second,
    });
    ObjectiveFile { metric: o.metric.name(), lost_need_cost_usd: o.lost_need_cost, latency }
}

fn bounds(c: &Constraints) -> BoundsFile {
    BoundsFile {
        max_lost: c.max_lost,
        max_refetches_per_100: c.max_refetches_per_100,
        max_invalidations_per_100: c.max_invalidations_per_100,
        max_peak: c.max_peak,
    }
}

fn interval(i: Interval) -> IntervalFile {
    IntervalFile { estimate: i.estimate, low: i.low, high: i.high }
}

fn spread(s: Spread) -> SpreadFile {
    SpreadFile {
        transcripts: s.transcripts,
        worst: s.worst,
        lower_quartile: s.lower,
        median: s.median,
        upper_quartile: s.upper,
        best: s.best,
        dearer_transcripts: s.dearer,
        unchanged_transcripts: s.unchanged,
    }
}

fn plateau(p: &Plateau) -> PlateauFile {
    PlateauFile { configs: p.rows.len(), trigger: p.trigger, keep: p.keep, clear_at_least: p.clear_at_least }
}

fn turn(t: Turn) -> TurnFile {
    TurnFile { row: t.row, usd_per_lost_need: t.usd }
}
