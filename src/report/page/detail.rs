//! How much of a sweep goes into a page.

use super::MOST_SESSIONS;

/// How much is kept; each level is coarser than the one before.
pub(super) struct Detail {
    /// Configs at most.
    pub(super) rows: usize,
    /// Transcripts at most.
    pub(super) sessions: usize,
    /// Points of a line at most.
    pub(super) points: usize,
    /// Tools with a curve of their own at most.
    pub(super) tools: usize,
}

/// From the finest to the coarsest.
pub(super) const LEVELS: [Detail; 5] = [
    Detail { rows: 6_000, sessions: MOST_SESSIONS, points: 400, tools: 40 },
    Detail { rows: 4_000, sessions: MOST_SESSIONS, points: 250, tools: 40 },
    Detail { rows: 2_500, sessions: 20, points: 200, tools: 30 },
    Detail { rows: 1_000, sessions: 10, points: 100, tools: 12 },
    Detail { rows: 100, sessions: 3, points: 50, tools: 4 },
];
