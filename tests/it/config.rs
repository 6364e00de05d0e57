//! Config files: what is accepted, and one error by field for each thing that is wrong.

use cleartune::policy::{
    Assume, CacheMode, CachePatch, ClearToolInputs, ClearToolUses, Config, KeepCounts, Memory, Selection, Trigger, TriggerCmp, from_json,
    from_toml, from_value,
};
use cleartune::price::{PricePatch, Tier};
use proptest::prelude::*;
use serde_json::{Value, json};

fn edit(json: &str) -> ClearToolUses {
    let text = format!(r#"{{"edits": [{{"type": "clear_tool_uses_20250919"{}{json}}}]}}"#, if json.is_empty() { "" } else { ", " });
    from_json(&text).unwrap_or_else(|e| panic!("{text}: {e}")).edit.unwrap()
}

/// The error of an edit with these keys: the path behind `context_management.edits[0].`, and the problem.
fn wrong_edit(json: &str) -> (String, String) {
    let error = from_json(&format!(r#"{{"edits": [{{"type": "clear_tool_uses_20250919", {json}}}]}}"#)).unwrap_err();
    let path = error.field.strip_prefix("context_management.edits[0].").unwrap_or_else(|| panic!("{error}"));
    (path.to_owned(), error.problem)
}

fn wrong(json: &str) -> String {
    let error = from_json(json).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn nothing_stated_is_all_defaults() {
    for text in [
        "{}",
        r#"{"context_management": {}}"#,
        r#"{"context_management": {"edits": []}}"#,
        r#"{"context_management": null}"#,
        r#"{"edits": []}"#,
    ] {
        assert_eq!(from_json(text).unwrap(), Config::default(), "{text}");
    }
    assert_eq!(from_toml("").unwrap(), Config::default());
}

#[test]
fn every_key_is_read() {
    let text = r#"{
      "context_management": {"edits": [{"type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 30}, "keep": {"type": "tool_uses", "value": 0},
        "clear_at_least": {"type": "input_tokens", "value": 10000}, "exclude_tools": ["memory"], "clear_tool_inputs": ["bash"]}]},
      "assume": {"memory": "sticky", "selection": "stop_when_reached", "keep_counts": "all", "tiny_result_bytes": 53,
        "placeholder_tokens": 7, "cleared_input_tokens": 1, "trigger_counts_base": false, "trigger_cmp": "ge", "max_refetch_rounds": 2},
      "cache": {"mode": "prefix", "ttl_ms": 3600000, "lookback": 5, "min_tokens": 0, "system_breakpoint": false,
        "tail_breakpoints": 3, "group_parallel": false},
      "price": {"model": "m", "input": 1, "cache_read": 0, "cache_write": 2.5, "cache_write_1h": 4, "output": 9,
        "tiers": [{"above": 200000, "input": 2}, {"above": 100000, "output": 3}]},
      "context_window": 200000}"#;
    let expected = Config {
        edit: Some(ClearToolUses {
            trigger: Trigger::ToolUses(30),
            keep: 0,
            clear_at_least: 10_000,
            exclude_tools: vec!["memory".to_owned()],
            clear_tool_inputs: ClearToolInputs::Tools(vec!["bash".to_owned()]),
        }),
        assume: Assume {
            memory: Memory::Sticky,
            selection: Selection::StopWhenReached,
            keep_counts: KeepCounts::All,
            tiny_result_bytes: 53,
            placeholder_tokens: 7,
            cleared_input_tokens: 1,
            trigger_counts_base: false,
            trigger_cmp: TriggerCmp::Ge,
            max_refetch_rounds: 2,
        },
        cache: CachePatch {
            mode: Some(CacheMode::Prefix),
            ttl_ms: Some(3_600_000),
            lookback: Some(5),
            min_tokens: Some(0),
            system_breakpoint: Some(false),
            tail_breakpoints: Some(3),
            group_parallel: Some(false),
        },
        price: PricePatch {
            model: Some("m".to_owned()),
            input: Some(1.0),
            cache_read: Some(0.0),
            cache_write: Some(2.5),
            cache_write_1h: Some(4.0),
            output: Some(9.0),
            // Their order is that of the file.
            tiers: Some(vec![
                Tier { above: 200_000, input: Some(2.0), ..Tier::default() },
                Tier { above: 100_000, output: Some(3.0), ..Tier::default() },
            ]),
        },
        context_window: Some(200_000),
        notes: vec![],
    };
    assert_eq!(from_json(text).unwrap(), expected);
    assert_eq!(from_json(&format!("\u{feff}{text}")).unwrap(), expected);
    let table: toml::Table = serde_json::from_str(text).unwrap();
    assert_eq!(from_toml(&toml::to_string(&table).unwrap()).unwrap(), expected);
}

#[test]
fn toml_as_one_writes_it() {
    let text = "\u{feff}price = \"claude-sonnet-4-6\"\n[[context_management.edits]]\ntype = \"clear_tool_uses_20250919\"\ntrigger = { type = \"input_tokens\", value = 30_000 }\n[cache]\nttl_ms = 3_600_000\n";
    let config = from_toml(text).unwrap();
    assert_eq!(config.edit.unwrap().trigger, Trigger::InputTokens(30_000));
    assert_eq!((config.price.model.as_deref(), config.cache.ttl_ms), (Some("claude-sonnet-4-6"), Some(3_600_000)));
}

#[test]
fn absent_null_and_zero_mean_the_same_where_the_api_says_so() {
    let defaults = ClearToolUses::default();
    for json in [
        "",
        r#""clear_at_least": null"#,
        r#""clear_at_least": 0"#,
        r#""clear_at_least": {"type": "input_tokens", "value": 0}"#,
        r#""exclude_tools": null"#,
        r#""exclude_tools": []"#,
        r#""clear_tool_inputs": null"#,
        r#""clear_tool_inputs": false"#,
        r#""clear_tool_inputs": []"#,
    ] {
        assert_eq!(edit(json), defaults, "{json}");
    }
    for key in ["trigger", "keep"] {
        let (path, problem) = wrong_edit(&format!(r#""{key}": null"#));
        assert!(path == key && problem.contains("leave the key out"), "{problem}");
    }
    assert_eq!(edit(r#""clear_tool_inputs": true"#).clear_tool_inputs, ClearToolInputs::Yes);
}

#[test]
fn numbers_are_whole_and_not_negative() {
    let trigger = |value: &str| format!(r#""trigger": {{"type": "input_tokens", "value": {value}}}"#);
    for (value, tokens) in
        [("30000", 30_000), ("30000.0", 30_000), ("3e4", 30_000), ("0", 0), ("-0", 0), ("18446744073709551615", u64::MAX)]
    {
        assert_eq!(edit(&trigger(value)).trigger, Trigger::InputTokens(tokens), "{value}");
    }
    for (value, why) in [
        ("0.5", "not whole"),
        ("-1", "negative"),
        ("-0.5", "negative"),
        ("1e30", "too large"),
        ("18446744073709551616", "too large"),
        (r#""30k""#, "write 30000 without quotes"),
        (r#""many""#, "got a string"),
        ("true", "got true or false"),
        ("null", "got null"),
        ("[1]", "got a list"),
        ("{}", "got an object"),
    ] {
        let (path, problem) = wrong_edit(&trigger(value));
        assert_eq!(path, "trigger.value", "{value}");
        assert!(problem.contains(why) && problem.contains("write"), "{value}: {problem}");
    }
    let keep = |value: u64| format!(r#""keep": {{"type": "tool_uses", "value": {value}}}"#);
    assert_eq!(edit(&keep(4_294_967_295)).keep, u32::MAX);
    assert!(wrong_edit(&keep(4_294_967_296)).1.contains("at most 4294967295"));
    for (value, ok) in [(0, false), (1, true), (3, true), (4, false)] {
        assert_eq!(from_value(&json!({"cache": {"tail_breakpoints": value}})).is_ok(), ok, "{value}");
    }
    for (window, ok) in [("0", false), ("1", true), ("null", true), ("true", false)] {
        assert_eq!(from_json(&format!(r#"{{"context_window": {window}}}"#)).is_ok(), ok, "{window}");
    }
}

#[test]
fn each_slip_in_an_edit_is_named_with_what_to_write() {
    for (json, path, says) in [
        (r#""exclude": ["memory"]"#, "exclude", "write `exclude_tools`"),
        (r#""clearAtLeast": 5"#, "clearAtLeast", "write `clear_at_least`"),
        (r#""excluded_tools": []"#, "excluded_tools", "write `exclude_tools`"),
        (r#""zzz": 1"#, "zzz", "known keys: type, trigger, keep, clear_at_least, exclude_tools, clear_tool_inputs"),
        (r#""placeholder_tokens": 7"#, "placeholder_tokens", "belongs in assume"),
        (r#""keep": {"type": "input_tokens", "value": 3}"#, "keep.type", r#"write "tool_uses""#),
        (r#""keep": {"type": "tool_uses"}"#, "keep.value", "missing"),
        (r#""keep": 3"#, "keep", r#"write {"type": "tool_uses", "value": 3}"#),
        (r#""keep": "3""#, "keep", "expected an object, got a string"),
        (r#""trigger": 30000"#, "trigger", r#"write {"type": "input_tokens", "value": 30000}"#),
        (r#""trigger": {"value": 30000}"#, "trigger.type", r#"missing: write "input_tokens" or "tool_uses""#),
        (r#""trigger": {"type": "input_token", "value": 1}"#, "trigger.type", r#"write "input_tokens""#),
        (r#""trigger": {"type": 5, "value": 1}"#, "trigger.type", "expected a string, got a number"),
        (r#""trigger": {"type": "tool_uses", "values": 1}"#, "trigger.values", "write `value`"),
        (r#""clear_at_least": 5000"#, "clear_at_least", r#"write {"type": "input_tokens", "value": 5000}"#),
        (r#""clear_at_least": {"type": "tool_uses", "value": 1}"#, "clear_at_least.type", r#"write "input_tokens""#),
        (r#""exclude_tools": "memory""#, "exclude_tools", "expected a list, got a string"),
        (r#""exclude_tools": ["a", 1]"#, "exclude_tools[1]", "expected a string, got a number"),
        (r#""exclude_tools": [""]"#, "exclude_tools[0]", "empty tool name"),
        (r#""clear_tool_inputs": "bash""#, "clear_tool_inputs", "write [ ] around it"),
        (r#""clear_tool_inputs": "true""#, "clear_tool_inputs", "got a string: write true, false"),
        (r#""clear_tool_inputs": 1"#, "clear_tool_inputs", "got a number"),
    ] {
        let (got, problem) = wrong_edit(json);
        assert_eq!(got, path, "{json}: {problem}");
        assert!(problem.contains(says), "{json}: {problem}");
    }
}

#[test]
fn the_list_of_edits_follows_the_api() {
    const CLEAR: &str = r#"{"type": "clear_tool_uses_20250919"}"#;
    const THINK: &str = r#"{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}}"#;
    const COMPACT: &str = r#"{"type": "compact_20260112"}"#;
    let edits = |list: &[&str]| from_json(&format!(r#"{{"context_management": {{"edits": [{}]}}}}"#, list.join(", ")));

    for (list, notes) in
        [(&[CLEAR][..], 0), (&[THINK, CLEAR], 1), (&[COMPACT, CLEAR], 1), (&[CLEAR, COMPACT], 1), (&[THINK, COMPACT, CLEAR], 2)]
    {
        let config = edits(list).unwrap();
        assert_eq!((config.edit.is_some(), config.notes.len()), (true, notes), "{list:?}");
        assert!(config.notes.iter().all(|n| n.contains("does not replay")));
    }
    assert_eq!(edits(&[THINK]).unwrap().edit, None);

    for (list, path, says) in [
        (&[CLEAR, THINK][..], "edits[1]", "must be the first edit"),
        (&[CLEAR, CLEAR], "edits[1]", "a second clear_tool_uses_20250919"),
        (&[THINK, THINK], "edits[1]", "a second clear_thinking_20251015"),
        (&[r#"{"type": "clear_tool_use_20250919"}"#], "edits[0].type", r#"write "clear_tool_uses_20250919""#),
        (&[r#"{"type": "zzz"}"#], "edits[0].type", r#"or "compact_20260112""#),
        (&[r#"{"trigger": {}}"#], "edits[0].type", "missing"),
        (&["5"], "edits[0]", "expected an object, got a number"),
        (&[r#"{"type": "clear_thinking_20251015", "keep": {"type": "tool_uses", "value": 2}}"#], "edits[0].keep.type", "thinking_turns"),
        (&[r#"{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 0}}"#], "edits[0].keep.value", "too small"),
        (
            &[r#"{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49999}}"#],
            "edits[0].trigger.value",
            "50000 or more",
        ),
    ] {
        let error = edits(list).unwrap_err();
        assert_eq!(error.field, format!("context_management.{path}"), "{error}");
        assert!(error.problem.contains(says), "{error}");
    }
    assert!(edits(&[r#"{"type": "clear_thinking_20251015", "keep": "all"}"#]).is_ok());
    assert!(edits(&[r#"{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50000}}"#]).is_ok());
}

#[test]
fn the_file_may_be_any_of_three_shapes() {
    let request = r#"{"model": "m", "max_tokens": 9, "system": "s", "some_new_field": 1, "messages": [{"role": "user", "content": "x"}],
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}, "context_window": 5}"#;
    let config = from_json(request).unwrap();
    assert_eq!((config.edit, config.context_window, config.notes.len()), (Some(ClearToolUses::default()), Some(5), 1));
    assert!(config.notes[0].contains("Messages API request"));

    for (json, says) in [
        (r#"{"model": "m", "messages": []}"#, "request without context_management"),
        (r#"{"model": "m", "context_management": {}}"#, "model belongs in price"),
        (r#"{"messages": [], "context_management": {}, "asume": {}}"#, "asume: unknown key: write `assume`"),
        (r#"{"edits": [], "cache": {}}"#, "edits belongs in context_management"),
        (r#"{"edits": [], "edit": []}"#, "context_management.edit: unknown key: write `edits`"),
        (r#"[{"type": "clear_tool_uses_20250919"}]"#, "the config: expected an object, got a list"),
        ("5", "the config: expected an object, got a number"),
        (r#"{"context_management": []}"#, r#"write {"edits": [...]} around it"#),
        (r#"{"context_management": {"edits": {}}}"#, "context_management.edits: expected a list, got an object"),
        (r#"{"context_management": {"edits": null}}"#, "context_management.edits: expected a list, got null"),
        (r#"{"contextManagement": {}}"#, "contextManagement: unknown key: write `context_management`"),
    ] {
        let error = wrong(json);
        assert!(error.contains(says), "{json}: {error}");
    }
}

#[test]
fn slips_in_the_other_sections() {
    for (json, says) in [
        (r#"{"assume": {"memory": "stateful"}}"#, r#"assume.memory: "stateful" is not known: write "stateless""#),
        (r#"{"assume": {"trigger_counts_base": "true"}}"#, "assume.trigger_counts_base: expected true or false, got a string: write true"),
        (r#"{"assume": {"trigger_counts_base": 1}}"#, "got a number"),
        (r#"{"assume": {"tiny_bytes": 1}}"#, "write `tiny_result_bytes`"),
        (r#"{"assume": {"placeholder_tokens": -1}}"#, "assume.placeholder_tokens: -1 is negative"),
        (r#"{"cache": {"ttl": 5}}"#, "write `ttl_ms`"),
        (r#"{"cache": {"mode": "on"}}"#, r#""entries", "prefix" or "off""#),
        (r#"{"cache": {"ttl_ms": 9223372036854775808}}"#, "cache.ttl_ms: 9223372036854775808 is too large"),
        (r#"{"price": {"input": -1}}"#, "price.input: -1 is not a price"),
        (r#"{"price": {"input": "3.75"}}"#, "write 3.75 without quotes"),
        (r#"{"price": {"input": true}}"#, "price.input: expected USD per million tokens, got true or false"),
        (r#"{"price": {"cached": 1}}"#, "price.cached: unknown key"),
        (r#"{"price": ""}"#, "price: an empty name"),
        (r#"{"price": 5}"#, "price: expected a model's name or an object, got a number"),
        (r#"{"price": {"tiers": [{"input": 2}]}}"#, "price.tiers[0].above: missing"),
        (r#"{"price": {"tiers": [{"above": 2, "inputs": 2}]}}"#, "price.tiers[0].inputs: unknown key: write `input`"),
        (r#"{"price": {"tiers": {}}}"#, "price.tiers: expected a list"),
    ] {
        let error = wrong(json);
        assert!(error.contains(says), "{json}: {error}");
    }
    for toml in ["[price]\ninput = nan", "[price]\ninput = inf", "[price]\ninput = 2026-12-01"] {
        let error = from_toml(toml).unwrap_err();
        assert_eq!(error.field, "price.input", "{error}");
    }
}

#[test]
fn text_that_is_no_json_or_toml_is_placed_and_never_quoted() {
    assert!(wrong("").contains("the file is empty"));
    for (json, at) in
        [("{\n  \"edits\": [,]\n}", "line 2, column 13"), ("{\"secret\": secret}", "line 1, column 12"), ("{", "line 1, column 1")]
    {
        let error = wrong(json);
        assert!(error.starts_with(at) && !error.contains("secret"), "{error}");
    }
    let twice = wrong("{\"cache\": {\"mode\": \"off\",\n \"mode\": \"prefix\"}}");
    assert!(twice.starts_with("line 2") && twice.contains("stands twice"), "{twice}");
    assert!(wrong(&"[".repeat(100_000)).contains("not valid JSON"));
    let toml = from_toml("a = 1\nsecret = \n").unwrap_err().to_string();
    assert!(toml.starts_with("line 2, column ") && !toml.contains("secret"), "{toml}");
    assert!(from_toml(&format!("a = {}", "[".repeat(100_000))).is_err());
    // A strange key is escaped and cut.
    let key = wrong(&format!("{{\"{}\\n\": 1}}", "k".repeat(500)));
    assert!(key.len() < 300, "{key}");
}

/// Every config of the worked cases is read, and says what its own values say.
#[test]
fn the_configs_of_the_worked_cases_are_read() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden.jsonl");
    let mut files = vec![fixtures];
    if let Some(folder) = super::shared::folder("golden") {
        files.extend(std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
    }
    let mut read = 0;
    for file in files {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let config = from_json(&case["config"].to_string()).unwrap_or_else(|e| panic!("{}: {e}", case["name"]));
            let edit = &case["config"]["context_management"]["edits"][0];
            assert_eq!(config.edit.is_some(), edit.is_object());
            if let Some(value) = edit["clear_at_least"]["value"].as_u64() {
                assert_eq!(config.edit.unwrap().clear_at_least, value);
            }
            assert_eq!(config.price.input, case["config"]["price"]["input"].as_f64());
            assert_eq!(config.notes, Vec::<String>::new());
            read += 1;
        }
    }
    assert!(read >= 20, "{read}");
}

/// JSON that is near enough to a config to reach every reader.
fn near_configs() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["clear_tool_uses_20250919", "clear_thinking_20251015", "input_tokens", "tool_uses", "sticky"])
            .prop_map(Value::from),
    ];
    let keys = vec![
        "context_management",
        "edits",
        "type",
        "trigger",
        "value",
        "keep",
        "clear_at_least",
        "exclude_tools",
        "clear_tool_inputs",
        "assume",
        "memory",
        "cache",
        "mode",
        "price",
        "tiers",
        "above",
        "input",
        "messages",
        "context_window",
        "",
        "é",
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(keys.clone()), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = from_json(&text);
        let _ = from_toml(&text);
    }

    #[test]
    fn no_near_config_panics_and_each_error_is_one_line(value in near_configs()) {
        for value in [value.clone(), json!({"edits": [value]})] {
            if let Err(error) = from_json(&value.to_string()) {
                let text = error.to_string();
                prop_assert!(!text.contains('\n') && text.len() < 700, "{}", text);
            }
        }
    }
}
