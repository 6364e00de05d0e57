//! How much of a prompt is still the same, to the position.

use super::frontier::{Copies, Front};
use super::held::first_changed;
use super::prepared::Prepared;
use crate::trace::{BlockKind, NONE};

/// Tokens of the positions before the first one that is another with `front` cleared. `held`: a request that was sent, the copies in its
/// history, and what was cleared in it. `None`: nothing that it holds has changed.
pub(super) fn common_tokens(p: &Prepared, copies: &Copies, held: (u32, u32, Front), front: Front) -> Option<i64> {
    let was = held.2;
    match first_changed(p, copies, held, front) {
        (NONE, NONE) => None,
        (NONE, copy) => Some(before_copy(p, copies, copy, front)),
        (item, _) => Some(before_item(p, copies, item, was, front)),
    }
}

/// The first change is copy `first`, the first that is not cleared yet.
fn before_copy(p: &Prepared, copies: &Copies, first: u32, front: Front) -> i64 {
    let (group, request) = (copies.first[first as usize], copies.request[first as usize] as usize);
    let items = p.stops[request].items as usize;
    let start = p.stops[request].original + copies.tokens[group as usize] - p.saved[items] - copies.saved[group as usize];
    let together = |copy: &u32| copies.first[*copy as usize] == group;
    let of = |copy: u32| &p.items[copies.item[copy as usize] as usize];
    let inputs = |copy: u32| p.input_cleared[usize::from(of(copy).tool)];
    let use_tokens = |copy: u32| if copy < first && inputs(copy) { p.cleared_input } else { i64::from(of(copy).use_tokens) };
    let all = || (group..copies.len()).take_while(together);
    let changed = |copy: &u32| *copy >= first && *copy < front.copies;
    let grouped = p.settings.cache.group_parallel;
    if let Some(copy) = all().find(|copy| changed(copy) && inputs(*copy)) {
        return start + if grouped { 0 } else { (group..copy).map(use_tokens).sum() };
    }
    let uses: i64 = all().map(use_tokens).sum();
    let results = i64::from(first - group) * p.placeholder;
    start + uses + if grouped { 0 } else { results }
}

/// The first change is in the group of uses that holds item `first`, the first that is not cleared yet.
fn before_item(p: &Prepared, copies: &Copies, first: u32, was: Front, front: Front) -> i64 {
    let trace = p.trace;
    let issue = p.items[first as usize].issue as usize;
    let earlier = copies.at.partition_point(|&at| at <= first);
    let cleared = copies.saved[earlier.min(was.copies as usize)];
    let mut tokens = p.stops[issue].original + copies.tokens[earlier] - p.saved[p.stops[issue].items.min(was.items) as usize] - cleared;
    let (output, input) = (&trace.requests[issue], &trace.requests[issue + 1]);
    let grouped = p.settings.cache.group_parallel;
    for message in [output.output..output.end, input.input..input.output] {
        let (mut kind, mut at_start) = (None, tokens);
        for block in message.map(|block| block as usize) {
            let (of, origin) = (trace.kinds[block], trace.block_use[block]);
            let joins = grouped && kind == Some(of) && matches!(of, BlockKind::Use | BlockKind::Result);
            if !joins {
                at_start = tokens;
            }
            kind = Some(of);
            let item = if origin == NONE { NONE } else { p.item_of[origin as usize] };
            let changes = match of {
                BlockKind::Result => true,
                BlockKind::Use => p.input_cleared[usize::from(trace.uses[origin as usize].tool)],
                _ => false,
            } && item != NONE;
            if changes && (was.items..front.items).contains(&item) {
                return at_start;
            }
            let is_cleared = changes && item < was.items;
            tokens += match of {
                BlockKind::Result if is_cleared => p.placeholder,
                BlockKind::Use if is_cleared => p.cleared_input,
                _ => i64::from(trace.tokens[block]),
            };
        }
    }
    tokens
}

/// Tokens of the positions, of a prompt with `front` cleared, that end within the first `most` tokens; it has more than that.
pub(super) fn tokens_within(p: &Prepared, copies: &Copies, front: Front, most: i64) -> i64 {
    let (trace, base) = (p.trace, p.trace.base_tokens as i64);
    if base > most {
        return 0;
    }
    // The last request whose input ends within, without what is fetched again before it.
    let fetched = |request: usize| copies.request.partition_point(|&of| (of as usize) < request);
    let size = |request: usize| {
        let (items, copied) = (p.stops[request].items.min(front.items), fetched(request));
        let saved = p.saved[items as usize] + copies.saved[copied.min(front.copies as usize)];
        p.stops[request].original + copies.tokens[copied] - saved
    };
    let (mut low, mut high) = (0, trace.requests.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if size(middle) <= most { low = middle + 1 } else { high = middle }
    }
    let mut walk = Positions { grouped: p.settings.cache.group_parallel, most, within: base, tokens: base, kind: None };
    let inputs = |tool: u16| p.input_cleared[usize::from(tool)];
    if low > 0 {
        let request = low - 1;
        (walk.within, walk.tokens) = (size(request), size(request));
        let (mut from, end) = (fetched(request), fetched(request + 1));
        while from < end {
            // One round of several.
            let group = from..from + copies.first[from..end].partition_point(|&first| first as usize == from);
            from = group.end;
            let uses = group.clone().map(|copy| {
                let of = &p.items[copies.item[copy] as usize];
                let cleared = copy < front.copies as usize && inputs(of.tool);
                (BlockKind::Use, if cleared { p.cleared_input } else { i64::from(of.use_tokens) })
            });
            let results = group.map(|copy| {
                let cleared = copy < front.copies as usize;
                let tokens = p.items[copies.item[copy] as usize].result_tokens;
                (BlockKind::Result, if cleared { p.placeholder } else { i64::from(tokens) })
            });
            if walk.message(uses) || walk.message(results) {
                return walk.within;
            }
        }
    }
    let shown = |block: u32| {
        let (kind, origin) = (trace.kinds[block as usize], trace.block_use[block as usize]);
        let item = if origin == NONE { NONE } else { p.item_of[origin as usize] };
        let cleared = item != NONE && item < front.items;
        let tokens = match kind {
            BlockKind::Result if cleared => p.placeholder,
            BlockKind::Use if cleared && inputs(trace.uses[origin as usize].tool) => p.cleared_input,
            _ => i64::from(trace.tokens[block as usize]),
        };
        (kind, tokens)
    };
    if low > 0 {
        let request = &trace.requests[low - 1];
        if walk.message((request.output..request.end).map(shown)) {
            return walk.within;
        }
    }
    if let Some(request) = trace.requests.get(low) {
        walk.message((request.input..request.output).map(shown));
    }
    walk.within
}

/// Goes along the positions of a prompt.
struct Positions {
    grouped: bool,
    most: i64,
    /// Tokens up to the end of the last position that ends within `most`.
    within: i64,
    tokens: i64,
    kind: Option<BlockKind>,
}

impl Positions {
    /// Goes along a message; true where it leads beyond `most`.
    fn message(&mut self, blocks: impl Iterator<Item = (BlockKind, i64)>) -> bool {
        self.kind = None;
        for (kind, tokens) in blocks {
            let joins = self.grouped && self.kind == Some(kind) && matches!(kind, BlockKind::Use | BlockKind::Result);
            if !joins {
                self.within = self.tokens;
            }
            self.kind = Some(kind);
            self.tokens += tokens;
            if self.tokens > self.most {
                return true;
            }
        }
        self.within = self.tokens;
        false
    }
}
