//! Results as bytes: CSV, JSON and the terminal's answer. Nothing here writes a file.

mod answer;
pub mod csv;
pub mod json;
pub mod number;
pub mod plot;
mod profile;
mod table;

pub use answer::{Headline, answer};
pub use profile::{FileLine, Inspection, PROFILE_SCHEMA, Shown, profile_json, profile_table};
pub use table::replay_table;
