//! Quantiles by nearest rank.

use serde::Serialize;

/// A distribution of whole numbers in five figures. Quantiles are by nearest rank: the smallest value that at least that share of the
/// values does not exceed. All zero where there is no value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// A tenth of the values are at most this.
    pub p10: u64,
    /// Half of the values are at most this.
    pub p50: u64,
    /// Nine tenths of the values are at most this.
    pub p90: u64,
    /// The largest.
    pub max: u64,
}

impl Quantiles {
    /// Of `values`, in any order.
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self {
            count: values.len() as u64,
            sum: values.iter().sum(),
            p10: at(&values, 10),
            p50: at(&values, 50),
            p90: at(&values, 90),
            max: values.last().copied().unwrap_or(0),
        }
    }

    /// The mean; 0 of no value.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

/// The smallest of the ascending `sorted` that at least `percent` of them do not exceed; 0 of none.
pub(super) fn at(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

/// `part` over `whole`; 0 over nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rank_on_each_side_of_its_edge() {
        let ten: Vec<u64> = (1..=10).rev().collect();
        let q = Quantiles::of(ten);
        assert_eq!((q.count, q.sum, q.p10, q.p50, q.p90, q.max), (10, 55, 1, 5, 9, 10));
        // One value more moves every rank up by one.
        let q = Quantiles::of((1..=11).collect());
        assert_eq!((q.p10, q.p50, q.p90, q.max), (2, 6, 10, 11));
        assert_eq!(Quantiles::of(vec![7]), Quantiles { count: 1, sum: 7, p10: 7, p50: 7, p90: 7, max: 7 });
        assert_eq!(Quantiles::of(Vec::new()), Quantiles::default());
        assert!((Quantiles::of(vec![1, 2]).mean() - 1.5).abs() < 1e-12);
    }
}
