//! Traps that a policy runs into on a workload.

use rayon::prelude::*;

use super::{Knobs, Transcript};
use crate::replay::plain;

/// What is wrong with the way in which a policy clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trap {
    /// The rule takes the same results for ever, however many more it could: the prompt grows without bound.
    Stuck,
    /// Remembered clearing that leaves a prompt at which the rule fires again, so that it fires for ever.
    Saturated,
    /// Clear events on most requests, each of which frees little.
    Thrash,
    /// Clear events on most requests.
    Sliding,
}

impl Trap {
    /// All of them, the one that is named where several hold first.
    pub const ALL: [Self; 4] = [Self::Stuck, Self::Saturated, Self::Thrash, Self::Sliding];

    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Saturated => "saturated",
            Self::Thrash => "thrash",
            Self::Sliding => "sliding",
        }
    }

    /// What it means, one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Stuck => "it takes the same results for ever, and the prompt grows on",
            Self::Saturated => "what is left still fires it, so it fires for ever",
            Self::Thrash => "it clears at most requests, each time a little",
            Self::Sliding => "it clears at most requests, and breaks the cache each time",
        }
    }
}

/// Rows after the first clear that a transcript needs to show anything.
const LEAST_ROWS: u64 = 8;
/// An event frees little below this share of the prompt that it leaves.
const LITTLE: f64 = 0.05;

/// The first of the traps that shows in at least half of the transcripts in which the config clears and goes on long enough to tell.
pub fn trap(knobs: &Knobs, transcripts: &[Transcript]) -> Option<Trap> {
    if knobs.hindsight().is_some() {
        return None;
    }
    let seen: Vec<Option<[bool; 4]>> =
        transcripts.par_iter().map_init(plain::Engine::default, |engine, t| of_one(engine, knobs, t)).collect();
    let told = seen.iter().flatten().count();
    let most = |at: usize| told > 0 && 2 * seen.iter().flatten().filter(|holds| holds[at]).count() >= told;
    Trap::ALL.into_iter().enumerate().find(|(at, _)| most(*at)).map(|(_, trap)| trap)
}

/// Which traps show in one transcript; `None`: it does not say.
fn of_one(engine: &mut plain::Engine, knobs: &Knobs, transcript: &Transcript) -> Option<[bool; 4]> {
    let mut settings = transcript.settings.clone();
    knobs.apply(&mut settings);
    // From the first clear event on: rows, those with an event, and the row of the last event.
    let (mut rows, mut events, mut last_event) = (0_u64, 0_u64, 0_u64);
    let (mut freed, mut prompts, mut fires_again) = (0_i64, 0_u64, 0_u64);
    let mut left_alone = false;
    engine.watch(&transcript.trace, &settings, |row, engine| {
        let event = row.is_clear_event();
        if rows == 0 && !event {
            return;
        }
        rows += 1;
        if event {
            events += 1;
            last_event = rows;
            freed += row.freed_tokens;
            prompts += row.prompt_tokens;
        }
        fires_again += u64::from(engine.fires_again(&settings));
        let gone = row.original_tokens.saturating_sub(row.prompt_tokens);
        let candidates = engine.candidates(&settings);
        // As much again could go.
        left_alone = candidates.fired && gone > 0 && candidates.tokens >= 2 * gone;
    });
    if rows < LEAST_ROWS {
        return None;
    }
    let most = |n: u64| 2 * n > rows;
    let little = (freed as f64) < LITTLE * prompts as f64;
    Some([left_alone && 2 * last_event < rows, most(fires_again), most(events) && little, most(events)])
}
