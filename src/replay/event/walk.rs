//! One replay: request by request where something happens, in closed form where nothing does.

use super::Way;
use super::first::fires_at;
use super::frontier::{Copies, Front, Take};
use super::held::{Held, Sent};
use super::known::{Openings, Part, Rests};
use super::prepared::{NEEDS_A_BLOCK, Prepared, Stop};
use crate::policy::Trigger;
use crate::replay::Totals;
use crate::replay::tariff::Sums;
use crate::trace::{BlockKind, NONE, Refetch};

/// The memory of a replay, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Memory {
    copies: Copies,
    missing: Vec<u32>,
    /// By price class.
    sums: Vec<Sums>,
    all: Part,
}

/// The knobs of one replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knobs {
    /// `None`: nothing is ever cleared.
    pub trigger: Option<Trigger>,
    pub keep: u32,
    pub clear_at_least: u64,
}

/// A replay on its way.
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Walk<'p, 'm, H> {
    pub(super) p: &'p Prepared<'p>,
    pub(super) copies: &'m mut Copies,
    missing: &'m mut Vec<u32>,
    pub(super) sums: &'m mut Vec<Sums>,
    pub(super) held: &'m mut H,
    pub(super) keep: u32,
    pub(super) take: Take,
    /// The trigger counts uses.
    counts_uses: bool,
    /// The trigger fires at this value.
    fires_at: i64,
    sticky: bool,
    /// Every item that can go goes at once, and the tight pass is exact.
    slides: bool,
    jumps: bool,
    pub(super) front: Front,
    /// What all of it adds up to, where parts of it are known.
    all: &'m mut Part,
    /// Of what is cleared: what it takes out of the prompt, and how many uses it is.
    pub(super) saved: i64,
    pub(super) cleared: u32,
    /// What copies have added: positions and tokens.
    pub(super) shift: u32,
    pub(super) added: i64,
    pub(super) window: i64,
    pub(super) totals: Totals,
}

impl<'p, 'm, H: Held> Walk<'p, 'm, H> {
    pub fn new(p: &'p Prepared<'p>, memory: &'m mut Memory, held: &'m mut H, knobs: Knobs, way: Way) -> Self {
        let Memory { copies, missing, sums, all } = memory;
        copies.reset(p.items.len());
        held.reset(p);
        sums.clear();
        sums.resize(p.tariff.classes(), Sums::default());
        let assume = &p.settings.assume;
        let (counts_uses, fires_at) = knobs.trigger.map_or((false, i64::MAX), |trigger| fires_at(p, trigger));
        let mut take = Take::new(assume.selection, knobs.clear_at_least, p.sticky());
        if knobs.trigger.is_some() {
            take.look_ahead(p, copies, Front::default());
        }
        Self {
            p,
            copies,
            missing,
            sums,
            held,
            keep: knobs.keep,
            take,
            counts_uses,
            fires_at,
            sticky: p.sticky(),
            slides: way == Way::Auto && knobs.clear_at_least == 0 && knobs.keep > 0 && super::slide::fits(p),
            jumps: way != Way::Linear,
            front: Front::default(),
            all,
            saved: 0,
            cleared: 0,
            shift: 0,
            added: 0,
            window: p.settings.context_window.map_or(i64::MAX, |window| i64::try_from(window).unwrap_or(i64::MAX)),
            totals: Totals::default(),
        }
    }

    /// Replays everything. Also returns the largest `clear_at_least` with which the outcome is the same.
    pub fn run(mut self) -> (Totals, i64) {
        self.run_from(0, |_, _| false);
        self.finish()
    }

    /// Replays everything, noting how far it has come.
    pub fn open(mut self, openings: &mut Openings<H>) {
        self.run_from(0, |walk, request| {
            openings.push(request, &walk.totals, walk.sums, walk.held);
            false
        });
    }

    /// As [`Walk::run`], from where clearing begins to where it meets another, noting where others may meet it.
    pub fn run_known(mut self, begins: u32, openings: &Openings<H>, rests: &mut Rests) -> (Totals, i64) {
        let mut from = 0;
        if let Some((request, part, held)) = openings.before(begins) {
            self.totals.clone_from(&part.totals);
            self.sums.clone_from(&part.sums);
            self.held.clone_from(held);
            if begins > request + 1 {
                self.pass(request, begins - 1);
            }
            from = begins;
        }
        if self.slides || self.sticky {
            self.run_from(from, |_, _| false);
            return self.finish();
        }
        let (goal, mut clears, mut met) = (self.take.goal(), 0, false);
        self.run_from(from, |walk, request| {
            if walk.totals.clear_events == clears {
                return false;
            }
            clears = walk.totals.clear_events;
            if walk.copies.len() > 0 || !walk.held.forgets(walk.p, request) {
                return false;
            }
            if let Some(rest) = rests.rest(request, walk.front.items, goal) {
                walk.all.clone_from(rest);
                met = true;
                return true;
            }
            clears = 0;
            rests.meet(request, walk.front.items, |part| walk.part(part));
            walk.take.same_up_to = walk.take.limit(walk.p, walk.copies, walk.front);
            false
        });
        let mut all = std::mem::take(self.all);
        if met {
            let mut last = Part::default();
            self.part(&mut last);
            last.follow(&all);
            all = last;
        } else {
            self.part(&mut all);
        }
        rests.end(&mut all, goal);
        self.totals = std::mem::take(&mut all.totals);
        self.sums.clone_from(&all.sums);
        self.take.same_up_to = all.same_up_to;
        *self.all = all;
        self.finish()
    }

    fn finish(mut self) -> (Totals, i64) {
        let totals = &mut self.totals;
        for [uncached, read, written, output] in self.sums.iter() {
            totals.uncached_tokens += uncached;
            totals.cache_read_tokens += read;
            totals.cache_write_tokens += written;
            totals.output_tokens += output;
        }
        totals.prompt_tokens = totals.uncached_tokens + totals.cache_read_tokens + totals.cache_write_tokens;
        totals.cost_usd = self.p.tariff.usd(&self.p.settings, self.sums);
        (self.totals, self.take.same_up_to)
    }

    /// Moves what was summed so far into `part`.
    fn part(&mut self, part: &mut Part) {
        part.totals = std::mem::take(&mut self.totals);
        part.sums.clone_from(self.sums);
        self.sums.fill(Sums::default());
        part.same_up_to = std::mem::replace(&mut self.take.same_up_to, i64::MAX);
    }

    /// Replays from `request` on, until `meets` says after a request that the rest is known.
    #[inline]
    fn run_from(&mut self, mut request: u32, mut meets: impl FnMut(&mut Self, u32) -> bool) {
        let requests = self.p.trace.requests.len() as u32;
        while request < requests {
            self.step(request);
            if meets(self, request) {
                return;
            }
            if self.slides && self.front.items > 0 {
                request = self.slide(request);
                continue;
            }
            let next = if self.jumps { self.next_event(request, requests) } else { request + 1 };
            if next > request + 1 {
                self.pass(request, next - 1);
            }
            request = next;
        }
    }

    /// What the trigger looks at.
    fn looked_at(&self, stop: &Stop) -> i64 {
        if self.counts_uses {
            i64::from(stop.counted + self.copies.len())
        } else {
            stop.original + self.added - if self.sticky { self.saved } else { 0 }
        }
    }

    /// One request, with what is fetched again before it.
    fn step(&mut self, request: u32) {
        let p = self.p;
        let stop = &p.stops[request as usize];
        if stop.natural {
            self.held.natural(p, request, self.shift);
        }
        let mut rounds_left = p.settings.assume.max_refetch_rounds;
        let lost = loop {
            let before = (self.front, self.saved, self.cleared);
            let end = (stop.items + self.copies.len()).saturating_sub(self.keep);
            if end >= self.take.next && self.looked_at(stop) >= self.fires_at {
                self.front = self.take.advance(p, self.copies, self.front, end);
                let (items, copies) = (self.front.items as usize, self.front.copies as usize);
                self.saved = p.saved[items] + self.copies.saved[copies];
                self.cleared = p.clearable[items] + self.front.copies;
            }
            let lost = if self.front.items == 0 { 0 } else { self.look_at_needs(request, stop) };
            if self.front.items == 0 || self.missing.is_empty() || rounds_left == 0 {
                self.send(request, stop, before, stop.output);
                break lost;
            }
            rounds_left -= 1;
            let answered = self.price_refetch();
            self.send(request, stop, before, answered);
            self.fetch_again(request);
        };
        self.totals.lost_needs += lost;
        if self.front.items > 0 {
            self.totals.unmet_needs += self.missing.len() as u64;
        }
    }

    /// Finds what the request needs and the prompt does not hold: fills `missing`, and returns how many more are lost.
    fn look_at_needs(&mut self, request: u32, stop: &Stop) -> u64 {
        self.missing.clear();
        let p = self.p;
        let needs = &p.needs[stop.needs as usize..p.stops[request as usize + 1].needs as usize];
        let mut lost = 0;
        for &item in needs {
            if self.copies.is_cleared(item, self.front) {
                lost += self.miss(item);
            }
        }
        // Then those whose results its own input brings.
        let arriving_from = if request == 0 { 0 } else { p.stops[request as usize - 1].items };
        if self.front.items > arriving_from {
            let input = &p.trace.requests[request as usize];
            for block in input.input as usize..input.output as usize {
                if p.trace.kinds[block] != BlockKind::Result {
                    continue;
                }
                let item = p.item_of[p.trace.block_use[block] as usize];
                if item != NONE && self.copies.is_cleared(item, self.front) && !needs.contains(&item) {
                    lost += self.miss(item);
                }
            }
        }
        lost
    }

    /// Notes an item as missing, if it can be had again; else it is one that is lost.
    fn miss(&mut self, item: u32) -> u64 {
        let tool = &self.p.trace.tools[usize::from(self.p.items[item as usize].tool)];
        if tool.refetch == Refetch::Never {
            return 1;
        }
        self.missing.push(item);
        0
    }

    /// Counts what is fetched again; the tokens that ask for it.
    fn price_refetch(&mut self) -> i64 {
        let p = self.p;
        self.totals.refetch_requests += 1;
        self.totals.refetches += self.missing.len() as u64;
        let (mut answered, mut usd, mut seconds) = (0, 0.0, 0.0);
        for &item in &*self.missing {
            let of = &p.items[item as usize];
            answered += i64::from(of.use_tokens);
            let tool = &p.trace.tools[usize::from(of.tool)];
            self.totals.costly_refetches += u64::from(tool.refetch == Refetch::Costly);
            usd += tool.refetch_usd;
            seconds += tool.refetch_seconds;
        }
        if p.priced {
            self.totals.refetch_usd += usd;
            self.totals.refetch_seconds += seconds;
        }
        answered
    }

    /// Appends what is missing to the history.
    fn fetch_again(&mut self, request: u32) {
        let (p, first) = (self.p, self.copies.len());
        for &item in &*self.missing {
            self.copies.push(p, item, request, first);
        }
        self.added += self.copies.tokens[self.copies.len() as usize] - self.copies.tokens[first as usize];
        self.shift += if p.settings.cache.group_parallel { 2 } else { 2 * self.missing.len() as u32 };
        self.take.look_ahead(p, self.copies, self.front);
    }

    /// Accounts a request. `before`: what was cleared in the one before it.
    fn send(&mut self, request: u32, stop: &Stop, before: (Front, i64, u32), output: i64) {
        let p = self.p;
        let offset = self.added - self.saved;
        let prompt = stop.original + offset;
        let sent = Sent { request, front: self.front, copies: self.copies.len(), shift: self.shift, offset, prompt };
        let min = p.terms(stop.model).min_tokens;
        let newly = self.cleared - before.2;
        let mut before_front = None;
        if newly > 0 {
            self.totals.clear_events += 1;
            self.totals.cleared_uses += u64::from(newly);
            self.totals.freed_tokens += self.saved - before.1;
            before_front = (prompt + self.saved - before.1 >= min).then_some(before.0);
        }
        let class = self.class(stop, prompt);
        let sums = &mut self.sums[class];
        let (mut read, mut would) = (0, 0);
        if prompt >= min {
            (read, would) = self.held.send(p, self.copies, stop, &sent, before_front);
            sums[1] += read as u64;
            sums[2] += (prompt - read) as u64;
        } else {
            sums[0] += prompt as u64;
            if let Some(before) = before_front {
                would = self.held.would_read(p, self.copies, stop, &sent, before);
            }
        }
        sums[3] += output as u64;
        if would > read {
            self.totals.cache_invalidations += 1;
            self.totals.invalidated_tokens += (would - read) as u64;
        }
        self.totals.requests += 1;
        self.totals.peak_prompt_tokens = self.totals.peak_prompt_tokens.max(prompt as u64);
        if prompt + output > self.window && self.totals.first_overflow.is_none() {
            self.totals.first_overflow = Some(request);
        }
    }

    /// The price class of a prompt.
    fn class(&self, stop: &Stop, prompt: i64) -> usize {
        if !self.p.tiered {
            return stop.class as usize;
        }
        let above = self.p.tariff.above(stop.model);
        stop.class as usize + if above.is_empty() { 0 } else { above.partition_point(|&above| prompt as u64 > above) }
    }

    /// The first request after `request` at which something can happen.
    fn next_event(&self, request: u32, requests: u32) -> u32 {
        let (p, next) = (self.p, request + 1);
        let stop = &p.stops[request as usize];
        if next >= requests || p.next_irregular[next as usize] == next {
            return next;
        }
        // Without an entry of this request the next one reads otherwise.
        let min = p.terms(stop.model).min_tokens;
        if min != i64::MAX && (stop.original + self.added - self.saved < min || !self.held.ends_with(request)) {
            return next;
        }
        let mut event = p.next_irregular[next as usize];
        // The next place to clear up to is free, and the trigger fires.
        if self.take.next != NONE {
            let items = self.take.next.saturating_add(self.keep).saturating_sub(self.copies.len());
            let open = p.open_at.get(items as usize).map_or(requests, |&open| open.max(next));
            if open < event {
                event = self.first_firing(open, event);
                if event == next {
                    return next;
                }
            }
        }
        if self.front.items > 0 {
            let (from, to) = (p.stops[next as usize].needs, p.stops[event as usize].needs);
            if let Some(need) = self.next_missing(from as usize, to as usize) {
                event = p.need_request[need];
            }
        }
        event
    }

    /// The first of the requests `from..to` at which the trigger fires, else `to`.
    fn first_firing(&self, from: u32, to: u32) -> u32 {
        let stops = &self.p.stops[from as usize..to as usize];
        if self.looked_at(&stops[0]) >= self.fires_at {
            return from;
        }
        if self.counts_uses {
            return from + stops.partition_point(|stop| self.looked_at(stop) < self.fires_at) as u32;
        }
        let below = self.fires_at.saturating_sub(self.added - if self.sticky { self.saved } else { 0 });
        from + self.p.original[from as usize..to as usize].partition_point(|&original| original < below) as u32
    }

    /// The first of the needs `from..to` that the prompt does not hold.
    fn next_missing(&self, from: usize, to: usize) -> Option<usize> {
        let (p, front) = (self.p, self.front);
        let mut need = from;
        while need < to {
            if need.is_multiple_of(NEEDS_A_BLOCK) && p.needs_min[need / NEEDS_A_BLOCK] >= front.items {
                need += NEEDS_A_BLOCK;
                continue;
            }
            if self.copies.is_cleared(p.needs[need], front) {
                return Some(need);
            }
            need += 1;
        }
        None
    }

    /// Accounts the requests after `from` up to `to`, each of which reads what the one before it left and writes the rest.
    fn pass(&mut self, from: u32, to: u32) {
        let p = self.p;
        let offset = self.added - self.saved;
        let stop = &p.stops[to as usize];
        self.held.pass(p, from, to);
        self.totals.requests += u64::from(to - from);
        self.totals.peak_prompt_tokens = self.totals.peak_prompt_tokens.max((stop.original + offset) as u64);
        if self.totals.first_overflow.is_none() && stop.original + offset + stop.output > self.window {
            let overflows = |stop: &Stop| stop.original + offset + stop.output > self.window;
            let within = p.stops[from as usize + 1..=to as usize].partition_point(|stop| !overflows(stop));
            self.totals.first_overflow = Some(from + 1 + within as u32);
        }
        let above = p.tariff.above(stop.model);
        let mut first = from as usize + 1;
        let end = to as usize + 1;
        // A part for each price tier.
        while first < end {
            let tier = if above.is_empty() {
                0
            } else {
                let prompt = (p.original[first] + offset) as u64;
                above.partition_point(|&above| prompt > above)
            };
            let last = match above.get(tier) {
                None => end,
                Some(&above) => {
                    let above = i64::try_from(above).unwrap_or(i64::MAX);
                    first + p.original[first..end].partition_point(|&original| original + offset <= above)
                }
            };
            let sums = &mut self.sums[stop.class as usize + tier];
            let prompts = |from: usize, to: usize| p.original_sum[to] - p.original_sum[from] + offset * (to - from) as i64;
            if p.terms(stop.model).min_tokens == i64::MAX {
                sums[0] += prompts(first, last) as u64;
            } else {
                sums[1] += prompts(first - 1, last - 1) as u64;
                sums[2] += (p.original[last - 1] - p.original[first - 1]) as u64;
            }
            sums[3] += (p.output_sum[last] - p.output_sum[first]) as u64;
            first = last;
        }
    }
}
