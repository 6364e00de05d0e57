//! Clearing that moves on with every use: a tight pass, one request after the other.
//!
//! With no `clear_at_least` the frontier follows the newest uses at a fixed distance. Each move makes everything behind the system
//! prompt other content, so that a request which clears reads the system prompt, and one which does not reads the request before it.

use super::frontier::Copies;
use super::held::{Held, Sent};
use super::prepared::Prepared;
use super::walk::Walk;

/// Whether a transcript is such that the tight pass is exact where its frontier moves: one price, one model, the system prompt an entry.
pub(super) fn fits(p: &Prepared) -> bool {
    let (terms, base) = (p.terms(0), p.trace.base_tokens as i64);
    let told = p.original.first().is_some_and(|&first| first > base);
    // Uses of the last answer are in no prompt.
    let items = p.stops.last().map_or(0, |stop| stop.items as usize);
    p.models == 1
        && p.tariff.above(0).is_empty()
        && !p.sticky()
        && terms.system_breakpoint
        && terms.lookback > 0
        && base >= terms.min_tokens
        && told
        && p.clearable[items] as usize == items
}

impl<H: Held> Walk<'_, '_, H> {
    /// Goes from the request after `request` to the next one that needs a look of its own, and returns that.
    pub(super) fn slide(&mut self, request: u32) -> u32 {
        let (p, next) = (self.p, request + 1);
        let end = p.next_irregular[next as usize];
        let stop = &p.stops[request as usize];
        let copies: &Copies = self.copies;
        let (fetched, keep) = (copies.len(), self.keep);
        if next >= end || self.front.count() + keep != stop.items + fetched || !self.held.slides(p, next, self.shift) {
            return next;
        }
        let base = p.trace.base_tokens as i64;
        let mut front = self.front;
        let mut offset = self.added - copies.saved[front.copies as usize];
        let mut prompt = stop.original + offset - p.saved[front.items as usize];
        let (mut items, mut run) = (stop.items, None);
        let (mut read, mut sent, mut answered, mut peak, mut clears, mut lost) = (0, 0, 0, 0, 0, 0);
        let mut at = next;
        while at < end {
            let stop = &p.stops[at as usize];
            let moves = stop.items != items;
            let mut now = front;
            if moves {
                now = copies.front_at(stop.items + fetched - keep, front);
                // Results that go before they were seen are looked at as needs.
                if now.items > items {
                    break;
                }
            }
            let needs = &p.needs[stop.needs as usize..p.stops[at as usize + 1].needs as usize];
            if needs.iter().any(|&item| copies.is_cleared(item, now)) {
                break;
            }
            if now.copies != front.copies {
                offset = self.added - copies.saved[now.copies as usize];
            }
            (front, items) = (now, stop.items);
            let before = std::mem::replace(&mut prompt, stop.original + offset - p.saved[front.items as usize]);
            let reads = if moves { base } else { before };
            if moves {
                clears += 1;
                lost += before - base;
                run = Some(at);
            }
            read += reads;
            sent += prompt;
            answered += stop.output;
            peak = peak.max(prompt);
            if prompt + stop.output > self.window && self.totals.first_overflow.is_none() {
                self.totals.first_overflow = Some(at);
            }
            at += 1;
        }
        if at == next {
            return next;
        }
        let totals = &mut self.totals;
        totals.requests += u64::from(at - next);
        totals.clear_events += clears;
        totals.cache_invalidations += clears;
        totals.invalidated_tokens += lost as u64;
        totals.cleared_uses += u64::from(front.count() - self.front.count());
        totals.peak_prompt_tokens = totals.peak_prompt_tokens.max(peak as u64);
        let sums = &mut self.sums[stop.class as usize];
        sums[1] += read as u64;
        sums[2] += (sent - read) as u64;
        sums[3] += answered as u64;
        let saved = p.saved[front.items as usize] + copies.saved[front.copies as usize];
        totals.freed_tokens += saved - self.saved;
        (self.front, self.saved) = (front, saved);
        self.cleared = front.count();
        self.take.look_ahead(p, copies, front);
        let offset = self.added - saved;
        let last = Sent { request: at - 1, front, copies: fetched, shift: self.shift, offset, prompt };
        self.held.slid(p, run, &last);
        at
    }
}
