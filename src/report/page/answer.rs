//! The answer in words: verdict, main numbers, what to paste, findings.

use std::fmt::Write;

use super::detail::Detail;
use super::html::{text, words};
use super::timelines::evenly;
use super::{PageView, Snippet};
use crate::decide::{Advice, Metric, Verdict};
use crate::findings::Severity;
use crate::report::answer::{facts as facts_of_answer, interval, named, said, unit};
use crate::report::number::{count, percent, short, usd};
use crate::sweep::ConfigRow;

/// What was swept, in a line.
pub(super) fn facts(view: &PageView) -> String {
    let outcome = view.outcome;
    let requests = outcome.rows.iter().find(|row| row.knobs.is_none()).map_or(0, |row| row.totals.requests);
    let mut parts = vec![count(outcome.transcripts_done as u64, "transcript")];
    if outcome.session_names.len() != outcome.transcripts_done {
        parts.push(count(outcome.session_names.len() as u64, "session"));
    }
    parts.push(format!("{} {}", thousands(requests), if requests == 1 { "request" } else { "requests" }));
    let configs = outcome.rows.iter().filter(|row| row.knobs.hindsight().is_none()).count() as u64;
    parts.push(format!("{} {}", thousands(configs), if configs == 1 { "config" } else { "configs" }));
    parts.push(format!("prices of {}", view.head.prices));
    text(&parts.join(" · "))
}

/// `4,180`.
pub(super) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The sentences of the answer: the first one large.
pub(super) fn verdict(view: &PageView) -> String {
    let Some(advice) = view.advice else {
        return "<h2 id=\"verdict\">No request was replayed, so there is nothing to answer.</h2>".to_owned();
    };
    let all = said(view.outcome, advice).trim_end().replace('\n', " ");
    let (first, rest) = all.split_once(". ").unwrap_or((all.trim_end_matches('.'), ""));
    let mut out = format!("<h2 id=\"verdict\">{}.</h2>\n", words(first));
    if !rest.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", words(rest));
    }
    for line in view.head.assumed.iter().chain(&view.head.bill) {
        let _ = writeln!(out, "<p class=\"aside\">{}</p>", text(line));
    }
    out
}

fn tile(out: &mut String, name: &str, value: &str, about: &str) {
    let _ = writeln!(
        out,
        "<div class=\"tile\"><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>",
        text(name),
        words(value),
        words(about)
    );
}

/// The main numbers.
pub(super) fn tiles(view: &PageView) -> String {
    let Some(advice) = view.advice else { return String::new() };
    let d = &advice.decision;
    let none = &view.outcome.rows[d.none];
    let mut out = String::from("<dl class=\"tiles\">\n");
    // What was turned down is shown beside what to do.
    let Some(best) = d.best else {
        tile(&mut out, "Cost", &usd(none.totals.cost_usd), "without clearing");
        tile(&mut out, "Largest prompt", &short(none.totals.peak_prompt_tokens as f64), "tokens, without clearing");
        out.push_str("</dl>");
        return out;
    };
    let row = &view.outcome.rows[best];
    if !d.verdict.clears() {
        let turned = if d.verdict == Verdict::TooFewSessions { "of these sessions" } else { "that keeps the bounds, turned down" };
        let about = format!("<p class=\"aside about-tiles\">The best config {turned}: {}</p>\n", text(&named(row)));
        out.insert_str(0, &about);
    }
    let saved = match advice.ask.objective.metric {
        Metric::Cost => "of the cost".to_owned(),
        other => format!("of {}", unit(other)),
    };
    match d.saving {
        Some(saving) if saving < -0.0005 => tile(&mut out, "Loss", &percent(-saving), &format!("{saved}, all sessions")),
        Some(saving) => tile(&mut out, "Saving", &percent(saving), &format!("{saved}, all sessions")),
        None => {}
    }
    if let Some(confirmed) = &d.confirmed {
        let sure = interval(confirmed);
        let (estimate, range) = sure.split_once(" (").unwrap_or((&sure, ""));
        let about = format!("on {} it was not chosen on; {}", count(d.held_out as u64, "session"), range.trim_end_matches(')'));
        tile(&mut out, "Held-out saving", estimate, &about);
    }
    tile(&mut out, "Cost", &usd(row.totals.cost_usd), &format!("instead of {}", usd(none.totals.cost_usd)));
    let per_100 = row.derived.refetches_per_100_requests.map_or_else(|| "–".to_owned(), |n| format!("{n:.1}"));
    tile(&mut out, "Re-fetches", &per_100, &format!("per 100 requests; {} in all", thousands(row.totals.refetches)));
    let missing = row.totals.lost_needs + row.totals.unmet_needs;
    tile(&mut out, "Lost or unmet", &thousands(missing), "needs of results that are gone or not fetched again");
    tile(
        &mut out,
        "Largest prompt",
        &short(row.totals.peak_prompt_tokens as f64),
        &format!("tokens, instead of {}", short(none.totals.peak_prompt_tokens as f64)),
    );
    out.push_str("</dl>");
    out
}

/// The config to paste, a tab a shape; or why there is none.
pub(super) fn paste(view: &PageView) -> String {
    let mut out = String::from("<h3>Config to paste</h3>\n");
    if let Some(advice) = view.advice.filter(|_| view.snippets.is_empty()) {
        out.push_str(&nothing_to_paste(view, advice));
    }
    if !view.snippets.is_empty() {
        tabs(&mut out, "paste", view.snippets);
    }
    out
}

/// Tabs of texts with a copy button each; with one text there is no row of tabs.
fn tabs(out: &mut String, id: &str, snippets: &[Snippet]) {
    let several = snippets.len() > 1;
    if several {
        out.push_str("<div class=\"tabs\" role=\"tablist\" aria-label=\"Shapes of the config\">\n");
        for (i, snippet) in snippets.iter().enumerate() {
            let (selected, index) = if i == 0 { ("true", "0") } else { ("false", "-1") };
            let _ = writeln!(
                out,
                "<button type=\"button\" role=\"tab\" id=\"{id}-tab-{i}\" aria-controls=\"{id}-{i}\" aria-selected=\"{selected}\" tabindex=\"{index}\">{}</button>",
                text(&snippet.title)
            );
        }
        out.push_str("</div>\n");
    }
    for (i, snippet) in snippets.iter().enumerate() {
        let role = if several { format!(" role=\"tabpanel\" aria-labelledby=\"{id}-tab-{i}\"") } else { String::new() };
        let hidden = if i == 0 { "" } else { " hidden" };
        let _ = writeln!(out, "<div class=\"snippet\" id=\"{id}-{i}\"{role}{hidden}>");
        if !snippet.note.is_empty() {
            let _ = writeln!(out, "<p class=\"aside\">{}</p>", text(&snippet.note));
        }
        let _ = writeln!(
            out,
            "<div class=\"code\"><button type=\"button\" class=\"copy\" data-copy=\"{id}-{i}-text\">Copy</button>\
             <pre tabindex=\"0\" aria-label=\"{}\"><code id=\"{id}-{i}-text\" class=\"language-{}\">{}</code></pre></div>\n</div>",
            text(&snippet.title),
            text(&snippet.language),
            text(&snippet.text)
        );
    }
}

/// Why nothing is pasted, and the best edit of the API where another policy won.
fn nothing_to_paste(view: &PageView, advice: &Advice) -> String {
    let d = &advice.decision;
    let rows = &view.outcome.rows;
    let mut out = match d.verdict {
        Verdict::ClearWhenCold => {
            "<p>There is no object of the API for this: its edit clears by size, and cannot wait for a pause. Your client has to do it, before \
             a request that comes later than the cache lives.</p>\n"
        }
        Verdict::TooFewSessions => "<p>Nothing yet: too few sessions to recommend a config. Any config of the table below can be copied.</p>\n",
        _ => "<p>Nothing: leave <code>context_management</code> out. Any config of the table below can be copied all the same.</p>\n",
    }
    .to_owned();
    let edit_of = |i: usize| rows[i].knobs.edit.as_ref();
    if d.verdict == Verdict::ClearWhenCold {
        let saving = view.edit.filter(|&i| rows[i].totals.cost_usd < rows[d.none].totals.cost_usd * 0.9995);
        if let Some((row, edit)) = saving.and_then(|i| edit_of(i).map(|edit| (&rows[i], edit))) {
            let _ = writeln!(
                out,
                "<p>If the API's edit is all that you can use, the best of the grid is {}: {}. It was picked on all sessions, and so                  was not tested on others.</p>",
                text(&named(row)),
                text(&against_none(row, &rows[d.none]))
            );
            tabs(&mut out, "best-edit", &[Snippet::api(&edit.to_json())]);
        } else {
            out.push_str("<p>With the API's edit alone nothing saves here: leave <code>context_management</code> out.</p>\n");
        }
    } else if let Some((row, edit)) =
        d.best.filter(|_| d.verdict == Verdict::TooFewSessions).and_then(|i| edit_of(i).map(|e| (&rows[i], e)))
    {
        let _ = writeln!(out, "<p>The best on these sessions is {}: {}.</p>", text(&named(row)), text(&against_none(row, &rows[d.none])));
        tabs(&mut out, "best", &[Snippet::api(&edit.to_json())]);
    }
    out
}

/// `it costs 1.2 % less than not clearing, with 3 re-fetches`.
fn against_none(row: &ConfigRow, none: &ConfigRow) -> String {
    let change = if none.totals.cost_usd > 0.0 { row.totals.cost_usd / none.totals.cost_usd - 1.0 } else { 0.0 };
    let how = if percent(change) == percent(0.0) {
        "it costs as much as not clearing".to_owned()
    } else if change < 0.0 {
        format!("it costs {} less than not clearing", percent(-change))
    } else {
        format!("it costs {} more than not clearing", percent(change))
    };
    let refetches = row.totals.refetches;
    format!("{how}, with {} re-fetch{}", thousands(refetches), if refetches == 1 { "" } else { "es" })
}

/// Every figure of the answer, folded away.
pub(super) fn details(view: &PageView) -> String {
    let Some(advice) = view.advice else { return String::new() };
    let mut out = String::from("<dl class=\"facts\">\n");
    for (name, lines) in facts_of_answer(view.head, view.outcome, advice) {
        let lines: Vec<String> = lines.iter().map(|line| text(&line.replace("see sweep.json", "see below"))).collect();
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", text(&name), lines.join("<br>"));
    }
    out.push_str("</dl>");
    out
}

/// What of the rows is not in the page.
pub(super) fn rows_note(view: &PageView, shown: usize) -> String {
    let all = view.outcome.rows.len();
    if shown == all {
        return String::new();
    }
    format!(
        "<p class=\"aside\" id=\"rows-left-out\">This page holds {} of the {} rows: those that the answer names, the Pareto front, the plane of the \
         best config, and an even sample of the rest. All of them are in sweep.csv.</p>",
        thousands(shown as u64),
        thousands(all as u64)
    )
}

/// Which transcripts are shown, and how exactly.
pub(super) fn sessions_note(view: &PageView, detail: &Detail) -> String {
    let (all, replayed) = (view.outcome.transcripts_done, view.timelines.len());
    let shown = evenly(replayed, detail.sessions);
    let mut out = if shown.len() < all {
        format!(
            "{} of {} transcripts, evenly picked by their number of requests, the shortest and the longest among them.",
            shown.len(),
            thousands(all as u64)
        )
    } else {
        String::new()
    };
    let longest = shown.iter().flat_map(|&i| &view.timelines[i].replays).map(|(_, report)| report.requests.len()).max().unwrap_or(0);
    if longest > detail.points {
        let _ = write!(
            out,
            " A line has at most {} points: of longer transcripts the smallest and the largest prompt of every stretch are drawn.",
            detail.points
        );
    }
    text(out.trim())
}

/// What was found of the recommended config, of what the team runs and of the API's defaults.
pub(super) fn findings(view: &PageView) -> String {
    let Some(advice) = view.advice else { return String::new() };
    let mut out = String::new();
    for of in view.findings {
        let clears = advice.decision.verdict.clears();
        let (title, nothing) = match of.role {
            "current" => ("What you run", "Nothing is wrong with it here."),
            "api_defaults" => ("The API's defaults", "Nothing is wrong with them here."),
            _ if clears => ("What is recommended", "Nothing is wrong with it here."),
            _ => ("Not clearing", "Nothing is wrong with that here."),
        };
        let row = &view.outcome.rows[of.row];
        let _ = writeln!(out, "<h3>{title} <span class=\"knobs\">{}</span></h3>", text(&named(row)));
        if of.found.is_empty() {
            let _ = writeln!(out, "<p>{nothing}</p>");
            continue;
        }
        out.push_str("<ul class=\"findings\">\n");
        for found in &of.found {
            let severity = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let _ = writeln!(
                out,
                "<li class=\"{severity}\"><p><span class=\"badge\">{severity}</span> <code>{}</code></p><p>{}</p><p class=\"remedy\">{}</p></li>",
                found.id.name(),
                text(&sentence(&found.evidence)),
                text(&sentence(&found.remedy))
            );
        }
        out.push_str("</ul>\n");
    }
    out
}

/// With a capital and a full stop.
fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let end = if words.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}
