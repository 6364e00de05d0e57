//! Requests to conversations.
//!
//! A request continues another when it begins with that request's messages and the message after them is its answer. So the requests form
//! trees; the path through the largest subtrees is a conversation's transcript, and every other branch (a retry of the same prompt, a return
//! to an earlier point) is a transcript of its own that takes over its history as client text. A prefix that no request has seen is a new
//! tree: another conversation, a sub-agent's, a title call, or the same agent after a compaction.

use std::collections::HashMap;

use super::super::super::FileReport;
use super::super::super::normal::{Asked, Call, Held, Item, Kind, Part, hash};
use super::super::content::{Piece, Raw};
use super::super::pairing::pair;
use super::super::usage::{HOUR_MS, RawUsage};
use super::answer::Answer;
use super::message::{Marks, Msg, Role};

/// A request and its answer; or a mere list of messages, which is no request (`sent` is false).
#[derive(Debug, Default)]
pub struct Exchange {
    pub key: u128,
    /// Hash of the messages up to and with the last of the client's.
    pub prompt: u128,
    pub at_ms: Option<i64>,
    pub session: Option<String>,
    pub model: Option<String>,
    pub system_hash: Option<u128>,
    pub tools_hash: Option<u128>,
    pub base_bytes: Option<u64>,
    pub sent: bool,
    pub asked: Asked,
    pub marks: Marks,
    pub redacted: bool,
    pub messages: Vec<u32>,
    pub answer: Option<Answer>,
}

/// Hash of a list of messages that is one longer.
fn longer(prefix: u128, message: u128) -> u128 {
    hash(&[&format!("{prefix:032x}{message:032x}")])
}

impl Exchange {
    /// Messages up to and with the client's last; what an assistant's message after it begins is a prefill, or an answer to be gone on with.
    fn asked_with(&self, all: &[Msg]) -> usize {
        if !self.sent {
            return self.messages.len();
        }
        let prefilled = self.messages.iter().rev().take_while(|&&m| all[m as usize].role == Role::Assistant).count();
        self.messages.len() - prefilled
    }

    /// Hashes of the first 0, 1, 2, … messages.
    fn prefixes(&self, all: &[Msg]) -> Vec<u128> {
        let mut prefixes = vec![0];
        for &m in &self.messages {
            let last = prefixes[prefixes.len() - 1];
            prefixes.push(longer(last, all[m as usize].hash));
        }
        prefixes
    }

    /// Sets `prompt` and `key`.
    pub fn identify(&mut self, all: &[Msg]) {
        let prefixes = self.prefixes(all);
        self.prompt = prefixes[self.asked_with(all)];
        let answer = self.answer.as_ref();
        self.key = match answer.and_then(|a| a.id.as_deref()) {
            Some(id) => hash(&["messages_api", id]),
            None => hash(&[
                "messages_api",
                &format!("{:032x}", prefixes[prefixes.len() - 1]),
                &answer.map_or(String::new(), |a| format!("{:032x}", a.hash)),
                &self.at_ms.map_or(String::new(), |ms| ms.to_string()),
                &format!("{:?} {:?}", self.system_hash, self.tools_hash),
                // Redacted requests differ in nothing but what was billed.
                &answer.filter(|_| self.redacted).map_or(String::new(), |a| format!("{:?}", a.usage.map(|u| u.disjoint().0))),
            ]),
        };
    }

    fn same_base(&self, other: &Self) -> bool {
        match (self.tools_hash, other.tools_hash) {
            (Some(a), Some(b)) if a == b => true,
            _ => self.system_hash == other.system_hash && self.tools_hash.is_some() == other.tools_hash.is_some(),
        }
    }

    /// How well the message that follows this request fits its answer: 0 not, 1 perhaps, 2 surely.
    fn fits(&self, next: &Msg) -> u8 {
        match &self.answer {
            Some(answer) if answer.hash == next.hash => 2,
            Some(answer) if answer.complete => 0,
            _ => 1,
        }
    }
}

/// An exchange's place in its tree.
#[derive(Debug, Clone, Default)]
struct Node {
    parent: Option<usize>,
    /// Messages up to and with the client's last.
    len: usize,
    children: Vec<usize>,
    size: usize,
}

/// The parts of a log.
pub fn regroup(mut all: Vec<Msg>, exchanges: Vec<Exchange>, report: &mut FileReport) -> Vec<Part> {
    let all = all.as_mut_slice();
    let (redacted, mut exchanges): (Vec<_>, Vec<_>) = exchanges.into_iter().partition(|e| e.redacted);
    drop_unanswered(&mut exchanges, report);
    let nodes = tree(all, &exchanges);
    let roots: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i].parent.is_none()).collect();
    let mut parts = Vec::new();
    for (session, roots) in sessions(&exchanges, &roots, &nodes) {
        let main = roots.iter().copied().max_by_key(|&r| (nodes[r].size, std::cmp::Reverse(r))).unwrap_or(0);
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut before: Option<usize> = None;
        for root in roots {
            let sub_agent = !exchanges[root].same_base(&exchanges[main]);
            let agent = if sub_agent { format!("{:032x}", exchanges[root].key) } else { String::new() };
            if !sub_agent {
                report.compactions += u64::from(before.is_some());
                before = Some(root);
            }
            // The longest path first, then the branches off it: what they share with it is then known.
            let mut starts = vec![root];
            while let Some(start) = starts.pop() {
                let mut path = vec![start];
                let mut at = start;
                while let Some(next) = widest(&nodes, at) {
                    starts.extend(nodes[at].children.iter().copied().filter(|&c| c != next).rev());
                    path.push(next);
                    at = next;
                }
                let mut history = Vec::new();
                let mut above = nodes[start].parent;
                while let Some(i) = above {
                    history.push(i);
                    above = nodes[i].parent;
                }
                history.reverse();
                let own = history.len();
                history.extend(path);
                let number = numbers.entry(agent.clone()).or_default();
                let part = Part {
                    session: session.clone(),
                    agent: agent.clone(),
                    sub_agent,
                    number: *number,
                    base_bytes: exchanges[history[0]].base_bytes,
                    ..Part::default()
                };
                if let Some(part) = build(part, all, &exchanges, &nodes, &history, own, report) {
                    *number += 1;
                    parts.push(part);
                }
            }
        }
    }
    usage_only(redacted, &mut parts);
    parts
}

/// Leaves out requests without a response of which the log holds another attempt that has one.
fn drop_unanswered(exchanges: &mut Vec<Exchange>, report: &mut FileReport) {
    let answered: std::collections::HashSet<u128> = exchanges.iter().filter(|e| e.answer.is_some()).map(|e| e.prompt).collect();
    let before = exchanges.len();
    exchanges.retain(|e| !e.sent || e.answer.is_some() || !answered.contains(&e.prompt));
    for _ in exchanges.len()..before {
        report.ignore("unanswered_request");
    }
}

/// Every exchange's parent: the one whose prompt and answer are the longest beginning of its messages.
fn tree(all: &[Msg], exchanges: &[Exchange]) -> Vec<Node> {
    let mut nodes: Vec<Node> = exchanges.iter().map(|e| Node { len: e.asked_with(all), size: 1, ..Node::default() }).collect();
    // A parent is shorter than its child, whatever the order in which the log has them.
    let mut order: Vec<usize> = (0..exchanges.len()).collect();
    order.sort_by_key(|&i| (nodes[i].len, exchanges[i].messages.len(), exchanges[i].at_ms, i));
    let mut by_prompt: HashMap<u128, Vec<usize>> = HashMap::new();
    for &i in &order {
        let exchange = &exchanges[i];
        let prefixes = exchange.prefixes(all);
        // An answer at the end that the model is to go on with (`pause_turn`) continues the very prompt.
        let longest = if exchange.messages.len() == nodes[i].len + 1 { nodes[i].len } else { nodes[i].len.saturating_sub(1) };
        nodes[i].parent = (1..=longest).rev().find_map(|k| {
            let next = &all[exchange.messages[k] as usize];
            let candidates = by_prompt.get(&prefixes[k])?;
            candidates
                .iter()
                .filter_map(|&c| {
                    let other = &exchanges[c];
                    let fits = match (other.sent, next.role) {
                        (false, _) => 2,
                        (true, Role::Assistant) => other.fits(next),
                        (true, _) => 0,
                    };
                    let same = other.same_base(exchange);
                    let allowed = fits == 2 || (fits == 1 && same && k < nodes[i].len);
                    let model = other.model == exchange.model;
                    allowed.then_some(((fits, same, model, std::cmp::Reverse(c)), c))
                })
                .max()
                .map(|(_, c)| c)
        });
        by_prompt.entry(exchange.prompt).or_default().push(i);
    }
    for &i in order.iter().rev() {
        if let Some(parent) = nodes[i].parent {
            nodes[parent].size += nodes[i].size;
        }
    }
    for i in 0..nodes.len() {
        if let Some(parent) = nodes[i].parent {
            nodes[parent].children.push(i);
        }
    }
    nodes
}

/// The child with the largest subtree, the first of several.
fn widest(nodes: &[Node], at: usize) -> Option<usize> {
    nodes[at].children.iter().copied().max_by_key(|&c| (nodes[c].size, std::cmp::Reverse(c)))
}

/// The trees by session, in order of time; a tree whose requests name no session is a session of its own.
fn sessions(exchanges: &[Exchange], roots: &[usize], nodes: &[Node]) -> Vec<(String, Vec<usize>)> {
    let mut all: Vec<(String, Vec<usize>)> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut roots: Vec<usize> = roots.to_vec();
    roots.sort_by_key(|&r| (exchanges[r].at_ms, r));
    for root in roots {
        debug_assert!(nodes[root].parent.is_none());
        let name = exchanges[root].session.clone().unwrap_or_else(|| format!("tree {:032x}", exchanges[root].key));
        let index = *by_name.entry(name.clone()).or_insert_with(|| {
            all.push((name, Vec::new()));
            all.len() - 1
        });
        all[index].1.push(root);
    }
    all
}

/// A part in the making.
struct Builder {
    calls: Vec<Call>,
    pieces: Vec<(Vec<Piece>, Vec<Piece>)>,
    pending: Vec<Piece>,
    ttl_ms: Option<i64>,
}

/// The part of a path of exchanges, of which the first `own` belong to another part already.
fn build(
    mut part: Part,
    all: &mut [Msg],
    exchanges: &[Exchange],
    nodes: &[Node],
    path: &[usize],
    own: usize,
    report: &mut FileReport,
) -> Option<Part> {
    let mut builder = Builder { calls: Vec::new(), pieces: Vec::new(), pending: Vec::new(), ttl_ms: None };
    let mut own_calls = 0;
    // A body alone is as long as its messages: they are moved where no other exchange and no later place of it holds the same.
    let last: HashMap<u32, usize> = match exchanges {
        [alone] => alone.messages.iter().enumerate().map(|(place, &m)| (m, place)).collect(),
        _ => HashMap::new(),
    };
    let pieces = |all: &mut [Msg], m: u32, place: usize| match last.get(&m) {
        Some(&last) if last == place => std::mem::take(&mut all[m as usize].pieces),
        _ => all[m as usize].pieces.clone(),
    };
    for (j, &i) in path.iter().enumerate() {
        if j == own {
            own_calls = builder.calls.len();
        }
        let exchange = &exchanges[i];
        let mut prefix = exchange.prefixes(all).into_iter();
        let mut from = 0;
        if let Some(before) = j.checked_sub(1).map(|j| path[j]) {
            from = nodes[before].len;
            if exchanges[before].sent && from < exchange.messages.len() {
                // What the next request shows of the answer fills in what the log lacks of it.
                let shown = &all[exchange.messages[from] as usize];
                let known = exchanges[before].answer.as_ref();
                if known.is_none_or(|a| !a.complete || a.pieces.is_empty())
                    && let Some((_, output)) = builder.pieces.last_mut()
                {
                    output.clone_from(&shown.pieces);
                }
                from += 1;
            }
        }
        let replaced_ids = j.checked_sub(1).map_or_else(Vec::new, |b| replaced(all, exchange, &exchanges[path[b]], nodes[path[b]].len));
        let mut prefix_at = prefix.nth(from).unwrap_or(0);
        for place in from.min(nodes[i].len)..nodes[i].len {
            let m = exchange.messages[place];
            prefix_at = longer(prefix_at, all[m as usize].hash);
            let pieces = pieces(all, m, place);
            if all[m as usize].role == Role::Assistant {
                builder.unlogged(&all[m as usize], pieces, prefix_at, exchange);
            } else {
                builder.pending.extend(pieces);
            }
        }
        if exchange.sent {
            for &m in &exchange.messages[nodes[i].len.max(from)..] {
                // A prefill is a part of the prompt.
                builder.pending.extend(all[m as usize].pieces.iter().cloned().map(|p| Piece {
                    raw: Raw::User,
                    item: Item { kind: Kind::User, ..p.item },
                    mark: 0,
                }));
            }
            builder.call(exchange, replaced_ids);
        }
    }
    let Builder { calls, pieces, pending, .. } = builder;
    if calls.len() == own_calls {
        return None;
    }
    part.calls = calls;
    let orphans = pair(&mut part, pieces, pending);
    report.orphan_uses += orphans.uses.iter().filter(|&&c| c >= own_calls).count() as u64;
    report.orphan_results += orphans.results.iter().filter(|&&c| c >= own_calls).count() as u64;
    for call in &mut part.calls[..own_calls] {
        // Copies of another part's calls: no records of their own.
        call.records = 0;
    }
    Some(part)
}

/// Ids of the uses whose results `now` sends as placeholders, among its first `shared` messages, and `before` sent whole.
fn replaced(all: &[Msg], now: &Exchange, before: &Exchange, shared: usize) -> Vec<u128> {
    let cleared = |m: u32| {
        all[m as usize].pieces.iter().filter_map(|p| match (&p.raw, p.item.held) {
            (Raw::Result(id), Held::Placeholder | Held::Restored) => Some(*id),
            _ => None,
        })
    };
    let differ = now.messages.iter().zip(&before.messages).take(shared).filter(|(a, b)| a != b);
    differ.flat_map(|(&a, &b)| cleared(a).filter(move |id| !cleared(b).any(|other| other == *id))).collect()
}

impl Builder {
    /// A call of which only the answer is in the log, as a message of a later request.
    fn unlogged(&mut self, msg: &Msg, pieces: Vec<Piece>, prefix: u128, exchange: &Exchange) {
        // Messages of the model in a row are one answer, unless each was billed.
        let billed = msg.usage.is_some() || msg.id.is_some();
        if self.pending.is_empty()
            && !billed
            && let Some((_, output)) = self.pieces.last_mut()
        {
            output.extend(pieces);
            return;
        }
        let key = match &msg.id {
            Some(id) => hash(&["messages_api", id]),
            None => hash(&["messages_api", "unlogged", &format!("{prefix:032x}"), exchange.session.as_deref().unwrap_or("")]),
        };
        let call = Call {
            key: Some(key),
            model: msg.model.clone().or(exchange.model.clone()),
            complete: msg.stopped,
            records: 1,
            // Of a list of messages these are all that is known; a lost request may have had others.
            system_hash: exchange.system_hash.filter(|_| !exchange.sent),
            tools_hash: exchange.tools_hash.filter(|_| !exchange.sent),
            ..Call::default()
        };
        self.push(call, msg.usage.as_ref(), Marks::default(), pieces);
    }

    fn call(&mut self, exchange: &Exchange, replaced_ids: Vec<u128>) {
        let answer = exchange.answer.as_ref();
        let call = Call {
            key: Some(exchange.key),
            model: exchange.model.clone(),
            at_ms: exchange.at_ms,
            complete: answer.is_some_and(|a| a.complete),
            records: 1,
            system_hash: exchange.system_hash,
            tools_hash: exchange.tools_hash,
            asked: exchange.asked.clone(),
            applied: answer.and_then(|a| a.applied),
            messages_changed: !replaced_ids.is_empty(),
            replaced_ids,
            ..Call::default()
        };
        let usage = answer.and_then(|a| a.usage);
        self.push(call, usage.as_ref(), exchange.marks, answer.map_or_else(Vec::new, |a| a.pieces.clone()));
    }

    fn push(&mut self, mut call: Call, raw: Option<&RawUsage>, marks: Marks, output: Vec<Piece>) {
        let only_hour = marks.hour && !marks.minutes;
        let mut written = false;
        if let Some(raw) = raw {
            let (mut usage, _) = raw.disjoint();
            if only_hour && !raw.split_by_ttl() {
                usage.cache_write_1h += std::mem::take(&mut usage.cache_write_5m);
            }
            written = usage.cache_write_5m + usage.cache_write_1h > 0;
            if written {
                self.ttl_ms = (usage.cache_write_1h > 0).then_some(HOUR_MS);
            }
            call.usage = Some(usage).filter(|u| u.prompt() > 0);
        }
        // Where nothing was written the breakpoints tell, and where there are none a hit keeps the TTL of the entry.
        if !written && (marks.hour || marks.minutes) {
            self.ttl_ms = only_hour.then_some(HOUR_MS);
        }
        call.ttl_ms = self.ttl_ms;
        self.calls.push(call);
        self.pieces.push((std::mem::take(&mut self.pending), output));
    }
}

/// Parts of redacted requests, a session each, of nothing but usage.
fn usage_only(redacted: Vec<Exchange>, parts: &mut Vec<Part>) {
    let mut all: Vec<(String, Vec<Exchange>)> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for exchange in redacted {
        let name = exchange.session.clone().unwrap_or_else(|| format!("redacted {:032x}", exchange.key));
        let index = *by_name.entry(name.clone()).or_insert_with(|| {
            all.push((name, Vec::new()));
            all.len() - 1
        });
        all[index].1.push(exchange);
    }
    for (session, mut exchanges) in all {
        exchanges.sort_by_key(|e| e.at_ms);
        let mut builder = Builder { calls: Vec::new(), pieces: Vec::new(), pending: Vec::new(), ttl_ms: None };
        for exchange in &exchanges {
            builder.call(exchange, Vec::new());
        }
        let part =
            Part { session, agent: "redacted".to_owned(), base_bytes: exchanges[0].base_bytes, calls: builder.calls, ..Part::default() };
        parts.push(part);
    }
}
