//! Transcripts for the benches.

use cleartune::trace::Trace;
use cleartune::workload::{Spec, shipped_text};

/// Transcripts of a shipped workload of exactly `requests` requests each, needs and pauses included.
pub fn traces(workload: &str, requests: usize, count: usize) -> Vec<Trace> {
    let text = shipped_text(workload).unwrap();
    // Long enough to be cut; parallel uses and the user's words make requests more or fewer than uses.
    let uses =
        |line: &str| if line.starts_with("uses =") { format!("uses = {{ fixed = {} }}", requests * 3 / 2 + 20) } else { line.to_owned() };
    let spec = Spec::from_toml(&text.lines().map(uses).collect::<Vec<_>>().join("\n")).unwrap();
    let long = (0..).map(|i| spec.generate(i)).filter(|doc| doc.requests.len() >= requests);
    long.take(count)
        .map(|mut doc| {
            doc.requests.truncate(requests);
            Trace::from_document(&doc).unwrap()
        })
        .collect()
}
