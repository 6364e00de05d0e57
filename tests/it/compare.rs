//! The regression gate and the answer from earlier results, through the binary and through the library.

use std::fmt::Write;
use std::fs;

use cleartune::compare::{Comparison, Outcome, Pairing, Rows, Side, Threshold, compare};
use cleartune::report::{compare_junit, compare_markdown, compare_table};
use cleartune::results::{ResultSet, parse};
use serde_json::{Value, json};

use crate::cli::{Folder, refused, text};

/// `per_transcript.csv` of sessions with these costs under `none` and under one config.
fn sessions(prefix: &str, costs: &[(f64, f64)]) -> ResultSet {
    let mut csv = String::from(
        "transcript,session,policy,trigger,trigger_type,keep,clear_at_least,exclude_tools,clear_tool_inputs,requests,refetch_requests,\
         refetches,costly_refetches,lost_needs,unmet_needs,clear_events,cleared_uses,freed_tokens,cache_invalidations,invalidated_tokens,\
         prompt_tokens,cache_read_tokens,cache_write_tokens,uncached_tokens,output_tokens,peak_prompt_tokens,cost_usd,first_overflow\n",
    );
    for (i, (none, config)) in costs.iter().enumerate() {
        let numbers = |cost: f64| format!("10,0,2,0,0,0,1,3,400,1,50,1000,900,50,50,80,{},{cost},", 300 + i);
        writeln!(csv, "{prefix}{i},{prefix}{i},none,,,,,,,{}", numbers(*none)).unwrap();
        writeln!(csv, "{prefix}{i},{prefix}{i},clear_tool_uses_20250919,30000,input_tokens,3,5000,ask|memory,false,{}", numbers(*config))
            .unwrap();
    }
    let mut set = ResultSet::default();
    parse(csv.as_bytes(), &mut set).unwrap();
    set
}

fn gate(base: &ResultSet, head: &ResultSet, thresholds: &[&str]) -> Comparison {
    let thresholds: Vec<Threshold> = thresholds.iter().map(|t| t.parse().unwrap()).collect();
    compare(base, head, &Rows::All, &thresholds, false)
}

#[test]
fn a_file_by_transcript_is_summed_and_its_configs_are_read() {
    let set = sessions("s", &[(1.0, 0.5), (2.0, 1.0)]);
    assert_eq!(set.rows.len(), 2);
    let (none, row) = (&set.rows[0], &set.rows[1]);
    assert!(none.knobs.is_none() && !row.knobs.is_none());
    assert_eq!((row.knobs.keep(), row.knobs.clear_at_least(), row.knobs.exclude_tools().as_str()), (Some(3), Some(5_000), "ask|memory"));
    assert_eq!((row.totals.requests, row.totals.peak_prompt_tokens, row.transcripts), (20, 301, 2));
    assert!((none.totals.cost_usd - 3.0).abs() < 1e-12 && (row.derived.cost_vs_none.unwrap() - 0.5).abs() < 1e-12);
}

#[test]
fn the_same_sessions_are_compared_one_by_one() {
    let costs: Vec<(f64, f64)> = (0..12).map(|i| (1.0 + f64::from(i), 1.0)).collect();
    let dearer: Vec<(f64, f64)> = costs.iter().map(|(a, b)| (a * 1.05, *b)).collect();
    // Each session is 5 % dearer: beyond doubt, though sessions differ twelvefold.
    let found = gate(&sessions("s", &costs), &sessions("s", &dearer), &["cost_usd > +2%", "cost_usd > +6%"]);
    assert_eq!(found.pairing, Pairing::Paired(12));
    assert_eq!(found.checks.iter().map(|c| c.outcome).collect::<Vec<_>>(), [Outcome::Missed, Outcome::Kept, Outcome::Kept, Outcome::Kept]);
    assert!(found.failed() && found.checks[0].noise_judged);
    assert_eq!(found.rows[0].sessions[0].0, "s11", "the largest rise first");
    // Eleven a little cheaper and one much dearer: the sum rose, which may be chance.
    let mut mixed: Vec<(f64, f64)> = costs.iter().map(|(a, b)| (a * 0.99, *b)).collect();
    mixed[0].0 = 20.0;
    let found = gate(&sessions("s", &costs), &sessions("s", &mixed), &["cost_usd > +2%"]);
    assert_eq!(found.checks[0].outcome, Outcome::WithinNoise);
    assert!(!found.failed());
    let strict = compare(&sessions("s", &costs), &sessions("s", &mixed), &Rows::All, &["cost_usd > +2%".parse().unwrap()], true);
    assert!(strict.failed(), "noise counts where it is asked for");
}

#[test]
fn other_sessions_are_compared_by_their_means_and_few_by_what_is_seen() {
    let costs: Vec<(f64, f64)> = (0..12).map(|i| (1.0 + 0.01 * f64::from(i), 1.0)).collect();
    let more: Vec<(f64, f64)> = (0..24).map(|i| (1.0 + 0.01 * f64::from(i % 12), 1.0)).collect();
    let found = gate(&sessions("a", &costs), &sessions("b", &more), &["cost_usd > +1%", "peak_prompt_tokens > +1%"]);
    assert_eq!(found.pairing, Pairing::Unpaired(12, 24));
    assert!(found.checks[0].change.relative().abs() < 1e-9, "twice the sessions are no rise");
    assert_eq!(found.checks[1].outcome, Outcome::Missed, "a largest is no mean");
    let nine: Vec<(f64, f64)> = costs[..9].iter().map(|(a, b)| (a * 1.5, *b)).collect();
    let few = gate(&sessions("a", &costs[..9]), &sessions("a", &nine), &["cost_usd > +1%"]);
    assert!(few.failed() && !few.checks[0].noise_judged);
    assert!(compare_table(&few).split_whitespace().collect::<Vec<_>>().join(" ").contains("noise cannot be judged"));
}

#[test]
fn sums_alone_are_compared_by_their_means() {
    let mut base = sessions("s", &[(1.0, 0.5), (2.0, 1.0)]);
    let mut head = sessions("s", &[(1.0, 0.5), (2.0, 1.0), (1.5, 0.75)]);
    (base.transcripts, head.transcripts) = (None, None);
    let found = gate(&base, &head, &["cost_usd > +1%"]);
    assert_eq!(found.pairing, Pairing::SumsOnly(2, 3));
    assert!(found.checks[0].change.relative().abs() < 1e-9);
}

#[test]
fn a_config_of_one_side_is_named() {
    let base = sessions("s", &[(1.0, 0.5)]);
    let mut head = base.clone();
    head.rows[1].knobs.edit.as_mut().unwrap().keep = 9;
    let wanted = Rows::Named(vec![base.rows[1].knobs.clone(), head.rows[1].knobs.clone()]);
    let found = compare(&base, &head, &wanted, &[], false);
    assert!(found.rows.is_empty());
    assert_eq!(found.missing.iter().map(|m| m.1).collect::<Vec<_>>(), [Side::Head, Side::Base]);
}

#[test]
fn outputs_hold_what_they_say() {
    let costs: Vec<(f64, f64)> = (0..12).map(|i| (1.0 + f64::from(i), 1.0)).collect();
    let dearer: Vec<(f64, f64)> = costs.iter().map(|(a, b)| (a * 1.05, *b)).collect();
    let found = gate(&sessions("s", &costs), &sessions("s", &dearer), &["cost_usd > +2%", "refetches > +5%"]);
    let table = compare_table(&found);
    assert!(table.contains("Failed: 1 of 4 thresholds missed.") && table.contains("+5.0 %"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let markdown = compare_markdown(&found);
    assert!(markdown.starts_with("### ❌") && markdown.contains("| **missed** |") && markdown.contains("ask, memory"), "{markdown}");
    let junit = compare_junit(&found);
    assert!(junit.contains("tests=\"4\" failures=\"1\"") && junit.contains("name=\"cost_usd &gt; +2%\""), "{junit}");
    assert_eq!(junit.matches("<testcase").count(), 4);
}

#[test]
fn broken_results_are_refused_by_line_and_field() {
    let good = "policy,trigger,trigger_type,keep,clear_at_least,exclude_tools,clear_tool_inputs,transcripts,requests\nnone,,,,,,,1,x\n";
    let error = |bytes: &[u8]| parse(bytes, &mut ResultSet::default()).unwrap_err().to_string();
    assert_eq!(error(good.as_bytes()), "line 2: requests is no number of the right kind");
    assert!(error(b"policy,trigger\nnone\n").contains("line 2: has 1 cells and the head 2"));
    assert!(error(b"hello").contains("is no result of cleartune"));
    assert!(error(b"{\"schema\": \"cleartune.sweep/9\", \"rows\": []}").contains("schema is not cleartune.sweep/1"));
    assert!(error(b"{\n\"schema\": \"cleartune.sweep/1\",\n\"rows\": [").contains("line 3: the JSON ends too early"));
    assert!(error(b"{\"id\":\"a\",\"totals\":{\"requests\":1},\"requests\":[]}").contains("line 1: totals.refetch_requests is missing"));
    let whole = "transcript,session,policy,trigger,requests\n";
    assert!(error(format!("{whole}a,a,none,,x\n").as_bytes()).contains("line 2: "));
}

const GRID: [&str; 6] = ["--trigger", "60k", "--keep", "4", "--clear-at-least", "40k"];

#[test]
fn what_sweep_wrote_is_read_back_to_the_same_answer() {
    let folder = Folder::new("recommend");
    let swept = text(&folder.run(&[&["sweep", "web_research_100", "--out", "base"][..], &GRID].concat()).stdout);
    let again = folder.run(&["recommend", "base"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    let tail = |answer: &str| answer.split_once('\n').unwrap().1.split("\n\nThe whole grid").next().unwrap().trim_end().to_owned();
    assert_eq!(tail(&text(&again.stdout)), tail(&swept));
    // Another objective without another sweep.
    let peak = text(&folder.run(&["recommend", "base", "--objective", "peak", "--max-refetches-per-100", "0.1"]).stdout);
    assert!(peak.contains("max-refetches-per-100"), "{peak}");
    fs::remove_file(folder.0.join("base/per_transcript.csv")).unwrap();
    refused(&folder.run(&["recommend", "base"]), &["base: holds no per_transcript.csv", "sweep again"]);
    refused(&folder.run(&["recommend", "nowhere"]), &["nowhere: cannot be read"]);
}

#[test]
fn the_gate_fails_passes_and_refuses() {
    let folder = Folder::new("gate");
    folder.run(&[&["sweep", "web_research_100", "--out", "base"][..], &GRID].concat());
    folder.run(&[&["sweep", "web_research_100", "--ttl", "1h", "--out", "head"][..], &GRID].concat());
    let run = |args: &[&str]| folder.run(&[&["compare"][..], args].concat());
    let same = run(&["base", "base", "--strict", "--fail-if", "cost_usd > +0%"]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
    let args = ["base", "head", "--fail-if", "cost_usd > +2%", "--json", "c.json", "--markdown", "c.md", "--junit", "c.xml"];
    let failed = run(&args);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stdout).starts_with("Note: assumptions, cache or prices differ."), "{}", text(&failed.stdout));
    let json: Value = serde_json::from_slice(&fs::read(folder.0.join("c.json")).unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["failed"], &json["same_inputs"]), (&json!("cleartune.compare/1"), &json!(true), &json!(true)));
    assert!(fs::read_to_string(folder.0.join("c.xml")).unwrap().contains("<failure"));
    assert_eq!(run(&["base", "head"]).status.code(), Some(0), "no threshold, no failure");
    assert_eq!(run(&["base", "head", "--strict"]).status.code(), Some(1));
    // Single files: sums of CSV and JSON, and the output of replay.
    assert_eq!(run(&["base/sweep.csv", "head/sweep.json", "--fail-if", "cost_usd > +2%"]).status.code(), Some(1));
    let replayed = folder.run(&["replay", "web_research_100", "--format", "json"]);
    folder.write("replay.jsonl", &text(&replayed.stdout));
    assert_eq!(run(&["replay.jsonl", "replay.jsonl", "--fail-if", "requests > +0%"]).status.code(), Some(0));
    refused(&run(&["base", "head", "--fail-if", "cost > +2%"]), &["did you mean cost_"]);
    refused(&run(&["base", "head", "--keep", "99", "--trigger", "1k", "--clear-at-least", "0"]), &["no config that is wanted"]);
    folder.write("cut.csv", "policy,trigger\nnone\n");
    refused(&run(&["base", "cut.csv"]), &["cut.csv", "line 2"]);
}

/// Flags of the choice, each of which has to move the answer.
#[test]
fn objective_bounds_and_prices_reach_the_answer() {
    let folder = Folder::new("choice");
    let costs = folder.write("costs.toml", "[web_fetch]\nusd = 0.05\nseconds = 4\n[nowhere]\nusd = 1\n");
    let sweep = |out: &str, more: &[&str]| {
        let output = folder.run(&[&["sweep", "web_research_100", "--no-sensitivity", "--out", out][..], &GRID, more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&fs::read(folder.0.join(out).join("sweep.json")).unwrap()).unwrap();
        (json["answer"].clone(), text(&output.stderr))
    };
    let (plain, _) = sweep("plain", &[]);
    let (priced, told) = sweep("priced", &["--refetch-costs", &costs]);
    assert!(told.contains("\"nowhere\" is no tool of any transcript"), "{told}");
    assert!(priced["saving"].as_f64().unwrap() < plain["saving"].as_f64().unwrap(), "each re-fetch costs five cents more");
    let (bounded, _) = sweep("bounded", &["--max-refetches-per-100", "0.01"]);
    assert_eq!(bounded["verdict"], "do_not_clear");
    let (tokens, _) = sweep("tokens", &["--objective", "prompt_tokens"]);
    assert!(tokens["saving"].as_f64().unwrap() > plain["saving"].as_f64().unwrap(), "fewer tokens save less than their share of dollars");
    let (slow, _) = sweep("slow", &["--objective", "latency"]);
    let (fast, _) = sweep("fast", &["--objective", "latency", "--latency", "first=9"]);
    assert!(fast["saving"].as_f64().unwrap() < slow["saving"].as_f64().unwrap(), "a re-fetch request costs nine seconds");
    let (month, _) = sweep("month", &["--sessions-per-day", "10"]);
    let saved = month["month"]["saved_usd"].as_f64().unwrap();
    assert!((saved - (352.67 - 159.29) / 40.0 * 10.0 * 365.25 / 12.0).abs() < 5.0, "{saved}");
    // What sweep kept of the prices is there for recommend.
    let again = text(&folder.run(&["recommend", "priced"]).stdout);
    assert!(again.contains("costs") || again.contains("saves"), "{again}");
    let json = |name: &str| fs::read_to_string(folder.0.join(name).join("per_transcript.csv")).unwrap();
    assert!(
        json("priced").starts_with("transcript,")
            && json("priced").lines().next().unwrap().ends_with("first_overflow,refetch_usd,refetch_seconds")
    );
    assert!(json("plain").lines().next().unwrap().ends_with("first_overflow"));
    for (args, says) in [
        (&["--lost-need-cost=-1"][..], "0 or more"),
        (&["--lost-need-cost", "1", "--objective", "peak"], "goes with --objective cost"),
        (&["--latency", "first=x"], "is no number"),
        (&["--latency", "second=1"], "is no key"),
        (&["--latency", "output_per_second=0"], "more than 0"),
        (&["--refetch-costs", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (&["--current", "nowhere.json"], "nowhere.json: cannot be read"),
    ] {
        refused(&folder.run(&[&["sweep", "long_chat", "--out", "x"][..], args].concat()), &[says]);
    }
    let odd = folder.write("odd.toml", "[web_fetch]\neuro = 1\n");
    refused(&folder.run(&["sweep", "long_chat", "--out", "x", "--refetch-costs", &odd]), &["odd.toml", "euro"]);
}

#[test]
fn refining_finds_a_better_config_and_ends() {
    let folder = Folder::new("refine");
    let args = ["sweep", "web_research_100", "--trigger", "20k,100k", "--keep", "1,12", "--clear-at-least", "10k,90k", "--no-sensitivity"];
    let answer = |more: &[&str], out: &str| {
        assert!(folder.run(&[&args[..], &["--out", out], more].concat()).status.success());
        let json: Value = serde_json::from_slice(&fs::read(folder.0.join(out).join("sweep.json")).unwrap()).unwrap();
        (json["answer"]["saving"].as_f64().unwrap(), json["rows"].as_array().unwrap().len())
    };
    let (coarse, few) = answer(&[], "coarse");
    let (fine, many) = answer(&["--refine"], "fine");
    assert!(fine > coarse + 0.02 && many > few + 20, "{fine} and {many} against {coarse} and {few}");
    let again = folder.run(&[&args[..], &["--out", "again", "--refine", "--threads", "1"]].concat());
    assert!(again.status.success());
    for file in ["sweep.csv", "sweep.json", "per_transcript.csv", "manifest.json"] {
        assert!(fs::read(folder.0.join("fine").join(file)).unwrap() == fs::read(folder.0.join("again").join(file)).unwrap(), "{file}");
    }
}
