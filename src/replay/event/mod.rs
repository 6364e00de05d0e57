//! The event engine: exact totals of the API's edit in a time that grows with what happens, not with the requests.
//!
//! Between two events (the next batch that is complete, the next need of a cleared result, a pause that the cache does not survive, a
//! natural invalidation) every request reads what the one before it left and writes the rest, so that such a stretch is a difference of
//! prefix sums. [`Prepared`] holds what is the same under all edits of a sweep that exclude the same tools; [`plain`] is
//! the judge, and replays what this engine cannot ([`Unfit`]).

mod first;
mod frontier;
mod held;
mod known;
mod prefix;
mod prepared;
mod slide;
mod walk;

pub use first::FirstClear;
pub use known::Known;
pub use prepared::{Prepared, Unfit};

use super::{Totals, plain};
use crate::policy::{CacheMode, ClearToolUses, Settings};
use crate::trace::Trace;
use held::{Entries, Nothing, Positions};
use walk::{Knobs, Memory, Walk};

/// How requests are gone through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// As the edit suggests: one by one where clearing slides with every request, from event to event elsewhere.
    #[default]
    Auto,
    /// From event to event.
    Event,
    /// One by one.
    Linear,
}

/// Which engine replayed a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ran {
    /// This one.
    Event,
    /// The reference engine, and why.
    Plain(Unfit),
}

/// The outcome of one replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Its totals; equal to those of the reference engine.
    pub totals: Totals,
    /// With a `clear_at_least` from the edit's (more than 0) up to this the outcome is the same, everything else being equal.
    pub same_up_to: u64,
}

/// The memory of the engine, kept from one replay to the next.
#[derive(Debug, Default)]
pub struct Engine {
    memory: Memory,
    entries: Entries,
    positions: Positions,
}

impl Engine {
    /// Replays a transcript under `edit`, whose excluded tools and cleared inputs are those it was prepared for. `None`: nothing is cleared.
    pub fn run(&mut self, prepared: &Prepared, edit: Option<&ClearToolUses>) -> Replayed {
        self.run_by(prepared, edit, Way::Auto)
    }

    /// As [`Engine::run`], going through the requests in a certain way; the outcome is the same.
    pub fn run_by(&mut self, prepared: &Prepared, edit: Option<&ClearToolUses>, way: Way) -> Replayed {
        let knobs = knobs(prepared, edit);
        replayed(match prepared.mode {
            CacheMode::Entries => Walk::new(prepared, &mut self.memory, &mut self.entries, knobs, way).run(),
            CacheMode::Prefix => Walk::new(prepared, &mut self.memory, &mut self.positions, knobs, way).run(),
            CacheMode::Off => Walk::new(prepared, &mut self.memory, &mut Nothing, knobs, way).run(),
        })
    }

    /// As [`Engine::run`], but for what `known` holds of replays of the same transcript with the same `keep`; adds to it. `begins`: the
    /// request at which clearing begins, see [`FirstClear`].
    pub fn run_known(&mut self, prepared: &Prepared, edit: &ClearToolUses, begins: u32, known: &mut Known) -> Replayed {
        let (knobs, never, way) = (knobs(prepared, Some(edit)), knobs(prepared, None), Way::Auto);
        let Known { entries, positions, nothing, rests } = known;
        replayed(match prepared.mode {
            CacheMode::Entries => {
                if entries.is_empty() {
                    Walk::new(prepared, &mut self.memory, &mut self.entries, never, way).open(entries);
                }
                Walk::new(prepared, &mut self.memory, &mut self.entries, knobs, way).run_known(begins, entries, rests)
            }
            CacheMode::Prefix => {
                if positions.is_empty() {
                    Walk::new(prepared, &mut self.memory, &mut self.positions, never, way).open(positions);
                }
                Walk::new(prepared, &mut self.memory, &mut self.positions, knobs, way).run_known(begins, positions, rests)
            }
            CacheMode::Off => {
                if nothing.is_empty() {
                    Walk::new(prepared, &mut self.memory, &mut Nothing, never, way).open(nothing);
                }
                Walk::new(prepared, &mut self.memory, &mut Nothing, knobs, way).run_known(begins, nothing, rests)
            }
        })
    }
}

fn knobs(prepared: &Prepared, edit: Option<&ClearToolUses>) -> Knobs {
    debug_assert!(edit.is_none_or(|edit| prepared.holds_for(&edit.exclude_tools, &edit.clear_tool_inputs)));
    Knobs {
        trigger: edit.map(|edit| edit.trigger),
        keep: edit.map_or(0, |edit| edit.keep),
        clear_at_least: edit.map_or(0, |edit| edit.clear_at_least),
    }
}

fn replayed((totals, same_up_to): (Totals, i64)) -> Replayed {
    Replayed { totals, same_up_to: u64::try_from(same_up_to).unwrap_or(0) }
}

/// The totals of one replay by the fastest engine that can, and which that was.
pub fn totals(trace: &Trace, settings: &Settings) -> (Totals, Ran) {
    match Prepared::new(trace, settings) {
        Ok(prepared) => (Engine::default().run(&prepared, settings.edit.as_ref()).totals, Ran::Event),
        Err(unfit) => (plain::Engine::default().run(trace, settings, |_| {}), Ran::Plain(unfit)),
    }
}
