//! The policy of a replay, looked up once for a trace, so that a replay compares no strings.

use std::sync::Arc;

use crate::policy::space::{MOST_RULES, Policy, Rule, State};
use crate::policy::{KeepCounts, Memory, Settings};
use crate::trace::Trace;

/// A policy and what it says of each tool of one trace.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Plan {
    pub policy: Arc<Policy>,
    /// By tool: a bit a rule, whether it may touch the tool's results.
    pub clearable: Vec<u8>,
    /// By tool: whether its inputs are cleared with the results.
    pub input_cleared: Vec<bool>,
    /// By rule: which uses take up a place among the newest and the first.
    pub counts: Vec<KeepCounts>,
    pub placeholder_tokens: u32,
    pub cleared_input_tokens: u32,
    pub tiny_result_bytes: u32,
    /// Some rule removes pairs of use and result.
    pub removes: bool,
    /// Some rule takes whole blocks out of the prompt.
    pub drops: bool,
    /// Some rule that takes results is remembered.
    pub remembers: bool,
    /// Some rule that takes results is recomputed at every request.
    pub recomputes: bool,
}

impl Plan {
    /// Looks the tools of `trace` up in the policy of `settings`.
    pub fn new(trace: &Trace, settings: &Settings) -> Self {
        let assume = &settings.assume;
        let shared = settings.policy();
        let policy = shared.as_ref();
        debug_assert!(policy.rules.len() <= MOST_RULES);
        let clearable = |tool: &str| {
            let touched = policy.rules.iter().map(|rule| matches!(rule, Rule::Clear(clear) if !clear.spares_tool(tool)));
            touched.enumerate().fold(0_u8, |bits, (rule, touched)| bits | u8::from(touched) << rule)
        };
        let counts = |rule: &Rule| match rule {
            Rule::Clear(clear) => clear.protect.keep_counts.unwrap_or(assume.keep_counts),
            _ => KeepCounts::default(),
        };
        let removes = policy.rules.iter().any(|rule| match rule {
            Rule::Clear(clear) => clear.to == State::Removed,
            Rule::Schedule { to, .. } => *to == State::Removed,
            Rule::ClearThinking { .. } | Rule::Compact { .. } => false,
        });
        Self {
            clearable: trace.tools.iter().map(|tool| clearable(&tool.name)).collect(),
            input_cleared: trace.tools.iter().map(|tool| policy.clear_tool_inputs.covers(&tool.name)).collect(),
            counts: policy.rules.iter().map(counts).collect(),
            placeholder_tokens: policy.placeholder_tokens.unwrap_or(assume.placeholder_tokens),
            cleared_input_tokens: policy.cleared_input_tokens.unwrap_or(assume.cleared_input_tokens),
            tiny_result_bytes: policy.tiny_result_bytes.unwrap_or(assume.tiny_result_bytes),
            removes,
            drops: removes || policy.rules.iter().any(|rule| matches!(rule, Rule::ClearThinking { .. } | Rule::Compact { .. })),
            remembers: policy.clears().any(|clear| clear.memory == Memory::Sticky),
            recomputes: policy.clears().any(|clear| clear.memory == Memory::Stateless),
            policy: Arc::clone(&shared),
        }
    }
}
