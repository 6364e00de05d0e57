//! `lint` and the findings of a sweep, through the binary.

use std::fmt::Write;
use std::fs;

use cleartune::findings::Id;
use serde_json::Value;

use crate::cli::{Folder, refused, text};

const DEFAULTS: &str = r#"{"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}"#;

#[test]
fn a_config_alone_and_on_a_workload() {
    let folder = Folder::new("lint");
    let config = folder.write("c.json", DEFAULTS);
    let alone = folder.run(&["lint", &config]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(text(&alone.stdout).contains("warning: slides-every-request"));
    assert_eq!(folder.run(&["lint", &config, "--fail-on", "error"]).status.code(), Some(0));
    let on = folder.run(&["lint", &config, "coding_agent"]);
    assert_eq!(on.status.code(), Some(1));
    let said = text(&on.stdout);
    assert!(said.contains("error: slides-every-request") && said.contains("on coding_agent (40 transcripts)"), "{said}");
    assert!(said.lines().skip(1).all(|line| line.chars().count() <= 80), "{said}");
    assert_eq!(folder.run(&["lint", &config, "coding_agent", "--fail-on", "never"]).status.code(), Some(0));
    let json: Value = serde_json::from_slice(&folder.run(&["lint", &config, "coding_agent", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["schema"], "cleartune.lint/1");
    assert!(json["findings"][0]["numbers"]["clear_events"].as_f64().unwrap() > 100.0);
    assert!(
        text(&folder.run(&["lint", &config, "coding_agent", "--format", "markdown"]).stdout).contains("| error | `slides-every-request` |")
    );
    // A sound config has nothing worse than notes.
    let sound = folder.write(
        "sound.toml",
        "[[context_management.edits]]\ntype = \"clear_tool_uses_20250919\"\ntrigger = {type = \"input_tokens\", value = 60000}\n\
         keep = {type = \"tool_uses\", value = 4}\nclear_at_least = {type = \"input_tokens\", value = 40000}\n",
    );
    let quiet = folder.run(&["lint", &sound, "web_research_100"]);
    assert_eq!(quiet.status.code(), Some(0), "{}", text(&quiet.stdout));
}

#[test]
fn what_is_no_config_is_refused() {
    let folder = Folder::new("lint_refused");
    let empty = folder.write("empty.json", "{}");
    refused(&folder.run(&["lint", &empty]), &["empty.json", "holds no clear_tool_uses_20250919 edit"]);
    let broken = folder.write("broken.json", r#"{"context_management": {"edits": [{"type": "clear_tool_uses_20250919", "keep": 3}]}}"#);
    refused(&folder.run(&["lint", &broken]), &["broken.json", "keep"]);
    refused(&folder.run(&["lint", "nowhere.json"]), &["nowhere.json: cannot be read"]);
    // Without an edit, a workload still tells what clearing could do there.
    assert!(folder.run(&["lint", &empty, "long_chat", "--fail-on", "never"]).status.success());
}

#[test]
fn a_sweep_tells_what_is_wrong_with_what_is_run() {
    let folder = Folder::new("sweep_findings");
    let config = folder.write("c.json", DEFAULTS);
    let grid = ["--trigger", "60k", "--keep", "4", "--clear-at-least", "40k", "--out", "o"];
    let swept = folder.run(&[&["sweep", "web_research_100", "--current", &config][..], &grid].concat());
    let said = text(&swept.stdout);
    assert!(said.contains("what you run") && said.contains("What you run: ") && said.contains("error: slides-every-request"), "{said}");
    let json: Value = serde_json::from_slice(&fs::read(folder.0.join("o/sweep.json")).unwrap()).unwrap();
    let roles: Vec<&str> = json["findings"].as_array().unwrap().iter().map(|f| f["config"].as_str().unwrap()).collect();
    assert_eq!(roles, ["recommended", "api_defaults", "current"]);
}

/// Forty results of 5,000 that are of no further use: the saturated config would be the cheapest of its neighbours.
#[test]
fn a_config_that_fires_for_ever_is_never_recommended() {
    let folder = Folder::new("saturated");
    let mut lines = String::new();
    for n in 0..12 {
        let mut requests = Vec::new();
        for i in 0..=300 {
            let input = if i == 0 || i > 40 { String::new() } else { format!(r#"{{"kind":"result","use":{},"tokens":5000}}"#, i - 1) };
            let mut output = format!(r#"{{"kind":"text","tokens":{}}}"#, if i < 40 { 280 + n } else { 1 });
            if i < 40 {
                write!(output, r#",{{"kind":"use","use":{i},"tool":"read","tokens":20}}"#).unwrap();
            }
            // The fifth newest result of all is needed at the end, and cannot be fetched again.
            let needs = if i == 300 { "35" } else { "" };
            requests.push(format!(r#"{{"at_ms":{},"input":[{input}],"output":[{output}],"needs":[{needs}]}}"#, i * 10_000));
        }
        lines += &[
            r#"{"schema":"cleartune.trace/1","id":"t"#,
            &n.to_string(),
            r#"","base_tokens":20000,"tools":{"read":{"refetch":"never"}},"requests":["#,
            &requests.join(","),
            "]}\n",
        ]
        .concat();
    }
    let traces = folder.write("t.trace.jsonl", &lines);
    let swept = |trigger: &str| {
        let args = [
            "sweep",
            &traces,
            "--assume",
            "memory=sticky",
            "--trigger",
            trigger,
            "--keep",
            "6",
            "--clear-at-least",
            "0",
            "--exclude-tools",
            "none",
            "--out",
            "o",
        ];
        let output = folder.run(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&fs::read(folder.0.join("o/sweep.json")).unwrap()).unwrap();
        json
    };
    let saturated = swept("50000");
    let cost = |row: usize| saturated["rows"][row]["cost_usd"].as_f64().unwrap();
    // The API's defaults stand in every grid; they lose what keep 6 keeps.
    assert!(cost(1) < cost(0) && saturated["rows"][1]["lost_needs"] == 0 && saturated["rows"][2]["lost_needs"] == 12);
    assert_eq!(saturated["answer"]["row"], saturated["answer"]["none"], "it would save, were it not for firing for ever");
    // A larger trigger, which the prompt gets below, is another matter.
    assert_eq!(swept("80000")["answer"]["row"], 1);
}

#[test]
fn the_documentation_names_every_finding() {
    let text = include_str!("../../docs/findings.md");
    for id in Id::ALL {
        assert!(text.contains(&format!("| `{}` |", id.name())), "{}", id.name());
    }
}
