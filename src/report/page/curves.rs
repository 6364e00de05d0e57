//! Keep curves: of all tools together and of each.

use serde::Serialize;

use super::html::cut;
use super::rows::rounded;
use super::timelines::evenly;
use crate::profile::{KeepCurve, Profile};

/// Steps of a curve at most.
const MOST_STEPS: usize = 160;

/// One curve.
#[derive(Serialize)]
pub(super) struct Curve {
    tool: String,
    results: u64,
    needs: u64,
    keep: Vec<u64>,
    needs_cut_off: Vec<f64>,
    results_cut_off: Vec<f64>,
}

/// The curve of all tools, then those of the tools with the most needs, at most `tools`; tools of which nothing is needed have none.
pub(super) fn curves(profile: &Profile, tools: usize) -> Vec<Curve> {
    let mut of_tools: Vec<_> = profile.tools.iter().filter(|tool| tool.keep_curve.needs() > 0).collect();
    of_tools.sort_by(|a, b| b.keep_curve.needs().cmp(&a.keep_curve.needs()).then(a.name.cmp(&b.name)));
    let all = curve("all tools", &profile.keep_curve);
    std::iter::once(all).chain(of_tools.into_iter().take(tools).map(|tool| curve(&cut(&tool.name, 60), &tool.keep_curve))).collect()
}

fn curve(tool: &str, curve: &KeepCurve) -> Curve {
    let steps = curve.steps();
    // The near ones one by one: they are what keep is chosen from.
    let near = steps.len().min(MOST_STEPS / 2);
    let kept = (0..near).chain(evenly(steps.len() - near, MOST_STEPS / 2).into_iter().map(|at| near + at));
    let kept: Vec<_> = kept.map(|i| steps[i]).collect();
    Curve {
        tool: tool.to_owned(),
        results: curve.results,
        needs: curve.needs(),
        keep: kept.iter().map(|s| s.keep).collect(),
        needs_cut_off: kept.iter().map(|s| rounded(s.needs_cut_off)).collect(),
        results_cut_off: kept.iter().map(|s| rounded(s.results_cut_off)).collect(),
    }
}
