//! Which results are drawn on again: each need by the mechanism that causes it.
//!
//! A need names only a result that an earlier request's input brought; drawing on it in the request that brings it is its first
//! use and costs nothing more.

use std::collections::BTreeMap;

use super::dist::Stream;
use super::plan::{Mechanism, PlannedNeed, PlannedRequest, PlannedUse};
use super::spec::Simulation;

/// Failures, results of a few words and a note's acknowledgement hold nothing to come back to.
pub(super) fn can_be_needed(simulation: &Simulation, planned: &PlannedUse) -> bool {
    !planned.error && planned.note_of.is_none() && planned.result_bytes >= simulation.reuse.least_bytes
}

/// The needs of a session, in the order of requests, then uses; one a request and use.
pub(super) fn plant(simulation: &Simulation, stream: &mut Stream, uses: &[PlannedUse], requests: &[PlannedRequest]) -> Vec<PlannedNeed> {
    let mut planted = Planted { requests, uses, needs: BTreeMap::new() };
    planted.pages(simulation);
    let noted = planted.notes();
    for (id, planned) in uses.iter().enumerate() {
        if !can_be_needed(simulation, planned) {
            continue;
        }
        let needed = &simulation.classes[&planned.class].needed;
        if planted.turn_ends_on(id) && stream.chance(needed.follow_up) {
            planted.add(planned.arrives() + 1, id, Mechanism::FollowUp);
        }
        if stream.chance(needed.recency) {
            let back = stream.draw_whole(&simulation.reuse.recency_uses, 2);
            planted.add_at_distance(id, back as usize, Mechanism::Recency);
        }
        if stream.chance(needed.revisit) {
            let back = stream.draw_whole(&simulation.reuse.revisit_uses, 2);
            planted.add_at_distance(id, back as usize, Mechanism::Revisit);
        }
        let drawn_on = stream.chance(needed.synthesis);
        let spared = noted[id] && simulation.notes.as_ref().is_some_and(|n| stream.chance(n.spares));
        if drawn_on && !spared {
            planted.draw_on_in_synthesis(simulation, stream, id);
        }
    }
    planted.compare(simulation, stream);
    planted.needs.into_iter().map(|((request, use_id), mechanism)| PlannedNeed { request, use_id, mechanism }).collect()
}

struct Planted<'a> {
    requests: &'a [PlannedRequest],
    uses: &'a [PlannedUse],
    needs: BTreeMap<(usize, usize), Mechanism>,
}

impl Planted<'_> {
    /// The first mechanism that plants a need names it.
    fn add(&mut self, request: usize, id: usize, mechanism: Mechanism) {
        if request > self.uses[id].arrives() && request < self.requests.len() {
            self.needs.entry((request, id)).or_insert(mechanism);
        }
    }

    /// At the first request from which the use lies at least `back` uses back; nowhere if the session ends before.
    fn add_at_distance(&mut self, id: usize, back: usize, mechanism: Mechanism) {
        let from = self.requests.partition_point(|r| r.uses < id + back);
        self.add(from.max(self.uses[id].arrives() + 1), id, mechanism);
    }

    /// Whether the agent ended its turn on the request that brought this result.
    fn turn_ends_on(&self, id: usize) -> bool {
        let request = &self.requests[self.uses[id].arrives()];
        request.uses == request.uses_end
    }

    /// A page is needed to ask for the next one, and beside it once that has come.
    fn pages(&mut self, simulation: &Simulation) {
        for (id, planned) in self.uses.iter().enumerate() {
            if let Some(before) = planned.page_of.filter(|&before| can_be_needed(simulation, &self.uses[before])) {
                self.add(planned.issued, before, Mechanism::Paging);
                if can_be_needed(simulation, &self.uses[id]) {
                    self.add(planned.arrives(), before, Mechanism::Paging);
                }
            }
        }
    }

    /// A note draws on its source once more; which sources have one.
    fn notes(&mut self) -> Vec<bool> {
        let mut noted = vec![false; self.uses.len()];
        for planned in self.uses {
            if let Some(source) = planned.note_of {
                noted[source] = true;
                self.add(planned.issued, source, Mechanism::Note);
            }
        }
        noted
    }

    /// Each request draws on the documents that earlier requests brought, each by chance.
    fn compare(&mut self, simulation: &Simulation, stream: &mut Stream) {
        let Some(comparison) = &simulation.comparison else { return };
        let compared = |u: &PlannedUse| can_be_needed(simulation, u) && comparison.classes.contains(&u.class);
        let ids: Vec<usize> = (0..self.uses.len()).filter(|&id| compared(&self.uses[id])).collect();
        for request in 0..self.requests.len() {
            for &id in ids.iter().take_while(|&&id| self.uses[id].arrives() < request) {
                if stream.chance(comparison.share) {
                    self.add(request, id, Mechanism::Comparison);
                }
            }
        }
    }

    /// Sources from before the synthesis phase are drawn on in it, each at some request of it and perhaps again later.
    fn draw_on_in_synthesis(&mut self, simulation: &Simulation, stream: &mut Stream, id: usize) {
        let start = self.requests.partition_point(|r| !r.synthesis);
        if id >= self.requests.get(start).map_or(0, |r| r.uses) {
            return;
        }
        let start = start.max(self.uses[id].arrives() + 1);
        if start >= self.requests.len() {
            return;
        }
        for _ in 0..=stream.run(simulation.synthesis.again, 8) {
            let request = start + stream.below(self.requests.len() - start);
            self.add(request, id, Mechanism::Synthesis);
        }
    }
}
