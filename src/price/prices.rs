//! Prices of one model, in USD per million tokens.

use serde::{Deserialize, Serialize};

use crate::trace::Usage;

/// Prices in USD per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Uncached prompt tokens.
    pub input: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache for up to 300,000 ms.
    pub cache_write: f64,
    /// Tokens written by a request whose TTL is longer.
    pub cache_write_1h: f64,
    /// Output tokens.
    pub output: f64,
    /// Replacements for larger prompts, applied in this order.
    pub tiers: Vec<Tier>,
}

impl Default for Prices {
    fn default() -> Self {
        Self { input: 3.0, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6.0, output: 15.0, tiers: Vec::new() }
    }
}

/// Prices that replace the named ones for a request whose prompt is larger than `above`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// Prompt tokens; the tier holds for more than this.
    pub above: u64,
    /// See [`Prices::input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// See [`Prices::cache_read`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// See [`Prices::cache_write`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// See [`Prices::cache_write_1h`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// See [`Prices::output`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
}

/// What a config or a command line states of the price: a model's name, single prices, or both (the prices win).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PricePatch {
    /// A model's name, from which prices, smallest cacheable prefix and window follow.
    pub model: Option<String>,
    /// See [`Prices::input`].
    pub input: Option<f64>,
    /// See [`Prices::cache_read`].
    pub cache_read: Option<f64>,
    /// See [`Prices::cache_write`].
    pub cache_write: Option<f64>,
    /// See [`Prices::cache_write_1h`].
    pub cache_write_1h: Option<f64>,
    /// See [`Prices::output`].
    pub output: Option<f64>,
    /// See [`Prices::tiers`].
    pub tiers: Option<Vec<Tier>>,
}

impl PricePatch {
    /// `base` with the prices that are stated here.
    ///
    /// A price that is stated without `tiers` holds for prompts of every size: the tiers of `base` keep only the others.
    pub fn over(&self, base: Prices) -> Prices {
        let left = || base.tiers.into_iter().filter_map(|tier| self.unstated(&tier)).collect();
        let tiers = self.tiers.clone().unwrap_or_else(left);
        Prices {
            input: self.input.unwrap_or(base.input),
            cache_read: self.cache_read.unwrap_or(base.cache_read),
            cache_write: self.cache_write.unwrap_or(base.cache_write),
            cache_write_1h: self.cache_write_1h.unwrap_or(base.cache_write_1h),
            output: self.output.unwrap_or(base.output),
            tiers,
        }
    }

    /// What is left of a tier without the prices that are stated here.
    fn unstated(&self, tier: &Tier) -> Option<Tier> {
        let left = Tier {
            above: tier.above,
            input: tier.input.filter(|_| self.input.is_none()),
            cache_read: tier.cache_read.filter(|_| self.cache_read.is_none()),
            cache_write: tier.cache_write.filter(|_| self.cache_write.is_none()),
            cache_write_1h: tier.cache_write_1h.filter(|_| self.cache_write_1h.is_none()),
            output: tier.output.filter(|_| self.output.is_none()),
        };
        (left != Tier { above: tier.above, ..Tier::default() }).then_some(left)
    }

    /// Whether everything that a bill needs is stated one by one; the 1 h write only matters to those who use it.
    pub fn is_complete(&self) -> bool {
        [self.input, self.cache_read, self.cache_write, self.output].iter().all(Option::is_some)
    }

    /// This patch with what `other` states where it states nothing.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            model: self.model.clone().or_else(|| other.model.clone()),
            input: self.input.or(other.input),
            cache_read: self.cache_read.or(other.cache_read),
            cache_write: self.cache_write.or(other.cache_write),
            cache_write_1h: self.cache_write_1h.or(other.cache_write_1h),
            output: self.output.or(other.output),
            tiers: self.tiers.clone().or_else(|| other.tiers.clone()),
        }
    }
}

impl Prices {
    /// USD of one request at the prices for a prompt of `prompt` tokens.
    pub fn cost(&self, prompt: u64, uncached: u64, read: u64, written: u64, output: u64, one_hour: bool) -> f64 {
        let of = self.at(prompt);
        let write = if one_hour { of.cache_write_1h } else { of.cache_write };
        (uncached as f64 * of.input + read as f64 * of.cache_read + written as f64 * write + output as f64 * of.output) / 1e6
    }

    /// USD of one request whose usage was recorded, each of the two kinds of writes at its own price.
    pub fn recorded(&self, usage: &Usage) -> f64 {
        self.cost(usage.prompt(), usage.input, usage.cache_read, usage.cache_write_5m, usage.output, false)
            + self.cost(usage.prompt(), 0, 0, usage.cache_write_1h, 0, true)
    }

    /// The prices of a request with a prompt of `prompt` tokens: without tiers.
    pub fn at(&self, prompt: u64) -> UnitPrices {
        let mut of = UnitPrices {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            cache_write_1h: self.cache_write_1h,
            output: self.output,
        };
        for tier in self.tiers.iter().filter(|t| prompt > t.above) {
            of.input = tier.input.unwrap_or(of.input);
            of.cache_read = tier.cache_read.unwrap_or(of.cache_read);
            of.cache_write = tier.cache_write.unwrap_or(of.cache_write);
            of.cache_write_1h = tier.cache_write_1h.unwrap_or(of.cache_write_1h);
            of.output = tier.output.unwrap_or(of.output);
        }
        of
    }
}

/// The prices of one request, in USD per million tokens. Fields as in [`Prices`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct UnitPrices {
    pub input: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub cache_write_1h: f64,
    pub output: f64,
}
