//! Natural invalidations: for each cause a log that shows it and nothing else, and one just short of it.

use cleartune::ingest::{Ingest, NaturalInvalidation, Options, natural_invalidations};
use cleartune::trace::{Cause, Document, parse_line, to_line};
use serde_json::{Value, json};

use super::ingest_claude_code::{Log, read, usage};

/// The causes in the log, and the whole list from its only transcript.
fn causes(log: &str) -> (Vec<Cause>, Vec<NaturalInvalidation>) {
    let mut ingest = Ingest::new(Options::default());
    let report = ingest.read("log", log.as_bytes());
    let docs = ingest.finish().documents;
    assert_eq!(docs.len(), 1, "{:?}", report.notes);
    let list = natural_invalidations(&docs[0]);
    let (kept, _) = parse_line(to_line(&docs[0]).as_bytes()).unwrap();
    assert_eq!(natural_invalidations(&kept), list, "a trace file keeps them");
    let counted: Vec<Cause> = report.invalidations.iter().flat_map(|(&c, n)| vec![c; n.requests as usize]).collect();
    (counted, list)
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// Two requests of a Claude Code log; the second reads `read` of the 20,000 tokens held, after `change`.
fn two(read: u64, change: impl FnOnce(&mut Log)) -> String {
    let mut log = Log::default();
    log.user("go");
    log.answer("m1", text("a"), usage(6, 0, 20_000, 10));
    change(&mut log);
    log.user("on");
    log.answer("m2", text("b"), usage(6, read, 25_000 - read, 10));
    log.text().to_owned()
}

#[test]
fn a_gap_longer_than_the_ttl_expires() {
    let (found, list) = causes(&two(0, |log| log.second += 299));
    assert_eq!(found, [Cause::TtlExpired]);
    let expected =
        NaturalInvalidation { request: 1, cause: Cause::TtlExpired, tokens: 20_000, billed_tokens: 20_000, read: 0, gap_ms: Some(301_000) };
    assert_eq!(list, [expected]);
    // Five minutes to the second are within it.
    assert_eq!(causes(&two(0, |log| log.second += 298)).0, [Cause::Unknown]);
    // And without a shortfall there is nothing to explain, whatever the gap.
    assert_eq!(causes(&two(19_001, |log| log.second += 600)).0, []);
}

#[test]
fn another_model_has_another_cache() {
    let log = |model: &str| {
        let mut log = Log::default();
        log.user("go");
        log.answer("m1", text("a"), usage(6, 0, 20_000, 10));
        log.user("on");
        log.record(
            "assistant",
            json!({"message": {"id": "m2", "role": "assistant", "model": model, "stop_reason": "end_turn", "content": text("b"),
                "usage": usage(6, 0, 25_000, 10)}}),
        );
        log.text().to_owned()
    };
    assert_eq!(causes(&log("claude-opus-4-6")).0, [Cause::ModelChanged]);
    assert_eq!(causes(&log("claude-sonnet-4-6")).0, [Cause::Unknown]);
    let (docs, report) = read(&log("claude-opus-4-6"));
    let models: Vec<_> = docs[0].requests.iter().map(|r| r.model.as_deref()).collect();
    assert_eq!((docs[0].model.as_deref(), models), (Some("claude-sonnet-4-6"), vec![None, Some("claude-opus-4-6")]));
    // The replay empties the cache by itself.
    assert_eq!((docs[0].requests[1].flush_above, report.flushed_requests), (None, 0));
}

#[test]
fn results_that_the_client_cleared_itself_change_the_messages() {
    let cleared = |log: &mut Log| {
        log.record("system", json!({"subtype": "microcompact_boundary", "content": "Context microcompacted"}));
    };
    assert_eq!(causes(&two(5_000, cleared)).0, [Cause::MessagesChanged]);
    let other = |log: &mut Log| {
        log.record("system", json!({"subtype": "informational", "content": "x"}));
    };
    assert_eq!(causes(&two(5_000, other)).0, [Cause::Unknown]);
}

#[test]
fn a_prompt_that_shrank_lost_messages() {
    let log = |read: u64, written: u64| {
        let mut log = Log::default();
        log.user("go");
        log.answer("m1", text("a"), usage(6, 0, 20_000, 10));
        log.user("on");
        log.answer("m2", text("b"), usage(6, read, written, 10));
        log.text().to_owned()
    };
    assert_eq!(causes(&log(4_000, 15_999)).0, [Cause::MessagesChanged]);
    assert_eq!(causes(&log(4_000, 16_000)).0, [Cause::Unknown]);
}

#[test]
fn more_positions_than_the_lookback_hide_the_entry() {
    let log = |texts: usize| {
        let mut log = Log::default();
        log.user("go");
        let blocks: Vec<Value> = (0..texts).map(|i| json!({"type": "text", "text": format!("text {i}")})).collect();
        log.answer("m1", Value::Array(blocks), usage(6, 0, 20_000, 900));
        log.user("on");
        log.answer("m2", text("b"), usage(6, 0, 25_000, 10));
        log.text().to_owned()
    };
    // 19 blocks of output and the user's words are 20 positions; the walk of 20 begins at the last one.
    let (found, list) = causes(&log(19));
    assert_eq!((found, list[0].tokens), (vec![Cause::LookbackExceeded], 20_000));
    assert_eq!(causes(&log(18)).0, [Cause::Unknown]);
    // The replay's own lookback misses it, so no entry is dropped.
    assert_eq!(read(&log(19)).0[0].requests[1].flush_above, None);
    assert_eq!(read(&log(18)).0[0].requests[1].flush_above, Some(0));
}

/// Two pairs of request and response of a Messages API log.
fn pairs(second: impl FnOnce(&mut Value), read: u64, uncached: u64) -> String {
    let request = json!({
        "model": "claude-sonnet-4-6", "max_tokens": 100, "system": "You are helpful.",
        "tools": [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "go"}],
    });
    let mut next = request.clone();
    next["messages"] = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "on"},
    ]);
    second(&mut next);
    let response = |id: &str, text: &str, model: &Value, usage: Value| {
        json!({"id": id, "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": usage})
    };
    let first = json!({"request": request, "response": response("msg_1", "a", &request["model"], usage(6, 0, 20_000, 10))});
    let written = 25_000 - read - uncached;
    let then = json!({"request": next, "response": response("msg_2", "b", &next["model"], usage(uncached, read, written, 10))});
    format!("{first}\n{then}\n")
}

#[test]
fn tools_and_system_prompt_that_differ_are_named() {
    let other_tools = |r: &mut Value| r["tools"][0]["description"] = json!("Reads a file.");
    let other_system = |r: &mut Value| r["system"] = json!("You are terse.");
    assert_eq!(causes(&pairs(other_tools, 0, 6)).0, [Cause::ToolsChanged]);
    assert_eq!(causes(&pairs(other_system, 0, 6)).0, [Cause::SystemChanged]);
    // Tools come first in the prompt.
    let both = |r: &mut Value| {
        other_tools(r);
        other_system(r);
    };
    assert_eq!(causes(&pairs(both, 0, 6)).0, [Cause::ToolsChanged]);
    assert_eq!(causes(&pairs(|_| (), 0, 6)).0, [Cause::Unknown]);
    assert_eq!(causes(&pairs(other_tools, 19_001, 6)).0, []);
}

#[test]
fn after_a_compaction_a_cold_start_is_no_invalidation() {
    let mut log = Log::default();
    log.user("go");
    log.answer("m1", text("a"), usage(6, 0, 20_000, 10));
    log.record("system", json!({"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}));
    log.record("user", json!({"isCompactSummary": true, "message": {"role": "user", "content": "summary"}}));
    log.answer("m2", text("b"), usage(6, 3_000, 9_000, 10));
    let (docs, report) = read(log.text());
    assert_eq!((docs.len(), report.compactions), (2, 1));
    assert!(report.invalidations.is_empty());
    assert_eq!(docs[1].requests[0].flush_above, Some(3_000));
}

#[test]
fn where_prefixes_are_cached_by_themselves_128_tokens_count() {
    let log = |read: u64| {
        let mut log = Log::default();
        log.user("go");
        log.answer("m1", text("a"), usage(10_000, 1_000, 0, 10));
        log.user("on");
        log.answer("m2", text("b"), usage(12_000 - read, read, 0, 10));
        log.text().to_owned()
    };
    // Held: the whole prompt of 11,000.
    assert_eq!(causes(&log(10_873)).0, []);
    let (found, list) = causes(&log(10_872));
    assert_eq!((found, list[0].tokens, list[0].billed_tokens), (vec![Cause::Unknown], 128, 128));
}

#[test]
fn only_what_was_paid_again_is_billed() {
    // Held 20,000; 5,000 read and 6,000 written of a prompt that shrank to 11,006.
    let mut log = Log::default();
    log.user("go");
    log.answer("m1", text("a"), usage(6, 0, 20_000, 10));
    log.user("on");
    log.answer("m2", text("b"), usage(6, 5_000, 6_000, 10));
    let list = causes(log.text()).1;
    assert_eq!((list[0].tokens, list[0].billed_tokens), (15_000, 6_000));
}

#[test]
fn a_cause_of_a_later_version_reads_as_unknown() {
    let doc: Document = serde_json::from_value(json!({
        "schema": "cleartune.trace/1", "id": "a", "base_tokens": 1, "requests": [{"invalidation_cause": "moon_phase"}],
    }))
    .unwrap();
    assert_eq!(doc.requests[0].invalidation_cause, Some(Cause::Unknown));
    for cause in Cause::ALL {
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
    }
}
