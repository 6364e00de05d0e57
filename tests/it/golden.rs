//! Worked cases: a trace, a config and the report that must come out, integers exactly and dollars to 1e-9.

use std::path::Path;

use cleartune::policy::{self, Settings};
use cleartune::replay::event::{self, Ran};
use cleartune::replay::replay;
use cleartune::trace::parse_line;
use serde_json::Value;

/// Compares a report with what is expected; every expected field has to be there.
fn differences(path: &str, got: &Value, want: &Value, out: &mut Vec<String>) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            for (key, want) in want {
                differences(&format!("{path}.{key}"), got.get(key).unwrap_or(&Value::Null), want, out);
            }
        }
        (Value::Array(got), Value::Array(want)) => {
            if got.len() != want.len() {
                out.push(format!("{path}: {} rows, expected {}", got.len(), want.len()));
            }
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                differences(&format!("{path}[{i}]"), got, want, out);
            }
        }
        (Value::Number(got), Value::Number(want)) if path.ends_with("cost_usd") => {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            if (got - want).abs() > 1e-9 * want.abs() {
                out.push(format!("{path}: {got}, expected {want}"));
            }
        }
        (got, want) if got == want => {}
        (got, want) => out.push(format!("{path}: {got}, expected {want}")),
    }
}

fn settings_of(config: &Value) -> Settings {
    let config = policy::from_json(&config.to_string()).expect("the config of a worked case parses");
    Settings {
        policy: None,
        edit: config.edit,
        assume: config.assume,
        cache: config.cache.over(policy::Cache::default()),
        prices: config.price.over(cleartune::price::Prices::default()),
        context_window: config.context_window,
        other_models: Vec::new(),
    }
}

/// Runs the cases of one file; returns how many, and what differs.
fn run(file: &Path) -> (usize, Vec<String>) {
    let mut by_events = 0;
    let text = std::fs::read_to_string(file).unwrap();
    let mut out = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let name = case["name"].as_str().unwrap();
        let (_, trace) = parse_line(case["trace"].to_string().as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let settings = settings_of(&case["config"]);
        let report = serde_json::to_value(replay(&trace, &settings)).unwrap();
        let before = out.len();
        differences(name, &report, &case["expect"], &mut out);
        let (fast, ran) = event::totals(&trace, &settings);
        by_events += usize::from(ran == Ran::Event);
        differences(&format!("{name}, {ran:?}: totals"), &serde_json::to_value(fast).unwrap(), &case["expect"]["totals"], &mut out);
        out.truncate(before + 5);
    }
    let cases = text.lines().count();
    assert!(by_events * 2 > cases, "the event engine replays only {by_events} of {cases} cases of {}", file.display());
    (cases, out)
}

#[test]
fn worked_cases_hold() {
    let (cases, wrong) = run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden.jsonl"));
    assert!(cases >= 20, "only {cases} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn worked_cases_of_the_larger_samples_hold() {
    let Some(folder) = super::shared::folder("golden") else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for file in files {
        let (cases, wrong) = run(&file);
        assert!(wrong.is_empty(), "{}: of {cases} cases\n{}", file.display(), wrong.join("\n"));
    }
}
