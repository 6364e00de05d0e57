//! Logs recorded with clearing on: each is made from a known transcript by editing it as the provider would, and read back.

mod client;

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use cleartune::ingest::{AskedEdit, FileReport, Ingested, NeedOptions, Options};
use cleartune::policy::{Assume, KeepCounts, Memory, Selection, Settings, TriggerCmp};
use cleartune::profile::{ClearingFit, readings};
use cleartune::replay::{RowKind, replay};
use cleartune::report::{bill, recorded_bill};
use cleartune::trace::{Block, Cause, Document, RequestDoc, SCHEMA, Trace};
use serde_json::{Value, json};

use super::ingest_claude_code::{prompts, read_all, usage};
use super::random::Dice;

/// Words that stand nowhere else, of so many bytes.
fn words(salt: u64, bytes: u64) -> String {
    let mut random = Dice::new(salt.wrapping_mul(7919) + 1);
    let mut text = String::new();
    while (text.len() as u64) < bytes {
        let letter = (b'a' + random.below(26) as u8) as char;
        text.push(if random.one_in(6) { ' ' } else { letter });
    }
    text
}

/// The log of a transcript under a config, as the provider records it: usage of edited prompts, whole results in the requests, and
/// `applied_edits`, which `tells` may take away. Re-fetches of the replay are in it as the agent makes them.
struct Recorder<'d> {
    doc: &'d Document,
    edits: Value,
    assume: Assume,
    tells: &'d dyn Fn(usize) -> bool,
}

const SYSTEM_BYTES: u64 = 3_400;

impl Recorder<'_> {
    fn settings(&self) -> Settings {
        let config = json!({"context_management": self.edits}).to_string();
        Settings { edit: cleartune::policy::from_json(&config).unwrap().edit, assume: self.assume.clone(), ..Settings::default() }
    }

    /// Tells the logs of different configs apart.
    fn name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (self.edits.to_string(), self.doc.requests.len()).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn id(copy: u64, id: u64) -> String {
        format!("toolu_{copy:08}_{id:08}")
    }

    fn result(copy: u64, block: &Block) -> Value {
        let id = block.use_id.unwrap();
        // Without bytes it is big: 3.4 bytes a token.
        let bytes = block.bytes.unwrap_or((f64::from(block.tokens.max(13) - 12) * 3.4) as u64);
        json!({"type": "tool_result", "tool_use_id": Self::id(copy, id), "content": words(id, bytes)})
    }

    fn tool_use(copy: u64, block: &Block) -> Value {
        let id = block.use_id.unwrap();
        json!({"type": "tool_use", "id": Self::id(copy, id), "name": block.tool, "input": {"path": format!("file {id}"), "n": id}})
    }

    fn log(&self) -> String {
        let trace = Trace::from_document(self.doc).unwrap();
        let rows = replay(&trace, &self.settings()).requests;
        let mut uses: Vec<Block> = Vec::new();
        let mut results: Vec<Block> = Vec::new();
        for request in &self.doc.requests {
            uses.extend(request.output.iter().filter(|b| b.kind == "use").cloned());
            results.extend(request.input.iter().filter(|b| b.kind == "result").cloned());
        }
        let mut messages: Vec<Value> = Vec::new();
        let mut log = String::new();
        let mut sent = usize::MAX;
        let name = self.name();
        for (n, row) in rows.iter().enumerate() {
            let request = &self.doc.requests[row.request as usize];
            if sent != row.request as usize {
                sent = row.request as usize;
                let content: Vec<Value> = request
                    .input
                    .iter()
                    .map(|b| match b.kind.as_str() {
                        "result" => Self::result(0, b),
                        _ => json!({"type": "text", "text": words(1_000_000 + u64::from(row.request), (f64::from(b.tokens - 4) * 3.4) as u64)}),
                    })
                    .collect();
                messages.push(json!({"role": "user", "content": content}));
            }
            let mut body = json!({
                "model": "claude-sonnet-4-6", "max_tokens": 9, "system": format!("{name}{}", words(77, SYSTEM_BYTES)), "tools": [{"name": "read"}],
                "messages": messages,
            });
            if !self.edits.is_null() {
                body["context_management"] = self.edits.clone();
            }
            // One need a request: what is fetched again is what the request needs.
            let fetched: Vec<u64> = if row.kind == RowKind::Refetch { request.needs.clone() } else { Vec::new() };
            assert_eq!(fetched.len() as u64, row.refetched);
            let content: Vec<Value> = if row.kind == RowKind::Refetch {
                fetched.iter().map(|id| Self::tool_use(1 + n as u64, uses.iter().find(|u| u.use_id == Some(*id)).unwrap())).collect()
            } else {
                let output = request.output.iter().map(|b| match b.kind.as_str() {
                    "use" => Self::tool_use(0, b),
                    _ => json!({"type": "text", "text": words(2_000_000 + u64::from(row.request), u64::from(b.tokens) * 3)}),
                });
                output.collect()
            };
            let mut response = json!({
                "id": format!("msg_{name}_{n}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": content,
                "stop_reason": "end_turn", "usage": usage(0, row.cache_read, row.cache_write + row.uncached, row.output_tokens),
            });
            if (self.tells)(n) {
                // The provider's estimate is a little low.
                let freed = (row.original_tokens - row.prompt_tokens) * 99 / 100;
                let edit =
                    json!({"type": "clear_tool_uses_20250919", "cleared_tool_uses": row.cleared_uses, "cleared_input_tokens": freed});
                response["context_management"] = json!({"applied_edits": if row.cleared_uses > 0 { json!([edit]) } else { json!([]) }});
            }
            // The start of a session, and a second for a fetch.
            let at = 1_767_600_000_000 + row.at_ms + if row.kind == RowKind::Refetch { 0 } else { 1_000 };
            let line = json!({"request": {"timestamp": at as f64 / 1000.0, "body": body}, "response": {"body": response}});
            writeln!(log, "{line}").unwrap();
            messages.push(json!({"role": "assistant", "content": content}));
            if row.kind == RowKind::Refetch {
                let results: Vec<Value> = fetched
                    .iter()
                    .map(|id| {
                        let block = results.iter().find(|r| r.use_id == Some(*id)).unwrap();
                        let mut again = Self::result(0, block);
                        again["tool_use_id"] = json!(Self::id(1 + n as u64, *id));
                        again
                    })
                    .collect();
                messages.push(json!({"role": "user", "content": results}));
            }
        }
        log
    }
}

/// A transcript of one result a request, `tokens` of result `i`; every use has a need of what `needs` says.
fn chain(
    n: u64,
    tokens: impl Fn(u64) -> (u32, Option<u64>),
    tool: impl Fn(u64) -> &'static str,
    needs: impl Fn(u64) -> Vec<u64>,
) -> Document {
    let request = |i: u64| {
        let input = if i == 0 {
            vec![Block::user(300)]
        } else {
            let (tokens, bytes) = tokens(i - 1);
            vec![Block::result(i - 1, tokens, bytes)]
        };
        let output = if i == n { vec![Block::text(200)] } else { vec![Block::tool_use(i, tool(i), 80)] };
        RequestDoc { at_ms: i as i64 * 20_000, input, output, needs: needs(i), ..RequestDoc::default() }
    };
    Document {
        schema: SCHEMA.to_owned(),
        id: "known".to_owned(),
        model: Some("claude-sonnet-4-6".to_owned()),
        base_tokens: 2_000,
        requests: (0..=n).map(request).collect(),
        ..Document::default()
    }
}

fn edit(trigger: (&str, u64), keep: u64, at_least: u64, exclude: &[&str]) -> Value {
    let mut edit = json!({"type": "clear_tool_uses_20250919", "trigger": {"type": trigger.0, "value": trigger.1},
        "keep": {"type": "tool_uses", "value": keep}, "exclude_tools": exclude});
    if at_least > 0 {
        edit["clear_at_least"] = json!({"type": "input_tokens", "value": at_least});
    }
    json!({"edits": [edit]})
}

fn ingest(log: &str) -> (Document, FileReport, Ingested) {
    let all = read_all(&[log], Options::default());
    assert_eq!(all.documents.len(), 1, "{:?}", all.reports);
    (all.documents[0].clone(), all.reports[0].clone(), all)
}

/// Result sizes by position, and needs.
fn results(doc: &Document) -> Vec<u32> {
    doc.requests.iter().flat_map(|r| &r.input).filter(|b| b.kind == "result").map(|b| b.tokens).collect()
}

/// Which of the uses it is: ids of uses that were left out are not given again.
fn ordinal(doc: &Document, id: u64) -> u64 {
    let mut uses = doc.requests.iter().flat_map(|r| &r.output).filter(|b| b.kind == "use");
    uses.position(|b| b.use_id == Some(id)).unwrap() as u64
}

fn sizes_of(i: u64) -> (u32, Option<u64>) {
    (400 + (i * 7919 % 1700) as u32, None)
}

#[test]
fn what_was_cleared_comes_back_and_so_do_the_needs() {
    let needs = |i: u64| if i % 6 == 5 && i > 8 { vec![i - 7] } else { Vec::new() };
    let known = chain(40, sizes_of, |_| "read", needs);
    for at_least in [0, 4_000] {
        let edits = edit(("input_tokens", 12_000), 4, at_least, &[]);
        let recorder = Recorder { doc: &known, edits, assume: Assume::default(), tells: &|_| true };
        let rows = replay(&Trace::from_document(&known).unwrap(), &recorder.settings()).requests;
        let fetched = rows.iter().filter(|r| r.kind == RowKind::Refetch).count() as u64;
        assert!(fetched >= 3, "{fetched}");
        let (doc, report, _) = ingest(&recorder.log());
        let c = report.clearing;
        assert_eq!((c.observed, c.unknown, c.asked), (rows.len() as u64, 0, rows.len() as u64));
        assert_eq!((c.refetches, c.refetch_requests, c.failed_refetches, c.estimated_steps), (fetched, fetched, 0, 0));
        assert_eq!(c.cleared_requests, rows.iter().filter(|r| r.cleared_uses > 0).count() as u64);
        // Every recorded prompt is the unedited one less what was cleared.
        assert_eq!((report.sizes.exact_prompts, report.sizes.largest_difference), (rows.len() as u64, 0));
        assert_eq!(doc.requests.len(), known.requests.len());
        assert_eq!(results(&doc), results(&known));
        assert_eq!(prompts(&doc), prompts(&known));
        for (i, (read, known)) in doc.requests.iter().zip(&known.requests).enumerate() {
            // A need that was met in the prompt leaves no trace in a log without quotations.
            let met = rows.iter().all(|r| r.request as usize != i || r.kind == RowKind::Original);
            let read: Vec<u64> = read.needs.iter().map(|id| ordinal(&doc, *id)).collect();
            assert_eq!(read, if met { Vec::new() } else { known.needs.clone() }, "request {i}");
        }
        // In the closed loop the recorded config makes the same fetches again.
        let again = replay(&Trace::from_document(&doc).unwrap(), &recorder.settings());
        assert_eq!(again.totals.refetches, fetched);
        assert_eq!(again.totals.prompt_tokens, rows.iter().map(|r| r.prompt_tokens).sum::<u64>());
        assert!(report.notes.iter().any(|n| n.contains("really happened") && n.contains("left out of `none`")), "{:?}", report.notes);
        // What clearing took out of the cache is no natural invalidation.
        assert!(report.invalidations.keys().all(|&c| c == Cause::Cleared), "{:?}", report.invalidations);
    }
}

#[test]
fn inputs_that_were_cleared_too_come_back() {
    let known = chain(30, sizes_of, |_| "read", |_| Vec::new());
    for inputs in [json!(true), json!(["read"]), json!(["other"])] {
        let mut edits = edit(("input_tokens", 10_000), 3, 0, &[]);
        edits["edits"][0]["clear_tool_inputs"] = inputs;
        let recorder = Recorder { doc: &known, edits, assume: Assume::default(), tells: &|_| true };
        let (doc, report, _) = ingest(&recorder.log());
        assert_eq!((report.sizes.largest_difference, report.clearing.estimated_steps), (0, 0));
        assert_eq!(prompts(&doc), prompts(&known));
        assert!(doc.requests[..30].iter().all(|r| r.output[0].tokens == 80));
    }
}

#[test]
fn what_was_cleared_on_arrival_has_a_size_from_bytes() {
    let known = chain(30, sizes_of, |_| "read", |_| Vec::new());
    let assume = Assume { max_refetch_rounds: 0, ..Assume::default() };
    let edits = edit(("tool_uses", 10), 0, 0, &[]);
    let (doc, report, all) = ingest(&Recorder { doc: &known, edits, assume, tells: &|_| true }.log());
    assert_eq!((report.sizes.largest_difference, report.clearing.cleared_requests), (0, 20));
    let (read, known) = (results(&doc), results(&known));
    assert_eq!(read[..10], known[..10], "these were in a prompt whole");
    for (read, known) in read.iter().zip(&known) {
        assert!((f64::from(*read) / f64::from(*known) - 1.0).abs() < 0.1, "{read} {known}");
    }
    let fit = ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap();
    assert_eq!((fit.default.agreeing, fit.default.requests), (31, 31));
}

#[test]
fn without_usage_the_sets_are_known_all_the_same() {
    let known = chain(24, sizes_of, |_| "read", |i| if i == 20 { vec![3] } else { Vec::new() });
    let edits = edit(("tool_uses", 10), 4, 0, &[]);
    for tells in [true, false] {
        let log = Recorder { doc: &known, edits: edits.clone(), assume: Assume::default(), tells: &|_| tells }.log();
        let bare: String = log
            .lines()
            .map(|line| {
                let mut v: Value = serde_json::from_str(line).unwrap();
                v["response"]["body"].as_object_mut().unwrap().remove("usage");
                v.to_string()
            })
            .collect::<Vec<_>>()
            .join("\n");
        let (doc, report, _) = ingest(&bare);
        assert_eq!((report.clearing.refetches, report.clearing.cleared_requests), (1, 15), "tells: {tells}");
        assert_eq!(doc.requests[20].needs.len(), 1);
        // Without needs nothing could stand for the re-fetch, so it stays.
        let options = Options { needs: NeedOptions { find: false, ..NeedOptions::default() }, ..Options::default() };
        let all = read_all(&[&bare], options);
        assert_eq!((all.reports[0].clearing.refetches, all.documents[0].requests.len()), (0, 26));
    }
}

#[test]
fn a_config_that_changed_on_the_way_is_predicted_by_what_each_request_asked() {
    let known = chain(40, sizes_of, |_| "read", |_| Vec::new());
    let log = |keep: u64| {
        let edits = edit(("input_tokens", 9_000), keep, 0, &[]);
        Recorder { doc: &known, edits, assume: Assume::default(), tells: &|_| true }.log()
    };
    let (first, second) = (log(6), log(3));
    let both: String = first.lines().take(20).chain(second.lines().skip(20)).collect::<Vec<_>>().join("\n");
    let (doc, report, all) = ingest(&both);
    assert_eq!((prompts(&doc), report.sizes.largest_difference), (prompts(&known), 0));
    assert_eq!(all.recorded_clearing[0].as_ref().unwrap().edits.iter().map(|e| e.keep).collect::<Vec<_>>(), [6, 3]);
    let fit = ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap();
    assert_eq!((fit.default.agreeing, fit.default.requests), (41, 41));
}

#[test]
fn cleared_thinking_counts_as_if_it_were_not() {
    let says =
        |i: u64| json!([{"type": "thinking", "thinking": words(i, 1_700), "signature": ""}, {"type": "text", "text": words(90 + i, 340)}]);
    let ask = |i: u64| json!({"role": "user", "content": words(30 + i, 340)});
    let mut messages = Vec::new();
    let mut log = String::new();
    let (mut prompt, mut whole, mut held) = (5_000, Vec::new(), 0);
    for i in 0..6u64 {
        messages.push(ask(i));
        // From the third request on all thinking but that of the last turn is cleared.
        let cleared = i.saturating_sub(1) * 500;
        // Of a prompt that was edited only what stands before the edit is cached.
        let read = if cleared > 0 { held - 1_200 } else { held };
        held = prompt - cleared;
        let body = json!({"model": "claude-sonnet-4-6", "max_tokens": 9, "system": "be good", "messages": messages,
            "context_management": {"edits": [{"type": "clear_thinking_20251015"}]}});
        let edit =
            json!({"type": "clear_thinking_20251015", "cleared_thinking_turns": i.saturating_sub(1), "cleared_input_tokens": cleared});
        let response = json!({"id": format!("m{i}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": says(i),
            "stop_reason": "end_turn", "usage": usage(0, read, prompt - cleared - read, 600), "context_management": {"applied_edits": [edit]}});
        writeln!(log, "{}", json!({"request": {"body": body}, "response": {"body": response}})).unwrap();
        messages.push(json!({"role": "assistant", "content": says(i)}));
        whole.push(prompt);
        prompt += 600 + 100;
    }
    let (doc, report, all) = ingest(&log);
    assert_eq!((prompts(&doc), report.sizes.largest_difference, report.clearing.thinking_requests), (whole, 0, 4));
    assert_eq!((report.clearing.cleared_requests, report.clearing.asked, report.sizes.impossible_steps), (0, 0, 0));
    assert!(report.notes.iter().any(|n| n.contains("4 requests had thinking cleared")), "{:?}", report.notes);
    assert_eq!(all.recorded_clearing, [None]);
    // It is cleared under every config, so what the cache lost by it is lost under every config.
    assert_eq!(report.invalidations.iter().map(|(c, n)| (*c, n.requests)).collect::<Vec<_>>(), [(Cause::MessagesChanged, 4)]);
}

#[test]
fn a_log_with_holes_is_read_as_far_as_it_goes() {
    let log = sample_log();
    let lines: Vec<&str> = log.lines().collect();
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let mut text = String::new();
        for line in &lines {
            let mut v: Value = serde_json::from_str(line).unwrap();
            match dice.below(12) {
                0 => continue,
                1 => drop(v["response"]["body"].as_object_mut().unwrap().remove("usage")),
                2 => drop(v["response"]["body"].as_object_mut().unwrap().remove("context_management")),
                3 => drop(v["request"]["body"].as_object_mut().unwrap().remove("context_management")),
                4 => {
                    let edit = json!({"type": "clear_tool_uses_20250919", "cleared_tool_uses": dice.below(60), "cleared_input_tokens": 1});
                    v["response"]["body"]["context_management"] = json!({"applied_edits": [edit]});
                }
                5 => v["response"]["body"]["usage"] = usage(0, 0, dice.below(90_000), dice.below(900)),
                _ => {}
            }
            writeln!(text, "{v}").unwrap();
        }
        // Every document is checked to be a valid transcript, and every reading can be tried on it.
        let all = read_all(&[&text], Options::default());
        ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap();
    }
}

#[test]
fn without_clearing_a_repetition_is_none_of_it() {
    let needs = |i: u64| if i == 20 { vec![3] } else { Vec::new() };
    let known = chain(24, sizes_of, |_| "read", needs);
    let log = |trigger: u64| {
        let edits = edit(("input_tokens", trigger), 4, 0, &[]);
        Recorder { doc: &known, edits, assume: Assume::default(), tells: &|_| true }.log()
    };
    let (doc, report, _) = ingest(&log(12_000));
    assert_eq!((report.clearing.refetches, doc.requests.len()), (1, 25));
    // The same log, but for what the responses and usage say: the repeated use is one like any other.
    let unedited: String = log(12_000)
        .lines()
        .map(|line| {
            let mut v: Value = serde_json::from_str(line).unwrap();
            v["request"]["body"].as_object_mut().unwrap().remove("context_management");
            v["response"]["body"].as_object_mut().unwrap().remove("context_management");
            v["response"]["body"].as_object_mut().unwrap().remove("usage");
            v.to_string()
        })
        .collect::<Vec<_>>()
        .join("\n");
    let (doc, report, all) = ingest(&unedited);
    assert_eq!((report.clearing.refetches, report.clearing.is_on(), doc.requests.len()), (0, false, 26));
    assert_eq!(all.recorded_clearing, [None]);
}

#[test]
fn a_gateway_that_drops_the_field_leaves_it_unknown_and_the_prompts_tell() {
    let needs = |i: u64| if i == 30 { vec![3] } else { Vec::new() };
    let known = chain(40, sizes_of, |_| "read", needs);
    let edits = edit(("input_tokens", 14_000), 3, 3_000, &[]);
    let recorder = |tells: &'static dyn Fn(usize) -> bool| Recorder { doc: &known, edits: edits.clone(), assume: Assume::default(), tells };
    let (doc, report, all) = ingest(&recorder(&|_| false).log());
    let c = report.clearing;
    assert_eq!((c.observed, c.unknown, c.asked), (0, 42, 42));
    assert!(c.cleared_requests > 20 && c.inferred_requests == c.cleared_requests, "{c:?}");
    assert_eq!((results(&doc), c.refetches), (results(&known), 1));
    let fit = ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap();
    assert_eq!((fit.requests, fit.unknown, fit.best.requests, fit.best_readings), (42, 42, 0, 192));
    assert!(report.notes.iter().any(|n| n.contains("42 responses do not say") && n.contains("not none")), "{:?}", report.notes);
    // Every other response: these are compared, the others are not taken for none.
    let (_, report, all) = ingest(&recorder(&|i| i % 2 == 0).log());
    let fit = ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap();
    assert_eq!((report.clearing.unknown, fit.unknown, fit.default.requests, fit.default.agreeing), (21, 21, 21, 21));
    // An empty list says none.
    let none = edit(("input_tokens", 900_000), 3, 3_000, &[]);
    let (_, report, _) = ingest(&Recorder { doc: &known, edits: none, assume: Assume::default(), tells: &|_| true }.log());
    assert_eq!((report.clearing.unknown, report.clearing.observed, report.clearing.cleared_requests), (0, 41, 0));
}

/// A log with everything that a profile says of clearing.
pub fn sample_log() -> String {
    let known = chain(40, sizes_of, |_| "read", |i| if i % 9 == 8 { vec![i - 7] } else { Vec::new() });
    Recorder { doc: &known, edits: edit(("input_tokens", 12_000), 4, 4_000, &[]), assume: Assume::default(), tells: &|i| i != 30 }.log()
}

#[test]
fn the_bill_is_compared_under_the_recorded_config() {
    let (doc, _, all) = ingest(&sample_log());
    let recorded = all.recorded_clearing[0].as_ref().unwrap();
    let check = recorded_bill(recorded, &Settings::default()).unwrap();
    // The replay of what was recorded is what was billed; only where system prompt and tools end in the first prompt is a guess.
    assert_eq!(check.recorded.prompt_tokens, check.replayed.prompt_tokens);
    assert!(check.relative().unwrap().abs() < 1e-3, "{check:?}");
    assert_eq!((check.under_recorded_config, check.cleared_requests), (1, 0));
    assert_eq!(check.requests as usize, recorded.requests.len());
    // Without clearing the prompts are larger, and the check of a trace alone says why.
    let check = bill(&doc, &Settings::default()).unwrap();
    assert!(check.replayed.prompt_tokens > check.recorded.prompt_tokens * 5 / 4, "{check:?}");
    assert!(check.under_recorded_config == 0 && check.cleared_requests > 20, "{check:?}");
}

/// Logs under configs that between them tell all readings apart.
fn telling(assume: &Assume) -> Vec<String> {
    // Some results of 50 bytes, and an excluded tool, between ordinary ones.
    let mixed = |i: u64| if i % 7 == 3 { (29, Some(50)) } else { sizes_of(i) };
    let small = |i: u64| (60 + (i % 5) as u32, None);
    let tool = |i: u64| if i % 5 == 1 { "memory" } else { "read" };
    let (mixed, small) = (chain(40, mixed, tool, |_| Vec::new()), chain(90, small, |_| "read", |_| Vec::new()));
    let cases = [
        (&mixed, edit(("tool_uses", 12), 4, 0, &["memory"])),
        (&mixed, edit(("input_tokens", 9_000), 3, 3_000, &["memory"])),
        (&mixed, edit(("input_tokens", 12_000), 5, 6_000, &[])),
        (&small, edit(("tool_uses", 20), 3, 1_000, &[])),
        (&mixed, edit(("input_tokens", 20_000), 3, 0, &[])),
        (&mixed, edit(("input_tokens", 22_000), 3, 4_000, &[])),
    ];
    cases.into_iter().map(|(doc, edits)| Recorder { doc, edits, assume: assume.clone(), tells: &|_| true }.log()).collect()
}

fn fit_of(logs: &[String]) -> ClearingFit {
    let texts: Vec<&str> = logs.iter().map(String::as_str).collect();
    let all = read_all(&texts, Options::default());
    ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap()
}

#[test]
fn the_reading_that_made_the_log_is_named_and_no_other() {
    let default = Assume { max_refetch_rounds: 0, ..Assume::default() };
    assert_eq!((readings().len(), &readings()[0]), (192, &default));
    let used = [
        default.clone(),
        Assume { memory: Memory::Sticky, ..default.clone() },
        Assume { selection: Selection::AllOrNothing, ..default.clone() },
        Assume { selection: Selection::StopWhenReached, ..default.clone() },
        Assume { keep_counts: KeepCounts::All, ..default.clone() },
        Assume { tiny_result_bytes: 53, placeholder_tokens: 7, ..default.clone() },
        Assume { placeholder_tokens: 7, trigger_counts_base: false, ..default.clone() },
        Assume { trigger_cmp: TriggerCmp::Ge, keep_counts: KeepCounts::All, tiny_result_bytes: 53, ..default.clone() },
    ];
    for assume in used {
        let fit = fit_of(&telling(&assume));
        assert_eq!(fit.best.agreeing, fit.best.requests, "{assume:?}: {fit:?}");
        assert_eq!((fit.best_readings, fit.undecided.len()), (1, 0), "{assume:?}: {fit:?}");
        let expected: serde_json::Map<String, Value> = serde_json::to_value(&assume)
            .unwrap()
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .filter(|(k, _)| fit.decided.contains_key(k.as_str()))
            .collect();
        for (key, value) in &expected {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(fit.decided[key.as_str()], value, "{key} of {assume:?}");
        }
        assert_eq!(fit.default_is_best, assume == default);
        assert_eq!(fit.default.agreeing == fit.best.agreeing, assume == default);
        assert_eq!((fit.best.events_predicted, fit.best.events_both), (fit.best.events_observed, fit.best.events_observed));
        assert!(fit.best.events_observed > 10);
    }
}

#[test]
fn keys_that_a_log_does_not_touch_stay_undecided() {
    let plain = chain(30, sizes_of, |_| "read", |_| Vec::new());
    let log = Recorder { doc: &plain, edits: edit(("tool_uses", 10), 3, 0, &[]), assume: Assume::default(), tells: &|_| true }.log();
    let fit = fit_of(&[log]);
    assert_eq!(fit.undecided, ["memory", "selection", "keep_counts", "tiny_result_bytes", "placeholder_tokens", "trigger_counts_base"]);
    assert_eq!(fit.decided.iter().map(|(k, v)| (*k, v.as_str())).collect::<Vec<_>>(), [("trigger_cmp", "gt")]);
    assert!(fit.default_is_best);
}

#[test]
fn a_config_that_cannot_be_read_and_one_that_is_not_asked() {
    let plain = chain(20, sizes_of, |_| "read", |_| Vec::new());
    let edits = edit(("tool_uses", 8), 3, 0, &[]);
    let log = Recorder { doc: &plain, edits, assume: Assume::default(), tells: &|_| true }.log();
    let strange = log.replace("\"tool_uses\",\"value\":8", "\"moons\",\"value\":8");
    assert_ne!(strange, log);
    let (doc, report, all) = ingest(&strange);
    assert_eq!((report.clearing.asked, report.clearing.unread), (21, 21));
    assert_eq!(results(&doc), results(&plain), "what was applied is known all the same");
    assert_eq!(all.recorded_clearing[0].as_ref().unwrap().requests[3].asked, AskedEdit::Unread);
    let fit = ClearingFit::new(all.recorded_clearing.iter().flatten()).unwrap().unwrap();
    assert_eq!(fit.best.requests, 0);
}
