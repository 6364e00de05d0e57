//! What a sweep yields: one row a config.

use std::sync::Arc;

use crate::hindsight::Reach;
use crate::policy::{Assume, ClearToolInputs, ClearToolUses, Policy, Settings, Trigger};
use crate::replay::Totals;

/// The knobs of one config, as they stand in the first columns of `sweep.csv`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Knobs {
    /// Name of the policy: `none`, `clear_tool_uses_20250919`, one of [`named`](crate::policy::named), or that of a file.
    pub policy: String,
    /// The API's edit; `None` for other policies.
    pub edit: Option<ClearToolUses>,
    /// Any other policy.
    pub point: Option<Point>,
}

/// A policy other than the API's edit, with the knobs that it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Point {
    /// The rules; `None`: read back from a result of a policy that is not known here, which cannot be replayed.
    pub policy: Option<Arc<Policy>>,
    /// Its knob `trigger`, in input tokens.
    pub trigger: Option<u64>,
    /// Its knob `keep`, in tool uses.
    pub keep: Option<u32>,
    /// Its knob `clear_at_least`, in tokens.
    pub clear_at_least: Option<u64>,
    /// Its knob `exclude_tools`.
    pub exclude_tools: Vec<String>,
    /// Its further knobs, `high=120000;low=60000`.
    pub params: String,
    /// No policy, but what one could reach that knows what follows.
    pub hindsight: Option<Hindsight>,
}

/// Rows that every sweep has beside `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hindsight {
    /// See [`oracle`](crate::hindsight::oracle()).
    Oracle,
    /// See [`bound`](crate::hindsight::bound()): only its cost means anything.
    Bound(Reach),
}

impl Knobs {
    /// The config that never clears.
    pub fn none() -> Self {
        Self { policy: "none".to_owned(), edit: None, point: None }
    }

    /// The API's edit.
    pub fn api(edit: ClearToolUses) -> Self {
        Self { policy: "clear_tool_uses_20250919".to_owned(), edit: Some(edit), point: None }
    }

    /// Clearing all but the newest `keep` results, less those of some tools, whenever the cache is cold.
    pub fn when_cold(keep: u32, exclude_tools: Vec<String>) -> Self {
        let policy = Some(Arc::new(Policy::when_cold(keep, exclude_tools.clone())));
        let point = Point { policy, keep: Some(keep), exclude_tools, ..Point::default() };
        Self { policy: "clear_when_cold".to_owned(), edit: None, point: Some(point) }
    }

    /// The row `oracle`.
    pub fn oracle() -> Self {
        let point = Point { hindsight: Some(Hindsight::Oracle), ..Point::default() };
        Self { policy: "oracle".to_owned(), edit: None, point: Some(point) }
    }

    /// The row `bound`, for policies within this reach.
    pub fn bound(reach: Reach) -> Self {
        let point = Point { hindsight: Some(Hindsight::Bound(reach)), params: reach.words(), ..Point::default() };
        Self { policy: "bound".to_owned(), edit: None, point: Some(point) }
    }

    /// Whether this is `oracle` or `bound`.
    pub fn hindsight(&self) -> Option<Hindsight> {
        self.point.as_ref()?.hindsight
    }

    /// The rows of hindsight for a sweep of these configs under these readings: `oracle`, and `bound` for all that they take; where that is
    /// more than results, once more for those that take results alone.
    pub fn all_hindsight(configs: &[Self], assume: &Assume) -> Vec<Self> {
        let results = Reach { left: assume.placeholder_tokens, ..Reach::RESULTS };
        let reach = configs.iter().filter_map(|knobs| knobs.reach(assume)).fold(results, Reach::and);
        let narrow = Reach { uses: false, thinking: false, ..reach };
        let mut rows = vec![Self::oracle(), Self::bound(reach)];
        rows.extend((narrow != reach).then(|| Self::bound(narrow)));
        rows
    }

    /// What the config takes out of prompts; `None`: nothing.
    fn reach(&self, assume: &Assume) -> Option<Reach> {
        let of_point = || self.point.as_ref().and_then(|point| point.policy.as_deref()).map(|policy| Reach::of(policy, assume));
        self.edit.as_ref().map(|edit| Reach::of(&Policy::of_edit(edit, assume), assume)).or_else(of_point)
    }

    /// Puts the policy into the settings of a replay; `oracle` and `bound` have none.
    pub fn apply(&self, settings: &mut Settings) {
        settings.edit.clone_from(&self.edit);
        settings.policy = self.point.as_ref().and_then(|point| point.policy.clone());
    }

    /// Whether this is the row `none`.
    pub fn is_none(&self) -> bool {
        self.policy == "none"
    }

    /// Whether the choice is made among rows like this: the API's edit, clearing when the cache is cold, and none at all.
    pub fn is_ours(&self) -> bool {
        self.point.is_none() || self.policy == "clear_when_cold"
    }

    /// The trigger, if there is one.
    pub fn trigger(&self) -> Option<Trigger> {
        self.edit.as_ref().map(|e| e.trigger).or_else(|| self.point.as_ref()?.trigger.map(Trigger::InputTokens))
    }

    /// Newest uses kept.
    pub fn keep(&self) -> Option<u32> {
        self.edit.as_ref().map(|e| e.keep).or_else(|| self.point.as_ref()?.keep)
    }

    /// Tokens that one clear has to free.
    pub fn clear_at_least(&self) -> Option<u64> {
        self.edit.as_ref().map(|e| e.clear_at_least).or_else(|| self.point.as_ref()?.clear_at_least)
    }

    /// The excluded tools; `None` for `none`.
    pub fn excluded(&self) -> Option<&[String]> {
        let edit = self.edit.as_ref().map(|e| e.exclude_tools.as_slice());
        edit.or_else(|| self.point.as_ref().map(|p| p.exclude_tools.as_slice()))
    }

    /// `exclude_tools` joined by `|`.
    pub fn exclude_tools(&self) -> String {
        self.excluded().map_or_else(String::new, |tools| tools.join("|"))
    }

    /// Knobs that have no column of their own: `high=120000;low=60000`.
    pub fn params(&self) -> &str {
        self.point.as_ref().map_or("", |point| &point.params)
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
        let originals = (totals.requests - totals.refetch_requests - totals.compactions) as f64;
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
