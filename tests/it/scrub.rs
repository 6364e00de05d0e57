//! Scrubbed logs read as the originals do.

use std::fs;

use cleartune::ingest::{Ingest, Ingested, Options};
use cleartune::scrub::scrub;
use serde_json::{Value, json};

use super::cli::{Folder, refused, text};
use super::{ingest_agents, ingest_linear, ingest_messages, ingest_requests};

const SEED: [u8; 32] = [5; 32];

fn read(log: &[u8]) -> Ingested {
    let mut ingest = Ingest::new(Options::default());
    ingest.read("log", log);
    ingest.finish()
}

/// A small log of every format that is read.
pub fn logs() -> Vec<(&'static str, String)> {
    let lines = |values: &[Value]| ingest_linear::lines(values);
    let words = "The quick brown fox jumps over the lazy dog, and 1,234 hounds look on in wonder.";
    let quote = json!([
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "get_secret_file", "arguments": "{\"path\":\"a\\nb/hounds\",\"all\":true,\"n\":1234}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": words},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": format!("It says: {words}")}
    ]);
    let mini = json!({"info": {}, "trajectory_format": "mini-swe-agent-1", "instance_id": "i", "messages": [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "THOUGHT: look.\n\n```bash\nls hounds\n```", "extra": {"response": {"usage": {"prompt_tokens": 1234, "completion_tokens": 56}}}},
        {"role": "user", "content": "<returncode>0</returncode>"}, {"role": "assistant", "content": "Done."}]});
    let atif = json!({"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"model_name": "m"}, "steps": [
        {"step_id": 1, "source": "user", "message": "Go."},
        {"step_id": 2, "source": "agent", "message": "Look.", "tool_calls": [{"tool_call_id": "c", "function_name": "read_hounds", "arguments": {"path": "abc"}}],
            "observation": {"results": [{"source_call_id": "c", "content": "some text"}]}, "metrics": {"prompt_tokens": 1234, "completion_tokens": 56}}]});
    let gemini = json!({"sessionId": "s", "projectHash": "p", "messages": [
        {"id": "1", "type": "user", "content": "Read a."},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [{"id": "t1", "name": "read_file", "args": {"file_path": "abc"},
            "result": [{"functionResponse": {"response": {"output": "text of abc"}}}]}], "tokens": {"input": 1234, "cached": 100, "output": 56, "thoughts": 12}}]});
    vec![
        ("claude_code", fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/claude_code/small.jsonl")).unwrap()),
        ("messages_api", lines(&ingest_messages::three(ingest_messages::pair))),
        ("messages_api", json!({"messages": quote}).to_string()),
        ("messages_api", lines(&ingest_requests::responses(true))),
        ("codex", lines(&ingest_linear::codex_log(true))),
        ("mini_swe_agent", serde_json::to_string_pretty(&mini).unwrap()),
        ("atif", atif.to_string()),
        ("gemini_cli", gemini.to_string()),
        (
            "pi",
            lines(&[
                json!({"type": "session", "id": "s", "timestamp": "2026-07-17T01:00:00Z", "cwd": "/"}),
                ingest_linear::pi("10", "s", json!({"role": "user", "content": "Go."})),
                ingest_linear::pi(
                    "11",
                    "10",
                    json!({"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "abc"}}],
                "usage": {"input": 1234, "output": 56, "cacheRead": 0, "cacheWrite": 100}}),
                ),
                ingest_linear::pi(
                    "12",
                    "11",
                    json!({"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "text of abc"}]}),
                ),
            ]),
        ),
        ("swe_agent", ingest_agents::swe_functions().to_string()),
        ("openhands", lines(&ingest_agents::hands_events())),
        ("inspect", ingest_agents::inspect_log(json!([ingest_agents::inspect_sample(1)])).to_string()),
        ("otel_genai", lines(&ingest_requests::otel_log())),
        ("langchain", lines(&ingest_requests::dumps())),
    ]
}

#[test]
fn a_scrubbed_log_gives_the_same_requests_sizes_and_needs() {
    let mut needs = 0;
    for (format, log) in logs() {
        let new = scrub(log.as_bytes(), SEED);
        let (old, new) = (read(log.as_bytes()), read(&new));
        assert_eq!(old.reports[0].format, Some(format), "{log}");
        let mut report = new.reports[0].clone();
        // Encoding JSON in strings again may change its escapes.
        report.bytes = old.reports[0].bytes;
        assert_eq!(report, old.reports[0], "{format}");
        assert_eq!(new.documents.len(), old.documents.len(), "{format}");
        for (new, old) in new.documents.iter().zip(&old.documents) {
            assert_eq!((&new.requests, &new.tools, &new.model), (&old.requests, &old.tools, &old.model), "{format}");
        }
        needs += old.reports[0].needs;
    }
    assert!(needs > 0);
}

#[test]
fn no_word_of_the_text_is_left() {
    for (format, log) in logs() {
        let new = String::from_utf8(scrub(log.as_bytes(), SEED)).unwrap();
        for word in ["hounds", "quick brown", "lazy", "text of", "Fix it", "List it", "Done", "holds"] {
            // Names of tools stay.
            let new = new.replace("read_hounds", "");
            assert!(!new.contains(word), "{format}: {word} is left in {new}");
        }
    }
}

#[test]
fn the_command_writes_one_scrubbed_log_and_says_how_it_reads() {
    let folder = Folder::new("scrub");
    let log = &logs()[0].1;
    let name = folder.write("a.jsonl", log);
    let run = |args: &[&str]| folder.run(&[&["import", &name, "--scrub", "--out"], args].concat());
    let output = run(&["new.jsonl"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("reads as before, as claude_code"), "{}", text(&output.stderr));
    let first = fs::read(folder.0.join("new.jsonl")).unwrap();
    assert_ne!(first, log.as_bytes());
    // The same log gives the same bytes, another seed others, and a name in .gz is packed.
    run(&["again.jsonl"]);
    assert_eq!(fs::read(folder.0.join("again.jsonl")).unwrap(), first);
    run(&["seeded.jsonl", "--seed", "7"]);
    assert_ne!(fs::read(folder.0.join("seeded.jsonl")).unwrap(), first);
    run(&["new.jsonl.gz"]);
    let packed = fs::read(folder.0.join("new.jsonl.gz")).unwrap();
    assert_eq!(cleartune::ingest::decompressed(packed.as_slice()).unwrap(), first);
    // What cannot be scrubbed.
    let other = folder.write("b.jsonl", log);
    refused(&folder.run(&["import", &name, &other, "--scrub", "--out", "x"]), &["one log at a time"]);
    refused(&folder.run(&["import", ".", "--scrub", "--out", "x"]), &["is a folder"]);
    let archive = folder.write("c.eval", "PK\u{3}\u{4}rest");
    refused(&folder.run(&["import", &archive, "--scrub", "--out", "x"]), &["is no text"]);
    refused(&folder.run(&["import", "nowhere.jsonl", "--scrub", "--out", "x"]), &["nowhere.jsonl", "cannot be read"]);
    refused(&folder.run(&["import", &name, "--seed", "7", "--out", "x"]), &["--scrub"]);
}

#[test]
fn scrubbed_samples_read_as_the_samples_do() {
    let Some(dir) = super::shared::folder("real") else { return };
    let mut needs = (0, 0);
    for folder in fs::read_dir(dir).unwrap().flatten().filter(|f| f.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().flatten().filter(|f| f.path().extension().is_none_or(|e| e != "eval")) {
            let log = fs::read(file.path()).unwrap();
            let (old, new) = (read(&log), read(&scrub(&log, SEED)));
            let name = file.file_name();
            let (a, b) = (&old.reports[0], &new.reports[0]);
            let counts = |r: &cleartune::ingest::FileReport| {
                (
                    r.format,
                    r.requests,
                    r.requests_with_usage,
                    r.usage,
                    r.tool_uses,
                    r.orphan_uses,
                    r.orphan_results,
                    r.skipped_records,
                    r.transcripts,
                )
            };
            assert_eq!(counts(a), counts(b), "{name:?}");
            assert_eq!((a.compactions, a.duplicates, &a.ignored_types), (b.compactions, b.duplicates, &b.ignored_types), "{name:?}");
            let sizes = |all: &Ingested| -> Vec<u32> {
                all.documents.iter().flat_map(|d| &d.requests).flat_map(|r| r.input.iter().chain(&r.output)).map(|b| b.tokens).collect()
            };
            assert!(sizes(&old) == sizes(&new), "{name:?}: sizes differ");
            eprintln!("{name:?}: needs {} and {}", a.needs, b.needs);
            needs = (needs.0 + a.needs, needs.1 + b.needs);
        }
    }
    // A quotation that begins in the middle of a word is shorter by a part of it, so a few are lost at the smallest length.
    assert!(needs.1.abs_diff(needs.0) * 20 <= needs.0, "{needs:?}");
}
