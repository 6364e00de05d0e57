//! Flags of the grid.

use clap::Args;
use cleartune::policy::ClearToolInputs;
use cleartune::sweep::{Axes, Axis};
use serde_json::{Value, json};

/// The grid
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Grid (values: 30k; lists: 0,5k,20k; ranges: 30k..150k:10k; auto: from the data)")]
pub struct AxesArgs {
    /// Values of trigger, in input tokens (or tool uses, see --trigger-type)
    #[arg(long, value_name = "VALUES", default_value = "auto", value_parser = |s: &str| Axis::parse(s, false))]
    trigger: Axis,

    /// What the trigger counts
    #[arg(long, value_name = "TYPE", default_value = "input_tokens", value_parser = ["input_tokens", "tool_uses"])]
    trigger_type: String,

    /// Values of keep, in tool uses
    #[arg(long, value_name = "VALUES", default_value = "auto", value_parser = |s: &str| Axis::parse(s, false))]
    keep: Axis,

    /// Values of clear_at_least, in input tokens; none is 0
    #[arg(long, value_name = "VALUES", default_value = "auto", value_parser = |s: &str| Axis::parse(s, true))]
    clear_at_least: Axis,

    /// Sets of excluded tools: tools of a set joined by |, sets by commas, as in none,memory|todo; auto: none, and
    /// the tools whose results are needed again and cannot be fetched again
    #[arg(long, value_name = "SETS", default_value = "auto")]
    exclude_tools: String,

    /// Values of clear_tool_inputs to try: false, true, or tools joined by |
    #[arg(long, value_name = "VALUES", default_value = "false")]
    clear_tool_inputs: String,
}

impl AxesArgs {
    /// The axes that are asked for.
    pub fn axes(&self) -> Axes {
        Axes {
            trigger: self.trigger.clone(),
            trigger_counts_uses: self.trigger_type == "tool_uses",
            keep: self.keep.clone(),
            clear_at_least: self.clear_at_least.clone(),
            exclude_tools: (self.exclude_tools.trim() != "auto").then(|| each(&self.exclude_tools, excluded)),
            clear_tool_inputs: each(&self.clear_tool_inputs, inputs),
        }
    }

    /// What was asked, for the manifest.
    pub fn asked(&self) -> Value {
        let axis = |axis: &Axis| match axis {
            Axis::Auto => json!("auto"),
            Axis::Values(values) => json!(values),
        };
        json!({
            "trigger": axis(&self.trigger),
            "trigger_type": self.trigger_type,
            "keep": axis(&self.keep),
            "clear_at_least": axis(&self.clear_at_least),
            "exclude_tools": self.exclude_tools,
            "clear_tool_inputs": self.clear_tool_inputs,
        })
    }
}

/// The comma-separated parts of `text`, read by `read`, each once.
pub(super) fn each<T: PartialEq>(text: &str, read: impl Fn(&str) -> T) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    for part in text.split(',').map(|part| read(part.trim())) {
        if !out.contains(&part) {
            out.push(part);
        }
    }
    out
}

/// A set of excluded tools.
pub(super) fn excluded(set: &str) -> Vec<String> {
    if set == "none" { Vec::new() } else { tools(set) }
}

/// A value of `clear_tool_inputs`.
pub(super) fn inputs(value: &str) -> ClearToolInputs {
    match value {
        "false" | "none" | "" => ClearToolInputs::No,
        "true" => ClearToolInputs::Yes,
        set => ClearToolInputs::Tools(tools(set)),
    }
}

/// Tool names of a set, sorted, each once: two orders are one set.
fn tools(set: &str) -> Vec<String> {
    let mut tools: Vec<String> = set.split('|').map(str::trim).filter(|tool| !tool.is_empty()).map(str::to_owned).collect();
    tools.sort();
    tools.dedup();
    tools
}
