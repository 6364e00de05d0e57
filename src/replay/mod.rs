//! One trace under one config: the closed loop, the cache and the bill.
//!
//! [`plain`] is the reference engine. It reads like the definition of a replay, block by block, and is the judge of the faster one,
//! [`event`], which yields totals only.

mod by_tool;
mod cache;
pub mod event;
pub mod explain;
mod history;
mod masks;
pub mod plain;
mod plan;
mod report;
mod scene;
mod tariff;

pub use by_tool::{ToolTotals, add_by_tool};
pub use masks::Masks;
pub use report::{Report, Row, RowKind, Totals};

use crate::policy::Settings;
use crate::trace::Trace;

/// Replays one trace under one config, request by request.
pub fn replay(trace: &Trace, settings: &Settings) -> Report {
    let mut requests = Vec::with_capacity(trace.requests.len());
    let totals = plain::Engine::default().run(trace, settings, |row| requests.push(row.clone()));
    Report { id: trace.id.clone(), totals, requests }
}
