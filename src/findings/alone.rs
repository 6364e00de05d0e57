//! What can be said of a config without a workload.

use super::{Finding, Id, Severity, n};
use crate::policy::{Assume, ClearToolInputs, ClearToolUses, Memory, Trigger};

/// What is wrong or pointless with the edit whatever it is used on. `window`: the context window, where one is known; `min_tokens`: the
/// smallest cacheable prefix.
pub fn find_alone(edit: &ClearToolUses, assume: &Assume, window: Option<u64>, min_tokens: Option<u64>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |id, severity, evidence: String, numbers: Vec<(&'static str, f64)>, remedy: &str| {
        found.push(Finding { id, severity, evidence, numbers, remedy: remedy.to_owned() });
    };
    if let (Trigger::InputTokens(trigger), Some(window)) = (edit.trigger, window)
        && trigger >= window
    {
        add(
            Id::OverflowBeforeClear,
            Severity::Error,
            format!("the trigger of {} is not below the context window of {}, so the window overflows first", n(trigger), n(window)),
            vec![("trigger", trigger as f64), ("context_window", window as f64)],
            "set a trigger well below the window",
        );
    }
    let goal = edit.clear_at_least;
    if let Some(window) = window.filter(|w| goal >= *w) {
        add(
            Id::UnreachableClearAtLeast,
            Severity::Error,
            format!("clear_at_least asks for {} tokens, which the context window of {} never holds", n(goal), n(window)),
            vec![("clear_at_least", goal as f64), ("context_window", window as f64)],
            "set a smaller clear_at_least",
        );
    }
    if goal == 0 && assume.memory == Memory::Stateless {
        add(
            Id::SlidesEveryRequest,
            Severity::Warning,
            "without clear_at_least each new tool use moves the boundary by one result, and each move breaks the cache".to_owned(),
            vec![("clear_at_least", 0.0)],
            "set clear_at_least, and try it on your logs",
        );
    }
    if let (Trigger::InputTokens(trigger), Some(least)) = (edit.trigger, min_tokens)
        && trigger < least
    {
        add(
            Id::BelowMinimumCacheable,
            Severity::Warning,
            format!(
                "the trigger of {} lies below the smallest cacheable prefix of {} tokens: such prompts are not cached",
                n(trigger),
                n(least)
            ),
            vec![("trigger", trigger as f64), ("min_tokens", least as f64)],
            "set a larger trigger",
        );
    }
    if edit.keep == 0 {
        add(
            Id::KeepSplitsBatch,
            Severity::Warning,
            "keep 0 clears results before the model saw them once".to_owned(),
            vec![("keep", 0.0)],
            "keep at least as many as your agent calls in parallel",
        );
    }
    if let ClearToolInputs::Tools(tools) = &edit.clear_tool_inputs {
        for tool in tools.iter().filter(|tool| edit.exclude_tools.contains(tool)) {
            add(
                Id::DeadKnob,
                Severity::Note,
                format!("{tool} stands in clear_tool_inputs and in exclude_tools; what is excluded is never cleared"),
                Vec::new(),
                "leave it out of one of the two",
            );
        }
    }
    let mut names = edit.exclude_tools.clone();
    names.sort();
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        add(Id::DeadKnob, Severity::Note, format!("{} stands in exclude_tools twice", pair[0]), Vec::new(), "leave one out");
    }
    found.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.id));
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(edit: &ClearToolUses, window: Option<u64>, min_tokens: Option<u64>) -> Vec<Id> {
        find_alone(edit, &Assume::default(), window, min_tokens).iter().map(|f| f.id).collect()
    }

    #[test]
    fn each_on_both_sides_of_its_boundary() {
        let sound = ClearToolUses { trigger: Trigger::InputTokens(30_000), clear_at_least: 5_000, ..ClearToolUses::default() };
        assert!(ids(&sound, Some(200_000), Some(1_024)).is_empty());
        assert_eq!(ids(&sound, Some(30_000), None), [Id::OverflowBeforeClear]);
        assert!(ids(&sound, Some(30_001), None).is_empty());
        assert_eq!(ids(&sound, None, Some(30_001)), [Id::BelowMinimumCacheable]);
        assert!(ids(&sound, None, Some(30_000)).is_empty());
        let greedy = ClearToolUses { clear_at_least: 200_000, ..sound.clone() };
        assert_eq!(ids(&greedy, Some(200_000), None), [Id::UnreachableClearAtLeast]);
        assert!(ids(&greedy, Some(200_001), None).is_empty());
        assert_eq!(ids(&ClearToolUses { clear_at_least: 0, ..sound.clone() }, None, None), [Id::SlidesEveryRequest]);
        assert!(ids(&ClearToolUses { clear_at_least: 1, ..sound.clone() }, None, None).is_empty());
        assert_eq!(ids(&ClearToolUses { keep: 0, ..sound.clone() }, None, None), [Id::KeepSplitsBatch]);
        assert!(ids(&ClearToolUses { keep: 1, ..sound.clone() }, None, None).is_empty());
        let sticky = Assume { memory: Memory::Sticky, ..Assume::default() };
        assert!(find_alone(&ClearToolUses { clear_at_least: 0, ..sound.clone() }, &sticky, None, None).is_empty());
        let tools = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let twice = ClearToolUses { exclude_tools: tools(&["a", "b", "a"]), ..sound.clone() };
        assert_eq!(ids(&twice, None, None), [Id::DeadKnob]);
        let both = ClearToolUses { exclude_tools: tools(&["a"]), clear_tool_inputs: ClearToolInputs::Tools(tools(&["a", "c"])), ..sound };
        assert_eq!(ids(&both, None, None), [Id::DeadKnob]);
    }
}
