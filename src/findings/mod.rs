//! Findings: what is wrong or pointless with a config on a workload, with evidence in numbers and a remedy.

mod alone;
mod cache;
mod dead;
mod survey;
mod tools;
mod trigger;

pub use alone::find_alone;
use serde::Serialize;

use crate::policy::ClearToolUses;
use crate::sweep::Transcript;
use survey::Survey;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Costs something or does nothing.
    Warning,
    /// Does harm.
    Error,
}

/// What is found; see `docs/findings.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Id {
    /// Remembered clearing: with every candidate cleared the prompt is still at or above the trigger.
    Saturated,
    /// Recomputed clearing without batches: a clear event on most requests.
    SlidesEveryRequest,
    /// A clear leaves the prompt so near the trigger that the next request fires again.
    LowMarkEqualsTrigger,
    /// The trigger is never passed, or nothing may be cleared when it is.
    NeverFires,
    /// There is never as much to clear as `clear_at_least` asks for.
    UnreachableClearAtLeast,
    /// The window overflows before the first clear.
    OverflowBeforeClear,
    /// A clear cuts farther back than the cache is looked up.
    LookbackCliff,
    /// Prompts too small for the cache.
    BelowMinimumCacheable,
    /// Prompts above a size from which the provider charges more.
    PriceCliff,
    /// Excluded tools hold most of what could be cleared.
    ExcludedDominates,
    /// A memory tool's results are cleared.
    MemoryNotExcluded,
    /// Results that cannot be fetched again are cleared.
    IrrecoverableCleared,
    /// `keep` is smaller than a usual parallel batch.
    KeepSplitsBatch,
    /// A clear just before a pause after which it would have been free.
    ClearBeforeIdle,
    /// Pauses that let the cache expire: clearing there rewrites nothing that is not written anyway.
    ClearWhenColdIsFree,
    /// Reads from the cache are so cheap that no clear pays.
    ReadTooCheap,
    /// A key of the config that changes nothing on this workload.
    DeadKnob,
    /// Results that are fetched again and cleared again.
    RefetchChain,
}

impl Id {
    /// Every id, in the order of the documentation.
    pub const ALL: [Self; 18] = [
        Self::Saturated,
        Self::SlidesEveryRequest,
        Self::LowMarkEqualsTrigger,
        Self::NeverFires,
        Self::UnreachableClearAtLeast,
        Self::OverflowBeforeClear,
        Self::LookbackCliff,
        Self::BelowMinimumCacheable,
        Self::PriceCliff,
        Self::ExcludedDominates,
        Self::MemoryNotExcluded,
        Self::IrrecoverableCleared,
        Self::KeepSplitsBatch,
        Self::ClearBeforeIdle,
        Self::ClearWhenColdIsFree,
        Self::ReadTooCheap,
        Self::DeadKnob,
        Self::RefetchChain,
    ];

    /// The id of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }

    /// Its name in files, such as `slides-every-request`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Saturated => "saturated",
            Self::SlidesEveryRequest => "slides-every-request",
            Self::LowMarkEqualsTrigger => "low-mark-equals-trigger",
            Self::NeverFires => "never-fires",
            Self::UnreachableClearAtLeast => "unreachable-clear-at-least",
            Self::OverflowBeforeClear => "overflow-before-clear",
            Self::LookbackCliff => "lookback-cliff",
            Self::BelowMinimumCacheable => "below-minimum-cacheable",
            Self::PriceCliff => "price-cliff",
            Self::ExcludedDominates => "excluded-dominates",
            Self::MemoryNotExcluded => "memory-not-excluded",
            Self::IrrecoverableCleared => "irrecoverable-cleared",
            Self::KeepSplitsBatch => "keep-splits-batch",
            Self::ClearBeforeIdle => "clear-before-idle",
            Self::ClearWhenColdIsFree => "clear-when-cold-is-free",
            Self::ReadTooCheap => "read-too-cheap",
            Self::DeadKnob => "dead-knob",
            Self::RefetchChain => "refetch-chain",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What.
    pub id: Id,
    /// How bad.
    pub severity: Severity,
    /// The numbers, in words.
    pub evidence: String,
    /// The same numbers by name; tokens, USD and counts.
    pub numbers: Vec<(&'static str, f64)>,
    /// What to do.
    pub remedy: String,
}

/// What a config does wrong or for nothing on these transcripts, the worst first.
///
/// The transcripts' settings give readings, cache, prices and window; their `edit` is not looked at. `None`: no clearing; then only what
/// clearing could do is found. Runs on all threads of the current rayon pool.
pub fn find(edit: Option<&ClearToolUses>, transcripts: &[Transcript]) -> Vec<Finding> {
    let surveys = survey::of_all(edit, transcripts);
    let total = Survey::sum(&surveys);
    let mut found = Vec::new();
    if let Some(edit) = edit {
        trigger::find(edit, transcripts, &surveys, &total, &mut found);
        cache::find(edit, transcripts, &surveys, &total, &mut found);
        tools::find(edit, transcripts, &total, &mut found);
        // Where nothing fires every knob is dead, and that is said already.
        if total.events > 0 {
            dead::find(edit, transcripts, &mut found);
        }
    } else {
        cache::find_without(transcripts, &total, &mut found);
    }
    found.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.id));
    found
}

/// Whether remembered clearing with this config fires for ever on some of the transcripts: a config that is never to be recommended.
pub fn is_saturated(edit: &ClearToolUses, transcripts: &[Transcript]) -> bool {
    let surveys = survey::of_all(Some(edit), transcripts);
    surveys.iter().any(|s| s.saturated_at_end)
}

/// A number with its thousands set off: `119,560`.
fn n(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1 transcript`, `2 transcripts`.
fn count(many: u64, noun: &str) -> String {
    format!("{} {noun}{}", n(many), if many == 1 { "" } else { "s" })
}

fn percent(part: f64, whole: f64) -> String {
    format!("{:.0} %", 100.0 * part / whole.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
