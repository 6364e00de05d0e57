//! `cleartune inspect`, and the keep curve against its definition.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cleartune::profile::Profile;
use cleartune::trace::{Document, Trace};
use proptest::prelude::*;

use crate::random;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/claude_code");

fn inspect(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cleartune")).arg("inspect").args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn table(args: &[&str]) -> String {
    let output = inspect(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "wider than 80 columns:\n{table}");
    table
}

/// Exit code 2, nothing on standard output, and one line of `cleartune:` that says all of `says`.
#[track_caller]
fn refused(args: &[&str], says: &[&str]) {
    let output = inspect(args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    let line = error.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
    for part in says {
        assert!(error.contains(part), "{part:?} is missing in: {line}");
    }
}

#[test]
fn a_workload_and_a_log_as_tables() {
    let notebook = table(&["notebook"]);
    for part in ["notebook\n", "In short", "Results (tokens)", "Prompts (tokens)", "Recorded usage", "335k"] {
        assert!(notebook.contains(part), "{part} is missing in\n{notebook}");
    }
    let log = table(&[FIXTURE]);
    assert!(log.contains("Records") && log.contains("carry usage"), "{log}");
}

#[test]
fn json_holds_the_same_for_each_source() {
    let output = inspect(&["notebook", FIXTURE, "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "cleartune.profile/1");
    let sources = json["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 2);
    assert_eq!((&sources[0]["name"], &sources[1]["name"]), (&"notebook".into(), &"claude_code".into()));
    assert_eq!(sources[0]["profile"]["prompts"]["peak"]["max"], 335_279);
    assert_eq!(sources[0]["files"].as_array().unwrap().len(), 0);
    assert!(sources[1]["files"][0]["records"].as_u64().unwrap() > 0);
    assert!(sources[1]["recorded"]["recorded"]["prompt"].as_u64().unwrap() > 0);
    let curve = &sources[1]["profile"]["keep_curve"];
    assert_eq!(curve["steps"][0]["keep"], 0);
}

#[test]
fn filters_narrow_and_say_when_nothing_is_left() {
    let all = table(&[FIXTURE]);
    assert_eq!(table(&[FIXTURE, "--agent", "all"]), all);
    assert_eq!(table(&[FIXTURE, "--since", "1999-12-31"]), all);
    assert_eq!(table(&[FIXTURE, "--project", "small*"]), all);
    refused(&[FIXTURE, "--since", "2999-01-01"], &["--since 2999-01-01", "no transcript starts then or later"]);
    refused(&[FIXTURE, "--since", "May"], &["2026-05-01"]);
    refused(&[FIXTURE, "--project", "*/other/*"], &["--project", "small.jsonl"]);
    refused(&["notebook", "--since", "2026-01-01"], &["have no date"]);
    refused(&["notebook", "--agent", "sub"], &["--agent", "no transcript"]);
    refused(&["notebook", "--tool", "read_flie"], &["--tool read_flie", "write one of"]);
    let json = |args: &[&str]| -> serde_json::Value { serde_json::from_slice(&inspect(args).stdout).unwrap() };
    let tools = json(&["coding_agent", "--format", "json", "--tool", "read_file"]);
    let tools = tools["sources"][0]["profile"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|t| t["name"].as_str().unwrap()).collect::<Vec<_>>(), ["read_file"]);
}

#[test]
fn top_bounds_the_tables_and_says_what_is_left_out() {
    let (few, all) = (table(&["coding_agent", "--top", "2"]), table(&["coding_agent", "--top", "0"]));
    assert!(few.contains("(--top 0 shows all)") && !all.contains("--top"), "{few}\n{all}");
    assert!(all.contains("Keep curve, uses back"), "{all}");
    assert!(few.lines().count() < all.lines().count());
}

#[test]
fn four_pictures_of_one_and_of_several_sources() {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("inspect-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    for sources in [&["notebook"][..], &["notebook", FIXTURE]] {
        let output = inspect(&[sources, &["--plots", folder.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut names: Vec<String> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["gaps.png", "growth.png", "keep_curve.png", "result_sizes.png"]);
        assert!(names.iter().all(|n| fs::read(folder.join(n)).unwrap().starts_with(b"\x89PNG")));
    }
    let _ = fs::remove_dir_all(&folder);
}

/// Needs, and results by any need, that the newest `keep` uses do not hold: straight from the definition.
fn cut_off(doc: &Document, keep: usize, tool: Option<&str>) -> (u64, u64) {
    let mut needs = 0;
    let mut results = std::collections::BTreeSet::new();
    for (i, request) in doc.requests.iter().enumerate() {
        let before = &doc.requests[..i];
        let uses: Vec<(u64, &str)> = before
            .iter()
            .flat_map(|r| &r.output)
            .filter(|b| b.kind == "use")
            .map(|b| (b.use_id.unwrap(), b.tool.as_deref().unwrap()))
            .collect();
        let kept = &uses[uses.len().saturating_sub(keep)..];
        let needed: std::collections::BTreeSet<u64> = request.needs.iter().copied().collect();
        for need in needed {
            let arrived = before.iter().flat_map(|r| &r.input).any(|b| b.kind == "result" && b.use_id == Some(need));
            let of_tool = uses.iter().any(|u| u.0 == need && tool.is_none_or(|t| t == u.1));
            if arrived && of_tool && kept.iter().all(|u| u.0 != need) {
                needs += 1;
                results.insert(need);
            }
        }
    }
    (needs, results.len() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var("CLEARTUNE_LONG_TESTS").is_ok() { 2000 } else { 60 }))]
    #[test]
    fn the_keep_curve_is_what_its_definition_says(seed in any::<u64>()) {
        let doc = random::document(seed);
        let trace = Trace::from_document(&doc).unwrap();
        let profile = Profile::new([(&doc, &trace)]);
        for keep in 0..=trace.uses.len() + 1 {
            let k = keep as u64;
            let of = |tool: Option<&str>, curve: &cleartune::profile::KeepCurve| {
                (cut_off(&doc, keep, tool), (curve.needs_beyond(k), curve.results_beyond(k)))
            };
            let (expected, found) = of(None, &profile.keep_curve);
            prop_assert_eq!(expected, found, "keep {}", keep);
            for tool in &profile.tools {
                let (expected, found) = of(Some(&tool.name), &tool.keep_curve);
                prop_assert_eq!(expected, found, "keep {} of {}", keep, tool.name);
            }
        }
        // Its steps are the curve at every keep.
        let steps = profile.keep_curve.steps();
        for k in 0..=profile.keep_curve.reach() + 1 {
            let step = steps.iter().rfind(|s| s.keep <= k).unwrap();
            prop_assert!((step.needs_cut_off - profile.keep_curve.needs_cut_off(k)).abs() < 1e-12);
            prop_assert!((step.results_cut_off - profile.keep_curve.results_cut_off(k)).abs() < 1e-12);
        }
    }
}
