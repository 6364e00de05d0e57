//! What is minimised, and what is not allowed.

use crate::replay::Totals;
use crate::sweep::ConfigRow;

/// What is minimised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Metric {
    /// USD.
    #[default]
    Cost,
    /// Prompt tokens sent.
    PromptTokens,
    /// The largest prompt of each transcript, in the mean.
    Peak,
    /// Seconds that the user waits, by [`Latency`].
    Latency,
}

impl Metric {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::PromptTokens => "prompt_tokens",
            Self::Peak => "peak",
            Self::Latency => "latency",
        }
    }
}

/// Seconds that one request takes: `first + per_new · (uncached + written) + per_read · read + output / output_per_second`.
///
/// The defaults are an assumption from public measurements, to be overridden with what the team measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Seconds of each request, whatever its size.
    pub first: f64,
    /// Seconds a token that is not read from the cache.
    pub per_new: f64,
    /// Seconds a token that is.
    pub per_read: f64,
    /// Output tokens a second.
    pub output_per_second: f64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { first: 0.8, per_new: 0.000_11, per_read: 0.000_014, output_per_second: 60.0 }
    }
}

impl Latency {
    /// Seconds of a whole transcript, the tools that are called again included.
    pub fn seconds(&self, t: &Totals) -> f64 {
        let new = (t.uncached_tokens + t.cache_write_tokens) as f64;
        self.first * t.requests as f64
            + self.per_new * new
            + self.per_read * t.cache_read_tokens as f64
            + t.output_tokens as f64 / self.output_per_second
            + t.refetch_seconds
    }
}

/// What is minimised, risk included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Objective {
    /// The quantity.
    pub metric: Metric,
    /// USD that a lost or unmet need is worth; counts with [`Metric::Cost`] only.
    pub lost_need_cost: f64,
    /// The model of waiting time.
    pub latency: Latency,
}

impl Objective {
    /// The value of one transcript under one config, in the metric's unit; less is better. USD include the tools' own price of being
    /// called again and [`Self::lost_need_cost`].
    pub fn value(&self, t: &Totals) -> f64 {
        match self.metric {
            Metric::Cost => t.cost_usd + t.refetch_usd + self.lost_need_cost * (t.lost_needs + t.unmet_needs) as f64,
            Metric::PromptTokens => t.prompt_tokens as f64,
            Metric::Peak => t.peak_prompt_tokens as f64,
            Metric::Latency => self.latency.seconds(t),
        }
    }
}

/// What a config may do at most. `None`: no bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constraints {
    /// Lost and unmet needs, all transcripts together.
    pub max_lost: Option<u64>,
    /// Re-fetches per 100 original requests.
    pub max_refetches_per_100: Option<f64>,
    /// Cache invalidations by clearing per 100 original requests.
    pub max_invalidations_per_100: Option<f64>,
    /// The largest prompt, tokens.
    pub max_peak: Option<u64>,
}

impl Default for Constraints {
    /// Nothing may be lost.
    fn default() -> Self {
        Self { max_lost: Some(0), max_refetches_per_100: None, max_invalidations_per_100: None, max_peak: None }
    }
}

impl Constraints {
    /// The first bound that the row breaks, by its name on the command line; `None`: it keeps them all.
    pub fn broken(&self, row: &ConfigRow) -> Option<&'static str> {
        let t = &row.totals;
        let per_100 = |n: u64| 100.0 * n as f64 / (t.requests - t.refetch_requests).max(1) as f64;
        if self.max_lost.is_some_and(|most| t.lost_needs + t.unmet_needs > most) {
            Some("max-lost")
        } else if self.max_refetches_per_100.is_some_and(|most| per_100(t.refetches) > most) {
            Some("max-refetches-per-100")
        } else if self.max_invalidations_per_100.is_some_and(|most| per_100(t.cache_invalidations) > most) {
            Some("max-invalidations-per-100")
        } else if self.max_peak.is_some_and(|most| t.peak_prompt_tokens > most) {
            Some("max-peak")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Derived, Knobs};

    fn row(totals: Totals) -> ConfigRow {
        ConfigRow { knobs: Knobs::none(), transcripts: 1, totals, overflowed_transcripts: 0, derived: Derived::default() }
    }

    #[test]
    fn each_bound_holds_at_its_value_and_breaks_above() {
        let totals = Totals {
            requests: 210,
            refetch_requests: 10,
            refetches: 20,
            cache_invalidations: 4,
            unmet_needs: 1,
            lost_needs: 2,
            peak_prompt_tokens: 500,
            ..Totals::default()
        };
        let none = Constraints { max_lost: None, ..Constraints::default() };
        let row = row(totals);
        assert_eq!(none.broken(&row), None);
        assert_eq!(Constraints::default().broken(&row), Some("max-lost"));
        for (holds, breaks, name) in [
            (Constraints { max_lost: Some(3), ..none }, Constraints { max_lost: Some(2), ..none }, "max-lost"),
            (
                Constraints { max_refetches_per_100: Some(10.0), ..none },
                Constraints { max_refetches_per_100: Some(9.99), ..none },
                "max-refetches-per-100",
            ),
            (
                Constraints { max_invalidations_per_100: Some(2.0), ..none },
                Constraints { max_invalidations_per_100: Some(1.99), ..none },
                "max-invalidations-per-100",
            ),
            (Constraints { max_peak: Some(500), ..none }, Constraints { max_peak: Some(499), ..none }, "max-peak"),
        ] {
            assert_eq!(holds.broken(&row), None, "{name}");
            assert_eq!(breaks.broken(&row), Some(name));
        }
    }

    #[test]
    fn risk_is_part_of_the_cost_and_seconds_are_the_models() {
        let t = Totals {
            requests: 2,
            cost_usd: 1.0,
            refetch_usd: 0.25,
            lost_needs: 1,
            unmet_needs: 2,
            uncached_tokens: 10_000,
            cache_write_tokens: 10_000,
            cache_read_tokens: 100_000,
            output_tokens: 120,
            refetch_seconds: 3.0,
            prompt_tokens: 120_000,
            peak_prompt_tokens: 7,
            ..Totals::default()
        };
        let cost = Objective { lost_need_cost: 0.5, ..Objective::default() };
        assert!((cost.value(&t) - 2.75).abs() < 1e-12);
        let of = |metric| Objective { metric, ..Objective::default() }.value(&t);
        assert!((of(Metric::Latency) - (1.6 + 2.2 + 1.4 + 2.0 + 3.0)).abs() < 1e-9);
        assert!((of(Metric::PromptTokens) - 120_000.0).abs() < 1e-9 && (of(Metric::Peak) - 7.0).abs() < 1e-9);
    }
}
