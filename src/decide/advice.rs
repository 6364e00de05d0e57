//! Everything that a sweep has to say, together.

use super::sensitivity::Standing;
use super::{Ask, ByKind, Decision, Share};

/// A decision with what is known around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// What was asked for.
    pub ask: Ask,
    /// The decision.
    pub decision: Decision,
    /// Which knobs matter over the full grid, the most important first.
    pub importance: Vec<Share>,
    /// Names of the kinds of agents, and what a config of its own for each is worth.
    pub by_kind: Option<(Vec<String>, ByKind)>,
    /// How the recommended row fares when what was assumed is otherwise.
    pub sensitivity: Vec<Standing>,
    /// Sessions a day, for dollars a month.
    pub sessions_per_day: Option<f64>,
}

/// Days of a month, in the mean.
pub const DAYS_A_MONTH: f64 = 365.25 / 12.0;
