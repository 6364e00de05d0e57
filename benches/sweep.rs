//! A whole grid over transcripts that are in memory: replays a second, one thread and all.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use cleartune::policy::Settings;
use cleartune::sweep::{Axes, Axis, Grid, Profile, Transcript, run};
use cleartune::trace::Trace;
use cleartune::workload::{Spec, shipped_text};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn sweep(c: &mut Criterion) {
    let spec = Spec::from_toml(shipped_text("coding_agent").unwrap()).unwrap();
    let transcripts: Vec<Transcript> =
        (0..20).map(|i| Transcript { trace: Trace::from_document(&spec.generate(i)).unwrap(), settings: Settings::default() }).collect();
    let axes = Axes {
        trigger: Axis::Values((1..=8).map(|i| i * 10_000).collect()),
        keep: Axis::Values(vec![1, 3, 6, 12]),
        clear_at_least: Axis::Values(vec![0, 5_000, 20_000]),
        ..Axes::default()
    };
    let grid = Grid::new(&axes, &Profile::default().auto(), &[]);
    let mut group = c.benchmark_group("sweep/coding_agent");
    group.sample_size(20);
    group.throughput(Throughput::Elements((transcripts.len() * grid.configs.len()) as u64));
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, all] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        group.bench_function(format!("{threads}_threads"), |b| {
            b.iter(|| {
                pool.install(|| {
                    run::<()>(black_box(&transcripts), &grid.configs, None, &AtomicBool::new(false), &|_| {}, |_| Ok(())).unwrap()
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, sweep);
criterion_main!(benches);
