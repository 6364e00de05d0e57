//! What a terminal shows: 80 columns, and colours only where they are wanted.

use std::process::{Command, Stdio};

use crate::cli::{Folder, text};

/// As long as the API lets a tool's name be, of two servers that are called alike.
const LONG: [&str; 2] =
    ["mcp__company_internal_documentation_server__search_all_documents", "mcp__company_internal_documentation_server__search_all_comments"];

/// Transcripts of `coding_agent` whose tools have long names.
fn long_names(folder: &Folder) {
    assert!(folder.run(&["generate", "coding_agent", "--transcripts", "6", "--out", "plain.trace.jsonl"]).status.success());
    let plain = std::fs::read_to_string(folder.0.join("plain.trace.jsonl")).unwrap();
    let long = plain.replace("\"read_file\"", &format!("\"{}\"", LONG[0])).replace("\"bash\"", &format!("\"{}\"", LONG[1]));
    assert!(long.contains(LONG[0]));
    folder.write("long.trace.jsonl", &long);
}

#[test]
fn tables_fit_80_columns() {
    let folder = Folder::new("terminal_80");
    long_names(&folder);
    folder.write(
        "config.json",
        &format!(
            r#"{{"context_management":{{"edits":[{{"type":"clear_tool_uses_20250919","trigger":{{"type":"input_tokens","value":20000}},"keep":{{"type":"tool_uses","value":2}},"exclude_tools":["{}"]}}]}}}}"#,
            LONG[0]
        ),
    );
    let grid = ["--trigger", "20k,40k", "--keep", "2,8", "--clear-at-least", "0,9k"];
    let sweep = [&["sweep", "long.trace.jsonl", "--out", "out", "--policy", "all"][..], &grid].concat();
    let other = [&["sweep", "long.trace.jsonl", "--out", "other", "--exclude-tools", LONG[0]][..], &grid].concat();
    let commands: [&[&str]; 13] = [
        &sweep,
        &other,
        &["recommend", "out"],
        &["compare", "out", "other"],
        &["compare", "out", "other", "--all"],
        &["inspect", "long.trace.jsonl"],
        &["replay", "long.trace.jsonl", "--config", "config.json"],
        &["replay", "long.trace.jsonl", "--config", "config.json", "--all"],
        &["lint", "config.json"],
        &["lint", "config.json", "long.trace.jsonl"],
        &["policies"],
        &["models"],
        &["schema"],
    ];
    let mut wide = Vec::new();
    for args in commands {
        let ran = folder.run(args);
        let shown = text(&ran.stdout);
        assert!(!shown.is_empty(), "{args:?}: {}", text(&ran.stderr));
        // A path or a name cannot be broken, nor what is pasted.
        let pasted = |line: &str| line.trim_start().starts_with('"');
        let one_word = |line: &str| line.split_whitespace().any(|word| word.len() > 50) && line.split_whitespace().count() <= 2;
        wide.extend(
            shown
                .lines()
                .filter(|line| line.chars().count() > 80 && !pasted(line) && !one_word(line))
                .map(|line| format!("{args:?}: {line}")),
        );
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// The help with these variables set and no others that say something about colours.
fn help(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cleartune"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
        command.env_remove(name);
    }
    let out = command.args(["sweep", "--help"]).envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap();
    text(&out.stdout)
}

#[test]
fn colours_only_where_they_are_wanted() {
    let escape = |text: &str| text.contains('\u{1b}');
    assert!(!escape(&help(&[])), "into a pipe");
    assert!(!escape(&help(&[("TERM", "xterm-256color")])), "into a pipe");
    assert!(escape(&help(&[("CLICOLOR_FORCE", "1")])), "where colours are forced");
    assert!(!escape(&help(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")])), "NO_COLOR");
    let folder = Folder::new("terminal_colours");
    for args in [&["policies"][..], &["models"], &["inspect", "coding_agent"], &["replay", "coding_agent", "--trigger", "40k"]] {
        let ran = folder.run(args);
        assert!(!escape(&text(&ran.stdout)) && !escape(&text(&ran.stderr)), "{args:?}");
    }
}
