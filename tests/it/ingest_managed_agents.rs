//! The rules of Managed Agents event logs, each on a small log written for it.

use std::fmt::Write as _;

use cleartune::ingest::{FileReport, Options};
use cleartune::trace::Document;
use serde_json::{Value, json};

use super::ingest_claude_code::{prompts, read_all, usage};

/// An event stream in the making.
#[derive(Default)]
struct Log {
    text: String,
    n: u32,
}

impl Log {
    fn event(&mut self, kind: &str, more: Value) -> &mut Self {
        self.n += 1;
        let mut event = json!({"type": kind, "id": format!("e{}", self.n), "processed_at": format!("2026-08-16T09:{:02}:{:02}.5Z", self.n / 60, self.n % 60)});
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        writeln!(self.text, "{event}").unwrap();
        self
    }

    fn start(&mut self) -> &mut Self {
        self.event("span.model_request_start", json!({}))
    }

    fn end(&mut self, usage: Value) -> &mut Self {
        self.event("span.model_request_end", json!({"is_error": false, "model_usage": usage}))
    }

    fn tool_use(&mut self, id: &str) -> &mut Self {
        self.event("agent.tool_use", json!({"id": id, "name": "bash", "input": {"command": "ls"}}))
    }

    fn result(&mut self, id: &str, text: &str) -> &mut Self {
        self.event("agent.tool_result", json!({"tool_use_id": id, "content": [{"type": "text", "text": text}]}))
    }

    fn user(&mut self, text: &str) -> &mut Self {
        self.event("user.message", json!({"content": [{"type": "text", "text": text}]}))
    }
}

fn read(text: &str) -> (Vec<Document>, FileReport) {
    let all = read_all(&[text], Options::default());
    (all.documents, all.reports.into_iter().next().unwrap())
}

/// A task, a call with two parallel uses, a call that ends.
fn small() -> Log {
    let mut log = Log::default();
    log.event("session.status_running", json!({})).user("do it");
    log.start().event("agent.thinking", json!({})).tool_use("t1").tool_use("t2").end(usage(2, 0, 1000, 100));
    log.result("t1", "one").result("t2", "two");
    log.start().event("agent.message", json!({"content": [{"type": "text", "text": "done"}]})).end(usage(2, 1000, 150, 9));
    log
}

#[test]
fn calls_lie_between_their_spans_and_parallel_uses_belong_to_one() {
    let (docs, report) = read(&small().text);
    assert_eq!((report.format, docs.len()), (Some("managed_agents"), 1));
    assert_eq!((report.requests, report.requests_with_usage, report.tool_uses, report.orphan_uses), (2, 2, 2, 0));
    let kinds = |blocks: &[cleartune::trace::Block]| blocks.iter().map(|b| b.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&docs[0].requests[0].output), ["thinking", "use", "use"]);
    assert_eq!(kinds(&docs[0].requests[1].input), ["result", "result"]);
    assert_eq!(prompts(&docs[0]), [1002, 1152]);
    assert_eq!(docs[0].requests[1].at_ms, 7_000);
    assert_eq!(report.ignored_types.get("session.status_running"), Some(&1));
}

#[test]
fn wrapped_lines_arrays_and_pages_read_the_same_as_plain_events() {
    let plain = small().text;
    let events: Vec<Value> = plain.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let wrapped = events.iter().fold(String::new(), |mut all, e| {
        writeln!(all, "{}", json!({"role": "agent", "kind": "x", "time": e["processed_at"], "raw": e})).unwrap();
        all
    });
    let expected = read(&plain).0;
    assert_eq!(read(&wrapped).0, expected);
    assert_eq!(read(&Value::Array(events.clone()).to_string()).0, expected);
    assert_eq!(read(&serde_json::to_string_pretty(&events).unwrap()).0, expected);
}

#[test]
fn an_event_twice_counts_once() {
    let text = small().text;
    let again = read(&format!("{text}{text}"));
    assert_eq!(again.0, read(&text).0);
    assert_eq!(again.1.duplicates, text.lines().count() as u64);
}

#[test]
fn a_failed_request_without_usage_is_none_and_one_with_usage_is_one() {
    let failing = |usage: Value| {
        let mut log = Log::default();
        log.user("do it").start().event("span.model_request_end", json!({"is_error": true, "model_usage": usage}));
        log.start()
            .event("agent.message", json!({"content": [{"type": "text", "text": "done"}]}))
            .end(super::ingest_claude_code::usage(2, 0, 1000, 5));
        read(&log.text)
    };
    let (docs, report) = failing(usage(0, 0, 0, 0));
    assert_eq!((report.requests, report.requests_with_usage), (1, 1));
    assert_eq!(docs[0].requests[0].input.len(), 1, "the next attempt sends the task");
    assert_eq!(failing(usage(2, 0, 990, 1)).1.requests, 2);
}

#[test]
fn threads_are_sub_agents_of_one_session() {
    let mut log = small();
    let thread = json!({"session_thread_id": "sthr_2"});
    let with = |more: Value| {
        let mut all = thread.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    log.event("agent.thread_message_received", with(json!({"content": [{"type": "text", "text": "look"}]})));
    log.event("span.model_request_start", thread.clone());
    log.event("agent.message", with(json!({"content": [{"type": "text", "text": "seen"}]})));
    log.event("span.model_request_end", with(json!({"model_usage": usage(2, 0, 700, 5)})));
    let (docs, report) = read(&log.text);
    assert_eq!((docs.len(), report.sub_agent_transcripts), (2, 1));
    assert_eq!(docs[0].session, docs[1].session);
    assert_eq!((docs[0].requests.len(), prompts(&docs[1])), (2, vec![702]));
}

#[test]
fn the_id_that_status_events_give_the_main_thread_is_no_sub_agent() {
    let mut log = Log::default();
    log.event("session.thread_status_running", json!({"session_thread_id": "sthr_1"})).user("do it").start();
    log.event("agent.tool_use", json!({"id": "t1", "name": "bash", "input": {}, "session_thread_id": "sthr_1"}));
    log.end(usage(2, 0, 1000, 9)).result("t1", "one");
    let (docs, report) = read(&log.text);
    assert_eq!((docs.len(), report.sub_agent_transcripts, report.tool_uses, report.orphan_uses), (1, 0, 1, 0));
}

#[test]
fn the_session_total_tells_an_hour_where_calls_do_not() {
    let total = |minutes: u64, hours: u64| {
        let mut log = small();
        let split = json!({"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hours});
        log.event("session.usage", json!({"usage": {"cache_creation": split}}));
        read(&log.text)
    };
    let (docs, report) = total(0, 1150);
    assert_eq!((docs[0].requests[0].ttl_ms, report.usage.cache_write_1h), (Some(3_600_000), 1150));
    let (docs, report) = total(1150, 0);
    assert_eq!((docs[0].requests[0].ttl_ms, report.usage.cache_write_5m), (None, 1150));
    let (_, report) = total(150, 1000);
    assert_eq!(report.usage.cache_write_1h, 0);
    assert!(report.notes.iter().any(|n| n.contains("5 minutes are taken")), "{:?}", report.notes);
}

#[test]
fn a_compaction_begins_another_transcript() {
    let mut log = small();
    log.event("agent.thread_context_compacted", json!({})).user("go on").start();
    log.event("agent.message", json!({"content": [{"type": "text", "text": "gone on"}]})).end(usage(2, 0, 600, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((docs.len(), report.compactions), (2, 1));
    assert_eq!(prompts(&docs[1]), [602]);
    assert_eq!(docs[0].session, docs[1].session);
}

#[test]
fn custom_and_mcp_tools_pair_by_their_own_fields() {
    let mut log = Log::default();
    log.user("do it").start();
    log.event("agent.custom_tool_use", json!({"id": "c", "name": "lookup", "input": {}}));
    log.event("agent.mcp_tool_use", json!({"id": "m", "name": "search", "input": {}})).end(usage(2, 0, 1000, 9));
    log.event("agent.mcp_tool_result", json!({"mcp_tool_use_id": "m", "content": []}));
    log.event("user.custom_tool_result", json!({"custom_tool_use_id": "c", "content": [{"type": "text", "text": "x"}]})).start();
    log.event("agent.message", json!({"content": [{"type": "text", "text": "done"}]})).end(usage(2, 1000, 100, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((report.tool_uses, report.orphan_uses, report.orphan_results), (2, 0, 0));
    assert_eq!(docs[0].tools.keys().collect::<Vec<_>>(), ["lookup", "search"]);
}

#[test]
fn a_stream_without_spans_is_cut_where_input_comes() {
    let mut log = Log::default();
    log.user("do it")
        .tool_use("t1")
        .result("t1", "one")
        .tool_use("t2")
        .result("t2", "two")
        .event("agent.message", json!({"content": [{"type": "text", "text": "done"}]}));
    let (docs, report) = read(&log.text);
    assert_eq!((report.requests, report.requests_with_usage, report.orphan_uses), (3, 0, 0));
    assert_eq!(docs[0].requests[1].input.len(), 1);
}

#[test]
fn broken_lines_are_named_and_the_rest_is_read() {
    let text = small().text;
    let (docs, report) = read(&format!("{text}17\n{{\"type\": \"agent.mess\n"));
    assert_eq!(docs, read(&text).0);
    assert_eq!(report.skipped_records, 2);
    assert!(report.skipped.iter().all(|s| s.line > 10), "{:?}", report.skipped);
}
