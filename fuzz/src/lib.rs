//! What every fuzz target holds to: any bytes give a report, never a panic.

use cleartune::ingest::{Ingest, Limits, Options};
use cleartune::trace::{Trace, to_line};

fn options() -> Options {
    Options { limits: Limits { record_bytes: 1 << 20, named_skips: 10 }, ..Options::default() }
}

/// Bytes as a log of one format: one report, and transcripts that a replay takes.
pub fn read_as(format: &str, bytes: &[u8]) {
    let mut ingest = Ingest::new(options());
    ingest.read_as(format, "log", bytes).expect("the format is known");
    check(ingest);
}

/// Bytes as a log of whatever they look like.
pub fn any(bytes: &[u8]) {
    let mut ingest = Ingest::new(options());
    ingest.read("log", bytes);
    check(ingest);
}

fn check(ingest: Ingest) {
    let all = ingest.finish();
    assert_eq!(all.reports.len(), 1);
    for doc in &all.documents {
        Trace::from_document(doc).expect("what is read is a trace");
        let line = to_line(doc);
        cleartune::trace::parse_line(line.as_bytes()).expect("a written trace can be read");
    }
}

/// Bytes as a log to be scrubbed: lines stay lines.
pub fn scrub(bytes: &[u8]) {
    let new = cleartune::scrub::scrub(bytes, [1; 32]);
    let lines = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
    assert_eq!(lines(&new), lines(bytes));
}

/// Bytes as a config, in JSON and in TOML.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = cleartune::policy::from_json(&text);
    let _ = cleartune::policy::from_toml(&text);
}

/// Bytes as a workload.
pub fn workload(bytes: &[u8]) {
    let _ = cleartune::workload::Spec::from_toml(&String::from_utf8_lossy(bytes));
}
