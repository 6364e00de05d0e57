//! What a workload looks like: sizes, growth, reuse, pauses, and how well its replay agrees with what was recorded.
//!
//! [`Profile::new`] reads everything that needs no replay off the transcripts in one pass. Three further parts replay them:
//! [`Recorded`] (predicted against recorded usage), [`natural_invalidations`] and [`Exclusions`] (what excluding a tool would cost).
//!
//! ```
//! use cleartune::profile::Profile;
//! use cleartune::trace::Trace;
//! use cleartune::workload::{Spec, shipped_text};
//!
//! let spec = Spec::from_toml(shipped_text("notebook")?)?;
//! let document = spec.generate(0);
//! let trace = Trace::from_document(&document)?;
//! let profile = Profile::new([(&document, &trace)]);
//! assert_eq!(profile.prompts.peak.max, 335_279);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clearing;
mod exclude;
mod keep_curve;
mod natural;
mod quantiles;
mod recorded;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use clearing::{ClearingFit, ReadingFit, predicted, readings};
pub use exclude::{Effect, Exclusion, Exclusions, Reason, Rules};
pub use keep_curve::{KeepCurve, KeepStep};
pub use natural::{Cause, natural_invalidations};
pub use quantiles::Quantiles;
pub use recorded::{Recorded, Tokens};

use crate::trace::{BlockKind, Document, Refetch, Trace};
use quantiles::share;

/// Five minutes in milliseconds: the usual lifetime of cache entries.
const FIVE_MINUTES: i64 = 300_000;
/// An hour in milliseconds: the longer lifetime that providers sell.
const ONE_HOUR: i64 = 3_600_000;
/// Of the result tokens, the dominating tools hold at least this share.
const DOMINATING: f64 = 0.8;

/// The profile of a workload. Sizes are in tokens, unedited: as if nothing were ever cleared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Profile {
    /// Transcripts.
    pub transcripts: u64,
    /// Sessions that they belong to.
    pub sessions: u64,
    /// Requests.
    pub requests: u64,
    /// Models that the transcripts name, with the number of transcripts; the empty name stands for none.
    pub models: BTreeMap<String, u64>,
    /// Sizes of prompts.
    pub prompts: Prompts,
    /// What the largest prompts (the last ones) are made of, summed over the transcripts, the largest part first.
    pub composition: Vec<Part>,
    /// Tool uses a request.
    pub uses: Uses,
    /// Sizes of all results.
    pub results: Quantiles,
    /// Share of all result tokens that the largest tenth of the results holds (rounded up to whole results).
    pub largest_tenth_share: f64,
    /// Tool by tool, the one with the most result tokens first.
    pub tools: Vec<ToolProfile>,
    /// The fewest tools that together hold at least 80 % of the result tokens, the largest first.
    pub dominating_tools: Vec<String>,
    /// What every `keep` would cut off.
    pub keep_curve: KeepCurve,
    /// How many uses back needs lie, a value a need; 1 is the newest use.
    pub reuse_distance: Quantiles,
    /// Times between requests.
    pub gaps: Gaps,
    /// What the source shows of the cache.
    pub cache: CacheMarks,
    /// Prompt tokens request by request, transcript by transcript. For pictures; not in the JSON.
    #[serde(skip)]
    pub paths: Vec<Vec<u64>>,
    /// Every gap in milliseconds, ascending. For pictures; not in the JSON.
    #[serde(skip)]
    pub gap_ms: Vec<u64>,
}

/// Sizes of prompts in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Prompts {
    /// System prompt and tools, a value a transcript.
    pub base: Quantiles,
    /// First prompt, a value a transcript.
    pub first: Quantiles,
    /// Largest prompt, a value a transcript.
    pub peak: Quantiles,
    /// By how much a prompt is larger than the one before, a value a request but the first.
    pub growth: Quantiles,
}

/// One part of the largest prompts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// `base`, `user`, `result`, `thinking`, `text` or `use`.
    pub kind: &'static str,
    /// Of `result`: the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Tokens.
    pub tokens: u64,
    /// Of all tokens of these prompts, 0 to 1.
    pub share: f64,
}

/// Tool uses a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Uses {
    /// Tool uses in all.
    pub total: u64,
    /// Tool uses of a transcript, a value a transcript.
    pub per_transcript: Quantiles,
    /// Uses of one answer, a value an answer that has any; a batch of several runs in parallel.
    pub per_batch: Quantiles,
    /// How many answers have so many uses, from 1 on, ascending.
    pub batches: Vec<Batch>,
}

/// How often an answer has so many uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// Tool uses in one answer.
    pub uses: u64,
    /// Answers with so many.
    pub answers: u64,
}

/// One tool. Whether a result is an error is not known of a content-free trace, so nothing is said of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolProfile {
    /// Its name.
    pub name: String,
    /// Whether a cleared result can be had again; where transcripts differ, the least favourable.
    pub refetch: Refetch,
    /// Sizes of its results in tokens.
    pub results: Quantiles,
    /// Sizes of its uses (the calls with their inputs) in tokens.
    pub uses: Quantiles,
    /// Its part of all result tokens, 0 to 1.
    pub result_share: f64,
    /// How far back its results are needed. Uses of every tool count.
    pub keep_curve: KeepCurve,
}

/// Times between the starts of consecutive requests of a transcript, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// The gaps, of transcripts with times.
    pub ms: Quantiles,
    /// Gaps of more than five minutes, after which the usual cache entry is gone.
    pub over_5_minutes: u64,
    /// Gaps of more than an hour.
    pub over_1_hour: u64,
    /// Requests that start before their predecessor; they are in none of the figures above.
    pub backwards: u64,
    /// Transcripts of more than one request all of which carry the same time: no time is known of these.
    pub undated_transcripts: u64,
}

/// What a source shows of the cache (`flush_above`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheMarks {
    /// Transcripts whose first request found something in the cache.
    pub warm_starts: u64,
    /// Tokens that these found.
    pub warm_start_tokens: u64,
    /// Requests but the first before which entries were lost without any clearing.
    pub natural_invalidations: u64,
}

/// What is collected of one tool.
#[derive(Default)]
struct ToolRaw {
    refetch: Refetch,
    results: Vec<u64>,
    uses: Vec<u64>,
    curve: KeepCurve,
    at_peak: u64,
}

/// What is collected of all transcripts.
#[derive(Default)]
struct Raw {
    sessions: BTreeSet<String>,
    base: Vec<u64>,
    first: Vec<u64>,
    peak: Vec<u64>,
    growth: Vec<u64>,
    per_transcript: Vec<u64>,
    per_batch: Vec<u64>,
    gaps: Vec<u64>,
    tools: BTreeMap<String, ToolRaw>,
    /// Tokens at the peak by kind, results left out.
    kinds: BTreeMap<&'static str, u64>,
}

impl Profile {
    /// Reads the profile off the transcripts, each as its document and the trace of it.
    pub fn new<'a>(transcripts: impl IntoIterator<Item = (&'a Document, &'a Trace)>) -> Self {
        let mut profile = Self::default();
        let mut raw = Raw::default();
        for (document, trace) in transcripts {
            profile.transcripts += 1;
            profile.requests += trace.requests.len() as u64;
            *profile.models.entry(document.model.clone().unwrap_or_default()).or_default() += 1;
            raw.sessions.insert(trace.session.clone());
            profile.add_blocks(trace, &mut raw);
            profile.add_times(trace, &mut raw);
            profile.add_needs(trace, &mut raw);
        }
        profile.finish(raw);
        profile
    }

    /// Sizes, growth and uses.
    fn add_blocks(&mut self, trace: &Trace, raw: &mut Raw) {
        let mut path = Vec::with_capacity(trace.requests.len());
        let (mut size, mut uses) = (trace.base_tokens, 0);
        // What the prompt of the current request is made of: its blocks end where its output begins.
        let peak_end = trace.requests.last().map_or(0, |r| r.output);
        for request in &trace.requests {
            let mut batch = 0;
            for block in request.input..request.end {
                if block == request.output {
                    path.push(size);
                }
                let (kind, tokens) = (trace.kinds[block as usize], u64::from(trace.tokens[block as usize]));
                size += tokens;
                let tool = || trace.tools[trace.uses[trace.block_use[block as usize] as usize].tool as usize].name.clone();
                let at_peak = if block < peak_end { tokens } else { 0 };
                match kind {
                    BlockKind::Result => {
                        let tool = raw.tools.entry(tool()).or_default();
                        tool.results.push(tokens);
                        tool.at_peak += at_peak;
                    }
                    BlockKind::Use => {
                        batch += 1;
                        raw.tools.entry(tool()).or_default().uses.push(tokens);
                        *raw.kinds.entry("use").or_default() += at_peak;
                    }
                    BlockKind::User => *raw.kinds.entry("user").or_default() += at_peak,
                    BlockKind::Thinking => *raw.kinds.entry("thinking").or_default() += at_peak,
                    BlockKind::Text => *raw.kinds.entry("text").or_default() += at_peak,
                }
            }
            if request.output == request.end {
                path.push(size);
            }
            uses += batch;
            if batch > 0 {
                raw.per_batch.push(batch);
            }
        }
        if let (Some(&first), Some(&peak)) = (path.first(), path.last()) {
            *raw.kinds.entry("base").or_default() += trace.base_tokens;
            raw.base.push(trace.base_tokens);
            raw.first.push(first);
            raw.peak.push(peak);
            raw.growth.extend(path.windows(2).map(|w| w[1] - w[0]));
            raw.per_transcript.push(uses);
            self.paths.push(path);
        }
    }

    /// Gaps, and what the source shows of the cache.
    fn add_times(&mut self, trace: &Trace, raw: &mut Raw) {
        let Some(first) = trace.requests.first() else { return };
        if let Some(warm) = first.flush_above.filter(|&n| n > 0) {
            self.cache.warm_starts += 1;
            self.cache.warm_start_tokens += warm.min(self.paths.last().map_or(0, |p| p[0]));
        }
        self.cache.natural_invalidations += natural::invalidated(trace).count() as u64;
        if trace.requests.len() > 1 && trace.requests.iter().all(|r| r.at_ms == first.at_ms) {
            self.gaps.undated_transcripts += 1;
            return;
        }
        for pair in trace.requests.windows(2) {
            let gap = pair[1].at_ms.saturating_sub(pair[0].at_ms);
            let Ok(ms) = u64::try_from(gap) else {
                self.gaps.backwards += 1;
                continue;
            };
            raw.gaps.push(ms);
            self.gaps.over_5_minutes += u64::from(gap > FIVE_MINUTES);
            self.gaps.over_1_hour += u64::from(gap > ONE_HOUR);
        }
    }

    /// The keep curves.
    fn add_needs(&mut self, trace: &Trace, raw: &mut Raw) {
        let mut curves = vec![KeepCurve::default(); trace.tools.len()];
        keep_curve::add(trace, &mut self.keep_curve, &mut curves);
        for (tool, curve) in trace.tools.iter().zip(&curves) {
            let kept = raw.tools.entry(tool.name.clone()).or_default();
            kept.curve.merge(curve);
            kept.refetch = least_favourable(kept.refetch, tool.refetch);
        }
    }

    fn finish(&mut self, raw: Raw) {
        self.sessions = raw.sessions.len() as u64;
        self.prompts = Prompts {
            base: Quantiles::of(raw.base),
            first: Quantiles::of(raw.first),
            peak: Quantiles::of(raw.peak),
            growth: Quantiles::of(raw.growth),
        };
        self.gap_ms = raw.gaps;
        self.gap_ms.sort_unstable();
        self.gaps.ms = Quantiles::of(self.gap_ms.clone());
        self.reuse_distance = Quantiles::of(self.keep_curve.distances());

        let mut batches: BTreeMap<u64, u64> = BTreeMap::new();
        raw.per_batch.iter().for_each(|&uses| *batches.entry(uses).or_default() += 1);
        self.uses = Uses {
            total: raw.per_transcript.iter().sum(),
            per_transcript: Quantiles::of(raw.per_transcript),
            per_batch: Quantiles::of(raw.per_batch),
            batches: batches.into_iter().map(|(uses, answers)| Batch { uses, answers }).collect(),
        };

        let mut sizes: Vec<u64> = raw.tools.values().flat_map(|t| t.results.iter().copied()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let all: u64 = sizes.iter().sum();
        self.largest_tenth_share = share(sizes[..sizes.len().div_ceil(10)].iter().sum(), all);
        self.results = Quantiles::of(sizes);

        let peaks: u64 = self.prompts.peak.sum;
        let part = |kind, tool, tokens| Part { kind, tool, tokens, share: share(tokens, peaks) };
        self.composition = raw.kinds.iter().map(|(&kind, &tokens)| part(kind, None, tokens)).collect();
        for (name, tool) in raw.tools {
            self.composition.push(part("result", Some(name.clone()), tool.at_peak));
            let results = Quantiles::of(tool.results);
            self.tools.push(ToolProfile {
                name,
                refetch: tool.refetch,
                results,
                uses: Quantiles::of(tool.uses),
                result_share: share(results.sum, all),
                keep_curve: tool.curve,
            });
        }
        self.composition.retain(|p| p.tokens > 0);
        // Stable sorts of what is in order of names: ties stay in that order.
        self.composition.sort_by_key(|p| std::cmp::Reverse(p.tokens));
        self.tools.sort_by_key(|t| std::cmp::Reverse(t.results.sum));
        let mut held = 0.0;
        for tool in self.tools.iter().filter(|t| t.results.sum > 0) {
            if held >= DOMINATING {
                break;
            }
            held += tool.result_share;
            self.dominating_tools.push(tool.name.clone());
        }
    }

    /// The share of the largest prompts that results hold, 0 to 1: what clearing could at most free.
    pub fn result_share_of_peaks(&self) -> f64 {
        self.composition.iter().filter(|p| p.kind == "result").map(|p| p.share).sum()
    }
}

fn least_favourable(a: Refetch, b: Refetch) -> Refetch {
    match (a, b) {
        (Refetch::Never, _) | (_, Refetch::Never) => Refetch::Never,
        (Refetch::Costly, _) | (_, Refetch::Costly) => Refetch::Costly,
        _ => Refetch::Yes,
    }
}
