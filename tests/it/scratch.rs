use cleartune::ingest::{Ingest, Options};
#[test]
fn dump() {
    let dir = super::shared::folder("real").unwrap();
    for (format, files) in [("claude-code", 5), ("managed-agents", 2)] {
        for i in 1..=files {
            let name = format!("{format}/{format}-{i}.jsonl");
            let mut ingest = Ingest::new(Options::default());
            ingest.read(&name, std::fs::File::open(dir.join(&name)).unwrap());
            let all = ingest.finish();
            println!(
                "FIT {name} {} {} {}",
                all.reports[0].sizes.input_bytes_per_token, all.reports[0].sizes.output_bytes_per_token, all.reports[0].sizes.fitted
            );
            for p in &all.reports[0].sizes.parts {
                for s in p {
                    println!(
                        "STEP {format}-{i} {} {} {} {} {} {} {} {} {} {} {} {}",
                        s.call,
                        s.growth,
                        s.prompt,
                        u8::from(s.switched),
                        s.output_tokens,
                        s.output_bytes,
                        s.output_uses,
                        u8::from(s.complete),
                        s.results,
                        s.result_bytes,
                        s.user_bytes,
                        s.image_tokens
                    );
                }
            }
        }
    }
}
#[test]
fn sample() {
    std::fs::write("/tmp/clearing_sample.jsonl", super::recorded_clearing::sample_log()).unwrap();
}
