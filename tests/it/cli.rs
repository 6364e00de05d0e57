//! The commands, run as a user runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is gone when the test is over.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cleartune")).args(args).current_dir(&self.0).stdin(Stdio::null()).output().unwrap()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.0.join(folder)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Exit code 2, nothing on standard output, one line that says all of `says`.
#[track_caller]
pub fn refused(output: &Output, says: &[&str]) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    for part in says {
        assert!(error.contains(part), "{part:?} is missing in: {error}");
    }
    assert!(!error.contains("panicked"), "{error}");
}

const GRID: [&str; 8] = ["--trigger", "30k,60k", "--keep", "3,8", "--clear-at-least", "0,20k", "--threads", "2"];
/// `none`, the grid without and with the exclusion of what cannot be fetched again, the API's defaults, and
/// clearing when cold with each keep and exclusion.
const GRID_CONFIGS: usize = 1 + 8 + 8 + 1 + 4;
/// `oracle` and `bound`.
const HINDSIGHT: usize = 2;

#[test]
fn a_sweep_writes_a_whole_set_and_answers() {
    let folder = Folder::new("sweep");
    let args = [&["sweep", "coding_agent", "--out", "out"][..], &GRID].concat();
    let first = folder.run(&args);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let answer = text(&first.stdout);
    assert!(answer.contains("40 transcripts") && answer.contains(&format!("{GRID_CONFIGS} configs")), "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "wider than 80 columns:\n{answer}");
    let files = [
        "by_clear_at_least.png",
        "context_size.png",
        "cost_heat_map.png",
        "manifest.json",
        "per_transcript.csv",
        "report.html",
        "sweep.csv",
        "sweep.json",
        "tradeoff.png",
    ];
    assert_eq!(folder.names("out"), files);

    // The same again elsewhere, on another number of threads: the same bytes.
    let again = folder.run(&[&["sweep", "coding_agent", "--out", "again"][..], &GRID[..6], &["--threads", "1"]].concat());
    assert!(again.status.success());
    for file in files {
        assert!(fs::read(folder.0.join("out").join(file)).unwrap() == fs::read(folder.0.join("again").join(file)).unwrap(), "{file}");
    }
    let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.0.join("out/sweep.json")).unwrap()).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), GRID_CONFIGS + HINDSIGHT);
    let manifest = text(&fs::read(folder.0.join("out/manifest.json")).unwrap());
    let page = text(&fs::read(folder.0.join("out/report.html")).unwrap());
    assert!(!page.contains(&folder.0.display().to_string()), "no absolute path");
    assert!(!manifest.contains(&folder.0.display().to_string()), "no absolute path");
}

#[test]
fn what_is_pasted_is_what_replay_takes() {
    let folder = Folder::new("paste");
    let swept = folder.run(&["sweep", "web_research_100", "--trigger", "60k", "--keep", "4", "--clear-at-least", "40k", "--out", "o"]);
    let answer = text(&swept.stdout);
    assert!(answer.contains("Clear like this"), "{answer}");
    let paste = &answer[answer.find("\n{").unwrap()..answer.rfind("}\n").unwrap() + 2];
    let config = folder.write("config.json", paste);
    let replayed = folder.run(&["replay", "web_research_100", "--config", &config, "--format", "json"]);
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
    let reports = text(&replayed.stdout);
    let costs = reports.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["totals"]["cost_usd"].as_f64().unwrap());
    let sum: f64 = costs.sum();
    let rows = text(&fs::read(folder.0.join("o/sweep.csv")).unwrap());
    let cost: f64 = rows.lines().nth(2).unwrap().split(',').nth(25).unwrap().parse().unwrap();
    assert!((sum - cost).abs() < 1e-9 * cost, "{cost} is not {sum}");
    folder.run(&["replay", "notebook", "--config", &config, "--plot", "context.png"]);
    assert!(fs::read(folder.0.join("context.png")).unwrap().starts_with(b"\x89PNG"));
}

/// The provider's published run with clearing: its recorded contexts, request by request.
#[test]
fn the_published_clearing_run_comes_out_of_replay() {
    let folder = Folder::new("published");
    let cases = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden.jsonl")).unwrap();
    let case: serde_json::Value = serde_json::from_str(cases.lines().find(|l| l.contains("cookbook-clearing")).unwrap()).unwrap();
    let trace = folder.write("notebook.trace.jsonl", &case["trace"].to_string());
    let output = folder.run(&[
        "replay",
        &trace,
        "--trigger",
        "30k",
        "--keep",
        "4",
        "--clear-at-least",
        "10k",
        "--assume",
        "tiny_result_bytes=53,placeholder_tokens=7",
        "--format",
        "csv",
    ]);
    let contexts: Vec<String> = text(&output.stdout).lines().skip(1).map(|l| l.split(',').nth(5).unwrap().to_owned()).collect();
    assert_eq!(contexts, ["1058", "166043", "169211", "169174", "169255", "169313", "173137"]);
}

#[test]
fn generate_text_writes_logs_and_the_truth_beside_them() {
    let folder = Folder::new("generate-text");
    let args = ["generate", "ephemeral_api", "--transcripts", "2"];
    let run = |more: &[&str]| folder.run(&[&args[..], more].concat());
    assert!(run(&["--text", "--out", "pairs.jsonl"]).status.success());
    assert!(run(&["--text=bodies", "--out", "bodies.jsonl.gz"]).status.success());
    assert_eq!(folder.names("."), ["bodies.jsonl.gz", "bodies.truth.jsonl", "pairs.jsonl", "pairs.truth.jsonl"]);
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap();
    let parsed = |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>();
    assert_eq!(read("pairs.truth.jsonl"), read("bodies.truth.jsonl"));
    assert!(parsed(&read("pairs.truth.jsonl")).iter().all(|line| line["transcript"].is_string() && line["kind"].is_string()));
    // The recorded prompts are the planned ones: base and history.
    let trace = text(&run(&["--out", "-"]).stdout);
    let prompts: Vec<u64> = parsed(&trace)
        .iter()
        .flat_map(|document| {
            let mut size = document["base_tokens"].as_u64().unwrap();
            let sum = |blocks: &serde_json::Value| blocks.as_array().unwrap().iter().map(|b| b["tokens"].as_u64().unwrap()).sum::<u64>();
            let requests = document["requests"].as_array().unwrap().clone();
            requests.into_iter().map(move |request| {
                size += sum(&request["input"]);
                let prompt = size;
                size += sum(&request["output"]);
                prompt
            })
        })
        .collect();
    let recorded: Vec<u64> = parsed(&read("pairs.jsonl"))
        .iter()
        .map(|line| {
            let usage = &line["response"]["body"]["usage"];
            let field = |name: &str| usage[name].as_u64().unwrap();
            field("input_tokens") + field("cache_read_input_tokens") + field("cache_creation_input_tokens")
        })
        .collect();
    assert_eq!(recorded, prompts);
    assert_eq!(run(&["--text=pairs", "--out", "-"]).stdout, read("pairs.jsonl").into_bytes());
    refused(&run(&["--text=poem"]), &["--text", "pairs", "bodies"]);
}

#[test]
fn generate_import_and_sweep_agree() {
    let folder = Folder::new("generate");
    assert!(folder.run(&["generate", "coding_agent", "--transcripts", "3", "--out", "c.trace.jsonl.gz"]).status.success());
    assert!(folder.run(&["import", "c.trace.jsonl.gz", "--out", "again.jsonl"]).status.success());
    let piped = folder.run(&["generate", "coding_agent", "--transcripts", "3", "--out", "-"]);
    assert_eq!(fs::read(folder.0.join("again.jsonl")).unwrap(), piped.stdout);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = Folder::new("refused");
    refused(&folder.run(&["sweep", "nothing_here"]), &["nothing_here"]);
    refused(&folder.run(&["replay", "notebook", "--price", "claude-sonet-4-6"]), &["claude-sonet-4-6", "claude-sonnet-4-6"]);
    refused(&folder.run(&["sweep", "notebook", "--keep", "3..1:1"]), &["--keep", "downwards"]);
    refused(&folder.run(&["sweep", "notebook", "--trigger", "none"]), &["--trigger", "number"]);
    refused(&folder.run(&["replay", "notebook", "--assume", "memory=sometimes"]), &["--assume", "memory", "stateless"]);
    refused(&folder.run(&["replay", "notebook", "--cache", "lookback"]), &["--cache", "KEY=VALUE"]);
    let config = folder.write("wrong.json", r#"{"context_management":{"edits":[{"type":"clear_tool_uses_20250919","exclude":["a"]}]}}"#);
    refused(&folder.run(&["replay", "notebook", "--config", &config]), &["wrong.json", "exclude_tools"]);
    let workload = folder.write("w.toml", "name = \"w\"\nsede = 1\n");
    refused(&folder.run(&["sweep", &workload]), &["w.toml", "sede"]);
    let trace = folder.write("later.trace.jsonl", r#"{"schema":"cleartune.trace/2","id":"x"}"#);
    refused(&folder.run(&["replay", &trace]), &["later.trace.jsonl", "version 2"]);
    let empty = folder.write("empty.jsonl", "");
    refused(&folder.run(&["replay", &empty]), &["empty.jsonl"]);
    let broken =
        folder.write("broken.trace.jsonl", "{\"schema\":\"cleartune.trace/1\",\"id\":\"SECRET\",\"base_tokens\":-1,\"requests\":[]}\n");
    let output = folder.run(&["replay", &broken]);
    refused(&output, &["line 1", "base_tokens"]);
    assert!(!text(&output.stderr).contains("SECRET"));
}

#[test]
fn a_bad_line_is_named_and_never_stops_the_rest() {
    let folder = Folder::new("bad-line");
    let good = r#"{"schema":"cleartune.trace/1","id":"a","base_tokens":2000,"requests":[{"input":[{"kind":"user","tokens":5}]}]}"#;
    let file = folder.write("t.trace.jsonl", &format!("{good}\n{{\"schema\":\"cleartune.trace/1\",\"id\":\"b\"}}\n"));
    let output = folder.run(&["replay", &file, "--format", "json"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(text(&output.stderr).contains("line 2"), "{}", text(&output.stderr));
    for (name, code) in [("t.trace.jsonl", 1), ("good.trace.jsonl", 0)] {
        folder.write("good.trace.jsonl", good);
        let strict = folder.run(&["import", name, "--out", "o.jsonl", "--strict"]);
        assert_eq!(strict.status.code(), Some(code), "{name}");
    }
}

#[test]
fn an_unknown_model_in_a_log_is_said_first() {
    let folder = Folder::new("assumed");
    let log = r#"{"schema":"cleartune.trace/1","id":"a","model":"in-house-7","base_tokens":2000,"requests":[{"input":[{"kind":"user","tokens":5}]}]}"#;
    let file = folder.write("t.trace.jsonl", log);
    let output = folder.run(&["sweep", &file, "--out", "o"]);
    let first = text(&output.stdout).lines().next().unwrap().to_owned();
    assert!(first.starts_with("Dollars are assumed") && first.contains("in-house-7"), "{first}");
    let known = folder.run(&["sweep", &file, "--out", "o", "--price", "claude-haiku-4-5"]);
    assert!(!text(&known.stdout).contains("assumed"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new("pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_cleartune"))
        .args(["generate", "coding_agent", "--out", "-"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_failed_run_leaves_the_old_set_alone() {
    let folder = Folder::new("old-set");
    folder.write("out/sweep.csv", "old");
    // A folder where a file has to go makes the last step fail.
    fs::create_dir_all(folder.0.join("out/per_transcript.csv/x")).unwrap();
    let output = folder.run(&[&["sweep", "notebook", "--out", "out"][..], &GRID[..6]].concat());
    refused_after_work(&output);
    assert_eq!(fs::read(folder.0.join("out/sweep.csv")).unwrap(), b"old");
    assert!(folder.names("out").iter().all(|name| !name.contains(".tmp")), "{:?}", folder.names("out"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_leaves_a_partial_file_and_the_old_set() {
    let folder = Folder::new("interrupted");
    folder.write("out/sweep.csv", "old");
    let child = Command::new(env!("CARGO_BIN_EXE_cleartune"))
        .args(["sweep", "research_agent", "--trigger", "1k..300k:1k", "--keep", "1..50:1", "--clear-at-least", "0,20k", "--out", "out"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The handler stands before anything is written; 30,000 configs take far longer than the wait.
    while folder.names("out").len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty(), "no answer without the whole grid");
    assert!(text(&output.stderr).contains("sweep.partial.csv"));
    assert_eq!(folder.names("out"), ["sweep.csv", "sweep.partial.csv"]);
    assert_eq!(fs::read(folder.0.join("out/sweep.csv")).unwrap(), b"old");
    // The head, and a row a config once any transcript is done.
    let lines = text(&fs::read(folder.0.join("out/sweep.partial.csv")).unwrap()).lines().count();
    assert!(lines == 1 || lines == 1 + 30_001, "{lines}");

    // A complete set makes the partial one stale.
    assert!(folder.run(&[&["sweep", "notebook", "--out", "out"][..], &GRID[..6]].concat()).status.success());
    assert!(!folder.names("out").contains(&"sweep.partial.csv".to_owned()));
}

#[track_caller]
fn refused_after_work(output: &Output) {
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("per_transcript.csv"), "{}", text(&output.stderr));
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new("help");
    for command in ["sweep", "replay", "inspect", "generate", "import", "models"] {
        let help = text(&folder.run(&[command, "--help"]).stdout);
        assert!(help.contains("Example"), "{command}:\n{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{command}:\n{help}");
    }
}

#[test]
fn overflow_is_never_kept_quiet() {
    let folder = Folder::new("overflow");
    let args = ["sweep", "notebook", "--keep", "8", "--clear-at-least", "0", "--out", "o", "--window"];
    let sweep = |window: &str, trigger: &str| text(&folder.run(&[&args[..], &[window, "--trigger", trigger]].concat()).stdout);
    // Nothing of the grid fires, and the run overflows: that has to be said. Its largest request is 335,279 + 3,000 tokens.
    let quiet = sweep("300k", "900k");
    assert!(quiet.contains("No config of the grid helps") && quiet.contains("1 of 1 transcript overflow"), "{quiet}");
    assert!(!sweep("400k", "900k").contains("overflow"));
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_written_to_and_not_replaced() {
    let folder = Folder::new("devices");
    folder.write("real.jsonl", "old");
    std::os::unix::fs::symlink("real.jsonl", folder.0.join("link.jsonl")).unwrap();
    for args in [["import", "notebook", "--out", "link.jsonl"], ["generate", "notebook", "--out", "link.jsonl"]] {
        folder.write("real.jsonl", "old");
        assert!(folder.run(&args).status.success());
        assert!(folder.0.join("link.jsonl").is_symlink());
        assert!(fs::read_to_string(folder.0.join("real.jsonl")).unwrap().starts_with("{\"schema\""));
    }
    std::os::unix::fs::symlink("/dev/null", folder.0.join("null.png")).unwrap();
    assert!(folder.run(&["replay", "notebook", "--plot", "null.png"]).status.success());
    assert!(folder.0.join("null.png").is_symlink());
    refused(&folder.run(&["replay", "notebook", "--plot", "x.jpg"]), &["--plot", "context.png"]);

    // A pipe in a folder of logs would block a reader for ever.
    folder.write("logs/a.trace.jsonl", &fs::read_to_string(folder.0.join("real.jsonl")).unwrap());
    assert!(Command::new("mkfifo").arg(folder.0.join("logs/pipe")).status().unwrap().success());
    assert!(folder.run(&["replay", "logs"]).status.success());
}

#[test]
fn a_grid_beyond_reason_and_tools_that_are_not_there_are_told() {
    let folder = Folder::new("reason");
    refused(&folder.run(&["sweep", "notebook", "--trigger", "0..99999:1", "--keep", "0..99999:1"]), &["configs", "--trigger"]);
    refused(&folder.run(&["replay", "notebook", "--assume", "max_refetch_rounds=101"]), &["max_refetch_rounds", "100"]);
    refused(&folder.run(&["replay", "notebook", "--price", "input=1e308"]), &["--price", "1000000"]);
    let args = ["sweep", "notebook", "--keep", "3", "--out", "o", "--exclude-tools"];
    assert!(text(&folder.run(&[&args[..], &["read_fil"]].concat()).stderr).contains("\"read_fil\" is no tool"));
    assert!(!text(&folder.run(&[&args[..], &["read_file|record_finding"]].concat()).stderr).contains("is no tool"));
}

#[test]
fn needs_of_no_use_are_told() {
    let folder = Folder::new("unknown-needs");
    let trace = |need: u64| {
        let requests = format!(r#"{{"output":[{{"kind":"use","use":1,"tool":"a","tokens":5}}]}},{{"needs":[{need}]}}"#);
        format!(r#"{{"schema":"cleartune.trace/1","id":"a","base_tokens":2000,"requests":[{requests}]}}"#)
    };
    for (need, told) in [(1, false), (2, true)] {
        let file = folder.write("t.trace.jsonl", &trace(need));
        let output = folder.run(&["replay", &file]);
        assert!(output.status.success());
        assert_eq!(text(&output.stderr).contains("name no tool use"), told, "{}", text(&output.stderr));
    }
}

#[test]
fn a_copy_of_a_sessions_start_changes_nothing_whatever_it_is_called() {
    let folder = Folder::new("forked");
    let line = |n: u32, kind: &str, rest: &str| {
        let parent = if n == 1 { "null".to_owned() } else { format!("\"u{}\"", n - 1) };
        let stamp = format!("2026-05-01T10:00:{n:02}.000Z");
        format!(r#"{{"type":"{kind}","uuid":"u{n}","parentUuid":{parent},"sessionId":"s","timestamp":"{stamp}","message":{rest}}}"#)
    };
    let user = |n, text: &str| line(n, "user", &format!(r#"{{"role":"user","content":"{text}"}}"#));
    let answer = |n, id: &str, input: u32| {
        let usage = format!(r#"{{"input_tokens":{input},"output_tokens":5}}"#);
        let content = r#"[{"type":"text","text":"fine"}]"#;
        line(
            n,
            "assistant",
            &format!(r#"{{"id":"{id}","model":"claude-sonnet-4-6","content":{content},"stop_reason":"end_turn","usage":{usage}}}"#),
        )
    };
    let start = format!("{}\n{}\n", user(1, "hello"), answer(2, "m1", 900));
    let whole = format!("{start}{}\n{}\n", user(3, "go on"), answer(4, "m2", 950));
    folder.write("alone/x.jsonl", &whole);
    for (name, first, second) in [("a", &start, &whole), ("b", &whole, &start)] {
        folder.write(&format!("{name}/0.jsonl"), first);
        folder.write(&format!("{name}/1.jsonl"), second);
    }
    let of = |name: &str| text(&folder.run(&["replay", name, "--format", "json"]).stdout);
    assert_eq!(of("alone").lines().count(), 1);
    assert_eq!((of("a"), of("b")), (of("alone"), of("alone")));
}
