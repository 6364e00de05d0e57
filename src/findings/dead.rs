//! Keys of the config that change nothing on this workload.

use rayon::prelude::*;

use super::{Finding, Id, Severity, n};
use crate::policy::{ClearToolInputs, ClearToolUses};
use crate::replay::{Totals, plain};
use crate::sweep::Transcript;

/// Replays with each key that is set taken back to its default, one after the other.
pub(super) fn find(edit: &ClearToolUses, transcripts: &[Transcript], found: &mut Vec<Finding>) {
    let defaults = ClearToolUses::default();
    let mut tries: Vec<(String, ClearToolUses)> = Vec::new();
    if edit.clear_at_least != 0 {
        tries.push((format!("clear_at_least {}", n(edit.clear_at_least)), ClearToolUses { clear_at_least: 0, ..edit.clone() }));
    }
    if edit.keep != defaults.keep {
        tries.push((format!("keep {}", edit.keep), ClearToolUses { keep: defaults.keep, ..edit.clone() }));
    }
    if edit.trigger != defaults.trigger {
        tries.push((format!("trigger {}", n(edit.trigger.value())), ClearToolUses { trigger: defaults.trigger, ..edit.clone() }));
    }
    for tool in &edit.exclude_tools {
        let rest = edit.exclude_tools.iter().filter(|t| *t != tool).cloned().collect();
        tries.push((format!("{tool} in exclude_tools"), ClearToolUses { exclude_tools: rest, ..edit.clone() }));
    }
    if edit.clear_tool_inputs != ClearToolInputs::No {
        tries.push(("clear_tool_inputs".to_owned(), ClearToolUses { clear_tool_inputs: ClearToolInputs::No, ..edit.clone() }));
    }
    let whole = totals(edit, transcripts);
    for (what, other) in tries {
        if totals(&other, transcripts) == whole {
            found.push(Finding {
                id: Id::DeadKnob,
                severity: Severity::Note,
                evidence: format!("{what} changes nothing here: every transcript comes out the same without it"),
                numbers: vec![("transcripts", transcripts.len() as f64)],
                remedy: "leave it out, unless other workloads need it".to_owned(),
            });
        }
    }
}

fn totals(edit: &ClearToolUses, transcripts: &[Transcript]) -> Vec<Totals> {
    let replay = |engine: &mut plain::Engine, t: &Transcript| {
        let mut settings = t.settings.clone();
        settings.edit = Some(edit.clone());
        engine.run(&t.trace, &settings, |_| {})
    };
    transcripts.par_iter().map_init(plain::Engine::default, replay).collect()
}
