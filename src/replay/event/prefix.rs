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
    let results = (first - group) as i64 * p.placeholder;
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
