//! Records to histories: duplicates, chains, rewinds, compactions, calls.

use std::collections::HashMap;

use super::super::super::lenient::Content;
use super::super::super::normal::{Held, Kind, Part, hash};
use super::super::super::{FileReport, time};
use super::super::content::{Piece, Raw, input_pieces, output_pieces};
use super::super::identity::{originals, restore};
use super::super::usage::RawUsage;
use super::record::{Message, Microcompaction, Record, attachment};

/// What a record means to the conversation.
// Most records of a log are its largest variant.
#[allow(clippy::large_enum_variant)]
pub(super) enum Body {
    /// Nothing; it stands in a chain of links only.
    Nothing,
    /// Client-side content.
    Input { pieces: Vec<Piece>, results: bool, summary: bool },
    /// A part of an answer.
    Output { call: u128, pieces: Vec<Piece>, usage: Option<RawUsage>, stopped: bool, model: Option<String> },
    /// Everything before is out of the context.
    Boundary,
    /// The client cleared old results itself, those of these uses as far as it says: what it sends from here on differs from what it sent.
    Edited(Vec<u128>),
}

pub(super) struct Node {
    pub(super) parent: Option<u128>,
    pub(super) chain: u32,
    pub(super) at_ms: Option<i64>,
    /// A user's own prompt, as opposed to results, summaries and what the client inserts.
    pub(super) prompt: bool,
    pub(super) body: Body,
}

pub(super) struct Chain {
    pub(super) session: String,
    pub(super) agent: String,
    pub(super) sub_agent: bool,
}

/// A session file as it is read.
pub struct Log {
    keep_text: bool,
    pub(super) nodes: Vec<Node>,
    pub(super) by_uuid: HashMap<u128, u32>,
    pub(super) chains: Vec<Chain>,
    by_key: HashMap<u128, u32>,
    ignored: Vec<String>,
    ignored_known: HashMap<&'static str, u64>,
    duplicates: u64,
    synthetic: u64,
    unzoned: u64,
    microcompactions: u64,
    /// Records that were readable only after a repair of this reader's own.
    pub repaired: u64,
}

impl Log {
    /// An empty log. `keep_text`: whether the text is kept for the search of quotations.
    pub fn new(keep_text: bool) -> Self {
        Self {
            keep_text,
            nodes: Vec::new(),
            by_uuid: HashMap::new(),
            chains: Vec::new(),
            by_key: HashMap::new(),
            ignored: Vec::new(),
            ignored_known: HashMap::new(),
            duplicates: 0,
            synthetic: 0,
            unzoned: 0,
            microcompactions: 0,
            repaired: 0,
        }
    }

    /// Takes one record; `text` is its JSON.
    pub fn add(&mut self, record: &Record<'_>, text: &str) {
        let message = matches!(record.kind.text(), "user" | "assistant" | "attachment");
        let uuid = match record.uuid.get() {
            Some(uuid) => hash(&[uuid]),
            None if message => hash(&["line", text]),
            None => {
                self.ignore(record.kind.text());
                return;
            }
        };
        if let Some(&node) = self.by_uuid.get(&uuid) {
            self.duplicates += 1;
            // A copy written later may carry the final usage.
            if let (Body::Output { usage, stopped, .. }, Some(m)) = (&mut self.nodes[node as usize].body, &record.message.0) {
                if let Some(last) = m.usage.0 {
                    *usage = Some(last);
                }
                *stopped |= m.stop_reason.get().is_some();
            }
            return;
        }
        let chain = self.chain(record, uuid);
        let at = time::parse(record.timestamp.text());
        self.unzoned += u64::from(at.is_some_and(|a| !a.zoned));
        let prompt = record.kind.text() == "user"
            && !record.is_meta.0
            && !record.is_compact_summary.0
            && record.message.0.as_ref().is_some_and(|m| is_prompt(m));
        let body = self.body(record, uuid);
        let parent = record.parent_uuid.get().or(record.logical_parent_uuid.get()).map(|p| hash(&[p]));
        self.by_uuid.insert(uuid, self.nodes.len() as u32);
        self.nodes.push(Node { parent, chain, at_ms: at.map(|a| a.ms), prompt, body });
    }

    fn ignore(&mut self, kind: &str) {
        match super::SILENT.iter().find(|&&k| k == kind) {
            Some(&known) => *self.ignored_known.entry(known).or_default() += 1,
            None => self.ignored.push(kind.chars().take(64).collect()),
        }
    }

    /// The chain that a record belongs to: its agent's, or its parent's where the session's id changes on the way (a resumed session).
    fn chain(&mut self, record: &Record<'_>, uuid: u128) -> u32 {
        let session = record.session_id.text();
        let agent = record.agent_id.text();
        let sub = record.is_sidechain.0 || !agent.is_empty();
        let parent = record.parent_uuid.get().and_then(|p| self.by_uuid.get(&hash(&[p])));
        let parent = parent.map(|&n| self.nodes[n as usize].chain).filter(|&c| self.chains[c as usize].sub_agent == sub);
        let key = if sub { hash(&["agent", session, agent]) } else { hash(&["main", session]) };
        if let Some(&known) = self.by_key.get(&key).filter(|_| !sub || !agent.is_empty()) {
            return known;
        }
        if let Some(parent) = parent.filter(|&p| agent.is_empty() || self.chains[p as usize].agent == agent) {
            if !sub {
                self.by_key.insert(key, parent);
            }
            return parent;
        }
        let new = self.chains.len() as u32;
        let agent = match (sub, agent.is_empty()) {
            (false, _) => String::new(),
            (true, false) => agent.to_owned(),
            (true, true) => format!("{uuid:032x}"),
        };
        let session = if session.is_empty() { format!("{uuid:032x}") } else { session.to_owned() };
        self.chains.push(Chain { session, agent, sub_agent: sub });
        self.by_key.insert(key, new);
        new
    }

    fn body(&mut self, record: &Record<'_>, uuid: u128) -> Body {
        let keep = self.keep_text;
        match record.kind.text() {
            "user" => {
                let Some(message) = &record.message.0 else { return Body::Nothing };
                if record.is_visible_in_transcript_only.0 && !record.is_compact_summary.0 {
                    return Body::Nothing;
                }
                let input = input_pieces(&message.content, keep);
                Body::Input { pieces: input.pieces, results: input.results, summary: record.is_compact_summary.0 }
            }
            "assistant" => {
                let Some(message) = &record.message.0 else { return Body::Nothing };
                if message.model.text() == "<synthetic>" {
                    self.synthetic += 1;
                    return Body::Nothing;
                }
                let call = match message.id.get().or(record.request_id.get()) {
                    Some(id) => hash(&["call", id]),
                    None => uuid,
                };
                Body::Output {
                    call,
                    pieces: output_pieces(&message.content, keep),
                    usage: message.usage.0,
                    stopped: message.stop_reason.get().is_some(),
                    model: message.model.get().map(str::to_owned),
                }
            }
            "attachment" => match attachment(record.attachment.map_or("", |a| a.get()), keep) {
                Ok(gathered) => {
                    let mut item = gathered.item(Kind::User);
                    item.guessed = true;
                    Body::Input { pieces: vec![Piece { raw: Raw::User, item, mark: 0 }], results: false, summary: false }
                }
                Err(kind) => {
                    self.ignored.push(format!("attachment/{kind}"));
                    Body::Nothing
                }
            },
            "system" if record.subtype.text() == "compact_boundary" => Body::Boundary,
            kind => {
                self.ignore(kind);
                if kind == "system" && record.subtype.text() == "microcompact_boundary" {
                    self.microcompactions += 1;
                    return Body::Edited(record.microcompact_metadata.0.as_ref().map_or_else(Vec::new, Microcompaction::ids));
                }
                Body::Nothing
            }
        }
    }

    /// Sorts out what was read into histories.
    pub fn finish(mut self, report: &mut FileReport) -> Vec<Part> {
        report.duplicates += self.duplicates;
        report.synthetic += self.synthetic;
        report.repaired += self.repaired;
        let mut known: Vec<_> = self.ignored_known.drain().collect();
        known.sort_unstable();
        for (kind, n) in known {
            *report.ignored_types.entry(kind.to_owned()).or_default() += n;
        }
        for kind in &self.ignored {
            report.ignore(kind);
        }
        if self.unzoned > 0 {
            report.note(format!("{} timestamps without a zone were taken as UTC", self.unzoned));
        }
        if self.microcompactions > 0 {
            report.note(format!("the client cleared results itself {} times; the log's originals are kept", self.microcompactions));
        }
        self.restore();
        let dropped = super::rewind::dropped(&self.nodes, &self.by_uuid, self.chains.len());
        let linked = self.nodes.iter().filter(|n| n.parent.is_some()).count() > 0;
        let mut by_chain: Vec<Vec<u32>> = vec![Vec::new(); self.chains.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            by_chain[node.chain as usize].push(i as u32);
        }
        let mut parts = Vec::new();
        for (chain, nodes) in by_chain.into_iter().enumerate() {
            super::walk::walk(&mut self.nodes, &self.chains[chain], &nodes, &dropped, linked, report, &mut parts);
        }
        parts
    }
}

impl Log {
    /// Puts originals in the place of placeholders, where some record of the log holds them.
    fn restore(&mut self) {
        fn pieces(node: &Node) -> &[Piece] {
            match &node.body {
                Body::Input { pieces, results: true, .. } => pieces,
                _ => &[],
            }
        }
        if !self.nodes.iter().flat_map(pieces).any(|p| p.item.held == Held::Placeholder) {
            return;
        }
        let originals = originals(self.nodes.iter().flat_map(pieces));
        for node in &mut self.nodes {
            if let Body::Input { pieces, .. } = &mut node.body {
                for piece in pieces {
                    restore(piece, &originals);
                }
            }
        }
    }
}

/// Whether a user record holds a user's words and no result.
fn is_prompt(message: &Message<'_>) -> bool {
    match &message.content {
        Content::Nothing => false,
        Content::Text(_) => true,
        Content::Blocks(blocks) => !blocks.is_empty() && !blocks.iter().flatten().any(|b| b.kind.text() == "tool_result"),
    }
}
