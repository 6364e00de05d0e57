//! The short answer at the end of a sweep.

use std::fmt::Write;

use super::number::{count, percent, short, usd};
use super::policies::Hindsights;
use crate::decide::bootstrap::{Interval, LEAST_SESSIONS};
use crate::decide::sensitivity::Standing;
use crate::decide::{Advice, DAYS_A_MONTH, Decision, Metric, Other, Plateau, Verdict};
use crate::policy::Trigger;
use crate::sweep::{ConfigRow, Knobs, Outcome};

/// What stands above the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Headline {
    /// What was swept, as the user named it.
    pub source: String,
    /// Where the prices come from, such as `claude-sonnet-4-6`.
    pub prices: String,
    /// Said first where dollars rest on an assumption.
    pub assumed: Option<String>,
    /// How the replay without clearing compares with the bill, where the sources record one.
    pub bill: Option<String>,
    /// What hindsight could reach, where the sweep has it.
    pub hindsight: Option<Hindsights>,
    /// `context_management` of the chosen config, ready to paste.
    pub paste: Option<String>,
}

/// The answer in plain words, within 80 columns; ends with a line end.
pub fn answer(head: &Headline, outcome: &Outcome, advice: Option<&Advice>) -> String {
    let mut out = String::new();
    if let Some(assumed) = &head.assumed {
        let _ = writeln!(out, "{assumed}");
    }
    let Some(advice) = advice else {
        let _ = writeln!(out, "No request was replayed, so there is nothing to answer.");
        return out;
    };
    let decision = &advice.decision;
    let none = &outcome.rows[decision.none];
    let transcripts = count(none.transcripts, "transcript");
    let sessions = if decision.sessions as u64 == none.transcripts {
        String::new()
    } else {
        format!(" of {}", count(decision.sessions as u64, "session"))
    };
    let _ = writeln!(out, "{}: {transcripts}{sessions}, {}", head.source, count(none.totals.requests, "request"));
    let _ = writeln!(out, "{}, prices of {}", count(outcome.rows.len() as u64, "config"), head.prices);
    if let Some(bill) = &head.bill {
        let _ = writeln!(out, "{bill}");
    }
    out.push('\n');
    out.push_str(&said(outcome, advice));
    out.push('\n');
    for (name, lines) in facts(head, outcome, advice) {
        for (i, line) in lines.iter().flat_map(|text| wrap(text, 80 - 19)).enumerate() {
            let _ = writeln!(out, "  {:<16} {line}", if i == 0 { name.as_str() } else { "" });
        }
    }
    if let Some(paste) = &head.paste {
        let _ = writeln!(out, "\n{paste}");
    }
    out
}

/// What to do and why, in sentences, lines broken for the terminal.
pub(super) fn said(outcome: &Outcome, advice: &Advice) -> String {
    let mut out = String::new();
    let decision = &advice.decision;
    verdict(&mut out, outcome, advice);
    overflow(&mut out, decision, &outcome.rows[decision.row], &outcome.rows[decision.none]);
    out
}

/// The figures around the verdict: a name and what is said under it, line by line.
pub(super) fn facts(head: &Headline, outcome: &Outcome, advice: &Advice) -> Vec<(String, Vec<String>)> {
    let decision = &advice.decision;
    let none = &outcome.rows[decision.none];
    let row = &outcome.rows[decision.row];
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut put = |name: &str, text: String| match all.last_mut() {
        // What has no name belongs to what stands before it.
        Some((_, lines)) if name.is_empty() => lines.push(text),
        _ => all.push((name.to_owned(), vec![text])),
    };
    if decision.verdict.clears() {
        figures(&mut put, row, none, decision);
    } else {
        let metric = advice.ask.objective.metric;
        if metric != Metric::Cost {
            let value: f64 = (0..outcome.transcripts_done).map(|t| outcome.values(t)[decision.none]).sum();
            let text = match metric {
                Metric::Latency => format!("waiting time: {} s without clearing", short(value)),
                Metric::Peak => format!("largest prompt: {} in the mean, without clearing", short(value / none.transcripts.max(1) as f64)),
                _ => format!("prompt tokens: {} without clearing", short(value)),
            };
            put("minimised", text);
        }
        put("without clearing", usd(none.totals.cost_usd));
        put("context peak", short(none.totals.peak_prompt_tokens as f64));
    }
    if let Some(known) = head.hindsight {
        put("with hindsight", format!("{} at best (oracle), {} at the very least (bound)", usd(known.oracle), usd(known.bound)));
        let best = decision.best.filter(|_| !decision.verdict.clears()).unwrap_or(decision.row);
        if let Some(share) = known.share(&outcome.rows[best]).filter(|share| *share > 0.0) {
            let whose = if decision.verdict.clears() { "the above" } else { "the best config" };
            put("", format!("{whose} reaches {} of what the oracle saves", percent(share)));
        }
    }
    around(&mut put, outcome, advice);
    all
}

/// The text in lines of at most `width` characters, broken at spaces.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// `(trigger 100k, …)`, broken into lines.
fn in_brackets(row: &ConfigRow) -> String {
    wrap(&format!("({}).", named(row)), 80).join("\n")
}

/// What to do, in one sentence, and why.
fn verdict(out: &mut String, outcome: &Outcome, advice: &Advice) {
    let decision = &advice.decision;
    let (none, row) = (&outcome.rows[decision.none], &outcome.rows[decision.row]);
    let best = decision.best.map(|i| &outcome.rows[i]);
    let saved = decision.saving.unwrap_or(0.0);
    let what = unit(advice.ask.objective.metric);
    match decision.verdict {
        Verdict::Clear | Verdict::ClearWhenCold => {
            let how = if decision.verdict == Verdict::Clear {
                "Clear like this:".to_owned()
            } else {
                "Clear only when the cache is cold:".to_owned()
            };
            let said = format!("{how} it saves {} of {what}{}.", percent(saved), dollars(advice, row, none));
            let _ = writeln!(out, "{}", wrap(&said, 80).join("\n"));
            if decision.verdict == Verdict::ClearWhenCold {
                let _ = writeln!(
                    out,
                    "After a pause longer than the cache lives, replace all results but the newest {}\nand leave them replaced; the API's edit cannot do this.",
                    row.knobs.keep().unwrap_or(0)
                );
            }
            if let Some(confirmed) = &decision.confirmed {
                let _ =
                    writeln!(out, "On {} that it was not chosen on: {}.", count(decision.held_out as u64, "session"), interval(confirmed));
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
            turned_down(out, outcome, decision);
        }
        Verdict::NoSupportedDifference => {
            let _ = writeln!(
                out,
                "No supported difference: these sessions do not say whether clearing saves. Until\nmore of them do, do not clear."
            );
            turned_down(out, outcome, decision);
        }
        Verdict::TooFewSessions => {
            let there = if decision.sessions == 1 { "is 1".to_owned() } else { format!("are {}", decision.sessions) };
            let said = format!("Too few sessions to say: it takes {LEAST_SESSIONS} to tell a saving from luck, and there {there}.");
            let _ = writeln!(out, "{}", wrap(&said, 80).join("\n"));
            if let Some(best) = best {
                let _ = writeln!(out, "On these the best config saves {} of {what}\n{}", percent(saved), in_brackets(best));
            }
        }
    }
}

pub(super) fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Cost => "the cost",
        Metric::PromptTokens => "the prompt tokens",
        Metric::Peak => "the largest prompts",
        Metric::Latency => "the waiting time",
    }
}

/// ` ($1.20 instead of $1.30)`, where the objective is not the plain cost with what the plain cost is.
fn dollars(advice: &Advice, row: &ConfigRow, none: &ConfigRow) -> String {
    let text = format!("{} instead of {}", usd(row.totals.cost_usd), usd(none.totals.cost_usd));
    if advice.ask.objective.metric == Metric::Cost { format!(" ({text})") } else { format!(" (cost: {text})") }
}

/// `5.4 % (95 %: 4.1 % to 6.9 %)`; the ends rounded away from the middle, so that an end at nothing shows on which side it lies.
pub(super) fn interval(i: &Interval) -> String {
    let out = |share: f64, round: fn(f64) -> f64| {
        let unit = if share.abs() < 0.0995 { 1000.0 } else { 100.0 };
        percent(round(share * unit) / unit)
    };
    format!("{} (95 %: {} to {})", percent(i.estimate), out(i.low, f64::floor), out(i.high, f64::ceil))
}

/// What does not fit the context window, unless the verdict is about that already.
fn overflow(out: &mut String, decision: &Decision, row: &ConfigRow, none: &ConfigRow) {
    let most = none.overflowed_transcripts.max(row.overflowed_transcripts);
    if most == 0 || decision.verdict == Verdict::ClearToFit {
        return;
    }
    let _ = if decision.verdict.clears() {
        writeln!(
            out,
            "{} of {} overflow the context window without clearing, {} with it.",
            none.overflowed_transcripts,
            count(none.transcripts, "transcript"),
            row.overflowed_transcripts
        )
    } else {
        writeln!(
            out,
            "{} of {} overflow the context window; try smaller values of --trigger, or a larger --keep.",
            none.overflowed_transcripts,
            count(none.transcripts, "transcript")
        )
    };
}

/// Why not to clear, by the best config that does.
fn turned_down(out: &mut String, outcome: &Outcome, decision: &Decision) {
    let none = &outcome.rows[decision.none];
    let _ = match (decision.best.map(|i| &outcome.rows[i]), decision.saving) {
        (Some(row), Some(saving)) if saving >= 0.0005 => {
            let rest = decision.confirmed.as_ref().map_or_else(String::new, |i| {
                format!("\nOn {} that it was not chosen on: {}.", count(decision.held_out as u64, "session"), interval(i))
            });
            writeln!(out, "The best config that keeps the bounds saves {}\n{}{rest}", percent(saving), in_brackets(row))
        }
        (Some(row), _) => writeln!(out, "The best config that keeps the bounds {}\n{}", dearer(row, none), in_brackets(row)),
        (None, _) => match decision.broken.as_slice() {
            [] => writeln!(out, "No config of the grid ever fires."),
            [("max-lost", _)] => {
                let clears = |r: &&ConfigRow| r.totals.clear_events > 0;
                if outcome.rows.iter().filter(clears).any(|r| r.totals.lost_needs == 0) {
                    writeln!(out, "Every config leaves needs unmet even after fetching again; try a larger --keep.")
                } else {
                    writeln!(out, "Every config loses results that some later request needs; see --exclude-tools.")
                }
            }
            several => {
                let each: Vec<String> = several.iter().map(|(bound, n)| format!("--{bound} ({n})")).collect();
                writeln!(out, "{}", wrap(&format!("Every config breaks a bound: {}.", each.join(", ")), 80).join("\n"))
            }
        },
    };
}

/// The knobs in short: `trigger 100k, keep 3, clear_at_least 20k`.
pub(super) fn named(row: &ConfigRow) -> String {
    named_knobs(&row.knobs)
}

/// The same of a config.
pub(super) fn named_knobs(knobs: &Knobs) -> String {
    let Some(trigger) = knobs.trigger() else {
        let excluded = knobs.exclude_tools();
        let without = if excluded.is_empty() { String::new() } else { format!(", without {}", excluded.replace('|', ", ")) };
        return match knobs.keep() {
            _ if knobs.is_none() => "no clearing".to_owned(),
            Some(keep) => format!("{}, keep {keep}{without}", knobs.policy),
            None => knobs.policy.clone(),
        };
    };
    let trigger = match trigger {
        Trigger::InputTokens(n) => short(n as f64),
        Trigger::ToolUses(n) => count(n, "use"),
    };
    let mut text = format!(
        "trigger {trigger}, keep {}, clear_at_least {}",
        knobs.keep().unwrap_or(0),
        short(knobs.clear_at_least().unwrap_or(0) as f64)
    );
    let excluded = knobs.exclude_tools();
    if !excluded.is_empty() {
        let _ = write!(text, ", without {}", excluded.replace('|', ", "));
    }
    text
}

fn figures(put: &mut impl FnMut(&str, String), row: &ConfigRow, none: &ConfigRow, decision: &Decision) {
    let t = &row.totals;
    if let Some(s) = decision.spread.as_ref().filter(|s| s.transcripts > 1) {
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

/// What stands around the decision: comparisons, the plateau, risk, what was assumed, what matters.
fn around(put: &mut impl FnMut(&str, String), outcome: &Outcome, advice: &Advice) {
    let decision = &advice.decision;
    for against in &decision.against {
        let name = match against.other {
            Other::Defaults => "API's defaults",
            Other::Current => "what you run",
        };
        let t = &outcome.rows[against.row].totals;
        let gone = t.lost_needs + t.unmet_needs;
        let gone = if gone > 0 { format!("; {} lost or unmet", count(gone, "need")) } else { String::new() };
        put(name, format!("{}{gone}", usd(t.cost_usd)));
        let part = if advice.decision.verdict.clears() { "the above" } else { "not clearing" };
        let sure = against.confirmed.as_ref().map_or_else(|| percent(against.saving), interval);
        put("", format!("{part} saves {sure}"));
    }
    if decision.verdict.clears() {
        if let Some(plateau) = decision.plateau.as_ref().filter(|p| p.rows.len() > 1) {
            put("as good", format!("{} within 1 %:", count(plateau.rows.len() as u64, "config")));
            put("", extent(plateau));
        }
        if let Some(i) = decision.runner_up {
            put("runner-up", named(&outcome.rows[i]));
        }
    }
    if let Some(turn) = &decision.turns_below {
        put("if needs may go", format!("at less than {} a lost need, better:", usd(turn.usd)));
        put("", format!("{} ({})", named(&outcome.rows[turn.row]), lost(&outcome.rows[turn.row])));
    }
    if let Some(turn) = &decision.turns_above {
        let other = if turn.row == decision.none { "not clearing".to_owned() } else { named(&outcome.rows[turn.row]) };
        put("if needs matter", format!("at more than {} a lost need, better:", usd(turn.usd)));
        put("", other);
    }
    stands(put, &advice.sensitivity);
    if let [first, rest @ ..] = advice.importance.as_slice() {
        let part = |s: &crate::decide::Share| format!("{} {}", s.knobs.join(" × "), percent(s.share));
        put("what matters", format!("{} of the spread between configs", part(first)));
        if let Some(second) = rest.first().filter(|s| s.share >= 0.05) {
            put("", part(second));
        }
    }
    if let Some((_, by_kind)) = &advice.by_kind {
        let saving = by_kind.saving();
        put(
            "one for each",
            if saving < 0.0005 {
                "a config for each kind of agent saves nothing further".to_owned()
            } else {
                format!("a config for each kind of agent saves a further {}", percent(saving))
            },
        );
    }
    if let (Some(per_day), Some(i)) = (advice.sessions_per_day, decision.best) {
        let none = &outcome.rows[decision.none].totals;
        let month = none.cost_usd / decision.sessions.max(1) as f64 * per_day * DAYS_A_MONTH;
        let saved = 1.0 - outcome.rows[i].totals.cost_usd / none.cost_usd;
        let sure = decision.confirmed.as_ref().filter(|_| advice.ask.objective.metric == Metric::Cost);
        let sure = sure.map_or_else(String::new, |c| format!(" (95 %: {} to {})", usd(month * c.low), usd(month * c.high)));
        put("a month", format!("{} without clearing; saved: {}{sure}", usd(month), usd(month * saved)));
    }
}

fn lost(row: &ConfigRow) -> String {
    format!("{} lost or unmet", count(row.totals.lost_needs + row.totals.unmet_needs, "need"))
}

/// `trigger 60k to 120k, keep 3 to 8, clear_at_least 20k`.
fn extent(plateau: &Plateau) -> String {
    fn part<T: PartialEq + Copy>(name: &str, range: Option<(T, T)>, text: impl Fn(T) -> String) -> Option<String> {
        range.map(|(a, b)| if a == b { format!("{name} {}", text(a)) } else { format!("{name} {} to {}", text(a), text(b)) })
    }
    let tokens = |n: u64| short(n as f64);
    let parts = [
        part("trigger", plateau.trigger, tokens),
        part("keep", plateau.keep, |n| n.to_string()),
        part("clear_at_least", plateau.clear_at_least, tokens),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn stands(put: &mut impl FnMut(&str, String), sensitivity: &[Standing]) {
    if sensitivity.is_empty() {
        return;
    }
    let holds = sensitivity.iter().filter(|s| s.stands).count();
    put("stands", format!("under {holds} of {} other assumptions", sensitivity.len()));
    let turned: Vec<&Standing> = sensitivity.iter().filter(|s| !s.stands).collect();
    for (i, s) in turned.iter().enumerate().take(4) {
        let lost = if s.lost > 0 { format!(", {} lost or unmet", count(s.lost, "need")) } else { String::new() };
        let how = if s.saving == 0.0 {
            format!("a config saves {}", percent(s.best_saving))
        } else {
            format!("saves {}{lost}", percent(s.saving))
        };
        put(if i == 0 { "but not if" } else { "" }, format!("{}: {how}", s.name));
    }
    if turned.len() > 4 {
        put("", format!("and {} more, see sweep.json", turned.len() - 4));
    }
}

fn dearer(row: &ConfigRow, none: &ConfigRow) -> String {
    let more = row.totals.cost_usd / none.totals.cost_usd - 1.0;
    if more.abs() < 0.0005 {
        "costs the same".to_owned()
    } else if more < 0.0 {
        format!("costs {} less", percent(-more))
    } else {
        format!("costs {} more", percent(more))
    }
}
