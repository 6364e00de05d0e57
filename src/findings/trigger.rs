//! When it fires: saturated, sliding, never, too late.

use super::survey::Survey;
use super::{Finding, Id, Severity, count, n, percent};
use crate::policy::{ClearToolUses, Memory, Selection, Trigger, TriggerCmp};
use crate::sweep::Transcript;

/// Clearing slides where more than this share of the requests since the first clear event clear again: "most" of them.
const MOST: f64 = 0.5;
/// Fewer requests than this after the first clear event show no habit.
const HABIT: u64 = 10;
/// Batches that free less than this many times what one request usually brings are no batches.
const FEW_EVENTS: u64 = 3;

pub(super) fn find(edit: &ClearToolUses, transcripts: &[Transcript], surveys: &[Survey], total: &Survey, found: &mut Vec<Finding>) {
    let sticky = transcripts.iter().any(|t| t.settings.assume.memory == Memory::Sticky);
    let in_transcripts = |of: &dyn Fn(&Survey) -> bool| surveys.iter().filter(|s| of(s)).count() as u64;
    let saturated = in_transcripts(&|s| s.saturated_at_end);
    if saturated > 0 {
        let least = surveys.iter().filter(|s| s.saturated_at_end).map(|s| s.floor_at_end).max().unwrap_or(0);
        found.push(Finding {
            id: Id::Saturated,
            severity: Severity::Error,
            evidence: format!(
                "with every candidate cleared the prompt still reaches {} tokens, at or above the trigger of {}; so it fires for ever: at {} in {} of {}",
                n(least),
                n(edit.trigger.value()),
                count(total.saturated_requests, "request"),
                n(saturated),
                count(total.transcripts, "transcript")
            ),
            numbers: vec![
                ("floor_tokens", least as f64),
                ("trigger", edit.trigger.value() as f64),
                ("requests", total.saturated_requests as f64),
                ("transcripts", saturated as f64),
            ],
            remedy: format!("set trigger above {}, or a smaller keep", n(least)),
        });
    }
    slides(edit, transcripts, total, sticky, found);
    if sticky && saturated == 0 && total.events >= FEW_EVENTS && total.events_near_trigger as f64 > MOST * total.events as f64 {
        found.push(Finding {
            id: Id::LowMarkEqualsTrigger,
            severity: Severity::Warning,
            evidence: format!(
                "after {} of {} the prompt lies within one request's usual growth of the trigger of {}, so the next one fires again",
                n(total.events_near_trigger),
                count(total.events, "clear event"),
                n(edit.trigger.value())
            ),
            numbers: vec![("events_near_trigger", total.events_near_trigger as f64), ("clear_events", total.events as f64)],
            remedy: "clear more at a time: a larger clear_at_least, or a smaller keep".to_owned(),
        });
    }
    never(edit, transcripts, total, found);
    unreachable(edit, transcripts, surveys, total, found);
    if let Some((request, size)) = total.overflow_before_clear {
        let window = transcripts.iter().filter_map(|t| t.settings.context_window).min().unwrap_or(0);
        found.push(Finding {
            id: Id::OverflowBeforeClear,
            severity: Severity::Error,
            evidence: format!(
                "{} of {} overflow the window of {} before anything is cleared, the first at request {request} with {} tokens",
                n(total.overflows_before_clear),
                count(total.transcripts, "transcript"),
                n(window),
                n(size)
            ),
            numbers: vec![
                ("transcripts", total.overflows_before_clear as f64),
                ("request", f64::from(request)),
                ("tokens", size as f64),
                ("context_window", window as f64),
            ],
            remedy: "set a smaller trigger, or a clear_at_least that is reached in time".to_owned(),
        });
    }
}

fn slides(edit: &ClearToolUses, transcripts: &[Transcript], total: &Survey, sticky: bool, found: &mut Vec<Finding>) {
    if sticky || total.since_first < HABIT || total.events as f64 <= MOST * total.since_first as f64 {
        return;
    }
    let per_event = |tokens: u64| n(tokens / total.events.max(1));
    let freed = total.freed.max(0).unsigned_abs();
    // Ten events' worth at a time makes one event of ten.
    let batch = (freed / total.events.max(1) * 10).next_multiple_of(1_000);
    let keeps = if transcripts.iter().all(|t| t.settings.assume.selection == Selection::StopWhenReached) {
        "clear on the client and remember what was cleared".to_owned()
    } else {
        format!("set clear_at_least to {} or more (now {})", n(batch.max(10_000)), n(edit.clear_at_least))
    };
    found.push(Finding {
        id: Id::SlidesEveryRequest,
        severity: Severity::Error,
        evidence: format!(
            "{} on {} since the first ({}), each freeing {} tokens and writing {} again; together ${:.2}",
            count(total.events, "clear event"),
            count(total.since_first, "request"),
            percent(total.events as f64, total.since_first as f64),
            per_event(freed),
            per_event(total.invalidated),
            total.invalidated_usd
        ),
        numbers: vec![
            ("clear_events", total.events as f64),
            ("requests", total.since_first as f64),
            ("freed_per_event", freed as f64 / total.events as f64),
            ("rewritten_per_event", total.invalidated as f64 / total.events as f64),
            ("rewritten_usd", total.invalidated_usd),
        ],
        remedy: keeps,
    });
}

fn never(edit: &ClearToolUses, transcripts: &[Transcript], total: &Survey, found: &mut Vec<Finding>) {
    if total.events > 0 || total.requests == 0 {
        return;
    }
    let trigger = edit.trigger.value();
    let unit = if matches!(edit.trigger, Trigger::ToolUses(_)) { "clearable tool uses" } else { "tokens" };
    if total.fired_requests == 0 {
        let beyond = transcripts.iter().any(|t| t.settings.assume.trigger_cmp == TriggerCmp::Gt);
        let fires = total.largest.saturating_sub(u64::from(beyond));
        let window = if total.would_overflow { " before the window overflows" } else { "" };
        found.push(Finding {
            id: Id::NeverFires,
            severity: Severity::Warning,
            evidence: format!(
                "the trigger of {} {unit} is never passed: the most seen{window} is {} in {}",
                n(trigger),
                n(total.largest),
                count(total.transcripts, "transcript")
            ),
            numbers: vec![("trigger", trigger as f64), ("largest", total.largest as f64), ("largest_that_fires", fires as f64)],
            remedy: format!("set trigger to {} or less for it to fire at all, or leave the edit out", n(fires)),
        });
    } else if total.most_to_clear == 0 {
        found.push(Finding {
            id: Id::NeverFires,
            severity: Severity::Warning,
            evidence: format!(
                "the trigger is passed at {}, but nothing may be cleared: keep {} and the exclusions cover every result",
                count(total.fired_requests, "request"),
                edit.keep
            ),
            numbers: vec![("fired_requests", total.fired_requests as f64), ("keep", f64::from(edit.keep))],
            remedy: "set a smaller keep, exclude fewer tools, or leave the edit out".to_owned(),
        });
    }
}

fn unreachable(edit: &ClearToolUses, transcripts: &[Transcript], surveys: &[Survey], total: &Survey, found: &mut Vec<Finding>) {
    let goal = edit.clear_at_least;
    // What stops early takes what there is.
    let takes_less = transcripts.iter().all(|t| t.settings.assume.selection == Selection::StopWhenReached);
    if goal == 0 || takes_less || total.most_to_clear == 0 || total.most_to_clear >= goal {
        return;
    }
    // Where the window overflows, the last chance is the request that would.
    let in_time = surveys.iter().filter(|s| s.would_overflow && s.most_to_clear > 0).map(|s| s.most_to_clear).min();
    let largest = in_time.unwrap_or(total.most_to_clear);
    let window = if in_time.is_some() { " before the window overflows" } else { "" };
    found.push(Finding {
        id: Id::UnreachableClearAtLeast,
        severity: Severity::Error,
        evidence: format!(
            "clear_at_least asks for {} tokens and the most that can be cleared at once{window} is {}, so nothing ever is, though the trigger is passed at {}",
            n(goal),
            n(total.most_to_clear),
            count(total.fired_requests, "request")
        ),
        numbers: vec![
            ("clear_at_least", goal as f64),
            ("most_to_clear", total.most_to_clear as f64),
            ("largest_that_works", largest as f64),
            ("fired_requests", total.fired_requests as f64),
        ],
        remedy: format!("set clear_at_least to {} or less", n(largest)),
    });
}
