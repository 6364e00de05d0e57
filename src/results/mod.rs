//! Result sets read back: what `sweep` and `replay` wrote, from bytes.

mod cells;
mod read;

#[cfg(test)]
pub(crate) use cells::totals as totals_of;
pub use read::{Kind, PerTranscript, ResultSet, ResultsError, parse, sniff_kind};
