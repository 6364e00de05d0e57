//! The configs that no other beats on every objective.

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

/// The front of the trade-off picture: freed tokens, more is better, against re-fetches with lost and unmet needs, fewer
/// are better. `none`, where nothing is freed and nothing fetched again, is its one end.
pub fn freed_against_refetches(rows: &[ConfigRow]) -> Vec<usize> {
    let points: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| {
            let t = &row.totals;
            (-(t.freed_tokens as f64), (t.refetches + t.lost_needs + t.unmet_needs) as f64)
        })
        .collect();
    front(&points)
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
}
