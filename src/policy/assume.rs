//! Readings of the public record that are not settled, each a switch.

use serde::{Deserialize, Serialize};

/// Whether a clearing is recomputed or remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Each request recomputed from the full history, as the API does.
    #[default]
    Stateless,
    /// The cleared set is remembered and the trigger looks at the edited size, as client-side clearing does.
    Sticky,
}

/// How candidates are taken when `clear_at_least` is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// Oldest first, in batches that free at least `clear_at_least`; an incomplete last batch is left alone.
    #[default]
    Batched,
    /// All candidates, if together they free `clear_at_least`.
    AllOrNothing,
    /// Oldest first, stop once that much is freed; no skipping when it is not reached.
    StopWhenReached,
}

/// Which uses take up a keep slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepCounts {
    /// Clearable ones only.
    #[default]
    Clearable,
    /// Excluded and tiny ones as well.
    All,
}

/// Comparison of the trigger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerCmp {
    /// Fires above the value.
    #[default]
    Gt,
    /// Fires at the value.
    Ge,
}

/// Every reading, with the default that fits the provider's published runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Assume {
    /// Recomputed or remembered.
    pub memory: Memory,
    /// How candidates are taken when `clear_at_least` is set.
    pub selection: Selection,
    /// Which uses take up a keep slot.
    pub keep_counts: KeepCounts,
    /// A text result of 1..N bytes is neither counted nor cleared.
    pub tiny_result_bytes: u32,
    /// Tokens of what replaces a result.
    pub placeholder_tokens: u32,
    /// Tokens left of a `tool_use` block whose input is cleared, exactly, even of a smaller one.
    pub cleared_input_tokens: u32,
    /// Whether `base_tokens` count against the trigger.
    pub trigger_counts_base: bool,
    /// Comparison, for both trigger types.
    pub trigger_cmp: TriggerCmp,
    /// Re-fetch rounds before one request.
    pub max_refetch_rounds: u32,
}

impl Default for Assume {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            selection: Selection::default(),
            keep_counts: KeepCounts::default(),
            tiny_result_bytes: 46,
            placeholder_tokens: 11,
            cleared_input_tokens: 25,
            trigger_counts_base: true,
            trigger_cmp: TriggerCmp::default(),
            max_refetch_rounds: 1,
        }
    }
}
