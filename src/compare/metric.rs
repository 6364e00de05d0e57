//! What can be compared: the columns of `sweep.csv`.

use crate::replay::Totals;
use crate::report::csv::{DERIVED, TOTALS};
use crate::sweep::ConfigRow;

/// A column of `sweep.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric(&'static str);

/// Every metric, in the order of the columns.
pub const METRICS: [Metric; TOTALS.len() + 1 + DERIVED.len()] = {
    let mut all = [Metric(""); TOTALS.len() + 1 + DERIVED.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = Metric(if i < TOTALS.len() {
            TOTALS[i]
        } else if i == TOTALS.len() {
            "overflowed_transcripts"
        } else {
            DERIVED[i - TOTALS.len() - 1]
        });
        i += 1;
    }
    all
};

/// Why a name is no metric: the nearest names.
pub fn unknown_metric(name: &str) -> String {
    let likeness = |m: &Metric| strsim::jaro_winkler(m.0, name);
    let mut near = METRICS;
    near.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    let best = likeness(&near[0]);
    let names: Vec<&str> = near.iter().take(3).filter(|m| likeness(m) > best - 0.1).map(|m| m.0).collect();
    format!("{name:?} is no metric; did you mean {}? Metrics are the columns of sweep.csv from requests on", names.join(" or "))
}

impl Metric {
    /// The metric of that name.
    pub fn named(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|m| m.0 == name)
    }

    /// What a session costs: by it many rows are ordered.
    pub fn cost() -> Self {
        Self("cost_usd")
    }

    /// Its name: that of the column.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether it is a sum over transcripts, so that more of them make it larger and that single sessions have a share in it.
    /// `peak_prompt_tokens` is the largest of something, and what is derived is a ratio.
    pub fn is_sum(self) -> bool {
        self.0 != "peak_prompt_tokens" && !DERIVED.contains(&self.0)
    }

    /// USD, for how it is written.
    pub fn is_usd(self) -> bool {
        self.0 == "cost_usd"
    }

    /// Its value for one transcript; 0 for what single transcripts do not have.
    pub fn of_transcript(self, t: &Totals) -> f64 {
        if self.0 == "overflowed_transcripts" { f64::from(u8::from(t.first_overflow.is_some())) } else { self.of_totals(t).unwrap_or(0.0) }
    }

    /// Its value for a row; `None` where it is not applicable.
    pub fn of_row(self, row: &ConfigRow) -> Option<f64> {
        let d = &row.derived;
        match self.0 {
            "overflowed_transcripts" => Some(row.overflowed_transcripts as f64),
            "cost_vs_none" => d.cost_vs_none,
            "freed_tokens_per_invalidated_token" => d.freed_per_invalidated,
            "refetches_per_100_requests" => d.refetches_per_100_requests,
            "clear_events_per_100_requests" => d.clear_events_per_100_requests,
            "rewrite_factor" => d.rewrite_factor,
            "cache_read_share" => d.cache_read_share,
            _ => self.of_totals(&row.totals),
        }
    }

    fn of_totals(self, t: &Totals) -> Option<f64> {
        let n = match self.0 {
            "requests" => t.requests,
            "refetch_requests" => t.refetch_requests,
            "refetches" => t.refetches,
            "costly_refetches" => t.costly_refetches,
            "lost_needs" => t.lost_needs,
            "unmet_needs" => t.unmet_needs,
            "clear_events" => t.clear_events,
            "cleared_uses" => t.cleared_uses,
            "cache_invalidations" => t.cache_invalidations,
            "invalidated_tokens" => t.invalidated_tokens,
            "prompt_tokens" => t.prompt_tokens,
            "cache_read_tokens" => t.cache_read_tokens,
            "cache_write_tokens" => t.cache_write_tokens,
            "uncached_tokens" => t.uncached_tokens,
            "output_tokens" => t.output_tokens,
            "peak_prompt_tokens" => t.peak_prompt_tokens,
            "freed_tokens" => return Some(t.freed_tokens as f64),
            "cost_usd" => return Some(t.cost_usd),
            _ => return None,
        };
        Some(n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_value() {
        let value = serde_json::json!(1);
        assert!(METRICS.iter().all(|m| !m.0.is_empty()));
        // Each of the totals is read: a totals object of ones gives one for each.
        let ones: serde_json::Map<String, serde_json::Value> = TOTALS.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
        let get = |name: &str| ones.get(name).map(ToString::to_string).or(Some(String::new()));
        let totals = crate::results::totals_of(&get).unwrap();
        for metric in METRICS.iter().take(TOTALS.len()) {
            assert!((metric.of_transcript(&totals) - 1.0).abs() < 1e-12, "{}", metric.name());
        }
        assert!(unknown_metric("cost_us").contains("did you mean cost_usd"));
        assert!(unknown_metric("refetch").contains("refetches") && unknown_metric("refetch").contains(" or "));
    }
}
