//! How token sizes of logs were found and how wrong they are: said before any result.

use super::number::percent;
use crate::ingest::{FileReport, HeldOut};

/// Method and held-out error over all files, in at most three lines without a line end; `None` where no file is a log.
pub fn sizes_line(reports: &[FileReport]) -> Option<String> {
    let logs = || reports.iter().filter(|r| r.requests > 0);
    let recorded = logs().filter(|r| r.sizes.recorded_prompts > 0).count();
    let all = logs().count();
    if recorded == 0 {
        return (all > 0).then(|| "sizes: from bytes, as no usage is recorded; their error is unknown".to_owned());
    }
    let from = if recorded == all { String::new() } else { format!(" in {recorded} of {all} logs, from bytes in the others") };
    let errors = HeldOut::pooled(logs().map(|r| &r.sizes.held_out));
    let at = |errors: &[f64], share| HeldOut::quantile(errors, share).map_or_else(|| "-".to_owned(), percent);
    if errors.steps() == 0 {
        return Some(format!("sizes: from recorded usage{from}; too few steps for a held-out error"));
    }
    Some(format!(
        "sizes: from recorded usage{from}; held out over {} steps:\n  of the prompt: one step median {}, p95 {}; cumulative p95 {}\n  of a step's growth: median {}, p95 {}; of one result: median {}, p95 {}",
        errors.steps(),
        at(&errors.of_prompt, 0.5),
        at(&errors.of_prompt, 0.95),
        at(&errors.cumulative, 0.95),
        at(&errors.of_growth, 0.5),
        at(&errors.of_growth, 0.95),
        at(&errors.of_result, 0.5),
        at(&errors.of_result, 0.95),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::SizeReport;

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
}
