//! Replays a second of the reference engine, on generated transcripts with needs, cut to 100 requests.

use std::hint::black_box;
use std::time::Instant;

use cleartune::policy::{ClearToolUses, Settings, Trigger};
use cleartune::replay::plain;
use cleartune::trace::Trace;
use cleartune::workload::{Spec, shipped_text};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;

/// Transcripts of exactly 100 requests, needs included.
fn traces(workload: &str) -> Vec<Trace> {
    let spec = Spec::from_toml(shipped_text(workload).unwrap()).unwrap();
    (0..400)
        .map(|i| spec.generate(i))
        .filter(|doc| doc.requests.len() >= 100)
        .map(|mut doc| {
            doc.requests.truncate(100);
            Trace::from_document(&doc).unwrap()
        })
        .take(40)
        .collect()
}

fn configs() -> Vec<(&'static str, Settings)> {
    let edit = |trigger, keep, clear_at_least| {
        Some(ClearToolUses { trigger: Trigger::InputTokens(trigger), keep, clear_at_least, ..ClearToolUses::default() })
    };
    let of = |edit| Settings { edit, ..Settings::default() };
    vec![("none", of(None)), ("batched", of(edit(40_000, 6, 20_000))), ("sliding", of(edit(30_000, 4, 0)))]
}

fn replays(c: &mut Criterion) {
    for workload in ["research_agent", "coding_agent"] {
        let traces = traces(workload);
        assert!(traces.len() >= 10, "{workload} has too few long transcripts");
        let needs: usize = traces.iter().map(|t| t.needs.len()).sum();
        let mut group = c.benchmark_group(format!("replay/{workload}"));
        group.throughput(Throughput::Elements(traces.len() as u64));
        for (name, settings) in configs() {
            let mut engine = plain::Engine::default();
            group.bench_function(name, |b| {
                b.iter(|| {
                    for trace in &traces {
                        black_box(engine.run(trace, &settings, |_| {}));
                    }
                });
            });
        }
        group.finish();
        println!("{workload}: {} transcripts of 100 requests, {needs} needs", traces.len());
        all_cores(workload, &traces);
    }
}

/// The figure that people ask for, in one line: replays a second on all cores, and how many times those of one.
fn all_cores(workload: &str, traces: &[Trace]) {
    let configs = configs();
    let rounds = 200;
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let start = Instant::now();
        pool.install(|| {
            (0..rounds).into_par_iter().for_each_init(plain::Engine::default, |engine, _| {
                for (_, settings) in &configs {
                    for trace in traces {
                        black_box(engine.run(trace, settings, |_| {}));
                    }
                }
            });
        });
        f64::from(rounds) * (configs.len() * traces.len()) as f64 / start.elapsed().as_secs_f64()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (one, all) = (run(1), run(threads));
    println!("{workload}: {all:.0} replays/s on {threads} threads, {one:.0} on one (x {:.2})", all / one);
}

criterion_group!(benches, replays);
criterion_main!(benches);
