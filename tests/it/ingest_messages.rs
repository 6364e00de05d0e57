//! The rules of Messages API logs, each on a small log written for it.

use std::fmt::Write as _;

use cleartune::ingest::{FileReport, Options};
use cleartune::trace::Document;
use serde_json::{Value, json};

use super::ingest_claude_code::{prompts, read_all, usage};

fn read(text: &str) -> (Vec<Document>, FileReport) {
    let all = read_all(&[text], Options::default());
    (all.documents, all.reports.into_iter().next().unwrap())
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn says(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn uses(id: &str, name: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": name, "input": {"path": "a"}}])
}

fn answered(content: &Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
}

fn response(id: &str, content: &Value, usage: Value) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": content, "stop_reason": "end_turn", "usage": usage})
}

fn request(messages: &[&Value]) -> Value {
    json!({"model": "claude-sonnet-4-6", "max_tokens": 9, "system": "be good", "tools": [{"name": "read"}], "messages": messages})
}

pub fn pair(request: Value, response: Value) -> Value {
    json!({"request": {"body": request}, "response": {"body": response}})
}

fn lines(records: &[Value]) -> String {
    records.iter().fold(String::new(), |mut all, r| {
        writeln!(all, "{r}").unwrap();
        all
    })
}

/// Ids as long as the API's.
const A: &str = "toolu_aaaaaaaaaaaaaaaa";

/// Three calls of one conversation; `wrap` makes the record of a call.
pub fn three(wrap: impl Fn(Value, Value) -> Value) -> Vec<Value> {
    let (q, use_a, got) = (user("read it"), uses(A, "read"), result(A, "what the file holds"));
    let (first, thanks) = (says("it holds a thing"), user("and now?"));
    let (a1, a2) = (answered(&use_a), answered(&first));
    vec![
        wrap(request(&[&q]), response("m1", &use_a, usage(5, 0, 1000, 50))),
        wrap(request(&[&q, &a1, &got]), response("m2", &first, usage(5, 1000, 100, 10))),
        wrap(request(&[&q, &a1, &got, &a2, &thanks]), response("m3", &says("nothing"), usage(5, 1100, 20, 3))),
    ]
}

#[test]
fn requests_that_repeat_their_history_are_one_conversation() {
    let (docs, report) = read(&lines(&three(pair)));
    assert_eq!((report.format, docs.len()), (Some("messages_api"), 1));
    assert_eq!((report.requests, report.requests_with_usage, report.tool_uses, report.orphan_uses), (3, 3, 1, 0));
    assert_eq!(prompts(&docs[0]), [1005, 1105, 1125]);
    assert_eq!(docs[0].requests[1].input.iter().map(|b| b.kind.as_str()).collect::<Vec<_>>(), ["result"]);
    assert_eq!(docs[0].model.as_deref(), Some("claude-sonnet-4-6"));
}

#[test]
fn every_wrapper_and_every_order_reads_the_same() {
    let expected = read(&lines(&three(pair))).0;
    let mut backwards = three(pair);
    backwards.reverse();
    assert_eq!(read(&lines(&backwards)).0, expected);
    assert_eq!(read(&lines(&three(|q, a| json!({"request": q, "response": a})))).0, expected);
    assert_eq!(read(&Value::Array(three(pair)).to_string()).0, expected);
    assert_eq!(read(&serde_json::to_string_pretty(&three(pair)).unwrap()).0, expected);
    let texts = three(|q, a| json!({"request_body": q.to_string(), "response_body": a.to_string()}));
    assert_eq!(read(&lines(&texts)).0, expected);
}

#[test]
fn moved_breakpoints_and_reminders_do_not_part_a_conversation() {
    let mut records = three(pair);
    for (i, record) in records.iter_mut().enumerate() {
        let messages = record["request"]["body"]["messages"].as_array_mut().unwrap();
        let last = messages.last_mut().unwrap();
        if let Value::String(text) = &last["content"] {
            last["content"] = says(text);
        }
        last["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        last["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": format!("<system-reminder>{i}</system-reminder>")}));
    }
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, prompts(&docs[0])), (1, 3, vec![1005, 1105, 1125]));
}

#[test]
fn the_same_response_twice_counts_once() {
    let mut records = three(pair);
    records.extend(three(pair));
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, report.duplicates), (1, 3, 3));
}

#[test]
fn a_retry_is_a_transcript_of_its_own_and_the_kept_answer_goes_on() {
    let mut records = three(pair);
    let retried = pair(records[1]["request"]["body"].clone(), response("m2b", &says("another answer"), usage(5, 1000, 100, 9)));
    records.insert(1, retried);
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, report.duplicates), (2, 4, 0));
    assert_eq!((docs[0].requests.len(), docs[1].requests.len()), (3, 1));
    assert_eq!(prompts(&docs[1]), [1105], "the history before it enters as client text");
}

#[test]
fn another_prefix_is_another_conversation_and_in_one_session_a_compaction() {
    let mut records = three(pair);
    let summary = user("summary of before");
    records.push(pair(request(&[&summary]), response("m4", &says("ok"), usage(5, 0, 300, 3))));
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.compactions), (2, 0));
    assert_ne!(docs[0].session, docs[1].session);
    for record in &mut records {
        record["request"]["body"]["metadata"] = json!({"user_id": "user_1_session_77"});
    }
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.compactions, report.sub_agent_transcripts), (2, 1, 0));
    assert_eq!(docs[0].session, docs[1].session);
}

#[test]
fn a_title_call_is_a_side_call_of_its_session() {
    let mut records = three(
        |q, a| json!({"request": {"timestamp": 1_760_000_000.5, "url": "https://api.anthropic.com/v1/messages", "body": q}, "response": {"status_code": 200, "body": a}, "logged_at": "2025-10-09T08:53:21Z"}),
    );
    let q = user("read it");
    let title = json!({"model": "claude-haiku-4-5", "system": "write a title", "messages": [q]});
    records.insert(0, json!({"request": {"timestamp": 1_760_000_000.0, "body": title}, "response": {"body": response("t", &says("Reading"), usage(30, 0, 0, 2))}, "logged_at": "x"}));
    records.push(json!({"request": {"url": "https://api.anthropic.com/v1/messages/count_tokens", "body": request(&[&q])}, "response": {"body": {"input_tokens": 3}}, "logged_at": "x"}));
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, report.sub_agent_transcripts), (2, 4, 1));
    assert_eq!(docs[0].session, docs[1].session);
    assert_eq!(report.ignored_types.get("other_request"), Some(&1));
}

/// The stream of an answer with thinking, text and a use.
fn stream(cut: usize) -> String {
    let events = [
        json!({"type": "message_start", "message": {"id": "m1", "model": "claude-sonnet-4-6", "usage": {"input_tokens": 5, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 0, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "xxxx"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": A, "name": "read", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"pa"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "th\": \"a\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 50}, "context_management": {"applied_edits": []}}),
        json!({"type": "message_stop"}),
    ];
    events.iter().take(cut).fold(String::new(), |mut all, e| {
        write!(all, "event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap()).unwrap();
        all
    })
}

#[test]
fn streams_are_put_together_and_cut_ones_kept_as_far_as_they_go() {
    let mut records = three(pair);
    records[0]["response"] = json!({"status_code": 200, "body_raw": stream(99)});
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, report.usage.output), (1, 3, 63));
    assert_eq!(docs[0].requests[0].output.iter().map(|b| b.kind.as_str()).collect::<Vec<_>>(), ["thinking", "use"]);
    assert_eq!(docs[0].requests[0].output.iter().map(|b| b.tokens).sum::<u32>(), 50);
    for cut in 1..11 {
        records[0]["response"] = json!({"status_code": 200, "body_raw": stream(cut)});
        let (docs, report) = read(&lines(&records));
        assert_eq!((docs.len(), report.requests, report.requests_with_usage), (1, 3, 3), "cut after {cut} events");
        assert_eq!((report.tool_uses, report.orphan_results), (1, 0), "the next request shows the answer");
    }
    let alone = json!({"request": {"body": request(&[&user("read it")])}, "response": {"body_raw": &stream(99)[..700]}});
    assert_eq!(read(&lines(&[alone])).1.requests, 1);
}

#[test]
fn a_failed_request_is_none_and_an_unanswered_one_is_one_unless_tried_again() {
    let mut records = three(pair);
    let asked = records[1]["request"].clone();
    records.insert(1, json!({"request": asked, "response": {"status_code": 529, "body": {"type": "error", "error": {}}}}));
    records.insert(1, json!({"request": asked, "response": null}));
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests), (1, 3));
    assert_eq!((report.ignored_types.get("failed_request"), report.ignored_types.get("unanswered_request")), (Some(&1), Some(&1)));
    let alone = json!({"request": records[0]["request"], "response": null});
    let (docs, report) = read(&lines(&[alone]));
    assert_eq!((docs.len(), report.requests, report.requests_with_usage), (1, 1, 0));
}

#[test]
fn a_lost_call_is_known_by_its_answer_in_the_next_request() {
    let mut records = three(pair);
    records.remove(1);
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, report.requests_with_usage), (1, 3, 2));
    assert_eq!(docs[0].requests[2].usage.unwrap().prompt(), prompts(&docs[0])[2]);
}

#[test]
fn breakpoints_of_an_hour_make_writes_of_an_hour() {
    let with = |control: Value| {
        let mut records = three(pair);
        for record in &mut records {
            record["request"]["body"]["cache_control"] = control.clone();
        }
        let (docs, report) = read(&lines(&records));
        (docs[0].requests[0].ttl_ms, report.usage.cache_write_1h)
    };
    assert_eq!(with(json!({"type": "ephemeral", "ttl": "1h"})), (Some(3_600_000), 1120));
    assert_eq!(with(json!({"type": "ephemeral"})), (None, 0));
    assert_eq!(with(Value::Null), (None, 0));
    let mut records = three(pair);
    records[0]["response"]["body"]["usage"]["cache_creation"] = json!({"ephemeral_1h_input_tokens": 400, "ephemeral_5m_input_tokens": 600});
    assert_eq!(read(&lines(&records)).1.usage.cache_write_1h, 400);
}

#[test]
fn a_bare_body_is_a_conversation_without_usage_whose_base_is_its_own() {
    let (q, use_a, got) = (user("read it"), uses(A, "read"), result(A, "what the file holds"));
    let (a1, a2) = (answered(&use_a), answered(&says("it holds a thing")));
    let body = json!({"system": "x".repeat(3400), "tools": [], "messages": [q, a1, got, a2]});
    for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap()] {
        let (docs, report) = read(&text);
        assert_eq!((docs.len(), report.requests, report.requests_with_usage, report.tool_uses, report.orphan_uses), (1, 2, 0, 1, 0));
        assert_eq!(docs[0].base_tokens, 1000);
    }
    let waiting = json!({"system": "x", "messages": [q, a1, got, a2, user("and now?")]});
    assert_eq!(read(&waiting.to_string()).1.requests, 3);
    let list = json!({"messages": [q, a1, got, a2, user("and now?")]});
    let (docs, report) = read(&list.to_string());
    assert_eq!((docs.len(), report.requests), (1, 2), "a list of messages is no request that waits for its answer");
    let bare = lines(&[q, a1, got, a2]);
    assert_eq!(read(&bare).1.requests, 2);
}

#[test]
fn server_side_tools_are_output_text() {
    let content = json!([
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "zzz"}]},
        {"type": "text", "text": "found"},
    ]);
    let (docs, report) = read(&lines(&[pair(request(&[&user("find")]), response("m", &content, usage(5, 0, 1000, 60)))]));
    assert_eq!((report.tool_uses, report.orphan_uses), (0, 0));
    assert_eq!(docs[0].requests[0].output.iter().map(|b| b.kind.as_str()).collect::<Vec<_>>(), ["text", "text", "text"]);
}

#[test]
fn litellm_payloads_group_by_trace_and_pair_reused_ids_by_position() {
    let call = |n: u32, messages: Value, message: Value| {
        json!({"id": format!("c{n}"), "trace_id": "t", "call_type": "acompletion", "model": "claude-sonnet-4-6", "startTime": 1_760_000_000.0 + f64::from(n), "endTime": 1_760_000_001.0 + f64::from(n),
            "messages": messages, "response": {"id": "x", "choices": [{"message": message, "finish_reason": "stop"}]}, "prompt_tokens": 1000 + 100 * n, "completion_tokens": 20,
            "metadata": {"usage_object": {"prompt_tokens": 1000 + 100 * n, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 900}, "cache_creation_input_tokens": 50}}})
    };
    let tool = |city: &str| json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": format!("{{\"city\":\"{city}\"}}")}}]});
    let got = |text: &str| json!({"role": "tool", "tool_call_id": "call_0", "content": text});
    let (s, q) = (json!({"role": "system", "content": "be good"}), user("weather?"));
    let (a, b) = (tool("Bonn"), tool("Ulm"));
    let records = [
        call(0, json!([s, q]), a.clone()),
        call(1, json!([s, q, a, got("rain")]), b.clone()),
        call(2, json!([s, q, a, got("rain"), b, got("sun")]), json!({"role": "assistant", "content": "rain and sun"})),
    ];
    let (docs, report) = read(&lines(&records));
    assert_eq!((docs.len(), report.requests, report.tool_uses, report.orphan_uses, report.orphan_results), (1, 3, 2, 0, 0));
    assert_eq!((report.usage.input, report.usage.cache_read, report.usage.cache_write_5m), (50 + 150 + 250, 2700, 150));
    assert_eq!(prompts(&docs[0]), [1000, 1100, 1200]);
    assert_eq!(docs[0].requests[1].at_ms, 1000);
    let mut hit = records.clone();
    hit[2]["cache_hit"] = json!(true);
    assert_eq!(read(&lines(&hit)).1.requests_with_usage, 2);
    let mut redacted = records;
    for record in &mut redacted {
        record["messages"] = json!([{"role": "user", "content": "redacted-by-litellm"}]);
        record["response"] = json!({"text": "redacted-by-litellm"});
    }
    let (docs, report) = read(&lines(&redacted));
    assert_eq!((docs.len(), report.requests_with_usage, prompts(&docs[0])), (1, 3, vec![1000, 1100, 1200]));
    assert!(report.notes.iter().any(|n| n.contains("redacted")), "{:?}", report.notes);
}

#[test]
fn broken_records_are_named_and_the_rest_is_read() {
    let mut text = lines(&three(pair));
    let whole = read(&text).0;
    text.push_str("{\"request\": {\"body\": {\"messages\": [\n12\n{\"request\": 5, \"response\": [1]}\n{\"request\": {\"body\": {\"messages\": 7}}, \"response\": {\"body\": \"data: {\"}}\n");
    let (docs, report) = read(&text);
    assert_eq!(docs, whole);
    assert!(report.skipped_records >= 1 && report.skipped[0].line >= 4, "{:?}", report.skipped);
    for cut in (0..text.len()).step_by(97).filter(|&c| text.is_char_boundary(c)) {
        read(&text[..cut]);
    }
}

#[test]
fn other_formats_with_messages_are_not_taken() {
    for text in
        [r#"{"info":{},"messages":[],"trajectory_format":"mini-swe-agent-1"}"#, r#"{"sessionId":"s","projectHash":"p","messages":[]}"#]
    {
        assert_ne!(read(text).1.format, Some("messages_api"));
    }
    assert_eq!(read(r#"{"samples":[],"messages":[]}"#).1.format, None);
}

#[test]
fn the_same_call_again_has_the_same_key() {
    let call = |id: &str, path: &str| json!([{"type": "tool_use", "id": id, "name": "read", "input": {"path": path}}]);
    let (b, c) = ("toolu_bbbbbbbbbbbbbbbb", "toolu_cccccccccccccccc");
    let q = user("read it");
    let mut history = vec![q];
    let mut records = Vec::new();
    for (i, (id, path)) in [(A, "one"), (b, "two"), (c, "one")].into_iter().enumerate() {
        let content = call(id, path);
        records.push(pair(request(&history.iter().collect::<Vec<_>>()), response(&format!("m{i}"), &content, usage(5, 0, 100, 5))));
        history.push(answered(&content));
        history.push(result(id, "what it holds"));
    }
    let (docs, _) = read(&lines(&records));
    let keys: Vec<Option<&str>> =
        docs[0].requests.iter().flat_map(|r| &r.output).filter(|b| b.kind == "use").map(|b| b.key.as_deref()).collect();
    assert_eq!(keys, [Some("call-0"), None, Some("call-0")]);
}
