//! The space of policies: each rule on both sides, the named ones, and what holds for every one of them.

use std::sync::Arc;

use cleartune::policy::named::{self, Named};
use cleartune::policy::{Settings, Trigger};
use cleartune::replay::{Report, Row, RowKind, replay};
use cleartune::sweep::config;
use cleartune::trace::{Block, Document, Refetch, RequestDoc, SCHEMA, ToolDoc, Trace};
use serde_json::Value;

use super::random;

fn settings(rules: &str) -> Settings {
    let named = Named::from_toml(&format!("name = \"mine\"\n{rules}")).unwrap_or_else(|e| panic!("{rules}: {e}"));
    Settings { policy: Some(Arc::new(named.policy(&[]).unwrap())), ..Settings::default() }
}

fn trace(requests: Vec<RequestDoc>) -> Trace {
    let mut doc = Document { schema: SCHEMA.to_owned(), id: "t".to_owned(), base_tokens: 2000, requests, ..Document::default() };
    doc.tools.insert("ask".to_owned(), ToolDoc::new(Refetch::Never));
    Trace::from_document(&doc).unwrap()
}

/// `n` requests, the first with a user's 100 tokens, each with a use of 50 tokens and the next with its result of 3,000.
fn steps(n: u64) -> Vec<RequestDoc> {
    (0..n)
        .map(|i| {
            let input = if i == 0 { Block::user(100) } else { Block::result(i - 1, 3000, None) };
            RequestDoc { at_ms: i as i64 * 1000, input: vec![input], output: vec![Block::tool_use(i, "read", 50)], ..RequestDoc::default() }
        })
        .collect()
}

fn run(requests: Vec<RequestDoc>, rules: &str) -> Report {
    replay(&trace(requests), &settings(rules))
}

/// How many uses are not whole at each request, where nothing is fetched again.
fn cleared(requests: Vec<RequestDoc>, rules: &str) -> Vec<u64> {
    let mut settings = settings(rules);
    settings.assume.max_refetch_rounds = 0;
    replay(&trace(requests), &settings).requests.iter().filter(|r| r.kind == RowKind::Original).map(|r| r.cleared_uses).collect()
}

const KEEP_2: &str = "newest = { uses = 2 }";

/// Prompts of `steps`, unedited: 2100, 5150, 8200, 11250, 14300, 17350.
#[test]
fn every_size_is_compared_with_what_it_names() {
    for (when, expected) in [
        ("original_tokens = { gt = 11249 }", [0, 0, 0, 2, 3, 4]),
        ("original_tokens = { gt = 11250 }", [0, 0, 0, 0, 3, 4]),
        ("original_tokens = { ge = 11250 }", [0, 0, 0, 2, 3, 4]),
        ("original_message_tokens = { gt = 9249 }", [0, 0, 0, 2, 3, 4]),
        ("original_message_tokens = { ge = 9251 }", [0, 0, 0, 0, 3, 4]),
        // Of the history as memory leaves it, which recomputed rules find whole.
        ("edited_tokens = { ge = 14300 }", [0, 0, 0, 0, 3, 4]),
        ("tool_uses = { gt = 3 }", [0, 0, 0, 0, 3, 4]),
        ("tool_uses = { ge = 3 }", [0, 0, 0, 2, 3, 4]),
        ("messages = { ge = 7 }", [0, 0, 0, 2, 3, 4]),
        ("messages = { gt = 7 }", [0, 0, 0, 0, 3, 4]),
        ("assistant_turns = { gt = 2 }", [0, 0, 0, 2, 3, 4]),
        ("events = { ge = 9 }", [0, 0, 0, 0, 3, 4]),
        ("user_turns = { gt = 1 }", [0; 6]),
        ("original_tokens = { gt = 8000 }, tool_uses = { gt = 3 }", [0, 0, 0, 0, 3, 4]),
    ] {
        // The newest result may go: every use but the two newest.
        let expected = expected.map(|n: u64| n.saturating_sub(1));
        assert_eq!(cleared(steps(6), &format!("[[rules]]\nwhen = {{ {when} }}\n{KEEP_2}")), expected, "{when}");
    }
    let either = "[[rules]]\nwhen = [{ tool_uses = { gt = 99 } }, { original_tokens = { ge = 14300 } }]\nnewest = { uses = 2 }";
    assert_eq!(cleared(steps(6), either), [0, 0, 0, 0, 2, 3]);
}

#[test]
fn a_share_of_the_window_needs_a_window() {
    let rules = "[[rules]]\nwhen = { original_window_share = { gt = 0.5 } }";
    let mut with = settings(rules);
    with.assume.max_refetch_rounds = 0;
    let last = |settings: &Settings| replay(&trace(steps(6)), settings).requests.last().unwrap().cleared_uses;
    assert_eq!(last(&with), 0);
    with.context_window = Some(34_700);
    assert_eq!(last(&with), 0, "exactly half");
    with.context_window = Some(34_600);
    assert_eq!(last(&with), 5);
}

#[test]
fn a_pause_counts_once_and_from_its_length_on() {
    let paused = |gap: i64| {
        let mut requests = steps(6);
        requests[3..].iter_mut().for_each(|r| r.at_ms += gap);
        requests
    };
    let idle = "[[rules]]\nwhen = { idle_ms = { ge = 60000 } }\nmemory = \"remembered\"\nnewest = { uses = 1 }";
    assert_eq!(cleared(paused(58_999), idle), [0; 6]);
    assert_eq!(cleared(paused(59_000), idle), [0, 0, 0, 2, 2, 2]);
    let cold = idle.replace("idle_ms = { ge = 60000 }", "cache_cold = true");
    assert_eq!(cleared(paused(299_000), &cold), [0; 6]);
    assert_eq!(cleared(paused(299_001), &cold), [0, 0, 0, 2, 2, 2]);
    // What is recomputed holds only for the request after the pause.
    assert_eq!(cleared(paused(299_001), &cold.replace("remembered", "recomputed")), [0, 0, 0, 2, 0, 0]);
}

#[test]
fn every_newest_part_ends_where_it_says() {
    // Before the last of six requests there are five results.
    let left = |protect: &str| cleared(steps(6), &format!("[[rules]]\n{protect}"))[5];
    for (protect, gone) in [
        ("", 5),
        ("newest = { uses = 2 }", 3),
        ("newest = { results = 2 }", 3),
        ("newest = { result_tokens = 5999 }", 4),
        ("newest = { result_tokens = 6000 }", 3),
        // The last message brings the newest result, the one before is an answer.
        ("newest = { messages = 1 }", 4),
        ("newest = { messages = 2 }", 4),
        ("newest = { messages = 3 }", 3),
        ("newest = { items = 3 }", 3),
        ("newest = { events = 3 }", 3),
        ("newest = { assistant_turns = 1 }", 4),
        ("newest = { assistant_turns = 2 }", 3),
        // The only user's words stand at the start, and there are no two.
        ("newest = { user_turns = 1 }", 0),
        ("newest = { user_turns = 2 }", 0),
        ("newest = { uses = 1, messages = 3 }", 3),
        ("first = 1", 4),
        ("first = 1\nnewest = { uses = 4 }", 0),
        ("min_tokens = 3000", 5),
        ("min_tokens = 3001", 0),
        ("exclude_tools = [\"read\"]", 0),
        ("only_tools = [\"bash\"]", 0),
        ("only_tools = [\"read\"]", 5),
    ] {
        assert_eq!(left(protect), gone, "{protect}");
    }
}

#[test]
fn turns_of_the_user_protect_what_follows_them() {
    let mut requests = steps(6);
    requests[3].input.push(Block::user(10));
    let gone = |n: u64| cleared(requests.clone(), &format!("[[rules]]\nnewest = {{ user_turns = {n} }}"));
    // The third result comes with the user's words, in one message.
    assert_eq!(gone(1), [0, 0, 0, 2, 2, 2]);
    assert_eq!(gone(2), [0; 6]);
}

#[test]
fn errors_and_keys_are_asked_of_the_trace() {
    let mut requests = steps(6);
    requests[2].input[0].error = true;
    assert_eq!(cleared(requests.clone(), "[[rules]]\nerrors = true")[5], 4);
    assert_eq!(cleared(requests, "[[rules]]")[5], 5);

    let mut requests = steps(6);
    for (i, key) in [(0, "a"), (1, "b"), (2, "a"), (4, "a")] {
        requests[i].output[0].key = Some(key.to_owned());
    }
    // The first is superseded once the third use has its result, the third by the fifth.
    assert_eq!(cleared(requests, "[[rules]]\nunless_read_again = true"), [0, 0, 0, 1, 1, 2]);
    assert_eq!(cleared(steps(6), "[[rules]]\nunless_read_again = true"), [0; 6]);
}

#[test]
fn how_much_is_taken() {
    // One result frees 3,000 - 11 = 2,989 tokens; five are there at the last request.
    let at_end = |rule: &str| cleared(steps(6), &format!("[[rules]]\n{rule}"))[5];
    for (rule, gone) in [
        ("take = { batches = 5978 }", 4),
        ("take = { batches = 5979 }", 3),
        ("take = { until = 5978 }", 2),
        ("take = { until = 5979 }", 3),
        ("take = { until = 99999 }", 5),
        ("take = { down_to = 11372 }", 2),
        ("take = { down_to = 11371 }", 3),
        ("take = { into_kept = 5978 }\nnewest = { uses = 4 }", 2),
        ("take = { into_kept = 5979 }\nnewest = { uses = 4 }", 3),
        ("gate = { ge = 14945 }", 5),
        ("gate = { gt = 14945 }", 0),
        ("gate = { ge = 5979 }\ntake = { until = 1 }", 0),
        ("take = \"all\"", 5),
    ] {
        assert_eq!(at_end(rule), gone, "{rule}");
    }
    // The kept ones go newest first: then the second oldest of the kept four is still there.
    let report = run(steps(6), "[[rules]]\ntake = { into_kept = 2990 }\nnewest = { uses = 4 }");
    assert_eq!(report.requests[5].cleared_uses, 2);
}

#[test]
fn polling_moves_what_is_kept_every_so_many() {
    assert_eq!(cleared(steps(8), "[[rules]]\nnewest = { uses = 2 }"), [0, 0, 0, 1, 2, 3, 4, 5]);
    assert_eq!(cleared(steps(8), "[[rules]]\nnewest = { uses = 2 }\nevery = 3"), [0, 0, 0, 1, 1, 1, 4, 4]);
}

#[test]
fn remembered_clearing_looks_at_what_it_left() {
    // 11,250 tokens fire; without two results 5,272 are left, and it takes two more steps.
    let rule = "[[rules]]\nwhen = { edited_tokens = { ge = 11250 } }\nnewest = { uses = 1 }\nmemory = \"remembered\"";
    assert_eq!(cleared(steps(8), rule), [0, 0, 0, 2, 2, 4, 4, 6]);
    assert_eq!(cleared(steps(8), &rule.replace("remembered", "recomputed")), [0, 0, 0, 2, 3, 4, 5, 6]);
}

#[test]
fn a_trimmed_result_keeps_head_and_tail_and_is_missing_when_it_is_needed() {
    let mut requests = steps(6);
    requests[5].needs = vec![0];
    let rules = "trimmed_tokens = 200\n[[rules]]\nnewest = { uses = 2 }\nto = \"trimmed\"";
    let report = run(requests, rules);
    let row = |i: usize| &report.requests[i];
    assert_eq!((row(3).original_tokens, row(3).prompt_tokens, row(3).freed_tokens), (11_250, 8_450, 2_800));
    assert_eq!((row(5).kind, row(5).refetched), (RowKind::Refetch, 1));
    // No larger than head and tail together: it stays as it is.
    assert_eq!(cleared(steps(6), &rules.replace("200", "3000")), [0; 6]);
    assert_eq!(cleared(steps(6), &rules.replace("200", "2999"))[5], 3);
    // On arrival head and tail are seen, so that a preview is no need.
    let evicted = "trimmed_tokens = 200\n[[rules]]\nmin_tokens = 2000\nrefetched = true\nto = \"trimmed\"";
    let mut requests = steps(4);
    assert_eq!(run(requests.clone(), evicted).totals.refetches, 0);
    requests[3].needs = vec![0];
    let report = run(requests, evicted);
    assert_eq!((report.totals.refetches, report.totals.unmet_needs), (1, 0), "what is read back stays whole");
    assert_eq!(report.requests.iter().map(|r| r.prompt_tokens).max(), Some(2100 + 3 * 250 + 3050));
}

#[test]
fn a_stronger_rule_takes_what_an_earlier_one_trimmed() {
    let rules = "trimmed_tokens = 200\n[[rules]]\nnewest = { uses = 2 }\nto = \"trimmed\"\n[[rules]]\nnewest = { uses = 4 }";
    let report = run(steps(6), rules);
    let last = report.requests.last().unwrap();
    assert_eq!(last.cleared_uses, 3);
    assert_eq!(last.prompt_tokens, 17_350 - 2_989 - 2 * 2_800);
    // The other way round nothing is given back.
    let turned = "trimmed_tokens = 200\n[[rules]]\nnewest = { uses = 2 }\n[[rules]]\nnewest = { uses = 1 }\nto = \"trimmed\"";
    assert_eq!(run(steps(6), turned).requests.last().unwrap().prompt_tokens, 17_350 - 3 * 2_989 - 2_800);
}

#[test]
fn a_removed_pair_leaves_no_position_behind() {
    let rules = "[[rules]]\nnewest = { results = 1 }\nmemory = \"remembered\"\nwhen = { edited_tokens = { ge = 14300 } }\nto = \"removed\"";
    let mut with = settings(rules);
    let report = replay(&trace(steps(9)), &with);
    let row = &report.requests[4];
    assert_eq!((row.cleared_uses, row.freed_tokens, row.prompt_tokens), (3, 3 * 3050, 14_300 - 9_150));
    // What stood before the first pair is read again.
    assert_eq!(row.cache_read, 2100);
    // Fourteen positions are gone: two behind the base are left, and the lookback of two reaches what the row before wrote.
    with.cache.lookback = 3;
    with.cache.system_breakpoint = false;
    let after = replay(&trace(steps(9)), &with);
    assert_eq!(after.requests[5].cache_read, after.requests[4].prompt_tokens, "three positions on");
    // At the clear itself the entry of 2,100 lies three positions back: user, use, result.
    assert_eq!(after.requests[4].cache_read, 2100);
    with.cache.lookback = 2;
    assert_eq!(replay(&trace(steps(9)), &with).requests[4].cache_read, 0);
}

#[test]
fn thinking_goes_first_and_is_priced_as_what_it_breaks() {
    let mut requests = steps(6);
    for request in &mut requests {
        request.output.insert(0, Block::thinking(500));
    }
    let report = run(requests.clone(), "[[rules]]\ntype = \"clear_thinking\"\nkeep_turns = 1");
    let rows = &report.requests;
    assert_eq!(rows[1].prompt_tokens, rows[1].original_tokens, "one answer has thinking");
    assert_eq!(rows[2].prompt_tokens, rows[2].original_tokens - 500);
    assert_eq!((rows[5].freed_tokens, rows[5].newly_cleared), (500, 0));
    assert_eq!(report.totals.clear_events, 4);
    // It stood at the second position: what came before it is read.
    assert_eq!((rows[2].cache_read, rows[2].invalidated_tokens), (2100, 5650 - 2100));
    assert_eq!(run(requests.clone(), "[[rules]]\ntype = \"clear_thinking\"").totals.clear_events, 0, "all is kept");
    assert_eq!(run(requests.clone(), "[[rules]]\ntype = \"clear_thinking\"\nkeep_turns = 0").requests[1].freed_tokens, 500);
    // The next rule looks at what is left: 2100 + 5 · 3550 less four times 500.
    let then =
        "[[rules]]\ntype = \"clear_thinking\"\nkeep_turns = 1\n[[rules]]\nnewest = { uses = 1 }\nwhen = { edited_tokens = { gt = LIMIT } }";
    let last = |limit: &str| run(requests.clone(), &then.replace("LIMIT", limit)).requests.last().unwrap().cleared_uses;
    assert_eq!((last("17849"), last("17850")), (4, 0));
}

#[test]
fn a_compaction_reads_all_and_writes_a_summary() {
    let rules = "[[rules]]\ntype = \"compact\"\ntrigger = 11249\nsummary_tokens = 400";
    let mut requests = steps(8);
    requests[4].needs = vec![0];
    let report = run(requests.clone(), rules);
    let at: Vec<(u32, RowKind)> = report.requests.iter().map(|r| (r.request, r.kind)).collect();
    assert_eq!(at[3..6], [(3, RowKind::Compact), (3, RowKind::Original), (4, RowKind::Refetch)]);
    let (compact, next) = (&report.requests[3], &report.requests[4]);
    assert_eq!((compact.prompt_tokens, compact.output_tokens, compact.cache_read), (11_250, 400, 8_200));
    assert_eq!((next.prompt_tokens, next.original_tokens, next.freed_tokens), (2_400, 11_250, 8_850));
    assert_eq!((next.cleared_uses, next.cache_read), (3, 2_000), "the base is still held");
    // With what was fetched again the sixth request has 11,550 tokens, which are compacted once more.
    assert_eq!(report.totals.requests, 8 + 1 + 2);
    assert_eq!((report.totals.compactions, report.totals.refetches), (2, 1));
    let none = replay(&trace(steps(4)), &Settings::default());
    assert!(run(steps(4), rules).totals.cost_usd > none.totals.cost_usd, "what it costs stands in the bill");
    assert_eq!(run(steps(4), &rules.replace("11249", "11250")).totals.compactions, 0);
    // What cannot be had again is lost with it.
    for request in &mut requests {
        request.output.iter_mut().for_each(|b| b.tool = Some("ask".to_owned()));
    }
    assert_eq!(run(requests, rules).totals.lost_needs, 1);
}

#[test]
fn a_note_serves_whoever_needs_what_is_gone() {
    let mut requests = steps(8);
    for request in &mut requests {
        request.output.iter_mut().for_each(|b| b.tool = Some("ask".to_owned()));
    }
    requests[4].needs = vec![0];
    requests[6].needs = vec![0, 1];
    let rules = "[[rules]]\nnewest = { uses = 2 }";
    let without = run(requests.clone(), rules);
    assert_eq!(without.totals.lost_needs, 3);
    let with = run(requests.clone(), &format!("note_tokens = 100\n{rules}"));
    assert_eq!((with.totals.lost_needs, with.totals.refetches), (0, 0));
    // Each is written once, with the answer to the request from which its result is gone, and stands in the prompt from the next one on.
    let of = |report: &Report, at: usize| (report.requests[at].output_tokens, report.requests[at].prompt_tokens);
    assert_eq!(of(&with, 2), of(&without, 2));
    assert_eq!(of(&with, 3), (of(&without, 3).0 + 100, of(&without, 3).1));
    assert_eq!(of(&with, 4), (of(&without, 4).0 + 100, of(&without, 4).1 + 100));
    assert_eq!(of(&with, 7).1, of(&without, 7).1 + 400);
    // What can be fetched again is, and what went as it came was not seen, so that there is nothing to note.
    let mut again = steps(8);
    again[4].needs = vec![0];
    assert_eq!(run(again, &format!("note_tokens = 100\n{rules}")).totals.refetches, 1);
    let unseen = run(requests, "note_tokens = 100\n[[rules]]");
    assert_eq!(unseen.totals.lost_needs, 7, "one for each result as it comes");
}

#[test]
fn what_is_wrong_with_a_policy_is_said_by_its_field() {
    for (text, says) in [
        ("[[rules]]", "name: missing"),
        ("name = \"a b\"\n[[rules]]", "name: is no name"),
        ("name = \"gemini_cli\"\n[[rules]]", "name: \"gemini_cli\" is the name of a shipped policy"),
        ("name = \"m\"", "rules: missing"),
        ("name = \"m\"\nruls = 1\n[[rules]]", "ruls: unknown key: write `rules`"),
        ("name = \"m\"\n[[rules]]\nwhen = { size = { gt = 1 } }", "rules[0].when.size: unknown key"),
        ("name = \"m\"\n[[rules]]\nwhen = { edited_tokens = 5 }", "rules[0].when.edited_tokens: expected an object, got a number"),
        ("name = \"m\"\n[[rules]]\nwhen = { edited_tokens = { gt = 1, ge = 1 } }", "has to hold one of gt and ge"),
        ("name = \"m\"\n[[rules]]\nwhen = {}", "rules[0].when: holds no condition"),
        ("name = \"m\"\n[[rules]]\nwhen = { cache_cold = false }", "rules[0].when.cache_cold: false is no condition"),
        ("name = \"m\"\n[[rules]]\nwhen = { edited_window_share = { gt = 80 } }", "edited_window_share.gt: is no share"),
        ("name = \"m\"\n[[rules]]\nto = \"trimmed\"", "trimmed_tokens: missing"),
        ("name = \"m\"\n[[rules]]\nto = \"gone\"", "rules[0].to: \"gone\" is not known"),
        ("name = \"m\"\n[[rules]]\ntake = { batch = 3 }", "rules[0].take.batch: unknown key: write `batches`"),
        ("name = \"m\"\n[[rules]]\ntake = { batches = 3, until = 3 }", "rules[0].take: expected how much is taken"),
        ("name = \"m\"\n[[rules]]\nfirst = -1", "rules[0].first: -1 is negative"),
        ("name = \"m\"\n[[rules]]\nfirst = \"$n\"", "rules[0].first: \"n\" is no knob"),
        ("name = \"m\"\nknobs = { n = 3 }\n[[rules]]", "knobs.n: is used nowhere"),
        ("name = \"m\"\n[[rules]]\ntype = \"compact\"", "missing"),
        ("name = \"m\"\n[[rules]]\ntype = \"compact\"\nkeep = 3", "rules[0].keep: unknown key"),
        ("name = ", "line 1, column"),
    ] {
        let error = Named::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let many = format!("name = \"m\"\n{}", "[[rules]]\n".repeat(9));
    assert!(Named::from_toml(&many).unwrap_err().to_string().contains("at most 8"));
}

#[test]
fn a_knob_stands_where_its_name_does() {
    let named =
        Named::from_toml("name = \"m\"\nknobs = { n = 2, deny = [] }\n[[rules]]\nnewest = { uses = \"$n\" }\nexclude_tools = \"$deny\"")
            .unwrap();
    let gone = |values: &[(String, Value)]| {
        let settings = Settings { policy: Some(Arc::new(named.policy(values).unwrap())), ..Settings::default() };
        replay(&trace(steps(6)), &settings).requests[5].cleared_uses
    };
    assert_eq!(gone(&[]), 3);
    assert_eq!(gone(&[("n".to_owned(), Value::from(4))]), 1);
    assert_eq!(gone(&[("deny".to_owned(), serde_json::json!(["read"]))]), 0);
    assert!(named.policy(&[("n".to_owned(), Value::from("many"))]).unwrap_err().to_string().starts_with("rules[0].newest.uses"));
}

/// The table's rules of an emulation of the edit are the edit, but for the newest result.
#[test]
fn the_edit_spelled_as_rules_is_the_edit() {
    let text = "name = \"m\"\nknobs = { trigger = 0, keep = 0, clear_at_least = 0, deny = [] }\n[[rules]]\nwhen = { original_tokens = { gt = \"$trigger\" } }\n\
                newest = { uses = \"$keep\" }\nexclude_tools = \"$deny\"\ntake = { batches = \"$clear_at_least\" }";
    let named = Named::from_toml(text).unwrap();
    let mut clears = 0;
    for seed in 0..400 {
        let mut settings = random::settings(seed);
        let Some(edit) = settings.edit.clone() else { continue };
        let Trigger::InputTokens(trigger) = edit.trigger else { continue };
        settings.assume = cleartune::policy::Assume { max_refetch_rounds: settings.assume.max_refetch_rounds, ..Default::default() };
        settings.edit.as_mut().unwrap().clear_tool_inputs = cleartune::policy::ClearToolInputs::No;
        let trace = Trace::from_document(&random::document(seed)).unwrap();
        let as_edit = replay(&trace, &settings);
        let values = [("trigger", Value::from(trigger)), ("keep", edit.keep.into()), ("clear_at_least", edit.clear_at_least.into())];
        let mut values: Vec<(String, Value)> = values.map(|(k, v)| (k.to_owned(), v)).into();
        values.push(("deny".to_owned(), edit.exclude_tools.into()));
        settings.policy = Some(Arc::new(named.policy(&values).unwrap()));
        assert_eq!(replay(&trace, &settings), as_edit, "seed {seed}");
        clears += as_edit.totals.clear_events;
    }
    assert!(clears > 100, "{clears}");
}

/// The named policies with their defaults, and with thresholds at which small transcripts fire.
pub fn every_policy() -> Vec<(String, Settings)> {
    let mut all = Vec::new();
    for named in named::all() {
        let small = |knob: &named::Knob| {
            let small = match knob.name.as_str() {
                "trigger" | "high" | "above" | "compact_trigger" => Value::from(5_000),
                "low" | "protect" | "minimum" | "idle_ms" => Value::from(2_000),
                "left" | "summary_tokens" => Value::from(300),
                "events" => Value::from(8),
                "keep" | "turns" | "user_turns" | "messages" => Value::from(1),
                "share" | "soft" | "hard" => Value::from(0.05),
                "polling" | "events_left" => Value::from(3),
                _ => return None,
            };
            Some((knob.name.clone(), small))
        };
        let values: Vec<(String, Value)> = named.knobs.iter().filter_map(small).collect();
        for (kind, values) in [("", &[][..]), (" small", &values)] {
            let mut settings = Settings::default();
            config(named, values).unwrap().apply(&mut settings);
            all.push((format!("{}{kind}", named.name), settings));
        }
    }
    all
}

fn holds(name: &str, seed: u64, trace: &Trace, settings: &Settings, report: &Report) {
    let at = |row: &Row| format!("{name}, seed {seed}, request {}", row.request);
    let mut originals = 0;
    for row in &report.requests {
        assert_eq!(row.cache_read + row.cache_write + row.uncached, row.prompt_tokens, "{}", at(row));
        assert!(row.prompt_tokens >= trace.base_tokens, "{}", at(row));
        assert!(row.newly_cleared <= row.cleared_uses, "{}", at(row));
        let expected = settings.prices.cost(
            row.prompt_tokens,
            row.uncached,
            row.cache_read,
            row.cache_write,
            row.output_tokens,
            settings.cache.ttl(trace.requests[row.request as usize].ttl_ms) > cleartune::policy::Cache::DEFAULT_TTL_MS,
        );
        assert_eq!(row.cost_usd, expected, "{}", at(row));
        originals += u64::from(row.kind == RowKind::Original);
    }
    assert_eq!(originals, trace.requests.len() as u64);
    let t = &report.totals;
    assert_eq!(t.requests, originals + t.refetch_requests + t.compactions, "{name}, seed {seed}");
    let sum = |of: fn(&Row) -> u64| report.requests.iter().map(of).sum::<u64>();
    assert_eq!((t.cleared_uses, t.prompt_tokens, t.lost_needs), (sum(|r| r.newly_cleared), sum(|r| r.prompt_tokens), sum(|r| r.lost)));
    let policy = settings.policy();
    let remembered = policy.clears().all(|clear| clear.memory == cleartune::policy::Memory::Sticky);
    if remembered {
        let cleared: Vec<u64> = report.requests.iter().map(|r| r.cleared_uses).collect();
        assert!(cleared.is_sorted(), "{name}, seed {seed}: what is remembered stays: {cleared:?}");
        assert!(t.cleared_uses >= cleared.last().copied().unwrap_or(0), "{name}, seed {seed}");
    }
}

#[test]
fn what_holds_for_every_policy_on_random_transcripts() {
    let mut fired = std::collections::BTreeMap::new();
    for seed in 0..150 {
        let mut doc = random::document(seed);
        for (i, block) in doc.requests.iter_mut().flat_map(|r| &mut r.output).filter(|b| b.kind == "use").enumerate() {
            block.key = (i % 3 == 0).then(|| format!("k{}", i % 2));
        }
        let trace = Trace::from_document(&doc).unwrap();
        let env = random::settings(seed);
        for (name, policy) in every_policy() {
            let settings = Settings { policy: policy.policy, edit: policy.edit, context_window: Some(60_000), ..env.clone() };
            let report = replay(&trace, &settings);
            holds(&name, seed, &trace, &settings, &report);
            *fired.entry(name).or_insert(0) += report.totals.clear_events;
        }
    }
    let idle: Vec<&String> =
        fired.iter().filter(|(name, events)| **events == 0 && name.ends_with(" small") && *name != "none small").map(|(n, _)| n).collect();
    assert!(idle.is_empty(), "these never clear anything: {idle:?}");
    assert_eq!(fired["none"], 0);
}
