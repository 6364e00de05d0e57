//! Sample logs of real agents, where they are at hand: counts that an independent reader took of them.

use cleartune::ingest::{Ingest, Ingested, Options};

use super::ingest_claude_code::prompts;

fn read_samples(options: Options) -> Option<Ingested> {
    let dir = super::shared::folder("real")?;
    let mut ingest = Ingest::new(options);
    for (format, files) in [("claude-code", 5), ("managed-agents", 2)] {
        for i in 1..=files {
            let name = format!("{format}/{format}-{i}.jsonl");
            ingest.read(&name, std::fs::File::open(dir.join(&name)).unwrap());
        }
    }
    Some(ingest.finish())
}

#[test]
fn counts_equal_those_of_an_independent_reader() {
    let Some(all) = read_samples(Options::default()) else { return };
    // Requests, of these with usage, tool uses, input, read, written, output, uses without result.
    let expected = [
        (184, 184, 133, 687, 13_959_878, 438_575, 107_597, 0),
        (84, 84, 74, 106, 5_227_328, 99_888, 35_014, 1),
        (14, 14, 21, 2_156, 481_291, 55_201, 10_706, 0),
        (6, 0, 5, 0, 0, 0, 0, 0),
        (1, 1, 1, 3, 11_819, 6_612, 54, 0),
        (95, 95, 104, 190, 11_750_996, 222_768, 122_199, 0),
        (81, 81, 92, 162, 10_308_215, 225_870, 122_253, 0),
    ];
    assert_eq!(all.reports.len(), expected.len());
    for (report, expected) in all.reports.iter().zip(expected) {
        let u = report.usage;
        let got = (
            report.requests,
            report.requests_with_usage,
            report.tool_uses,
            u.input,
            u.cache_read,
            u.cache_write_5m + u.cache_write_1h,
            u.output,
            report.orphan_uses,
        );
        assert_eq!(got, expected, "{}", report.name);
        assert_eq!((report.skipped_records, report.repaired), (0, 0), "{}", report.name);
    }
    assert_eq!(all.reports.iter().map(|r| r.compactions).collect::<Vec<_>>(), [1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(all.documents.len(), 8);
}

#[test]
fn unedited_prompts_equal_the_recorded_ones() {
    let Some(all) = read_samples(Options::default()) else { return };
    let mut compared = 0;
    for doc in &all.documents {
        for (i, (request, prompt)) in doc.requests.iter().zip(prompts(doc)).enumerate() {
            if let Some(usage) = request.usage {
                assert_eq!(usage.prompt(), prompt, "{} request {i}", doc.id);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 459);
}

#[test]
fn few_requests_carry_a_natural_invalidation() {
    let Some(all) = read_samples(Options::default()) else { return };
    for report in all.reports.iter().filter(|r| r.requests_with_usage >= 20) {
        assert!(report.flushed_requests * 10 < report.requests_with_usage, "{}", report.name);
    }
}

#[test]
fn results_that_tell_of_a_failure_are_marked() {
    let Some(dir) = super::shared::folder("real") else { return };
    // As an independent reader counted them, save in mini-swe-agent: it counts 5, 4, 0 and 0 answers with two blocks too, of which none is
    // run, and in each file the last message, which answers no use any more. Here only what was run and its exit code count.
    let expected = [
        ("claude-code/claude-code-1.jsonl", 6),
        ("claude-code/claude-code-2.jsonl", 7),
        ("claude-code/claude-code-3.jsonl", 0),
        ("managed-agents/managed-agents-1.jsonl", 4),
        ("managed-agents/managed-agents-2.jsonl", 6),
        ("gemini-cli/gemini-cli-1.json", 2),
        ("gemini-cli/gemini-cli-2.jsonl", 2),
        ("openhands/openhands-1.jsonl", 6),
        ("openhands/openhands-2.json", 1),
        ("openhands/openhands-3.json", 0),
        ("mini-swe-agent/mini-swe-agent-1.traj.json", 18),
        ("mini-swe-agent/mini-swe-agent-2.traj.json", 20),
        ("mini-swe-agent/mini-swe-agent-3.traj.json", 0),
        ("mini-swe-agent/mini-swe-agent-4.traj.json", 3),
    ];
    let found = expected.map(|(name, _)| {
        let mut ingest = Ingest::new(Options::default());
        ingest.read(name, std::fs::File::open(dir.join(name)).unwrap());
        let all = ingest.finish().documents;
        (name, all.iter().flat_map(|d| &d.requests).flat_map(|r| &r.input).filter(|b| b.error).count())
    });
    assert_eq!(found, expected);
}
