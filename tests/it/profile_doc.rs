//! The document of the profile's JSON against a real profile: every key is named, and nothing else.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Objects whose keys are names of models, record types or readings, and no fields.
const BY_NAME: [&str; 3] = ["models", "ignored_types", "decided"];
/// The keys by which an object is a distribution; the document describes them once.
const QUANTILES: [&str; 5] = ["p10", "p50", "p90", "max", "count"];

fn paths(value: &Value, at: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            let distribution = QUANTILES.iter().all(|k| map.contains_key(*k));
            for (key, value) in map {
                let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                if distribution {
                    all.insert(format!("(quantiles).{key}"));
                    continue;
                }
                all.insert(path.clone());
                if !BY_NAME.contains(&key.as_str()) {
                    paths(value, &path, all);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{at}[]"), all)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_profile_is_in_the_document_and_the_other_way_round() {
    let dir = std::env::temp_dir().join(format!("cleartune-profile-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let log = dir.join("cleared.jsonl");
    std::fs::write(&log, super::recorded_clearing::sample_log()).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/claude_code");
    // A low trigger, so that exclusions are proposed.
    let config = dir.join("config.json");
    let edit = r#"{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":5000}}"#;
    std::fs::write(&config, format!(r#"{{"context_management":{{"edits":[{edit}]}}}}"#)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cleartune"))
        .args(["inspect", "ephemeral_api", fixture, log.to_str().unwrap(), "--format", "json", "--config", config.to_str().unwrap()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(&dir).unwrap();
    let mut real = BTreeSet::new();
    paths(&serde_json::from_slice(&output.stdout).unwrap(), "", &mut real);

    let document = include_str!("../../docs/profile.md");
    let mut named = BTreeSet::new();
    let mut under = String::new();
    for line in document.lines() {
        if let Some(head) = line.strip_prefix("## ") {
            under = head.split('`').nth(1).unwrap_or("").to_owned();
        }
        let Some(row) = line.strip_prefix("| `") else { continue };
        let cell = row.split(" | ").next().unwrap();
        for field in format!("`{cell}").split(',').map(|f| f.trim().trim_matches('`')) {
            assert!(
                named.insert(if under.is_empty() { field.to_owned() } else { format!("{under}.{field}") }),
                "{under}.{field} stands twice"
            );
        }
        assert_eq!(line.matches(" | ").count(), 2, "field, unit, meaning: {line}");
    }
    let missing: Vec<_> = real.difference(&named).collect();
    let gone: Vec<_> = named.difference(&real).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not in docs/profile.md: {missing:#?}\nin no profile: {gone:#?}");
}
