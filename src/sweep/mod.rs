//! A grid of configs over many transcripts.

mod rows;

pub use rows::{ConfigRow, Derived, Knobs};
