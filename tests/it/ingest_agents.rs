//! Logs of SWE-agent, `OpenHands` and Inspect: small ones of each, and the counts of the samples where they are at hand.

use std::fmt::Write as _;

use cleartune::ingest::{FileReport, Ingest, Ingested, Options};
use cleartune::trace::Document;
use serde_json::{Value, json};

fn read(bytes: impl AsRef<[u8]>) -> Ingested {
    let mut ingest = Ingest::new(Options::default());
    ingest.read("log", bytes.as_ref());
    ingest.finish()
}

fn lines(values: &[Value]) -> String {
    values.iter().fold(String::new(), |mut all, v| {
        let _ = writeln!(all, "{v}");
        all
    })
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

fn tools(doc: &Document) -> Vec<&str> {
    doc.requests.iter().flat_map(|r| &r.output).filter_map(|b| b.tool.as_deref()).collect()
}

/// A copy of the log with every kind of damage there is; each has to give a report.
fn damage(text: &str) {
    for end in (1..text.len()).step_by(11).filter(|&end| text.is_char_boundary(end)) {
        assert_eq!(read(&text[..end]).reports.len(), 1);
    }
    for (from, to) in [("\"user\"", "null"), ("[", "{\"a\":["), (":", ":-1e999,\"x\":"), ("\"id\"", "\"content\""), ("{", "[")] {
        assert_eq!(read(text.replace(from, to)).reports.len(), 1);
    }
}

fn swe_call(id: &str, name: &str, arguments: &str) -> Value {
    json!([{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}])
}

pub fn swe_functions() -> Value {
    json!({
        "trajectory": [{"action": "ls", "observation": "a b", "response": "Look.", "thought": "Look.", "execution_time": 0.1,
            "messages": [{"role": "user", "content": "Old environment output: (3 lines omitted)"}]}],
        "history": [
            {"role": "system", "content": "You fix bugs.", "agent": "main"},
            {"role": "user", "content": "A demonstration.", "agent": "main", "is_demo": true},
            {"role": "assistant", "content": "As shown.", "agent": "main", "is_demo": true},
            {"role": "user", "content": "Fix it.", "agent": "main"},
            {"role": "assistant", "content": "Look.", "action": "ls", "agent": "main", "tool_calls": swe_call("c", "bash", "{\"command\":\"ls\"}")},
            {"role": "tool", "content": "a b", "agent": "main", "tool_call_ids": ["c"]},
            // The same id again: pairs go by position.
            {"role": "assistant", "content": "Open.", "action": "open a", "agent": "main", "tool_calls": swe_call("c", "open", "{\"path\":\"a\"}")},
            {"role": "tool", "content": [{"type": "text", "text": "text of a"}], "agent": "main", "tool_call_ids": ["c"]},
            {"role": "assistant", "content": "Done.", "agent": "main", "tool_calls": null}
        ],
        "info": {"model_stats": {"api_calls": 3}},
        "replay_config": "{\"agent\":{\"model\":{\"name\":\"gpt-4o\"}}}"
    })
}

#[test]
fn swe_agent_with_function_calls() {
    let all = read(serde_json::to_string_pretty(&swe_functions()).unwrap());
    assert_eq!(counts(&all.reports[0]), ("swe_agent", 3, 2, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>tu", "r>t"]);
    assert_eq!(tools(&all.documents[0]), ["bash", "open"]);
    assert_eq!(all.documents[0].model.as_deref(), Some("gpt-4o"));
    assert!(all.reports[0].notes.iter().any(|n| n.contains("elided old observations")), "{:?}", all.reports[0].notes);
    let mut whole = swe_functions();
    whole["trajectory"][0]["messages"] = json!([]);
    assert!(!read(whole.to_string()).reports[0].notes.iter().any(|n| n.contains("elided")));
    damage(&swe_functions().to_string());
}

#[test]
fn swe_agent_with_actions_in_the_text() {
    let said = |words: &str, action: &str| json!({"role": "assistant", "content": words, "thought": "x", "action": action, "agent": "a"});
    let told = |words: &str| json!({"role": "user", "content": words, "agent": "a"});
    let mut log = json!({
        "environment": "e",
        "trajectory": [{"action": "ls", "observation": "a b"}, {"action": "submit", "observation": "the diff"}],
        "history": [
            {"role": "system", "content": "You fix bugs.", "agent": "a"},
            told("Fix it."),
            said("I look.\n```\nls -F\n```", "ls -F"),
            told("a b"),
            said("I wonder.", ""),
            told("Write an action."),
            said("```\nsubmit\n```", "submit")
        ],
        "info": {}
    });
    let all = read(log.to_string());
    // What the last action gave stands in the trajectory alone.
    assert_eq!(counts(&all.reports[0]), ("swe_agent", 3, 2, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t", "u>tu"]);
    assert_eq!(tools(&all.documents[0]), ["ls", "submit"]);
    assert!(all.reports[0].notes.iter().any(|n| n.contains("does not name the model")));
    // A history only: the last action has no result.
    log.as_object_mut().unwrap().remove("trajectory");
    assert_eq!(counts(&read(log.to_string()).reports[0]), ("swe_agent", 3, 2, 1, 0));
    // Another agent's words are a transcript of their own.
    let history = log["history"].as_array_mut().unwrap();
    history.push(json!({"role": "user", "content": "Help.", "agent": "b"}));
    history.push(json!({"role": "assistant", "content": "```\nls\n```", "action": "ls", "agent": "b"}));
    let all = read(log.to_string());
    assert_eq!((all.documents.len(), all.reports[0].sub_agent_transcripts), (2, 1));
    damage(&log.to_string());
}

#[test]
fn swe_agent_without_a_history_and_as_rows_of_a_dataset() {
    let steps = json!({"trajectory": [
        {"action": "ls", "observation": "a b", "response": "I look.\n```\nls\n```"},
        {"action": "submit", "observation": "", "response": "```\nsubmit\n```"}
    ]});
    let all = read(steps.to_string());
    assert_eq!(counts(&all.reports[0]), ("swe_agent", 2, 2, 0, 0));
    // With what the last step was sent, the task is there as well.
    let mut sent = steps.clone();
    sent["trajectory"][1]["query"] = json!([
        {"role": "system", "content": "S."}, {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "I look.\n```\nls\n```", "action": "ls"}, {"role": "user", "content": "a b"}
    ]);
    assert_eq!(shape(&read(sent.to_string()).documents[0]), ["u>tu", "r>tu"]);
    let row = |n: u64| {
        json!({"instance_id": format!("i-{n}"), "model_name": "m", "target": true, "exit_status": "submitted", "trajectory": [
            {"role": "system", "system_prompt": "S.", "text": null, "mask": false},
            {"role": "user", "text": format!("Fix {n}."), "mask": false},
            {"role": "ai", "text": "I look.\n```\nls\n```", "mask": true},
            {"role": "user", "text": "a b", "mask": false},
            {"role": "ai", "text": "No block here.", "mask": true}
        ]})
    };
    let all = read(lines(&[row(1), row(2)]));
    assert_eq!(counts(&all.reports[0]), ("swe_agent", 4, 2, 0, 0));
    assert_eq!((all.documents.len(), shape(&all.documents[1])), (2, vec!["u>tu".to_owned(), "r>t".to_owned()]));
    assert_eq!(all.documents[0].model.as_deref(), Some("m"));
    // Neither messages nor steps.
    let all = read(r#"{"trajectory":[3],"info":{}}"#);
    assert!(all.reports[0].skipped[0].why.contains("neither a history nor a trajectory"));
}

/// An event of the agent: an action with the response that asked for it.
fn hands_action(id: u64, response: &str, calls: &[(&str, &str)], at: usize, prompt: u64, cached: u64) -> Value {
    let tool_calls: Vec<Value> = calls
        .iter()
        .map(|(id, path)| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": json!({"path": path}).to_string()}}))
        .collect();
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": cached}, "cache_creation_input_tokens": 10});
    json!({
        "id": id, "timestamp": format!("2026-01-23T16:27:{:02}.291420", id), "source": "agent", "action": "read", "args": {"path": calls[at].1, "thought": "I read."},
        "tool_call_metadata": {"function_name": "read", "tool_call_id": calls[at].0, "total_calls_in_response": calls.len(),
            "model_response": {"id": response, "model": "gpt-5", "usage": usage, "choices": [{"message": {"role": "assistant", "content": "I read.", "tool_calls": tool_calls}}]}}
    })
}

/// An observation, which repeats the response.
fn hands_seen(id: u64, action: &Value, words: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-23T16:27:59.5", "source": "agent", "cause": action["id"], "observation": "read", "content": words,
        "tool_call_metadata": action["tool_call_metadata"], "extras": {}})
}

pub fn hands_events() -> Vec<Value> {
    let two = [("t1", "a"), ("t2", "b")];
    let (first, second) = (hands_action(3, "r1", &two, 0, 100, 0), hands_action(5, "r1", &two, 1, 100, 0));
    vec![
        json!({"id": 0, "timestamp": "2026-01-23T16:27:00", "source": "agent", "action": "system", "args": {"content": "You fix bugs.", "tools": [{"type": "function"}]}}),
        json!({"id": 1, "timestamp": "2026-01-23T16:27:01", "source": "user", "action": "message", "args": {"content": "Fix it.", "image_urls": ["data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY"]}}),
        json!({"id": 2, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {"agent_state": "running"}}),
        first.clone(),
        hands_seen(4, &first, "text of a"),
        second.clone(),
        hands_seen(6, &second, "text of b"),
        json!({"id": 7, "timestamp": "2026-01-23T16:28:01", "source": "agent", "action": "message", "args": {"content": "Done."}}),
    ]
}

#[test]
fn openhands_events_make_calls_by_their_response() {
    for text in [json!(hands_events()).to_string(), lines(&hands_events())] {
        let all = read(text);
        assert_eq!(counts(&all.reports[0]), ("openhands", 2, 2, 0, 0));
        let doc = &all.documents[0];
        // Both uses of one response are one call, whose usage counts once.
        assert_eq!(shape(doc), ["u>tuu", "rr>t"]);
        assert_eq!(usage(doc), [Some((90, 0, 10, 9)), None]);
        assert_eq!(all.reports[0].ignored_types.get("agent_state_changed"), Some(&1));
        assert!(all.reports[0].notes.iter().any(|n| n.contains("without a zone")));
    }
    // An event that is there twice counts once.
    let mut twice = hands_events();
    twice.insert(4, twice[3].clone());
    let all = read(lines(&twice));
    assert_eq!((counts(&all.reports[0]), all.reports[0].duplicates), (("openhands", 2, 2, 0, 0), 1));
    damage(&lines(&hands_events()));
}

#[test]
fn openhands_rows_with_their_metrics() {
    let mut events = hands_events();
    for event in &mut events {
        if let Some(response) = event["tool_call_metadata"]["model_response"].as_object_mut() {
            response.remove("usage");
        }
    }
    let row = |id: &str, events: &[Value]| {
        json!({"instance_id": id, "instruction": "Fix it.", "metadata": {}, "history": events, "error": null,
            "metrics": {"token_usages": [{"response_id": "r1", "prompt_tokens": 200, "cache_read_tokens": 150, "cache_write_tokens": 0, "completion_tokens": 4}]}})
    };
    let all = read(lines(&[row("i", &events), row("j", &events[..3])]));
    assert_eq!(counts(&all.reports[0]), ("openhands", 2, 2, 0, 0));
    assert_eq!(usage(&all.documents[0]), [Some((50, 150, 0, 4)), None]);
    // Old rows: pairs of an action and its observation, and no metadata.
    let run = json!({"source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look."}});
    let seen = json!({"source": "agent", "observation": "run", "content": "a b", "extras": {"metadata": {"suffix": "\n[exit code 0]"}}});
    let end = json!({"source": "agent", "action": "finish", "args": {"thought": "Done."}});
    let mut old = row("k", &[]);
    old["history"] = json!([[{"source": "user", "action": "message", "args": {"content": "Fix it."}}, {"observation": "null", "content": ""}], [run, seen], [end, {}]]);
    let all = read(old.to_string());
    assert_eq!(counts(&all.reports[0]), ("openhands", 2, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t"]);
    // An observation that no action caused is what the model is told.
    let stray = json!({"id": 9, "source": "environment", "observation": "error", "cause": 77, "content": "It failed."});
    let mut events = hands_events();
    events.insert(7, stray);
    assert_eq!(shape(&read(lines(&events)).documents[0]), ["u>tuu", "rru>t"]);
    // A row without a history.
    let broken = json!({"instance_id": "i", "instruction": "x", "metadata": {}, "history": null});
    assert!(read(broken.to_string()).reports[0].skipped[0].why.contains("has no history"));
}

#[test]
fn a_folder_of_openhands_events_is_one_log() {
    let folder = super::cli::Folder::new("events");
    for (i, event) in hands_events().iter().enumerate() {
        folder.write(&format!("session/events/event-{i:05}-0a1b.json"), &serde_json::to_string_pretty(event).unwrap());
    }
    folder.write("session/base_state.json", "{\"id\": 1}");
    // Numbered files that are no events are read one by one.
    folder.write("other/1.json", "{\"a\": 1}");
    folder
        .write("other/2.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi.\"},{\"role\":\"assistant\",\"content\":\"Hello.\"}]}");
    let output = folder.run(&["import", ".", "--out", "out.jsonl"]);
    let report = super::cli::text(&output.stderr);
    assert!(output.status.success(), "{report}");
    assert!(report.contains("session/events (8 events)") && report.contains("other/1.json: looks like"), "{report}");
    assert!(report.contains("2 transcripts, 3 requests"), "{report}");
}

#[test]
fn an_openhands_condensation_begins_another_transcript() {
    let mut events = hands_events();
    events.truncate(7);
    events.push(json!({"id": 7, "source": "agent", "action": "condensation", "args": {"forgotten_events_start_id": 3, "forgotten_events_end_id": 4, "summary": "a was read."}}));
    events.push(hands_action(8, "r2", &[("t3", "c")], 0, 80, 0));
    let all = read(lines(&events));
    assert_eq!((all.documents.len(), all.reports[0].compactions), (2, 1));
    assert_eq!(shape(&all.documents[1]), ["u>tu"]);
    // What is forgotten is not in it, what is kept is.
    let bytes = |forgotten: &[&str]| {
        let mut events = events.clone();
        events[7]["args"] = json!({"forgotten_event_ids": forgotten, "summary": "a was read."});
        events[8]["tool_call_metadata"]["model_response"]["usage"] = Value::Null;
        let all = read(lines(&events));
        all.documents[1].requests[0].input.iter().map(|b| b.tokens).sum::<u32>()
    };
    assert!(bytes(&["1", "3", "4", "6"]) < bytes(&["3", "4"]) && bytes(&["3", "4"]) < bytes(&["3"]));
}

#[test]
fn openhands_newer_events() {
    let action = |id: &str, call: &str, response: &str, thought: &str| {
        json!({"id": id, "timestamp": "2026-01-23T16:27:00.1", "source": "agent", "kind": "ActionEvent", "thought": [{"type": "text", "text": thought}],
            "action": {"kind": "TerminalAction", "command": "ls"}, "tool_name": "terminal", "tool_call_id": call, "llm_response_id": response,
            "tool_call": {"id": call, "name": "terminal", "arguments": "{\"command\":\"ls\"}", "origin": "completion"}})
    };
    let seen = |id: &str, call: &str| {
        json!({"id": id, "source": "environment", "kind": "ObservationEvent", "tool_name": "terminal", "tool_call_id": call, "action_id": "x",
            "observation": {"kind": "TerminalObservation", "content": [{"type": "text", "text": "a b"}]}})
    };
    let log = [
        json!({"id": "e0", "source": "agent", "kind": "SystemPromptEvent", "system_prompt": {"type": "text", "text": "S."}, "tools": []}),
        json!({"id": "e1", "source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": [{"type": "text", "text": "Fix it."}]}, "extended_content": []}),
        action("e2", "t1", "r1", "Two at once."),
        action("e3", "t2", "r1", ""),
        seen("e4", "t1"),
        json!({"id": "e5", "source": "agent", "kind": "AgentErrorEvent", "tool_name": "terminal", "tool_call_id": "t2", "error": "no such tool"}),
        json!({"id": "e6", "source": "environment", "kind": "ConversationStateUpdateEvent", "key": "x"}),
        json!({"id": "e7", "source": "agent", "kind": "MessageEvent", "llm_message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}}),
    ];
    let all = read(lines(&log));
    assert_eq!(counts(&all.reports[0]), ("openhands", 2, 2, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tuu", "rr>t"]);
    damage(&lines(&log));
}

fn inspect_call(n: usize, input: Value, message: &Value, usage: Value) -> Value {
    let output = json!({"model": "gpt-4o-mini-2024-07-18", "choices": [{"message": message, "stop_reason": "stop"}], "usage": usage});
    json!({"event": "model", "timestamp": format!("2025-05-12T20:27:{n:02}-04:00"), "model": "openai/gpt-4o-mini", "input": input,
        "tools": [{"name": "go", "description": "attachment://tool", "parameters": {}}], "output": output})
}

/// Four messages: a task, a use, its result, the answer.
fn inspect_messages() -> [Value; 4] {
    [
        json!({"id": "m0", "role": "user", "content": "attachment://task"}),
        json!({"id": "m1", "role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}],
            "tool_calls": [{"id": "call_0123456789abcdef", "function": "go", "arguments": {"url": "x"}}]}),
        json!({"id": "m2", "role": "tool", "tool_call_id": "call_0123456789abcdef", "function": "go", "content": "", "error": {"type": "timeout", "message": "It took too long."}}),
        json!({"id": "m3", "role": "assistant", "content": "Done."}),
    ]
}

pub fn inspect_sample(id: u64) -> Value {
    let [task, mut asked, told, mut answer] = inspect_messages();
    let used = |input: u64, read: u64, total: u64| json!({"input_tokens": input, "output_tokens": 9, "total_tokens": total, "input_tokens_cache_read": read});
    (asked["id"], answer["id"]) = (json!(format!("m1 of {id}")), json!(format!("m3 of {id}")));
    json!({
        "id": id, "epoch": 1, "uuid": format!("u{id}"), "input": "x", "messages": inspect_messages(),
        "attachments": {"task": "Go there and look, and tell me what there is to see.", "tool": "Goes to a place."},
        "events": [
            {"event": "state"},
            inspect_call(1, json!([task]), &asked, used(100, 0, 109)),
            {"event": "tool", "id": "call_0123456789abcdef", "function": "go", "result": ""},
            inspect_call(9, json!([task, asked, told]), &answer, used(150, 90, 159)),
            {"event": "model", "input": [task], "output": {"choices": []}, "error": "refused"}
        ]
    })
}

pub fn inspect_log(samples: Value) -> Value {
    json!({"version": 2, "status": "success", "eval": {"run_id": "r", "model": "openai/gpt-4o-mini"}, "samples": samples})
}

fn archive(files: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    use std::io::Write as _;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn inspect_model_events_are_calls() {
    let log = inspect_log(json!([inspect_sample(1), inspect_sample(2)]));
    let all = read(serde_json::to_string_pretty(&log).unwrap());
    // The samples are alike and two all the same.
    assert_eq!(counts(&all.reports[0]), ("inspect", 4, 2, 0, 0));
    assert_eq!(all.documents.len(), 2);
    let doc = &all.documents[0];
    assert_eq!(shape(doc), ["u>tu", "r>t"]);
    assert_eq!(usage(doc), [Some((100, 0, 0, 9)), Some((60, 90, 0, 9))]);
    assert_eq!(all.reports[0].ignored_types.get("failed_request"), Some(&2));
    // Input that the events name by number in a pool.
    let mut pooled = inspect_sample(1);
    pooled["message_pool"] = json!(inspect_messages());
    for (event, refs) in [(1, json!([[0, 1]])), (3, json!([[0, 1], [1, 3]]))] {
        pooled["events"][event]["input"] = json!([]);
        pooled["events"][event]["input_refs"] = refs;
    }
    let other = read(inspect_log(json!([pooled])).to_string());
    assert_eq!(other.documents[0].requests, doc.requests);
    // A reference past the pool's end: the call is left out, and said so.
    let mut past = pooled.clone();
    past["events"][3]["input_refs"] = json!([[7, 9], [3, 1], "x"]);
    let all = read(inspect_log(json!([past])).to_string());
    assert_eq!((all.reports[0].requests, all.reports[0].ignored_types.get("request_without_input")), (1, Some(&1)));
    // Without events: the messages, and no usage.
    let mut bare = inspect_sample(4);
    bare["events"] = json!([]);
    let all = read(inspect_log(json!([bare])).to_string());
    assert_eq!((counts(&all.reports[0]), all.reports[0].requests_with_usage), (("inspect", 2, 1, 0, 0), 0));
    // Another cache's answer was not billed.
    let mut cached = inspect_sample(5);
    cached["events"][3]["cache"] = json!("read");
    assert_eq!(read(inspect_log(json!([cached])).to_string()).reports[0].requests_with_usage, 1);
    damage(&log.to_string());
}

#[test]
fn inspect_archives_deflated_stored_and_zstd() {
    let sample = |id: u64| inspect_sample(id).to_string().into_bytes();
    let files = [
        ("_journal/start.json", b"{}".to_vec()),
        ("samples/1_epoch_1.json", sample(1)),
        ("samples/2_epoch_1.json", b"{\"id\": 2, \"cut".to_vec()),
        ("samples/3_epoch_1.json", sample(3)),
        ("header.json", b"{}".to_vec()),
    ];
    for method in [zip::CompressionMethod::Deflated, zip::CompressionMethod::Stored] {
        let all = read(archive(&files, method));
        assert_eq!(counts(&all.reports[0]), ("inspect", 4, 2, 0, 0));
        // The cut sample is named and costs the others nothing.
        assert_eq!((all.reports[0].skipped_records, all.reports[0].skipped[0].line), (1, 3));
        assert_eq!(usage(&all.documents[1]), [Some((100, 0, 0, 9)), Some((60, 90, 0, 9))]);
    }
    // zstd: the data as it is, under the method's number.
    let packed = ruzstd::encoding::compress_to_vec(sample(1).as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    let with_method = |bytes: Vec<u8>, method: u8| {
        let mut zip = archive(&[("samples/1_epoch_1.json", bytes)], zip::CompressionMethod::Stored);
        let directory = zip.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        (zip[8], zip[directory + 10]) = (method, method);
        zip
    };
    assert_eq!(counts(&read(with_method(packed, 93)).reports[0]), ("inspect", 2, 1, 0, 0));
    let all = read(with_method(sample(1), 12));
    assert!(all.reports[0].skipped[0].why.contains("deflate and zstd are"), "{:?}", all.reports[0].skipped);
    // Cut, and damaged anywhere.
    let whole = archive(&files, zip::CompressionMethod::Deflated);
    let all = read(&whole[..whole.len() / 2]);
    assert!(all.reports[0].skipped[0].why.contains("cut or damaged"), "{:?}", all.reports[0].skipped);
    for at in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        assert_eq!(read(damaged).reports.len(), 1);
    }
    // A zip archive of something else.
    let all = read(archive(&[("word/document.xml", b"x".to_vec())], zip::CompressionMethod::Deflated));
    assert!(all.reports[0].error.as_ref().unwrap().contains("looks like a zip archive"), "{:?}", all.reports[0].error);
}

#[test]
fn samples_have_the_counts_of_an_independent_reader() {
    let Some(dir) = super::shared::folder("real") else { return };
    // Requests, of these with usage, uses, prompt tokens uncached, read and written, output.
    for (name, expected) in [
        ("swe-agent/swe-agent-1.traj", (13, 0, 13, 0, 0, 0, 0)),
        ("swe-agent/swe-agent-2.traj", (12, 0, 12, 0, 0, 0, 0)),
        ("swe-agent/swe-agent-3.traj", (12, 0, 12, 0, 0, 0, 0)),
        ("openhands/openhands-1.jsonl", (20, 20, 20, 323_582, 218_496, 0, 14_908)),
        // Its last words were said without usage.
        ("openhands/openhands-2.json", (5, 4, 4, 5_504 - 5_482, 11_793, 5_482, 2_024)),
        ("openhands/openhands-3.json", (4, 4, 4, 3_949 - 3_927, 10_879, 3_927, 358)),
        // The totals say that the input includes what the cache gave.
        ("inspect/inspect-1.json", (5, 5, 4, 15_235 - 9_088, 9_088, 0, 281)),
        ("inspect/inspect-2.json", (1, 1, 0, 66, 0, 0, 3)),
        ("inspect/inspect-3.eval", (6, 0, 5, 0, 0, 0, 0)),
        // Results only, and no call.
        ("inspect/inspect-4.json", (0, 0, 0, 0, 0, 0, 0)),
    ] {
        let mut ingest = Ingest::new(Options::default());
        ingest.read(name, std::fs::File::open(dir.join(name)).unwrap());
        let all = ingest.finish();
        let report = &all.reports[0];
        let u = report.usage;
        let written = u.cache_write_5m + u.cache_write_1h;
        let got = (report.requests, report.requests_with_usage, report.tool_uses, u.input, u.cache_read, written, u.output);
        assert_eq!(got, expected, "{name}");
        assert!(report.error.is_none() && report.skipped_records == 0, "{name}");
    }
}
