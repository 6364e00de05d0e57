//! Results as bytes: CSV, JSON and the terminal's answer. Nothing here writes a file.

mod answer;
pub mod csv;
pub mod json;
pub mod number;
pub mod plot;
mod table;

pub use answer::{Headline, answer};
pub use table::replay_table;
