//! How token sizes of logs were found and how wrong they are: said before any result.

use std::collections::BTreeMap;

use super::number::percent;
use crate::ingest::FileReport;

/// Errors by size, rounded to a thousandth of themselves, so that any number of them takes little room.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// The upper bits of the error and how often it occurs.
    by_size: BTreeMap<u64, u64>,
    all: u64,
}

/// Bits of an `f64` that are dropped: ten of the fraction's stay.
const DROPPED: u32 = 42;

impl Counts {
    fn add(&mut self, errors: &[f64]) {
        for error in errors {
            // Positive numbers are in the order of their bits.
            let rounded = (error.abs().to_bits() + (1 << (DROPPED - 1))) >> DROPPED;
            *self.by_size.entry(rounded).or_default() += 1;
            self.all += 1;
        }
    }

    /// The error of which `share` are no larger (nearest rank).
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((self.all as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let (rounded, _) = self.by_size.iter().find(|(_, n)| {
            below += **n;
            below >= rank
        })?;
        Some(f64::from_bits(rounded << DROPPED))
    }
}

/// Method and held-out error of sizes over all files.
#[derive(Debug, Clone, Default)]
pub struct SizesLine {
    /// Files with a request, and those of them with a recorded prompt.
    logs: u64,
    recorded: u64,
    of_prompt: Counts,
    of_growth: Counts,
    cumulative: Counts,
    of_result: Counts,
}

impl SizesLine {
    /// Adds what the report on one file says.
    pub fn add(&mut self, report: &FileReport) {
        if report.requests == 0 {
            return;
        }
        self.logs += 1;
        self.recorded += u64::from(report.sizes.recorded_prompts > 0);
        let errors = &report.sizes.held_out;
        self.of_prompt.add(&errors.of_prompt);
        self.of_growth.add(&errors.of_growth);
        self.cumulative.add(&errors.cumulative);
        self.of_result.add(&errors.of_result);
    }

    /// In at most three lines without a line end; `None` where no file is a log.
    pub fn line(&self) -> Option<String> {
        if self.recorded == 0 {
            return (self.logs > 0).then(|| "sizes: from bytes, as no usage is recorded; their error is unknown".to_owned());
        }
        let (recorded, logs) = (self.recorded, self.logs);
        let from = if recorded == logs { String::new() } else { format!(" in {recorded} of {logs} logs, from bytes in the others") };
        let at = |errors: &Counts, share| errors.quantile(share).map_or_else(|| "-".to_owned(), percent);
        if self.of_prompt.all == 0 {
            return Some(format!("sizes: from recorded usage{from}; too few steps for a held-out error"));
        }
        Some(format!(
            "sizes: from recorded usage{from}; held out over {} steps:\n  of the prompt: one step median {}, p95 {}; cumulative p95 {}\n  of a step's growth: median {}, p95 {}; of one result: median {}, p95 {}",
            self.of_prompt.all,
            at(&self.of_prompt, 0.5),
            at(&self.of_prompt, 0.95),
            at(&self.cumulative, 0.95),
            at(&self.of_growth, 0.5),
            at(&self.of_growth, 0.95),
            at(&self.of_result, 0.5),
            at(&self.of_result, 0.95),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::{HeldOut, SizeReport};

    fn sizes_line(reports: &[FileReport]) -> Option<String> {
        let mut all = SizesLine::default();
        for report in reports {
            all.add(report);
        }
        all.line()
    }

    #[test]
    fn method_and_error_are_said_for_what_there_is() {
        assert_eq!(sizes_line(&[FileReport::default()]), None);
        let bytes = FileReport { requests: 3, ..FileReport::default() };
        assert!(sizes_line(std::slice::from_ref(&bytes)).unwrap().starts_with("sizes: from bytes"));
        let held_out = HeldOut { of_prompt: vec![0.004, 0.03], cumulative: vec![0.05], ..HeldOut::default() };
        let sizes = SizeReport { recorded_prompts: 3, held_out, ..SizeReport::default() };
        let log = FileReport { requests: 3, sizes, ..FileReport::default() };
        let line = sizes_line(&[log.clone(), bytes]).unwrap();
        assert!(line.contains("in 1 of 2 logs") && line.contains("median 0.4 %") && line.contains("p95 3.0 %"), "{line}");
        assert!(!sizes_line(&[log]).unwrap().contains("of 1 logs"));
    }

    #[test]
    fn counts_give_the_quantiles_of_all_that_was_added_within_a_thousandth() {
        let mut state = 3u64;
        let mut errors: Vec<f64> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / 1e6
        })
        .take(20_000)
        .collect();
        errors.push(0.0);
        let mut counts = Counts::default();
        errors.chunks(7).for_each(|some| counts.add(some));
        errors.sort_by(f64::total_cmp);
        for share in [0.0, 0.01, 0.5, 0.95, 1.0] {
            let (exact, found) = (HeldOut::quantile(&errors, share).unwrap(), counts.quantile(share).unwrap());
            assert!((found - exact).abs() <= exact / 1000.0, "{share}: {found} for {exact}");
        }
        assert!(counts.by_size.len() < 15_000 && Counts::default().quantile(0.5).is_none());
    }
}
