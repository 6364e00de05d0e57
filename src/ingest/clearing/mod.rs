//! Logs recorded with clearing on: which results were not in the prompts that were sent.
//!
//! The client sends every result whole and the provider edits, or the client itself puts placeholders in the place of old results. Either
//! way the recorded prompts are of the edited history while the log holds the unedited one, so the sizing has to know what a prompt lacked.
//! It is told by `applied_edits` (a number of uses, the oldest clearable ones) and by what the client says that it cleared. Where a gateway
//! dropped the field the recorded prompt tells: of what the edits would clear, what they cleared before, and every other number of uses
//! the one is taken that explains the size.

mod observed;
mod refetches;
mod sets;

pub use observed::{AskedEdit, ClearingReport, ObservedRequest, RecordedClearing, SizedUnder};
pub use refetches::{Refetches, find};
pub use sets::Sets;

use crate::policy::select::{Candidate, Listed, select};
use crate::policy::space::Clear;
use crate::policy::{Assume, ClearToolUses, Config, Trigger, from_json};

use super::fit::{RESULT_OVERHEAD, default_bytes_per_token, main_model};
use super::normal::{Asked, Call, Held, Kind, Part};

/// Bytes of the placeholder that clients put in the place of a result.
const PLACEHOLDER_BYTES: f64 = 33.0;

/// Where the blocks of a use stand in its part: index of the call, and of the item in its output or input.
#[derive(Debug, Clone, Copy)]
struct Place {
    used: (u32, u32),
    /// `None`: no result in the log.
    arrived: Option<(u32, u32)>,
}

/// What is known of the clearing at one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// As at the call before, but for what the client says.
    Same,
    /// So many of the oldest clearable uses.
    Count(u64),
    /// Edits were asked, and the answer does not say what they did.
    Unsaid,
    /// The client edited messages and does not say which.
    Client,
}

/// What a part's log shows of clearing, and the state of it while the part is sized.
#[derive(Debug)]
pub struct Plan {
    assume: Assume,
    /// The configs that were asked, each once.
    edits: Vec<ClearToolUses>,
    asked: Vec<AskedEdit>,
    known: Vec<Known>,
    /// Tokens of cleared thinking at each call, where the answer says so.
    thinking: Vec<u64>,
    places: Vec<Place>,
    /// What the client cleared so far.
    client: Vec<bool>,
    /// Tokens of the client's own placeholder.
    client_placeholder: i64,
    /// Whether a set that is being weighed is the client's.
    weighs_client: bool,
    /// Whether the provider cleared, or was asked to.
    provider: bool,
    /// What is cleared in the prompt of the call last looked at.
    now: Vec<bool>,
    /// What was found, call by call.
    pub sets: Sets,
}

/// Sizes of the placeholder and of results that are too small to be cleared, in every reading: what the sizes of a log depend on.
pub fn size_readings(part: &Part) -> Vec<Assume> {
    let results = || part.calls.iter().flat_map(|c| &c.input).filter(|i| matches!(i.kind, Kind::Result(_)));
    let default = Assume::default();
    let mut all = Vec::new();
    for tiny_result_bytes in [46, 53] {
        // Where no result lies between the two, both readings are one.
        if tiny_result_bytes == 53 && !results().any(|i| i.text_only && (47..=53).contains(&i.bytes)) {
            continue;
        }
        for placeholder_tokens in [11, 7] {
            all.push(Assume { tiny_result_bytes, placeholder_tokens, ..default.clone() });
        }
    }
    all
}

/// What a call's prompt lacks or has again against that of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Uses whose results are no longer there.
    pub newly: Vec<u32>,
    /// Uses whose results are back.
    pub back: Vec<u32>,
    /// Tokens that went: unedited less edited size of `newly` without those that arrived cleared, less that of `back`; and thinking.
    pub freed: i64,
    /// Those of `newly` whose results no earlier prompt held whole: they arrived cleared.
    pub arrived: Vec<u32>,
}

impl Change {
    /// Whether nothing was cleared and nothing came back.
    pub fn is_none(&self) -> bool {
        self.newly.is_empty() && self.back.is_empty() && self.freed == 0
    }
}

impl Plan {
    /// The plan of a part; `None` when nothing in its log speaks of clearing. `assume`: how big a placeholder is and which results are too
    /// small to be cleared, and how edits whose effect the log does not tell are taken to work.
    pub fn of(part: &Part, assume: &Assume) -> Option<Self> {
        let (edits, asked) = edits(part);
        let applied = || part.calls.iter().filter_map(|c| c.applied);
        let cleared = applied().any(|a| a.cleared_tool_uses > 0);
        let provider = cleared || asked.iter().any(|a| matches!(a, AskedEdit::Edit(_) | AskedEdit::Unread));
        let thinks = applied().any(|a| a.cleared_thinking_tokens > 0);
        let lost = |c: &Call| c.input.iter().any(|i| i.held == Held::Placeholder);
        let client = || part.calls.iter().any(|c| c.messages_changed || !c.replaced.is_empty() || lost(c));
        if !provider && !thinks && !client() {
            return None;
        }
        let mut thinking = 0;
        let mut known = Vec::with_capacity(part.calls.len());
        let mut all_thinking = Vec::with_capacity(part.calls.len());
        for (call, asked) in part.calls.iter().zip(&asked) {
            known.push(match (call.applied, asked) {
                (Some(applied), _) => {
                    thinking = applied.cleared_thinking_tokens;
                    Known::Count(applied.cleared_tool_uses)
                }
                (None, AskedEdit::Nothing) => {
                    thinking = 0;
                    Known::Count(0)
                }
                (None, _) if call.messages_changed && call.replaced.is_empty() => Known::Client,
                (None, AskedEdit::Unknown) if !cleared => Known::Same,
                (None, _) => Known::Unsaid,
            });
            all_thinking.push(thinking);
        }
        let places = places(part);
        Some(Self {
            assume: assume.clone(),
            edits,
            asked,
            known,
            thinking: all_thinking,
            client: vec![false; places.len()],
            client_placeholder: (RESULT_OVERHEAD + PLACEHOLDER_BYTES / default_bytes_per_token(main_model(part).as_deref())).round() as i64,
            weighs_client: false,
            provider,
            now: vec![false; places.len()],
            sets: Sets::new(part.calls.len()),
            places,
        })
    }

    /// Whether the provider cleared, or was asked to.
    pub fn is_providers(&self) -> bool {
        self.provider
    }

    /// The transcript as recorded, if the provider cleared or was asked to; `sized`: its documents.
    pub fn recorded(&self, part: &Part, sized: Vec<SizedUnder>) -> Option<RecordedClearing> {
        let one = |(call, &asked): (&Call, &AskedEdit)| ObservedRequest { asked, applied: call.applied.map(|a| a.cleared_tool_uses) };
        let calls = part.calls.iter().zip(&self.asked).filter(|(call, _)| !call.repeated);
        (self.provider && !sized.is_empty()).then(|| RecordedClearing {
            edits: self.edits.clone(),
            requests: calls.map(one).collect(),
            sized,
        })
    }

    /// Adds what the part shows to the report on its file; the part must be sized.
    pub fn count(&self, part: &Part, report: &mut ClearingReport) {
        for (i, call) in part.calls.iter().enumerate().filter(|(_, call)| !call.repeated) {
            report.asked += u64::from(matches!(self.asked[i], AskedEdit::Edit(_) | AskedEdit::Unread));
            report.unread += u64::from(self.asked[i] == AskedEdit::Unread);
            report.observed += u64::from(call.applied.is_some());
            report.unknown += u64::from(self.known[i] == Known::Unsaid);
            report.cleared_requests += u64::from(call.cleared_uses > 0);
            report.inferred_requests += u64::from(call.cleared_uses > 0 && self.sets.inferred[i]);
            report.thinking_requests += u64::from(call.applied.is_some_and(|a| a.cleared_thinking_tokens > 0));
            for item in &call.input {
                report.restored_results += u64::from(item.held == Held::Restored);
                report.unknown_results += u64::from(item.held == Held::Placeholder);
            }
        }
    }

    /// Whether the step to call `to` from the one before surely changed nothing of what is cleared, so that its growth is plain.
    pub fn steady(&self, part: &Part, to: usize) -> bool {
        let quiet = part.calls[to].replaced.is_empty() && self.thinking[to] == self.thinking[to - 1];
        quiet
            && match (self.known[to - 1], self.known[to]) {
                (_, Known::Same) => true,
                (Known::Count(a), Known::Count(b)) => a == b,
                _ => (0..=to).all(|i| self.below_trigger(part, i)),
            }
    }

    /// Whether the prompt of call `i` cannot have fired the edit that it asked for.
    fn below_trigger(&self, part: &Part, i: usize) -> bool {
        let call = &part.calls[i];
        match (self.known[i], self.edit(i).map(|e| e.trigger)) {
            (Known::Count(n), _) => n == 0,
            (Known::Unsaid, Some(Trigger::InputTokens(n))) => call.usage.is_some_and(|u| u.prompt() < n),
            (Known::Unsaid, Some(Trigger::ToolUses(n))) => (self.places.iter().filter(|p| (p.used.0 as usize) < i).count() as u64) < n,
            (known, _) => known == Known::Same,
        }
    }

    /// The edit that call `i` asked for, as far as the log shows it.
    fn edit(&self, i: usize) -> Option<&ClearToolUses> {
        match self.asked[i] {
            AskedEdit::Edit(e) => self.edits.get(e as usize),
            _ => self.edits.first(),
        }
    }

    /// Unedited less edited tokens of the result of a use; 0 without one.
    fn result_saved(&self, part: &Part, use_id: u32) -> i64 {
        let Some((call, item)) = self.places[use_id as usize].arrived else { return 0 };
        let left = if self.client[use_id as usize] || self.weighs_client {
            self.client_placeholder
        } else {
            i64::from(self.assume.placeholder_tokens)
        };
        part.calls[call as usize].input[item as usize].tokens as i64 - left
    }

    /// Unedited less edited tokens of a use's blocks when it is cleared.
    fn saved(&self, part: &Part, use_id: u32, at: usize) -> i64 {
        let place = self.places[use_id as usize];
        if place.arrived.is_none() {
            return 0;
        }
        let mut saved = self.result_saved(part, use_id);
        if self.edit(at).is_some_and(|e| e.clear_tool_inputs.covers(&part.uses[use_id as usize])) {
            let (call, item) = place.used;
            saved += part.calls[call as usize].output[item as usize].tokens as i64 - i64::from(self.assume.cleared_input_tokens);
        }
        saved
    }

    /// Tokens that were cleared from the prompt of call `at` if the uses in `cleared` were; thinking included.
    pub fn tokens_of(&self, part: &Part, at: usize, cleared: &[bool]) -> i64 {
        let uses = cleared.iter().enumerate().filter(|(_, cleared)| **cleared);
        uses.map(|(id, _)| self.saved(part, id as u32, at)).sum::<i64>() + self.thinking[at] as i64
    }

    /// Tokens that were cleared from the prompt of call `at`, the one that was gone to last.
    pub fn cleared_tokens(&self, part: &Part, at: usize) -> i64 {
        self.tokens_of(part, at, &self.now)
    }

    /// Tokens of what replaces a result.
    pub fn placeholder(&self) -> u64 {
        u64::from(self.assume.placeholder_tokens)
    }

    /// Whether the edit asked at call `at` may clear a use, and whether its result is there by then.
    fn candidate(&self, part: &Part, use_id: usize, at: usize) -> Candidate {
        let place = self.places[use_id];
        let edit = self.edit(at);
        let tool = &part.uses[use_id];
        let excluded = edit.is_some_and(|e| e.exclude_tools.iter().any(|t| t == tool));
        let arrived = place.arrived.filter(|&(call, _)| call as usize <= at);
        let tiny = arrived.is_some_and(|(call, item)| {
            let item = &part.calls[call as usize].input[item as usize];
            item.text_only && item.fixed == 0 && (1..=u64::from(self.assume.tiny_result_bytes)).contains(&item.bytes)
        });
        let covered = edit.is_some_and(|e| e.clear_tool_inputs.covers(tool));
        Candidate {
            clearable: !excluded && (!tiny || covered),
            has_result: arrived.is_some(),
            spared: false,
            saved: if arrived.is_some() { self.saved(part, use_id as u32, at) } else { 0 },
            tokens: 0,
            block: 0,
        }
    }

    /// The first `count` clearable uses at call `at`, and what the client cleared.
    fn oldest(&self, part: &Part, at: usize, mut count: u64) -> Vec<bool> {
        let mut set = self.client.clone();
        for (id, cleared) in set.iter_mut().enumerate() {
            if count == 0 || self.places[id].used.0 as usize >= at {
                break;
            }
            let view = self.candidate(part, id, at);
            if view.clearable && view.has_result {
                *cleared = true;
                count -= 1;
            }
        }
        set
    }

    /// What the asked edit clears at call `at`, for all that is known; `original`: unedited size, `base`: that of system prompt and tools.
    fn predicted(&self, part: &Part, at: usize, original: u64, base: u64) -> Option<Vec<bool>> {
        let edit = self.edit(at)?;
        let uses: Vec<Candidate> = (0..self.places.len())
            .take_while(|&id| (self.places[id].used.0 as usize) < at)
            .map(|id| self.candidate(part, id, at))
            .collect();
        let size = original.max(base);
        let listed = Listed { base_tokens: base, original_tokens: size, edited_tokens: size, uses: &uses };
        let mut taken = Vec::new();
        select(&Clear::of_edit(edit, &self.assume), self.assume.keep_counts, &listed, &mut taken);
        let mut all = self.client.clone();
        for &id in &taken {
            all[id as usize] = true;
        }
        Some(all)
    }

    /// What goes and what comes back when the cleared set becomes `next` at call `at`; `from`: the last call of known size before it.
    fn change(&self, part: &Part, from: usize, at: usize, next: &[bool]) -> Change {
        let mut change = Change::default();
        for (id, (was, is)) in self.now.iter().zip(next).enumerate() {
            let id = id as u32;
            match (was, is) {
                (false, true) => {
                    change.freed += self.saved(part, id, at);
                    if let Some((call, _)) = self.places[id as usize].arrived.filter(|&(call, _)| call as usize > from) {
                        // Its result was never there; the input of the use was, if that is cleared too.
                        change.freed -= self.result_saved(part, id);
                        change.arrived.push(id);
                        debug_assert!(call as usize <= at);
                    }
                    change.newly.push(id);
                }
                (true, false) => {
                    change.freed -= self.saved(part, id, at);
                    change.back.push(id);
                }
                _ => {}
            }
        }
        change
    }

    fn enter(&mut self, at: usize, next: Vec<bool>, inferred: bool) {
        let differ = |from: &[bool], to: &[bool]| -> Vec<u32> {
            from.iter().zip(to).enumerate().filter(|(_, (a, b))| !**a && **b).map(|(i, _)| i as u32).collect()
        };
        self.sets.newly[at] = differ(&self.now, &next);
        self.sets.back[at] = differ(&next, &self.now);
        let before = at > 0 && self.sets.inferred[at - 1] && !matches!(self.known[at], Known::Count(_));
        self.sets.inferred[at] = inferred || before;
        self.now = next;
        self.sets.counts[at] = match self.known[at] {
            Known::Count(n) => n + self.client.iter().filter(|c| **c).count() as u64,
            _ => self.now.iter().filter(|c| **c).count() as u64,
        };
    }

    fn client_says(&mut self, part: &Part, at: usize) {
        for &id in &part.calls[at].replaced {
            self.client[id as usize] = true;
        }
    }

    /// Goes to a call whose prompt is not known: it has what the log says, and else what the edits are taken to do. `original`: its likely
    /// unedited size.
    pub fn pass(&mut self, part: &Part, at: usize, original: u64, base: u64) {
        self.client_says(part, at);
        let next = match self.known[at] {
            Known::Count(n) => self.oldest(part, at, n),
            Known::Unsaid => self.predicted(part, at, original, base).unwrap_or_else(|| self.now.clone()),
            Known::Same | Known::Client => {
                let client = self.client.iter();
                self.now.iter().zip(client).map(|(now, client)| *now || *client).collect()
            }
        };
        let inferred = self.known[at] == Known::Unsaid && next != self.now;
        self.enter(at, next, inferred);
    }

    /// Goes to call `at`, whose prompt grew by `growth` since that of call `from`, where `likely` would be the growth without clearing.
    /// `tolerance`: by how much a likely growth may be wrong.
    pub fn step(&mut self, part: &Part, from: usize, at: usize, step: &Growth) -> Change {
        let before = self.now.clone();
        for between in from + 1..at {
            self.pass(part, between, step.original, step.base);
        }
        self.client_says(part, at);
        let after = std::mem::replace(&mut self.now, before);
        let stay: Vec<bool> = after.iter().zip(&self.client).map(|(now, client)| *now || *client).collect();
        let off = |plan: &Self, next: &[bool]| {
            let change = plan.change(part, from, at, next);
            let arrived: i64 = change.arrived.iter().map(|&id| plan.result_saved(part, id)).sum();
            (step.grew + change.freed + arrived - step.likely).unsigned_abs()
        };
        self.weighs_client = self.known[at] == Known::Client;
        let (next, inferred) = match self.known[at] {
            Known::Count(n) => (self.oldest(part, at, n), false),
            Known::Same => (stay, false),
            Known::Unsaid | Known::Client => {
                let expected = if self.known[at] == Known::Unsaid { self.predicted(part, at, step.original, step.base) } else { None };
                match expected {
                    Some(set) if off(self, &set) <= step.tolerance => (set, true),
                    _ if off(self, &stay) <= step.tolerance => (stay, false),
                    _ => {
                        let most = (0..self.places.len()).filter(|&id| self.candidate(part, id, at).has_result).count() as u64;
                        let best = (1..=most).map(|n| self.oldest(part, at, n)).min_by_key(|set| off(self, set));
                        match best {
                            Some(set) if off(self, &set) <= step.tolerance.max(step.grew.unsigned_abs() / 5) => (set, true),
                            _ => (stay, false),
                        }
                    }
                }
            }
        };
        let mut change = self.change(part, from, at, &next);
        change.freed += self.thinking[at] as i64 - self.thinking[from] as i64;
        self.weighs_client = false;
        if self.known[at] == Known::Client && inferred {
            self.client.clone_from(&next);
        }
        self.now = after;
        self.enter(at, next, inferred);
        change
    }
}

/// What a step of recorded prompts shows.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// By how much the recorded prompt grew.
    pub grew: i64,
    /// By how much it would have grown without clearing, likely.
    pub likely: i64,
    /// By how much that may be wrong.
    pub tolerance: u64,
    /// Likely unedited size of the prompt.
    pub original: u64,
    /// Tokens of system prompt and tools.
    pub base: u64,
}

/// The distinct configs that a part's calls asked for, and which of them each asked.
fn edits(part: &Part) -> (Vec<ClearToolUses>, Vec<AskedEdit>) {
    let mut read: Vec<(&str, AskedEdit)> = Vec::new();
    let mut edits: Vec<ClearToolUses> = Vec::new();
    let asked = part.calls.iter().map(|call| match &call.asked {
        Asked::Unknown => AskedEdit::Unknown,
        Asked::Nothing => AskedEdit::Nothing,
        Asked::Edits(json) => {
            if let Some((_, known)) = read.iter().find(|(text, _)| text == json) {
                return *known;
            }
            let asked = match from_json(&format!("{{\"context_management\":{json}}}")) {
                Ok(Config { edit: Some(edit), .. }) => {
                    let at = edits.iter().position(|e| *e == edit).unwrap_or_else(|| {
                        edits.push(edit);
                        edits.len() - 1
                    });
                    AskedEdit::Edit(at as u32)
                }
                // Other edits only (thinking, compaction): nothing is asked of tool results.
                Ok(_) => AskedEdit::Nothing,
                Err(_) => AskedEdit::Unread,
            };
            read.push((json, asked));
            asked
        }
    });
    let asked = asked.collect();
    (edits, asked)
}

fn places(part: &Part) -> Vec<Place> {
    let mut places = vec![Place { used: (u32::MAX, 0), arrived: None }; part.uses.len()];
    for (c, call) in part.calls.iter().enumerate() {
        for (i, item) in call.output.iter().enumerate() {
            if let Kind::Use(id) = item.kind {
                places[id as usize].used = (c as u32, i as u32);
            }
        }
        for (i, item) in call.input.iter().enumerate() {
            if let Kind::Result(id) = item.kind {
                places[id as usize].arrived = Some((c as u32, i as u32));
            }
        }
    }
    places
}
