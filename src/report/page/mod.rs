//! `report.html`: the whole answer of a sweep as one page that needs nothing else.
//!
//! Words (verdict, findings, assumptions, proof) are written as HTML here, so that they can be read without a script. What moves (charts,
//! table, filters) is drawn in the browser from one JSON island by the script under `assets/page/`, with Chart.js. The page loads nothing,
//! and its Content-Security-Policy forbids it to.
//!
//! A page stays under [`MOST_BYTES`]: where a sweep holds more than fits, configs, points and sessions are left out in that order of
//! coarseness, and the page says how many.

mod answer;
mod assumptions;
mod curves;
mod detail;
mod html;
mod island;
mod proof;
mod rows;
#[cfg(test)]
mod tests;
mod timelines;

use serde_json::Value;

pub use super::snippets::Snippet;
use super::{Headline, RowFindings};
use crate::decide::Advice;
use crate::profile::Profile;
use crate::replay::Report;
use crate::sweep::Outcome;

use detail::{Detail, LEVELS};

/// A page is smaller than this many bytes.
pub const MOST_BYTES: usize = 2_000_000;
/// Transcripts whose context size is shown at most.
pub const MOST_SESSIONS: usize = 40;

const TEMPLATE: &str = include_str!("../../../assets/page/page.html");
const STYLE: &str = include_str!("../../../assets/page/page.css");
const CHARTS: [&str; 2] =
    [include_str!("../../../assets/page/vendor/chart.umd.min.js"), include_str!("../../../assets/page/vendor/chartjs-chart-matrix.min.js")];
const LICENCES: [&str; 3] = [
    include_str!("../../../assets/page/vendor/chart.js.LICENSE.md"),
    include_str!("../../../assets/page/vendor/kurkle-color.LICENSE.md"),
    include_str!("../../../assets/page/vendor/chartjs-chart-matrix.LICENSE"),
];
/// In the order in which they stand in the page; they share one scope.
const SCRIPTS: [&str; 7] = [
    include_str!("../../../assets/page/format.js"),
    include_str!("../../../assets/page/data.js"),
    include_str!("../../../assets/page/charts.js"),
    include_str!("../../../assets/page/tradeoff.js"),
    include_str!("../../../assets/page/heat_map.js"),
    include_str!("../../../assets/page/lines.js"),
    include_str!("../../../assets/page/main.js"),
];

/// One transcript under several configs.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// What it is called in results.
    pub name: String,
    /// Context window in tokens, if it is known.
    pub window: Option<u64>,
    /// Row of the outcome and its replay.
    pub replays: Vec<(usize, Report)>,
}

/// A sweep as the page takes it.
#[derive(Debug, Clone, Copy)]
pub struct PageView<'a> {
    /// What stands above the answer.
    pub head: &'a Headline,
    /// All rows, those of other policies and of hindsight among them.
    pub outcome: &'a Outcome,
    /// The advice; its indices are those of the outcome's rows.
    pub advice: Option<&'a Advice>,
    /// The best edit of the API, where the answer is about another policy; see [`edits_by_value`].
    pub edit: Option<usize>,
    /// What was found of the rows that the answer is about.
    pub findings: &'a [RowFindings],
    /// The workload: for the keep curves.
    pub profile: &'a Profile,
    /// Replays to look at; see [`sessions_shown`] and [`rows_shown`].
    pub timelines: &'a [Timeline],
    /// `manifest.json`.
    pub manifest: &'a Value,
    /// The recommended config to paste, a tab each; empty: there is nothing to paste.
    pub snippets: &'a [Snippet],
}

/// The transcripts whose context size the page shows, by index: all of them, or [`MOST_SESSIONS`] evenly picked by their number of
/// requests, the shortest and the longest among them; the shortest first.
pub fn sessions_shown(requests: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..requests.len()).filter(|&i| requests[i] > 0).collect();
    order.sort_by_key(|&i| (requests[i], i));
    timelines::evenly(order.len(), MOST_SESSIONS).into_iter().map(|at| order[at]).collect()
}

/// The edits of the API that clear, keep the bounds and overflow no more than not clearing does, the best value first. Whether one fires for
/// ever is not looked at.
pub fn edits_by_value(outcome: &Outcome, advice: &Advice) -> Vec<usize> {
    let (rows, none) = (&outcome.rows, &outcome.rows[advice.decision.none]);
    let fits = |&i: &usize| {
        rows[i].knobs.edit.is_some()
            && rows[i].totals.clear_events > 0
            && !advice.ask.barred.contains(&i)
            && advice.ask.constraints.broken(&rows[i]).is_none()
            && rows[i].overflowed_transcripts <= none.overflowed_transcripts
    };
    let value = |i: usize| -> f64 { (0..outcome.transcripts_done).map(|t| outcome.values(t)[i]).sum() };
    let mut edits: Vec<(usize, f64)> = (0..rows.len()).filter(fits).map(|i| (i, value(i))).collect();
    edits.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    edits.into_iter().map(|(i, _)| i).collect()
}

/// The rows under which they are shown, each once: no clearing, what is recommended or was turned down, the best edit of the API, the
/// API's defaults, what the team runs, the runner-up.
pub fn rows_shown(advice: &Advice, edit: Option<usize>) -> Vec<usize> {
    let d = &advice.decision;
    let mut shown = vec![d.none];
    let others = d.against.iter().map(|against| against.row);
    for row in [d.row].into_iter().chain(d.best).chain(edit).chain(others).chain(d.runner_up) {
        if !shown.contains(&row) {
            shown.push(row);
        }
    }
    shown
}

/// The page; the same bytes for the same view.
pub fn page(view: &PageView) -> String {
    let mut all = LEVELS.iter().map(|detail| at_detail(view, detail));
    let mut last = String::new();
    // The coarsest is taken as it is: what is left then is names and words.
    for page in all.by_ref() {
        last = page;
        if last.len() < MOST_BYTES {
            break;
        }
    }
    last
}

fn at_detail(view: &PageView, detail: &Detail) -> String {
    let shown = rows::shown(view, detail.rows);
    let island = island::island(view, detail, &shown);
    let script = SCRIPTS.concat();
    let charts = CHARTS.map(|source| ["<script>", without_map(source), "</script>\n"].concat()).concat();
    fill(TEMPLATE, |name| match name {
        "title" => html::text(&format!("{} · cleartune", view.head.source)),
        "style" => STYLE.to_owned(),
        "source" => html::text(&view.head.source),
        "facts" => answer::facts(view),
        "verdict" => answer::verdict(view),
        "tiles" => answer::tiles(view),
        "paste" => answer::paste(view),
        "details" => answer::details(view),
        "rows_note" => answer::rows_note(view, shown.len()),
        "sessions_note" => answer::sessions_note(view, detail),
        "findings" => answer::findings(view),
        "sensitivity" => assumptions::sensitivity(view),
        "settings" => assumptions::settings(view),
        "proof" => proof::proof(view),
        "provenance" => proof::provenance(view),
        "island" => html::island(&island),
        "licences" => LICENCES.join("\n"),
        "charts" => charts.clone(),
        "script" => format!("\"use strict\";(() => {{\n{script}}})();"),
        other => unreachable!("the template names {other}"),
    })
}

/// The template with `{{name}}` replaced; what is put in is never looked at again.
fn fill(template: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(1 << 20);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the template closes its braces");
        out.push_str(before);
        out.push_str(&value(name));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A library without the last line that names its source map, which a browser's tools would try to load.
fn without_map(source: &str) -> &str {
    source.rfind("//# sourceMappingURL").map_or(source, |at| &source[..at])
}
