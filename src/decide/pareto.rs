//! The configs that no other beats on every objective.

use std::collections::BTreeMap;

use crate::sweep::ConfigRow;

/// Indices of the points that no other dominates; smaller is better in both. In ascending order of the first, points
/// that are equal in both once (the earliest).
pub fn front(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let ((ax, ay), (bx, by)) = (points[a], points[b]);
        ax.total_cmp(&bx).then(ay.total_cmp(&by)).then(a.cmp(&b))
    });
    let mut best = f64::INFINITY;
    order.retain(|&i| {
        let on = points[i].1 < best;
        best = best.min(points[i].1);
        on
    });
    order
}

/// As [`front`], of three: a float and two counts.
pub fn front_of_three(points: &[(f64, u64, u64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let (x, y) = (points[a], points[b]);
        x.0.total_cmp(&y.0).then((x.1, x.2, a).cmp(&(y.1, y.2, b)))
    });
    // Of the points so far: the least third coordinate by the second, falling as the second rises.
    let mut stairs: BTreeMap<u64, u64> = BTreeMap::new();
    order.retain(|&i| {
        let (_, y, z) = points[i];
        if stairs.range(..=y).next_back().is_some_and(|(_, &least)| least <= z) {
            return false;
        }
        let beaten: Vec<u64> = stairs.range(y..).take_while(|(_, least)| **least >= z).map(|(&y, _)| y).collect();
        for y in beaten {
            stairs.remove(&y);
        }
        stairs.insert(y, z);
        true
    });
    order
}

/// The point of a front of two (in its order) that is farthest from the line between its ends, both axes scaled to 0..1; `None` for a
/// front of fewer than three points, or one whose points lie on the line.
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let ((x0, y0), (x1, y1)) = (*points.first()?, *points.last()?);
    let (width, height) = (x1 - x0, y1 - y0);
    if width == 0.0 || height == 0.0 {
        return None;
    }
    // Scaled, the line runs from (0, 0) to (1, 1): the distance goes with |x − y|.
    let distance = |&(x, y): &(f64, f64)| ((x - x0) / width - (y - y0) / height).abs();
    let far = (0..points.len()).max_by(|&a, &b| distance(&points[a]).total_cmp(&distance(&points[b])).then(b.cmp(&a)))?;
    (distance(&points[far]) > 1e-9).then_some(far)
}

/// The front of the trade-off picture: freed tokens, more is better, against re-fetches with lost and unmet needs, fewer
/// are better. `none`, where nothing is freed and nothing fetched again, is its one end.
pub fn freed_against_refetches(rows: &[ConfigRow]) -> Vec<usize> {
    let points: Vec<(f64, f64)> = rows.iter().map(|row| (-(row.totals.freed_tokens as f64), missing(row) as f64)).collect();
    front(&points)
}

/// Results that a request had to do without or fetch again.
pub fn missing(row: &ConfigRow) -> u64 {
    let t = &row.totals;
    t.refetches + t.lost_needs + t.unmet_needs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominated_and_equal_points_are_left_out() {
        let points = [(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.0, 3.0), (1.0, 3.0), (3.0, 1.5)];
        assert_eq!(front(&points), [1, 2, 0]);
    }

    #[test]
    fn one_point_is_a_front_and_none_is_none() {
        assert_eq!(front(&[(1.0, 1.0)]), [0]);
        assert!(front(&[]).is_empty());
    }

    #[test]
    fn three_agree_with_looking_at_every_pair() {
        // A full period of a small congruential sequence: many ties, every kind of order.
        let mut state = 1_u64;
        let mut next = |most: u64| {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            (state >> 16) % most
        };
        for _ in 0..200 {
            let points: Vec<(f64, u64, u64)> = (0..30).map(|_| (next(6) as f64, next(6), next(6))).collect();
            let beaten = |i: usize| {
                points.iter().enumerate().any(|(j, q)| {
                    let p = points[i];
                    q.0 <= p.0 && q.1 <= p.1 && q.2 <= p.2 && ((q.0, q.1, q.2) != (p.0, p.1, p.2) || j < i)
                })
            };
            let mut found = front_of_three(&points);
            found.sort_unstable();
            assert_eq!(found, (0..30).filter(|&i| !beaten(i)).collect::<Vec<_>>(), "{points:?}");
        }
    }

    #[test]
    fn the_knee_is_where_the_front_bends() {
        assert_eq!(knee(&[(0.0, 10.0), (1.0, 2.0), (10.0, 0.0)]), Some(1));
        assert_eq!(knee(&[(0.0, 10.0), (5.0, 5.0), (10.0, 0.0)]), None, "a straight line");
        assert_eq!(knee(&[(0.0, 10.0), (10.0, 0.0)]), None);
        assert_eq!(knee(&[]), None);
    }
}
