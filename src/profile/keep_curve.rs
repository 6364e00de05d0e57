//! What every `keep` would cut off.

use std::collections::BTreeMap;

use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use super::quantiles::share;
use crate::trace::{BlockKind, NONE, Trace};

/// How far back results are needed, for every `keep` at once.
///
/// A *need* is a request that draws on a result which an earlier request brought; how often it names the result does not matter. It lies
/// *d* uses back when the result belongs to the *d*-th newest use of that prompt, so `keep` = k holds it if d ≤ k and cuts it off if d > k.
/// Every use of the history counts, whatever its tool or size. Two shares are read off: of needs (what is fetched again or lost), and of
/// results (those whose last need lies more than k uses back; with k = 0, those needed again at all).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeepCurve {
    /// Results in the transcripts, needed or not.
    pub results: u64,
    /// Needs, by how many uses back they lie.
    needs_back: BTreeMap<u64, u64>,
    /// Results that are needed again, by how many uses back the last need lies.
    last_back: BTreeMap<u64, u64>,
}

/// One step of a [`KeepCurve`]: it holds from this `keep` up to the next step's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KeepStep {
    /// The smallest `keep` with these shares.
    pub keep: u64,
    /// Results last needed more than `keep` uses back, over all results.
    pub results_cut_off: f64,
    /// Needs that lie more than `keep` uses back, over all needs.
    pub needs_cut_off: f64,
}

impl KeepCurve {
    /// Needs in all.
    pub fn needs(&self) -> u64 {
        self.needs_back.values().sum()
    }

    /// Results that are needed again.
    pub fn needed_results(&self) -> u64 {
        self.last_back.values().sum()
    }

    /// Needs that `keep` = k would cut off.
    pub fn needs_beyond(&self, k: u64) -> u64 {
        beyond(&self.needs_back, k)
    }

    /// Results last needed more than k uses back.
    pub fn results_beyond(&self, k: u64) -> u64 {
        beyond(&self.last_back, k)
    }

    /// The share of needs that `keep` = k would cut off, 0 to 1; 0 where nothing is needed.
    pub fn needs_cut_off(&self, k: u64) -> f64 {
        share(self.needs_beyond(k), self.needs())
    }

    /// The share of results last needed more than k uses back, 0 to 1; with k = 0 the share needed again at all.
    pub fn results_cut_off(&self, k: u64) -> f64 {
        share(self.results_beyond(k), self.results)
    }

    /// The smallest `keep` that cuts nothing off.
    pub fn reach(&self) -> u64 {
        self.needs_back.keys().next_back().copied().unwrap_or(0)
    }

    /// The curve as steps, from `keep` 0 to [`KeepCurve::reach`].
    pub fn steps(&self) -> Vec<KeepStep> {
        let (needs, results) = (self.needs(), self.results);
        let (mut needs_left, mut results_left) = (needs, self.needed_results());
        let step = |keep, n, r| KeepStep { keep, results_cut_off: share(r, results), needs_cut_off: share(n, needs) };
        let mut steps = vec![step(0, needs_left, results_left)];
        // A result's last need is a need, so no distance is missing from `needs_back`.
        for (&back, &n) in &self.needs_back {
            needs_left -= n;
            results_left -= self.last_back.get(&back).copied().unwrap_or(0);
            steps.push(step(back, needs_left, results_left));
        }
        steps
    }

    /// How many uses back the needs lie, a value a need, ascending.
    pub(super) fn distances(&self) -> Vec<u64> {
        self.needs_back.iter().flat_map(|(&back, &n)| std::iter::repeat_n(back, n as usize)).collect()
    }

    fn need(&mut self, back: u64) {
        *self.needs_back.entry(back).or_default() += 1;
    }

    fn last_need(&mut self, back: u64) {
        *self.last_back.entry(back).or_default() += 1;
    }
}

impl Serialize for KeepCurve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("KeepCurve", 4)?;
        out.serialize_field("results", &self.results)?;
        out.serialize_field("needed_results", &self.needed_results())?;
        out.serialize_field("needs", &self.needs())?;
        out.serialize_field("steps", &self.steps())?;
        out.end()
    }
}

fn beyond(counts: &BTreeMap<u64, u64>, k: u64) -> u64 {
    counts.range(k + 1..).map(|(_, n)| n).sum()
}

/// Adds one transcript, in one pass over its blocks and needs. `of_tool`: a curve for each of [`Trace::tools`].
pub(super) fn add(trace: &Trace, all: &mut KeepCurve, of_tool: &mut [KeepCurve]) {
    // Request that brought each use's result; request that needed it last, and how far back that was.
    let mut arrived = vec![NONE; trace.uses.len()];
    let mut needed = vec![(NONE, 0_u64); trace.uses.len()];
    let mut uses_so_far = 0_u64;
    for (i, request) in trace.requests.iter().enumerate() {
        let i = i as u32;
        for block in request.input as usize..request.output as usize {
            if trace.kinds[block] == BlockKind::Result {
                let index = trace.block_use[block] as usize;
                arrived[index] = i;
                all.results += 1;
                of_tool[trace.uses[index].tool as usize].results += 1;
            }
        }
        for &need in &trace.needs[request.needs as usize..request.needs_end as usize] {
            let index = need as usize;
            // What has not arrived cannot be cut off; what arrives with this request is needed by it in any case.
            if arrived[index] >= i || needed[index].0 == i {
                continue;
            }
            let back = uses_so_far - u64::from(need);
            needed[index] = (i, back);
            all.need(back);
            of_tool[trace.uses[index].tool as usize].need(back);
        }
        uses_so_far += (request.output..request.end).filter(|&b| trace.kinds[b as usize] == BlockKind::Use).count() as u64;
    }
    for (&(request, back), one) in needed.iter().zip(&trace.uses) {
        if request != NONE {
            all.last_need(back);
            of_tool[one.tool as usize].last_need(back);
        }
    }
}

impl KeepCurve {
    /// Adds the counts of another curve.
    pub(super) fn merge(&mut self, other: &Self) {
        self.results += other.results;
        for (mine, theirs) in [(&mut self.needs_back, &other.needs_back), (&mut self.last_back, &other.last_back)] {
            for (&back, n) in theirs {
                *mine.entry(back).or_default() += n;
            }
        }
    }
}
