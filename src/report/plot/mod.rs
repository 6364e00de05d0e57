//! The pictures: data in, bytes of a PNG file out.
//!
//! Every figure is 1600 pixels wide on a white page, draws with a bundled font (Noto Sans; nothing of the system is used) in colours
//! that the colour-blind can tell apart, and gives the same bytes for the same input. What has nothing to show becomes a page that says so.
//!
//! | figure | shows |
//! |---|---|
//! | [`tradeoff`] | freed tokens against re-fetches, one point a config |
//! | [`heat_maps`] | cost against `none` over trigger and keep, one panel a `clear_at_least` |
//! | [`by_clear_at_least`] | cache invalidations and cost over `clear_at_least`, a line a keep |
//! | [`context_size`] | prompt tokens over the requests of one transcript |
//! | [`keep_curve`] | share of needs and of results that every keep would cut off |
//! | [`result_sizes`] | result sizes, a row a tool |
//! | [`growth`] | prompt sizes without clearing, a line a transcript |
//! | [`gaps`] | pauses between requests against the lifetimes of cache entries |

mod by_clear_at_least;
mod canvas;
mod colour;
mod context_size;
mod frame;
mod gaps;
mod growth;
mod heat_maps;
mod keep_curve;
mod labels;
mod policies;
mod profile;
mod result_sizes;
mod scale;
mod slice;
#[cfg(test)]
mod tests;
mod tradeoff;

use super::Hindsights;
use super::number::usd;
use crate::profile::Profile;
use crate::replay::Report;
use crate::sweep::{ConfigRow, Knobs, Trap};

/// Why there is no picture. Neither depends on the data: both are faults of the build.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The bundled font could not be read.
    #[error("the bundled font cannot be read")]
    Font,
    /// A shape or text could not be drawn.
    #[error("the picture could not be drawn")]
    Draw,
    /// The PNG bytes could not be written.
    #[error("the picture could not be encoded as PNG: {0}")]
    Png(#[from] png::EncodingError),
}

/// A sweep as the first three figures take it.
#[derive(Debug, Clone, Copy)]
pub struct SweepView<'a> {
    /// What was swept, for the line below the heading: source, number of transcripts, model. Broken or cut where it is too long.
    pub title: &'a str,
    /// All configs, `none` among them (a sweep without it is drawn without it).
    pub rows: &'a [ConfigRow],
    /// Index in `rows` of the chosen config; it may be `none`. `None`: nothing was chosen. One beyond the rows counts as that.
    pub chosen: Option<usize>,
    /// Indices in `rows` of the Pareto front, in any order; those beyond the rows are left out.
    pub front: &'a [usize],
    /// What hindsight could reach, where the sweep has it.
    pub hindsight: Option<Hindsights>,
}

impl SweepView<'_> {
    /// The chosen row, if there is one.
    fn chosen(&self) -> Option<usize> {
        self.chosen.filter(|i| *i < self.rows.len())
    }

    /// The costs between which every config lies that loses nothing, in a line of words.
    fn costs_around(&self) -> Option<String> {
        let known = self.hindsight?;
        let [none, oracle, bound] = [known.none, known.oracle, known.bound].map(usd);
        Some(format!("no clearing {none} \u{b7} oracle, which knows what follows, {oracle} \u{b7} bound {bound}"))
    }
}

/// Replays of one transcript as [`context_size`] takes them.
#[derive(Debug, Clone, Copy)]
pub struct ContextView<'a> {
    /// What was replayed, for the line below the heading. Broken or cut where it is too long.
    pub title: &'a str,
    /// The replay without clearing, if it is to be shown.
    pub none: Option<&'a Report>,
    /// The replay of a config of interest, with the config; it may be `none` too.
    pub config: Option<(&'a Knobs, &'a Report)>,
    /// The replay of the oracle, if it is to be shown.
    pub oracle: Option<&'a Report>,
    /// What no policy costs less than, USD, if it is to be named.
    pub bound: Option<f64>,
    /// Context window in tokens, if it is known.
    pub window: Option<u64>,
}

/// Policies of one sweep as [`policies`] takes them.
#[derive(Debug, Clone, Copy)]
pub struct PoliciesView<'a> {
    /// What was swept.
    pub title: &'a str,
    /// All rows.
    pub rows: &'a [ConfigRow],
    /// Indices of those that are shown: one a policy.
    pub best: &'a [usize],
    /// What each of them runs into.
    pub traps: &'a [Option<Trap>],
}

/// Policies on several workloads as [`policy_matrix`] takes them.
#[derive(Debug, Clone, Copy)]
pub struct MatrixView<'a> {
    /// What was swept.
    pub title: &'a str,
    /// Names of the rows.
    pub policies: &'a [&'a str],
    /// Names of the columns, broken at their first `_`.
    pub workloads: &'a [&'a str],
    /// `cells[policy][workload]`: cost against not clearing, and whether no need was lost or unmet.
    pub cells: &'a [Vec<Option<(f64, bool)>>],
}

/// Profiles as [`keep_curve`], [`result_sizes`], [`growth`] and [`gaps`] take them.
#[derive(Debug, Clone, Copy)]
pub struct ProfileView<'a> {
    /// Name and profile of each source; the first six are drawn.
    pub sources: &'a [(&'a str, &'a Profile)],
    /// Only these tools, where a figure goes by tool; empty: all.
    pub tools: &'a [String],
}

impl ProfileView<'_> {
    /// Whether a tool is shown.
    fn has(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|t| t == tool)
    }
}

/// Freed tokens (x) against re-fetches (y), one point a config, its colour the cost against `none`.
///
/// Triangles are configs with lost or unmet needs. The Pareto front is outlined, and a line joins those of it that no other beats in freed
/// tokens and re-fetches. The chosen config and `none` carry their names. An axis becomes logarithmic where most points would stick to its foot.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn tradeoff(view: &SweepView) -> Result<Vec<u8>, PlotError> {
    tradeoff::draw(view).png()
}

/// Cost against `none` over trigger (x) and keep (y), one panel a `clear_at_least` (at most 12, evenly picked), all on one colour scale.
///
/// Numbers stand in the cells where there is room. Of further knobs (exclusions, tool inputs, policy, type of trigger) the values of the chosen
/// config are shown, or, if that does not clear, those with the most rows; the line below the heading says so.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn heat_maps(view: &SweepView) -> Result<Vec<u8>, PlotError> {
    heat_maps::draw(view).png()
}

/// Cache invalidations (count) and cost (USD) over `clear_at_least`, a line a keep (at most 6, evenly picked).
///
/// The trigger is that of the chosen config or, if that does not clear, of the cheapest config that does, one without lost or unmet needs if
/// there is one. Further knobs as in [`heat_maps`].
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn by_clear_at_least(view: &SweepView) -> Result<Vec<u8>, PlotError> {
    by_clear_at_least::draw(view).png()
}

/// Prompt tokens over the requests of one transcript, for `none`, for one config, or for both, with clears, re-fetches and misses.
///
/// A re-fetch request shares the place of its request, so that both lines stand above each other. Trigger and window are drawn where they are at
/// most 1.3 times the largest prompt, else named below the heading.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn context_size(view: &ContextView) -> Result<Vec<u8>, PlotError> {
    context_size::draw(view).png()
}

/// What every keep (x, logarithmic) would cut off: the share of results last needed further back, and the share of needs further back.
///
/// Of one source a bold line for all tools and one for each of the (at most 6) tools with the most needs; of several a line a source. Marks
/// show what was measured on public sessions.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn keep_curve(view: &ProfileView) -> Result<Vec<u8>, PlotError> {
    keep_curve::draw(view).png()
}

/// Result sizes in tokens (x, logarithmic), a row a tool: p10 to p90, median, largest. At most 16 rows, shared evenly by the sources.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn result_sizes(view: &ProfileView) -> Result<Vec<u8>, PlotError> {
    result_sizes::draw(view).png()
}

/// Prompt tokens without clearing over the requests: transcripts pale, the median of each source bold.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn growth(view: &ProfileView) -> Result<Vec<u8>, PlotError> {
    growth::draw(view).png()
}

/// The share of pauses between requests that are longer than x, both axes logarithmic, with the lifetimes of cache entries.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn gaps(view: &ProfileView) -> Result<Vec<u8>, PlotError> {
    gaps::draw(view).png()
}

/// Cost of each policy against not clearing (x), the cheapest above, with re-fetches, losses and traps.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn policies(view: &PoliciesView) -> Result<Vec<u8>, PlotError> {
    policies::draw(view).png()
}

/// Cost of each policy (rows) on each workload (columns) against not clearing.
///
/// # Errors
///
/// [`PlotError`], for no data.
pub fn policy_matrix(view: &MatrixView) -> Result<Vec<u8>, PlotError> {
    policies::draw_matrix(view).png()
}
