//! A fixed sweep, whose instructions are counted: see `benches/instructions.sh`. `batched`, `sliding`: only configs of that kind.

#[path = "../benches/shared/mod.rs"]
mod shared;

use std::sync::atomic::AtomicBool;

use cleartune::policy::{ClearToolUses, Settings, Trigger};
use cleartune::sweep::{Knobs, Outcome, Sharing, Transcript, Work, run_shared};

fn configs(only: Option<&str>) -> Vec<Knobs> {
    let mut configs = vec![Knobs::none()];
    for trigger in [20_000, 60_000, 100_000].map(Trigger::InputTokens) {
        for keep in [2, 6, 20] {
            for clear_at_least in [0, 10_000, 20_000, 40_000] {
                if only.is_none_or(|only| (only == "sliding") == (clear_at_least == 0)) {
                    configs.push(Knobs::api(ClearToolUses { trigger, keep, clear_at_least, ..ClearToolUses::default() }));
                }
            }
        }
    }
    configs
}

/// What is counted.
#[inline(never)]
fn measured(transcripts: &[Transcript], configs: &[Knobs], sharing: Sharing) -> (Outcome, Work) {
    run_shared::<()>(transcripts, configs, sharing, None, &AtomicBool::new(false), &|_| {}, |_| Ok(())).expect("nothing is written")
}

fn main() {
    let only = std::env::args().nth(1);
    let configs = configs(only.as_deref());
    let sharing = if only.is_some() { Sharing::Preparation } else { Sharing::Outcomes };
    let traces = ["coding_agent", "research_agent"].iter().flat_map(|workload| shared::traces(workload, 300, 4));
    let transcripts: Vec<Transcript> = traces.map(|trace| Transcript { trace, settings: Settings::default() }).collect();
    // One thread, so that the count is the same on any machine.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let (outcome, work) = pool.install(|| measured(&transcripts, &configs, sharing));
    let requests: u64 = outcome.rows.iter().map(|row| row.totals.requests).sum();
    println!("{} replays asked, {} distinct, {requests} requests", work.asked, work.replayed);
}
