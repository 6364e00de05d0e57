//! The commands: the only place that touches files, terminal and clock.

pub mod import;
pub mod source;
