//! What logs recorded with clearing on show of it, for the terminal.

use super::profile::{RecordedClearingSection, plural, section, wrapped};
use crate::profile::ClearingFit;

/// The section on recorded clearing.
pub(super) fn recorded_clearing(out: &mut String, one: &RecordedClearingSection) {
    let log = &one.log;
    section(out, "Recorded clearing", &[]);
    let mut line = |text: String| wrapped(out, &text, "  ");
    let by_size =
        if log.inferred_requests > 0 { format!(", {} of them by the size of the prompt", log.inferred_requests) } else { String::new() };
    line(format!("{} had results cleared{by_size}. Sizes here are unedited.", plural(log.cleared_requests, "request")));
    if log.asked + log.observed + log.unknown > 0 {
        line(format!(
            "Asked for by {}; {} of what was cleared; {} not (unknown, which is not none).",
            plural(log.asked, "request"),
            plural(log.observed, "response tells").replace("response tellss", "responses tell"),
            log.unknown
        ));
    }
    if let Some(fit) = &one.fit {
        fitted(&mut line, fit);
    }
    if log.refetches > 0 {
        line(format!(
            "{} really happened ({} failed): left out of the baseline, counted as needs; {} did nothing else.",
            plural(log.refetches, "re-fetch").replace("re-fetchs", "re-fetches"),
            log.failed_refetches,
            plural(log.refetch_requests, "request")
        ));
    }
    let results = [
        (log.restored_results, "in the log are placeholders; another record holds the original"),
        (log.recovered_results, "in the log are placeholders; the recorded growth shows the size"),
        (log.unknown_results, "in the log are placeholders of unknown original size, and stay so small"),
    ];
    for (n, what) in results.into_iter().filter(|(n, _)| *n > 0) {
        line(format!("{} {what}.", plural(n, "result")));
    }
}

fn fitted(line: &mut impl FnMut(String), fit: &ClearingFit) {
    let (default, best) = (&fit.default, &fit.best);
    if best.requests == 0 {
        line("What was asked and what was cleared is known of no request, so no reading can be tested.".to_owned());
        return;
    }
    line(format!(
        "Predicted as the config was asked, in the default reading: as many uses cleared at {} of {}; {} observed, {} predicted, {} both.",
        default.agreeing,
        plural(default.requests, "request"),
        plural(default.events_observed, "clear event"),
        default.events_predicted,
        default.events_both
    ));
    if !fit.default_is_best {
        line(format!(
            "Best reading: {} of {} agree; {} predicted, {} both; {} as well.",
            best.agreeing,
            plural(best.requests, "request"),
            plural(best.events_predicted, "clear event"),
            best.events_both,
            plural(fit.best_readings, "reading fits").replace("reading fitss", "readings fit")
        ));
    }
    if !fit.decided.is_empty() {
        let values: Vec<String> = fit.decided.iter().map(|(key, value)| format!("{key}={value}")).collect();
        line(format!("{}: {}.", if fit.default_is_best { "The log confirms" } else { "It has" }, values.join(", ")));
    }
    if !fit.undecided.is_empty() {
        line(format!("It cannot tell apart: {}.", fit.undecided.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::ClearingReport;
    use crate::profile::ReadingFit;

    fn shown(default_agrees: u64, best_agrees: u64, requests: u64) -> String {
        let of =
            |agreeing| ReadingFit { requests, agreeing, events_observed: 4, events_predicted: 5, events_both: 3, ..ReadingFit::default() };
        let fit = ClearingFit {
            default: of(default_agrees),
            best: of(best_agrees),
            best_readings: 2,
            decided: [("memory", "sticky".to_owned())].into(),
            undecided: vec!["trigger_cmp"],
            default_is_best: default_agrees == best_agrees,
            ..ClearingFit::default()
        };
        let log = ClearingReport {
            cleared_requests: 7,
            observed: 9,
            asked: 12,
            unknown: 3,
            refetches: 2,
            unknown_results: 1,
            ..ClearingReport::default()
        };
        let mut out = String::new();
        recorded_clearing(&mut out, &RecordedClearingSection { log, fit: Some(fit) });
        assert!(out.lines().all(|l| l.chars().count() <= 80), "{out}");
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_section_says_what_fits_and_what_cannot_be_told() {
        let best = shown(9, 9, 9);
        for part in [
            "7 requests had results cleared",
            "9 responses tell",
            "3 not (unknown",
            "9 of 9 requests",
            "2 re-fetches really",
            "1 result in the log",
        ] {
            assert!(best.contains(part), "{part}: {best}");
        }
        assert!(
            best.contains("The log confirms: memory=sticky")
                && best.contains("cannot tell apart: trigger_cmp")
                && !best.contains("Best reading")
        );
        let other = shown(5, 9, 9);
        assert!(
            other.contains("5 of 9 requests")
                && other.contains("Best reading: 9 of 9 requests agree")
                && other.contains("2 readings fit as well")
        );
        assert!(shown(0, 0, 0).contains("of no request"));
    }
}
