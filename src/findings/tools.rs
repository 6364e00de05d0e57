//! Which tools' results are cleared, kept and fetched again.

use super::survey::{Survey, ToolSurvey};
use super::{Finding, Id, Severity, count, n, percent};
use crate::policy::ClearToolUses;
use crate::sweep::Transcript;
use crate::trace::Refetch;

/// Excluded tools dominate when they hold more than this share of the result tokens.
const DOMINATES: f64 = 0.5;
/// `keep` splits batches when it is smaller than at least this share of them.
const SPLITS: f64 = 0.1;
/// Words in the names of tools that hold what the agent wants to remember.
const MEMORY: [&str; 4] = ["memory", "todo", "scratchpad", "notes"];

pub(super) fn find(edit: &ClearToolUses, transcripts: &[Transcript], total: &Survey, found: &mut Vec<Finding>) {
    if total.excluded_tokens as f64 > DOMINATES * total.result_tokens as f64 {
        let excluded: Vec<&ToolSurvey> = total.tools.iter().filter(|t| t.excluded).collect();
        let largest = excluded.iter().max_by_key(|t| t.result_tokens).map_or("", |t| t.name.as_str());
        found.push(Finding {
            id: Id::ExcludedDominates,
            severity: Severity::Warning,
            evidence: format!(
                "excluded tools hold {} of all result tokens ({} of {}), {largest} the most; they are never cleared",
                percent(total.excluded_tokens as f64, total.result_tokens as f64),
                n(total.excluded_tokens),
                n(total.result_tokens)
            ),
            numbers: vec![("excluded_tokens", total.excluded_tokens as f64), ("result_tokens", total.result_tokens as f64)],
            remedy: format!("take {largest} out of exclude_tools if its results can be fetched again"),
        });
    }
    for tool in total.tools.iter().filter(|t| t.cleared > 0 && !t.excluded) {
        let name = tool.name.to_lowercase();
        if MEMORY.iter().any(|word| name.contains(word)) {
            found.push(Finding {
                id: Id::MemoryNotExcluded,
                severity: Severity::Warning,
                evidence: format!(
                    "{} of {}, a tool that keeps what the agent wants to remember, are cleared",
                    count(tool.cleared, "result"),
                    tool.name
                ),
                numbers: vec![("cleared", tool.cleared as f64)],
                remedy: format!("put {} into exclude_tools", tool.name),
            });
        }
        if tool.refetch == Refetch::Never {
            let (severity, what) = if tool.lost > 0 {
                (Severity::Error, format!("{} of them later and lost", count(tool.lost, "need")))
            } else {
                (Severity::Note, "none is needed again here".to_owned())
            };
            found.push(Finding {
                id: Id::IrrecoverableCleared,
                severity,
                evidence: format!("{} of {}, which cannot be fetched again, are cleared; {what}", count(tool.cleared, "result"), tool.name),
                numbers: vec![("cleared", tool.cleared as f64), ("lost_needs", tool.lost as f64)],
                remedy: format!("put {} into exclude_tools", tool.name),
            });
        }
    }
    splits(edit, transcripts, total, found);
    if total.chained > 0 {
        let mut tools: Vec<&ToolSurvey> = total.tools.iter().filter(|t| t.refetched > 0).collect();
        tools.sort_by(|a, b| b.refetched.cmp(&a.refetched).then(a.name.cmp(&b.name)));
        let names: Vec<String> = tools.iter().take(3).map(|t| format!("{} {}", t.name, n(t.refetched))).collect();
        found.push(Finding {
            id: Id::RefetchChain,
            severity: Severity::Warning,
            evidence: format!(
                "{} cleared and fetched again more than once, at most {} times; re-fetches by tool: {}",
                if total.chained == 1 { "1 result is".to_owned() } else { format!("{} results are", n(total.chained)) },
                total.longest_chain,
                names.join(", ")
            ),
            numbers: vec![("results", total.chained as f64), ("longest_chain", f64::from(total.longest_chain))],
            remedy: "set a larger keep, or exclude the tools whose results are needed all along".to_owned(),
        });
    }
}

fn splits(edit: &ClearToolUses, transcripts: &[Transcript], total: &Survey, found: &mut Vec<Finding>) {
    let all: u64 = total.batches.iter().sum();
    let split: u64 = total.batches.iter().skip(edit.keep as usize + 1).sum();
    if total.events == 0 || split == 0 || (split as f64) < SPLITS * all as f64 {
        return;
    }
    let largest = total.batches.len() as u64 - 1;
    // The batch that only a tenth of them exceed.
    let mut below = 0;
    let usual = total.batches.iter().position(|n| {
        below += n;
        below as f64 >= (1.0 - SPLITS) * all as f64
    });
    let sessions = transcripts.len() as u64;
    found.push(Finding {
        id: Id::KeepSplitsBatch,
        severity: Severity::Warning,
        evidence: format!(
            "{} of {} in {} are larger than keep {} (the largest {}), so that results are cleared before the model saw them once",
            n(split),
            count(all, "batch of parallel uses").replace("batch of parallel usess", "batches of parallel uses"),
            count(sessions, "transcript"),
            edit.keep,
            n(largest)
        ),
        numbers: vec![("batches", all as f64), ("larger_than_keep", split as f64), ("largest", largest as f64)],
        remedy: format!("set keep to {} or more", n(usual.unwrap_or(largest as usize).max(edit.keep as usize + 1) as u64)),
    });
}
