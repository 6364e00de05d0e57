//! The user guide is true: its commands run, and print what it shows.

use std::fs;
use std::path::Path;

use crate::cli::{Folder, text};

/// One fenced block: what stands behind the fence, and its lines.
fn blocks(guide: &str) -> Vec<(String, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in guide.lines() {
        match (line.strip_prefix("```"), open.as_mut()) {
            (Some(info), None) => open = Some((info.to_owned(), Vec::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// The pieces between lines that hold nothing but `…` stand in the output, one after the other.
#[track_caller]
fn prints(command: &str, output: &str, shown: &[&str]) {
    let mut rest = output;
    for piece in shown.split(|line| line.trim() == "…").filter(|piece| !piece.is_empty()) {
        let wanted = piece.join("\n");
        let wanted = wanted.trim_end();
        let at = rest.find(wanted).unwrap_or_else(|| panic!("{command}\ndoes not print\n{wanted}\nbut\n{output}"));
        rest = &rest[at + wanted.len()..];
    }
}

#[test]
fn every_command_prints_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/guide.md")).unwrap();
    let folder = Folder::new("guide");
    fs::copy(root.join("tests/fixtures/claude_code/small.jsonl"), folder.0.join("session.jsonl")).unwrap();
    let mut commands = 0;
    for (info, lines) in blocks(&guide) {
        if let Some(name) = info.strip_prefix("json ") {
            folder.write(name, &lines.join("\n"));
        }
        if info != "console" {
            continue;
        }
        let mut lines = lines.as_slice();
        while let Some((first, rest)) = lines.split_first() {
            let command = first.strip_prefix("$ cleartune ").unwrap_or_else(|| panic!("{first:?} is no command"));
            let end = rest.iter().position(|line| line.starts_with("$ ")).unwrap_or(rest.len());
            let args = words(command);
            let output = folder.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert_ne!(output.status.code(), Some(2), "{command}: {}", text(&output.stderr));
            prints(command, &text(&output.stdout), &rest[..end]);
            commands += 1;
            lines = &rest[end..];
        }
    }
    assert!(commands >= 12, "{commands}");
    assert_eq!(guide.lines().filter(|line| line.starts_with("## ")).count(), 10, "ten questions");
}

/// Words of a command line with single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}
