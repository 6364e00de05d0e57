//! Workloads of given sizes: every transcript is the script.

use super::plan::{Mechanism, Plan, PlannedNeed, PlannedRequest, PlannedUse};
use super::spec::{Script, Spec};
use crate::trace::ToolDoc;

/// Of a script without results; where there are any, theirs counts.
const BYTES_PER_TOKEN: f64 = 3.4;

/// The script as a session.
pub(super) fn plan(spec: &Spec, script: &Script, index: usize) -> Plan {
    let mut uses: Vec<PlannedUse> = Vec::new();
    let mut requests = Vec::with_capacity(script.requests.len());
    let mut needs: Vec<PlannedNeed> = Vec::new();
    let mut at_ms = 0;
    for (i, line) in script.requests.iter().enumerate() {
        at_ms += (line.gap_seconds * 1000.0).round() as i64;
        let first = uses.len();
        uses.extend(line.uses.iter().map(|one| PlannedUse {
            class: one.tool.clone(),
            tool: one.tool.clone(),
            tokens: one.tokens,
            result_tokens: one.result_tokens,
            result_bytes: one.result_bytes,
            error: false,
            issued: i,
            page_of: None,
            note_of: None,
        }));
        needs.extend(line.needs.iter().map(|&use_id| PlannedNeed { request: i, use_id, mechanism: Mechanism::Script }));
        requests.push(PlannedRequest {
            at_ms,
            user: line.user,
            thinking: line.thinking,
            text: line.text,
            uses: first,
            uses_end: uses.len(),
            flush_above: line.flush_above,
            synthesis: false,
        });
    }
    needs.sort_unstable();
    needs.dedup();
    let (id, source) = spec.head(index);
    let tools = script
        .tools
        .iter()
        .map(|(name, tool)| {
            (name.clone(), ToolDoc { refetch: tool.refetch, refetch_usd: tool.refetch_usd, refetch_seconds: tool.refetch_seconds })
        })
        .collect();
    let (bytes, tokens) = uses.iter().fold((0, 0), |(b, t), u| (b + u.result_bytes, t + u64::from(u.result_tokens)));
    let bytes_per_token = if bytes > 0 && tokens > 0 { bytes as f64 / tokens as f64 } else { BYTES_PER_TOKEN };
    let (model, base_tokens) = (spec.model.clone(), script.base_tokens);
    Plan { id, model, base_tokens, bytes_per_token, source, tools, uses, requests, needs }
}
