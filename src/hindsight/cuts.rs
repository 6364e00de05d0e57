//! The cheapest cuts, by recursion over positions and intervals of time.
//!
//! A cut at request `j` before item `p` takes every item from `p` on that may go by then: what stands behind the first change is written
//! anew in any case. So an item goes with the first cut at or before its position that comes once it may go. Let `best(p, t0, t1)` be the
//! least cost of the items from `p` on that may go after `t0` and at `t1` at the latest, where `t0` and `t1` are cuts at or before `p`,
//! and no other lies between them. Item `p` then either goes with the cut at `t1`, or has a cut of its own in between, at most one, that
//! parts the interval in two for those behind it.

/// Something that may go once.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The first time at which it may go; later than the last time: never.
    pub from: usize,
    /// `held[t - from]`: what it costs to hold it from `from` on and let it go at time `t`, USD; the last for never.
    pub held: Vec<f64>,
    /// What it costs to be rid of it without a cut.
    pub out: f64,
}

/// What a cut before an item costs, by its time from the item's first on, USD.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// Where the last cut before it, at or before its position, lies before the time `parts`.
    pub near: Vec<f64>,
    /// Else.
    pub far: Vec<f64>,
    pub parts: usize,
}

/// What was chosen for one item in one interval.
const WITH_THE_NEXT: u16 = 0;
const OUT: u16 = u16::MAX;

/// The least cost, and the cuts that make it as (time, item), in the order of time.
///
/// Times are `1..=times`; items stand in the order of their positions. `event(item)`: what cuts before it cost, no less
/// than those before later items at the same time.
pub(super) fn solve(times: usize, items: &[Item], event: impl Fn(usize) -> Event, traced: bool) -> (f64, Vec<(usize, usize)>) {
    let end = times + 1;
    let width = end + 1;
    // By interval; the second has rows and columns exchanged.
    let mut best = vec![0.0; width * width];
    let mut across = best.clone();
    let mut chosen: Vec<Vec<u16>> = Vec::new();
    let mut row = vec![0.0; width];
    let mut own = Vec::with_capacity(width);
    for (p, item) in items.iter().enumerate().rev() {
        let mut choice = if traced { vec![WITH_THE_NEXT; item.from.min(end) * width] } else { Vec::new() };
        let from = item.from;
        if from <= times {
            let event = event(p);
            // Holding it until a cut of its own, and the cut.
            let with = |cuts: &[f64]| -> Vec<f64> { cuts.iter().zip(&item.held).map(|(cut, held)| cut + held).collect() };
            let (near, far) = (with(&event.near), with(&event.far));
            for t0 in 0..from {
                row[from..=end].copy_from_slice(&best[t0 * width + from..=t0 * width + end]);
                // What a cut of its own at each time costs, but for what follows it.
                let cut = if t0 < event.parts { &near } else { &far };
                own.clear();
                own.extend(row[from..end].iter().zip(cut).map(|(before, cut)| before + cut));
                for t1 in from..=end {
                    let mut least = row[t1] + item.held[t1 - from];
                    let mut what = WITH_THE_NEXT;
                    if row[t1] + item.out < least {
                        (least, what) = (row[t1] + item.out, OUT);
                    }
                    let after = &across[t1 * width + from..t1 * width + t1];
                    for (i, (own, after)) in own.iter().zip(after).enumerate() {
                        if own + after < least {
                            (least, what) = (own + after, (from + i) as u16);
                        }
                    }
                    best[t0 * width + t1] = least;
                    if traced {
                        choice[t0 * width + t1] = what;
                    }
                }
            }
            for t0 in 0..from {
                for t1 in from..=end {
                    across[t1 * width + t0] = best[t0 * width + t1];
                }
            }
        }
        chosen.push(choice);
    }
    chosen.reverse();
    let mut cuts = Vec::new();
    if traced {
        follow(items, &chosen, width, &mut cuts);
    }
    (best[end], cuts)
}

/// Reads the cuts off the choices.
fn follow(items: &[Item], chosen: &[Vec<u16>], width: usize, cuts: &mut Vec<(usize, usize)>) {
    let mut open = vec![(0, 0, width - 1)];
    while let Some((mut p, t0, mut t1)) = open.pop() {
        while p < items.len() {
            let from = items[p].from;
            if t0 < from && from <= t1 && from < width - 1 {
                let what = chosen[p][t0 * width + t1];
                if what != WITH_THE_NEXT && what != OUT {
                    cuts.push((usize::from(what), p));
                    open.push((p + 1, usize::from(what), t1));
                    t1 = usize::from(what);
                }
            }
            p += 1;
        }
    }
    cuts.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries every set of cuts.
    fn exhaustive(times: usize, items: &[Item], event: &dyn Fn(usize, usize) -> f64) -> f64 {
        let choices = (items.len() + 1).pow(times as u32);
        (0..choices)
            .map(|code| {
                let mut rest = code;
                let cuts: Vec<Option<usize>> = (0..times)
                    .map(|_| {
                        let cut = rest % (items.len() + 1);
                        rest /= items.len() + 1;
                        cut.checked_sub(1)
                    })
                    .collect();
                // A cut before what can not go yet is one before the next that can, which costs no more.
                if cuts.iter().enumerate().any(|(t, cut)| cut.is_some_and(|p| items[p].from > t + 1)) {
                    return f64::INFINITY;
                }
                let paid: f64 = cuts.iter().enumerate().filter_map(|(t, cut)| cut.map(|p| event(p, t + 1))).sum();
                let held: f64 = items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| item.from <= times)
                    .map(|(p, item)| {
                        let goes = (item.from..=times).find(|&t| cuts[t - 1].is_some_and(|cut| cut <= p)).unwrap_or(times + 1);
                        item.held[goes - item.from].min(item.out)
                    })
                    .sum();
                paid + held
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn it_is_the_least_of_all() {
        let mut state = 7_u64;
        let mut dice = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut with_cuts = 0;
        for _ in 0..300 {
            let times = 1 + dice(5) as usize;
            let items: Vec<Item> = (0..=dice(4))
                .map(|_| {
                    let from = 1 + dice(times as u64 + 1) as usize;
                    let rate = dice(9) as f64;
                    let held = (0..(times + 2).saturating_sub(from)).map(|n| n as f64 * rate).collect();
                    Item { from, held, out: if dice(3) == 0 { dice(30) as f64 } else { f64::INFINITY } }
                })
                .collect();
            let costs: Vec<Vec<f64>> = items.iter().map(|_| (0..=times).map(|_| dice(25) as f64).collect()).collect();
            let mut costs = costs;
            for t in 0..=times {
                let mut column: Vec<f64> = costs.iter().map(|row| row[t]).collect();
                column.sort_by(|a, b| b.total_cmp(a));
                costs.iter_mut().zip(column).for_each(|(row, cost)| row[t] = cost);
            }
            let (least, cuts) =
                solve(times, &items, |p| Event { near: costs[p][items[p].from..].to_vec(), far: Vec::new(), parts: usize::MAX }, true);
            let tried = exhaustive(times, &items, &|p, t| costs[p][t]);
            assert!((least - tried).abs() < 1e-9, "{least} {tried} {items:?} {costs:?}");
            with_cuts += usize::from(!cuts.is_empty());
        }
        assert!(with_cuts > 100, "{with_cuts}");
    }
}
