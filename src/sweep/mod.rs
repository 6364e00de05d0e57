//! A grid of configs over many transcripts, on all cores.

mod auto;
mod axes;
mod grid;
mod policies;
mod refine;
mod rows;
mod run;
mod share;
mod traps;

pub use auto::{Auto, Profile};
pub use axes::{Axis, AxisError};
pub use grid::{Axes, Grid};
pub use policies::{AskError, PolicyAsk, config, read_back};
pub use refine::refine;
pub use rows::{ConfigRow, Derived, Hindsight, Knobs, Point};
pub use run::{Block, Outcome, Transcript, Value, run, run_shared};
pub use share::{Sharing, Work};
pub use traps::{Trap, trap};
