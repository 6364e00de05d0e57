//! The event engine, from event to event and request by request, against the reference engine.

#[path = "shared/mod.rs"]
mod shared;

use std::hint::black_box;
use std::time::Instant;

use cleartune::policy::{ClearToolUses, Settings, Trigger};
use cleartune::replay::event::{Engine, Prepared, Way};
use cleartune::replay::plain;
use cleartune::trace::Trace;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn edit(trigger: u64, keep: u32, clear_at_least: u64) -> ClearToolUses {
    ClearToolUses { trigger: Trigger::InputTokens(trigger), keep, clear_at_least, ..ClearToolUses::default() }
}

/// Configs whose clears come in batches, and such as clear with every request.
fn edits() -> [(&'static str, ClearToolUses); 3] {
    [("batched", edit(60_000, 30, 40_000)), ("small_batches", edit(40_000, 20, 20_000)), ("sliding", edit(30_000, 6, 0))]
}

/// Seconds of one call of `f`, the best of three rounds of a fifth of a second each.
fn seconds(mut f: impl FnMut()) -> f64 {
    let mut round = || {
        let (start, mut times) = (Instant::now(), 0);
        while start.elapsed().as_secs_f64() < 0.2 {
            f();
            times += 1;
        }
        start.elapsed().as_secs_f64() / f64::from(times)
    };
    (0..3).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Seconds of a replay, on average over `prepared`.
fn replay(engine: &mut Engine, prepared: &[Prepared], edit: &ClearToolUses, way: Way) -> f64 {
    let all = || {
        for p in prepared {
            black_box(engine.run_by(p, Some(edit), way));
        }
    };
    seconds(all) / prepared.len() as f64
}

fn prepare<'a>(traces: &'a [Trace], edit: &ClearToolUses) -> Vec<Prepared<'a>> {
    let settings = Settings { edit: Some(edit.clone()), ..Settings::default() };
    traces.iter().map(|trace| Prepared::new(trace, &settings).expect("the event engine replays what is generated")).collect()
}

/// The figures that people ask for, in lines: all are of one run and one thread.
fn figures() {
    let (mut engine, mut judge) = (Engine::default(), plain::Engine::default());
    println!(
        "workload requests config: replays/s, M calls/s; times the speed of linear, of plain; needs fetched again and clears a replay"
    );
    for workload in ["research_agent", "coding_agent"] {
        for (requests, count) in [(100, 40), (300, 40), (1_000, 12), (10_000, 3)] {
            let traces = shared::traces(workload, requests, count);
            for (name, edit) in edits() {
                let prepared = prepare(&traces, &edit);
                let [auto, event, linear] = [Way::Auto, Way::Event, Way::Linear].map(|way| replay(&mut engine, &prepared, &edit, way));
                let settings = Settings { edit: Some(edit.clone()), ..Settings::default() };
                let start = Instant::now();
                let few = &traces[..traces.len().min(10)];
                for trace in few {
                    black_box(judge.run(trace, &settings, |_| {}));
                }
                let plain = start.elapsed().as_secs_f64() / few.len() as f64;
                let totals: Vec<_> = prepared.iter().map(|p| engine.run(p, Some(&edit)).totals).collect();
                let mean = |of: fn(&cleartune::replay::Totals) -> u64| totals.iter().map(of).sum::<u64>() as f64 / totals.len() as f64;
                println!(
                    "{workload} {requests} {name}: {:.0} replays/s, {:.0} M calls/s; event x {:.2} and chosen x {:.2} linear, chosen x {:.0} plain; {:.1} fetched again, {:.1} clears",
                    1.0 / auto,
                    mean(|t| t.requests) / auto / 1e6,
                    linear / event,
                    linear / auto,
                    plain / auto,
                    mean(|t| t.refetches),
                    mean(|t| t.clear_events)
                );
            }
        }
    }
    growth(&mut engine);
}

/// How the time of a replay grows with requests when the number of events is the same: no needs, no pauses, nothing dropped, ten times the sizes of the edit.
fn growth(engine: &mut Engine) {
    let quiet = |requests| {
        let mut traces = shared::traces("coding_agent", requests, 3);
        for request in traces.iter_mut().flat_map(|trace| &mut trace.requests) {
            (request.at_ms, request.needs, request.needs_end) = (0, 0, 0);
            (request.flush_above, request.kept_warm) = (None, false);
        }
        traces
    };
    let times = [(1_000, 1), (10_000, 10)].map(|(requests, scale)| {
        let (traces, edit) = (quiet(requests), edit(100_000 * scale, 10 * scale as u32, 50_000 * scale));
        let prepared = prepare(&traces, &edit);
        let clears = prepared.iter().map(|p| engine.run(p, Some(&edit)).totals.clear_events).sum::<u64>() as f64 / prepared.len() as f64;
        (replay(engine, &prepared, &edit, Way::Auto), clears)
    });
    let [(short, some), (long, many)] = times;
    println!(
        "1,000 requests with {some:.1} clears: {:.2} us; 10,000 with {many:.1}: {:.2} us, x {:.2}",
        short * 1e6,
        long * 1e6,
        long / short
    );
}

fn engines(c: &mut Criterion) {
    for workload in ["research_agent", "coding_agent"] {
        for requests in [100, 1_000] {
            let traces = shared::traces(workload, requests, 12);
            let mut group = c.benchmark_group(format!("engines/{workload}/{requests}"));
            group.sample_size(20);
            group.throughput(Throughput::Elements((requests * traces.len()) as u64));
            for (name, edit) in edits() {
                let prepared = prepare(&traces, &edit);
                for way in [Way::Event, Way::Linear] {
                    let mut engine = Engine::default();
                    group.bench_function(format!("{name}/{way:?}").to_lowercase(), |b| {
                        b.iter(|| {
                            for p in &prepared {
                                black_box(engine.run_by(p, Some(&edit), way));
                            }
                        });
                    });
                }
            }
            group.finish();
        }
    }
    figures();
}

criterion_group!(benches, engines);
criterion_main!(benches);
