//! The short answer at the end of a sweep.

use std::fmt::Write;

use super::number::{count, percent, short, usd};
use crate::decide::{Choice, Verdict, held_out};
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
    /// The row of the config that the user runs today, where one was given.
    pub current: Option<usize>,
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
            if choice.held_out.is_none() {
                let _ = writeln!(out, "Under {} sessions: too few to say whether it holds for others.", held_out::LEAST_SESSIONS);
            }
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
            turned_down(&mut out, outcome, choice);
        }
    }
    overflow(&mut out, choice, row, none);
    out.push('\n');
    let mut put = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<16} {text}");
    };
    if choice.verdict == Verdict::DoNotClear {
        put("without clearing", usd(none.totals.cost_usd));
        put("context peak", short(none.totals.peak_prompt_tokens as f64));
    } else {
        figures(&mut put, row, none, choice);
    }
    if let Some(current) = head.current.map(|i| &outcome.rows[i]) {
        let t = &current.totals;
        let times = current.derived.cost_vs_none.map_or_else(String::new, |n| format!(", {n:.2} times no clearing"));
        put("what you run", format!("{}{times}; {} unmet, {} lost", usd(t.cost_usd), count(t.unmet_needs, "need"), t.lost_needs));
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

/// Why not to clear, by the best config that does.
fn turned_down(out: &mut String, outcome: &Outcome, choice: &Choice) {
    let none = &outcome.rows[choice.none];
    let clears = |r: &&ConfigRow| r.totals.clear_events > 0;
    let _ = match choice.cheapest.map(|i| &outcome.rows[i]) {
        Some(row) if row.totals.cost_usd < none.totals.cost_usd => {
            let held_out = match choice.held_out {
                Some(s) if s <= 0.0 => "\nChosen on a part of the sessions, no config saves anything on the others.".to_owned(),
                Some(s) => format!("\nConfigs chosen on a part of the sessions save {} on the others.", percent(s)),
                None => String::new(),
            };
            writeln!(out, "The best config that loses nothing saves {}\n({}).{held_out}", saving(row, none), named(row))
        }
        Some(row) => writeln!(out, "The best config that loses nothing {}\n({}).", dearer(row, none), named(row)),
        None if !outcome.rows.iter().any(|r| clears(&r)) => writeln!(out, "No config of the grid ever fires."),
        None if outcome.rows.iter().filter(clears).any(|r| r.totals.lost_needs == 0) => {
            writeln!(out, "Every config leaves needs unmet even after fetching again; try a larger --keep.")
        }
        None => writeln!(out, "Every config loses results that some later request needs; see --exclude-tools."),
    };
}

/// The knobs in short: `trigger 100k, keep 3, clear_at_least 20k`.
fn named(row: &ConfigRow) -> String {
    let trigger = row.knobs.trigger().map_or(0, crate::policy::Trigger::value);
    let goal = row.knobs.clear_at_least().unwrap_or(0);
    format!("trigger {}, keep {}, clear_at_least {}", short(trigger as f64), row.knobs.keep().unwrap_or(0), short(goal as f64))
}

fn figures(put: &mut impl FnMut(&str, String), row: &ConfigRow, none: &ConfigRow, choice: &Choice) {
    let t = &row.totals;
    if let Some(s) = choice.spread.as_ref().filter(|s| s.transcripts > 1) {
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
    if let Some(s) = choice.held_out {
        put("held out", format!("saves {} on sessions that it was not chosen on", percent(s)));
    }
    let per_100 = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.1} per 100 requests"));
    let costly = if t.costly_refetches > 0 { format!("; {} costly", t.costly_refetches) } else { String::new() };
    put("re-fetches", format!("{} ({}){costly}", t.refetches, per_100(row.derived.refetches_per_100_requests)));
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
