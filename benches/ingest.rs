//! Ingestion of a Claude Code log made here, beside a plain parse of the same lines: MB/s with and without the search for needs.

use std::fmt::Write as _;
use std::hint::black_box;

use cleartune::ingest::{Ingest, NeedOptions, Options};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;

/// About `megabytes` of log: sessions of 60 calls whose results hold 2 to 20 kB, as the structured copy beside each result does, and of
/// whose answers every third quotes an earlier result.
fn log(megabytes: usize) -> String {
    let mut text = String::new();
    let mut state = 1u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut session = 0;
    while text.len() < megabytes << 20 {
        session += 1;
        let mut results: Vec<String> = Vec::new();
        let mut parent = json!(null);
        let mut record = |kind: &str, n: usize, more: serde_json::Value| {
            let uuid = format!("{session}-{n}");
            let mut r = json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/user/project", "type": kind,
                "sessionId": format!("s{session}"), "version": "2.1.112", "gitBranch": "main", "uuid": uuid, "timestamp": "2026-04-21T10:21:52.979Z"});
            r.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            parent = json!(uuid);
            writeln!(text, "{r}").unwrap();
        };
        record("user", 0, json!({"message": {"role": "user", "content": "Find out why the build fails and mend it."}}));
        let mut prompt = 20_000;
        for call in 0..60 {
            let quoted = match results.len() {
                0 => "",
                n => {
                    let old = &results[next(n as u64) as usize];
                    let from = next(old.len() as u64 - 120) as usize;
                    old.get(from..from + 80).unwrap_or("")
                }
            };
            let said = if call % 3 == 0 { format!("The log shows: {quoted}") } else { "Next I look at the other file.".to_owned() };
            let id = format!("toolu_{session}_{call}");
            record(
                "assistant",
                3 * call + 1,
                json!({"requestId": "r", "message": {"id": format!("msg_{session}_{call}"), "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": "tool_use",
                    "content": [{"type": "text", "text": said}, {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("/src/file{call}.rs")}}],
                    "usage": {"input_tokens": 3, "cache_read_input_tokens": prompt, "cache_creation_input_tokens": 1500, "output_tokens": 90}}}),
            );
            let mut result = String::new();
            for line in 0..40 + next(400) {
                let _ = writeln!(result, "{line:>6}\tlet value_{} = compute_{}(input, {});", next(5000), next(900), next(100_000));
            }
            prompt += 1500;
            record(
                "user",
                3 * call + 2,
                json!({"toolUseResult": {"type": "text", "file": {"filePath": "/src/file.rs", "content": result, "numLines": 40}},
                    "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}}),
            );
            record("progress", 3 * call + 3, json!({"data": {"type": "hook_progress", "hookEvent": "PostToolUse", "command": "callback"}}));
            results.push(result);
        }
    }
    text
}

fn ingestion(c: &mut Criterion) {
    let text = log(8);
    let mut group = c.benchmark_group("ingest");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    for (name, find) in [("claude_code/with_needs", true), ("claude_code/without_needs", false)] {
        let options = Options { needs: NeedOptions { find, ..NeedOptions::default() }, ..Options::default() };
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut ingest = Ingest::new(options.clone());
                ingest.read("log", text.as_bytes());
                black_box(ingest.finish())
            });
        });
    }
    group.bench_function("plain_parse_of_the_same_lines", |b| {
        b.iter(|| text.lines().map(|l| u64::from(serde_json::from_str::<serde_json::Value>(l).unwrap().is_object())).sum::<u64>());
    });
    group.finish();
}

criterion_group!(benches, ingestion);
criterion_main!(benches);
