//! One chain of records to its parts: split at compactions, records gathered to calls, results paired with uses.

use std::collections::{HashMap, HashSet};

use super::super::super::FileReport;
use super::super::super::normal::{Call, Item, Kind, Part, arrange, hash};
use super::chains::{Body, Chain, Node, Piece, Raw};
use super::record::RawUsage;
use crate::trace::Usage;

const HOUR_MS: i64 = 3_600_000;

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
            self.calls.push(Call { key: Some(key), at_ms: start, ..Call::default() });
            self.pieces.push((std::mem::take(&mut self.pending), Vec::new()));
            self.blocks.push(HashSet::new());
            self.pending_at = None;
            self.calls.len() - 1
        });
        let call = &mut self.calls[index];
        call.records += 1;
        if let Some(raw) = raw {
            let (usage, hour) = disjoint(raw);
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
            uses: Vec::new(),
            calls,
        };
        *number += 1;
        let mut used_in: Vec<usize> = Vec::new();
        let mut by_id: HashMap<u128, Vec<u32>> = HashMap::new();
        let mut inputs = Vec::new();
        for (i, (input, output)) in pieces.into_iter().enumerate() {
            inputs.push(input);
            for Piece { raw, mut item, .. } in output {
                if let Raw::Use(id, name) = raw {
                    let index = part.uses.len() as u32;
                    part.uses.push(name);
                    used_in.push(i);
                    by_id.entry(id).or_default().push(index);
                    item.kind = Kind::Use(index);
                }
                part.calls[i].output.push(item);
            }
        }
        inputs.push(pending);
        let mut answered = vec![false; part.uses.len()];
        let calls = part.calls.len();
        let mut arriving: Vec<Vec<Item>> = (0..=calls).map(|_| Vec::new()).collect();
        for (i, input) in inputs.into_iter().enumerate() {
            for Piece { raw, mut item, .. } in input {
                let mut at = i;
                if let Raw::Result(id) = raw {
                    // Ids that occur again are paired in turn.
                    let found = by_id.get(&id).and_then(|uses| uses.iter().copied().find(|&u| !answered[u as usize]));
                    if let Some(index) = found {
                        answered[index as usize] = true;
                        item.kind = Kind::Result(index);
                        // A result that the log writes before its use was sent after it all the same.
                        at = at.max(used_in[index as usize] + 1);
                    } else {
                        report.orphan_results += 1;
                        item.kind = Kind::User;
                    }
                }
                arriving[at].push(item);
            }
        }
        report.orphan_uses += answered.iter().filter(|a| !**a).count() as u64;
        for (call, mut input) in part.calls.iter_mut().zip(arriving) {
            arrange(&mut input);
            call.input = input;
        }
        parts.push(part);
    }
}

/// Usage with disjoint fields, and whether anything was written for an hour.
///
/// Where the split by TTL does not sum to the total, the hour's part counts up to the total and the rest is 5 minutes.
fn disjoint(raw: &RawUsage) -> (Usage, bool) {
    let n = |c: super::super::super::lenient::Count| c.0.unwrap_or(0);
    let split = raw.cache_creation.0.unwrap_or_default();
    let (minutes, hour) = (n(split.ephemeral_5m_input_tokens), n(split.ephemeral_1h_input_tokens));
    let total = raw.cache_creation_input_tokens.0.unwrap_or(minutes + hour);
    let hour = hour.min(total);
    let usage = Usage {
        input: n(raw.input_tokens),
        cache_read: n(raw.cache_read_input_tokens),
        cache_write_5m: total - hour,
        cache_write_1h: hour,
        output: n(raw.output_tokens),
    };
    (usage, hour > 0)
}
