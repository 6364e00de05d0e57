//! Formats that log a conversation once, from beginning to end: small logs of each, and the counts of the samples where they are at hand.

use cleartune::ingest::{FileReport, Ingest, Ingested, Options};
use cleartune::trace::Document;
use serde_json::{Value, json};

fn read(text: &str) -> Ingested {
    let mut ingest = Ingest::new(Options::default());
    ingest.read("log", text.as_bytes());
    ingest.finish()
}

pub fn lines(values: &[Value]) -> String {
    values.iter().map(|v| v.to_string() + "\n").collect()
}

/// Format, requests, uses, orphan uses and results.
fn counts(report: &FileReport) -> (&str, u64, u64, u64, u64) {
    (report.format.unwrap_or("none"), report.requests, report.tool_uses, report.orphan_uses, report.orphan_results)
}

/// Kinds of the blocks of each request, input and output.
fn shape(doc: &Document) -> Vec<String> {
    let kinds = |blocks: &[cleartune::trace::Block]| blocks.iter().map(|b| b.kind.chars().next().unwrap()).collect::<String>();
    doc.requests.iter().map(|r| format!("{}>{}", kinds(&r.input), kinds(&r.output))).collect()
}

fn usage(doc: &Document) -> Vec<Option<(u64, u64, u64, u64)>> {
    doc.requests.iter().map(|r| r.usage.map(|u| (u.input, u.cache_read, u.cache_write_5m + u.cache_write_1h, u.output))).collect()
}

fn codex(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload})
}

fn codex_count(total: u64, input: u64, cached: u64, output: u64) -> Value {
    let last = json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output});
    codex("event_msg", json!({"type": "token_count", "info": {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}}))
}

pub fn codex_log(billed: bool) -> Vec<Value> {
    let call =
        |id: &str| codex("response_item", json!({"type": "function_call", "name": "exec", "arguments": "{\"cmd\":\"ls\"}", "call_id": id}));
    let output = |id: &str| codex("response_item", json!({"type": "function_call_output", "call_id": id, "output": "some files"}));
    let mut log = vec![
        codex("session_meta", json!({"id": "s", "base_instructions": {"text": "Be brief."}})),
        codex("turn_context", json!({"model": "gpt-5.4"})),
        codex("response_item", json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List it."}]})),
        codex("event_msg", json!({"type": "user_message", "message": "List it."})),
        codex("response_item", json!({"type": "reasoning", "summary": [], "encrypted_content": "xyz"})),
        call("a"),
        call("b"),
        output("a"),
    ];
    if billed {
        log.push(codex_count(1_100, 1_000, 400, 100));
        // The same total again, and one without any.
        log.push(codex_count(1_100, 1_000, 400, 100));
        log.push(codex("event_msg", json!({"type": "token_count", "info": null})));
    }
    log.extend([
        output("b"),
        codex("response_item", json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]})),
    ]);
    if billed {
        log.push(codex_count(2_250, 1_130, 1_000, 20));
    }
    log
}

#[test]
fn codex_calls_end_where_their_usage_is_told() {
    let all = read(&lines(&codex_log(true)));
    assert_eq!(counts(&all.reports[0]), ("codex", 2, 2, 0, 0));
    let doc = &all.documents[0];
    // The result that came before the usage belongs to the next request all the same.
    assert_eq!(shape(doc), ["u>tuu", "rr>t"]);
    assert_eq!(usage(doc), [Some((600, 400, 0, 100)), Some((130, 1_000, 0, 20))]);
    assert_eq!(doc.model.as_deref(), Some("gpt-5.4"));
    // Without usage a result ends the call.
    let all = read(&lines(&codex_log(false)));
    assert_eq!(shape(&all.documents[0]), ["u>tuu", "rr>t"]);
    assert_eq!(usage(&all.documents[0]), [None, None]);
}

#[test]
fn a_codex_compaction_begins_another_transcript_and_a_total_that_falls_counts_again() {
    let mut log = codex_log(true);
    log.push(codex(
        "compacted",
        json!({"message": "", "replacement_history": [{"type": "message", "role": "user", "content": "Summary."}]}),
    ));
    log.push(codex("response_item", json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On."}]})));
    log.push(codex_count(300, 280, 0, 20));
    log.push(codex(
        "response_item",
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "And on."}]}),
    ));
    log.push(codex_count(620, 310, 280, 10));
    let all = read(&lines(&log));
    assert_eq!((all.documents.len(), all.reports[0].compactions), (2, 1));
    assert_eq!(all.documents[0].session, all.documents[1].session);
    // The fallen total only sets the mark; what advances from there is billed.
    assert_eq!(all.documents[1].requests.len(), 1);
    assert_eq!(usage(&all.documents[1]), [Some((30, 280, 0, 10))]);
}

pub fn pi(id: &str, parent: &str, message: Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-07-17T01:00:00Z", "message": message})
}

fn pi_usage(input: u64, read: u64, write: u64) -> Value {
    json!({"input": input, "cacheRead": read, "cacheWrite": write, "cacheWrite1h": write / 2, "output": 9})
}

#[test]
fn pi_follows_the_tree_to_its_last_entry() {
    let call =
        json!([{"type": "thinking", "thinking": "Hm."}, {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}]);
    let log = [
        json!({"type": "session", "id": "s", "timestamp": "2026-07-17T01:00:00Z", "cwd": "/"}),
        json!({"type": "model_change", "id": "m", "parentId": null, "modelId": "claude-sonnet-4-6"}),
        pi("1", "m", json!({"role": "user", "content": [{"type": "text", "text": "Go."}]})),
        pi(
            "2",
            "1",
            json!({"role": "assistant", "content": [{"type": "text", "text": "A branch that was left."}], "usage": pi_usage(50, 0, 0)}),
        ),
        json!({"type": "label", "id": "l", "parentId": "1"}),
        pi("3", "l", json!({"role": "assistant", "content": [], "stopReason": "error", "usage": pi_usage(0, 0, 0)})),
        pi("4", "3", json!({"role": "assistant", "content": call, "usage": pi_usage(10, 0, 40)})),
        pi("5", "4", json!({"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "text of a"}]})),
        pi("6", "5", json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}], "usage": pi_usage(20, 50, 0)})),
    ];
    let all = read(&lines(&log));
    assert_eq!(counts(&all.reports[0]), ("pi", 2, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t"]);
    assert_eq!(usage(&all.documents[0]), [Some((10, 0, 40, 9)), Some((20, 50, 0, 9))]);
    assert!(all.reports[0].notes.iter().any(|n| n.contains("1 messages lie on branches")), "{:?}", all.reports[0].notes);
    // A compaction: the summary and what is kept begin the next transcript.
    let mut compacted = log.to_vec();
    compacted.push(
        json!({"type": "compaction", "id": "7", "parentId": "6", "firstKeptEntryId": "6", "summary": "It was read.", "tokensBefore": 70}),
    );
    compacted.push(pi("8", "7", json!({"role": "assistant", "content": [{"type": "text", "text": "On."}], "usage": pi_usage(30, 0, 0)})));
    let all = read(&lines(&compacted));
    assert_eq!((all.documents.len(), all.reports[0].compactions), (2, 1));
    assert_eq!(shape(&all.documents[1]), ["u>t"]);
}

#[test]
fn a_loop_of_pi_entries_ends() {
    let log = [
        json!({"type": "session", "id": "s", "timestamp": "2026-07-17T01:00:00Z", "cwd": "/"}),
        pi("1", "2", json!({"role": "user", "content": "Go."})),
        pi("2", "1", json!({"role": "assistant", "content": "Done.", "usage": pi_usage(5, 0, 0)})),
        pi("2", "2", json!({"role": "assistant", "content": "Again.", "usage": pi_usage(5, 0, 0)})),
    ];
    assert!(read(&lines(&log)).reports[0].requests >= 1);
}

#[test]
fn mini_swe_agent_runs_the_one_block_of_a_message() {
    let answer = |content: &str, prompt: u64, cached: u64| {
        let usage = json!({"prompt_tokens": prompt, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": cached}});
        json!({"role": "assistant", "content": content, "extra": {"response": {"id": "g", "model": "gemini-3-pro", "created": 1_763_511_580, "usage": usage}}})
    };
    let messages = json!([
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "Fix it."},
        answer("THOUGHT: look.\n\n```bash\nls\n```", 100, 0),
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na\n</output>"},
        answer("Two.\n```bash\nls\n```\n```bash\npwd\n```", 150, 90),
        {"role": "user", "content": "Write exactly one block."},
        answer("```bash\necho done\n```", 200, 140),
        {"role": "user", "content": "a diff"}
    ]);
    let log =
        json!({"info": {"exit_status": "Submitted"}, "messages": messages, "trajectory_format": "mini-swe-agent-1", "instance_id": "i"});
    let all = read(&serde_json::to_string_pretty(&log).unwrap());
    assert_eq!(counts(&all.reports[0]), ("mini_swe_agent", 3, 2, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t", "u>u"]);
    assert_eq!(usage(&all.documents[0]), [Some((100, 0, 0, 7)), Some((60, 90, 0, 7)), Some((60, 140, 0, 7))]);
    // Version 2.
    let call = json!([{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]);
    let messages = json!([
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": null, "tool_calls": call, "extra": {"timestamp": 1.5}},
        {"role": "tool", "tool_call_id": "c", "content": "a"},
        {"role": "assistant", "content": "Done."}
    ]);
    let all = read(&json!({"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}).to_string());
    assert_eq!(counts(&all.reports[0]), ("mini_swe_agent", 2, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>u", "r>t"]);
}

#[test]
fn gemini_cli_as_a_chat_and_as_a_stream() {
    let result = json!([{"functionResponse": {"id": "t1", "name": "read_file", "response": {"output": "text of a"}}}]);
    let calls = json!([{"id": "t1", "name": "read_file", "args": {"file_path": "a"}, "result": result, "status": "success"}]);
    let tokens = |input: u64, cached: u64| json!({"input": input, "cached": cached, "output": 5, "thoughts": 3, "tool": 0});
    let chat = json!({"sessionId": "s", "projectHash": "p", "messages": [
        {"id": "1", "type": "user", "content": "Read a."},
        {"id": "2", "type": "gemini", "content": "", "thoughts": [{"subject": "x", "description": "y"}], "toolCalls": calls, "tokens": tokens(100, 0), "model": "gemini-3-pro"},
        {"id": "3", "type": "gemini", "content": "Done.", "tokens": tokens(140, 90)}
    ]});
    let all = read(&chat.to_string());
    assert_eq!(counts(&all.reports[0]), ("gemini_cli", 2, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t"]);
    assert_eq!(usage(&all.documents[0]), [Some((100, 0, 0, 8)), Some((50, 90, 0, 8))]);
    let stream = [
        json!({"type": "message", "role": "user", "content": "Read a."}),
        json!({"type": "init", "timestamp": "2026-01-30T06:10:01Z", "session_id": "s", "model": "gemini-3-pro"}),
        json!({"type": "tool_use", "timestamp": "2026-01-30T06:10:15Z", "tool_name": "read_file", "tool_id": "t1", "parameters": {"file_path": "a"}}),
        json!({"type": "tool_use", "timestamp": "2026-01-30T06:10:15Z", "tool_name": "read_file", "tool_id": "t2", "parameters": {"file_path": "b"}}),
        json!({"type": "tool_result", "timestamp": "2026-01-30T06:10:16Z", "tool_id": "t1", "status": "success", "output": ""}),
        json!({"type": "tool_result", "tool_id": "t2", "status": "error", "error": {"message": "no such file"}}),
        json!({"type": "message", "role": "assistant", "content": "Done.", "delta": true}),
        json!({"type": "result", "stats": {}}),
    ];
    let all = read(&lines(&stream));
    assert_eq!(counts(&all.reports[0]), ("gemini_cli", 2, 2, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>uu", "rr>t"]);
    assert!(all.reports[0].notes.iter().any(|n| n.starts_with("1 tool results are logged empty")), "{:?}", all.reports[0].notes);
}

#[test]
fn atif_steps_hold_their_results() {
    let step = |id: u64, source: &str, message: &str| json!({"step_id": id, "timestamp": "2026-06-24T14:39:44Z", "source": source, "message": message});
    let mut agent = step(3, "agent", "Reading.");
    agent["reasoning_content"] = json!("Hm.");
    agent["tool_calls"] = json!([{"tool_call_id": "c1", "function_name": "read", "arguments": {"path": "a"}}]);
    agent["observation"] = json!({"results": [{"source_call_id": "c1", "content": "text of a"}]});
    agent["metrics"] =
        json!({"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 0, "extra": {"cache_creation_input_tokens": 60}});
    let mut copied = step(4, "agent", "Reading.");
    copied["is_copied_context"] = json!(true);
    let mut last = step(5, "agent", "Done.");
    last["metrics"] = json!({"prompt_tokens": 130, "completion_tokens": 4, "cached_tokens": 60});
    let sub = json!({"schema_version": "ATIF-v1.4", "agent": {}, "steps": [step(1, "user", "Look."), step(2, "agent", "Seen.")]});
    let log = json!({"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "x", "model_name": "m"},
        "steps": [step(1, "system", "Be brief."), step(2, "user", "Go."), agent, copied, last], "subagent_trajectories": [sub]});
    let all = read(&log.to_string());
    assert_eq!(counts(&all.reports[0]), ("atif", 3, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>ttu", "r>t"]);
    assert_eq!(usage(&all.documents[0]), [Some((40, 0, 60, 9)), Some((70, 60, 0, 4))]);
    assert_eq!((all.documents.len(), all.reports[0].sub_agent_transcripts), (2, 1));
    assert!(all.reports[0].notes.iter().any(|n| n.starts_with("1 steps repeat")));
}

#[test]
fn rows_of_conversations_are_sessions() {
    let call = json!([{"id": "c", "type": "function", "function": {"name": "find", "arguments": "{\"q\":1}"}}]);
    let row = |n: u64| {
        json!({"task_id": n, "reward": 1.0, "info": {}, "traj": [
            {"role": "system", "content": "Policy."},
            {"role": "user", "content": format!("Task {n}.")},
            {"role": "assistant", "content": null, "tool_calls": call},
            {"role": "tool", "tool_call_id": "c", "content": "found"},
            {"role": "assistant", "content": "Done."}
        ]})
    };
    let all = read(&json!([row(1), row(2)]).to_string());
    assert_eq!(counts(&all.reports[0]), ("messages_api", 4, 2, 0, 0));
    assert_eq!(all.documents.len(), 2);
}

#[test]
fn broken_files_of_each_format_are_told_and_never_stop_the_rest() {
    for text in [
        lines(&codex_log(true)),
        lines(&[
            json!({"type": "session", "id": "s", "timestamp": "x", "cwd": "/"}),
            pi("1", "m", json!({"role": "assistant", "content": 3, "usage": []})),
        ]),
        json!({"schema_version": "ATIF-v1.4", "steps": 3}).to_string(),
        json!({"info": {}, "messages": {"a": 1}, "trajectory_format": "mini-swe-agent-1"}).to_string(),
        json!({"sessionId": 3, "projectHash": null, "messages": [3, null, {"type": "gemini", "toolCalls": [{"result": 3}]}]}).to_string(),
    ] {
        // Cut anywhere, and with values of other kinds, there is a report and no panic.
        for end in (1..text.len()).step_by(7).filter(|&end| text.is_char_boundary(end)) {
            let all = read(&text[..end]);
            assert_eq!(all.reports.len(), 1);
        }
        for (from, to) in [("\"user\"", "null"), ("[", "{\"a\":["), (":", ":-1e999,\"x\":"), ("\"id\"", "\"content\"")] {
            assert_eq!(read(&text.replace(from, to)).reports.len(), 1);
        }
    }
}

#[test]
fn samples_have_the_counts_of_an_independent_reader() {
    let Some(dir) = super::shared::folder("real") else { return };
    // Requests with usage, uses, prompt tokens uncached and read, output.
    for (name, expected) in [
        ("codex/codex-1.jsonl", (18, 38, 96_556, 1_160_576, 19_360)),
        ("codex/codex-2.jsonl", (5, 15, 29_800, 92_032, 1_737)),
        ("codex/codex-3.jsonl", (2, 2, 37_064, 44_992, 340)),
        // Of its 32 attempts 6 failed with nothing said and nothing billed.
        ("pi-agent/pi-agent-1.jsonl", (26, 54, 170_937, 2_579_584, 14_163)),
        // Thoughts are billed as output and counted apart.
        ("gemini-cli/gemini-cli-1.json", (31, 62, 126_066, 927_523, 21_861 + 7_489)),
        ("gemini-cli/gemini-cli-2.jsonl", (0, 41, 0, 0, 0)),
        ("atif/atif-1.json", (0, 6, 0, 0, 0)),
        // In five and four answers there are two blocks, so that no command was run.
        ("mini-swe-agent/mini-swe-agent-1.traj.json", (129, 129 - 5, 389_437, 3_901_717, 29_196)),
        ("mini-swe-agent/mini-swe-agent-2.traj.json", (67, 67 - 4, 236_844, 1_926_749, 22_820)),
        ("mini-swe-agent/mini-swe-agent-3.traj.json", (44, 44, 96_649, 528_915, 8_355)),
        ("mini-swe-agent/mini-swe-agent-4.traj.json", (22, 22, 40_092, 62_004, 2_728)),
    ] {
        let mut ingest = Ingest::new(Options::default());
        ingest.read(name, std::fs::File::open(dir.join(name)).unwrap());
        let all = ingest.finish();
        let report = &all.reports[0];
        let u = report.usage;
        assert_eq!((report.requests_with_usage, report.tool_uses, u.input, u.cache_read, u.output), expected, "{name}");
        assert!(report.error.is_none() && report.skipped_records == 0, "{name}");
    }
    let mut ingest = Ingest::new(Options::default());
    ingest.read("tau-bench-1.json", std::fs::File::open(dir.join("tau-bench/tau-bench-1.json")).unwrap());
    assert_eq!(ingest.finish().documents.len(), 40);
}
