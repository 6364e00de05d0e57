//! What a sweep yields: one row a config.

use crate::policy::{ClearToolInputs, ClearToolUses, Settings, Trigger};
use crate::replay::Totals;

/// The knobs of one config, as they stand in the first columns of `sweep.csv`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Knobs {
    /// Name of the policy: `none`, or `clear_tool_uses_20250919`.
    pub policy: String,
    /// The API's edit; `None` for other policies.
    pub edit: Option<ClearToolUses>,
    /// What `clear_when_cold` keeps and excludes; see [`Settings::when_cold`].
    pub cold: Option<ClearToolUses>,
}

impl Knobs {
    /// The config that never clears.
    pub fn none() -> Self {
        Self { policy: "none".to_owned(), edit: None, cold: None }
    }

    /// The API's edit.
    pub fn api(edit: ClearToolUses) -> Self {
        Self { policy: "clear_tool_uses_20250919".to_owned(), edit: Some(edit), cold: None }
    }

    /// Clearing all but the newest `keep` results, less those of some tools, whenever the cache is cold.
    pub fn when_cold(keep: u32, exclude_tools: Vec<String>) -> Self {
        let cold = ClearToolUses { trigger: Trigger::InputTokens(0), keep, exclude_tools, ..ClearToolUses::default() };
        Self { policy: "clear_when_cold".to_owned(), edit: None, cold: Some(cold) }
    }

    /// Puts the policy into the settings of a replay.
    pub fn apply(&self, settings: &mut Settings) {
        settings.when_cold = self.cold.is_some();
        settings.edit.clone_from(self.any());
    }

    /// What says which uses may be cleared, whatever the policy.
    pub fn any(&self) -> &Option<ClearToolUses> {
        if self.cold.is_some() { &self.cold } else { &self.edit }
    }

    /// Whether this is the row `none`.
    pub fn is_none(&self) -> bool {
        self.policy == "none"
    }

    /// The trigger, if there is one.
    pub fn trigger(&self) -> Option<Trigger> {
        self.edit.as_ref().map(|e| e.trigger)
    }

    /// Newest uses kept.
    pub fn keep(&self) -> Option<u32> {
        self.any().as_ref().map(|e| e.keep)
    }

    /// Tokens that one clear has to free.
    pub fn clear_at_least(&self) -> Option<u64> {
        self.edit.as_ref().map(|e| e.clear_at_least)
    }

    /// `exclude_tools` joined by `|`.
    pub fn exclude_tools(&self) -> String {
        self.any().as_ref().map_or_else(String::new, |e| e.exclude_tools.join("|"))
    }

    /// `clear_tool_inputs` as a cell: empty for `none`, `true`, `false`, or tool names joined by `|`.
    pub fn clear_tool_inputs(&self) -> String {
        match self.edit.as_ref().map(|e| &e.clear_tool_inputs) {
            None => String::new(),
            Some(ClearToolInputs::No) => "false".to_owned(),
            Some(ClearToolInputs::Yes) => "true".to_owned(),
            Some(ClearToolInputs::Tools(tools)) => tools.join("|"),
        }
    }
}

/// Columns that people decide by. `None`: not applicable (a division by zero).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Derived {
    /// Cost over the cost of `none` on the same transcripts.
    pub cost_vs_none: Option<f64>,
    /// Freed tokens over invalidated tokens.
    pub freed_per_invalidated: Option<f64>,
    /// Re-fetches per 100 original requests.
    pub refetches_per_100_requests: Option<f64>,
    /// Clear events per 100 original requests.
    pub clear_events_per_100_requests: Option<f64>,
    /// Cache-written tokens over the largest prompt, both summed over the transcripts.
    pub rewrite_factor: Option<f64>,
    /// Cache-read tokens over prompt tokens.
    pub cache_read_share: Option<f64>,
}

impl Derived {
    /// Derives the columns. `peaks`: the largest prompts of the transcripts, summed; `cost_of_none`: USD of never
    /// clearing on the same transcripts.
    pub fn new(totals: &Totals, peaks: u64, cost_of_none: f64) -> Self {
        let ratio = |a: f64, b: f64| (b != 0.0).then(|| a / b);
        let originals = (totals.requests - totals.refetch_requests) as f64;
        Self {
            cost_vs_none: ratio(totals.cost_usd, cost_of_none),
            freed_per_invalidated: ratio(totals.freed_tokens as f64, totals.invalidated_tokens as f64),
            refetches_per_100_requests: ratio(100.0 * totals.refetches as f64, originals),
            clear_events_per_100_requests: ratio(100.0 * totals.clear_events as f64, originals),
            rewrite_factor: ratio(totals.cache_write_tokens as f64, peaks as f64),
            cache_read_share: ratio(totals.cache_read_tokens as f64, totals.prompt_tokens as f64),
        }
    }
}

/// One config over all transcripts.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigRow {
    /// The config.
    pub knobs: Knobs,
    /// How many transcripts were replayed.
    pub transcripts: u64,
    /// Totals summed over the transcripts; `peak_prompt_tokens` is the largest. `first_overflow` is unused.
    pub totals: Totals,
    /// Transcripts that overflow the window.
    pub overflowed_transcripts: u64,
    /// Derived columns.
    pub derived: Derived,
}
