//! What the prompt cache holds, by the requests that left it there.
//!
//! Entries stand where prompts ended, and clearing only moves on. So whether an entry's prefix is the same as the prompt's is a matter of
//! two places in the order of the items: how far clearing had come when it was written, and how far it has come now.

use super::frontier::{Copies, Front};
use super::prepared::{Prepared, Stop};
use crate::trace::NONE;

/// A request as it is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub request: u32,
    /// What is cleared in it.
    pub front: Front,
    /// Copies that its history holds.
    pub copies: u32,
    /// Positions that copies have added.
    pub shift: u32,
    /// Prompt tokens less the unedited ones of the transcript's request.
    pub offset: i64,
    /// Prompt tokens.
    pub prompt: i64,
}

/// A prompt cache.
pub(super) trait Held: Clone {
    /// Empties it.
    fn reset(&mut self, p: &Prepared);
    /// Drops and refreshes what the transcript says, before request `request` is sent.
    fn natural(&mut self, p: &Prepared, request: u32, shift: u32);
    /// Tokens that the prompt reads, and what it would read if only `before` were cleared, where that is asked. Writes the prompt.
    fn send(&mut self, p: &Prepared, copies: &Copies, stop: &Stop, sent: &Sent, before: Option<Front>) -> (i64, i64);
    /// What a prompt that is too small to read or write would read if only `before` were cleared.
    fn would_read(&self, p: &Prepared, copies: &Copies, stop: &Stop, sent: &Sent, before: Front) -> i64;
    /// Lets the undisturbed requests after `from` up to `to` go by.
    fn pass(&mut self, p: &Prepared, from: u32, to: u32);
    /// Whether, from request `next` on, all that stays after the next clear is the entry of the system prompt.
    fn slides(&self, _: &Prepared, _next: u32, _shift: u32) -> bool {
        false
    }
    /// Lets requests up to `last` go by of which each read the one before it, or nothing but the system prompt; `run`: the last of the
    /// latter, if any was.
    fn slid(&mut self, _: &Prepared, _run: Option<u32>, _last: &Sent) {}
    /// Whether, after `request` was sent, nothing that was written before it is ever read again, except what it wrote itself at the
    /// same time and the system prompt that it used.
    fn forgets(&self, p: &Prepared, request: u32) -> bool;
    /// Whether the request written last is the last entry, so that undisturbed ones may follow.
    fn ends_with(&self, request: u32) -> bool;
}

/// Requests one after the other, each of which read the entry of the one before it.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
    front: Front,
    copies: u32,
    shift: u32,
    offset: i64,
    /// The first item that is not cleared and can be; items in the prompts of the first and of the last request.
    changes: u32,
    items: (u32, u32),
    /// Where the last one's prompt ends.
    end: i64,
    /// Of the last one's entry; those of others were used by the request after them.
    last_used: i64,
    ttl: i64,
    model: u16,
}

impl Run {
    fn position(&self, p: &Prepared, request: u32) -> i64 {
        i64::from(p.stops[request as usize].position) + i64::from(self.shift)
    }

    /// When the entry of a request was last used, and for how long it lives then.
    fn used(&self, p: &Prepared, request: u32) -> (i64, i64) {
        if request == self.last {
            return (self.last_used, self.ttl);
        }
        let next = &p.stops[request as usize + 1];
        (next.at, next.ttl)
    }

    fn is_live(&self, p: &Prepared, request: u32, now: i64) -> bool {
        let (used, ttl) = self.used(p, request);
        now.saturating_sub(used) <= ttl
    }

    fn new(p: &Prepared, first: u32, last: u32, of: &Sent, model: u16) -> Self {
        let mut run = Self {
            first,
            last,
            front: of.front,
            copies: of.copies,
            shift: of.shift,
            offset: of.offset,
            changes: p.next_clearable[of.front.items as usize],
            items: (p.stops[first as usize].items, 0),
            end: 0,
            last_used: 0,
            ttl: 0,
            model,
        };
        run.end_with(p, last);
        run
    }

    /// Lets it end with `request`, which was sent just now.
    fn end_with(&mut self, p: &Prepared, request: u32) {
        let stop = &p.stops[request as usize];
        self.last = request;
        self.items.1 = stop.items;
        self.end = i64::from(stop.position) + i64::from(self.shift);
        self.last_used = stop.at;
        self.ttl = stop.ttl;
    }

    /// Whether copies that it holds are cleared in `front` and were not in it.
    fn has_other_copies(&self, front: Front) -> bool {
        front.copies.min(self.copies) > self.front.copies
    }

    /// Whether the prefix of its last entry is the same with `front` cleared.
    fn is_same(&self, front: Front) -> bool {
        front == self.front || (!self.has_other_copies(front) && self.changes >= front.items.min(self.items.1))
    }

    /// Whether the prefixes of all its entries are others with `front` cleared.
    fn is_other(&self, front: Front) -> bool {
        front != self.front && (self.has_other_copies(front) || self.changes < front.items.min(self.items.0))
    }

    /// The last request whose prefix is the same with `front` cleared.
    fn last_same(&self, p: &Prepared, front: Front) -> Option<u32> {
        if self.is_same(front) {
            return Some(self.last);
        }
        (!self.is_other(front)).then(|| self.last.min(p.items[self.changes as usize].issue))
    }

    /// Shortens it, so that it ends with `request`.
    fn cut(&mut self, p: &Prepared, request: u32) {
        let (last_used, ttl) = self.used(p, request);
        self.end_with(p, request);
        (self.last_used, self.ttl) = (last_used, ttl);
    }
}

/// The entry at the end of tools and system prompt, of one model.
#[derive(Debug, Clone, Copy, Default)]
struct Base {
    held: bool,
    last_used: i64,
    ttl: i64,
}

/// Entries at the ends of prompts, found by walking back.
#[derive(Debug, Default, Clone)]
pub(super) struct Entries {
    /// Positions ascend.
    runs: Vec<Run>,
    /// By model.
    bases: Vec<Base>,
}

impl Entries {
    /// The newest entry that the prompt holds with `front` cleared, as run and request.
    fn find(&self, p: &Prepared, stop: &Stop, sent: &Sent, front: Front) -> Option<(usize, u32)> {
        let reach = i64::from(stop.position) + i64::from(sent.shift) - i64::from(p.terms(stop.model).lookback);
        for (index, run) in self.runs.iter().enumerate().rev() {
            if run.end <= reach {
                return None;
            }
            if run.model != stop.model {
                continue;
            }
            let Some(last) = run.last_same(p, front) else { continue };
            let near = (run.first..=last).rev().take_while(|&request| run.position(p, request) > reach);
            for request in near {
                if run.is_live(p, request, stop.at) {
                    return Some((index, request));
                }
            }
        }
        None
    }

    fn base_tokens(&self, p: &Prepared, stop: &Stop) -> i64 {
        let base = &self.bases[usize::from(stop.model)];
        let live = base.held && stop.at.saturating_sub(base.last_used) <= base.ttl && p.terms(stop.model).lookback > 0;
        if live { p.trace.base_tokens as i64 } else { 0 }
    }

    fn tokens(&self, p: &Prepared, (run, request): (usize, u32)) -> i64 {
        p.stops[request as usize].original + self.runs[run].offset
    }

    fn would_read_now(&self, p: &Prepared, stop: &Stop, sent: &Sent, before: Front) -> i64 {
        let found = self.find(p, stop, sent, before);
        found.map_or_else(|| self.base_tokens(p, stop), |found| self.tokens(p, found)).max(i64::from(stop.floor))
    }

    fn read(&mut self, p: &Prepared, stop: &Stop, sent: &Sent) -> i64 {
        let found = self.find(p, stop, sent, sent.front);
        let tokens = found.map_or_else(|| self.base_tokens(p, stop), |found| self.tokens(p, found));
        if tokens < i64::from(stop.floor) {
            return i64::from(stop.floor);
        }
        if let Some((index, request)) = found {
            // What this model has behind the entry is other content, or expired: neither comes back.
            let run = &mut self.runs[index];
            run.end_with(p, request);
            run.last_used = stop.at;
            run.ttl = stop.ttl;
        }
        tokens
    }

    /// Writes the entry at the end of the prompt.
    fn write(&mut self, p: &Prepared, stop: &Stop, sent: &Sent, position: i64) {
        // What is other content by now stays so.
        while self.runs.last().is_some_and(|run| run.is_other(sent.front)) {
            self.runs.pop();
        }
        for run in self.runs.iter_mut().rev() {
            if run.end < position {
                break;
            }
            if run.model == stop.model && run.is_same(sent.front) {
                // Nothing was appended: the same entry.
                run.last_used = stop.at;
                run.ttl = stop.ttl;
                return;
            }
        }
        let (request, copies, front, model) = (sent.request, sent.copies, sent.front, stop.model);
        if let Some(run) = self.runs.last_mut() {
            let read = run.last + 1 == request && run.last_used == stop.at && run.ttl == stop.ttl;
            if read && run.front == front && run.copies == copies && run.model == model {
                run.end_with(p, request);
                return;
            }
        }
        self.runs.push(Run::new(p, request, request, sent, model));
    }
}

impl Held for Entries {
    fn reset(&mut self, p: &Prepared) {
        self.runs.clear();
        self.bases.clear();
        self.bases.resize(p.models, Base::default());
    }

    fn natural(&mut self, p: &Prepared, request: u32, shift: u32) {
        // What is out of reach stays so.
        let reach = i64::from(p.stops[request as usize].position) + i64::from(shift) - i64::from(p.lookback);
        let far = self.runs.iter().rposition(|run| run.end <= reach).map_or(0, |far| far + 1);
        self.runs.drain(..far);
        let (at, then) = (p.stops[request as usize].at, p.stops[request as usize - 1].at);
        let of = &p.trace.requests[request as usize];
        if of.kept_warm {
            for base in &mut self.bases {
                if then.saturating_sub(base.last_used) <= base.ttl {
                    base.last_used = at;
                }
            }
            // Each entry that is within reach has a time of its own from here on.
            let runs = std::mem::take(&mut self.runs);
            for run in runs {
                for one in (run.first..=run.last).filter(|&one| run.position(p, one) > reach) {
                    let (last_used, ttl) = run.used(p, one);
                    let last_used = if then.saturating_sub(last_used) <= ttl { at } else { last_used };
                    let mut single = Run { first: one, items: (p.stops[one as usize].items, 0), ..run };
                    single.end_with(p, one);
                    self.runs.push(Run { last_used, ttl, ..single });
                }
            }
        }
        if let Some(n) = of.flush_above {
            let n = i64::try_from(n).unwrap_or(i64::MAX);
            self.runs.retain_mut(|run| {
                let kept = p.original[run.first as usize..=run.last as usize].partition_point(|&tokens| tokens + run.offset <= n) as u32;
                let some = kept > 0;
                if some && run.first + kept - 1 < run.last {
                    run.cut(p, run.first + kept - 1);
                }
                some
            });
            if p.trace.base_tokens as i64 > n {
                self.bases.iter_mut().for_each(|base| base.held = false);
            }
        }
    }

    fn send(&mut self, p: &Prepared, _: &Copies, stop: &Stop, sent: &Sent, before: Option<Front>) -> (i64, i64) {
        let terms = p.terms(stop.model);
        let base_tokens = p.trace.base_tokens as i64;
        let position = i64::from(stop.position) + i64::from(sent.shift);
        let mut done = None;
        // Nearly always the request before is within reach and live.
        if let Some(run) = self.runs.last_mut().filter(|_| stop.floor == 0) {
            let near = run.model == stop.model && run.end > position - i64::from(terms.lookback);
            if near && stop.at.saturating_sub(run.last_used) <= run.ttl {
                let tokens = p.stops[run.last as usize].original + run.offset;
                if run.is_same(sent.front) {
                    run.last_used = stop.at;
                    run.ttl = stop.ttl;
                    done = Some((tokens, tokens));
                } else if before.is_some_and(|before| before == run.front) && run.is_other(sent.front) {
                    // All of it is other content by now.
                    self.runs.pop();
                    done = Some((if self.runs.is_empty() { self.base_tokens(p, stop) } else { self.read(p, stop, sent) }, tokens));
                }
            }
        }
        let (read, would) = done.unwrap_or_else(|| {
            let would = before.map_or(0, |before| self.would_read_now(p, stop, sent, before));
            (self.read(p, stop, sent), would)
        });
        if terms.system_breakpoint && base_tokens >= terms.min_tokens {
            self.bases[usize::from(stop.model)] = Base { held: true, last_used: stop.at, ttl: stop.ttl };
        }
        if position > 0 || !terms.system_breakpoint {
            self.write(p, stop, sent, position);
        }
        (read, would)
    }

    fn would_read(&self, p: &Prepared, _: &Copies, stop: &Stop, sent: &Sent, before: Front) -> i64 {
        self.would_read_now(p, stop, sent, before)
    }

    fn pass(&mut self, p: &Prepared, _: u32, to: u32) {
        let stop = &p.stops[to as usize];
        if let Some(run) = self.runs.last_mut() {
            run.end_with(p, to);
        }
        let base = &mut self.bases[usize::from(stop.model)];
        if base.held {
            base.last_used = stop.at;
            base.ttl = stop.ttl;
        }
    }

    fn slides(&self, p: &Prepared, next: u32, shift: u32) -> bool {
        let Some((run, older)) = self.runs.split_last() else { return false };
        let reach = i64::from(p.stops[next as usize].position) + i64::from(shift) - i64::from(p.terms(0).lookback);
        let changes = run.changes < run.items.0 || run.front.copies < run.copies;
        run.last + 1 == next && changes && older.last().is_none_or(|older| older.end <= reach)
    }

    fn slid(&mut self, p: &Prepared, run: Option<u32>, last: &Sent) {
        if let Some(first) = run {
            // Nothing before it is within reach and the same.
            self.runs.clear();
            self.runs.push(Run::new(p, first, last.request, last, p.stops[0].model));
        }
        self.pass(p, 0, last.request);
    }

    fn forgets(&self, p: &Prepared, request: u32) -> bool {
        let Some((run, older)) = self.runs.split_last() else { return false };
        let reach = run.end - i64::from(p.terms(run.model).lookback);
        p.models == 1 && (run.first, run.last) == (request, request) && older.last().is_none_or(|older| older.end <= reach)
    }

    fn ends_with(&self, request: u32) -> bool {
        self.runs.last().is_some_and(|run| run.last == request)
    }
}

/// Every position an entry: the last request of each model holds all of its prompt, and no older one more of what is still the same.
#[derive(Debug, Default, Clone)]
pub(super) struct Positions {
    last: Vec<Option<Written>>,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    request: u32,
    front: Front,
    copies: u32,
    prompt: i64,
    offset: i64,
    /// Longer prefixes were dropped since.
    most: i64,
    last_used: i64,
    ttl: i64,
}

impl Positions {
    fn common(&self, p: &Prepared, copies: &Copies, stop: &Stop, front: Front) -> i64 {
        let Some(held) = &self.last[usize::from(stop.model)] else { return 0 };
        if stop.at.saturating_sub(held.last_used) > held.ttl {
            return 0;
        }
        let tokens = super::prefix::common_tokens(p, copies, (held.request, held.copies, held.front), front).unwrap_or(held.prompt);
        let tokens = if tokens > held.most { super::prefix::tokens_within(p, copies, held.front, held.most) } else { tokens };
        if tokens < p.terms(stop.model).min_tokens { 0 } else { tokens }
    }
}

impl Held for Positions {
    fn reset(&mut self, p: &Prepared) {
        self.last.clear();
        self.last.resize(p.models, None);
    }

    fn natural(&mut self, p: &Prepared, request: u32, _: u32) {
        let (at, then) = (p.stops[request as usize].at, p.stops[request as usize - 1].at);
        let of = &p.trace.requests[request as usize];
        let most = of.flush_above.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX));
        for held in self.last.iter_mut().flatten() {
            held.most = held.most.min(most);
            if of.kept_warm && then.saturating_sub(held.last_used) <= held.ttl {
                held.last_used = at;
            }
        }
    }

    fn would_read(&self, p: &Prepared, copies: &Copies, stop: &Stop, _: &Sent, before: Front) -> i64 {
        self.common(p, copies, stop, before).max(i64::from(stop.floor))
    }

    fn send(&mut self, p: &Prepared, copies: &Copies, stop: &Stop, sent: &Sent, before: Option<Front>) -> (i64, i64) {
        let would = before.map_or(0, |before| self.would_read(p, copies, stop, sent, before));
        let read = self.common(p, copies, stop, sent.front).max(i64::from(stop.floor));
        self.last[usize::from(stop.model)] = Some(Written {
            request: sent.request,
            front: sent.front,
            copies: sent.copies,
            prompt: sent.prompt,
            offset: sent.offset,
            most: i64::MAX,
            last_used: stop.at,
            ttl: stop.ttl,
        });
        (read, would)
    }

    fn pass(&mut self, p: &Prepared, _: u32, to: u32) {
        let stop = &p.stops[to as usize];
        if let Some(held) = &mut self.last[usize::from(stop.model)] {
            held.request = to;
            held.prompt = stop.original + held.offset;
            held.last_used = stop.at;
            held.ttl = stop.ttl;
        }
    }

    fn forgets(&self, p: &Prepared, request: u32) -> bool {
        p.models == 1 && matches!(self.last[..], [Some(last)] if last.request == request)
    }

    fn ends_with(&self, _: u32) -> bool {
        true
    }
}

/// No cache.
#[derive(Debug, Default, Clone)]
pub(super) struct Nothing;

impl Held for Nothing {
    fn reset(&mut self, _: &Prepared) {}
    fn natural(&mut self, _: &Prepared, _: u32, _: u32) {}
    fn would_read(&self, _: &Prepared, _: &Copies, _: &Stop, _: &Sent, _: Front) -> i64 {
        0
    }
    fn send(&mut self, _: &Prepared, _: &Copies, _: &Stop, _: &Sent, _: Option<Front>) -> (i64, i64) {
        (0, 0)
    }
    fn pass(&mut self, _: &Prepared, _: u32, _: u32) {}
    fn forgets(&self, _: &Prepared, _: u32) -> bool {
        true
    }
    fn ends_with(&self, _: u32) -> bool {
        true
    }
}

/// The place of what comes first, of an item and a copy; [`NONE`]: there is none.
pub(super) fn first_changed(p: &Prepared, copies: &Copies, held: (u32, u32, Front), front: Front) -> (u32, u32) {
    let (request, held_copies, was) = held;
    let item = p.next_clearable[was.items as usize];
    let item = if item < front.items.min(p.stops[request as usize].items) { item } else { NONE };
    let copy = if was.copies < front.copies.min(held_copies) { was.copies } else { NONE };
    if copy != NONE && (item == NONE || copies.at[copy as usize] <= item) { (NONE, copy) } else { (item, NONE) }
}
