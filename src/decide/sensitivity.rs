//! Does the choice stand when what was assumed is otherwise?

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::{Ask, Verdict, decide};
use crate::policy::{Assume, KeepCounts, Memory, Selection, Settings, TriggerCmp};
use crate::price::Prices;
use crate::replay::Totals;
use crate::sweep::{ConfigRow, Knobs, Outcome, Transcript, run};
use crate::trace::{BlockKind, Trace};

/// One thing that is otherwise.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Every result is this many times as large.
    ResultSizes(f64),
    /// Only this share of the needs is real; the agent does without the rest.
    NeedsRefetched(f64),
    /// A token read from the cache costs this share of an uncached one.
    ReadPriceRatio(f64),
    /// Another reading.
    Reading(Assume),
}

/// A change with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// As it stands in files and answers: `result_sizes × 0.8`, `memory = sticky`.
    pub name: String,
    /// What is otherwise.
    pub change: Change,
}

/// How the recommended row fares in one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The scenario's name.
    pub name: String,
    /// The share of the value of `none` that the row saves there; 0 where the row is `none`.
    pub saving: f64,
    /// What the row that would be recommended there saves; 0 where none would be.
    pub best_saving: f64,
    /// The row that would be recommended there, of those looked at; `None`: not to clear.
    pub best: Option<usize>,
    /// Needs lost or unmet by the recommended row there.
    pub lost: u64,
    /// Whether the verdict stands: a row that clears still saves and keeps the bounds; where it was not to clear, no row would be
    /// recommended there.
    pub stands: bool,
}

/// The scenarios for transcripts that are replayed under `assume`, less those that are the case already.
pub fn scenarios(assume: &Assume) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |name: String, change| all.push(Scenario { name, change });
    for factor in [0.8, 1.2] {
        add(format!("result_sizes × {factor}"), Change::ResultSizes(factor));
    }
    for share in [0.0, 0.5] {
        add(format!("needs_refetched = {share}"), Change::NeedsRefetched(share));
    }
    for ratio in [0.025, 0.05, 0.1, 0.25] {
        add(format!("read_price_ratio = {ratio}"), Change::ReadPriceRatio(ratio));
    }
    let mut reading = |name: &str, other: Assume| {
        if other != *assume {
            add(name.to_owned(), Change::Reading(other));
        }
    };
    let base = || assume.clone();
    reading("memory = stateless", Assume { memory: Memory::Stateless, ..base() });
    reading("memory = sticky", Assume { memory: Memory::Sticky, ..base() });
    reading("selection = batched", Assume { selection: Selection::Batched, ..base() });
    reading("selection = all_or_nothing", Assume { selection: Selection::AllOrNothing, ..base() });
    reading("selection = stop_when_reached", Assume { selection: Selection::StopWhenReached, ..base() });
    reading("keep_counts = clearable", Assume { keep_counts: KeepCounts::Clearable, ..base() });
    reading("keep_counts = all", Assume { keep_counts: KeepCounts::All, ..base() });
    for bytes in [46, 53] {
        reading(&format!("tiny_result_bytes = {bytes}"), Assume { tiny_result_bytes: bytes, ..base() });
    }
    for tokens in [7, 11] {
        reading(&format!("placeholder_tokens = {tokens}"), Assume { placeholder_tokens: tokens, ..base() });
    }
    reading("trigger_counts_base = true", Assume { trigger_counts_base: true, ..base() });
    reading("trigger_counts_base = false", Assume { trigger_counts_base: false, ..base() });
    reading("trigger_cmp = gt", Assume { trigger_cmp: TriggerCmp::Gt, ..base() });
    reading("trigger_cmp = ge", Assume { trigger_cmp: TriggerCmp::Ge, ..base() });
    for rounds in 0..=2 {
        reading(&format!("max_refetch_rounds = {rounds}"), Assume { max_refetch_rounds: rounds, ..base() });
    }
    all
}

impl Change {
    /// The transcript as it would be.
    pub fn apply(&self, transcript: &Transcript) -> Transcript {
        let mut other = transcript.clone();
        match self {
            Self::ResultSizes(factor) => scale_results(&mut other.trace, *factor),
            Self::NeedsRefetched(share) => thin_needs(&mut other.trace, *share),
            Self::ReadPriceRatio(ratio) => reprice(&mut other.settings, *ratio),
            Self::Reading(assume) => other.settings.assume = assume.clone(),
        }
        other
    }
}

fn scale_results(trace: &mut Trace, factor: f64) {
    for (kind, tokens) in trace.kinds.iter().zip(&mut trace.tokens) {
        if *kind == BlockKind::Result {
            *tokens = libm::round(f64::from(*tokens) * factor).min(f64::from(u32::MAX)) as u32;
        }
    }
}

/// Keeps every need whose fraction, an even spread over 0..1 by its number, lies below `share`.
fn thin_needs(trace: &mut Trace, share: f64) {
    let needs = std::mem::take(&mut trace.needs);
    let mut number = 0_u32;
    for request in &mut trace.requests {
        let (from, to) = (request.needs as usize, request.needs_end as usize);
        request.needs = trace.needs.len() as u32;
        for &need in &needs[from..to] {
            // Multiples of the golden ratio fill 0..1 evenly at every length.
            let fraction = (f64::from(number) * 0.618_033_988_749_895 + 0.5).fract();
            if fraction < share {
                trace.needs.push(need);
            }
            number += 1;
        }
        request.needs_end = trace.needs.len() as u32;
    }
}

fn reprice(settings: &mut Settings, ratio: f64) {
    let others = settings.other_models.iter_mut().map(|terms| &mut terms.prices);
    for prices in std::iter::once(&mut settings.prices).chain(others) {
        // A tier may name the input price alone, the read price alone or both.
        let base = prices.clone();
        prices.cache_read = prices.input * ratio;
        for tier in &mut prices.tiers {
            tier.cache_read = Some(at_tier(&base, tier.input) * ratio);
        }
    }
}

fn at_tier(base: &Prices, input: Option<f64>) -> f64 {
    input.unwrap_or(base.input)
}

/// How the row `chosen` of `rows` fares in each scenario beside the rows `beside` (indices; `none` is added).
///
/// The verdict is found again in each scenario, on the same halves of the sessions as ever. `progress` is told of each scenario that is
/// done; `stop` ends it early with what there is.
pub fn sensitivity(
    transcripts: &[Transcript],
    rows: &[ConfigRow],
    (chosen, beside): (usize, &[usize]),
    ask: &Ask,
    scenarios: &[Scenario],
    stop: &AtomicBool,
    progress: &dyn Fn(),
) -> Vec<Standing> {
    let Some(none) = rows.iter().position(|row| row.knobs.is_none()) else { return Vec::new() };
    let others: BTreeSet<usize> = beside.iter().copied().chain([chosen]).filter(|&i| i != none).collect();
    let looked_at: Vec<usize> = std::iter::once(none).chain(others).collect();
    let configs: Vec<Knobs> = looked_at.iter().map(|&i| rows[i].knobs.clone()).collect();
    let at = looked_at.iter().position(|&i| i == chosen).unwrap_or(0);
    let value = |t: &Totals| ask.objective.value(t);
    let mut standings = Vec::new();
    for scenario in scenarios {
        let changed: Vec<Transcript> = transcripts.par_iter().map(|t| scenario.change.apply(t)).collect();
        let Ok(outcome) = run::<Infallible>(&changed, &configs, Some(&value), stop, &|_| {}, |_| Ok(()));
        if outcome.transcripts_done < transcripts.len() {
            break;
        }
        standings.push(stand(scenario, &looked_at, &outcome, at, ask));
        progress();
    }
    standings
}

fn stand(scenario: &Scenario, looked_at: &[usize], outcome: &Outcome, at: usize, ask: &Ask) -> Standing {
    let rows = &outcome.rows;
    let value = |i: usize| (0..outcome.transcripts_done).map(|t| outcome.values(t)[i]).sum::<f64>();
    let saving = |i: usize| if value(0) > 0.0 { 1.0 - value(i) / value(0) } else { 0.0 };
    let keeps = |i: usize| rows[i].overflowed_transcripts <= rows[0].overflowed_transcripts && ask.constraints.broken(&rows[i]).is_none();
    let decision = decide(outcome, ask);
    let best = decision.as_ref().filter(|d| d.verdict.clears() || d.verdict == Verdict::TooFewSessions).and_then(|d| d.best);
    Standing {
        name: scenario.name.clone(),
        saving: saving(at),
        best_saving: best.map_or(0.0, saving),
        best: best.map(|i| looked_at[i]),
        lost: rows[at].totals.lost_needs + rows[at].totals.unmet_needs,
        stands: if at == 0 { best.is_none() } else { keeps(at) && saving(at) > 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::Tier;

    #[test]
    fn what_is_the_case_is_no_scenario() {
        let names: Vec<String> = scenarios(&Assume::default()).into_iter().map(|s| s.name).collect();
        assert!(names.contains(&"memory = sticky".to_owned()) && !names.contains(&"memory = stateless".to_owned()));
        assert_eq!(names.len(), 8 + 10, "{names:?}");
        let sticky = scenarios(&Assume { memory: Memory::Sticky, ..Assume::default() });
        assert!(sticky.iter().any(|s| s.name == "memory = stateless") && !sticky.iter().any(|s| s.name == "memory = sticky"));
    }

    fn transcript() -> Transcript {
        let line = br#"{"schema":"cleartune.trace/1","id":"a","base_tokens":100,"requests":[
            {"output":[{"kind":"use","use":0,"tool":"x","tokens":10}]},
            {"input":[{"kind":"result","use":0,"tokens":55}]},{"needs":[0]},{"needs":[0]},{"needs":[0]},{"needs":[0]}]}"#;
        Transcript { trace: crate::trace::parse_line(line).unwrap().1, settings: Settings::default() }
    }

    #[test]
    fn sizes_needs_and_prices_change_as_named() {
        let of = |change: Change| change.apply(&transcript());
        assert_eq!(of(Change::ResultSizes(0.8)).trace.tokens, [10, 44]);
        assert_eq!(of(Change::NeedsRefetched(0.0)).trace.needs, [0_u32; 0]);
        let half = of(Change::NeedsRefetched(0.5)).trace;
        assert_eq!(half.needs.len(), 2);
        assert_eq!(half.requests.iter().map(|r| r.needs_end - r.needs).sum::<u32>(), 2);
        assert_eq!(of(Change::NeedsRefetched(1.0)).trace.needs.len(), 4);
        let mut tiered = transcript();
        tiered.settings.prices.tiers =
            vec![Tier { above: 5, input: Some(6.0), ..Tier::default() }, Tier { above: 9, output: Some(1.0), ..Tier::default() }];
        let prices = Change::ReadPriceRatio(0.05).apply(&tiered).settings.prices;
        assert!((prices.cache_read - 0.15).abs() < 1e-12);
        let of_tiers: Vec<f64> = prices.tiers.iter().map(|t| t.cache_read.unwrap()).collect();
        assert!((of_tiers[0] - 0.3).abs() < 1e-12 && (of_tiers[1] - 0.15).abs() < 1e-12, "{of_tiers:?}");
    }

    /// Twelve transcripts in which one large result is of no use after it arrived: clearing it pays.
    fn transcripts() -> Vec<Transcript> {
        (0..12)
            .map(|n| {
                let mut line = format!(
                    r#"{{"schema":"cleartune.trace/1","id":"t{n}","base_tokens":2000,"requests":[
                    {{"output":[{{"kind":"use","use":0,"tool":"x","tokens":10}}]}},
                    {{"input":[{{"kind":"result","use":0,"tokens":{}}}],"output":[{{"kind":"use","use":1,"tool":"x","tokens":10}}]}},
                    {{"input":[{{"kind":"result","use":1,"tokens":20}}],"output":[{{"kind":"text","tokens":10}}]}}"#,
                    90_000 + 1000 * n
                );
                for i in 0..60 {
                    line += &[r#",{"at_ms":"#, &(i * 1000).to_string(), if i == 9 { r#","needs":[0]}"# } else { "}" }].concat();
                }
                line += "]}";
                let line = line.replace('\n', "");
                Transcript { trace: crate::trace::parse_line(line.as_bytes()).unwrap().1, settings: Settings::default() }
            })
            .collect()
    }

    #[test]
    fn a_verdict_stands_where_it_would_be_found_again() {
        use crate::policy::{ClearToolUses, Trigger};
        let transcripts = transcripts();
        let edit = ClearToolUses { trigger: Trigger::InputTokens(50_000), keep: 1, ..ClearToolUses::default() };
        let configs = [Knobs::none(), Knobs::api(edit)];
        let stop = AtomicBool::new(false);
        let Ok(outcome) = run::<Infallible>(&transcripts, &configs, None, &stop, &|_| {}, |_| Ok(()));
        let ask = Ask::default();
        let named = |name: &str, change| [Scenario { name: name.to_owned(), change }];
        let of = |chosen: usize, beside: &[usize], change| {
            sensitivity(&transcripts, &outcome.rows, (chosen, beside), &ask, &named("it", change), &stop, &|| {}).remove(0)
        };
        // The need that comes back after nine requests makes clearing dear; without needs it pays.
        assert!(outcome.rows[1].totals.refetches == 12 && decide(&outcome, &ask).unwrap().verdict == Verdict::DoNotClear);
        let without = of(0, &[1], Change::NeedsRefetched(0.0));
        assert!(!without.stands && without.best == Some(1) && without.best_saving > 0.1, "{without:?}");
        let larger = of(0, &[1], Change::ResultSizes(1.2));
        assert!(larger.stands && larger.best.is_none(), "{larger:?}");
        // The other way round: clearing is recommended, and a world without re-fetches makes it lose a need.
        let kept = of(1, &[], Change::NeedsRefetched(0.0));
        assert!(kept.stands && kept.saving > 0.1);
        let lossy = of(1, &[], Change::Reading(Assume { max_refetch_rounds: 0, ..Assume::default() }));
        assert!(!lossy.stands && lossy.lost == 12, "{lossy:?}");
    }

    #[test]
    fn a_stop_ends_it() {
        let transcripts = transcripts();
        let stop = AtomicBool::new(true);
        let Ok(outcome) = run::<Infallible>(&transcripts, &[Knobs::none()], None, &AtomicBool::new(false), &|_| {}, |_| Ok(()));
        assert!(
            sensitivity(&transcripts, &outcome.rows, (0, &[]), &Ask::default(), &scenarios(&Assume::default()), &stop, &|| {}).is_empty()
        );
    }
}
