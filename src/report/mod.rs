//! Results as bytes: CSV, JSON and the terminal's answer. Nothing here writes a file.

mod advice_file;
mod answer;
mod bill;
mod bill_table;
mod clearing;
pub mod csv;
mod findings;
mod gate;
pub mod json;
pub mod number;
pub mod page;
pub mod plot;
mod policies;
mod profile;
pub mod schema;
mod sizes_line;
pub mod snippets;
mod table;
mod why;

pub use answer::{Headline, answer};
pub use bill::{BillCheck, Difference, PricedCause, Side, Why, bill, by_session, recorded_bill, recorded_settings};
pub use bill_table::{bill_line, bill_table};
pub use findings::{LINT_SCHEMA, RowFindings, findings_json, findings_markdown, findings_of_answer, findings_summary, findings_table};
pub use gate::{COMPARE_SCHEMA, compare_json, compare_junit, compare_markdown, compare_table};
pub use policies::{Hindsights, best_of_each, knob_words, named_json, named_table, policies_table};
pub use profile::{FileLine, Inspection, PROFILE_SCHEMA, RecordedClearingSection, Shown, profile_json, profile_table};
pub use sizes_line::sizes_line;
pub use table::replay_table;
pub use why::{by_tool_table, why};

/// The text in lines of at most `width` characters, broken at spaces.
pub fn wrapped(text: &str, width: usize) -> String {
    answer::wrap(text, width).join("\n")
}
