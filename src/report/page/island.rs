//! The data that the page's script works on.

use serde::Serialize;

use super::curves::{Curve, curves};
use super::rows::{Columns, columns};
use super::timelines::{Shown, timelines};
use super::{Detail, PageView};

/// What a row is, for its name in charts.
#[derive(Serialize)]
struct Roles {
    none: Option<usize>,
    /// What is recommended, where that is to clear.
    recommended: Option<usize>,
    /// The best config that was turned down.
    best: Option<usize>,
    runner_up: Option<usize>,
    /// The best edit of the API, where another policy is the best.
    best_edit: Option<usize>,
    api_defaults: Option<usize>,
    current: Option<usize>,
    knee: Option<usize>,
    oracle: Option<f64>,
    bound: Option<f64>,
}

/// Everything that is drawn.
#[derive(Serialize)]
pub(super) struct Island<'a> {
    source: &'a str,
    transcripts: usize,
    rows_in_all: usize,
    verdict: Option<&'static str>,
    objective: &'static str,
    roles: Roles,
    front: Vec<usize>,
    plateau: Vec<usize>,
    rows: Columns,
    sessions: Vec<Shown>,
    curves: Vec<Curve>,
}

/// The data of a page that shows these rows.
pub(super) fn island<'a>(view: &PageView<'a>, detail: &Detail, shown: &[usize]) -> Island<'a> {
    let here = |row: &usize| shown.binary_search(row).is_ok();
    let decision = view.advice.map(|advice| &advice.decision);
    let against = |name: &str| decision.and_then(|d| d.against.iter().find(|a| a.other.name() == name)).map(|a| a.row);
    let clears = decision.is_some_and(|d| d.verdict.clears());
    Island {
        source: &view.head.source,
        transcripts: view.outcome.transcripts_done,
        rows_in_all: view.outcome.rows.len(),
        verdict: decision.map(|d| d.verdict.name()),
        objective: view.advice.map_or("cost", |advice| advice.ask.objective.metric.name()),
        roles: Roles {
            none: decision.map(|d| d.none),
            recommended: decision.filter(|_| clears).map(|d| d.row),
            best: decision.filter(|_| !clears).and_then(|d| d.best),
            runner_up: decision.and_then(|d| d.runner_up),
            best_edit: view.edit,
            api_defaults: against("api_defaults"),
            current: against("current"),
            knee: decision.and_then(|d| d.knee),
            oracle: view.head.hindsight.map(|known| known.oracle),
            bound: view.head.hindsight.map(|known| known.bound),
        },
        front: decision.map_or_else(Vec::new, |d| d.front.iter().copied().filter(here).collect()),
        plateau: decision.and_then(|d| d.plateau.as_ref()).map_or_else(Vec::new, |p| p.rows.iter().copied().filter(here).collect()),
        rows: columns(view.outcome, view.advice, shown),
        sessions: timelines(view, detail),
        curves: curves(view.profile, detail.tools),
    }
}
