//! One trace under one config: the closed loop, the cache and the bill.

mod report;

pub use report::{Report, Row, RowKind, Totals};
