//! How far clearing has come, and how far it has to come next.
//!
//! Every reading of the API's edit takes the oldest candidates, so that what is cleared is always the first part of the items, in the
//! order of their uses; re-fetched copies stand among them, each behind the items that were there before it.

use super::prepared::Prepared;
use crate::policy::Selection;
use crate::trace::NONE;

/// The items and copies that are cleared: so many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Front {
    pub items: u32,
    pub copies: u32,
}

impl Front {
    /// How many there are before it.
    pub fn count(self) -> u32 {
        self.items + self.copies
    }
}

/// What was fetched again, in order.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The item that each is a copy of.
    pub item: Vec<u32>,
    /// How many items stand before it.
    pub at: Vec<u32>,
    /// The request before which it was fetched.
    pub request: Vec<u32>,
    /// The first copy that was fetched with it.
    pub first: Vec<u32>,
    /// By copy and one more, sums over those before: freed for a selection, taken out of the prompt, tokens.
    pub freed: Vec<i64>,
    pub saved: Vec<i64>,
    pub tokens: Vec<i64>,
    /// By item: its newest copy, or [`NONE`].
    pub newest: Vec<u32>,
}

impl Copies {
    /// Forgets the copies of the replay before, whatever it was of.
    pub fn reset(&mut self, items: usize) {
        for &item in &self.item {
            self.newest[item as usize] = NONE;
        }
        if self.newest.len() < items {
            self.newest.resize(items, NONE);
        }
        for list in [&mut self.item, &mut self.at, &mut self.request, &mut self.first] {
            list.clear();
        }
        for sums in [&mut self.freed, &mut self.saved, &mut self.tokens] {
            sums.clear();
            sums.push(0);
        }
    }

    pub fn len(&self) -> u32 {
        self.item.len() as u32
    }

    /// Whether the newest copy of an item is cleared.
    pub fn is_cleared(&self, item: u32, front: Front) -> bool {
        if item >= front.items {
            return false;
        }
        let copy = self.newest[item as usize];
        copy == NONE || copy < front.copies
    }

    /// Adds a copy of `item`, fetched before request `request` together with those from copy `first` on.
    pub fn push(&mut self, p: &Prepared, item: u32, request: u32, first: u32) {
        let (n, k) = (self.item.len(), item as usize);
        self.newest[k] = n as u32;
        self.item.push(item);
        self.at.push(p.stops[request as usize].items);
        self.request.push(request);
        self.first.push(first);
        self.freed.push(self.freed[n] + p.freed[k + 1] - p.freed[k]);
        self.saved.push(self.saved[n] + p.saved[k + 1] - p.saved[k]);
        let of = &p.items[k];
        self.tokens.push(self.tokens[n] + i64::from(of.use_tokens) + i64::from(of.result_tokens));
    }

    /// Where `count` items and copies are behind, from `front` on.
    pub fn front_at(&self, count: u32, front: Front) -> Front {
        let mut copies = front.copies;
        while copies < self.len() && self.at[copies as usize] + copies < count {
            copies += 1;
        }
        Front { items: count - copies, copies }
    }

    /// The first place behind `from` before which `goal` tokens (more than 0) are freed; at most all of the transcript's items.
    fn reach(&self, p: &Prepared, from: Front, goal: i64) -> Option<Front> {
        let (mut front, mut goal) = (from, goal);
        loop {
            let copy = front.copies as usize;
            let end = self.at.get(copy).map_or(p.items.len(), |&at| at as usize);
            let start = front.items as usize;
            if p.freed[end] - p.freed[start] >= goal {
                let items = gallop(&p.freed, start, end, p.freed[start] + goal) as u32;
                return Some(Front { items, copies: front.copies });
            }
            if copy == self.item.len() {
                return None;
            }
            goal -= p.freed[end] - p.freed[start] + self.freed[copy + 1] - self.freed[copy];
            front = Front { items: end as u32, copies: front.copies + 1 };
            if goal <= 0 {
                return Some(front);
            }
        }
    }
}

/// The first index in `from + 1..=to` whose value is at least `value`; that at `to` is.
fn gallop(sums: &[i64], from: usize, to: usize, value: i64) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step < to && sums[low + step] < value {
        low += step;
        step *= 2;
    }
    let high = to.min(low + step);
    low + 1 + sums[low + 1..high].partition_point(|&sum| sum < value)
}

/// When enough is there to be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Take {
    selection: Selection,
    /// Tokens that have to be freed; 0: any.
    goal: i64,
    sticky: bool,
    /// The place that the protected part has to leave free before clearing goes on; none: [`NONE`].
    pub next: u32,
    /// That place, for batches.
    batch: Front,
    /// The largest `goal` with which the outcome so far is the same.
    pub same_up_to: i64,
}

impl Take {
    pub fn new(selection: Selection, clear_at_least: u64, sticky: bool) -> Self {
        let goal = i64::try_from(clear_at_least).unwrap_or(i64::MAX);
        Self { selection, goal, sticky, next: NONE, batch: Front::default(), same_up_to: i64::MAX }
    }

    /// Tokens that have to be freed; 0: any.
    pub fn goal(&self) -> i64 {
        self.goal
    }

    /// The largest goal with which clearing goes on from `front` as it does.
    pub fn limit(&self, p: &Prepared, copies: &Copies, front: Front) -> i64 {
        let before = self.freed_before(p, copies, front);
        // A batch asks only what comes after it; the others whether enough is freed by now.
        if self.selection == Selection::Batched || before < self.goal { i64::MAX } else { before }
    }

    /// What is freed before a place, less what stood cleared when the selection began.
    fn freed_before(&self, p: &Prepared, copies: &Copies, front: Front) -> i64 {
        if self.sticky { 0 } else { p.freed[front.items as usize] + copies.freed[front.copies as usize] }
    }

    /// Looks for the next place from `front` on; again whenever something was cleared or fetched.
    pub fn look_ahead(&mut self, p: &Prepared, copies: &Copies, front: Front) {
        let one_more = front.count() + 1;
        if self.goal == 0 {
            self.next = one_more;
            return;
        }
        let left = match self.selection {
            Selection::Batched => self.goal,
            _ => self.goal - self.freed_before(p, copies, front),
        };
        self.next = match self.selection {
            Selection::StopWhenReached if left <= 0 => NONE,
            Selection::StopWhenReached => one_more,
            Selection::AllOrNothing if left <= 0 => one_more,
            Selection::AllOrNothing | Selection::Batched => match copies.reach(p, front, left) {
                Some(reached) => {
                    self.batch = reached;
                    reached.count()
                }
                None => NONE,
            },
        };
    }

    /// Takes what can be taken when `end` items and copies are free to go, at least [`Take::next`]; looks ahead.
    pub fn advance(&mut self, p: &Prepared, copies: &Copies, front: Front, end: u32) -> Front {
        let mut taken = front;
        if self.goal > 0 && self.selection == Selection::Batched {
            while self.next <= end {
                self.reached(p, copies, taken, self.batch, 0);
                taken = self.batch;
                self.look_ahead(p, copies, taken);
            }
            return taken;
        }
        taken = copies.front_at(end, front);
        if self.goal > 0 {
            let before = self.freed_before(p, copies, front);
            if self.selection == Selection::StopWhenReached {
                if let Some(reached) = copies.reach(p, front, self.goal - before).filter(|reached| reached.count() <= end) {
                    taken = reached;
                    self.reached(p, copies, front, taken, before);
                }
            } else {
                self.reached(p, copies, front, taken, before);
            }
        }
        self.look_ahead(p, copies, taken);
        taken
    }

    fn reached(&mut self, p: &Prepared, copies: &Copies, from: Front, to: Front, before: i64) {
        let items = p.freed[to.items as usize] - p.freed[from.items as usize];
        let again = copies.freed[to.copies as usize] - copies.freed[from.copies as usize];
        self.same_up_to = self.same_up_to.min(before + items + again);
    }
}
