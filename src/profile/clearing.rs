//! Predicted against observed clearing: which reading of the public record fits a log that was recorded with clearing on.
//!
//! The config that each request asked for is replayed on the transcript as recorded, under every reading of
//! [`Assume`], and compared with the `applied_edits` of the responses, request by request. These are cumulative and
//! their `cleared_input_tokens` an estimate, so what is compared is how many uses are cleared, and whether that grew.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ingest::{AskedEdit, RecordedClearing};
use crate::policy::{Assume, Cache, CacheMode, KeepCounts, Memory, Selection, Settings, Trigger, TriggerCmp};
use crate::replay::replay;
use crate::trace::{Trace, TraceError};

/// How well one reading fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ReadingFit {
    /// Requests that were compared: what was asked and what was cleared are both known.
    pub requests: u64,
    /// Those at which as many uses are cleared as the response says.
    pub agreeing: u64,
    /// By how many uses the others are off, summed.
    pub uses_off: u64,
    /// Clear events of which the responses tell.
    pub events_observed: u64,
    /// Clear events that the replay predicts, at requests of which the responses tell.
    pub events_predicted: u64,
    /// Clear events at the same request in both.
    pub events_both: u64,
}

impl ReadingFit {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.agreeing += other.agreeing;
        self.uses_off += other.uses_off;
        self.events_observed += other.events_observed;
        self.events_predicted += other.events_predicted;
        self.events_both += other.events_both;
    }

    /// The better fit is the larger.
    fn rank(&self) -> (u64, std::cmp::Reverse<u64>, u64) {
        (self.agreeing, std::cmp::Reverse(self.uses_off), self.events_both)
    }
}

/// What the observed clearing says of the readings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClearingFit {
    /// Transcripts that were recorded with the provider's clearing on.
    pub transcripts: u64,
    /// Requests of theirs.
    pub requests: u64,
    /// Requests whose response does not say what was cleared: unknown, and not none.
    pub unknown: u64,
    /// The fit of the default reading.
    pub default: ReadingFit,
    /// The fit of the best one.
    pub best: ReadingFit,
    /// How many of the [`readings`] fit as well as the best.
    pub best_readings: u64,
    /// By key of `assume`: the one value that all best readings have.
    pub decided: BTreeMap<&'static str, String>,
    /// Keys of `assume` that the log cannot tell apart: the best readings have several values.
    pub undecided: Vec<&'static str>,
    /// Whether the default reading is among the best.
    pub default_is_best: bool,
}

/// Every reading that a log of `applied_edits` can speak to, 192 in all, the default first. Re-fetches are in the log and never made again.
pub fn readings() -> Vec<Assume> {
    let mut all = Vec::new();
    for memory in [Memory::Stateless, Memory::Sticky] {
        for selection in [Selection::Batched, Selection::AllOrNothing, Selection::StopWhenReached] {
            for keep_counts in [KeepCounts::Clearable, KeepCounts::All] {
                for tiny_result_bytes in [46, 53] {
                    for placeholder_tokens in [11, 7] {
                        for trigger_counts_base in [true, false] {
                            for trigger_cmp in [TriggerCmp::Gt, TriggerCmp::Ge] {
                                all.push(Assume {
                                    memory,
                                    selection,
                                    keep_counts,
                                    tiny_result_bytes,
                                    placeholder_tokens,
                                    trigger_counts_base,
                                    trigger_cmp,
                                    max_refetch_rounds: 0,
                                    ..Assume::default()
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

/// The keys of `assume` that are told apart, with the value of a reading.
fn keys(a: &Assume) -> [(&'static str, String); 7] {
    let word = |value: serde_json::Result<serde_json::Value>| value.ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    [
        ("memory", word(serde_json::to_value(a.memory))),
        ("selection", word(serde_json::to_value(a.selection))),
        ("keep_counts", word(serde_json::to_value(a.keep_counts))),
        ("tiny_result_bytes", a.tiny_result_bytes.to_string()),
        ("placeholder_tokens", a.placeholder_tokens.to_string()),
        ("trigger_counts_base", a.trigger_counts_base.to_string()),
        ("trigger_cmp", word(serde_json::to_value(a.trigger_cmp))),
    ]
}

impl ClearingFit {
    /// Compares; `None` where no transcript was recorded with clearing.
    ///
    /// # Errors
    /// A document is no valid transcript.
    pub fn new<'r>(recorded: impl IntoIterator<Item = &'r RecordedClearing>) -> Result<Option<Self>, TraceError> {
        let all = readings();
        let mut fits = vec![ReadingFit::default(); all.len()];
        let mut sums = Self::default();
        for one in recorded {
            sums.transcripts += 1;
            sums.requests += one.requests.len() as u64;
            sums.unknown += one.requests.iter().filter(|r| r.applied.is_none() && r.asked != AskedEdit::Nothing).count() as u64;
            for (sum, fit) in fits.iter_mut().zip(compare(one, &all)?) {
                sum.add(&fit);
            }
        }
        if sums.transcripts == 0 {
            return Ok(None);
        }
        sums.default = fits[0];
        // Of equals the first: the default, if it is one of them.
        let top = fits.iter().map(ReadingFit::rank).max().unwrap_or_default();
        let best: Vec<usize> = (0..all.len()).filter(|&i| fits[i].rank() == top).collect();
        sums.best = fits[best[0]];
        sums.best_readings = best.len() as u64;
        sums.default_is_best = best[0] == 0;
        for (k, (key, value)) in keys(&all[best[0]]).into_iter().enumerate() {
            if best.iter().all(|&i| keys(&all[i])[k].1 == value) {
                sums.decided.insert(key, value);
            } else {
                sums.undecided.push(key);
            }
        }
        Ok(Some(sums))
    }
}

/// The fit of every reading to one transcript.
fn compare(recorded: &RecordedClearing, all: &[Assume]) -> Result<Vec<ReadingFit>, TraceError> {
    let traces = recorded.sized.iter().map(|s| Trace::from_document(&s.document)).collect::<Result<Vec<_>, _>>()?;
    let batches = recorded.edits.iter().any(|e| e.clear_at_least > 0);
    let by_tokens = recorded.edits.iter().any(|e| matches!(e.trigger, Trigger::InputTokens(_)));
    let mut known: Vec<(Assume, usize, ReadingFit)> = Vec::new();
    let mut fits = Vec::with_capacity(all.len());
    for assume in all {
        // The sizes of a log depend on these two readings; where they come to the same there is only the default.
        let with = |tiny: u32, placeholder: u32| {
            recorded.sized.iter().position(|s| s.tiny_result_bytes == tiny && s.placeholder_tokens == placeholder)
        };
        let placeholder = if batches { assume.placeholder_tokens } else { Assume::default().placeholder_tokens };
        let sized = with(assume.tiny_result_bytes, placeholder).or(with(Assume::default().tiny_result_bytes, placeholder)).unwrap_or(0);
        // Keys that no edit of this log looks at are not replayed twice.
        let mut plain = assume.clone();
        plain.placeholder_tokens = placeholder;
        plain.tiny_result_bytes = recorded.sized.get(sized).map_or(plain.tiny_result_bytes, |s| s.tiny_result_bytes);
        if !batches {
            plain.selection = Selection::Batched;
        }
        if !by_tokens {
            plain.trigger_counts_base = true;
        }
        let same = known.iter().find(|(a, s, _)| *a == plain && *s == sized).map(|(.., fit)| *fit);
        let fit = same.unwrap_or_else(|| {
            let fit = traces.get(sized).map_or_else(ReadingFit::default, |trace| fit(recorded, trace, &plain));
            known.push((plain, sized, fit));
            fit
        });
        fits.push(fit);
    }
    Ok(fits)
}

/// How many uses each request of the transcript has cleared under `assume`; `None`: the log does not show what it asked.
pub fn predicted(recorded: &RecordedClearing, trace: &Trace, assume: &Assume) -> Vec<Option<u64>> {
    let counts: Vec<Vec<u64>> = recorded
        .edits
        .iter()
        .map(|edit| {
            let cache = Cache { mode: CacheMode::Off, ..Cache::default() };
            let assume = Assume { max_refetch_rounds: 0, ..assume.clone() };
            let settings = Settings { edit: Some(edit.clone()), assume, cache, ..Settings::default() };
            replay(trace, &settings).requests.iter().map(|row| row.cleared_uses).collect()
        })
        .collect();
    let one = |(i, asked): (usize, AskedEdit)| match asked {
        AskedEdit::Edit(e) => counts.get(e as usize).and_then(|c| c.get(i)).copied(),
        AskedEdit::Nothing => Some(0),
        AskedEdit::Unknown | AskedEdit::Unread => None,
    };
    recorded.requests.iter().map(|r| r.asked).enumerate().map(one).collect()
}

fn fit(recorded: &RecordedClearing, trace: &Trace, assume: &Assume) -> ReadingFit {
    let mut fit = ReadingFit::default();
    // Before the first request nothing was cleared.
    let mut before = Some((0, 0));
    for (request, predicted) in recorded.requests.iter().zip(predicted(recorded, trace, assume)) {
        let now = request.applied.zip(predicted);
        if let Some((observed, predicted)) = now {
            fit.requests += 1;
            fit.agreeing += u64::from(observed == predicted);
            fit.uses_off += observed.abs_diff(predicted);
            if let Some((observed_before, predicted_before)) = before {
                let (seen, expected) = (observed > observed_before, predicted > predicted_before);
                fit.events_observed += u64::from(seen);
                fit.events_predicted += u64::from(expected);
                fit.events_both += u64::from(seen && expected);
            }
        }
        before = now;
    }
    fit
}
