//! What configs have in common: the order in which they share the preparation of a transcript, and outcomes that are known to be equal.

use std::collections::HashMap;

use super::Knobs;
use crate::policy::{ClearToolInputs, ClearToolUses, Trigger};
use crate::replay::event::{self, Engine, FirstClear, Prepared};
use crate::replay::{Totals, plain};

/// How much of the work of a sweep configs share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Outcomes that are known to be equal are found once.
    #[default]
    Outcomes,
    /// Every config is replayed; only what is known of a transcript before is shared. For measurements.
    Preparation,
}

/// How much work a sweep was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Replays asked for: configs times transcripts.
    pub asked: u64,
    /// Replays made: outcomes that could not be known before.
    pub replayed: u64,
    /// Those by the reference engine, for what the event engine cannot replay.
    pub by_reference: u64,
}

impl Work {
    /// Adds the work on another part.
    pub fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.replayed += other.replayed;
        self.by_reference += other.by_reference;
    }
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} replays asked, {} distinct", self.asked, self.replayed)?;
        if self.by_reference > 0 {
            write!(f, ", {} by the reference engine", self.by_reference)?;
        }
        Ok(())
    }
}

/// Configs that one task replays over one transcript.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// Indices of the configs, in the order in which they are replayed.
    pub configs: Vec<usize>,
    /// All of them are the API's edit, with the same excluded tools and cleared inputs, or none at all.
    pub alike: bool,
}

/// Configs of the API's edit that share a preparation: enough that it costs nothing.
const ALIKE_PER_TASK: usize = 1024;
/// Replays of the reference engine: long enough that handing them out costs nothing, short enough for an even load.
const OTHERS_PER_TASK: usize = 64;

/// Puts configs into tasks: those that may have equal outcomes one after the other, `clear_at_least` rising.
pub(super) fn tasks(configs: &[Knobs]) -> Vec<Task> {
    let mut numbers: HashMap<(&[String], &ClearToolInputs), usize> = HashMap::new();
    let mut alike: Vec<Vec<usize>> = vec![Vec::new()];
    let mut others = Vec::new();
    for (i, knobs) in configs.iter().enumerate() {
        match (&knobs.edit, &knobs.point) {
            (_, Some(_)) => others.push(i),
            (None, None) => alike[0].push(i),
            (Some(edit), None) => {
                let next = numbers.len();
                let number = *numbers.entry((&edit.exclude_tools, &edit.clear_tool_inputs)).or_insert(next);
                if number == alike.len() {
                    alike.push(Vec::new());
                }
                alike[number].push(i);
            }
        }
    }
    let order = |edit: &ClearToolUses| (edit.keep, matches!(edit.trigger, Trigger::ToolUses(_)), edit.trigger.value(), edit.clear_at_least);
    for group in &mut alike {
        group.sort_by_key(|&i| (configs[i].edit.as_ref().map(order), i));
    }
    let chunks =
        |group: &[usize], size, alike| -> Vec<Task> { group.chunks(size).map(|chunk| Task { configs: chunk.to_vec(), alike }).collect() };
    let mut tasks: Vec<Task> = alike.iter().flat_map(|group| chunks(group, ALIKE_PER_TASK, true)).collect();
    tasks.extend(chunks(&others, OTHERS_PER_TASK, false));
    tasks
}

/// What one thread needs.
#[derive(Default)]
pub(super) struct Engines {
    pub event: Engine,
    pub plain: plain::Engine,
    known: Known,
}

/// Outcomes of one transcript that are known already.
#[derive(Default)]
struct Known {
    /// That of never clearing anything.
    never: Option<usize>,
    /// By the request at which clearing begins: `clear_at_least` from and to, and where the outcome stands.
    from: Vec<Vec<(u64, u64, usize)>>,
    /// What the outcomes in `from` have in common.
    of: Option<(u32, Option<Trigger>)>,
    /// What replays have in common.
    parts: event::Known,
}

impl Known {
    fn reset(&mut self, prepared: &Prepared) {
        let requests = prepared.requests();
        self.parts.reset(prepared);
        self.never = None;
        self.of = None;
        self.from.iter_mut().for_each(Vec::clear);
        if self.from.len() < requests {
            self.from.resize(requests, Vec::new());
        }
    }
}

/// Replays the configs of a task that are alike, handing out each one's totals in their order until `stopped`. Returns how many replays it
/// took.
pub(super) fn replay_alike(
    engines: &mut Engines,
    prepared: &Prepared,
    edits: &[Option<&ClearToolUses>],
    sharing: Sharing,
    stopped: &dyn Fn() -> bool,
) -> (Vec<Totals>, u64) {
    let mut totals: Vec<Totals> = Vec::with_capacity(edits.len());
    if sharing == Sharing::Preparation {
        for edit in edits.iter().take_while(|_| !stopped()) {
            totals.push(engines.event.run(prepared, *edit).totals);
        }
        let replayed = totals.len() as u64;
        return (totals, replayed);
    }
    let known = &mut engines.known;
    known.reset(prepared);
    let mut first_clear = FirstClear::new(prepared);
    let mut replayed = 0;
    for &edit in edits {
        if stopped() {
            break;
        }
        let begins = edit.and_then(|edit| first_clear.of(edit).map(|begins| (edit, begins as usize)));
        let outcome = match begins {
            None => known.never,
            Some((edit, begins)) => {
                // Where clearing is remembered, the trigger matters later, too.
                let of = Some((edit.keep, prepared.remembers().then_some(edit.trigger)));
                if known.of != of {
                    known.of = of;
                    known.parts.other_keep();
                    known.from.iter_mut().for_each(Vec::clear);
                }
                let goal = edit.clear_at_least;
                known.from[begins].iter().find(|(from, to, _)| (*from..=*to).contains(&goal)).map(|&(.., outcome)| outcome)
            }
        };
        if let Some(outcome) = outcome {
            totals.push(totals[outcome].clone());
            continue;
        }
        let done = match begins {
            None => engines.event.run(prepared, edit),
            Some((edit, begins)) => engines.event.run_known(prepared, edit, begins as u32, &mut known.parts),
        };
        replayed += 1;
        match begins {
            None => known.never = Some(totals.len()),
            Some((edit, begins)) => {
                let goal = edit.clear_at_least;
                let to = if goal == 0 { 0 } else { done.same_up_to.max(goal) };
                known.from[begins].push((goal, to, totals.len()));
            }
        }
        totals.push(done.totals);
    }
    (totals, replayed)
}
