//! The tool names of a config, looked up once per trace, so that a replay compares no strings.

use crate::policy::ClearToolUses;
use crate::trace::Trace;

/// What a config says of each tool of one trace, by tool index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masks {
    /// `exclude_tools` names it: its results are never cleared.
    pub excluded: Vec<bool>,
    /// `clear_tool_inputs` covers it: its inputs are cleared with the results.
    pub input_cleared: Vec<bool>,
}

impl Masks {
    /// Looks the tools of `trace` up in `edit`.
    pub fn new(trace: &Trace, edit: Option<&ClearToolUses>) -> Self {
        let of = |says: &dyn Fn(&ClearToolUses, &str) -> bool| {
            trace.tools.iter().map(|tool| edit.is_some_and(|e| says(e, &tool.name))).collect()
        };
        Self {
            excluded: of(&|e, name| e.exclude_tools.iter().any(|t| t == name)),
            input_cleared: of(&|e, name| e.clear_tool_inputs.covers(name)),
        }
    }
}
