//! Answers about a replay: what happened to the cache at one request, and what happens to the results of each tool.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::answer::wrap;
use super::number::{count, short};
use crate::policy::{CacheMode, Settings};
use crate::replay::{Row, RowKind, ToolTotals, plain};
use crate::trace::{Cause, Document, Refetch, Trace};

/// What the cache gave at request `index`, against what it held, and why: in words, within 80 columns. `None`: there is no such request.
pub fn why(document: &Document, trace: &Trace, settings: &Settings, index: u32) -> Option<String> {
    let request = trace.requests.get(index as usize)?;
    let mut before: Option<Row> = None;
    let mut told: Vec<String> = Vec::new();
    let (cache, _) = settings.terms(request.model);
    plain::Engine::default().watch(trace, settings, |row, engine| {
        if row.request == index {
            let what = match row.kind {
                RowKind::Original => "",
                RowKind::Refetch => ", the request that fetches again",
                RowKind::Compact => ", the one that writes a summary of the history",
            };
            told.push(format!(
                "Request {index}{what}: a prompt of {} tokens, of which {} are read from the cache, {} written and {} neither.",
                row.prompt_tokens, row.cache_read, row.cache_write, row.uncached
            ));
            let held = before.as_ref().map(|b| b.cache_read + b.cache_write);
            told.push(held.map_or_else(
                || "It is the first request, so nothing of this transcript is held.".to_owned(),
                |held| format!("The request before left {held} tokens in the cache: {} of them are not read.", held.saturating_sub(row.cache_read)),
            ));
            if row.newly_cleared > 0 {
                let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
                for (tool, _) in engine.newly_cleared() {
                    *tools.entry(&trace.tools[tool as usize].name).or_default() += 1;
                }
                let names: Vec<String> = tools.iter().map(|(name, n)| format!("{name} {n}")).collect();
                told.push(format!(
                    "{} cleared here ({}), which frees {} tokens and makes the cache give {} less than without this clear.",
                    if row.newly_cleared == 1 { "1 result is".to_owned() } else { format!("{} results are", row.newly_cleared) },
                    names.join(", "),
                    row.freed_tokens,
                    row.invalidated_tokens
                ));
                if let Some(cut) = engine.cut() {
                    told.push(format!("What stands before the first of them is unchanged: {} tokens.", cut.before_tokens));
                    if cache.mode == CacheMode::Entries && row.cache_read <= trace.base_tokens && cut.before_tokens > trace.base_tokens {
                        told.push(format!(
                            "No entry that ends there lies within the {} positions that the cache is looked up, back from the end ({} from the newest cleared result on), so only system prompt and tools are read.",
                            cache.lookback, cut.behind
                        ));
                    } else if row.cache_read < cut.before_tokens {
                        told.push(format!("The longest entry that ends there and still lives holds {} tokens.", row.cache_read));
                    }
                }
            }
            natural(&mut told, document, trace, settings, index, before.as_ref(), row);
        }
        before = Some(row.clone());
    });
    let mut out = String::new();
    for sentence in told {
        for line in wrap(&sentence, 80) {
            let _ = writeln!(out, "{line}");
        }
    }
    Some(out)
}

/// What happened besides clearing.
fn natural(told: &mut Vec<String>, document: &Document, trace: &Trace, settings: &Settings, index: u32, before: Option<&Row>, row: &Row) {
    let request = &trace.requests[index as usize];
    let (cache, _) = settings.terms(request.model);
    let Some(before) = before.filter(|b| b.request != index) else { return };
    let previous = &trace.requests[before.request as usize];
    let (gap, ttl) = (request.at_ms - previous.at_ms, cache.ttl(request.ttl_ms));
    let quiet = told.len();
    if gap > ttl && !request.kept_warm {
        told.push(format!("{} s lie between the two requests, longer than the {} s that entries live.", gap / 1000, ttl / 1000));
    }
    if previous.model != request.model {
        told.push("Another model answers than before, and caches are kept per model.".to_owned());
    }
    if let Some(n) = request.flush_above.filter(|&n| n < u64::from(u32::MAX)) {
        let cause = document.requests[index as usize].invalidation_cause.unwrap_or(Cause::Unknown);
        let cause = serde_json::to_value(cause).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        told.push(format!("The log shows a natural invalidation here (cause: {cause}): what was longer than {n} tokens was gone, with or without clearing."));
    }
    let held = before.cache_read + before.cache_write;
    if told.len() == quiet && row.newly_cleared == 0 {
        told.push(if row.cache_read >= held {
            "Nothing is lost: everything that was held is read.".to_owned()
        } else if row.original_tokens - row.prompt_tokens < before.original_tokens - before.prompt_tokens {
            "Results that were cleared before stand in full again.".to_owned()
        } else {
            format!("More was appended since than the {} positions that the cache is looked up.", cache.lookback)
        });
    }
}

/// What a config does to the results of each tool, within 80 columns; tools with most re-fetches first.
pub fn by_tool_table(tools: &BTreeMap<String, ToolTotals>) -> String {
    let mut order: Vec<(&String, &ToolTotals)> = tools.iter().collect();
    order.sort_by(|a, b| {
        (b.1.refetches + b.1.lost_needs + b.1.unmet_needs, b.1.result_tokens)
            .cmp(&(a.1.refetches + a.1.lost_needs + a.1.unmet_needs, a.1.result_tokens))
    });
    let width = order.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(4).clamp(4, 24);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<width$} {:>7} {:>7} {:>7} {:>7} {:>8} {:>5} {:>5}",
        "tool", "results", "tokens", "cleared", "freed", "re-fetch", "lost", "unmet"
    );
    for (name, t) in order {
        let name: String = name.chars().take(width).collect();
        let how = match t.refetch {
            Refetch::Yes => "",
            Refetch::Costly => " costly",
            Refetch::Never => " never",
        };
        let numbers = [t.results as f64, t.result_tokens as f64, t.cleared as f64, t.freed_tokens as f64].map(short);
        let _ = writeln!(
            out,
            "{name:<width$} {:>7} {:>7} {:>7} {:>7} {:>8} {:>5} {:>5}{how}",
            numbers[0], numbers[1], numbers[2], numbers[3], t.refetches, t.lost_needs, t.unmet_needs
        );
    }
    let sum = |of: fn(&ToolTotals) -> u64| tools.values().map(of).sum::<u64>();
    let _ = writeln!(
        out,
        "{} fetched again, {} lost, {} unmet",
        count(sum(|t| t.refetches), "result"),
        count(sum(|t| t.lost_needs), "need"),
        sum(|t| t.unmet_needs)
    );
    out
}
