//! A large grid: 10,000 configs over 200 transcripts of 300 requests with needs, 2 million replays; with outcomes shared and without.

#[path = "shared/mod.rs"]
mod shared;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cleartune::policy::{ClearToolUses, Settings, Trigger};
use cleartune::sweep::{Knobs, Sharing, Transcript, run_shared};

fn configs() -> Vec<Knobs> {
    let keeps = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 25, 30, 35, 40, 50, 60, 80, 100];
    let mut configs = vec![Knobs::none()];
    for trigger in (1..=20).map(|n| Trigger::InputTokens(n * 10_000)) {
        for keep in keeps {
            let of = |n: u64| ClearToolUses { trigger, keep, clear_at_least: n * 5_000, ..ClearToolUses::default() };
            configs.extend((0..25).map(|n| Knobs::api(of(n))));
        }
    }
    configs
}

fn main() {
    // `cargo test --benches` runs this too, to see that it works: on a small part.
    let whole = std::env::args().any(|arg| arg == "--bench");
    let (transcripts, configs) = (if whole { 200 } else { 2 }, configs());
    let configs = if whole { configs } else { configs[..500].to_vec() };
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    for workload in ["coding_agent", "research_agent"] {
        let traces = shared::traces(workload, 300, transcripts);
        let needs: usize = traces.iter().map(|t| t.needs.len()).sum();
        let transcripts: Vec<Transcript> = traces.into_iter().map(|trace| Transcript { trace, settings: Settings::default() }).collect();
        println!("{workload}: {} configs, {} transcripts of 300 requests, {needs} needs", configs.len(), transcripts.len());
        let mut alone = [0.0; 2];
        for threads in [1, most] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for (i, sharing) in [Sharing::Preparation, Sharing::Outcomes].into_iter().enumerate() {
                let start = Instant::now();
                let stop = AtomicBool::new(false);
                let swept = pool.install(|| run_shared::<()>(&transcripts, &configs, sharing, None, &stop, &|_| {}, |_| Ok(())));
                let (outcome, work) = swept.unwrap();
                let seconds = start.elapsed().as_secs_f64();
                if threads == 1 {
                    alone[i] = seconds;
                }
                println!(
                    "  {threads} threads, {sharing:?} shared: {seconds:.2} s (x {:.2} of one), {:.2} M replays/s; {} asked, {} distinct; {:.1} M calls",
                    alone[i] / seconds,
                    work.asked as f64 / seconds / 1e6,
                    work.asked,
                    work.replayed,
                    outcome.rows.iter().map(|row| row.totals.requests).sum::<u64>() as f64 / 1e6,
                );
            }
        }
    }
}
