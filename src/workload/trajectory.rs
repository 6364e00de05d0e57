//! The session simulator: which calls an agent makes, how large they are, and when.

use std::collections::BTreeMap;

use super::dist::{Stream, spread, whole};
use super::needs;
use super::plan::{Plan, PlannedRequest, PlannedUse};
use super::spec::{Class, Notes, Paging, Simulation, Spec};
use crate::trace::ToolDoc;

/// Simulates transcript `index`.
pub(super) fn simulate(spec: &Spec, simulation: &Simulation, index: usize) -> Plan {
    let mut stream = Stream::new(spec.seed, index as u64);
    let (uses, requests, base_tokens) = Session::new(simulation, &mut stream, spread(spec.seed, index as u64)).run();
    let needs = needs::plant(simulation, &mut stream, &uses, &requests);
    let (id, source) = spec.head(index);
    let tools: BTreeMap<String, ToolDoc> = simulation
        .classes
        .values()
        .flat_map(|class| &class.tools)
        .map(|(name, tool)| {
            (name.clone(), ToolDoc { refetch: tool.refetch, refetch_usd: tool.refetch_usd, refetch_seconds: tool.refetch_seconds })
        })
        .collect();
    let (model, bytes_per_token) = (spec.model.clone(), simulation.bytes_per_token);
    Plan { id, model, base_tokens, bytes_per_token, source, tools, uses, requests, needs }
}

/// A session on its way.
struct Session<'a> {
    simulation: &'a Simulation,
    stream: &'a mut Stream,
    classes: Vec<(&'a str, &'a Class)>,
    /// Uses that the session will have made at its end.
    length: usize,
    /// First use of the synthesis phase.
    synthesis_from: usize,
    base_tokens: u32,
    uses: Vec<PlannedUse>,
    requests: Vec<PlannedRequest>,
    /// Reads that may be continued: the newest page of each file.
    open_pages: Vec<usize>,
    /// Uses of whose results a note was taken.
    noted: Vec<bool>,
}

impl<'a> Session<'a> {
    fn new(simulation: &'a Simulation, stream: &'a mut Stream, length_rank: f64) -> Self {
        let length = whole(simulation.session.uses.at(length_rank)).max(1) as usize;
        let (low, high) = simulation.synthesis.share;
        let share = low + (high - low) * stream.uniform();
        let base_tokens = stream.draw_whole(&simulation.session.base_tokens, 0);
        Self {
            simulation,
            stream,
            classes: simulation.classes.iter().map(|(name, class)| (name.as_str(), class)).collect(),
            length,
            synthesis_from: length - (length as f64 * share).round() as usize,
            base_tokens,
            uses: Vec::with_capacity(length),
            requests: Vec::new(),
            open_pages: Vec::new(),
            noted: Vec::new(),
        }
    }

    fn run(mut self) -> (Vec<PlannedUse>, Vec<PlannedRequest>, u32) {
        let session = &self.simulation.session;
        let mut at_ms = 0;
        let mut turn_starts = true;
        while self.uses.len() < self.length {
            at_ms += self.gap_ms(turn_starts);
            let user = match (self.requests.is_empty(), turn_starts) {
                (true, _) => Some(self.stream.draw_whole(&session.first_user_tokens, 1)),
                (false, true) => Some(self.stream.draw_whole(&session.turn_user_tokens, 1)),
                (false, false) => None,
            };
            // A turn ends once the agent has seen the results of its last uses, or at once where it needs no tool. The first never
            // does: a session without a use is no matter for clearing.
            let share = if turn_starts { session.direct_answers } else { session.turn_end };
            let ends = self.stream.chance(share) && !self.requests.is_empty();
            let mut request = self.open_request(at_ms, user);
            self.speak(&mut request, ends);
            if !ends {
                self.call(&mut request);
            }
            self.requests.push(request);
            turn_starts = ends;
        }
        at_ms += self.gap_ms(turn_starts);
        let user = turn_starts.then(|| self.stream.draw_whole(&session.turn_user_tokens, 1));
        let mut last = self.open_request(at_ms, user);
        let output = &self.simulation.output;
        last.thinking = self.thinking();
        last.text = Some(self.stream.draw_whole(&output.final_text_tokens, 1));
        self.requests.push(last);
        (self.uses, self.requests, self.base_tokens)
    }

    /// Milliseconds since the request before; none before the first.
    fn gap_ms(&mut self, turn_starts: bool) -> i64 {
        if self.requests.is_empty() {
            return 0;
        }
        let gaps = &self.simulation.gaps;
        let seconds = self.stream.draw(if turn_starts { &gaps.turn_seconds } else { &gaps.call_seconds });
        (seconds * 1000.0).round() as i64
    }

    fn open_request(&mut self, at_ms: i64, user: Option<u32>) -> PlannedRequest {
        let cache = &self.simulation.cache;
        let share = if self.requests.is_empty() { cache.warm_start } else { cache.invalidation };
        let flushed = self.stream.chance(share);
        let flush_above = flushed.then(|| u64::from(self.stream.draw_whole(&cache.prefix_tokens, 0).min(self.base_tokens)));
        let uses = self.uses.len();
        PlannedRequest {
            at_ms,
            user,
            uses,
            uses_end: uses,
            flush_above,
            synthesis: uses >= self.synthesis_from,
            ..PlannedRequest::default()
        }
    }

    fn thinking(&mut self) -> Option<u32> {
        let output = &self.simulation.output;
        self.stream.chance(output.thinking_share).then(|| self.stream.draw_whole(&output.thinking_tokens, 1))
    }

    fn speak(&mut self, request: &mut PlannedRequest, turn_ends: bool) {
        request.thinking = self.thinking();
        let output = &self.simulation.output;
        if turn_ends {
            request.text = Some(self.stream.draw_whole(&output.turn_text_tokens, 1));
        } else if self.stream.chance(output.text_share) {
            request.text = Some(self.stream.draw_whole(&output.text_tokens, 1));
        }
    }

    /// The parallel uses of one output.
    fn call(&mut self, request: &mut PlannedRequest) {
        let session = &self.simulation.session;
        let more = self.stream.run(session.parallel, session.parallel_max - 1);
        let batch = (1 + more).min(self.length - self.uses.len());
        let first = self.pick_class();
        for i in 0..batch {
            let class = if i == 0 || self.stream.chance(session.same_class) { first } else { self.pick_class() };
            let planned = self.plan_use(class);
            self.uses.push(planned);
            self.noted.push(false);
        }
        request.uses_end = self.uses.len();
    }

    fn pick_class(&mut self) -> usize {
        let simulation = self.simulation;
        let at = self.uses.len();
        let mix = if at >= self.synthesis_from {
            &simulation.synthesis.mix
        } else {
            let done = at as f64 / self.synthesis_from as f64;
            &simulation.phases.iter().find(|p| done < p.until).unwrap_or(&simulation.phases[simulation.phases.len() - 1]).mix
        };
        let weights: Vec<f64> = self.classes.iter().map(|(name, _)| mix.get(*name).copied().unwrap_or(0.0)).collect();
        self.stream.categorical(&weights)
    }

    fn plan_use(&mut self, class: usize) -> PlannedUse {
        let simulation = self.simulation;
        let (name, class) = self.classes[class];
        let issued = self.requests.len();
        let note_of = simulation.notes.as_ref().filter(|n| n.class == name).and_then(|notes| self.take_note(notes));
        let page_of = simulation.paging.as_ref().filter(|p| p.class == name).and_then(|paging| self.turn_page(paging));

        let (tool, detail) = if let (Some(notes), Some(_)) = (&simulation.notes, note_of) {
            (&notes.tool, &class.tools[&notes.tool])
        } else {
            let weights: Vec<f64> = class.tools.values().map(|t| t.weight).collect();
            class.tools.iter().nth(self.stream.categorical(&weights)).expect("a class has a tool")
        };
        // One rank gives both size and outcome, so that failures keep to the small sizes that they have and the sizes of all
        // results, failures included, keep to the class's quantiles.
        let rank = self.stream.uniform();
        let lot = self.stream.uniform();
        let error = class.errors.as_ref().is_some_and(|e| rank > e.from.0 && rank <= e.to.0 && lot * (e.to.0 - e.from.0) < e.share.0);
        let bytes = whole(class.result_bytes.at(rank)).max(1);
        let planned = PlannedUse {
            class: name.to_owned(),
            tool: tool.clone(),
            tokens: self.stream.draw_whole(detail.use_tokens.as_ref().unwrap_or(&class.use_tokens), 1),
            result_tokens: whole(f64::from(bytes) / simulation.bytes_per_token).max(1),
            result_bytes: u64::from(bytes),
            error,
            issued,
            page_of,
            note_of,
        };
        let full_page = |p: &Paging| p.class == name && planned.result_bytes >= p.page_bytes && !error;
        if simulation.paging.as_ref().is_some_and(full_page) {
            self.open_pages.push(self.uses.len());
        }
        planned
    }

    /// The use whose result a note is taken of, if this use is a note: the newest source without one.
    fn take_note(&mut self, notes: &Notes) -> Option<usize> {
        let (now, at) = (self.requests.len(), self.uses.len());
        if at >= self.synthesis_from {
            return None;
        }
        let oldest = at.saturating_sub(notes.within_uses);
        let source = (oldest..at).rev().find(|&i| {
            let u = &self.uses[i];
            !self.noted[i] && u.arrives() <= now && needs::can_be_needed(self.simulation, u) && notes.sources.contains(&u.class)
        })?;
        let takes = self.stream.chance(notes.share);
        self.noted[source] |= takes;
        takes.then_some(source)
    }

    /// The read that this one continues, if it does: the newest page of one of the last files.
    fn turn_page(&mut self, paging: &Paging) -> Option<usize> {
        let (now, at) = (self.requests.len(), self.uses.len());
        self.open_pages.retain(|&page| at - page <= paging.within_uses);
        let ready = self.open_pages.iter().rposition(|&page| self.uses[page].arrives() <= now)?;
        self.stream.chance(paging.share).then(|| self.open_pages.remove(ready))
    }
}
