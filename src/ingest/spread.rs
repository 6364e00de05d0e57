//! Splitting a known sum of tokens over blocks.

use super::fit::Fit;
use super::normal::{Item, Kind};

/// Spreads an output over its blocks; thinking whose text the log does not keep takes what the visible blocks leave.
pub(super) fn spread_output(items: &mut [Item], total: u64, fit: &Fit) {
    let hidden = |i: &Item| i.kind == Kind::Thinking && i.bytes == 0;
    let unseen = items.iter().filter(|i| hidden(i)).count() as u64;
    let mut weights: Vec<f64> = items.iter().map(|i| fit.tokens(i)).collect();
    if unseen > 0 {
        let visible: f64 = weights.iter().sum();
        let rest = (total as f64 - visible).max(unseen as f64) / unseen as f64;
        for (weight, item) in weights.iter_mut().zip(items.iter()) {
            if hidden(item) {
                *weight = rest;
            }
        }
    }
    for (item, share) in items.iter_mut().zip(distribute(total, &weights)) {
        item.tokens = share;
    }
}

/// Like [`distribute`], but images keep their size where there is room for it.
pub(super) fn spread(total: u64, weights: &[f64], fixed: &[u64]) -> Vec<u64> {
    let images: u64 = fixed.iter().sum();
    let text: f64 = weights.iter().sum::<f64>() - images as f64;
    if images == 0 || (total.saturating_sub(images) as f64) < text * 0.5 || text <= 0.0 {
        return distribute(total, weights);
    }
    let texts: Vec<f64> = weights.iter().zip(fixed).map(|(w, &f)| w - f as f64).collect();
    distribute(total - images, &texts).into_iter().zip(fixed).map(|(t, f)| t + f).collect()
}

/// Splits `total` in proportion to `weights` into whole numbers that sum to it (largest remainder; the first of equals). No weights: nothing
/// is split. All zero: equal parts.
pub fn distribute(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let even = sum <= 0.0 || !sum.is_finite();
    let share = |w: f64| if even { total as f64 / weights.len() as f64 } else { total as f64 * (w / sum) };
    let mut parts: Vec<u64> = weights.iter().map(|&w| (share(w).floor() as u64).min(total)).collect();
    let mut left = total.saturating_sub(parts.iter().sum());
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| (share(weights[b]).fract()).total_cmp(&share(weights[a]).fract()).then(a.cmp(&b)));
    for &i in order.iter().cycle().take(if weights.is_empty() { 0 } else { left as usize }) {
        parts[i] += 1;
        left -= 1;
    }
    // Rounding of huge totals may give a unit too many.
    let mut over = parts.iter().sum::<u64>().saturating_sub(total);
    for part in parts.iter_mut().rev() {
        let less = over.min(*part);
        *part -= less;
        over -= less;
    }
    debug_assert!(left == 0 || weights.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_sum_to_the_total_and_the_largest_remainders_round_up() {
        assert_eq!(distribute(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(distribute(10, &[2.0, 1.0, 1.0]), [5, 3, 2]);
        assert_eq!(distribute(7, &[0.0, 0.0]), [4, 3]);
        assert_eq!(distribute(0, &[5.0, 1.0]), [0, 0]);
        assert!(distribute(5, &[]).is_empty());
        for total in [1, 17, 99_999, 1 << 40] {
            let weights: Vec<f64> = (0..37).map(|i| f64::from(i * i % 11) + 0.1).collect();
            assert_eq!(distribute(total, &weights).iter().sum::<u64>(), total);
        }
    }
}
