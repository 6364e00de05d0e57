//! What replays of one transcript have in common.
//!
//! They begin alike: up to the request at which clearing begins, each is the replay in which nothing is cleared. And they meet: after a request that clears, one that has fetched nothing again goes on as every other one that has come as far.
//!
//! Where clearing is recomputed with every request, what is cleared then does not depend on when clearing began, and the cache holds
//! nothing that the next request could read but what this one wrote. So the rest of a replay, once known, is added to the next that comes
//! by. Of the edits of one `keep` on one transcript, those with other triggers and `clear_at_least` mostly meet.

use super::held::{Entries, Nothing, Positions};
use super::prepared::Prepared;
use crate::replay::Totals;
use crate::replay::tariff::Sums;

/// What some part of a replay adds up to.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub totals: Totals,
    /// By price class.
    pub sums: Vec<Sums>,
    /// The largest `clear_at_least` with which it is the same.
    pub same_up_to: i64,
}

impl Part {
    /// Adds what comes after it.
    pub fn follow(&mut self, rest: &Self) {
        self.totals.merge(&rest.totals);
        self.totals.first_overflow = self.totals.first_overflow.or(rest.totals.first_overflow);
        for (sums, more) in self.sums.iter_mut().zip(&rest.sums) {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum += more;
            }
        }
        self.same_up_to = self.same_up_to.min(rest.same_up_to);
    }
}

/// How far the replay that clears nothing has come.
#[derive(Debug, Clone)]
struct Opening<H> {
    request: u32,
    part: Part,
    held: H,
}

/// The openings of a transcript: one after each request that the replay which clears nothing looks at, in order.
#[derive(Debug)]
pub(super) struct Openings<H> {
    known: Vec<Opening<H>>,
}

impl<H> Default for Openings<H> {
    fn default() -> Self {
        Self { known: Vec::new() }
    }
}

impl<H: Clone> Openings<H> {
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub fn push(&mut self, request: u32, totals: &Totals, sums: &[Sums], held: &H) {
        let part = Part { totals: totals.clone(), sums: sums.to_vec(), same_up_to: i64::MAX };
        self.known.push(Opening { request, part, held: held.clone() });
    }

    /// The last one before request `begins`.
    pub fn before(&self, begins: u32) -> Option<(u32, &Part, &H)> {
        let opening = &self.known[self.known.partition_point(|opening| opening.request < begins).checked_sub(1)?];
        Some((opening.request, &opening.part, &opening.held))
    }
}

/// What is known of the replays of one transcript by now, in the order in which they are made.
#[derive(Debug, Default)]
pub struct Known {
    pub(super) entries: Openings<Entries>,
    pub(super) positions: Openings<Positions>,
    pub(super) nothing: Openings<Nothing>,
    pub(super) rests: Rests,
}

impl Known {
    /// Forgets everything, for another transcript.
    pub fn reset(&mut self, prepared: &Prepared) {
        self.entries.known.clear();
        self.positions.known.clear();
        self.nothing.known.clear();
        self.rests.reset(prepared.requests());
    }

    /// Forgets how replays go on, for another `keep`.
    pub fn other_keep(&mut self) {
        self.rests.reset(0);
    }
}

/// A place where the rest is known.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    /// Items that are cleared there.
    items: u32,
    /// The rest is the same for a `clear_at_least` from this to that.
    from: i64,
    to: i64,
    rest: usize,
}

/// The rests of replays of one transcript under edits that differ in `trigger` and `clear_at_least` only.
#[derive(Debug, Default)]
pub(super) struct Rests {
    /// By request.
    meetings: Vec<Vec<Meeting>>,
    after: Vec<Part>,
    known: usize,
    /// Of the replay on its way: the parts before each place where others may meet it, and the places.
    parts: Vec<Part>,
    places: Vec<(u32, u32)>,
}

impl Rests {
    fn reset(&mut self, requests: usize) {
        self.known = 0;
        self.meetings.iter_mut().for_each(Vec::clear);
        if self.meetings.len() < requests {
            self.meetings.resize(requests, Vec::new());
        }
    }

    /// What comes after `request`, if a replay that had cleared as many items there is known.
    pub(super) fn rest(&self, request: u32, items: u32, goal: i64) -> Option<&Part> {
        let met = self.meetings[request as usize].iter().rev().find(|at| at.items == items && (at.from..=at.to).contains(&goal))?;
        Some(&self.after[met.rest])
    }

    /// Ends a part of the replay on its way at a place where others may meet it.
    pub(super) fn meet(&mut self, request: u32, items: u32, part: impl FnOnce(&mut Part)) {
        if self.parts.len() == self.places.len() {
            self.parts.push(Part::default());
        }
        part(&mut self.parts[self.places.len()]);
        self.places.push((request, items));
    }

    /// Ends the replay on its way with its last part, which becomes all of it.
    pub(super) fn end(&mut self, last: &mut Part, goal: i64) {
        while let Some((request, items)) = self.places.pop() {
            if self.known == self.after.len() {
                self.after.push(Part::default());
            }
            let to = if goal == 0 { 0 } else { last.same_up_to };
            self.meetings[request as usize].push(Meeting { items, from: goal, to, rest: self.known });
            self.after[self.known].clone_from(last);
            self.known += 1;
            let before = &mut self.parts[self.places.len()];
            before.follow(last);
            std::mem::swap(before, last);
        }
    }
}
