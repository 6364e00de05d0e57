//! What is quoted: for each need of a plan a sentence of the result, how the output repeats it, and where there is room for it.
//!
//! Beside these stand quotations that are no needs: of a result in the very request that brings it, and of what was quoted before.

use std::borrow::Cow;

use serde::Serialize;

use super::dist::{Share, Stream};
use super::plan::{Plan, PlannedUse};
use super::words::Writer;

/// How an output draws on a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuoteKind {
    /// A sentence of the result, word for word.
    Literal,
    /// A sentence of the result and the end of the header before it, which other results have too.
    BoilerplateAdjacent,
    /// The line in which a later result, otherwise the same, differs.
    NearDuplicate,
    /// A sentence that the result itself quotes from an earlier one: it is the later that is drawn on.
    ResultQuotesResult,
    /// The same words in another order: nothing that a search for quotations can see.
    Paraphrase,
    /// Too few words for a search for quotations to tell from chance: at most 34 bytes.
    Short,
    /// Nothing: the output or the result has no room left for a quotation.
    Omitted,
}

/// One need as it stands in the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlantedQuote {
    /// Index of the request whose output draws on the result.
    pub request: usize,
    /// The use whose result it is.
    #[serde(rename = "use")]
    pub use_id: usize,
    /// How.
    pub kind: QuoteKind,
    /// UTF-8 bytes of the quotation; 0 where there is none.
    pub bytes: usize,
    /// [`QuoteKind::NearDuplicate`]: the use whose result is nearly the same; [`QuoteKind::ResultQuotesResult`]: the use whose result is
    /// quoted in the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<usize>,
}

/// Bytes of the longest [`QuoteKind::Short`] quotation.
const SHORT: usize = 34;
/// Bytes of sentences that are quoted, least and most.
const FACT: (usize, usize) = (48, 100);
/// Different characters that they hold at least.
const DIFFERENT: usize = 16;
/// Bytes around a quotation in an output: a blank and a quotation mark on either side.
pub(super) const MARKS: usize = 4;
/// Bytes from which a result may have a header that others share.
const HEADED: u64 = 1200;
/// Kinds by their share of all needs.
const SHARES: [(QuoteKind, f64); 6] = [
    (QuoteKind::Literal, 0.62),
    (QuoteKind::BoilerplateAdjacent, 0.10),
    (QuoteKind::NearDuplicate, 0.08),
    (QuoteKind::ResultQuotesResult, 0.08),
    (QuoteKind::Paraphrase, 0.06),
    (QuoteKind::Short, 0.06),
];

/// What is quoted from where to where.
pub(super) struct Quotes {
    /// Per use: the header of its result, as an index.
    pub(super) header: Vec<Option<usize>>,
    /// Per use: the sentence that follows the header directly.
    pub(super) lead: Vec<Option<String>>,
    /// Per use: the other sentences of its result that are quoted.
    pub(super) facts: Vec<Vec<String>>,
    /// Per use: the earlier use whose result this one nearly is.
    pub(super) copy_of: Vec<Option<usize>>,
    /// Per request and slot (0 its text, then its uses): the quotations.
    pub(super) said: Vec<Vec<Vec<String>>>,
    /// The needs, in the plan's order.
    pub(super) truth: Vec<PlantedQuote>,
    result_room: Vec<usize>,
    output_room: Vec<Vec<usize>>,
    needed: Vec<bool>,
}

/// Bytes that so many tokens have.
pub(super) fn bytes_of(plan: &Plan, tokens: u32) -> usize {
    (f64::from(tokens) * plan.bytes_per_token).round() as usize
}

/// Bytes of the words in a use's input: what is left beside its name and the JSON around them.
pub(super) fn argument_bytes(plan: &Plan, planned: &PlannedUse) -> usize {
    bytes_of(plan, planned.tokens).saturating_sub(planned.tool.len() + r#"{"query":""}"#.len())
}

impl Quotes {
    /// Places every need of the plan, then what is quoted without need.
    pub(super) fn place(plan: &Plan, headers: &[String], stream: &mut Stream) -> Self {
        let uses = plan.uses.len();
        let header: Vec<Option<usize>> = plan
            .uses
            .iter()
            .map(|u| (u.result_bytes >= HEADED && !u.error && stream.chance(Share(0.5))).then(|| stream.below(headers.len())))
            .collect();
        let room = |u: usize| plan.uses[u].result_bytes as usize - header[u].map_or(0, |h| headers[h].len() + 1);
        let slots = |r: &super::plan::PlannedRequest| {
            let text = r.text.map_or(0, |tokens| bytes_of(plan, tokens));
            std::iter::once(text).chain((r.uses..r.uses_end).map(|u| argument_bytes(plan, &plan.uses[u]))).collect::<Vec<_>>()
        };
        let output_room: Vec<Vec<usize>> = plan.requests.iter().map(slots).collect();
        let mut needed = vec![false; uses];
        plan.needs.iter().for_each(|need| needed[need.use_id] = true);
        let mut quotes = Self {
            result_room: (0..uses).map(room).collect(),
            said: output_room.iter().map(|slots| vec![Vec::new(); slots.len()]).collect(),
            header,
            lead: vec![None; uses],
            facts: vec![Vec::new(); uses],
            copy_of: vec![None; uses],
            truth: Vec::with_capacity(plan.needs.len()),
            output_room,
            needed,
        };
        let mut literal = Vec::new();
        for need in &plan.needs {
            let (planted, fact) = quotes.need(plan, headers, stream, need.request, need.use_id);
            if planted.kind == QuoteKind::Literal {
                literal.push((need.request, fact));
            }
            quotes.truth.push(planted);
        }
        quotes.without_need(plan, stream, &literal);
        quotes
    }

    /// Plants one need; with it the sentence that is quoted.
    fn need(&mut self, plan: &Plan, headers: &[String], stream: &mut Stream, request: usize, use_id: usize) -> (PlantedQuote, String) {
        let kind = SHARES[stream.categorical(&SHARES.map(|(_, share)| share))].0;
        let mut planted = PlantedQuote { request, use_id, kind: QuoteKind::Omitted, bytes: 0, other: None };
        let Some(fact) = self.fact(stream, request, use_id) else { return (planted, String::new()) };
        planted.kind = kind;
        let mut quoted = Cow::Borrowed(fact.as_str());
        match kind {
            QuoteKind::BoilerplateAdjacent => match self.header[use_id].filter(|_| self.lead[use_id].is_none()) {
                Some(header) if self.slot(request, fact.len() + 80).is_some() => {
                    let header = &headers[header];
                    let tail = header[..header.len() - 44].rfind(' ').map_or(0, |at| at + 1);
                    quoted = format!("{} {fact}", &header[tail..]).into();
                }
                _ => planted.kind = QuoteKind::Literal,
            },
            QuoteKind::NearDuplicate => match self.duplicate(plan, stream, request, use_id) {
                Some(other) => {
                    self.copy_of[other] = Some(use_id);
                    planted.other = Some(other);
                }
                None => planted.kind = QuoteKind::Literal,
            },
            QuoteKind::ResultQuotesResult => match self.source(plan, stream, use_id, fact.len()) {
                Some(other) => {
                    self.hold(other, fact.clone());
                    planted.other = Some(other);
                }
                None => planted.kind = QuoteKind::Literal,
            },
            QuoteKind::Paraphrase => {
                let lower = fact.to_ascii_lowercase();
                let mut words: Vec<&str> = lower.split(' ').collect();
                words.sort_unstable();
                quoted = words.join(" ").into();
            }
            QuoteKind::Short => {
                let end = fact[..=SHORT].rfind(' ').unwrap_or(SHORT);
                quoted = fact[..end].to_owned().into();
            }
            QuoteKind::Literal | QuoteKind::Omitted => {}
        }
        planted.bytes = quoted.len();
        self.say(request, &quoted);
        if planted.kind == QuoteKind::BoilerplateAdjacent {
            self.result_room[use_id] -= fact.len() + 1;
            self.lead[use_id] = Some(fact.clone());
        } else {
            self.hold(use_id, fact.clone());
        }
        (planted, fact)
    }

    /// A sentence for which both the result and some slot of the output have room.
    fn fact(&self, stream: &mut Stream, request: usize, use_id: usize) -> Option<String> {
        let widest = self.output_room[request].iter().copied().max().unwrap_or(0).saturating_sub(MARKS);
        let most = widest.min(self.result_room[use_id].saturating_sub(1)).min(FACT.1);
        (most >= FACT.0).then(|| Writer { stream }.fact(FACT.0.min(most - 4), most, DIFFERENT))
    }

    /// The slot of the output with the most room, if it has that many bytes for a quotation.
    fn slot(&self, request: usize, bytes: usize) -> Option<usize> {
        let rooms = &self.output_room[request];
        let slot = (0..rooms.len()).max_by_key(|&s| (rooms[s], std::cmp::Reverse(s)))?;
        (rooms[slot] >= bytes + MARKS).then_some(slot)
    }

    fn say(&mut self, request: usize, quoted: &str) {
        if let Some(slot) = self.slot(request, quoted.len()) {
            self.output_room[request][slot] -= quoted.len() + MARKS;
            self.said[request][slot].push(quoted.to_owned());
        }
    }

    fn hold(&mut self, use_id: usize, fact: String) {
        self.result_room[use_id] -= fact.len() + 1;
        self.facts[use_id].push(fact);
    }

    /// Whether nothing is planned for this result yet, so that it can be a copy of another.
    fn is_free(&self, plan: &Plan, use_id: usize) -> bool {
        !plan.uses[use_id].error
            && plan.uses[use_id].result_bytes >= 200
            && !self.needed[use_id]
            && self.copy_of[use_id].is_none()
            && self.facts[use_id].is_empty()
    }

    /// A result between the needed one and the request that can be its near-duplicate.
    fn duplicate(&self, plan: &Plan, stream: &mut Stream, request: usize, use_id: usize) -> Option<usize> {
        let after = plan.requests[plan.uses[use_id].arrives()].uses;
        let free: Vec<usize> =
            (after..plan.requests[request].uses).filter(|&u| plan.uses[u].arrives() <= request && self.is_free(plan, u)).collect();
        (!free.is_empty()).then(|| free[stream.below(free.len())])
    }

    /// An earlier result that the needed one can quote.
    fn source(&self, plan: &Plan, stream: &mut Stream, use_id: usize, bytes: usize) -> Option<usize> {
        let before = plan.uses[use_id].issued;
        let fits = |&u: &usize| {
            plan.uses[u].arrives() <= before && !plan.uses[u].error && self.copy_of[u].is_none() && self.result_room[u] > bytes + 1
        };
        let sources: Vec<usize> = (0..use_id).filter(fits).collect();
        (!sources.is_empty()).then(|| sources[stream.below(sources.len())])
    }

    /// First uses, and sentences said again.
    fn without_need(&mut self, plan: &Plan, stream: &mut Stream, literal: &[(usize, String)]) {
        for (use_id, planned) in plan.uses.iter().enumerate() {
            if planned.error || self.copy_of[use_id].is_some() || planned.arrives() >= plan.requests.len() || !stream.chance(Share(0.2)) {
                continue;
            }
            if let Some(fact) = self.fact(stream, planned.arrives(), use_id) {
                self.say(planned.arrives(), &fact);
                self.hold(use_id, fact);
            }
        }
        for (request, fact) in literal {
            let left = plan.requests.len() - 1 - request;
            if left > 0 && stream.chance(Share(0.1)) {
                let again = request + 1 + stream.below(left);
                if self.slot(again, fact.len()).is_some() {
                    self.say(again, fact);
                }
            }
        }
    }
}
