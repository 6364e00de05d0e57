//! A comparison as a table, as Markdown for a pull request, as JSON and as `JUnit` XML.

use std::fmt::Write;

use serde_json::{Value, json};

use super::answer::{named_knobs, wrap};
use super::number::{count, percent, short, usd};
use crate::compare::{Change, Check, Comparison, Metric, Outcome, Pairing, Role, RowChange, Side};
use crate::policy::ClearToolInputs;
use crate::sweep::Knobs;

/// The schema of a comparison as JSON.
pub const COMPARE_SCHEMA: &str = "cleartune.compare/1";

/// Metrics that are always shown.
const FIRST: [&str; 8] =
    ["cost_usd", "prompt_tokens", "refetches", "lost_needs", "unmet_needs", "cache_invalidations", "peak_prompt_tokens", "requests"];
/// Sessions whose cost rose most, by row.
const WORST: usize = 5;
/// Configs that one side lacks and that are named; the others are counted.
const NAMED: usize = 3;
/// Columns of a terminal.
const WIDTH: usize = 80;

fn first(row: &RowChange) -> impl Iterator<Item = &Change> {
    FIRST.iter().filter_map(|name| row.changes.iter().find(|c| c.metric.name() == *name))
}

/// Metrics that changed besides the first.
fn further(row: &RowChange) -> impl Iterator<Item = &Change> {
    row.changes.iter().filter(|c| !FIRST.contains(&c.metric.name()) && c.base != c.head)
}

fn rose(row: &RowChange) -> impl Iterator<Item = &(String, f64, f64)> {
    row.sessions.iter().filter(|s| s.2 > s.1).take(WORST)
}

fn value(metric: Metric, v: f64) -> String {
    if metric.is_usd() {
        usd(v)
    } else if v.fract() == 0.0 || v.abs() >= 1_000.0 {
        short(v)
    } else {
        format!("{v:.3}")
    }
}

fn optional(metric: Metric, v: Option<f64>) -> String {
    v.map_or_else(|| "n/a".to_owned(), |v| value(metric, v))
}

fn signed(change: &Change) -> String {
    let (Some(relative), Some(absolute)) = (change.relative(), change.absolute()) else {
        return "n/a".to_owned();
    };
    if relative == 0.0 {
        "no change".to_owned()
    } else if relative.is_infinite() {
        format!("{}{} from 0", if relative > 0.0 { "+" } else { "-" }, value(change.metric, absolute.abs()))
    } else {
        // A change that rounds to nothing is one all the same.
        let text = match relative.abs() {
            a if a < 5e-7 => "under 0.0001 %".to_owned(),
            a if a < 0.0005 => format!("{:.4} %", relative * 100.0),
            _ => percent(relative),
        };
        if relative > 0.0 { format!("+{text}") } else { text }
    }
}

fn interval(change: &Change) -> Option<String> {
    change.difference.map(|i| format!("{} to {}", value(change.metric, i.low), value(change.metric, i.high)))
}

/// A missed threshold, shortly.
fn moved(check: &Check) -> String {
    let c = &check.change;
    if check.on_head {
        return format!("{}, it is {}", check.threshold, optional(c.metric, c.head_total));
    }
    let by = signed(c);
    let by = by.trim_start_matches(['+', '-']);
    let way = match c.absolute() {
        Some(d) if d < 0.0 => format!("it fell by {by}"),
        Some(d) if d > 0.0 => format!("it rose by {by}"),
        _ => "it did not change".to_owned(),
    };
    format!("{}, {way}", check.threshold)
}

/// What it comes to, in one sentence or two.
fn headline(c: &Comparison) -> String {
    let mut said = String::new();
    if c.refused() {
        let mut what: Vec<String> = c.changed.iter().map(what_changed).collect();
        if !c.missing.is_empty() {
            what.push(format!("{} on one side only", stand(c.missing.len())));
        }
        let _ = write!(said, "Failed by --strict: {}. ", what.join("; "));
    }
    let checks: Vec<&Check> = c.checks().collect();
    let lacking = match c.missing.len() {
        0 => String::new(),
        n => format!("; {} not compared, as one side lacks {}", count(n as u64, "config"), if n == 1 { "it" } else { "them" }),
    };
    if c.rows.is_empty() {
        return said + "No config stands on both sides, so there is nothing to compare.";
    }
    if checks.is_empty() {
        let cost = |row: &RowChange| signed(row.change(Metric::cost()));
        let rows: Vec<String> = c.rows.iter().take(3).map(|row| format!("{} ({})", cost(row), row.role.name())).collect();
        let more = if c.rows.len() > 3 { format!(" and {}", count(c.rows.len() as u64 - 3, "more config")) } else { String::new() };
        return said + &format!("Cost: {}{more}{lacking}. No threshold is set.", rows.join(", "));
    }
    let of = |outcome| checks.iter().filter(|k| k.outcome == outcome).count();
    let mut also = String::new();
    if of(Outcome::WithinNoise) > 0 {
        let _ = write!(also, "; {} over but within noise", of(Outcome::WithinNoise));
    }
    if of(Outcome::NotApplicable) > 0 {
        let _ = write!(also, "; {} not applicable", of(Outcome::NotApplicable));
    }
    let all = count(checks.len() as u64, "threshold");
    said + &match (of(Outcome::Missed), of(Outcome::Kept)) {
        (0, kept) if kept == checks.len() => {
            format!("Passed: {}{lacking}.", if kept == 1 { "the threshold holds".to_owned() } else { format!("all {all} hold") })
        }
        (0, kept) => format!("Passed: {kept} of {all} hold{also}{lacking}."),
        (missed, _) => {
            let worst = checks.iter().find(|k| k.outcome == Outcome::Missed).map_or_else(String::new, |k| moved(k));
            format!("Failed: {missed} of {all} missed{also}{lacking}. First: {worst}.")
        }
    }
}

fn stand(configs: usize) -> String {
    if configs == 1 { "1 config stands".to_owned() } else { format!("{configs} configs stand") }
}

/// The config and why it is looked at.
fn titled(row: &RowChange) -> String {
    match (&row.head_knobs, row.role) {
        (Some(head), _) => format!("{}, now {} ({})", named(&row.knobs), named(head), row.role.name()),
        (None, Role::None) => "no clearing".to_owned(),
        (None, role) => format!("{} ({})", named(&row.knobs), role.name()),
    }
}

/// The config, without control characters: tool names come from logs.
fn named(knobs: &Knobs) -> String {
    let inputs = match knobs.clear_tool_inputs().as_str() {
        "" | "false" => String::new(),
        "true" => ", inputs too".to_owned(),
        tools => format!(", inputs of {} too", tools.replace('|', ", ")),
    };
    plain(&(named_knobs(knobs) + &inputs))
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn about_sessions(c: &Comparison) -> String {
    let sums = "Only sums are there (no per_transcript.csv on a side)";
    match c.pairing {
        _ if c.same_inputs => "The inputs are the same, so no difference is chance.".to_owned(),
        Pairing::Paired(n) => format!("The same {} on both sides, compared one by one.", count(n as u64, "session")),
        Pairing::Unpaired(n, m) => {
            format!("Different sessions: {n} on the base, {m} on the head; sums are shown as means per session, and so are changes.")
        }
        Pairing::SumsOnly(n, m) if n == m => format!("{sums}, so noise cannot be judged."),
        Pairing::SumsOnly(n, m) => format!("{sums}, of {n} and {m} transcripts: means are compared, and noise cannot be judged."),
    }
}

fn what_changed(change: &crate::compare::Changed) -> String {
    match &change.values {
        Some((a, b)) => format!("{}: {a} on the base, {b} on the head", change.what),
        None if change.known => {
            let one = change.what == "the grid" || change.what.starts_with("how ");
            format!("{} {}", change.what, if one { "differs" } else { "differ" })
        }
        None => format!("{}, so whether version, prices or inputs differ is not known", change.what),
    }
}

fn differs(c: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = c.changed.iter().map(what_changed).collect();
    if c.rows.iter().any(|row| row.head_knobs.is_some()) {
        lines.push("what you run differs: the old config on the base is compared with the new one on the head".to_owned());
    }
    for side in [Side::Base, Side::Head] {
        let lacking: Vec<&Knobs> = c.missing.iter().filter(|m| m.1 == side).map(|m| &m.0).collect();
        let name = if side == Side::Base { "base" } else { "head" };
        lines.extend(lacking.iter().take(NAMED).map(|knobs| format!("{}: not compared; the {name} lacks it", named(knobs))));
        if lacking.len() > NAMED {
            lines.push(format!("the {name} lacks {}", count((lacking.len() - NAMED) as u64, "more config")));
        }
    }
    if c.no_answer {
        lines.push(
            "the base does not say what it recommends (no sweep.json), so only no clearing is compared; name configs with --trigger, \
             --keep and so on, or take --all"
                .to_owned(),
        );
    }
    lines
}

fn outcome(check: &Check) -> &'static str {
    match check.outcome {
        Outcome::Missed => "missed",
        Outcome::WithinNoise => "within noise",
        Outcome::Kept => "kept",
        Outcome::NotApplicable => "not applicable",
    }
}

fn check_line(check: &Check) -> String {
    let c = &check.change;
    let what = format!("{}: {}", outcome(check), check.threshold);
    if check.on_head {
        return format!("{what}, it is {}", optional(c.metric, c.head_total));
    }
    let unit = if c.mean { " a session" } else { "" };
    let chance = match interval(c) {
        Some(interval) => format!("; 95 % of the change: {interval}"),
        None if check.outcome == Outcome::Missed && !check.noise_judged => "; noise cannot be judged".to_owned(),
        None => String::new(),
    };
    format!("{what}, it is {} against {}{unit} ({}){chance}", optional(c.metric, c.head), optional(c.metric, c.base), signed(c))
}

/// `text` in lines of at most 80 columns, the second and further ones indented a little more.
fn put(out: &mut String, indent: &str, text: &str) {
    for (i, line) in wrap(text, WIDTH - indent.len() - 2).into_iter().enumerate() {
        let _ = writeln!(out, "{indent}{}{line}", if i == 0 { "" } else { "  " });
    }
}

/// What stands below the rows that are shown.
fn not_shown(c: &Comparison) -> Option<String> {
    let rest: Vec<&RowChange> = c.rows.iter().filter(|row| !row.detailed).collect();
    let missed = rest.iter().filter(|row| row.checks.iter().any(|k| k.outcome == Outcome::Missed)).count();
    let missed = if missed > 0 { format!(", {missed} of which miss a threshold") } else { String::new() };
    (!rest.is_empty()).then(|| format!("{} not shown{missed}; --json FILE has them all.", count(rest.len() as u64, "more config")))
}

/// The comparison for a terminal, within 80 columns.
pub fn compare_table(c: &Comparison) -> String {
    let mut out = String::new();
    for line in differs(c) {
        put(&mut out, "", &format!("Note: {line}."));
    }
    put(&mut out, "", &headline(c));
    put(&mut out, "", &about_sessions(c));
    for row in c.rows.iter().filter(|row| row.detailed) {
        out.push('\n');
        put(&mut out, "", &titled(row));
        for check in &row.checks {
            put(&mut out, "  ", &check_line(check));
        }
        let noise = row.changes.iter().any(|change| change.difference.is_some());
        let _ = writeln!(out, "  {:<20} {:>9} {:>9}  {:<12}{}", "", "base", "head", "change", if noise { "95 % interval" } else { "" });
        for change in first(row) {
            let [base, head] = [change.base, change.head].map(|v| optional(change.metric, v));
            let interval = interval(change).unwrap_or_default();
            let line = format!("  {:<20} {base:>9} {head:>9}  {:<12}{interval}", change.metric.name(), signed(change));
            let _ = writeln!(out, "{}", line.trim_end());
        }
        if rose(row).next().is_some() {
            let _ = writeln!(out, "  sessions that rose most:");
            for (id, a, b) in rose(row) {
                put(&mut out, "    ", &format!("{}  {} to {}", plain(id), usd(*a), usd(*b)));
            }
        }
    }
    if let Some(rest) = not_shown(c) {
        out.push('\n');
        put(&mut out, "", &rest);
    }
    out.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The comparison as Markdown for a pull request.
pub fn compare_markdown(c: &Comparison) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|");
    let mut out = String::new();
    let sign = if c.failed() { "❌" } else { "✅" };
    let _ = writeln!(out, "### {sign} cleartune: {}\n\n{}\n", escape(&headline(c)), about_sessions(c));
    for line in differs(c) {
        let _ = writeln!(out, "> **Note** {}.\n", escape(&line));
    }
    let shown = || c.rows.iter().filter(|row| row.detailed);
    if c.checks().next().is_some() {
        let _ = writeln!(out, "| threshold | config | base | head | change | |\n|---|---|--:|--:|--:|---|");
        for (row, check) in shown().flat_map(|row| row.checks.iter().map(move |check| (row, check))) {
            let k = &check.change;
            let what = if check.outcome == Outcome::Missed { "**missed**" } else { outcome(check) };
            let head = if check.on_head { k.head_total } else { k.head };
            let base = if check.on_head { "–".to_owned() } else { optional(k.metric, k.base) };
            let change = if check.on_head { "–".to_owned() } else { signed(k) };
            let (config, head) = (escape(&titled(row)), optional(k.metric, head));
            let _ = writeln!(out, "| `{}` | {config} | {base} | {head} | {change} | {what} |", check.threshold);
        }
        out.push('\n');
    }
    for row in shown() {
        let _ = writeln!(out, "<details><summary>{}</summary>\n", escape(&titled(row)));
        let _ = writeln!(out, "| metric | base | head | change | 95 % of the difference |\n|---|--:|--:|--:|---|");
        for k in first(row).chain(further(row)) {
            let interval = interval(k).unwrap_or_else(|| "–".to_owned());
            let (base, head) = (optional(k.metric, k.base), optional(k.metric, k.head));
            let _ = writeln!(out, "| {} | {base} | {head} | {} | {interval} |", k.metric.name(), signed(k));
        }
        if rose(row).next().is_some() {
            let _ = writeln!(out, "\nSessions that rose most:\n");
            for (id, a, b) in rose(row) {
                let _ = writeln!(out, "- `{}`: {} to {}", plain(id).replace('`', "'"), usd(*a), usd(*b));
            }
        }
        let _ = writeln!(out, "\n</details>");
    }
    if let Some(rest) = not_shown(c) {
        let _ = writeln!(out, "\n{rest}");
    }
    out
}

/// The knobs under the names of `sweep.json`; null for what a config does not have.
fn knobs_json(knobs: &Knobs) -> Value {
    let edit = knobs.edit.as_ref();
    json!({
        "policy": knobs.policy,
        "trigger": knobs.trigger().map(crate::policy::Trigger::value),
        "trigger_type": knobs.trigger().map(crate::policy::Trigger::type_name),
        "keep": knobs.keep(),
        "clear_at_least": knobs.clear_at_least(),
        "exclude_tools": knobs.excluded(),
        "clear_tool_inputs": edit.map(|e| match &e.clear_tool_inputs {
            ClearToolInputs::No => json!(false),
            ClearToolInputs::Yes => json!(true),
            ClearToolInputs::Tools(tools) => json!(tools),
        }),
    })
}

/// The comparison as JSON. A change from 0 has no `relative_change` (null), and of configs that stand low in a long list `sessions` and
/// the ends of the difference are left out.
pub fn compare_json(c: &Comparison) -> Vec<u8> {
    let change = |k: &Change| {
        json!({
            "metric": k.metric.name(), "base": k.base, "head": k.head, "head_total": k.head_total, "change": k.absolute(),
            "relative_change": k.relative().filter(|r| r.is_finite()),
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
        "refused": c.refused(),
        "summary": headline(c),
        "changed": c.changed.iter().map(|x| json!({
            "what": x.what, "base": x.values.as_ref().map(|v| &v.0), "head": x.values.as_ref().map(|v| &v.1),
        })).collect::<Vec<_>>(),
        "pairing": pairing, "base_sessions": base_sessions, "head_sessions": head_sessions, "same_inputs": c.same_inputs,
        "missing": c.missing.iter().map(|(knobs, side)| json!({
            "config": named(knobs), "knobs": knobs_json(knobs), "lacking": if *side == Side::Base { "base" } else { "head" },
        })).collect::<Vec<_>>(),
        "thresholds": c.checks().map(|k| json!({
            "threshold": k.threshold, "config": named(&k.knobs), "noise_judged": k.noise_judged, "values": change(&k.change),
            "outcome": outcome(k).replace(' ', "_"),
        })).collect::<Vec<_>>(),
        "rows": c.rows.iter().map(|row| json!({
            "config": named(&row.knobs), "knobs": knobs_json(&row.knobs), "head_knobs": row.head_knobs.as_ref().map(knobs_json),
            "role": row.role.name(), "metrics": row.changes.iter().map(change).collect::<Vec<_>>(),
            "sessions": row.sessions.iter().map(|(id, a, b)| json!({"session": id, "base_cost_usd": a, "head_cost_usd": b})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut bytes = serde_json::to_vec_pretty(&all).expect("keys are strings");
    bytes.push(b'\n');
    bytes
}

/// The gate as `JUnit` XML: a test case for each threshold on each config, one for `--strict` where it is asked for, and a skipped one for
/// each config that one side lacks.
pub fn compare_junit(c: &Comparison) -> String {
    let mut cases = String::new();
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    let mut case = |class: &str, name: &str, element: &str, message: &str| {
        tests += 1;
        failures += u64::from(element == "failure");
        skipped += u64::from(element == "skipped");
        let (class, name, message) = (xml(class), xml(name), xml(message));
        let _ = match element {
            "" => writeln!(cases, "    <testcase classname=\"{class}\" name=\"{name}\"/>"),
            "system-out" => {
                writeln!(
                    cases,
                    "    <testcase classname=\"{class}\" name=\"{name}\">\n      <system-out>{message}</system-out>\n    </testcase>"
                )
            }
            _ => writeln!(
                cases,
                "    <testcase classname=\"{class}\" name=\"{name}\">\n      <{element} message=\"{message}\"/>\n    </testcase>"
            ),
        };
    };
    if c.strict {
        let element = if c.refused() { "failure" } else { "" };
        case("result sets", "--strict: nothing but the results differs", element, &differs(c).join("; "));
    }
    for row in &c.rows {
        for check in &row.checks {
            let element = match check.outcome {
                Outcome::Kept => "",
                Outcome::Missed => "failure",
                Outcome::WithinNoise => "system-out",
                Outcome::NotApplicable => "skipped",
            };
            case(&titled(row), &check.threshold, element, &check_line(check));
        }
    }
    for (knobs, side) in &c.missing {
        let lacks = if *side == Side::Base { "the base lacks this config" } else { "the head lacks this config" };
        case(&named(knobs), "stands on both sides", "skipped", lacks);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"cleartune compare\" tests=\"{tests}\" \
         failures=\"{failures}\" skipped=\"{skipped}\">\n{cases}  </testsuite>\n</testsuites>\n"
    )
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
