//! One chain of records to its parts: split at compactions, records gathered to calls, results paired with uses.

use std::collections::{HashMap, HashSet};

use super::super::super::FileReport;
use super::super::super::normal::{Call, Part, hash};
use super::super::content::Piece;
use super::super::pairing::pair;
use super::super::usage::{HOUR_MS, RawUsage};
use super::chains::{Body, Chain, Node};

/// A part in the making.
#[derive(Default)]
struct Open {
    calls: Vec<Call>,
    /// Per call its raw input and output.
    pieces: Vec<(Vec<Piece>, Vec<Piece>)>,
    by_call: HashMap<u128, usize>,
    blocks: Vec<HashSet<u64>>,
    pending: Vec<Piece>,
    pending_at: Option<i64>,
    ttl_ms: Option<i64>,
    edited: bool,
    replaced_ids: Vec<u128>,
}

/// Appends the parts of one chain.
pub fn walk(
    nodes: &mut [Node],
    chain: &Chain,
    order: &[u32],
    dropped: &[bool],
    linked: bool,
    report: &mut FileReport,
    parts: &mut Vec<Part>,
) {
    let mut open = Open::default();
    let mut number = 0;
    let mut kept: HashSet<u128> = HashSet::new();
    let mut left: HashSet<u128> = HashSet::new();
    for &i in order {
        let node = &mut nodes[i as usize];
        if dropped[i as usize] {
            if let Body::Output { call, .. } = node.body {
                left.insert(call);
            }
            continue;
        }
        // A prompt without a parent in a log of links starts afresh, whatever stands before it.
        let afresh = linked && node.prompt && node.parent.is_none() && !open.calls.is_empty();
        match std::mem::replace(&mut node.body, Body::Nothing) {
            Body::Nothing => {}
            Body::Edited(ids) => {
                open.edited = true;
                open.replaced_ids.extend(ids);
            }
            Body::Boundary => {
                report.compactions += 1;
                open.close(chain, &mut number, report, parts);
            }
            Body::Input { pieces, summary, .. } => {
                if afresh || (summary && !open.calls.is_empty()) {
                    // A summary with no boundary before it is a compaction of an older version.
                    report.compactions += u64::from(summary);
                    open.close(chain, &mut number, report, parts);
                }
                open.pending.extend(pieces);
                open.pending_at = node.at_ms.or(open.pending_at);
            }
            Body::Output { call, pieces, usage, stopped, model } => {
                kept.insert(call);
                open.output(call, pieces, usage.as_ref(), stopped, model, node.at_ms);
            }
        }
    }
    open.close(chain, &mut number, report, parts);
    report.rewound_requests += left.difference(&kept).count() as u64;
}

impl Open {
    fn output(&mut self, id: u128, pieces: Vec<Piece>, raw: Option<&RawUsage>, stopped: bool, model: Option<String>, at_ms: Option<i64>) {
        let index = *self.by_call.entry(id).or_insert_with(|| {
            // The request left when its last input was there; the record's own time is when the answer came.
            let start = match (self.pending_at, at_ms) {
                (Some(input), Some(answer)) if input > answer => Some(answer),
                (input, answer) => input.or(answer),
            };
            let key = hash(&[&format!("{id:032x}"), &at_ms.map_or(String::new(), |ms| ms.to_string())]);
            let messages_changed = std::mem::take(&mut self.edited);
            let replaced_ids = std::mem::take(&mut self.replaced_ids);
            self.calls.push(Call { key: Some(key), at_ms: start, messages_changed, replaced_ids, ..Call::default() });
            self.pieces.push((std::mem::take(&mut self.pending), Vec::new()));
            self.blocks.push(HashSet::new());
            self.pending_at = None;
            self.calls.len() - 1
        });
        let call = &mut self.calls[index];
        call.records += 1;
        if let Some(raw) = raw {
            let (usage, hour) = raw.disjoint();
            call.usage = Some(usage).filter(|u| u.prompt() > 0);
            call.complete = stopped;
            // A call that writes nothing keeps the TTL of the one before it, for a hit must not shorten it.
            let written = usage.cache_write_5m + usage.cache_write_1h > 0;
            call.ttl_ms = if hour { Some(HOUR_MS) } else { self.ttl_ms.filter(|_| !written) };
        }
        call.model = model.or(call.model.take());
        self.ttl_ms = call.ttl_ms;
        for piece in pieces {
            if self.blocks[index].insert(piece.mark) {
                self.pieces[index].1.push(piece);
            }
        }
    }

    /// Ends the part: pairs results with uses and hands it over, if it has a call.
    fn close(&mut self, chain: &Chain, number: &mut u32, report: &mut FileReport, parts: &mut Vec<Part>) {
        let Self { calls, pieces, pending, .. } = std::mem::take(self);
        if calls.is_empty() {
            // Client-side content without a call that sent it: nothing to replay, and what follows a compaction does not see it.
            return;
        }
        let mut part = Part {
            session: chain.session.clone(),
            agent: chain.agent.clone(),
            sub_agent: chain.sub_agent,
            number: *number,
            base_bytes: None,
            uses: Vec::new(),
            calls,
        };
        *number += 1;
        let orphans = pair(&mut part, pieces, pending);
        report.orphan_uses += orphans.uses.len() as u64;
        report.orphan_results += orphans.results.len() as u64;
        parts.push(part);
    }
}
