//! How many transcripts a second the generator makes.

use cleartune::trace::to_line;
use cleartune::workload::{Spec, shipped_text};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn generate(c: &mut Criterion) {
    let mut group = c.benchmark_group("generate");
    for name in ["research_agent", "coding_agent"] {
        let spec = Spec::from_toml(shipped_text(name).expect("shipped")).expect("valid");
        let transcripts = spec.transcripts;
        group.throughput(Throughput::Elements(transcripts as u64));
        group.bench_function(format!("{name}/documents"), |b| b.iter(|| (0..transcripts).map(|i| spec.generate(i)).collect::<Vec<_>>()));
        group.bench_function(format!("{name}/lines"), |b| {
            b.iter(|| (0..transcripts).map(|i| to_line(&spec.generate(i)).len()).sum::<usize>());
        });
    }
    group.finish();
}

criterion_group!(benches, generate);
criterion_main!(benches);
