//! Which knobs matter: the variance of the objective over the full grid, split by knob and pair of knobs.

use std::collections::BTreeMap;

use crate::policy::Trigger;
use crate::sweep::ConfigRow;

/// The part of the variation over the grid that goes with one knob, or with two of them beyond what each does alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// One knob, or two.
    pub knobs: Vec<&'static str>,
    /// Of the variance over the grid, 0 to 1. All knobs and pairs sum to 1 less what three and more of them do together.
    pub share: f64,
}

/// The knobs of the edit, in the order of the columns.
const KNOBS: [&str; 5] = ["trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"];

/// Shares of the variance of `values` over `rows`, the largest first; `values[i]` belongs to `rows[i]`.
///
/// The rows have to be a full grid: every combination of the knobs' values once. Then the parts are exact (the decomposition of
/// Sobol' 1993 with every level of equal weight). Empty where they are not, or where nothing varies.
pub fn importance(rows: &[ConfigRow], values: &[f64]) -> Vec<Share> {
    let levels: Vec<[String; 5]> = rows.iter().filter_map(levels_of).collect();
    let names: Vec<Vec<&String>> = (0..KNOBS.len())
        .map(|k| {
            let mut names: Vec<&String> = levels.iter().map(|l| &l[k]).collect();
            names.sort_unstable();
            names.dedup();
            names
        })
        .collect();
    if levels.len() != values.len() || names.iter().map(Vec::len).product::<usize>() != rows.len() || rows.len() < 2 {
        return Vec::new();
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64;
    if variance <= mean * mean * 1e-18 {
        return Vec::new();
    }
    // The variance of the means over all rows that share the levels of some knobs.
    let of = |knobs: &[usize]| -> f64 {
        let mut groups: BTreeMap<Vec<&String>, (f64, f64)> = BTreeMap::new();
        for (level, value) in levels.iter().zip(values) {
            let (sum, n) = groups.entry(knobs.iter().map(|&k| &level[k]).collect()).or_default();
            *sum += value;
            *n += 1.0;
        }
        groups.values().map(|(sum, n)| n * (sum / n - mean) * (sum / n - mean)).sum::<f64>() / values.len() as f64
    };
    let varied: Vec<usize> = (0..KNOBS.len()).filter(|&k| names[k].len() > 1).collect();
    let alone: Vec<f64> = (0..KNOBS.len()).map(|k| if varied.contains(&k) { of(&[k]) } else { 0.0 }).collect();
    let mut shares: Vec<Share> = varied.iter().map(|&k| Share { knobs: vec![KNOBS[k]], share: alone[k] / variance }).collect();
    for (at, &a) in varied.iter().enumerate() {
        for &b in &varied[at + 1..] {
            let share = ((of(&[a, b]) - alone[a] - alone[b]) / variance).max(0.0);
            shares.push(Share { knobs: vec![KNOBS[a], KNOBS[b]], share });
        }
    }
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

fn levels_of(row: &ConfigRow) -> Option<[String; 5]> {
    let edit = row.knobs.edit.as_ref()?;
    let trigger = match edit.trigger {
        Trigger::InputTokens(n) => format!("{n} tokens"),
        Trigger::ToolUses(n) => format!("{n} uses"),
    };
    Some([trigger, edit.keep.to_string(), edit.clear_at_least.to_string(), row.knobs.exclude_tools(), row.knobs.clear_tool_inputs()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ClearToolUses;
    use crate::replay::Totals;
    use crate::sweep::{Derived, Knobs};

    fn grid(value: fn(f64, f64) -> f64) -> (Vec<ConfigRow>, Vec<f64>) {
        let at: Vec<(u32, u32)> = (0..4).flat_map(|t| (0..3).map(move |k| (t, k))).collect();
        let rows = at.iter().map(|&(t, keep)| ConfigRow {
            knobs: Knobs::api(ClearToolUses { trigger: Trigger::InputTokens(u64::from(t) + 1), keep, ..ClearToolUses::default() }),
            transcripts: 1,
            totals: Totals::default(),
            overflowed_transcripts: 0,
            derived: Derived::default(),
        });
        (rows.collect(), at.iter().map(|&(t, k)| value(f64::from(t), f64::from(k))).collect())
    }

    fn share(of: &[Share], knobs: &[&str]) -> f64 {
        of.iter().find(|s| s.knobs == knobs).map_or(0.0, |s| s.share)
    }

    #[test]
    fn a_sum_has_no_pair_and_a_product_has() {
        let (rows, values) = grid(|t, k| 3.0 * t + k);
        let sum = importance(&rows, &values);
        // Variances 9 · 1.25 and 0.6667.
        assert!((share(&sum, &["trigger"]) - 11.25 / (11.25 + 2.0 / 3.0)).abs() < 1e-9, "{sum:?}");
        assert!(share(&sum, &["trigger", "keep"]) < 1e-9 && sum[0].knobs == ["trigger"]);
        let (rows, values) = grid(|t, k| (t - 1.5) * (k - 1.0));
        let product = importance(&rows, &values);
        assert!((share(&product, &["trigger", "keep"]) - 1.0).abs() < 1e-9, "{product:?}");
    }

    #[test]
    fn nothing_is_said_of_holes_and_of_constants() {
        let (rows, values) = grid(|t, _| t);
        assert!(importance(&rows[1..], &values[1..]).is_empty());
        let (rows, values) = grid(|_, _| 0.1);
        assert!(importance(&rows, &values).is_empty());
    }
}
