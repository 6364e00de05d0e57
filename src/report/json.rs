//! `sweep.json` and `replay --format json`.

use serde::Serialize;
use serde_json::{Value, json};

use super::advice_file::answer;
use super::findings::{RowFindings, findings_json};
use crate::decide::Advice;
use crate::replay::{Report, Totals};
use crate::sweep::{ConfigRow, Hindsight, Outcome};

/// The schema of `sweep.json`.
pub const SWEEP_SCHEMA: &str = "cleartune.sweep/1";

#[derive(Serialize)]
struct Head<'a, A> {
    schema: &'static str,
    version: &'a str,
    answer: Option<A>,
    findings: Vec<Value>,
}

#[derive(Serialize)]
struct Row<'a> {
    policy: &'a str,
    trigger: Option<u64>,
    trigger_type: Option<&'static str>,
    keep: Option<u32>,
    clear_at_least: Option<u64>,
    exclude_tools: Option<&'a [String]>,
    clear_tool_inputs: Option<Value>,
    params: Option<&'a str>,
    transcripts: u64,
    #[serde(flatten)]
    totals: TotalsFile<'a>,
    overflowed_transcripts: u64,
    cost_vs_none: Option<f64>,
    freed_tokens_per_invalidated_token: Option<f64>,
    refetches_per_100_requests: Option<f64>,
    clear_events_per_100_requests: Option<f64>,
    rewrite_factor: Option<f64>,
    cache_read_share: Option<f64>,
}

/// Totals over transcripts: `first_overflow` has no meaning there.
struct TotalsFile<'a> {
    totals: &'a Totals,
    /// A number and no replay.
    only_cost: bool,
}

impl Serialize for TotalsFile<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let Ok(Value::Object(all)) = serde_json::to_value(self.totals) else {
            return Err(serde::ser::Error::custom("totals are an object"));
        };
        let mut map = serializer.serialize_map(None)?;
        for name in super::csv::TOTALS {
            map.serialize_entry(name, if self.only_cost && name != "cost_usd" { &Value::Null } else { &all[name] })?;
        }
        map.end()
    }
}

/// `sweep.json`: the answer, and one row a config under the names of `sweep.csv`, each on a line of its own.
pub fn sweep(version: &str, outcome: &Outcome, advice: Option<&Advice>, findings: &[RowFindings]) -> Vec<u8> {
    let findings = findings.iter().map(|of| json!({"config": of.role, "row": of.row, "findings": findings_json(&of.found)})).collect();
    let head = Head { schema: SWEEP_SCHEMA, version, answer: advice.map(|advice| answer(outcome, advice)), findings };
    let mut out = serde_json::to_vec_pretty(&head).expect("keys are strings");
    // Pretty rows would be most of the file white space.
    out.truncate(out.len() - "\n}".len());
    out.extend_from_slice(b",\n  \"rows\": [");
    for (i, config) in outcome.rows.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"\n    " } else { b",\n    " });
        serde_json::to_writer(&mut out, &row(config)).expect("keys are strings");
    }
    out.extend_from_slice(b"\n  ]\n}\n");
    out
}

fn row(row: &ConfigRow) -> Row<'_> {
    use crate::policy::{ClearToolInputs, Trigger};
    let edit = row.knobs.edit.as_ref();
    Row {
        policy: &row.knobs.policy,
        trigger: row.knobs.trigger().map(Trigger::value),
        trigger_type: row.knobs.trigger().map(Trigger::type_name),
        keep: row.knobs.keep(),
        clear_at_least: row.knobs.clear_at_least(),
        exclude_tools: row.knobs.excluded().filter(|_| row.knobs.hindsight().is_none()),
        clear_tool_inputs: edit.map(|e| match &e.clear_tool_inputs {
            ClearToolInputs::No => Value::Bool(false),
            ClearToolInputs::Yes => Value::Bool(true),
            ClearToolInputs::Tools(tools) => Value::from(tools.clone()),
        }),
        params: Some(row.knobs.params()).filter(|params| !params.is_empty()),
        transcripts: row.transcripts,
        totals: TotalsFile { totals: &row.totals, only_cost: matches!(row.knobs.hindsight(), Some(Hindsight::Bound(_))) },
        overflowed_transcripts: row.overflowed_transcripts,
        cost_vs_none: row.derived.cost_vs_none,
        freed_tokens_per_invalidated_token: row.derived.freed_per_invalidated,
        refetches_per_100_requests: row.derived.refetches_per_100_requests,
        clear_events_per_100_requests: row.derived.clear_events_per_100_requests,
        rewrite_factor: row.derived.rewrite_factor,
        cache_read_share: row.derived.cache_read_share,
    }
}

/// `replay --format json`: one report a line.
pub fn replay(reports: &[Report]) -> Vec<u8> {
    let mut out = Vec::new();
    for report in reports {
        serde_json::to_writer(&mut out, report).expect("keys are strings");
        out.push(b'\n');
    }
    out
}
