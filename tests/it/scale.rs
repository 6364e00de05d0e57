//! Sources of any size and in any state: memory that the largest session decides, and files that cannot be read.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::cli::{Folder, text};

/// A Claude Code session of about `bytes`: calls of one tool, each with a result of 4 kB.
fn session(number: usize, bytes: usize) -> String {
    let mut out = String::new();
    let mut state = number as u64 + 1;
    let mut i = 0;
    while out.len() < bytes {
        let mut words = String::new();
        while words.len() < 4_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(words, "{:x} ", state >> 30).unwrap();
        }
        let head = format!(r#""sessionId":"s{number}","timestamp":"2026-03-01T10:{:02}:{:02}Z""#, i / 60 % 60, i % 60);
        let usage =
            format!(r#"{{"input_tokens":3,"cache_read_input_tokens":{},"cache_creation_input_tokens":1500,"output_tokens":20}}"#, i * 1500);
        writeln!(
            out,
            r#"{{"type":"user","uuid":"u{number}-{i}",{head},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}-{i}","content":"{words}"}}]}}}}"#
        )
        .unwrap();
        i += 1;
        writeln!(
            out,
            r#"{{"type":"assistant","uuid":"a{number}-{i}",{head},"message":{{"id":"m{number}-{i}","model":"claude-sonnet-4-6","content":[{{"type":"tool_use","id":"t{number}-{i}","name":"Bash","input":{{"command":"run {i}"}}}}],"stop_reason":"tool_use","usage":{usage}}}}}"#
        )
        .unwrap();
    }
    out
}

/// Largest memory of an import of the folder, in bytes; `None`, said loudly, where `/proc` does not tell.
fn peak(folder: &Folder, logs: &str) -> Option<u64> {
    // A pipe that nobody reads keeps the program alive at its end: what it used is still to be seen then.
    let mut child = Command::new(env!("CARGO_BIN_EXE_cleartune"))
        .args(["import", logs, "--out", "-"])
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = Path::new("/proc").join(child.id().to_string()).join("status");
    let mut most = None;
    let mut out = child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 16];
    // What it has used so far, each time that it has written something: the last is near the end.
    loop {
        let n = std::io::Read::read(&mut out, &mut buffer).unwrap();
        let line = fs::read_to_string(&status).ok().and_then(|s| s.lines().find(|l| l.starts_with("VmHWM:")).map(str::to_owned));
        let now = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        most = most.max(now.map(|kib| kib * 1024));
        if n == 0 {
            break;
        }
    }
    assert!(child.wait().unwrap().success());
    if most.is_none() {
        eprintln!("SKIPPED: this system does not tell how much memory a program used");
    }
    most
}

const MB: usize = 1_000_000;

#[test]
fn memory_grows_with_the_largest_session_and_not_with_their_sum() {
    if std::env::var_os("CLEARTUNE_LONG_TESTS").is_none() {
        return;
    }
    let folder = Folder::new("scale");
    for i in 0..6 {
        folder.write(&format!("few/{i}.jsonl"), &session(i, MB));
    }
    for i in 0..90 {
        folder.write(&format!("many/{i}.jsonl"), &session(i, MB));
    }
    folder.write("large/0.jsonl", &session(0, 48 * MB));
    let (Some(few), Some(many), Some(large)) = (peak(&folder, "few"), peak(&folder, "many"), peak(&folder, "large")) else { return };
    eprintln!("peak of 6 x 1 MB: {few}, of 90 x 1 MB: {many}, of 1 x 48 MB: {large}");
    // Fifteen times the logs and the same largest one.
    assert!(many < few + 12 * MB as u64, "{few} for 6 MB in sessions of 1 MB, {many} for 90 MB");
    // Four times the largest, and what the program takes by itself.
    assert!(large < 4 * 48 * MB as u64 + few, "{large} for a session of 48 MB");
    assert!(large > many + 20 * MB as u64, "a session is held for its needs; a peak of {large} is not measured well");
}

#[test]
fn many_small_files_are_read_and_each_counts_once() {
    let folder = Folder::new("many");
    let files = if std::env::var_os("CLEARTUNE_LONG_TESTS").is_some() { 20_000 } else { 1_000 };
    for i in 0..files {
        folder.write(&format!("logs/{}/{i}.jsonl", i % 97), &session(i, 1));
    }
    // A copy adds nothing.
    folder.write("logs/0/copy.jsonl", &session(3, 1));
    let output = folder.run(&["import", "logs", "--out", "all.trace.jsonl"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("{} files of claude_code", files + 1)) && said.contains(&format!("{files} transcripts")), "{said}");
    let trace = fs::read_to_string(folder.0.join("all.trace.jsonl")).unwrap();
    assert_eq!(trace.lines().count(), files);
    // The order is that of the files, whatever the number of threads.
    let again = folder.run(&["import", "logs", "--out", "-"]);
    assert!(text(&again.stdout) == trace, "the order changed");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_read() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("unreadable");
    let logs = folder.0.join("logs");
    folder.write("logs/good.jsonl", &session(1, 1));
    folder.write("elsewhere/other.jsonl", &session(2, 1));
    symlink(&logs, logs.join("loop")).unwrap();
    symlink(folder.0.join("elsewhere"), logs.join("linked")).unwrap();
    symlink("b", logs.join("a")).unwrap();
    symlink("a", logs.join("b")).unwrap();
    symlink("nowhere", logs.join("gone.jsonl")).unwrap();
    symlink(folder.0.join("elsewhere/other.jsonl"), logs.join("file-link.jsonl")).unwrap();
    symlink("/dev/zero", logs.join("zero")).unwrap();
    assert!(Command::new("mkfifo").arg(logs.join("pipe.jsonl")).status().unwrap().success());
    let locked = logs.join("locked.jsonl");
    fs::write(&locked, session(3, 1)).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may do everything can read it all the same.
    let is_root = fs::read(&locked).is_ok();
    let output = folder.run(&["import", "logs", "--out", "all.trace.jsonl"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut names = vec!["loop: ", "linked: ", "a: ", "b: ", "gone.jsonl: ", "zero: ", "pipe.jsonl: "];
    if !is_root {
        names.push("locked.jsonl: ");
    }
    for name in &names {
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with(name)).collect();
        assert_eq!(lines.len(), 1, "{name} in {said}");
        assert!(lines[0].contains("cannot be read"), "{said}");
    }
    assert!(said.contains(&format!("{} transcripts", if is_root { 3 } else { 2 })), "{said}");
    assert_eq!(folder.run(&["import", "logs", "--out", "all.trace.jsonl", "--strict"]).status.code(), Some(1));
    // A pipe that is named is read, and gives its bytes once.
    let fifo = logs.join("pipe.jsonl");
    let writer = std::thread::spawn(move || fs::write(fifo, session(4, 200_000)).unwrap());
    let piped = folder.run(&["import", "logs/pipe.jsonl", "--out", "-"]);
    writer.join().unwrap();
    assert!(piped.status.success(), "{}", text(&piped.stderr));
    folder.write("plain.jsonl", &session(4, 200_000));
    assert!(piped.stdout == folder.run(&["import", "plain.jsonl", "--out", "-"]).stdout);
}

#[cfg(unix)]
#[test]
fn an_event_file_that_cannot_be_read_leaves_the_others() {
    let folder = Folder::new("events");
    let event = |i: usize, rest: &str| format!(r#"{{"id":{i},"timestamp":"2026-03-01T10:00:{i:02}",{rest}}}"#);
    folder.write("run/0.json", &event(0, r#""source":"user","action":"message","args":{"content":"do it"}"#));
    folder.write("run/1.json", &event(1, r#""source":"agent","action":"message","args":{"content":"done"}"#));
    folder.write("run/3.json", &event(3, r#""source":"user","action":"message","args":{"content":"more"}"#));
    folder.write("run/4.json", &event(4, r#""source":"agent","action":"message","args":{"content":"done again"}"#));
    let whole = folder.run(&["import", "run", "--out", "-"]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    // A folder in the place of a file is no event; a link to nothing is none either; one that vanishes on the way is hard to make.
    std::os::unix::fs::symlink("nowhere", folder.0.join("run/2.json")).unwrap();
    let output = folder.run(&["import", "run", "--out", "-"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("2.json"), "{said}");
    assert!(whole.stdout == output.stdout, "{said}");
}
