//! How sure the answer is, and what it was made from.

use std::fmt::Write;

use serde_json::Value;

use super::PageView;
use super::answer::thousands;
use super::html::{cut, text, words};
use crate::decide::Verdict;
use crate::decide::bootstrap::LEAST_SESSIONS;
use crate::report::answer::interval;
use crate::report::number::{count, percent, usd};

/// How sure, in sentences.
pub(super) fn proof(view: &PageView) -> String {
    let Some(advice) = view.advice else { return String::new() };
    let d = &advice.decision;
    let mut points: Vec<String> = Vec::new();
    let sessions = count(d.sessions as u64, "session");
    match &d.confirmed {
        Some(confirmed) => {
            points.push(format!(
                "The config was chosen on {} and tested on the {} others: there it saves {}. The interval comes from drawing whole sessions \
                 again (studentised bootstrap), so requests of one session are never taken for independent.",
                count((d.sessions - d.held_out) as u64, "session"),
                d.held_out,
                interval(confirmed)
            ));
        }
        None if d.verdict == Verdict::TooFewSessions || d.sessions < LEAST_SESSIONS => points.push(format!(
            "There {} {sessions}. It takes {LEAST_SESSIONS} to set some aside and test the choice on them, so nothing here is confirmed.",
            if d.sessions == 1 { "is" } else { "are" }
        )),
        None => points.push(format!("No config was tested on sessions set aside, of {sessions}.")),
    }
    if let Some(s) = d.spread.as_ref().filter(|s| s.transcripts > 1) {
        points.push(format!(
            "Transcript by transcript the best config saves between {} and {}, half of them {} to {}; {} of {} cost more with it.",
            percent(s.worst),
            percent(s.best),
            percent(s.lower),
            percent(s.upper),
            s.dearer,
            s.transcripts
        ));
    }
    if let Some(known) = view.head.hindsight {
        points.push(format!(
            "One who knows what follows (the oracle) would pay {}; no policy that loses nothing can pay less than {} (the bound).",
            usd(known.oracle),
            usd(known.bound)
        ));
    }
    if !d.broken.is_empty() {
        let each: Vec<String> = d.broken.iter().map(|(bound, n)| format!("{bound} ({})", thousands(*n as u64))).collect();
        points.push(format!("Every config that clears breaks a bound: {}.", each.join(", ")));
    }
    if let Some(bill) = &view.head.bill {
        points.push(bill.clone());
    }
    points.push(
        "The model is a closed loop: what is cleared and needed again is fetched again, and costs what that costs. What it cannot see is \
         whether the agent answers worse with less in its context; lost and unmet needs are where that would begin."
            .to_owned(),
    );
    let mut out = String::from("<ul class=\"points\">\n");
    for point in points {
        let _ = writeln!(out, "<li>{}</li>", words(&point));
    }
    out.push_str("</ul>");
    out
}

/// Sources named at most.
const MOST_SOURCES: usize = 12;

/// Version, prices, grid, sources.
pub(super) fn provenance(view: &PageView) -> String {
    let m = view.manifest;
    let word = |value: &Value| match value {
        Value::String(word) => word.clone(),
        Value::Null => "–".to_owned(),
        Value::Array(list) => list.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    let mut rows: Vec<(String, String)> = vec![
        ("cleartune".to_owned(), word(&m["version"])),
        ("Prices as of".to_owned(), format!("{} ({})", word(&m["price_catalogue"]["date"]), word(&m["price_catalogue"]["version"]))),
    ];
    for (key, value) in m["asked"]["grid"].as_object().into_iter().flatten() {
        rows.push((format!("Asked: {key}"), word(value)));
    }
    let choice = m["asked"]["choice"].as_object().into_iter().flatten();
    for (key, value) in choice.filter(|(_, value)| !value.is_null() && value.as_f64() != Some(0.0) || value.is_u64()) {
        rows.push((format!("Asked: {key}"), word(value)));
    }
    let sources = m["sources"].as_array().map_or(&[][..], Vec::as_slice);
    for source in sources.iter().take(MOST_SOURCES) {
        let seed = source["seed"].as_u64().map_or_else(String::new, |seed| format!(", seed {seed}"));
        let hash = cut(source["sha256"].as_str().unwrap_or(""), 12);
        rows.push((format!("Source {}", cut(source["name"].as_str().unwrap_or(""), 80)), format!("sha256 {hash}{seed}")));
    }
    let mut out = String::from("<table class=\"plain\"><tbody>\n");
    for (name, value) in rows {
        let _ = writeln!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", text(&name), text(&value));
    }
    out.push_str("</tbody></table>\n");
    if sources.len() > MOST_SOURCES {
        let _ = writeln!(out, "<p>And {} more sources.</p>", thousands((sources.len() - MOST_SOURCES) as u64));
    }
    out.push_str("<p>Hashes in full and every setting are in manifest.json beside this page; the rows in sweep.csv, transcript by transcript in per_transcript.csv.</p>");
    out
}
