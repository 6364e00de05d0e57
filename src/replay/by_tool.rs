//! What one config does to the results of each tool.

use std::collections::BTreeMap;

use super::{RowKind, plain};
use crate::policy::Settings;
use crate::trace::{BlockKind, Refetch, Trace};

/// Totals of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolTotals {
    /// Whether its results can be had again.
    pub refetch: Refetch,
    /// Results in the transcripts, those that are fetched again left out.
    pub results: u64,
    /// Their tokens.
    pub result_tokens: u64,
    /// Times that a result of it was cleared.
    pub cleared: u64,
    /// Tokens that went with them.
    pub freed_tokens: i64,
    /// Results fetched again.
    pub refetches: u64,
    /// Needs of results that are gone for good.
    pub lost_needs: u64,
    /// Needs still missing after the re-fetch rounds.
    pub unmet_needs: u64,
}

/// Adds the replay of one trace to the totals of each tool, by name.
pub fn add_by_tool(totals: &mut BTreeMap<String, ToolTotals>, trace: &Trace, settings: &Settings) {
    let mut of: Vec<ToolTotals> = trace.tools.iter().map(|tool| ToolTotals { refetch: tool.refetch, ..ToolTotals::default() }).collect();
    for (block, kind) in trace.kinds.iter().enumerate() {
        if *kind == BlockKind::Result {
            let tool = &mut of[trace.uses[trace.block_use[block] as usize].tool as usize];
            tool.results += 1;
            tool.result_tokens += u64::from(trace.tokens[block]);
        }
    }
    let tool_of = |origin: u32| trace.uses[origin as usize].tool as usize;
    plain::Engine::default().watch(trace, settings, |row, engine| {
        for (tool, freed) in engine.newly_cleared() {
            of[tool as usize].cleared += 1;
            of[tool as usize].freed_tokens += freed;
        }
        for &origin in engine.missing() {
            match row.kind {
                RowKind::Refetch => of[tool_of(origin)].refetches += 1,
                RowKind::Original => of[tool_of(origin)].unmet_needs += 1,
                RowKind::Compact => {}
            }
        }
        if row.kind == RowKind::Original {
            for &origin in engine.lost() {
                of[tool_of(origin)].lost_needs += 1;
            }
        }
    });
    for (tool, one) in trace.tools.iter().zip(of) {
        let sum = totals.entry(tool.name.clone()).or_default();
        sum.refetch = one.refetch;
        sum.results += one.results;
        sum.result_tokens += one.result_tokens;
        sum.cleared += one.cleared;
        sum.freed_tokens += one.freed_tokens;
        sum.refetches += one.refetches;
        sum.lost_needs += one.lost_needs;
        sum.unmet_needs += one.unmet_needs;
    }
}
