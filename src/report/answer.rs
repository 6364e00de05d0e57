//! The short answer at the end of a sweep.

use std::fmt::Write;

use super::number::{count, percent, short, usd};
use crate::decide::{Choice, Spread, Verdict};
use crate::sweep::{ConfigRow, Outcome};

/// What stands above the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Headline {
    /// What was swept, as the user named it.
    pub source: String,
    /// Sessions that the transcripts belong to.
    pub sessions: usize,
    /// Where the prices come from, such as `claude-sonnet-4-6`.
    pub prices: String,
    /// Said first where dollars rest on an assumption.
    pub assumed: Option<String>,
    /// How the replay without clearing compares with the bill, where the sources record one.
    pub bill: Option<String>,
    /// `context_management` of the chosen config, ready to paste.
    pub paste: Option<String>,
}

/// The answer in plain words, within 80 columns; ends with a line end.
pub fn answer(head: &Headline, outcome: &Outcome, choice: Option<&Choice>) -> String {
    let mut out = String::new();
    if let Some(assumed) = &head.assumed {
        let _ = writeln!(out, "{assumed}");
    }
    let Some(choice) = choice else {
        let _ = writeln!(out, "No request was replayed, so there is nothing to answer.");
        return out;
    };
    let none = &outcome.rows[choice.none];
    let row = &outcome.rows[choice.row];
    let transcripts = count(none.transcripts, "transcript");
    let sessions =
        if head.sessions as u64 == none.transcripts { String::new() } else { format!(" of {}", count(head.sessions as u64, "session")) };
    let _ = writeln!(out, "{}: {transcripts}{sessions}, {}", head.source, count(none.totals.requests, "request"));
    let _ = writeln!(out, "{}, prices of {}", count(outcome.rows.len() as u64, "config"), head.prices);
    if let Some(bill) = &head.bill {
        let _ = writeln!(out, "{bill}");
    }
    out.push('\n');
    match choice.verdict {
        Verdict::Clear => {
            let _ = writeln!(
                out,
                "Clear like this: it saves {} of the cost ({} instead of {}).",
                saving(row, none),
                usd(row.totals.cost_usd),
                usd(none.totals.cost_usd)
            );
        }
        Verdict::ClearToFit => {
            let _ = writeln!(
                out,
                "Clear like this, to stay within the context window: {} of {} transcripts\noverflow it without clearing, {} with it. It {} ({} instead of {}).",
                none.overflowed_transcripts,
                none.transcripts,
                row.overflowed_transcripts,
                dearer(row, none),
                usd(row.totals.cost_usd),
                usd(none.totals.cost_usd)
            );
        }
        Verdict::DoNotClear => {
            let _ = writeln!(
                out,
                "{}",
                if none.overflowed_transcripts == 0 {
                    "Do not clear: it does not pay here."
                } else {
                    "No config of the grid helps here; as it is, do not clear."
                }
            );
            let _ = match choice.cheapest {
                Some(i) if outcome.rows[i].totals.cost_usd < none.totals.cost_usd => writeln!(
                    out,
                    "The cheapest config that loses nothing saves {}, which is not worth a change.",
                    saving(&outcome.rows[i], none)
                ),
                Some(i) if outcome.rows[i].totals.clear_events == 0 => {
                    writeln!(out, "The cheapest config that loses nothing never fires; those that fire cost more.")
                }
                Some(i) => writeln!(out, "The cheapest config that loses nothing {}.", dearer(&outcome.rows[i], none)),
                None if outcome.rows.iter().any(|r| !r.knobs.is_none() && r.totals.lost_needs == 0) => {
                    writeln!(out, "Every config leaves needs unmet even after fetching again; try a larger --keep.")
                }
                None => writeln!(out, "Every config loses results that some later request needs; see --exclude-tools."),
            };
        }
    }
    overflow(&mut out, choice, row, none);
    out.push('\n');
    if choice.verdict == Verdict::DoNotClear {
        let peak = short(none.totals.peak_prompt_tokens as f64);
        let _ = writeln!(out, "  {:<16} {}", "without clearing", usd(none.totals.cost_usd));
        let _ = writeln!(out, "  {:<16} {peak}", "context peak");
    } else {
        figures(&mut out, row, none, choice.spread.as_ref());
    }
    if let Some(paste) = &head.paste {
        let _ = writeln!(out, "\n{paste}");
    }
    out
}

/// What does not fit the context window, unless the verdict is about that already.
fn overflow(out: &mut String, choice: &Choice, row: &ConfigRow, none: &ConfigRow) {
    let most = none.overflowed_transcripts.max(row.overflowed_transcripts);
    if most == 0 || choice.verdict == Verdict::ClearToFit {
        return;
    }
    let _ = match choice.verdict {
        Verdict::DoNotClear => writeln!(
            out,
            "{} of {} overflow the context window; try smaller values of --trigger, or a larger --keep.",
            none.overflowed_transcripts,
            count(none.transcripts, "transcript")
        ),
        _ => writeln!(
            out,
            "{} of {} overflow the context window without clearing, {} with it.",
            none.overflowed_transcripts,
            count(none.transcripts, "transcript"),
            row.overflowed_transcripts
        ),
    };
}

fn figures(out: &mut String, row: &ConfigRow, none: &ConfigRow, spread: Option<&Spread>) {
    let t = &row.totals;
    let mut put = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<16} {text}");
    };
    if let Some(s) = spread.filter(|s| s.transcripts > 1) {
        put(
            "per transcript",
            format!("half save {} to {}, the extremes {} and {}", percent(s.lower), percent(s.upper), percent(s.worst), percent(s.best)),
        );
        let part = |n: usize, what: &str| (n > 0).then(|| format!("{n} of {} {what}", s.transcripts));
        let parts: Vec<String> = [part(s.dearer, "cost more"), part(s.unchanged, "are unchanged")].into_iter().flatten().collect();
        if !parts.is_empty() {
            put("", parts.join(", "));
        }
    }
    let per_100 = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.1} per 100 requests"));
    put("re-fetches", format!("{} ({})", t.refetches, per_100(row.derived.refetches_per_100_requests)));
    put("clear events", format!("{} ({})", t.clear_events, per_100(row.derived.clear_events_per_100_requests)));
    put(
        "invalidations",
        format!(
            "{}; {} tokens freed, {} written again",
            t.cache_invalidations,
            short(t.freed_tokens as f64),
            short(t.invalidated_tokens as f64)
        ),
    );
    put("context peak", format!("{} instead of {}", short(t.peak_prompt_tokens as f64), short(none.totals.peak_prompt_tokens as f64)));
    put("prompt tokens", format!("{} instead of {}", short(t.prompt_tokens as f64), short(none.totals.prompt_tokens as f64)));
}

fn saving(row: &ConfigRow, none: &ConfigRow) -> String {
    percent(1.0 - row.totals.cost_usd / none.totals.cost_usd)
}

fn dearer(row: &ConfigRow, none: &ConfigRow) -> String {
    let more = row.totals.cost_usd / none.totals.cost_usd - 1.0;
    if more.abs() < 0.0005 { "costs the same".to_owned() } else { format!("costs {} more", percent(more)) }
}
