//! The override file: what is known of models beyond the crate genai-prices.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use super::Prices;
use crate::policy::CacheMode;

const TEXT: &str = include_str!("overrides.toml");

/// The file `overrides.toml`, which explains its keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OverrideFile {
    pub date: String,
    #[serde(default)]
    pub providers: Vec<ProviderRule>,
    #[serde(default)]
    pub models: Vec<ModelRule>,
}

/// How one provider caches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderRule {
    pub id: String,
    pub cache_mode: CacheMode,
    /// The first is the default.
    pub ttl_ms: Vec<i64>,
    pub min_tokens: u64,
    #[expect(dead_code, reason = "read by people")]
    source: String,
}

/// What is said of some models of one provider; keys that are absent leave what is known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRule {
    pub provider: String,
    pub names: Vec<String>,
    since: Option<String>,
    input: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    output: Option<f64>,
    pub min_tokens: Option<u64>,
    pub ttl_ms: Option<Vec<i64>>,
    pub context_window: Option<u64>,
    #[expect(dead_code, reason = "read by people")]
    source: String,
}

impl OverrideFile {
    /// The file that is compiled in.
    ///
    /// # Panics
    /// If the file is malformed, which a test rules out.
    pub fn shipped() -> Self {
        toml::from_str(TEXT).expect("overrides.toml is checked by a test")
    }

    /// Noon UTC of the day whose prices are taken: away from the night rates that some providers have.
    pub fn noon(&self) -> SystemTime {
        let days = day_number(&self.date).expect("overrides.toml is checked by a test");
        UNIX_EPOCH + Duration::from_secs(days * 86_400 + 43_200)
    }

    /// The rules on one model, in order, without those that begin after [`Self::date`].
    pub fn rules<'a>(&'a self, provider: &'a str, name: &'a str) -> impl Iterator<Item = &'a ModelRule> {
        self.models
            .iter()
            .filter(move |rule| rule.provider == provider && rule.names.iter().any(|n| n == name))
            // Dates as YYYY-MM-DD: text order is date order.
            .filter(|rule| rule.since.as_ref().is_none_or(|since| *since <= self.date))
    }

    /// The rule on one provider.
    pub fn provider(&self, id: &str) -> Option<&ProviderRule> {
        self.providers.iter().find(|rule| rule.id == id)
    }
}

impl ModelRule {
    /// `prices` with those that this rule states; from nothing, only if it states them all.
    pub fn prices(&self, prices: Option<Prices>) -> Option<Prices> {
        let base = prices.or_else(|| {
            Some(Prices {
                input: self.input?,
                cache_read: self.cache_read?,
                cache_write: self.cache_write?,
                cache_write_1h: self.cache_write_1h?,
                output: self.output?,
                tiers: Vec::new(),
            })
        })?;
        Some(Prices {
            input: self.input.unwrap_or(base.input),
            cache_read: self.cache_read.unwrap_or(base.cache_read),
            cache_write: self.cache_write.unwrap_or(base.cache_write),
            cache_write_1h: self.cache_write_1h.unwrap_or(base.cache_write_1h),
            output: self.output.unwrap_or(base.output),
            tiers: base.tiers,
        })
    }
}

/// Days since 1970-01-01 of a date `YYYY-MM-DD`.
fn day_number(date: &str) -> Option<u64> {
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day comes last (the usual civil-calendar arithmetic).
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_is_well_formed() {
        let file = OverrideFile::shipped();
        assert!(file.noon() > UNIX_EPOCH);
        for rule in &file.models {
            assert!(!rule.names.is_empty());
            assert!(file.provider(&rule.provider).is_some(), "{}", rule.provider);
            assert!(rule.since.as_deref().is_none_or(|d| day_number(d).is_some() && d.len() == 10));
        }
        assert_eq!(file.date.len(), 10);
        assert!(file.providers.iter().all(|p| !p.ttl_ms.is_empty()));
    }

    #[test]
    fn a_rule_holds_from_its_day_on() {
        let mut file = OverrideFile::shipped();
        let stated = |file: &OverrideFile| file.rules("anthropic", "claude-sonnet-5-5").any(|r| r.cache_read == Some(0.10));
        file.date = "2026-10-06".to_owned();
        assert!(!stated(&file));
        file.date = "2026-10-07".to_owned();
        assert!(stated(&file));
    }

    #[test]
    fn days() {
        assert_eq!(day_number("1970-01-01"), Some(0));
        assert_eq!(day_number("2024-02-29"), Some(19_782));
        assert_eq!(day_number("2026-12-01"), Some(20_788));
        for bad in ["", "2026-12", "2026-13-01", "2026-12-32", "x-1-1", "2026-1-1-1"] {
            assert_eq!(day_number(bad), None, "{bad}");
        }
    }
}
