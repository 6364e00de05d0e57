//! One row, whether of CSV or of JSON: cells by name.

use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};
use crate::replay::Totals;
use crate::sweep::{ConfigRow, Derived, Knobs};

/// A row's cells: the text of the column of that name, empty for not applicable; `None` where there is no such column.
pub type Get<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is wrong with a cell: its column, and what to write.
#[derive(Debug)]
pub struct CellError {
    /// The column.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

fn error(field: &str, problem: impl Into<String>) -> CellError {
    CellError { field: field.to_owned(), problem: problem.into() }
}

fn text(get: Get<'_>, field: &str) -> Result<String, CellError> {
    get(field).ok_or_else(|| error(field, "is missing; is this a file that cleartune wrote?"))
}

fn number<T: std::str::FromStr>(get: Get<'_>, field: &str) -> Result<T, CellError> {
    text(get, field)?.parse().map_err(|_| error(field, "is no number of the right kind"))
}

fn optional<T: std::str::FromStr>(get: Get<'_>, field: &str) -> Result<Option<T>, CellError> {
    match get(field).as_deref() {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| error(field, "is no number of the right kind")),
    }
}

fn names(cell: &str) -> Vec<String> {
    cell.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The config of a row.
pub fn knobs(get: Get<'_>) -> Result<Knobs, CellError> {
    let policy = text(get, "policy")?;
    if policy == "clear_when_cold" {
        return Ok(Knobs::when_cold(number(get, "keep")?, names(&text(get, "exclude_tools")?)));
    }
    let Some(trigger) = optional::<u64>(get, "trigger")? else {
        return Ok(Knobs { policy, ..Knobs::none() });
    };
    let trigger = match text(get, "trigger_type")?.as_str() {
        "input_tokens" => Trigger::InputTokens(trigger),
        "tool_uses" => Trigger::ToolUses(trigger),
        _ => return Err(error("trigger_type", "is neither input_tokens nor tool_uses")),
    };
    let clear_tool_inputs = match text(get, "clear_tool_inputs")?.as_str() {
        "" | "false" => ClearToolInputs::No,
        "true" => ClearToolInputs::Yes,
        tools => ClearToolInputs::Tools(names(tools)),
    };
    let edit = ClearToolUses {
        trigger,
        keep: number(get, "keep")?,
        clear_at_least: optional(get, "clear_at_least")?.unwrap_or(0),
        exclude_tools: names(&text(get, "exclude_tools")?),
        clear_tool_inputs,
    };
    Ok(Knobs { policy, ..Knobs::api(edit) })
}

/// The totals of a row.
pub fn totals(get: Get<'_>) -> Result<Totals, CellError> {
    let n = |field: &str| number::<u64>(get, field);
    Ok(Totals {
        requests: n("requests")?,
        refetch_requests: n("refetch_requests")?,
        refetches: n("refetches")?,
        costly_refetches: n("costly_refetches")?,
        lost_needs: n("lost_needs")?,
        unmet_needs: n("unmet_needs")?,
        clear_events: n("clear_events")?,
        cleared_uses: n("cleared_uses")?,
        freed_tokens: number(get, "freed_tokens")?,
        cache_invalidations: n("cache_invalidations")?,
        invalidated_tokens: n("invalidated_tokens")?,
        prompt_tokens: n("prompt_tokens")?,
        cache_read_tokens: n("cache_read_tokens")?,
        cache_write_tokens: n("cache_write_tokens")?,
        uncached_tokens: n("uncached_tokens")?,
        output_tokens: n("output_tokens")?,
        peak_prompt_tokens: n("peak_prompt_tokens")?,
        cost_usd: number::<f64>(get, "cost_usd")
            .and_then(|c| if c.is_finite() { Ok(c) } else { Err(error("cost_usd", "is no finite number")) })?,
        first_overflow: optional(get, "first_overflow")?,
        refetch_usd: optional(get, "refetch_usd")?.unwrap_or(0.0),
        refetch_seconds: optional(get, "refetch_seconds")?.unwrap_or(0.0),
    })
}

/// A row of `sweep.csv` or `sweep.json`.
pub fn row(get: Get<'_>) -> Result<ConfigRow, CellError> {
    Ok(ConfigRow {
        knobs: knobs(get)?,
        transcripts: number(get, "transcripts")?,
        totals: totals(get)?,
        overflowed_transcripts: number(get, "overflowed_transcripts")?,
        derived: Derived {
            cost_vs_none: optional(get, "cost_vs_none")?,
            freed_per_invalidated: optional(get, "freed_tokens_per_invalidated_token")?,
            refetches_per_100_requests: optional(get, "refetches_per_100_requests")?,
            clear_events_per_100_requests: optional(get, "clear_events_per_100_requests")?,
            rewrite_factor: optional(get, "rewrite_factor")?,
            cache_read_share: optional(get, "cache_read_share")?,
        },
    })
}
