//! The models that are known: the crate genai-prices and the override file, under one name each.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::SystemTime;

use genai_prices::Calculator;

use super::names::{self, Key};
use super::overrides::{ModelRule, OverrideFile};
use super::{Prices, extract};
use crate::policy::{Cache, CacheMode};

/// Version of the crate genai-prices whose data are bundled; a test holds it to `Cargo.lock`.
const GENAI_PRICES: &str = "0.2.1";

/// Providers whose models go by their bare names, in the order of lists.
const HOMES: [&str; 3] = ["anthropic", "openai", "google"];

/// The window behind the suffix `[1m]` that Claude Code writes, in tokens.
const MILLION: u64 = 1_000_000;

/// One model: what it costs and how its provider caches.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Name in the catalogue: bare for Anthropic, `OpenAI` and Google, `provider/name` for others.
    pub name: String,
    /// Id of the provider: `anthropic`, `openai`, `google`, `aws`, …
    pub provider: String,
    /// USD per million tokens.
    pub prices: Prices,
    /// Smallest prompt that is cached, in tokens.
    pub min_tokens: u64,
    /// How the provider caches; [`CacheMode::Off`] where it has no price for reading from a cache.
    pub cache_mode: CacheMode,
    /// Lifetimes of cache entries.
    pub ttl: Ttl,
    /// Context window in tokens, if known.
    pub context_window: Option<u64>,
}

/// The lifetimes of cache entries that a provider offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ttl {
    /// All of them, milliseconds; the first is the default.
    choices_ms: Vec<i64>,
}

impl Ttl {
    /// What a request gets that states none, milliseconds.
    pub fn default_ms(&self) -> i64 {
        self.choices_ms.first().copied().unwrap_or(Cache::DEFAULT_TTL_MS)
    }

    /// All that can be had, milliseconds; the default first.
    pub fn choices_ms(&self) -> &[i64] {
        &self.choices_ms
    }

    /// Whether an entry can be kept for an hour.
    pub fn one_hour(&self) -> bool {
        self.choices_ms.contains(&3_600_000)
    }
}

/// All known models. Loaded at the first look-up (tens of milliseconds), prices of a model at its first look-up.
#[derive(Debug)]
pub struct Catalogue {
    listing: OnceLock<Listing>,
}

#[derive(Debug)]
struct Listing {
    overrides: OverrideFile,
    at: SystemTime,
    /// Home models first, in the order of lists.
    entries: Vec<Entry>,
    by_id: BTreeMap<(String, String), usize>,
    by_name: BTreeMap<String, usize>,
    /// Home models by key.
    by_key: BTreeMap<Key, Vec<usize>>,
}

#[derive(Debug)]
struct Entry {
    provider: String,
    id: String,
    name: String,
    context_window: Option<u64>,
    model: OnceLock<Option<Model>>,
}

static SHIPPED: Catalogue = Catalogue { listing: OnceLock::new() };

impl Catalogue {
    /// The catalogue of this version of cleartune.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Versions of the data, for stamping results: `genai-prices 0.2.1 + overrides 2026-12-01`.
    pub fn version(&self) -> String {
        format!("genai-prices {GENAI_PRICES} + overrides {}", self.date())
    }

    /// The day whose prices are taken, `YYYY-MM-DD`.
    pub fn date(&self) -> &str {
        &self.listing().overrides.date
    }

    /// The model of this name, in any usual spelling, upper or lower case.
    ///
    /// Dated ids, Bedrock ids (`us.anthropic.claude-…-v1:0`, at Bedrock's prices), Vertex ids (`…@20250929`), gateway paths
    /// (`anthropic/…`, `openrouter/anthropic/…`) and Claude Code's `[1m]` (a window of a million tokens) are understood.
    /// `None`: unknown, and never the price of a model that merely begins alike.
    pub fn find(&self, name: &str) -> Option<Model> {
        let name = name.trim().to_lowercase();
        if name.is_empty() || name.len() > 300 {
            return None;
        }
        let (name, million) = name.strip_suffix("[1m]").map_or((name.as_str(), false), |name| (name, true));
        let mut model = self.listing().find(name)?.clone();
        if million {
            model.context_window = Some(model.context_window.unwrap_or(0).max(MILLION));
        }
        Some(model)
    }

    /// The `n` names nearest to one that is unknown, the nearest first.
    pub fn nearest(&self, name: &str, n: usize) -> Vec<String> {
        let fold = |name: &str| names::core(name).chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        let wanted: String = fold(&name.trim().to_lowercase()).chars().take(100).collect();
        let mut scored: Vec<(f64, &str)> = self
            .listing()
            .entries
            .iter()
            .take_while(|entry| entry.is_home())
            .filter(|entry| self.listing().model(entry).is_some())
            .map(|entry| {
                let known = fold(&entry.name);
                // Jaro-Winkler favours a common beginning, the edit distance tells 4-5 from 4-6: both count.
                let score = strsim::jaro_winkler(&wanted, &known) + strsim::normalized_damerau_levenshtein(&wanted, &known);
                (score, entry.name.as_str())
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(n).map(|(_, name)| name.to_owned()).collect()
    }

    /// All models with prices: Anthropic, `OpenAI`, Google by name, then the other providers. Takes a moment.
    pub fn models(&self) -> Vec<&Model> {
        let listing = self.listing();
        listing.entries.iter().filter_map(|entry| listing.model(entry)).collect()
    }

    /// The models of Anthropic, `OpenAI` and Google, each by name.
    pub fn home_models(&self) -> Vec<&Model> {
        let listing = self.listing();
        listing.entries.iter().take_while(|entry| entry.is_home()).filter_map(|entry| listing.model(entry)).collect()
    }

    fn listing(&self) -> &Listing {
        self.listing.get_or_init(Listing::load)
    }
}

impl Entry {
    fn is_home(&self) -> bool {
        rank(&self.provider, &self.id) < HOMES.len()
    }
}

/// Position of a provider in lists; that of a cloud that sells another's models is behind all homes.
fn rank(provider: &str, id: &str) -> usize {
    let sold_on = provider == "google" && id.contains("claude");
    HOMES.iter().position(|home| *home == provider && !sold_on).unwrap_or(HOMES.len())
}

impl Listing {
    fn load() -> Self {
        let overrides = OverrideFile::shipped();
        let mut known: BTreeMap<(usize, String, String), Option<u64>> = BTreeMap::new();
        for provider in Calculator::bundled().providers() {
            for model in provider.models() {
                let (provider, id) = (provider.id().to_owned(), model.id().to_owned());
                known.insert((rank(&provider, &id), provider, id), model.context_window());
            }
        }
        for rule in &overrides.models {
            for name in &rule.names {
                known.entry((rank(&rule.provider, name), rule.provider.clone(), name.clone())).or_default();
            }
        }
        let entries: Vec<Entry> = known
            .into_iter()
            .map(|((rank, provider, id), context_window)| {
                let name = if rank < HOMES.len() { id.clone() } else { format!("{provider}/{id}") };
                Entry { provider, id, name: name.to_lowercase(), context_window, model: OnceLock::new() }
            })
            .collect();
        let (mut by_id, mut by_name, mut by_key) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::<Key, Vec<usize>>::new());
        for (index, entry) in entries.iter().enumerate() {
            by_id.insert((entry.provider.clone(), entry.id.clone()), index);
            by_name.entry(entry.name.clone()).or_insert(index);
            if entry.is_home() {
                by_key.entry(names::key(names::plain_id(&entry.name))).or_default().push(index);
            }
        }
        Self { at: overrides.noon(), overrides, entries, by_id, by_name, by_key }
    }

    /// The model of an entry, unless it has no price for input or output (embeddings, free and image models).
    fn model<'a>(&'a self, entry: &'a Entry) -> Option<&'a Model> {
        entry.model.get_or_init(|| self.build(entry)).as_ref()
    }

    fn build(&self, entry: &Entry) -> Option<Model> {
        let rules: Vec<&ModelRule> = self.overrides.rules(&entry.provider, &entry.id).collect();
        let mut prices = extract::prices(&entry.provider, &entry.id, self.at);
        for rule in &rules {
            prices = rule.prices(prices);
        }
        let prices = prices.filter(|p| p.input > 0.0 && p.output > 0.0)?;
        let has_cache = prices.cache_read.to_bits() != prices.input.to_bits();

        // A cloud that sells another's model caches it as its maker does.
        let maker = if entry.is_home() { None } else { self.maker(entry).and_then(|home| self.model(home)) };
        let provider = self.overrides.provider(&entry.provider);
        let mode = maker.map(|m| m.cache_mode).or(provider.map(|p| p.cache_mode)).unwrap_or(CacheMode::Prefix);
        let defaults = Cache::default();
        let choices_ms = rules
            .iter()
            .rev()
            .find_map(|rule| rule.ttl_ms.clone())
            .or_else(|| maker.map(|m| m.ttl.choices_ms.clone()))
            .or_else(|| provider.map(|p| p.ttl_ms.clone()))
            .unwrap_or_else(|| vec![Cache::DEFAULT_TTL_MS]);
        Some(Model {
            name: entry.name.clone(),
            provider: entry.provider.clone(),
            prices,
            min_tokens: rules
                .iter()
                .rev()
                .find_map(|rule| rule.min_tokens)
                .or(maker.map(|m| m.min_tokens))
                .or(provider.map(|p| p.min_tokens))
                .unwrap_or(defaults.min_tokens),
            cache_mode: if has_cache { mode } else { CacheMode::Off },
            ttl: Ttl { choices_ms },
            context_window: rules
                .iter()
                .rev()
                .find_map(|rule| rule.context_window)
                .or(entry.context_window)
                .or(maker.and_then(|m| m.context_window)),
        })
    }

    /// The entry of a model at its maker, for one that a cloud or gateway sells.
    fn maker(&self, entry: &Entry) -> Option<&Entry> {
        names::variants(names::core(&entry.name)).into_iter().find_map(|name| self.by_key(None, name))
    }

    fn find(&self, name: &str) -> Option<&Model> {
        if let Some(rest) = name.strip_prefix("openrouter/") {
            // The gateway passes the maker's price on, and the maker's entry knows more.
            return self.find(rest).or_else(|| self.at_provider("openrouter", rest));
        }
        if let Some(model) = self.by_name.get(name).and_then(|&index| self.model(&self.entries[index])) {
            return Some(model);
        }
        if let Some((first, rest)) = name.split_once('/') {
            let provider = Calculator::bundled().find_provider(Some(first), None).ok().flatten();
            return provider.and_then(|p| self.at_provider(p.id(), rest)).or_else(|| self.find(rest));
        }
        let bedrock = name.contains("anthropic.claude").then(|| self.at_provider("aws", name)).flatten();
        bedrock.or_else(|| {
            names::variants(names::core(name))
                .into_iter()
                .find_map(|name| self.by_key(None, name).and_then(|e| self.model(e)).or_else(|| self.listed(None, name)))
        })
    }

    fn at_provider(&self, provider: &str, name: &str) -> Option<&Model> {
        names::variants(name).into_iter().find_map(|name| {
            let home = self.by_key(Some(provider), names::core(name)).and_then(|entry| self.model(entry));
            home.or_else(|| self.listed(Some(provider), name))
        })
    }

    /// The one home model with the key of `name`.
    fn by_key(&self, provider: Option<&str>, name: &str) -> Option<&Entry> {
        let fits = |entry: &&Entry| entry.is_home() && provider.is_none_or(|p| p == entry.provider);
        let named = self.by_name.get(name).map(|&index| &self.entries[index]).filter(fits);
        named.or_else(|| match self.by_key.get(&names::key(name)).map(Vec::as_slice) {
            Some(&[index]) => Some(&self.entries[index]).filter(fits),
            _ => None,
        })
    }

    /// What genai-prices itself makes of the name, if it means exactly this one: many of its rules take any name that
    /// begins alike, and would give a mistyped or newer model the price of another.
    fn listed(&self, provider: Option<&str>, name: &str) -> Option<&Model> {
        if name.bytes().all(|b| b.is_ascii_alphabetic()) {
            // A bare family name: the list gives "claude" the price of its first version.
            return None;
        }
        let (found, id) = extract::matched(provider, name, self.at)?;
        let same = |other: &str| extract::matched(provider, other, self.at).is_some_and(|(_, other)| other == id);
        let loose = same(&format!("{name}zz")) || same(&format!("zz{name}"));
        let key = |name: &str| names::key(names::plain_id(names::core(name)));
        if loose && key(name) != key(&id.to_lowercase()) {
            return None;
        }
        let index = self.by_id.get(&(found, id.clone()));
        // A provider can fall back on another's list.
        let index = index.or_else(|| HOMES.iter().find_map(|home| self.by_id.get(&((*home).to_owned(), id.clone()))))?;
        self.model(&self.entries[*index])
    }
}
