//! Unit prices out of the crate genai-prices, which prices a whole usage: asked with one kind of token at a time.

use std::time::SystemTime;

use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};

use super::{Prices, Tier};

/// No tier begins above this prompt size, in tokens.
const LARGEST_PROMPT: u64 = 1 << 23;

/// input, cache read, cache write (5 m), cache write (1 h), output; USD per million tokens.
type Vector = [f64; 5];

/// The prices of `model` at `provider`, or nothing where either is unknown.
///
/// Kinds of tokens that the provider does not price apart cost what the next wider kind costs: a 1 h write as a 5 m
/// write, that as input, a read as input. Tiers are found by bisection: they act on the whole request, from the first
/// prompt larger than `above`.
pub(super) fn prices(provider: &str, model: &str, at: SystemTime) -> Option<Prices> {
    // Bedrock's regional entries go by an id that is nobody's model id: asked for without its region.
    let references = [model, model.strip_prefix("regional.").unwrap_or(model)];
    let reference = references.into_iter().find(|name| matched(Some(provider), name, at).is_some_and(|(_, id)| id == model))?;
    let ask = Ask { provider, model, reference, at };
    let base = ask.vector(1)?;
    let [input, cache_read, cache_write, cache_write_1h, output] = base;
    let mut tiers = Vec::new();
    let mut before = base;
    for above in ask.steps()? {
        let now = ask.vector(above + 1)?;
        let changed = |i: usize| (now[i].to_bits() != before[i].to_bits()).then_some(now[i]);
        tiers.push(Tier {
            above,
            input: changed(0),
            cache_read: changed(1),
            cache_write: changed(2),
            cache_write_1h: changed(3),
            output: changed(4),
        });
        before = now;
    }
    Some(Prices { input, cache_read, cache_write, cache_write_1h, output, tiers })
}

/// The provider's and the model's id under which the crate files a name, if it knows it.
pub(super) fn matched(provider: Option<&str>, name: &str, at: SystemTime) -> Option<(String, String)> {
    let usage = Usage::new();
    let mut request = PriceRequest::new(name, &usage).with_timestamp(at);
    request.provider_id = provider;
    let found = Calculator::bundled().calculate(&request).ok()?;
    Some((found.provider_id, found.model_id))
}

struct Ask<'a> {
    provider: &'a str,
    /// Id of the model.
    model: &'a str,
    /// A name that the crate matches with it.
    reference: &'a str,
    at: SystemTime,
}

impl Ask<'_> {
    /// The last prompt sizes before a price changes, ascending.
    fn steps(&self) -> Option<Vec<u64>> {
        let mut steps = Vec::new();
        self.bisect((1, self.vector(1)?), (LARGEST_PROMPT, self.vector(LARGEST_PROMPT)?), &mut steps)?;
        Some(steps)
    }

    fn bisect(&self, low: (u64, Vector), high: (u64, Vector), steps: &mut Vec<u64>) -> Option<()> {
        if low.1.map(f64::to_bits) == high.1.map(f64::to_bits) {
            return Some(());
        }
        if high.0 - low.0 == 1 {
            steps.push(low.0);
            return Some(());
        }
        let middle = low.0.midpoint(high.0);
        let middle = (middle, self.vector(middle)?);
        self.bisect(low, middle, steps)?;
        self.bisect(middle, high, steps)
    }

    /// Unit prices for a prompt of this size.
    fn vector(&self, prompt: u64) -> Option<Vector> {
        let n = prompt as f64;
        let (input, output) = self.unit(n, &[])?;
        let (cache_read, _) = self.unit(n, &[UsageKey::CACHE_READ_TOKENS])?;
        let (cache_write, _) = self.unit(n, &[UsageKey::CACHE_WRITE_TOKENS])?;
        let (cache_write_1h, _) = self.unit(n, &[UsageKey::CACHE_WRITE_TOKENS, UsageKey::CACHE_WRITE_1H_TOKENS])?;
        Some([input, cache_read, cache_write, cache_write_1h, output])
    }

    /// Unit price of `n` prompt tokens that are all of one kind, and of output beside them.
    fn unit(&self, n: f64, kind: &[UsageKey]) -> Option<(f64, f64)> {
        // The crate counts cached tokens as input tokens too.
        let usage: Usage = kind.iter().cloned().chain([UsageKey::INPUT_TOKENS, UsageKey::OUTPUT_TOKENS]).map(|key| (key, n)).collect();
        let request = PriceRequest::new(self.reference, &usage).with_provider_id(self.provider).with_timestamp(self.at);
        let price = Calculator::bundled().calculate(&request).ok().filter(|found| found.model_id == self.model)?;
        // Nine decimals: what the division adds behind them is not part of any price list.
        let per_million = |usd: f64| (usd / n * 1e15).round() / 1e9;
        Some((per_million(price.input_price), per_million(price.output_price)))
    }
}
