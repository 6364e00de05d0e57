//! From a config, a command line and a trace's model to the settings of one replay.
//!
//! Each price, cache key and the window is settled apart, by who states it: the command line, then the config, then the
//! trace's `model`, then the defaults. Within one of these a single price wins over the price that a model's name brings.
//! A name given on the command line replaces the names and the single prices of the config, as the user asks for that
//! model's prices; `cache` and `context_window` of the config are the user's own words and stay, and what else follows from
//! a name (mode, `min_tokens`, default TTL, window) only fills what nobody states.

use std::fmt;

use super::{Catalogue, Model, PricePatch, Prices, Window};
use crate::policy::{Cache, CachePatch, Config, ModelTerms, Settings};
use crate::trace::Trace;

/// What a command line states.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--price`.
    pub price: PricePatch,
    /// `--ttl` and other keys of `cache`.
    pub cache: CachePatch,
    /// `--window`.
    pub window: Window,
}

/// Who named a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    CommandLine,
    /// The config.
    Config,
    /// The trace.
    Trace,
}

/// Where the prices of a replay come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelNote {
    /// From a model that the catalogue knows.
    Known {
        /// Its name in the catalogue.
        name: String,
        /// Who named it.
        origin: Origin,
    },
    /// Every price was stated one by one.
    Stated,
    /// From the defaults, at least in part: dollars are assumed.
    Assumed {
        /// The model that the trace names and the catalogue does not know; `None`: the trace names none.
        named: Option<String>,
    },
}

impl ModelNote {
    /// Whether dollars are assumed, so that the first line of an answer has to say so.
    pub fn is_assumed(&self) -> bool {
        matches!(self, Self::Assumed { .. })
    }
}

impl fmt::Display for ModelNote {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let by = |origin: &Origin| match origin {
            Origin::CommandLine => "--price",
            Origin::Config => "the config",
            Origin::Trace => "the trace",
        };
        match self {
            Self::Known { name, origin } => write!(f, "prices of {name}, named by {}", by(origin)),
            Self::Stated => f.write_str("prices as stated"),
            Self::Assumed { named: Some(name) } => {
                write!(f, "dollars are assumed: model {} is unknown, default prices; give --price MODEL", shown(name))
            }
            Self::Assumed { named: None } => f.write_str("dollars are assumed: no model is named, default prices; give --price MODEL"),
        }
    }
}

/// A price that cannot be settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// The user named a model that the catalogue does not know.
    #[error(
        "{}: unknown model {}: write one of the nearest, {} (`cleartune models` lists all), or prices, input=3,cache_read=0.3,cache_write=3.75,output=15",
        if *origin == Origin::CommandLine { "--price" } else { "price" },
        shown(name),
        nearest.join(", ")
    )]
    UnknownModel {
        /// As the user wrote it.
        name: String,
        /// Command line or config.
        origin: Origin,
        /// The nearest known names, the nearest first.
        nearest: Vec<String>,
    },
}

/// The settings for one trace, and where its prices come from. `trace_model`: the trace's `model`.
///
/// # Errors
/// A model named on the command line or in the config that the catalogue does not know.
pub fn resolve(
    config: &Config,
    overrides: &Overrides,
    trace_model: Option<&str>,
    catalogue: &Catalogue,
) -> Result<(Settings, ModelNote), PriceError> {
    let typed = |name: &str, origin: Origin| {
        catalogue.find(name).ok_or_else(|| PriceError::UnknownModel { name: name.to_owned(), origin, nearest: catalogue.nearest(name, 4) })
    };
    // A typo in the config is an error even where the command line makes it moot.
    let from_config = config.price.model.as_deref().map(|name| typed(name, Origin::Config)).transpose()?;
    let from_line = overrides.price.model.as_deref().map(|name| typed(name, Origin::CommandLine)).transpose()?;
    let line_names_model = from_line.is_some();
    let found: Option<(Model, Origin)> = from_line
        .map(|model| (model, Origin::CommandLine))
        .or_else(|| from_config.map(|model| (model, Origin::Config)))
        .or_else(|| trace_model.and_then(|name| catalogue.find(name)).map(|model| (model, Origin::Trace)));

    let config_price = if line_names_model { &PricePatch::default() } else { &config.price };
    let prices = found.as_ref().map_or_else(Prices::default, |(model, _)| model.prices.clone());
    let prices = overrides.price.over(config_price.over(prices));

    let base = found.as_ref().map_or_else(Cache::default, |(model, _)| Cache {
        mode: model.cache_mode,
        min_tokens: model.min_tokens,
        default_ttl_ms: model.ttl.default_ms(),
        ..Cache::default()
    });
    let context_window = match overrides.window {
        Window::Tokens(tokens) => Some(tokens),
        Window::None => None,
        Window::Unstated => config.context_window.or_else(|| found.as_ref().and_then(|(model, _)| model.context_window)),
    };
    let note = match found {
        Some((model, origin)) => ModelNote::Known { name: model.name, origin },
        None if overrides.price.or(&config.price).is_complete() => ModelNote::Stated,
        None => ModelNote::Assumed { named: trace_model.map(str::to_owned) },
    };
    let settings = Settings {
        edit: config.edit.clone(),
        policy: None,
        assume: config.assume.clone(),
        cache: overrides.cache.or(&config.cache).over(base),
        prices,
        other_models: Vec::new(),
        context_window,
    };
    Ok((settings, note))
}

/// The settings for one trace, those of its other models included, and where its prices come from: of several notes the first that says
/// that dollars are assumed, else that of the trace's own model.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_trace(
    config: &Config,
    overrides: &Overrides,
    trace: &Trace,
    catalogue: &Catalogue,
) -> Result<(Settings, ModelNote), PriceError> {
    let (mut settings, mut note) = resolve(config, overrides, trace.model.as_deref(), catalogue)?;
    for name in &trace.other_models {
        let (other, of_other) = resolve(config, overrides, Some(name), catalogue)?;
        settings.other_models.push(ModelTerms { cache: other.cache, prices: other.prices });
        if of_other.is_assumed() && !note.is_assumed() {
            note = of_other;
        }
    }
    Ok((settings, note))
}

/// A model's name for a message: one line, quoted, not longer than names are.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    let cut = if short.len() < name.len() { "…" } else { "" };
    format!("\"{}{cut}\"", short.escape_debug())
}
