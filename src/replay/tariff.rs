//! Money: tokens are summed as whole numbers, by what they cost, and multiplied by their prices once.

use crate::policy::{Cache, Settings};

/// Tokens of one price: uncached, read, written and answered.
pub(super) type Sums = [u64; 4];

/// The prices of one replay, as classes of requests: by model, by whether writes live for an hour, and by tier.
#[derive(Debug, Clone, Default)]
pub(super) struct Tariff {
    models: Vec<Tiers>,
    classes: usize,
}

/// The classes of one model.
#[derive(Debug, Clone)]
struct Tiers {
    /// The class of a request below all tiers that writes for five minutes.
    first: usize,
    /// Where a tier begins: prompts larger than this, ascending.
    above: Vec<u64>,
}

impl Tariff {
    pub fn new(settings: &Settings) -> Self {
        let mut tariff = Self::default();
        for model in 0..=settings.other_models.len() {
            let (_, prices) = settings.terms(model as u16);
            let mut above: Vec<u64> = prices.tiers.iter().map(|tier| tier.above).collect();
            above.sort_unstable();
            above.dedup();
            let first = tariff.classes;
            tariff.classes += 2 * (above.len() + 1);
            tariff.models.push(Tiers { first, above });
        }
        tariff
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    fn of_model(&self, model: u16) -> &Tiers {
        // A model without terms of its own has those of the trace's.
        self.models.get(usize::from(model)).unwrap_or(&self.models[0])
    }

    /// The class of a request below all tiers.
    pub fn class(&self, model: u16, ttl: i64) -> usize {
        let tiers = self.of_model(model);
        tiers.first + if ttl > Cache::DEFAULT_TTL_MS { tiers.above.len() + 1 } else { 0 }
    }

    /// Prompt sizes above which a model's next tier begins, ascending.
    pub fn above(&self, model: u16) -> &[u64] {
        &self.of_model(model).above
    }

    /// USD of everything.
    pub fn usd(&self, settings: &Settings, sums: &[Sums]) -> f64 {
        let mut usd = 0.0;
        for (model, tiers) in self.models.iter().enumerate() {
            let (_, prices) = settings.terms(model as u16);
            let sizes = std::iter::once(0).chain(tiers.above.iter().map(|above| above.saturating_add(1)));
            for (tier, prompt) in sizes.enumerate() {
                for one_hour in [false, true] {
                    let class = tiers.first + tier + if one_hour { tiers.above.len() + 1 } else { 0 };
                    let [uncached, read, written, output] = sums[class];
                    usd += prices.cost(prompt, uncached, read, written, output, one_hour);
                }
            }
        }
        usd
    }
}

/// The bill of one replay as it grows.
#[derive(Debug, Default)]
pub(super) struct Bill {
    tariff: Tariff,
    sums: Vec<Sums>,
}

impl Bill {
    /// An empty bill at the prices of `settings`.
    pub fn new(settings: &Settings) -> Self {
        let tariff = Tariff::new(settings);
        let sums = vec![Sums::default(); tariff.classes()];
        Self { tariff, sums }
    }

    /// Adds one request.
    pub fn add(&mut self, model: u16, ttl: i64, row: &super::Row) {
        let tier = self.tariff.above(model).partition_point(|&above| row.prompt_tokens > above);
        let sums = &mut self.sums[self.tariff.class(model, ttl) + tier];
        sums[0] += row.uncached;
        sums[1] += row.cache_read;
        sums[2] += row.cache_write;
        sums[3] += row.output_tokens;
    }

    /// USD of everything.
    pub fn usd(&self, settings: &Settings) -> f64 {
        self.tariff.usd(settings, &self.sums)
    }
}
