//! The rules of Claude Code sessions, each on a small log written for it.

use std::fmt::Write as _;

use cleartune::ingest::{AgentFilter, FileReport, Ingest, Ingested, Options};
use cleartune::trace::{Block, Cause, Document, Refetch, Trace};
use serde_json::{Value, json};

/// A log in the making: records get uuids in turn, each the child of the one before it.
#[derive(Default)]
pub struct Log {
    text: String,
    n: u32,
    parent: Option<String>,
    pub second: u32,
}

impl Log {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn record(&mut self, kind: &str, more: Value) -> String {
        self.n += 1;
        self.second += 1;
        let uuid = format!("u{}", self.n);
        let mut record = json!({
            "parentUuid": self.parent, "isSidechain": false, "type": kind, "uuid": uuid, "sessionId": "session-1",
            "timestamp": format!("2026-04-21T10:{:02}:{:02}.000Z", self.second / 60, self.second % 60),
        });
        for (key, value) in more.as_object().unwrap() {
            record[key] = value.clone();
        }
        self.parent = record["uuid"].as_str().map(str::to_owned);
        writeln!(self.text, "{record}").unwrap();
        uuid
    }

    pub fn user(&mut self, text: &str) -> String {
        self.record("user", json!({"message": {"role": "user", "content": text}}))
    }

    pub fn result(&mut self, id: &str, content: Value) -> String {
        self.record(
            "user",
            json!({"message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}}),
        )
    }

    pub fn answer(&mut self, id: &str, content: Value, usage: Value) -> String {
        self.record(
            "assistant",
            json!({"message": {"id": id, "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": "end_turn", "content": content, "usage": usage}}),
        )
    }

    pub fn call(&mut self, id: &str, tool: &str, use_id: &str, usage: Value) -> String {
        self.answer(id, json!([{"type": "tool_use", "id": use_id, "name": tool, "input": {"path": "a"}}]), usage)
    }
}

pub fn usage(input: u64, read: u64, write: u64, output: u64) -> Value {
    json!({"input_tokens": input, "cache_read_input_tokens": read, "cache_creation_input_tokens": write, "output_tokens": output})
}

pub fn read(text: &str) -> (Vec<Document>, FileReport) {
    let ingested = read_all(&[text], Options::default());
    (ingested.documents, ingested.reports.into_iter().next().unwrap())
}

pub fn read_all(texts: &[&str], options: Options) -> Ingested {
    let mut ingest = Ingest::new(options);
    for (i, text) in texts.iter().enumerate() {
        ingest.read(&format!("{i}.jsonl"), text.as_bytes());
    }
    let ingested = ingest.finish();
    for doc in &ingested.documents {
        Trace::from_document(doc).expect("every document is a valid transcript");
    }
    ingested
}

fn sum(blocks: &[Block]) -> u64 {
    blocks.iter().map(|b| u64::from(b.tokens)).sum()
}

/// The prompt of each request, replayed without clearing.
pub fn prompts(doc: &Document) -> Vec<u64> {
    let mut prompt = u64::from(doc.base_tokens);
    doc.requests
        .iter()
        .map(|r| {
            let here = prompt + sum(&r.input);
            prompt = here + sum(&r.output);
            here
        })
        .collect()
}

fn kinds(blocks: &[Block]) -> Vec<&str> {
    blocks.iter().map(|b| b.kind.as_str()).collect()
}

#[test]
fn records_of_one_answer_are_one_request_and_the_last_usage_counts() {
    let mut log = Log::default();
    log.user("go");
    for (output, block) in [
        (9, json!({"type": "thinking", "thinking": "hm", "signature": "x"})),
        (9, json!({"type": "text", "text": "I will look."})),
        (2086, json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}})),
    ] {
        log.answer("m1", json!([block]), usage(3, 1000, 500, output));
    }
    log.result("t1", json!("the file"));
    log.answer("m2", json!([{"type": "text", "text": "done"}]), usage(1, 1500, 2200, 7));
    let (docs, report) = read(&log.text);
    assert_eq!((report.requests, report.requests_with_usage, report.tool_uses), (2, 2, 1));
    assert_eq!(report.usage.output, 2093);
    assert_eq!((report.usage.input, report.usage.cache_read), (4, 2500));
    assert_eq!(kinds(&docs[0].requests[0].output), ["thinking", "text", "use"]);
    assert_eq!(sum(&docs[0].requests[0].output), 2086);
    assert_eq!(prompts(&docs[0]), [1503, 3701]);
}

#[test]
fn a_block_that_is_logged_twice_counts_once() {
    let mut log = Log::default();
    log.user("go");
    let text = json!({"type": "text", "text": "one"});
    log.answer("m1", json!([text]), usage(100, 0, 0, 5));
    log.answer("m1", json!([text, {"type": "text", "text": "two"}]), usage(100, 0, 0, 9));
    let (docs, _) = read(&log.text);
    assert_eq!(kinds(&docs[0].requests[0].output), ["text", "text"]);
}

#[test]
fn the_same_uuid_is_one_record_within_a_file_and_across_files() {
    let mut log = Log::default();
    log.user("go");
    log.call("m1", "Read", "t1", usage(10, 0, 1000, 20));
    log.result("t1", json!("text of the file"));
    log.answer("m2", json!([{"type": "text", "text": "a"}]), usage(1, 1010, 100, 8));
    let twice = format!("{}{}", log.text, log.text);
    let (docs, report) = read(&twice);
    assert_eq!((docs.len(), report.requests, report.tool_uses, report.duplicates), (1, 2, 1, 4));

    // A fork repeats the history and goes on.
    let original = log.text.clone();
    log.user("another question");
    log.answer("m3", json!([{"type": "text", "text": "b"}]), usage(2, 1111, 50, 5));
    let fork = log.text.replace("session-1", "session-2");
    let both = read_all(&[&original, &fork], Options::default());
    let requests: u64 = both.reports.iter().map(|r| r.requests).sum();
    assert_eq!((requests, both.reports[1].requests, both.reports[1].duplicates), (3, 1, 2));
    assert_eq!(both.documents[1].requests.len(), 1);
    assert_eq!(prompts(&both.documents[1]), [1163]);
    assert_ne!(both.documents[0].session, both.documents[1].session);
    let again = read_all(&[&original, &original], Options::default());
    assert_eq!(again.documents.len(), 1);
    assert!(again.reports[1].notes.iter().any(|n| n.contains("repeats")));
}

#[test]
fn parallel_results_in_separate_records_are_one_input() {
    let mut log = Log::default();
    log.user("go");
    log.call("m1", "Read", "t1", usage(0, 0, 1000, 90));
    log.result("t1", json!("first"));
    log.call("m1", "Grep", "t2", usage(0, 0, 1000, 90));
    log.result("t2", json!("second"));
    log.user("and mind this");
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(0, 1000, 200, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((report.requests, report.tool_uses, report.orphan_uses, report.orphan_results), (2, 2, 0, 0));
    assert_eq!(kinds(&docs[0].requests[0].output), ["use", "use"]);
    assert_eq!(kinds(&docs[0].requests[1].input), ["result", "result", "user"]);
    assert_eq!(docs[0].requests[1].input[0].bytes, Some(5));
}

#[test]
fn synthetic_lines_are_no_requests() {
    let mut log = Log::default();
    log.user("go");
    log.answer("m1", json!([{"type": "text", "text": "x"}]), usage(100, 0, 0, 5));
    log.user("again");
    log.record(
        "assistant",
        json!({"isApiErrorMessage": true, "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}], "usage": usage(0, 0, 0, 0)}}),
    );
    let (docs, report) = read(&log.text);
    assert_eq!((report.requests, report.synthetic, docs[0].requests.len()), (1, 1, 1));
}

#[test]
fn side_chains_and_sub_agent_files_are_transcripts_of_the_same_session() {
    let mut log = Log::default();
    log.user("go");
    let parent = log.call("m1", "Task", "t1", usage(0, 0, 1000, 30));
    let side = json!({"isSidechain": true, "parentUuid": null, "message": {"role": "user", "content": "sub task"}});
    log.record("user", side);
    log.record(
        "assistant",
        json!({"isSidechain": true, "message": {"id": "s1", "model": "claude-haiku-4-5", "content": [{"type": "text", "text": "sub answer"}], "stop_reason": "end_turn", "usage": usage(400, 0, 0, 9)}}),
    );
    log.parent = Some(parent);
    log.result("t1", json!("sub answer"));
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(0, 1000, 100, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((docs.len(), report.requests, report.sub_agent_transcripts), (2, 3, 1));
    assert_eq!((docs[0].requests.len(), docs[1].requests.len()), (2, 1));
    assert_eq!(docs[0].session, docs[1].session);
    assert_eq!(docs[1].model.as_deref(), Some("claude-haiku-4-5"));

    let sub_file = concat!(
        r#"{"parentUuid":null,"isSidechain":true,"agentId":"a1","type":"user","uuid":"x1","sessionId":"session-1","message":{"role":"user","content":"sub"}}"#,
        "\n",
        r#"{"parentUuid":"x1","isSidechain":true,"agentId":"a1","type":"assistant","uuid":"x2","sessionId":"session-1","message":{"id":"s9","model":"claude-haiku-4-5","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":300,"output_tokens":4}}}"#,
        "\n"
    );
    let ids = |agent| {
        let all = read_all(&[&log.text, sub_file], Options { agent, ..Options::default() });
        all.documents.into_iter().map(|d| (d.id, d.session)).collect::<Vec<_>>()
    };
    let all = ids(AgentFilter::All);
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|(_, s)| *s == all[0].1));
    assert_eq!(ids(AgentFilter::Main), all[..1]);
    assert_eq!(ids(AgentFilter::Sub), all[1..]);
}

#[test]
fn a_compaction_begins_a_new_transcript_of_the_session() {
    let mut log = Log::default();
    log.user("go");
    log.call("m1", "Read", "t1", usage(0, 0, 90_000, 30));
    let last = log.result("t1", json!("text"));
    log.record("system", json!({"subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": last, "compactMetadata": {"trigger": "auto", "preTokens": 90000}}));
    log.record("user", json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true, "message": {"role": "user", "content": "Summary of what was done."}}));
    log.user("go on");
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(0, 15_000, 5_000, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((docs.len(), report.compactions, report.transcripts), (2, 1, 2));
    assert_eq!(docs[0].session, docs[1].session);
    assert_ne!(docs[0].id, docs[1].id);
    assert_eq!(prompts(&docs[1]), [20_000]);
    assert_eq!(report.orphan_uses, 0);
    // The summary without its boundary splits as well.
    let bare: String = log.text.lines().filter(|l| !l.contains("compact_boundary")).fold(String::new(), |s, l| s + l + "\n");
    assert_eq!(read(&bare).0.len(), 2);
}

#[test]
fn a_rewind_drops_the_branch_that_was_left() {
    let mut log = Log::default();
    log.user("go");
    let fork = log.answer("m1", json!([{"type": "text", "text": "a"}]), usage(1000, 0, 0, 5));
    log.user("left question");
    log.answer("m2", json!([{"type": "text", "text": "left answer"}]), usage(1100, 0, 0, 5));
    log.parent = Some(fork);
    log.user("kept question");
    log.answer("m3", json!([{"type": "text", "text": "kept"}]), usage(1050, 0, 0, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((docs[0].requests.len(), report.requests, report.rewound_requests), (2, 2, 1));
    assert_eq!(prompts(&docs[0]), [1000, 1050]);
}

#[test]
fn branches_of_parallel_calls_and_streams_are_no_rewind() {
    let mut log = Log::default();
    log.user("go");
    let first = log.call("m1", "Read", "t1", usage(0, 0, 1000, 90));
    let second = log.call("m1", "Read", "t2", usage(0, 0, 1000, 90));
    log.parent = Some(first);
    log.result("t1", json!("one"));
    log.parent = Some(second);
    log.result("t2", json!("two"));
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(0, 1000, 200, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((report.rewound_requests, report.orphan_uses), (0, 0));
    assert_eq!(kinds(&docs[0].requests[1].input), ["result", "result"]);
}

#[test]
fn what_the_model_did_not_see_is_not_counted() {
    let mut log = Log::default();
    log.user("go");
    log.call("m1", "Read", "t1", usage(0, 0, 1000, 50));
    log.record(
        "user",
        json!({"toolUseResult": {"file": {"content": "x".repeat(50_000)}},
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "short"}]}}),
    );
    log.record("attachment", json!({"attachment": {"type": "command_permissions", "allowedTools": ["y".repeat(9000)]}}));
    log.record("attachment", json!({"attachment": {"type": "queued_command", "prompt": "z".repeat(340)}}));
    log.record("progress", json!({"data": {"type": "hook_progress"}}));
    log.record("brand-new-type", json!({}));
    // No usage: sizes follow from bytes alone.
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(0, 0, 0, 0));
    let (docs, report) = read(&log.text);
    let input = &docs[0].requests[1].input;
    assert_eq!(kinds(input), ["result", "user"]);
    assert!(input[0].tokens < 20 && input[0].bytes == Some(5), "{input:?}");
    assert!((88..98).contains(&input[1].tokens), "340 letters at 0.88 bytes, 3.4 bytes a token: {input:?}");
    assert_eq!(report.ignored_types["attachment/command_permissions"], 1);
    assert_eq!((report.ignored_types["progress"], report.ignored_types["brand-new-type"]), (1, 1));
    assert_eq!((report.requests, report.requests_with_usage), (2, 1));
}

#[test]
fn orphans_are_counted_and_harm_nothing() {
    let mut log = Log::default();
    log.user("go");
    // The second result of t2 comes before its use, a third answers nothing, and t1 is never answered.
    log.result("t2", json!("early"));
    let content = json!([{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}, {"type": "tool_use", "id": "t2", "name": "Read", "input": {}}]);
    log.answer("m1", content, usage(1000, 0, 0, 100));
    log.result("t2", json!("again"));
    log.result("t7", json!("of nobody"));
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(1200, 0, 0, 5));
    let (docs, report) = read(&log.text);
    assert_eq!((report.orphan_uses, report.orphan_results), (1, 2));
    assert_eq!(kinds(&docs[0].requests[1].input), ["result", "user"]);
    assert_eq!(prompts(&docs[0]), [1000, 1200]);
}

#[test]
fn one_hour_writes_set_the_ttl_and_parts_that_do_not_sum_are_clamped() {
    let split = |total: u64, five: u64, hour: u64| {
        json!({"input_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": total, "output_tokens": 3,
            "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}})
    };
    for (given, minutes, hour, ttl) in [
        (split(500, 0, 500), 0, 500, Some(3_600_000)),
        (split(500, 500, 0), 500, 0, None),
        (split(500, 0, 900), 0, 500, Some(3_600_000)),
        (split(500, 100, 100), 400, 100, Some(3_600_000)),
        (usage(1, 0, 500, 3), 500, 0, None),
    ] {
        let mut log = Log::default();
        log.user("go");
        log.answer("m1", json!([{"type": "text", "text": "a"}]), given);
        log.user("on");
        // Nothing written: the entries' TTL stays what it was.
        log.answer("m2", json!([{"type": "text", "text": "b"}]), usage(20, 501, 0, 3));
        let (docs, _) = read(&log.text);
        let recorded = docs[0].requests[0].usage.unwrap();
        assert_eq!((recorded.cache_write_5m, recorded.cache_write_1h), (minutes, hour));
        assert_eq!((docs[0].requests[0].ttl_ms, docs[0].requests[1].ttl_ms), (ttl, ttl));
    }
}

#[test]
fn images_count_by_pixels_and_the_same_base64_in_text_by_bytes() {
    // The header of an 800 × 600 PNG: 640 tokens.
    let data = format!("iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY{}", "A".repeat(8000));
    let of = |content: Value| {
        let mut log = Log::default();
        log.user("go");
        log.call("m1", "Read", "t1", Value::Null);
        log.result("t1", content);
        log.answer("m2", json!([{"type": "text", "text": "x"}]), Value::Null);
        let (docs, _) = read(&log.text);
        docs[0].requests[1].input[0].clone()
    };
    let image = of(json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]));
    assert!((640..670).contains(&image.tokens) && image.bytes.is_none(), "{image:?}");
    let text = of(json!([{"type": "text", "text": data}]));
    assert!(text.tokens > 2000 && text.bytes == Some(data.len() as u64), "{text:?}");
    let unknown = of(json!([{"type": "image", "source": {"type": "file", "file_id": "f"}}]));
    assert!((1600..1630).contains(&unknown.tokens), "{unknown:?}");
}

#[test]
fn needs_leave_as_links_between_uses() {
    let mut log = Log::default();
    let fact = "the retry budget of service 42 is 7 attempts per minute";
    log.user("go");
    log.call("m1", "Read", "t1", usage(0, 0, 1000, 30));
    log.result("t1", json!(format!("Notes. {fact}. More.")));
    log.call("m2", "Read", "t2", usage(0, 1000, 100, 30));
    log.result("t2", json!("nothing of interest"));
    log.answer("m3", json!([{"type": "text", "text": format!("So {fact}.")}]), usage(0, 1100, 100, 30));
    log.user("write it down");
    log.answer("m4", json!([{"type": "tool_use", "id": "t3", "name": "Write", "input": {"content": fact}}]), usage(0, 1200, 100, 60));
    let (docs, report) = read(&log.text);
    let needs: Vec<_> = docs[0].requests.iter().map(|r| r.needs.clone()).collect();
    // The last request quotes what the agent said itself by then.
    assert_eq!(needs, [vec![], vec![], vec![0], vec![]]);
    assert_eq!(report.needs, 1);
    let none = read_all(
        &[&log.text],
        Options { needs: cleartune::ingest::NeedOptions { find: false, ..Default::default() }, ..Options::default() },
    );
    assert_eq!(none.reports[0].needs, 0);
    let line = cleartune::trace::to_line(&docs[0]);
    assert!(!line.contains("retry") && !line.contains("session-1"), "no text leaves");
}

#[test]
fn refetch_classes_have_defaults_and_can_be_overridden() {
    let mut log = Log::default();
    log.user("go");
    for (i, tool) in ["Read", "Bash", "AskUserQuestion", "mcp__db__query"].iter().enumerate() {
        log.call(&format!("m{i}"), tool, &format!("t{i}"), Value::Null);
        log.result(&format!("t{i}"), json!("r"));
    }
    let mut options = Options::default();
    options.refetch.insert("mcp__db__query".to_owned(), Refetch::Costly);
    let docs = read_all(&[&log.text], options).documents;
    let class: Vec<_> = docs[0].tools.iter().map(|(name, tool)| (name.as_str(), tool.refetch)).collect();
    assert_eq!(
        class,
        [("AskUserQuestion", Refetch::Never), ("Bash", Refetch::Costly), ("Read", Refetch::Yes), ("mcp__db__query", Refetch::Costly)]
    );
}

#[test]
fn the_first_read_is_the_warm_start_and_shortfalls_become_flushes_within_the_ttl() {
    let mut log = Log::default();
    log.user("go");
    log.answer("m1", json!([{"type": "text", "text": "a"}]), usage(6, 8_000, 12_000, 10));
    log.user("on");
    log.answer("m2", json!([{"type": "text", "text": "b"}]), usage(6, 20_000, 5_000, 10));
    log.user("on");
    // 999 less than was held: noise.
    log.answer("m3", json!([{"type": "text", "text": "c"}]), usage(6, 24_001, 2_000, 10));
    log.user("on");
    // 1,000 less: an invalidation, and what survives is the entry of the second request.
    log.answer("m4", json!([{"type": "text", "text": "d"}]), usage(6, 25_001, 2_000, 10));
    log.user("on");
    log.answer("m5", json!([{"type": "text", "text": "e"}]), usage(6, 8_000, 20_000, 10));
    // Six minutes later everything has expired: the replay's clock says so itself, and system prompt and tools are mostly cold.
    log.second += 360;
    log.user("on");
    log.answer("m6", json!([{"type": "text", "text": "f"}]), usage(6, 100, 29_000, 10));
    log.second += 360;
    log.user("on");
    log.answer("m7", json!([{"type": "text", "text": "g"}]), usage(6, 19_000, 11_000, 10));
    let (docs, report) = read(&log.text);
    let flush: Vec<_> = docs[0].requests.iter().map(|r| r.flush_above).collect();
    let second = prompts(&docs[0])[1];
    assert_eq!(second, 25_006);
    assert_eq!(flush, [Some(8_000), None, None, Some(second), Some(8_000), None, Some(u64::from(u32::MAX))]);
    let count = |cause| report.invalidations.get(&cause).map_or((0, 0), |n| (n.requests, n.tokens));
    assert_eq!((report.warm_start_tokens, report.warm_starts, report.flushed_requests, report.base_served), (8_000, 1, 4, 1));
    assert_eq!(count(Cause::Unknown), (2, 1_000 + 19_001));
    assert_eq!(count(Cause::TtlExpired), (2, 27_900 + 10_100));
    assert_eq!(report.natural_invalidations().requests, 4);
}

#[test]
fn an_entry_that_outlives_its_ttl_was_refreshed_by_a_call_outside_the_log() {
    for (read_later, kept, proven) in [(20_000, true, 0), (19_001, true, 0), (20_001, true, 1), (19_000, false, 0), (15_000, false, 0)] {
        let mut log = Log::default();
        log.user("go");
        log.answer("m1", json!([{"type": "text", "text": "a"}]), usage(6, 8_000, 12_000, 10));
        log.second += 400;
        log.user("on");
        log.answer("m2", json!([{"type": "text", "text": "b"}]), usage(6, read_later, 5_000, 10));
        let (docs, report) = read(&log.text);
        // Times stay as they were logged.
        assert_eq!(docs[0].requests[1].at_ms - docs[0].requests[0].at_ms, 402_000);
        assert_eq!(docs[0].requests[1].kept_warm, kept);
        assert_eq!((report.kept_warm, report.kept_warm_proven), (u64::from(kept), proven));
        assert_eq!(report.invalidations.contains_key(&Cause::TtlExpired), !kept);
    }
}

#[test]
fn unlogged_growth_becomes_client_text_and_results_keep_their_likely_size() {
    let mut log = Log::default();
    log.user("go");
    log.call("m1", "ToolSearch", "t1", usage(20_000, 0, 0, 60));
    log.result("t1", json!([{"type": "tool_reference", "tool_name": "WebFetch"}]));
    log.answer("m2", json!([{"type": "text", "text": "x"}]), usage(23_000, 0, 0, 5));
    let (docs, report) = read(&log.text);
    let input = &docs[0].requests[1].input;
    assert_eq!(kinds(input), ["result", "user"]);
    assert!(input[0].tokens < 30 && input[0].bytes.is_none(), "{input:?}");
    assert_eq!(prompts(&docs[0]), [20_000, 23_000]);
    assert!(report.sizes.unlogged_tokens > 2800);
}

#[test]
fn a_prompt_that_shrinks_is_counted_and_the_rest_still_grows_as_recorded() {
    let mut log = Log::default();
    for (i, prompt) in [20_000, 21_000, 15_000, 15_500].into_iter().enumerate() {
        log.user("some words of the user that go on for a while");
        log.answer(&format!("m{i}"), json!([{"type": "text", "text": "and an answer"}]), usage(prompt, 0, 0, 5));
    }
    let (docs, report) = read(&log.text);
    let replayed = prompts(&docs[0]);
    assert_eq!((replayed[0], replayed[1]), (20_000, 21_000));
    assert!(replayed[2] >= 21_000);
    assert_eq!(replayed[3] - replayed[2], 500);
    assert_eq!((report.sizes.impossible_steps, report.sizes.exact_prompts, report.sizes.recorded_prompts), (1, 2, 4));
}

#[test]
fn hidden_thinking_takes_what_the_visible_blocks_leave() {
    let mut log = Log::default();
    log.user("go");
    let content = json!([{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "short"}]);
    log.answer("m1", content, usage(1000, 0, 0, 800));
    let (docs, _) = read(&log.text);
    let output = &docs[0].requests[0].output;
    assert!(output[0].tokens > 780 && output[1].tokens < 10, "{output:?}");
}

#[test]
fn times_without_a_zone_are_utc_with_a_note_and_order_is_the_conversations() {
    let mut log = Log::default();
    log.user("go");
    log.answer("m1", json!([{"type": "text", "text": "a"}]), usage(100, 0, 0, 5));
    log.user("on");
    log.answer("m2", json!([{"type": "text", "text": "b"}]), usage(150, 0, 0, 5));
    let (docs, _) = read(&log.text);
    assert_eq!(docs[0].requests.iter().map(|r| r.at_ms).collect::<Vec<_>>(), [0, 2000]);
    let bare = log.text.replace(".000Z", "");
    let (docs, report) = read(&bare);
    assert_eq!(docs[0].requests[1].at_ms, 2000);
    assert!(report.notes.iter().any(|n| n.contains("zone")), "{:?}", report.notes);
    let (docs, report) = read(&log.text.replace("10:00:03", "09:00:03").replace("10:00:04", "09:00:04"));
    assert_eq!(docs[0].requests[1].at_ms, 2000 - 3_600_000);
    assert!(report.notes.iter().any(|n| n.contains("order")), "{:?}", report.notes);
}

#[test]
fn the_fixture_reads_as_an_independent_reader_counted_it() {
    let (docs, report) = read(include_str!("../fixtures/claude_code/small.jsonl"));
    assert_eq!((report.records, report.requests, report.tool_uses, report.skipped_records), (9, 1, 1, 0));
    let u = report.usage;
    assert_eq!((u.input, u.cache_read, u.cache_write_5m + u.cache_write_1h, u.output), (3, 11_819, 6_612, 54));
    assert_eq!(prompts(&docs[0]), [18_434]);
    assert_eq!(docs[0].requests[0].flush_above, Some(11_819));
}
