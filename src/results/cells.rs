//! One row, whether of CSV or of JSON: cells by name.

use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};
use crate::replay::Totals;
use crate::sweep::{ConfigRow, Derived, Knobs, Point, read_back};

/// A row's cells: the text of the column of that name, empty for not applicable; `None` where there is no such column.
pub type Get<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The largest number that a cell may hold: a thousand million million tokens or dollars.
const MOST: u64 = 1_000_000_000_000_000;

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

/// A count or a sum of tokens. The bound keeps sums over transcripts far from the end of the type.
fn whole(get: Get<'_>, field: &str) -> Result<u64, CellError> {
    number::<u64>(get, field)
        .and_then(|n| if n <= MOST { Ok(n) } else { Err(error(field, format!("is {n}, more than any log holds; was the file edited?"))) })
}

/// An amount that is finite and not negative.
fn amount(field: &str, n: f64) -> Result<f64, CellError> {
    if (0.0..=MOST as f64).contains(&n) { Ok(n) } else { Err(error(field, "is no finite amount from 0; was the file edited?")) }
}

/// A derived cell, which may be empty.
fn derived(get: Get<'_>, field: &str) -> Result<Option<f64>, CellError> {
    let n: Option<f64> = optional(get, field)?;
    if n.is_none_or(f64::is_finite) { Ok(n) } else { Err(error(field, "is no finite number; was the file edited?")) }
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
    let trigger = optional::<u64>(get, "trigger")?;
    if policy != "clear_tool_uses_20250919" && policy != "none" {
        let point = Point {
            policy: None,
            trigger,
            keep: optional(get, "keep")?,
            clear_at_least: optional(get, "clear_at_least")?,
            exclude_tools: names(&get("exclude_tools").unwrap_or_default()),
            params: get("params").unwrap_or_default(),
            hindsight: None,
        };
        return Ok(read_back(&policy, point));
    }
    let Some(trigger) = trigger else {
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

/// A number and no replay: only its cost stands there.
fn is_bound(get: Get<'_>) -> bool {
    get("policy").is_some_and(|policy| policy == "bound")
}

/// The totals of a row.
pub fn totals(get: Get<'_>) -> Result<Totals, CellError> {
    if is_bound(get) {
        let cost_usd = number(get, "cost_usd").and_then(|n| amount("cost_usd", n))?;
        return Ok(Totals { cost_usd, ..Totals::default() });
    }
    let n = |field: &str| whole(get, field);
    let optional_amount = |field: &str| optional(get, field)?.map_or(Ok(0.0), |n| amount(field, n));
    let (requests, refetch_requests) = (n("requests")?, n("refetch_requests")?);
    if refetch_requests > requests {
        return Err(error("refetch_requests", "are more than requests, which counts them too; was the file edited?"));
    }
    let freed_tokens: i64 = number(get, "freed_tokens")?;
    if freed_tokens.unsigned_abs() > MOST {
        return Err(error("freed_tokens", format!("is {freed_tokens}, more than any log holds; was the file edited?")));
    }
    Ok(Totals {
        given_back: 0,
        previews: 0,
        requests,
        refetch_requests,
        refetches: n("refetches")?,
        costly_refetches: n("costly_refetches")?,
        lost_needs: n("lost_needs")?,
        unmet_needs: n("unmet_needs")?,
        clear_events: n("clear_events")?,
        cleared_uses: n("cleared_uses")?,
        freed_tokens,
        cache_invalidations: n("cache_invalidations")?,
        invalidated_tokens: n("invalidated_tokens")?,
        prompt_tokens: n("prompt_tokens")?,
        cache_read_tokens: n("cache_read_tokens")?,
        cache_write_tokens: n("cache_write_tokens")?,
        uncached_tokens: n("uncached_tokens")?,
        output_tokens: n("output_tokens")?,
        peak_prompt_tokens: n("peak_prompt_tokens")?,
        cost_usd: number(get, "cost_usd").and_then(|n| amount("cost_usd", n))?,
        first_overflow: optional(get, "first_overflow")?,
        refetch_usd: optional_amount("refetch_usd")?,
        refetch_seconds: optional_amount("refetch_seconds")?,
        compactions: 0,
    })
}

/// A row of `sweep.csv` or `sweep.json`.
pub fn row(get: Get<'_>) -> Result<ConfigRow, CellError> {
    Ok(ConfigRow {
        knobs: knobs(get)?,
        transcripts: whole(get, "transcripts")?,
        totals: totals(get)?,
        overflowed_transcripts: if is_bound(get) { 0 } else { whole(get, "overflowed_transcripts")? },
        derived: Derived {
            cost_vs_none: derived(get, "cost_vs_none")?,
            freed_per_invalidated: derived(get, "freed_tokens_per_invalidated_token")?,
            refetches_per_100_requests: derived(get, "refetches_per_100_requests")?,
            clear_events_per_100_requests: derived(get, "clear_events_per_100_requests")?,
            rewrite_factor: derived(get, "rewrite_factor")?,
            cache_read_share: derived(get, "cache_read_share")?,
        },
    })
}
