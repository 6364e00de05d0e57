//! A config, checked, and what a replay is given.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Assume;
use super::space::Policy;
use crate::price::{PricePatch, Prices};

/// When clearing begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The prompt's size in tokens.
    InputTokens(u64),
    /// The number of clearable tool uses.
    ToolUses(u64),
}

impl Trigger {
    /// The API's name of the type.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::InputTokens(_) => "input_tokens",
            Self::ToolUses(_) => "tool_uses",
        }
    }

    /// The value, in tokens or tool uses.
    pub fn value(self) -> u64 {
        match self {
            Self::InputTokens(n) | Self::ToolUses(n) => n,
        }
    }
}

/// Whose tool inputs are cleared along with the results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ClearToolInputs {
    /// None (`false`).
    #[default]
    No,
    /// All (`true`).
    Yes,
    /// Those of the named tools.
    Tools(Vec<String>),
}

impl ClearToolInputs {
    /// The tools that are named one by one.
    pub fn tools(&self) -> &[String] {
        match self {
            Self::No | Self::Yes => &[],
            Self::Tools(tools) => tools,
        }
    }

    /// Whether the inputs of `tool` are cleared.
    pub fn covers(&self, tool: &str) -> bool {
        match self {
            Self::No => false,
            Self::Yes => true,
            Self::Tools(tools) => tools.iter().any(|t| t == tool),
        }
    }
}

/// The edit `clear_tool_uses_20250919`. Defaults: the API's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClearToolUses {
    /// When clearing begins.
    pub trigger: Trigger,
    /// The newest clearable uses that are never cleared.
    pub keep: u32,
    /// Tokens that one clear has to free; 0: any.
    pub clear_at_least: u64,
    /// Tools whose results are never cleared.
    pub exclude_tools: Vec<String>,
    /// Whose tool inputs are cleared too.
    pub clear_tool_inputs: ClearToolInputs,
}

impl Default for ClearToolUses {
    fn default() -> Self {
        Self {
            trigger: Trigger::InputTokens(100_000),
            keep: 3,
            clear_at_least: 0,
            exclude_tools: Vec::new(),
            clear_tool_inputs: ClearToolInputs::No,
        }
    }
}

/// How the provider caches prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Entries at breakpoints, found by walking back (Anthropic).
    #[default]
    Entries,
    /// Every position is an entry (automatic prefix caching).
    Prefix,
    /// No caching.
    Off,
}

/// The cache model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cache {
    /// Kind of caching.
    pub mode: CacheMode,
    /// Lifetime of entries in milliseconds; `None`: the requests' own, else [`Cache::default_ttl_ms`].
    pub ttl_ms: Option<i64>,
    /// Lifetime of entries of a request that states none, milliseconds: the provider's default.
    pub default_ttl_ms: i64,
    /// Positions walked back from a breakpoint, the breakpoint included.
    pub lookback: u32,
    /// Smallest prefix that is cached, in tokens.
    pub min_tokens: u64,
    /// Whether the end of tools + system prompt is a breakpoint.
    pub system_breakpoint: bool,
    /// Breakpoints at the end of the prompt, 1 to 3.
    pub tail_breakpoints: u32,
    /// Whether a run of `use` or of `result` blocks of one message is one position.
    pub group_parallel: bool,
}

impl Cache {
    /// Five minutes.
    pub const DEFAULT_TTL_MS: i64 = 300_000;

    /// Lifetime of the entries that a request writes or hits, milliseconds; `of_request`: what the request states.
    pub fn ttl(&self, of_request: Option<i64>) -> i64 {
        self.ttl_ms.or(of_request).unwrap_or(self.default_ttl_ms)
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            mode: CacheMode::default(),
            ttl_ms: None,
            default_ttl_ms: Self::DEFAULT_TTL_MS,
            lookback: 20,
            min_tokens: 1024,
            system_breakpoint: true,
            tail_breakpoints: 1,
            group_parallel: true,
        }
    }
}

/// The keys of `cache` that a config states; the others follow from the model, then from the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachePatch {
    /// See [`Cache::mode`].
    pub mode: Option<CacheMode>,
    /// See [`Cache::ttl_ms`].
    pub ttl_ms: Option<i64>,
    /// See [`Cache::lookback`].
    pub lookback: Option<u32>,
    /// See [`Cache::min_tokens`].
    pub min_tokens: Option<u64>,
    /// See [`Cache::system_breakpoint`].
    pub system_breakpoint: Option<bool>,
    /// See [`Cache::tail_breakpoints`].
    pub tail_breakpoints: Option<u32>,
    /// See [`Cache::group_parallel`].
    pub group_parallel: Option<bool>,
}

impl CachePatch {
    /// `base` with the keys that are stated here.
    pub fn over(&self, base: Cache) -> Cache {
        let mut cache = base;
        cache.mode = self.mode.unwrap_or(cache.mode);
        cache.ttl_ms = self.ttl_ms.or(cache.ttl_ms);
        cache.lookback = self.lookback.unwrap_or(cache.lookback);
        cache.min_tokens = self.min_tokens.unwrap_or(cache.min_tokens);
        cache.system_breakpoint = self.system_breakpoint.unwrap_or(cache.system_breakpoint);
        cache.tail_breakpoints = self.tail_breakpoints.unwrap_or(cache.tail_breakpoints);
        cache.group_parallel = self.group_parallel.unwrap_or(cache.group_parallel);
        cache
    }

    /// This patch with the keys of `other` where it states none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            ttl_ms: self.ttl_ms.or(other.ttl_ms),
            lookback: self.lookback.or(other.lookback),
            min_tokens: self.min_tokens.or(other.min_tokens),
            system_breakpoint: self.system_breakpoint.or(other.system_breakpoint),
            tail_breakpoints: self.tail_breakpoints.or(other.tail_breakpoints),
            group_parallel: self.group_parallel.or(other.group_parallel),
        }
    }
}

/// A config file: what it states, checked, and nothing that it does not state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The clearing edit; `None`: nothing is ever cleared.
    pub edit: Option<ClearToolUses>,
    /// Readings; keys that the file leaves out keep their defaults.
    pub assume: Assume,
    /// Stated keys of the cache model.
    pub cache: CachePatch,
    /// Stated prices, or a model's name.
    pub price: PricePatch,
    /// Context window in tokens.
    pub context_window: Option<u64>,
    /// Things in the file that are accepted and have no effect on a replay, one sentence each.
    pub notes: Vec<String>,
}

/// What a request has of its own when another model answers it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelTerms {
    /// Cache model.
    pub cache: Cache,
    /// Prices in USD per million tokens.
    pub prices: Prices,
}

/// Everything that one replay needs besides the trace, resolved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// The clearing edit; `None`: nothing is ever cleared.
    pub edit: Option<ClearToolUses>,
    /// A policy instead of the edit, which is not looked at then.
    pub policy: Option<Arc<Policy>>,
    /// Readings.
    pub assume: Assume,
    /// Cache model.
    pub cache: Cache,
    /// Prices in USD per million tokens.
    pub prices: Prices,
    /// Cache and prices of the trace's other models, in their order; a request of a model that is missing here has the two above.
    pub other_models: Vec<ModelTerms>,
    /// Context window in tokens; `None`: overflow is not looked at.
    pub context_window: Option<u64>,
}

impl Settings {
    /// What is run: the policy, or the edit as one.
    pub fn policy(&self) -> Arc<Policy> {
        match (&self.policy, &self.edit) {
            (Some(policy), _) => Arc::clone(policy),
            (None, Some(edit)) => Arc::new(Policy::of_edit(edit, &self.assume)),
            (None, None) => Arc::default(),
        }
    }

    /// Cache and prices of a request of model `model`, numbered as in [`Request::model`](crate::trace::Request::model).
    pub fn terms(&self, model: u16) -> (&Cache, &Prices) {
        let other = usize::from(model).checked_sub(1).and_then(|i| self.other_models.get(i));
        other.map_or((&self.cache, &self.prices), |terms| (&terms.cache, &terms.prices))
    }
}
