//! Axis values taken from the data.

use std::collections::BTreeSet;

use crate::policy::Cache;
use crate::trace::{BlockKind, NONE, Refetch, Trace};

/// What axes are made of: distributions over all transcripts.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Unedited prompt size of each request, tokens, ascending.
    pub prompts: Vec<u64>,
    /// Largest unedited prompt of each transcript, tokens, ascending.
    pub peaks: Vec<u64>,
    /// Result tokens that arrive with one request, for requests that bring any, ascending.
    pub batches: Vec<u64>,
    /// For each need: how many uses had followed the needed one, ascending.
    pub distances: Vec<u64>,
    /// Tool uses of each transcript, ascending.
    pub uses: Vec<u64>,
    /// Whether some request comes after the cache has expired.
    pub cold: bool,
    /// Names of the tools whose results cannot be fetched again and are needed by some later request.
    pub irrecoverable: BTreeSet<String>,
}

impl Profile {
    /// Reads the distributions off the transcripts.
    pub fn new<'a>(traces: impl IntoIterator<Item = &'a Trace>) -> Self {
        let mut profile = Self::default();
        for trace in traces {
            profile.add(trace);
        }
        for column in [&mut profile.prompts, &mut profile.peaks, &mut profile.batches, &mut profile.distances, &mut profile.uses] {
            column.sort_unstable();
        }
        profile
    }

    fn add(&mut self, trace: &Trace) {
        let (mut size, mut peak, mut uses_so_far) = (trace.base_tokens, 0, 0_u64);
        for pair in trace.requests.windows(2) {
            let ttl = pair[0].ttl_ms.unwrap_or(Cache::DEFAULT_TTL_MS);
            self.cold |= !pair[1].kept_warm && pair[1].at_ms.saturating_sub(pair[0].at_ms) > ttl;
        }
        for request in &trace.requests {
            let sum = |from: u32, to: u32| trace.tokens[from as usize..to as usize].iter().map(|&t| u64::from(t)).sum::<u64>();
            size += sum(request.input, request.output);
            self.prompts.push(size);
            peak = peak.max(size);
            let batch: u64 = (request.input as usize..request.output as usize)
                .filter(|&b| trace.kinds[b] == BlockKind::Result)
                .map(|b| u64::from(trace.tokens[b]))
                .sum();
            if batch > 0 {
                self.batches.push(batch);
            }
            for &need in &trace.needs[request.needs as usize..request.needs_end as usize] {
                let tool = &trace.tools[trace.uses[need as usize].tool as usize];
                if tool.refetch == Refetch::Never && !self.irrecoverable.contains(&tool.name) {
                    self.irrecoverable.insert(tool.name.clone());
                }
                if u64::from(need) < uses_so_far {
                    self.distances.push(uses_so_far - 1 - u64::from(need));
                }
            }
            size += sum(request.output, request.end);
            uses_so_far += (request.output as usize..request.end as usize)
                .filter(|&b| trace.kinds[b] == BlockKind::Use && trace.block_use[b] != NONE)
                .count() as u64;
        }
        if !trace.requests.is_empty() {
            self.peaks.push(peak);
            self.uses.push(uses_so_far);
        }
    }

    /// Values for each knob.
    pub fn auto(&self) -> Auto {
        let mut trigger: Vec<u64> =
            (0..10).filter_map(|i| quantile(&self.prompts, f64::from(5 + 10 * i) / 100.0)).map(nice).filter(|&n| n > 0).collect();
        let most = self.peaks.last().copied().unwrap_or(0);
        // The API's default is what teams run who set nothing.
        trigger.extend(Some(100_000).filter(|&n| n < most));
        if trigger.is_empty() {
            trigger.push(100_000);
        }

        let most_uses = self.uses.last().copied().unwrap_or(0);
        let mut keep: Vec<u64> = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0]
            .iter()
            .filter_map(|&q| quantile(&self.distances, q))
            // A need of the use `d` uses back survives a keep of d + 1.
            .map(|d| nice_up(d + 1))
            .filter(|&k| k < most_uses)
            .collect();
        keep.extend([1, 3, 8, 20].iter().filter(|&&k| k == 3 || k < most_uses));

        let mut clear_at_least = vec![0];
        let low = quantile(&self.batches, 0.5).unwrap_or(0).max(1_000);
        let high = quantile(&self.peaks, 0.5).unwrap_or(0) / 2;
        if high > low {
            let ratio = libm::pow(high as f64 / low as f64, 1.0 / 6.0);
            clear_at_least.extend((0..7).map(|i| nice((low as f64 * libm::pow(ratio, f64::from(i))) as u64)));
        }
        for values in [&mut trigger, &mut keep, &mut clear_at_least] {
            values.sort_unstable();
            values.dedup();
        }
        // What cannot be fetched again is tried both ways.
        let mut exclude_tools = vec![Vec::new()];
        if !self.irrecoverable.is_empty() {
            exclude_tools.push(self.irrecoverable.iter().cloned().collect());
        }
        Auto { trigger, keep, clear_at_least, exclude_tools, cold: self.cold }
    }
}

/// Axis values taken from the data, each ascending and non-empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auto {
    /// Quantiles of prompt sizes, tokens, and the API's default where prompts reach it.
    pub trigger: Vec<u64>,
    /// Quantiles of reuse distance, tool uses, and the API's default.
    pub keep: Vec<u64>,
    /// 0, and steps from the median batch of results to half the median peak, tokens.
    pub clear_at_least: Vec<u64>,
    /// No tool, and the tools whose results cannot be fetched again but are needed again, where there are any.
    pub exclude_tools: Vec<Vec<String>>,
    /// Whether clearing when the cache is cold is tried beside the API's edit: some request comes after it expired.
    pub cold: bool,
}

/// The value below which the share `q` of the ascending `values` lies (nearest rank).
fn quantile(values: &[u64], q: f64) -> Option<u64> {
    let last = values.len().checked_sub(1)?;
    values.get(((q * values.len() as f64) as usize).min(last)).copied()
}

/// Rounded to two significant digits.
fn nice(n: u64) -> u64 {
    let unit = unit_of(n);
    (n + unit / 2) / unit * unit
}

/// Rounded up to two significant digits.
fn nice_up(n: u64) -> u64 {
    n.div_ceil(unit_of(n)) * unit_of(n)
}

fn unit_of(n: u64) -> u64 {
    let mut unit = 1;
    while n / unit >= 100 {
        unit *= 10;
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_two_digits() {
        assert_eq!((nice(99), nice(104), nice(105), nice(167_766)), (99, 100, 110, 170_000));
        assert_eq!((nice_up(99), nice_up(101), nice_up(110)), (99, 110, 110));
    }

    #[test]
    fn quantiles_are_of_the_values() {
        let v = [1, 2, 3, 4];
        assert_eq!(quantile(&v, 0.0), Some(1));
        assert_eq!(quantile(&v, 0.5), Some(3));
        assert_eq!(quantile(&v, 1.0), Some(4));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn no_data_still_gives_axes() {
        let auto = Profile::default().auto();
        assert_eq!(auto, Auto { trigger: vec![100_000], keep: vec![3], clear_at_least: vec![0], exclude_tools: vec![vec![]], cold: false });
    }
}
