//! Logs in which the client itself cleared results: placeholders and boundaries of Claude Code, and what was fetched again after them.

use cleartune::ingest::FileReport;
use cleartune::trace::Document;
use serde_json::{Value, json};

use super::super::ingest_claude_code::{Log, prompts, read, usage};
use super::{ingest, results, words};

/// A Claude Code log of reads, 2,000 tokens each, in which the client clears three of the six and reads one of them again.
fn microcompacted(ids: Option<&[&str]>, again: bool) -> String {
    let mut log = Log::default();
    log.user("go");
    let mut prompt = 20_000;
    for i in 0..6 {
        log.answer(
            &format!("m{i}"),
            json!([{"type": "tool_use", "id": format!("toolu_{i}"), "name": "Read", "input": {"file_path": format!("f{i}")}}]),
            usage(0, 0, prompt, 60),
        );
        log.result(&format!("toolu_{i}"), json!(words(i, 6_760)));
        prompt += 60 + 2_000;
    }
    log.answer("m6", json!([{"type": "text", "text": "so far"}]), usage(0, 0, prompt, 10));
    let mut metadata = json!({"trigger": "auto", "preTokens": prompt, "tokensSaved": 5_900});
    if let Some(ids) = ids {
        metadata["compactedToolIds"] = json!(ids);
    }
    log.record(
        "system",
        json!({"subtype": "microcompact_boundary", "content": "Context microcompacted", "microcompactMetadata": metadata}),
    );
    log.user("on");
    // Each placeholder is 22 tokens.
    prompt = prompt + 10 + 5 - 3 * (2_000 - 22);
    if again {
        log.answer(
            "m7",
            json!([{"type": "tool_use", "id": "toolu_6", "name": "Read", "input": {"file_path": "f1"}}]),
            usage(0, 0, prompt, 60),
        );
        log.result("toolu_6", json!(words(1, 6_760)));
        prompt += 60 + 2_000;
    }
    log.answer("m8", json!([{"type": "text", "text": "done"}]), usage(0, 0, prompt, 10));
    log.text().to_owned()
}

#[test]
fn what_the_client_cleared_keeps_its_size_and_is_known_by_name_or_by_the_prompt() {
    for ids in [Some(&["toolu_0", "toolu_1", "toolu_2"][..]), None] {
        let (docs, report) = read(&microcompacted(ids, false));
        assert_eq!(results(&docs[0]), [2_000; 6], "{ids:?}");
        assert_eq!(
            (report.clearing.cleared_requests, report.sizes.impossible_steps, report.sizes.largest_difference),
            (1, 0, 0),
            "{ids:?}"
        );
        assert_eq!(report.clearing.inferred_requests, u64::from(ids.is_none()));
        assert_eq!(prompts(&docs[0])[7], 20_000 + 6 * 2_060 + 15);
        // The provider had no part in it, so there is no reading to find.
        assert_eq!(report.clearing.asked + report.clearing.unknown, 0);
    }
}

#[test]
fn a_file_that_was_read_again_after_the_client_cleared_it_is_a_need() {
    let (docs, report) = read(&microcompacted(Some(&["toolu_0", "toolu_1", "toolu_2"]), true));
    assert_eq!((report.clearing.refetches, report.clearing.refetch_requests), (1, 1));
    assert_eq!((docs[0].requests.len(), docs[0].requests[7].needs.clone(), results(&docs[0])), (8, vec![1], vec![2_000; 6]));
    // Another file was cleared: this one was still there, so it is a repetition.
    let (docs, report) = read(&microcompacted(Some(&["toolu_0", "toolu_2", "toolu_3"]), true));
    assert_eq!((report.clearing.refetches, docs[0].requests.len(), docs[0].requests[8].needs.len()), (0, 9, 0));
}

/// Reads, a clear of all of them by the client, something in between, a repetition.
fn again(between: Value, result: Value, beside: &[Value]) -> (Document, FileReport) {
    let mut log = Log::default();
    log.user("go");
    log.answer(
        "m0",
        json!([{"type": "tool_use", "id": "toolu_0", "name": "Read", "input": {"file_path": "f", "limit": 9}}]),
        usage(0, 0, 20_000, 60),
    );
    log.result("toolu_0", json!(words(1, 6_760)));
    log.answer("m1", json!([between]), usage(0, 0, 22_060, 60));
    log.result("toolu_1", json!("The file has been updated successfully, and here is how it looks."));
    let ids = json!({"compactedToolIds": ["toolu_0"]});
    log.record("system", json!({"subtype": "microcompact_boundary", "microcompactMetadata": ids}));
    let mut content = vec![json!({"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"limit": 9, "file_path": "f"}})];
    content.extend(beside.iter().cloned());
    log.answer("m2", Value::Array(content), usage(0, 0, 22_160 - 1_978, 60));
    log.result("toolu_2", result);
    log.answer("m3", json!([{"type": "text", "text": "done"}]), usage(0, 0, 24_220 - 1_978, 10));
    let (docs, report) = read(log.text());
    (docs.into_iter().next().unwrap(), report)
}

#[test]
fn only_what_fetches_the_same_again_is_a_refetch() {
    let other =
        |name: &str, file: &str| json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {"file_path": file, "old": "a"}});
    let whole = || json!(words(1, 6_760));
    let (doc, report) = again(other("Edit", "g"), whole(), &[]);
    assert_eq!((report.clearing.refetches, report.clearing.failed_refetches, doc.requests.len()), (1, 0, 3));
    assert_eq!((doc.requests[2].needs.clone(), doc.requests[2].input.len(), results(&doc).len()), (vec![0], 1, 2));
    // The request that took over another's input has no recorded prompt, and the time at which it would have been sent.
    assert_eq!((doc.requests[2].usage, doc.requests[2].at_ms), (None, doc.requests[1].at_ms + 2_000));
    // The file was edited: what is read is new.
    let (doc, report) = again(other("Edit", "f"), whole(), &[]);
    assert_eq!((report.clearing.refetches, doc.requests.len()), (0, 4));
    // Another part of the file was read: nothing changed.
    assert_eq!(again(other("Read", "f"), whole(), &[]).1.clearing.refetches, 1);
    // The client kept the result back.
    let stub = json!("File unchanged since last read. The content from the earlier Read is still current.");
    let (_, report) = again(other("Edit", "g"), stub, &[]);
    assert_eq!((report.clearing.refetches, report.clearing.failed_refetches), (1, 1));
    // The request did something else as well: it stays, without the use and its result.
    let more = json!({"type": "tool_use", "id": "toolu_3", "name": "Grep", "input": {"pattern": "x"}});
    let (doc, report) = again(other("Edit", "g"), whole(), &[more]);
    assert_eq!((report.clearing.refetches, report.clearing.refetch_requests, doc.requests.len()), (1, 0, 4));
    assert_eq!((doc.requests[2].output.len(), doc.requests[3].input.len(), doc.requests[3].needs.clone()), (1, 0, vec![0]));
    let long = json!({"type": "text", "text": words(9, 201)});
    assert_eq!(again(other("Edit", "g"), whole(), &[long]).1.clearing.refetch_requests, 0);
    let short = json!({"type": "text", "text": words(9, 200)});
    assert_eq!(again(other("Edit", "g"), whole(), &[short]).1.clearing.refetch_requests, 1);
}

#[test]
fn placeholders_are_restored_where_the_log_holds_the_original_and_counted_where_not() {
    const PLACEHOLDER: &str = "[Old tool result content cleared]";
    let id = |i: u64| format!("toolu_{i:016}");
    let used =
        |i: u64| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id(i), "name": "Read", "input": {"file_path": i}}]});
    let got = |i: u64, text: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id(i), "content": text}]});
    let pair = |n: u64, messages: Vec<Value>, answer: &Value, prompt: u64| {
        json!({"request": {"body": {"model": "claude-sonnet-4-6", "max_tokens": 9, "system": "be good", "messages": messages}},
            "response": {"body": {"id": format!("m{n}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-6",
                "content": answer["content"], "stop_reason": "end_turn", "usage": usage(0, 0, prompt, 60)}}})
    };
    let go = json!({"role": "user", "content": "go"});
    let done = json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]});
    let file = words(5, 6_760);
    let lines = |all: &[Value]| all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let first = pair(0, vec![go.clone()], &used(0), 5_000);
    let second = pair(1, vec![go.clone(), used(0), got(0, &file)], &used(1), 7_060);
    let third = pair(2, vec![go.clone(), used(0), got(0, PLACEHOLDER), used(1), got(1, &file)], &done, 7_060 + 2_060 - 1_978);
    // An earlier request holds it.
    let (doc, report, _) = ingest(&lines(&[first.clone(), second, third.clone()]));
    assert_eq!(results(&doc), [2_000, 2_000]);
    assert_eq!((report.clearing.cleared_requests, report.clearing.unknown_results, report.sizes.largest_difference), (1, 0, 0));
    // None does: it stays as small as it is, and is said to.
    let (doc, report, _) = ingest(&lines(&[pair(2, vec![go, used(0), got(0, PLACEHOLDER), used(1), got(1, &file)], &done, 7_122)]));
    assert!(results(&doc)[0] < 30 && results(&doc)[1] > 1_400, "{:?}", results(&doc));
    assert_eq!(report.clearing.unknown_results, 1);
    assert!(report.notes.iter().any(|n| n.contains("1 results are placeholders of unknown original size")), "{:?}", report.notes);
    assert_eq!(doc.source.unwrap()["clearing"]["placeholder_uses"], json!([0]));
}

#[test]
fn growth_shows_the_size_of_a_result_whose_record_was_overwritten() {
    let log = |growth: u64| {
        let mut log = Log::default();
        log.user("go");
        log.call("m0", "Read", "toolu_0", usage(0, 0, 20_000, 60));
        log.result("toolu_0", json!("[Old tool result content cleared]"));
        log.answer("m1", json!([{"type": "text", "text": "done"}]), usage(0, 0, 20_060 + growth, 10));
        read(log.text())
    };
    let (docs, report) = log(2_000);
    assert_eq!((results(&docs[0]), report.clearing.recovered_results, report.clearing.unknown_results), (vec![2_000], 1, 0));
    let (docs, report) = log(25);
    assert_eq!((results(&docs[0]), report.clearing.recovered_results, report.clearing.unknown_results), (vec![25], 0, 1));
}
