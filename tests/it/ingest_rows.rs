//! What breaks naive readers, for the formats that are read whole or by the line: the same damage to a log of each, and the same answer.

use cleartune::ingest::{Ingest, Ingested, Options};
use serde_json::{Value, json};

use super::{ingest_agents, ingest_linear, ingest_requests};

fn read(bytes: impl AsRef<[u8]>) -> Ingested {
    let mut ingest = Ingest::new(Options::default());
    ingest.read("log", bytes.as_ref());
    ingest.finish()
}

/// Logs with a record a line. Each holds the words "text of a" in a result, and usage of 100 and 150 tokens where it holds any.
fn by_line() -> Vec<(&'static str, Vec<Value>)> {
    let codex = json!({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": {"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "text of a"}]}});
    let mut rollout = ingest_linear::codex_log(true);
    rollout.insert(2, codex);
    let pi = [
        json!({"type": "session", "id": "s", "timestamp": "2026-07-17T01:00:00Z", "cwd": "/"}),
        ingest_linear::pi("1", "s", json!({"role": "user", "content": "Go."})),
        ingest_linear::pi(
            "2",
            "1",
            json!({"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}],
            "usage": {"input": 100, "output": 9}}),
        ),
        ingest_linear::pi("3", "2", json!({"role": "toolResult", "toolCallId": "c1", "content": "text of a"})),
        ingest_linear::pi("4", "3", json!({"role": "assistant", "content": "Done.", "usage": {"input": 150, "output": 9}})),
    ];
    let user = json!({"role": "user", "content": "text of a"});
    let answer = json!({"role": "assistant", "content": "I see text of a."});
    let chat = |id: &str, sent: Value, prompt: u64| {
        let choice = json!({"message": answer, "finish_reason": "stop"});
        let response = json!({"id": id, "model": "gpt-5", "choices": [choice], "usage": {"prompt_tokens": prompt, "completion_tokens": 7}});
        json!({"request": {"model": "gpt-5", "messages": sent}, "response": response})
    };
    vec![
        ("messages_api", vec![chat("c1", json!([user]), 100), chat("c2", json!([user, answer, user]), 150)]),
        ("codex", rollout),
        ("pi", pi.to_vec()),
        ("openhands", ingest_agents::hands_events()),
        ("messages_api", ingest_requests::responses(false)),
        ("messages_api", ingest_requests::responses(true)),
        ("otel_genai", ingest_requests::otel_log()),
        ("langchain", ingest_requests::dumps()),
    ]
}

/// Logs that are one object.
fn whole() -> Vec<(&'static str, Value)> {
    let mini = json!({"info": {}, "trajectory_format": "mini-swe-agent-1", "instance_id": "i", "messages": [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "```bash\nls\n```", "extra": {"response": {"usage": {"prompt_tokens": 100, "completion_tokens": 5}}}},
        {"role": "user", "content": "text of a"}, {"role": "assistant", "content": "Done."}]});
    let atif = json!({"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {}, "steps": [
        {"step_id": 1, "source": "user", "message": "text of a"},
        {"step_id": 2, "source": "agent", "message": "Look.", "metrics": {"prompt_tokens": 100, "completion_tokens": 5}}]});
    let gemini = json!({"sessionId": "s", "projectHash": "p", "messages": [
        {"id": "1", "type": "user", "content": "text of a"},
        {"id": "2", "type": "gemini", "content": "Done.", "tokens": {"input": 100, "cached": 0, "output": 5}}]});
    let mut inspect = ingest_agents::inspect_sample(1);
    inspect["attachments"]["task"] = json!("text of a");
    vec![
        ("mini_swe_agent", mini),
        ("atif", atif),
        ("gemini_cli", gemini),
        ("swe_agent", ingest_agents::swe_functions()),
        ("inspect", ingest_agents::inspect_log(json!([inspect]))),
    ]
}

fn lines(values: &[Value]) -> Vec<String> {
    values.iter().map(Value::to_string).collect()
}

type Counts = (Option<&'static str>, u64, u64, u64, cleartune::trace::Usage, u64, usize);

fn counts(all: &Ingested) -> Counts {
    let r = &all.reports[0];
    (r.format, r.requests, r.requests_with_usage, r.tool_uses, r.usage, r.orphan_results, all.documents.len())
}

#[track_caller]
fn same(expected: &Counts, log: impl AsRef<[u8]>, what: &str) -> Ingested {
    let all = read(log);
    assert_eq!(&counts(&all), expected, "{what}: {:?}", all.reports[0]);
    all
}

/// Damage inside a record that costs nothing.
fn harmless(expected: &Counts, text: &str, format: &str) {
    assert!(text.contains("text of a") && (text.contains("100") || format == "swe_agent"), "{format}");
    let with = |field: &str| text.replacen('{', &format!("{{{field},"), 1);
    let deep = format!("\"zz\":{}1{}", "[".repeat(4000), "]".repeat(4000));
    for (what, log) in [
        ("a byte-order mark", format!("\u{feff}{text}")),
        ("a raw control character", text.replace("text of a", "text \u{1}of a")),
        ("a lone surrogate", text.replace("text of a", "text \\udcb2 of a \\ud83d")),
        ("nesting deeper than 128", with(&deep)),
        ("NaN", with("\"zz\":NaN")),
        ("a key twice", with("\"zz\":1,\"zz\":[2]")),
        (
            "a count in another spelling",
            text.replace(":100,", ":1e2,").replace(":100}", ":100.0}").replace(":150,", ":150.0,").replace(":150}", ":1.5e2}"),
        ),
    ] {
        let all = same(expected, log, &format!("{format}: {what}"));
        assert_eq!(all.reports[0].skipped_records, 0, "{format}: {what}");
    }
    let latin: Vec<&[u8]> = text.split("text of a").map(str::as_bytes).collect();
    let latin = latin.join(&b"text \xe9 of a"[..]);
    same(expected, latin, &format!("{format}: a Latin-1 byte"));
    // null where a count is: absent, and the rest is there.
    let all = read(text.replace(":100,", ":null,").replace(":100}", ":null}"));
    assert_eq!((all.reports[0].requests, all.reports[0].tool_uses), (expected.1, expected.3), "{format}: null");
}

#[test]
fn damaged_logs_of_one_object() {
    for (format, log) in whole() {
        let expected = counts(&read(log.to_string()));
        assert_eq!(expected.0, Some(format));
        assert!(expected.1 > 0);
        same(&expected, serde_json::to_string_pretty(&log).unwrap(), format);
        same(&expected, serde_json::to_string_pretty(&log).unwrap().replace('\n', "\r\n"), format);
        harmless(&expected, &log.to_string(), format);
    }
}

#[test]
fn damaged_logs_of_lines() {
    for (format, log) in by_line() {
        let lines = lines(&log);
        let expected = counts(&read(lines.join("\n")));
        assert_eq!(expected.0, Some(format));
        assert!(expected.1 > 0);
        harmless(&expected, &lines.join("\n"), format);
        same(&expected, lines.join("\r\n"), format);
        assert_eq!(same(&expected, lines.join("\n\n"), format).reports[0].blank_lines, lines.len() as u64 - 1);
        // Several records on a line, and each over several lines.
        same(&expected, lines.join(""), format);
        let pretty: Vec<String> = log.iter().map(|v| serde_json::to_string_pretty(v).unwrap()).collect();
        same(&expected, pretty.join("\n"), format);
        for i in 1..lines.len() {
            let mut damaged = lines.clone();
            damaged.insert(i, lines[i][..lines[i].len() / 2].to_owned());
            let all = same(&expected, damaged.join("\n"), &format!("{format}: line {} cut", i + 1));
            assert_eq!(all.reports[0].skipped.iter().map(|s| s.line).collect::<Vec<_>>(), [i as u64 + 1]);
            for foreign in ["7", "\"a word\"", "null", "not JSON"] {
                let mut damaged = lines.clone();
                damaged.insert(i, foreign.to_owned());
                assert_eq!(same(&expected, damaged.join("\n"), foreign).reports[0].skipped[0].line, i as u64 + 1);
            }
            // An unknown type is counted and never usage.
            let mut damaged = lines.clone();
            damaged.insert(i, json!({"type": "queue-operation", "zz": {"input_tokens": 7}}).to_string());
            let all = same(&expected, damaged.join("\n"), &format!("{format}: an unknown type before line {}", i + 1));
            assert_eq!(all.reports[0].skipped_records, 0);
        }
        // The first record alone: no call, or only the first one, and a report.
        let all = read(&lines[0]);
        assert_eq!((all.reports[0].format, all.reports[0].error.as_ref()), (Some(format), None));
        assert!(all.documents.len() == usize::from(all.reports[0].requests > 0));
    }
}

#[test]
fn a_record_that_is_there_twice_counts_once() {
    for (format, log) in by_line() {
        // A message twice is two messages, and so is what carries no id.
        if matches!(format, "langchain" | "codex") {
            continue;
        }
        let expected = counts(&read(lines(&log).join("\n")));
        let twice: Vec<String> = lines(&log).into_iter().flat_map(|l| [l.clone(), l]).collect();
        let all = same(&expected, twice.join("\n"), format);
        assert!(all.reports[0].duplicates > 0, "{format}");
        // In another file as well.
        let mut ingest = Ingest::new(Options::default());
        ingest.read("one", lines(&log).join("\n").as_bytes());
        let again = ingest.read("two", lines(&log).join("\n").as_bytes());
        assert_eq!((again.requests, again.requests_with_usage), (0, 0), "{format}");
    }
}

#[test]
fn uses_without_results_and_results_without_uses() {
    // Of OpenHands: two uses.
    let events = ingest_agents::hands_events();
    let mut one_result = events.clone();
    one_result.remove(6);
    let all = read(lines(&one_result).join("\n"));
    assert_eq!((all.reports[0].tool_uses, all.reports[0].orphan_uses, all.reports[0].orphan_results), (2, 1, 0));
    let mut three = events.clone();
    three.insert(7, three[6].clone());
    three[7]["id"] = json!(66);
    let all = read(lines(&three).join("\n"));
    assert_eq!((all.reports[0].tool_uses, all.reports[0].orphan_uses, all.reports[0].orphan_results), (2, 0, 1));
    let mut early = events;
    early.swap(3, 4);
    let all = read(lines(&early).join("\n"));
    assert_eq!((all.reports[0].tool_uses, all.reports[0].orphan_uses, all.reports[0].orphan_results), (2, 0, 0));
    // Of SWE-agent: the result of a use that is not there.
    let mut log = ingest_agents::swe_functions();
    log["history"][5]["tool_call_ids"] = json!(["other"]);
    let all = read(log.to_string());
    assert_eq!((all.reports[0].tool_uses, all.reports[0].orphan_uses, all.reports[0].orphan_results), (2, 1, 1));
}

#[test]
fn times_of_any_zone_and_order() {
    let mut events = ingest_agents::hands_events();
    let gap = |events: &[Value]| {
        let all = read(lines(events).join("\n"));
        let doc = &all.documents[0];
        (doc.requests[1].at_ms - doc.requests[0].at_ms, all.reports[0].notes.iter().any(|n| n.contains("without a zone")))
    };
    events[3]["timestamp"] = json!("2026-01-23T16:28:00");
    events[7]["timestamp"] = json!("2026-01-23T16:28:30");
    assert_eq!(gap(&events), (30_000, true));
    events[3]["timestamp"] = json!("2026-01-23T18:28:00+02:00");
    events[7]["timestamp"] = json!("2026-01-23T16:28:30Z");
    assert_eq!(gap(&events), (30_000, false));
    // A clock that goes back changes nothing of the order, which is the conversation's.
    events[7]["timestamp"] = json!("2026-01-23T16:20:00Z");
    assert_eq!(gap(&events).0, -480_000);
}
