//! A comparison as a table, as Markdown for a pull request, as JSON and as `JUnit` XML.

use std::fmt::Write;

use serde_json::{Value, json};

use super::answer::{named_knobs, wrap};
use super::number::{count, percent, short, usd};
use crate::compare::{Change, Check, Comparison, Metric, Outcome, Pairing, RowChange, Side};

/// The schema of a comparison as JSON.
pub const COMPARE_SCHEMA: &str = "cleartune.compare/1";

/// Metrics that are always shown; others are where they changed.
const FIRST: [&str; 8] =
    ["cost_usd", "prompt_tokens", "refetches", "lost_needs", "unmet_needs", "cache_invalidations", "peak_prompt_tokens", "requests"];
/// Sessions whose cost rose most, by row.
const WORST: usize = 5;

fn shown(row: &RowChange) -> impl Iterator<Item = &Change> {
    FIRST.iter().filter_map(|name| row.changes.iter().find(|c| c.metric.name() == *name))
}

fn value(metric: Metric, v: f64) -> String {
    if metric.is_usd() {
        usd(v)
    } else if v.fract() == 0.0 {
        short(v)
    } else {
        format!("{v:.3}")
    }
}

fn signed(change: &Change) -> String {
    let relative = change.relative();
    if relative == 0.0 {
        "no change".to_owned()
    } else if relative.is_infinite() {
        format!("{}{} from 0", if relative > 0.0 { "+" } else { "-" }, value(change.metric, change.absolute().abs()))
    } else {
        // A change that rounds to nothing is one all the same.
        let text = if relative.abs() < 0.0005 { format!("{:.4} %", relative * 100.0) } else { percent(relative) };
        if relative > 0.0 { format!("+{text}") } else { text }
    }
}

/// What it comes to, in one sentence.
fn headline(c: &Comparison) -> String {
    if c.rows.is_empty() {
        return "No config stands on both sides, so there is nothing to compare.".to_owned();
    }
    if c.checks.is_empty() {
        let cost = |row: &RowChange| row.changes.iter().find(|c| c.metric.is_usd()).map_or_else(String::new, signed);
        let rows: Vec<String> = c.rows.iter().take(3).map(|row| format!("{} ({})", cost(row), row.role.name())).collect();
        return format!("Cost: {}. No threshold is set.", rows.join(", "));
    }
    let missed = c.checks.iter().filter(|k| k.outcome == Outcome::Missed).count();
    let noise = c.checks.iter().filter(|k| k.outcome == Outcome::WithinNoise).count();
    let noise = if noise > 0 { format!("; {noise} over the threshold but within noise") } else { String::new() };
    match missed {
        0 => format!("Passed: none of {} missed{noise}.", count(c.checks.len() as u64, "threshold")),
        n => format!("Failed: {n} of {} missed{noise}.", count(c.checks.len() as u64, "threshold")),
    }
}

/// The config and why it is looked at.
fn titled(row: &RowChange) -> String {
    if row.knobs.is_none() { "no clearing".to_owned() } else { format!("{} ({})", named_knobs(&row.knobs), row.role.name()) }
}

fn about_sessions(c: &Comparison) -> String {
    match c.pairing {
        _ if c.same_inputs => "The inputs are the same, so no difference is chance.".to_owned(),
        Pairing::Paired(n) => format!("The same {} on both sides, compared one by one.", count(n as u64, "session")),
        Pairing::Unpaired(n, m) => format!("Different sessions: {n} on the base, {m} on the head; means per session are compared."),
        Pairing::SumsOnly(n, m) if n == m => "Only sums are there (no per_transcript.csv on a side), so noise cannot be judged.".to_owned(),
        Pairing::SumsOnly(n, m) => {
            format!(
                "Only sums are there (no per_transcript.csv on a side), of {n} and {m} transcripts: means are compared, and noise cannot be judged."
            )
        }
    }
}

fn differs(c: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = c
        .changed
        .iter()
        .map(|change| match &change.values {
            Some((a, b)) => format!("{}: {a} on the base, {b} on the head", change.what),
            None => format!("{} differ", change.what),
        })
        .collect();
    lines.extend(c.missing.iter().map(|(knobs, side)| {
        let side = if *side == Side::Base { "base" } else { "head" };
        format!("{}: stands on one side only; the {side} lacks it", named_knobs(knobs))
    }));
    lines
}

fn check_line(check: &Check) -> String {
    let c = &check.change;
    let what = match check.outcome {
        Outcome::Missed => "missed",
        Outcome::WithinNoise => "within noise",
        Outcome::Kept => "kept",
    };
    let unjudged = if check.outcome == Outcome::Missed && !check.noise_judged { "; noise cannot be judged" } else { "" };
    format!("{what}: {}, it is {} against {} ({}){unjudged}", check.threshold, value(c.metric, c.head), value(c.metric, c.base), signed(c))
}

/// `text` in lines of at most 80 columns, the second and further ones indented a little more.
fn put(out: &mut String, indent: &str, text: &str) {
    for (i, line) in wrap(text, 80 - indent.len() - 2).into_iter().enumerate() {
        let _ = writeln!(out, "{indent}{}{line}", if i == 0 { "" } else { "  " });
    }
}

/// The comparison for a terminal, within 80 columns.
pub fn compare_table(c: &Comparison) -> String {
    let mut out = String::new();
    for line in differs(c) {
        put(&mut out, "", &format!("Note: {line}."));
    }
    put(&mut out, "", &headline(c));
    put(&mut out, "", &about_sessions(c));
    for row in &c.rows {
        out.push('\n');
        put(&mut out, "", &titled(row));
        for check in c.checks.iter().filter(|k| k.knobs == row.knobs) {
            put(&mut out, "  ", &check_line(check));
        }
        let noise = row.changes.iter().any(|change| change.difference.is_some());
        let _ = writeln!(out, "  {:<20} {:>9} {:>9}  {:<12}{}", "", "base", "head", "change", if noise { "95 % of it" } else { "" });
        for change in shown(row) {
            let values = [change.base, change.head].map(|v| value(change.metric, v));
            let noise = change
                .difference
                .map_or_else(String::new, |i| format!("{} to {}", value(change.metric, i.low), value(change.metric, i.high)));
            let line = format!("  {:<20} {:>9} {:>9}  {:<12}{noise}", change.metric.name(), values[0], values[1], signed(change));
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let rose: Vec<&(String, f64, f64)> = row.sessions.iter().filter(|s| s.2 > s.1).take(WORST).collect();
        if !rose.is_empty() {
            let _ = writeln!(out, "  sessions that rose most:");
            for (id, a, b) in rose {
                put(&mut out, "    ", &format!("{id}  {} to {}", usd(*a), usd(*b)));
            }
        }
    }
    out.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The comparison as Markdown for a pull request.
pub fn compare_markdown(c: &Comparison) -> String {
    let escape = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
    let mut out = String::new();
    let sign = if c.failed() { "❌" } else { "✅" };
    let _ = writeln!(out, "### {sign} cleartune: {}\n\n{}\n", headline(c), about_sessions(c));
    for line in differs(c) {
        let _ = writeln!(out, "> **Note** {}.\n", escape(&line));
    }
    if !c.checks.is_empty() {
        let _ = writeln!(out, "| threshold | config | base | head | change | |\n|---|---|--:|--:|--:|---|");
        for check in &c.checks {
            let k = &check.change;
            let what = match check.outcome {
                Outcome::Missed => "**missed**",
                Outcome::WithinNoise => "within noise",
                Outcome::Kept => "kept",
            };
            let (base, head) = (value(k.metric, k.base), value(k.metric, k.head));
            let _ = writeln!(
                out,
                "| `{}` | {} | {base} | {head} | {} | {what} |",
                check.threshold,
                escape(&named_knobs(&check.knobs)),
                signed(k)
            );
        }
        out.push('\n');
    }
    for row in &c.rows {
        let _ = writeln!(out, "<details><summary>{}</summary>\n", escape(&titled(row)));
        let _ = writeln!(out, "| metric | base | head | change | 95 % of the difference |\n|---|--:|--:|--:|---|");
        for k in shown(row) {
            let noise =
                k.difference.map_or_else(|| "–".to_owned(), |i| format!("{} to {}", value(k.metric, i.low), value(k.metric, i.high)));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {noise} |",
                k.metric.name(),
                value(k.metric, k.base),
                value(k.metric, k.head),
                signed(k)
            );
        }
        let rose: Vec<&(String, f64, f64)> = row.sessions.iter().filter(|s| s.2 > s.1).take(WORST).collect();
        if !rose.is_empty() {
            let _ = writeln!(out, "\nSessions that rose most:\n");
            for (id, a, b) in rose {
                let _ = writeln!(out, "- `{id}`: {} to {}", usd(*a), usd(*b));
            }
        }
        let _ = writeln!(out, "\n</details>");
    }
    out
}

/// The comparison as JSON.
pub fn compare_json(c: &Comparison) -> Vec<u8> {
    let finite = |v: f64| if v.is_finite() { json!(v) } else { Value::Null };
    let change = |k: &Change| {
        json!({
            "metric": k.metric.name(), "base": k.base, "head": k.head, "change": k.absolute(), "relative_change": finite(k.relative()),
            "difference_low": k.difference.map(|i| i.low), "difference_high": k.difference.map(|i| i.high),
        })
    };
    let (pairing, base_sessions, head_sessions) = match c.pairing {
        Pairing::Paired(n) => ("paired", n as u64, n as u64),
        Pairing::Unpaired(n, m) => ("unpaired", n as u64, m as u64),
        Pairing::SumsOnly(n, m) => ("sums_only", n, m),
    };
    let all = json!({
        "schema": COMPARE_SCHEMA,
        "failed": c.failed(),
        "summary": headline(c),
        "changed": c.changed.iter().map(|x| json!({
            "what": x.what, "base": x.values.as_ref().map(|v| &v.0), "head": x.values.as_ref().map(|v| &v.1),
        })).collect::<Vec<_>>(),
        "pairing": pairing, "base_sessions": base_sessions, "head_sessions": head_sessions, "same_inputs": c.same_inputs,
        "missing": c.missing.iter().map(|(knobs, side)| json!({
            "config": named_knobs(knobs), "lacking": if *side == Side::Base { "base" } else { "head" },
        })).collect::<Vec<_>>(),
        "thresholds": c.checks.iter().map(|k| json!({
            "threshold": k.threshold, "config": named_knobs(&k.knobs), "noise_judged": k.noise_judged, "values": change(&k.change),
            "outcome": match k.outcome { Outcome::Kept => "kept", Outcome::Missed => "missed", Outcome::WithinNoise => "within_noise" },
        })).collect::<Vec<_>>(),
        "rows": c.rows.iter().map(|row| json!({
            "config": named_knobs(&row.knobs), "role": row.role.name(), "metrics": row.changes.iter().map(change).collect::<Vec<_>>(),
            "sessions": row.sessions.iter().map(|(id, a, b)| json!({"session": id, "base_cost_usd": a, "head_cost_usd": b})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut bytes = serde_json::to_vec_pretty(&all).expect("keys are strings");
    bytes.push(b'\n');
    bytes
}

/// The thresholds as `JUnit` XML: one test case each.
pub fn compare_junit(c: &Comparison) -> String {
    let failures = c.checks.iter().filter(|k| k.outcome == Outcome::Missed).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites>\n  <testsuite name=\"cleartune compare\" tests=\"{}\" failures=\"{failures}\">", c.checks.len());
    for check in &c.checks {
        let (class, name) = (xml(&named_knobs(&check.knobs)), xml(&check.threshold));
        let _ = write!(out, "    <testcase classname=\"{class}\" name=\"{name}\"");
        let line = xml(&check_line(check));
        let _ = match check.outcome {
            Outcome::Kept => writeln!(out, "/>"),
            Outcome::Missed => writeln!(out, ">\n      <failure message=\"{line}\"/>\n    </testcase>"),
            Outcome::WithinNoise => writeln!(out, ">\n      <system-out>{line}</system-out>\n    </testcase>"),
        };
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Text of an attribute or element; characters that XML cannot hold are replaced.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
