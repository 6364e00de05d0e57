//! Other logs of requests: `OpenAI`'s Responses API, `OpenTelemetry` spans, `LangChain` dumps, rows of datasets.

use std::fmt::Write as _;

use cleartune::ingest::{FileReport, Ingest, Ingested, Options};
use cleartune::trace::Document;
use serde_json::{Value, json};

fn read(text: &str) -> Ingested {
    let mut ingest = Ingest::new(Options::default());
    ingest.read("log", text.as_bytes());
    ingest.finish()
}

fn lines(values: &[Value]) -> String {
    values.iter().fold(String::new(), |mut all, v| {
        let _ = writeln!(all, "{v}");
        all
    })
}

/// Format, requests, those with usage, uses, orphan uses and results.
fn counts(report: &FileReport) -> (&str, u64, u64, u64, u64, u64) {
    let r = report;
    (r.format.unwrap_or("none"), r.requests, r.requests_with_usage, r.tool_uses, r.orphan_uses, r.orphan_results)
}

/// Kinds of the blocks of each request, input and output.
fn shape(doc: &Document) -> Vec<String> {
    let kinds = |blocks: &[cleartune::trace::Block]| blocks.iter().map(|b| b.kind.chars().next().unwrap()).collect::<String>();
    doc.requests.iter().map(|r| format!("{}>{}", kinds(&r.input), kinds(&r.output))).collect()
}

fn usage(doc: &Document) -> Vec<Option<(u64, u64, u64, u64)>> {
    doc.requests.iter().map(|r| r.usage.map(|u| (u.input, u.cache_read, u.cache_write_5m + u.cache_write_1h, u.output))).collect()
}

/// Every kind of damage gives a report and no panic.
fn damage(text: &str) {
    for end in (1..text.len()).step_by(11).filter(|&end| text.is_char_boundary(end)) {
        assert_eq!(read(&text[..end]).reports.len(), 1);
    }
    for (from, to) in [("\"user\"", "null"), ("[", "{\"a\":["), (":", ":-1e999,\"x\":"), ("\"id\"", "\"content\""), ("{", "[")] {
        assert_eq!(read(&text.replace(from, to)).reports.len(), 1);
    }
}

const CALL: &str = "call_0123456789abcdef";

fn asked() -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a."}]})
}

/// A thought and two calls, one of them the provider's own.
fn used() -> [Value; 3] {
    [
        json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]}),
        json!({"type": "web_search_call", "id": "ws", "action": {"query": "a"}}),
        json!({"type": "function_call", "call_id": CALL, "name": "read", "arguments": "{\"path\":\"a\"}"}),
    ]
}

fn output() -> Value {
    json!({"type": "function_call_output", "call_id": CALL, "output": "text of a"})
}

fn said() -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]})
}

fn responded(id: &str, output: &[Value], input: u64, cached: u64, previous: Option<&str>) -> Value {
    json!({"id": id, "object": "response", "status": "completed", "model": "gpt-5", "output": output, "previous_response_id": previous, "created_at": 1_763_511_580,
        "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": 7}})
}

/// Two calls of one conversation: the second sends its history, or names the response before it.
pub fn responses(chained: bool) -> Vec<Value> {
    let [thought, search, call] = used();
    let request = |input: Value, previous: Option<&str>| json!({"model": "gpt-5", "instructions": "Be brief.", "tools": [{"type": "function", "name": "read"}], "input": input, "previous_response_id": previous});
    let second =
        if chained { request(json!([output()]), Some("resp_1")) } else { request(json!([asked(), thought, search, call, output()]), None) };
    let previous = chained.then_some("resp_1");
    vec![
        json!({"request": request(json!([asked()]), None), "response": responded("resp_1", &used(), 100, 0, None)}),
        json!({"request": second, "response": responded("resp_2", &[said()], 150, 90, previous)}),
    ]
}

#[test]
fn responses_make_conversations_by_their_history_or_by_the_one_before() {
    for log in [responses(false), responses(true)] {
        let all = read(&lines(&log));
        assert_eq!(counts(&all.reports[0]), ("messages_api", 2, 2, 1, 0, 0));
        assert_eq!(all.documents.len(), 1);
        // Thinking, the search and the call; the result; the words.
        assert_eq!(shape(&all.documents[0]), ["u>ttu", "r>t"]);
        assert_eq!(usage(&all.documents[0]), [Some((100, 0, 0, 7)), Some((60, 90, 0, 7))]);
        damage(&lines(&log));
    }
    // A chain whose beginning is not in the log: the call is there, what came before is not.
    let all = read(&lines(&responses(true)[1..]));
    assert_eq!(counts(&all.reports[0]), ("messages_api", 1, 1, 0, 0, 1));
}

#[test]
fn responses_bare_streamed_and_as_items() {
    // A request's body and its response in one object, the input plain text.
    let mut one = json!({"model": "gpt-5", "input": "Read a."});
    one["response"] = responded("resp_1", &used(), 100, 0, None);
    assert_eq!(counts(&read(&lines(&[one])).reports[0]), ("messages_api", 1, 1, 1, 1, 0));
    // Streams: the last event repeats the response.
    let mut log = responses(true);
    for pair in &mut log {
        let created = json!({"type": "response.created", "response": {"id": "x", "output": []}});
        let done = json!({"type": "response.completed", "response": pair["response"]});
        pair["response"] =
            json!({"body": format!("event: response.created\ndata: {created}\n\nevent: response.completed\ndata: {done}\n\n")});
    }
    let all = read(&lines(&log));
    assert_eq!((counts(&all.reports[0]), all.documents.len()), (("messages_api", 2, 2, 1, 0, 0), 1));
    // A failed stream is no request.
    log[1]["response"] = json!({"body": "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{}}\n\n"});
    assert_eq!(read(&lines(&log)).reports[0].requests, 1);
    // Bare items.
    let [thought, search, call] = used();
    let all = read(&lines(&[asked(), thought, search, call, output(), said()]));
    assert_eq!(counts(&all.reports[0]), ("messages_api", 2, 0, 1, 0, 0));
    // Responses alone: only what they used is known.
    let all = read(&lines(&[responded("resp_1", &used(), 100, 0, None), responded("resp_2", &[said()], 150, 90, Some("resp_1"))]));
    assert_eq!((all.reports[0].requests_with_usage, all.reports[0].usage.cache_read), (2, 90));
}

#[test]
fn rows_whose_messages_are_text_or_bare() {
    let call = json!([{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]);
    let messages = |n: u64| {
        json!([
            {"role": "system", "content": "S."}, {"role": "user", "content": format!("Fix {n}.")},
            {"role": "assistant", "content": "I look.", "tool_calls": call},
            {"role": "tool", "tool_call_id": "c", "content": "a b"}, {"role": "assistant", "content": "Done."}
        ])
    };
    let text = |n: u64| json!({"messages": messages(n).to_string(), "instance_id": format!("i{n}"), "resolved": true, "traj_id": format!("t{n}"), "model": "m"});
    let list = |n: u64| json!({"messages": messages(n), "instance_id": format!("i{n}"), "resolved": true});
    for rows in [[text(1), text(2)], [list(1), list(2)]] {
        let all = read(&lines(&rows));
        assert_eq!(counts(&all.reports[0]), ("messages_api", 4, 0, 2, 0, 0));
        assert_eq!((all.documents.len(), shape(&all.documents[0])), (2, vec!["u>tu".to_owned(), "r>t".to_owned()]));
    }
    damage(&lines(&[text(1)]));
}

/// Messages of the conventions.
fn otel_messages(upto: usize) -> Value {
    let all = [
        json!({"role": "user", "parts": [{"type": "text", "content": "Read a."}]}),
        json!({"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "tool_call", "id": CALL, "name": "read", "arguments": {"path": "a"}}]}),
        json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": CALL, "response": "text of a"}]}),
    ];
    json!(all[..upto])
}

fn otel_span(n: u64, operation: &str, mut attributes: Value) -> Value {
    attributes["gen_ai.operation.name"] = json!(operation);
    attributes["gen_ai.request.model"] = json!("claude-sonnet-4-6");
    json!({"name": "chat", "context": {"trace_id": "0xabc", "span_id": format!("0x{n}")}, "start_time": format!("2026-01-01T00:00:0{n}.000000Z"), "attributes": attributes, "events": []})
}

pub fn otel_log() -> Vec<Value> {
    let used = |prompt: u64, read: u64| json!({"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": 7, "gen_ai.usage.cache_read.input_tokens": read});
    let mut first = used(100, 0);
    first["gen_ai.input.messages"] = json!(otel_messages(1).to_string());
    first["gen_ai.output.messages"] = json!(json!([otel_messages(2)[1]]).to_string());
    first["gen_ai.system_instructions"] = json!("[{\"type\":\"text\",\"content\":\"Be brief.\"}]");
    let mut second = used(150, 90);
    second["gen_ai.input.messages"] = otel_messages(3);
    second["gen_ai.output.messages"] =
        json!([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}]);
    second["gen_ai.system_instructions"] = first["gen_ai.system_instructions"].clone();
    // Spans are written when they end: the tool's first, the agent's last.
    vec![
        otel_span(1, "chat", first),
        otel_span(2, "execute_tool", json!({"gen_ai.tool.call.id": CALL})),
        otel_span(3, "chat", second),
        otel_span(0, "invoke_agent", used(250, 90)),
    ]
}

#[test]
fn spans_of_model_calls_are_requests_and_those_of_agents_are_not() {
    let all = read(&lines(&otel_log()));
    assert_eq!(counts(&all.reports[0]), ("otel_genai", 2, 2, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t"]);
    assert_eq!(usage(&all.documents[0]), [Some((100, 0, 0, 7)), Some((60, 90, 0, 7))]);
    assert_eq!(all.reports[0].ignored_types.keys().collect::<Vec<_>>(), ["execute_tool", "invoke_agent"]);
    // As OTLP wraps them.
    let pairs = |attributes: &Value| {
        let value = |v: &Value| match v {
            Value::Number(n) => json!({"intValue": n.to_string()}),
            Value::String(s) => json!({"stringValue": s}),
            other => json!({"stringValue": other.to_string()}),
        };
        attributes.as_object().unwrap().iter().map(|(k, v)| json!({"key": k, "value": value(v)})).collect::<Vec<_>>()
    };
    let spans: Vec<Value> = otel_log()
        .iter()
        .enumerate()
        .map(|(i, s)| json!({"traceId": "abc", "spanId": i.to_string(), "startTimeUnixNano": format!("17672256{i:02}000000000"), "attributes": pairs(&s["attributes"])}))
        .collect();
    let wrapped = read(&lines(&[json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]})]));
    assert_eq!(counts(&wrapped.reports[0]), ("otel_genai", 2, 2, 1, 0, 0));
    assert_eq!((shape(&wrapped.documents[0]), usage(&wrapped.documents[0])), (shape(&all.documents[0]), usage(&all.documents[0])));
    damage(&lines(&otel_log()));
}

#[test]
fn spans_without_content_or_with_cut_content_have_their_usage() {
    let mut log = otel_log();
    for span in &mut log {
        let attributes = span["attributes"].as_object_mut().unwrap();
        attributes.retain(|key, _| !key.ends_with("messages"));
    }
    let all = read(&lines(&log));
    assert_eq!(all.reports[0].requests_with_usage, 2);
    assert!(all.reports[0].notes.iter().any(|n| n.contains("redacted")), "{:?}", all.reports[0].notes);
    let mut log = otel_log();
    let cut = otel_messages(1).to_string();
    log[0]["attributes"]["gen_ai.input.messages"] = json!(cut[..20]);
    let all = read(&lines(&log));
    assert!(all.reports[0].notes.iter().any(|n| n.starts_with("1 attributes are no whole JSON")), "{:?}", all.reports[0].notes);
    assert_eq!(all.reports[0].requests_with_usage, 2);
}

#[test]
fn spans_of_older_versions_have_their_messages_as_events() {
    let event = |name: &str, attributes: Value| json!({"name": format!("gen_ai.{name}"), "attributes": attributes});
    let calls = json!([{"id": CALL, "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]);
    let mut log = otel_log();
    log.retain(|s| s["attributes"]["gen_ai.operation.name"] == "chat");
    for span in &mut log {
        span["attributes"].as_object_mut().unwrap().retain(|key, _| !key.ends_with("messages"));
    }
    let asked = event("user.message", json!({"content": "Read a."}));
    log[0]["events"] = json!([asked, event("choice", json!({"message": json!({"tool_calls": calls}).to_string()}))]);
    log[1]["events"] = json!([
        asked,
        event("assistant.message", json!({"tool_calls": calls.to_string()})),
        event("tool.message", json!({"id": CALL, "content": "text of a"})),
        event("choice", json!({"content": "Done."}))
    ]);
    let all = read(&lines(&log));
    assert_eq!(counts(&all.reports[0]), ("otel_genai", 2, 2, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>u", "r>t"]);
}

fn dump(class: &str, kwargs: Value) -> Value {
    json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": kwargs})
}

pub fn dumps() -> Vec<Value> {
    let used = json!({"input_tokens": 100, "output_tokens": 9, "total_tokens": 109, "input_token_details": {"cache_read": 60, "cache_creation": 10}});
    let content = json!([{"type": "text", "text": "I read."}, {"type": "tool_use", "id": CALL, "name": "read", "input": {"path": "a"}}]);
    vec![
        dump("SystemMessage", json!({"content": "Be brief."})),
        dump("HumanMessage", json!({"content": "Read a."})),
        dump(
            "AIMessage",
            json!({"content": content, "tool_calls": [{"name": "read", "args": {"path": "a"}, "id": CALL}], "usage_metadata": used, "response_metadata": {"model_name": "claude-sonnet-4-6"}}),
        ),
        dump("ToolMessage", json!({"content": "text of a", "tool_call_id": CALL, "status": "success"})),
        dump("AIMessageChunk", json!({"content": "Done.", "usage_metadata": null})),
    ]
}

#[test]
fn langchain_dumps_line_by_line_as_a_list_and_in_a_body() {
    for text in [lines(&dumps()), json!(dumps()).to_string()] {
        let all = read(&text);
        // The blocks of the provider repeat the call; it counts once.
        assert_eq!(counts(&all.reports[0]), ("langchain", 2, 1, 1, 0, 0));
        assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t"]);
        assert_eq!(usage(&all.documents[0]), [Some((30, 60, 10, 9)), None]);
        assert_eq!(all.documents[0].model.as_deref(), Some("claude-sonnet-4-6"));
    }
    let body = json!({"messages": dumps()}).to_string();
    assert_eq!(counts(&read(&body).reports[0]), ("messages_api", 2, 1, 1, 0, 0));
    let dict = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let all = read(&lines(&[dict("human", json!({"content": "Hi."})), dict("ai", json!({"content": "Hello.", "tool_calls": []}))]));
    assert_eq!(counts(&all.reports[0]), ("langchain", 1, 0, 0, 0, 0));
    damage(&lines(&dumps()));
}

#[test]
fn langsmith_runs_of_models_are_requests_and_other_runs_are_not() {
    let run = |id: &str, n: u64, sent: &[Value], answer: &Value| {
        json!({"id": id, "trace_id": "t", "run_type": "llm", "start_time": format!("2026-01-01T00:00:0{n}"), "error": null,
            "inputs": {"messages": [sent]}, "outputs": {"generations": [[{"message": answer}]]}, "extra": {"invocation_params": {"model": "claude-sonnet-4-6"}}})
    };
    let all = dumps();
    let mut failed = run("r3", 3, &all[..4], &all[4]);
    failed["error"] = json!("overloaded");
    let log = [
        run("r1", 1, &all[..2], &all[2]),
        run("r2", 2, &all[..4], &all[4]),
        failed,
        json!({"id": "c", "run_type": "chain", "inputs": {}, "outputs": {}}),
    ];
    let all = read(&lines(&log));
    assert_eq!(counts(&all.reports[0]), ("langchain", 2, 1, 1, 0, 0));
    assert_eq!(shape(&all.documents[0]), ["u>tu", "r>t"]);
    assert_eq!(all.reports[0].ignored_types.keys().collect::<Vec<_>>(), ["failed_request", "run_chain"]);
    assert!(all.reports[0].notes.iter().any(|n| n.contains("without a zone")));
    damage(&lines(&log));
}

#[test]
fn spans_with_numbered_attributes_have_their_messages() {
    let span = |n: u64, attributes: Value| json!({"trace_id": "t", "span_id": format!("s{n}"), "start_time": 1_700_000_000_000_000_000u64 + n, "attributes": attributes});
    let first = json!({
        "llm.request.type": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.id": "r1",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "You are an agent.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "look",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "ls",
        "gen_ai.completion.0.tool_calls.0.arguments": "{\"path\":\".\"}",
        "gen_ai.usage.prompt_tokens": 3_000,
        "gen_ai.usage.completion_tokens": 20,
    });
    let mut second = first.clone();
    second["gen_ai.response.id"] = json!("r2");
    second["gen_ai.prompt.2.role"] = json!("assistant");
    second["gen_ai.prompt.2.tool_calls.0.id"] = json!("c1");
    second["gen_ai.prompt.2.tool_calls.0.name"] = json!("ls");
    second["gen_ai.prompt.2.tool_calls.0.arguments"] = json!("{\"path\":\".\"}");
    second["gen_ai.prompt.3.role"] = json!("tool");
    second["gen_ai.prompt.3.tool_call_id"] = json!("c1");
    second["gen_ai.prompt.3.content"] = json!("a.txt");
    // Ten and more are after nine.
    for key in ["id", "name", "arguments"] {
        second.as_object_mut().unwrap().remove(&format!("gen_ai.completion.0.tool_calls.0.{key}"));
    }
    second["gen_ai.completion.0.content"] = json!("There is one file.");
    second["gen_ai.usage.prompt_tokens"] = json!(3_040);
    let all = read(&lines(&[span(1, first), span(2, second), span(3, json!({"http.method": "GET"}))]));
    let report = &all.reports[0];
    assert_eq!((report.format, report.requests, report.requests_with_usage, report.tool_uses), (Some("otel_genai"), 2, 2, 1), "{report:?}");
    assert_eq!((report.orphan_uses, report.orphan_results, report.ignored_types["other_span"]), (0, 0, 1), "{report:?}");
    assert_eq!(all.documents.len(), 1);
}

#[test]
fn chunks_of_chat_streams_are_billed_alone_and_whole_in_a_pair() {
    let chunk = |id: &str, delta: Value, usage: Value| {
        json!({"id": id, "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-5",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": usage})
    };
    let usage = json!({"prompt_tokens": 2_000, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 1_024}});
    let stream = [chunk("a", json!({"role": "assistant", "content": "It "}), Value::Null), chunk("a", json!({"content": "is."}), usage)];
    let alone = read(&lines(&[stream[0].clone(), stream[1].clone(), chunk("b", json!({"content": "cut"}), Value::Null)]));
    let report = &alone.reports[0];
    assert_eq!((report.format, report.requests, report.requests_with_usage), (Some("messages_api"), 1, 1), "{report:?}");
    assert_eq!((report.usage.input, report.usage.cache_read, report.usage.output), (976, 1_024, 7));
    // The same as the body of a response.
    let events: Vec<String> = stream.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let body = events.concat() + "data: [DONE]\n\n";
    let pair =
        json!({"request": {"model": "gpt-5", "messages": [{"role": "user", "content": "what is it"}]}, "response": {"body_raw": body}});
    let all = read(&pair.to_string());
    assert_eq!((all.reports[0].requests, all.reports[0].requests_with_usage, all.reports[0].usage.output), (1, 1, 7));
    assert_eq!(all.documents[0].requests[0].output.len(), 1);
}
