//! The regression gate and the answer from earlier results, through the binary and through the library.

use std::fmt::Write;
use std::fs;
use std::io::Write as _;

use cleartune::compare::{Comparison, Gate, Outcome, Pairing, Role, Rows, Selection, Side, Threshold, compare};
use cleartune::report::{compare_json, compare_junit, compare_markdown, compare_table};
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
    compare(base, head, &asked(Rows::All, thresholds))
}

fn asked(rows: Rows, thresholds: &[&str]) -> Gate {
    let thresholds: Vec<Threshold> = thresholds.iter().map(|t| t.parse().unwrap()).collect();
    Gate { rows, thresholds, over_noise: false, strict: false }
}

/// By row (no clearing, and the config), what became of each threshold.
fn outcomes(found: &Comparison, row: &str) -> Vec<Outcome> {
    let row = found.rows.iter().find(|r| r.knobs.is_none() == (row == "none")).unwrap();
    row.checks.iter().map(|c| c.outcome).collect()
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
    assert_eq!(outcomes(&found, "none"), [Outcome::Missed, Outcome::Kept]);
    assert_eq!(outcomes(&found, "config"), [Outcome::Kept, Outcome::Kept]);
    assert!(found.failed() && found.rows[0].checks[0].noise_judged);
    assert_eq!(found.rows[0].sessions[0].0, "s11", "the largest rise first");
    // Eleven a little cheaper and one much dearer: the sum rose, which may be chance.
    let mut mixed: Vec<(f64, f64)> = costs.iter().map(|(a, b)| (a * 0.99, *b)).collect();
    mixed[0].0 = 20.0;
    let found = gate(&sessions("s", &costs), &sessions("s", &mixed), &["cost_usd > +2%"]);
    assert_eq!(outcomes(&found, "none"), [Outcome::WithinNoise]);
    assert!(!found.failed());
    let table = compare_table(&found);
    assert!(table.contains("Passed: 1 of 2 thresholds hold; 1 over but within noise.") && table.contains("(+23 %); 95 % of"), "{table}");
    let over = Gate { over_noise: true, ..asked(Rows::All, &["cost_usd > +2%"]) };
    assert!(compare(&sessions("s", &costs), &sessions("s", &mixed), &over).failed(), "noise counts where it is asked for");
}

#[test]
fn other_sessions_are_compared_by_their_means_and_few_by_what_is_seen() {
    let costs: Vec<(f64, f64)> = (0..12).map(|i| (1.0 + 0.01 * f64::from(i), 1.0)).collect();
    let more: Vec<(f64, f64)> = (0..24).map(|i| (1.0 + 0.01 * f64::from(i % 12), 1.0)).collect();
    let found = gate(&sessions("a", &costs), &sessions("b", &more), &["cost_usd > +1%", "peak_prompt_tokens > +1%"]);
    assert_eq!(found.pairing, Pairing::Unpaired(12, 24));
    assert!(found.rows[0].checks[0].change.relative().unwrap().abs() < 1e-9, "twice the sessions are no rise");
    assert_eq!(outcomes(&found, "none")[1], Outcome::Missed, "a largest is no mean");
    let nine: Vec<(f64, f64)> = costs[..9].iter().map(|(a, b)| (a * 1.5, *b)).collect();
    let few = gate(&sessions("a", &costs[..9]), &sessions("a", &nine), &["cost_usd > +1%"]);
    assert!(few.failed() && !few.rows[0].checks[0].noise_judged);
    assert!(compare_table(&few).split_whitespace().collect::<Vec<_>>().join(" ").contains("noise cannot be judged"));
}

#[test]
fn sums_alone_are_compared_by_their_means() {
    let mut base = sessions("s", &[(1.0, 0.5), (2.0, 1.0)]);
    let mut head = sessions("s", &[(1.0, 0.5), (2.0, 1.0), (1.5, 0.75)]);
    (base.transcripts, head.transcripts) = (None, None);
    let found = gate(&base, &head, &["cost_usd > +1%"]);
    assert_eq!(found.pairing, Pairing::SumsOnly(2, 3));
    assert!(found.rows[0].checks[0].change.relative().unwrap().abs() < 1e-9);
}

#[test]
fn between_different_sessions_chance_is_judged() {
    let costs: Vec<(f64, f64)> = (0..12).map(|i| (1.0 + 0.01 * f64::from(i), 1.0)).collect();
    let shifted: Vec<(f64, f64)> = costs.iter().map(|(a, b)| (a + 0.2, *b)).collect();
    let found = gate(&sessions("a", &costs), &sessions("b", &shifted), &["cost_usd > +5%"]);
    assert_eq!(outcomes(&found, "none"), [Outcome::Missed]);
    // One session of twelve that costs four times as much says little of the next twelve.
    let mut one = costs.clone();
    one[0].0 = 4.0;
    let found = gate(&sessions("a", &costs), &sessions("b", &one), &["cost_usd > +5%"]);
    assert_eq!(outcomes(&found, "none"), [Outcome::WithinNoise]);
}

#[test]
fn a_bound_on_the_head_is_on_its_total_whatever_is_compared() {
    let costs: Vec<(f64, f64)> = (0..12).map(|_| (10.0, 1.0)).collect();
    // Different sessions: means are compared, and 120 USD in all are more than 100 all the same.
    let found = gate(&sessions("a", &costs), &sessions("b", &costs), &["cost_usd > 100", "cost_usd > 120"]);
    assert_eq!(found.pairing, Pairing::Unpaired(12, 12));
    assert_eq!(outcomes(&found, "none"), [Outcome::Missed, Outcome::Kept]);
    assert!(compare_table(&found).contains("missed: cost_usd > 100, it is $120.00"));
}

#[test]
fn what_does_not_apply_is_not_taken_for_0() {
    let mut base = sessions("s", &[(1.0, 0.5), (2.0, 1.0)]);
    // No clearing invalidates nothing, so that there is nothing to divide by.
    base.rows[0].derived.freed_per_invalidated = None;
    let found = gate(&base, &base, &["freed_tokens_per_invalidated_token < 1"]);
    assert_eq!(outcomes(&found, "none"), [Outcome::NotApplicable]);
    assert_eq!(outcomes(&found, "config"), [Outcome::Kept]);
    assert!(!found.failed());
    assert!(compare_table(&found).contains("Passed: 1 of 2 thresholds hold; 1 not applicable."));
    assert!(compare_junit(&found).contains("tests=\"2\" failures=\"0\" skipped=\"1\""));
}

/// An answer that recommends this row, and that says what the team runs.
fn answer(row: usize, current: usize) -> Value {
    json!({"row": row, "against": [{"other": "current", "row": current}]})
}

#[test]
fn a_config_of_one_side_is_named() {
    let mut base = sessions("s", &[(1.0, 0.5)]);
    let mut head = base.clone();
    head.rows[1].knobs.edit.as_mut().unwrap().keep = 9;
    let found = gate(&base, &head, &["cost_usd > +2%"]);
    assert_eq!(found.missing.iter().map(|m| m.1).collect::<Vec<_>>(), [Side::Head, Side::Base]);
    let table = compare_table(&found);
    assert!(table.contains("keep 3") && table.contains("keep 9") && table.contains("2 configs not compared"), "{table}");
    assert!(compare_junit(&found).contains("skipped=\"2\""));
    // What the base recommends and the head lacks is said where only the usual configs are compared.
    base.answer = Some(json!({"row": 1, "against": []}));
    let found = compare(&base, &head, &asked(Rows::Usual, &[]));
    assert_eq!((found.rows.len(), found.missing.len(), found.missing[0].1), (1, 1, Side::Head));
    let strict = Gate { strict: true, ..asked(Rows::Usual, &[]) };
    assert!(compare(&base, &head, &strict).refused());
}

#[test]
fn what_the_team_runs_is_compared_with_what_it_ran() {
    let mut base = sessions("s", &[(1.0, 0.5), (2.0, 1.0)]);
    let mut head = sessions("s", &[(1.0, 0.8), (2.0, 1.6)]);
    head.rows[1].knobs.edit.as_mut().unwrap().keep = 9;
    (base.answer, head.answer) = (Some(answer(1, 1)), Some(answer(1, 1)));
    let found = compare(&base, &head, &asked(Rows::Usual, &["cost_usd > +50%"]));
    assert_eq!((found.rows[0].role, found.rows[0].head_knobs.as_ref().unwrap().keep()), (Role::Current, Some(9)));
    assert_eq!(found.rows[0].checks[0].outcome, Outcome::Missed, "0.60 USD dearer than 1.50");
    assert!(compare_table(&found).contains("Note: what you run differs"));
    // A bound is for what runs, not for no clearing, which stands there to compare with; a change is looked at everywhere.
    let judged = |base: &ResultSet, head: &ResultSet, rows: Rows| {
        let found = compare(base, head, &asked(rows, &["cost_usd > 1", "cost_usd > +50%"]));
        found.rows.iter().map(|row| (row.role, row.checks.len())).collect::<Vec<_>>()
    };
    assert_eq!(judged(&base, &head, Rows::Usual), [(Role::Current, 2), (Role::None, 1)]);
    let mut told = base.clone();
    told.answer = Some(json!({"row": 1, "against": []}));
    assert_eq!(judged(&told, &told, Rows::Usual), [(Role::Recommended, 2), (Role::None, 1)]);
    assert_eq!(judged(&told, &told, Rows::All), [(Role::None, 2), (Role::Asked, 2)]);
    told.answer = Some(json!({"row": 0, "against": []}));
    assert_eq!(judged(&told, &told, Rows::Usual), [(Role::None, 2)]);
    // The same tools in another order are the same config.
    let mut turned = base.clone();
    turned.rows[1].knobs.edit.as_mut().unwrap().exclude_tools.reverse();
    let found = compare(&base, &turned, &Gate::default());
    assert_eq!((found.rows.len(), found.missing.len(), &found.rows[0].head_knobs), (2, 0, &None));
}

#[test]
fn flags_select_by_the_knobs_that_they_name() {
    let mut base = sessions("s", &[(1.0, 0.5)]);
    for (keep, trigger) in [(4, 30_000), (3, 60_000)] {
        let mut row = base.rows[1].clone();
        let edit = row.knobs.edit.as_mut().unwrap();
        (edit.keep, edit.trigger) = (keep, cleartune::policy::Trigger::InputTokens(trigger));
        base.rows.push(row);
    }
    base.transcripts = None;
    let mut cold = base.rows[1].clone();
    cold.knobs = cleartune::sweep::Knobs::when_cold(7, vec!["memory".to_owned()]);
    base.rows.push(cold);
    let rows = |selection: Selection| compare(&base, &base, &asked(Rows::Matching(selection), &[])).rows.len();
    assert_eq!(rows(Selection { keep: Some(vec![3]), ..Selection::default() }), 2);
    assert_eq!(rows(Selection { keep: Some(vec![3]), trigger: Some(vec![60_000]), ..Selection::default() }), 1);
    assert_eq!(rows(Selection { trigger_type: Some("tool_uses".to_owned()), ..Selection::default() }), 0);
    assert_eq!(rows(Selection { exclude_tools: Some(vec![vec!["ask".to_owned(), "memory".to_owned()]]), ..Selection::default() }), 3);
    assert_eq!(rows(Selection { exclude_tools: Some(vec![vec![]]), ..Selection::default() }), 0);
    // A policy without a trigger is selected by the knobs that it has.
    assert_eq!(rows(Selection { keep: Some(vec![7]), ..Selection::default() }), 1);
    assert_eq!(rows(Selection { keep: Some(vec![7]), trigger: Some(vec![30_000]), ..Selection::default() }), 0);
    let no = Selection { keep: Some(vec![3, 99]), ..Selection::default() }.unknown(&base, &base).unwrap();
    assert_eq!((no.flag, no.value.as_str(), no.known), ("--keep", "99", vec!["3".to_owned(), "4".to_owned(), "7".to_owned()]));
    assert_eq!(Selection { keep: Some(vec![3]), ..Selection::default() }.unknown(&base, &base), None);
}

#[test]
fn of_many_configs_the_worst_stand_first_and_the_others_are_counted() {
    let mut base = sessions("s", &[(1.0, 0.5)]);
    base.transcripts = None;
    let one = base.rows[1].clone();
    for keep in 10..30 {
        let mut row = one.clone();
        row.knobs.edit.as_mut().unwrap().keep = keep;
        base.rows.push(row);
    }
    let mut head = base.clone();
    for row in head.rows.iter_mut().skip(2) {
        row.totals.cost_usd *= 1.0 + f64::from(row.knobs.keep().unwrap()) / 100.0;
    }
    let found = gate(&base, &head, &["cost_usd > +15%"]);
    assert_eq!((found.rows.len(), found.rows[0].knobs.keep(), found.rows[1].knobs.keep()), (22, Some(29), Some(28)));
    let table = compare_table(&found);
    assert_eq!(table.matches(": cost_usd >").count(), 10 + 1, "ten configs and the sentence at the top");
    assert!(table.contains("12 more configs not shown, 4 of which miss a threshold"), "{table}");
    let json: Value = serde_json::from_slice(&compare_json(&found)).unwrap();
    assert_eq!((json["rows"].as_array().unwrap().len(), &json["rows"][0]["knobs"]["keep"]), (22, &json!(29)));
    assert_eq!(compare_junit(&found).matches("<testcase").count(), 22);
}

#[test]
fn a_refused_comparison_is_red_everywhere() {
    let base = sessions("s", &[(1.0, 0.5)]);
    let found = compare(&base, &base, &Gate { strict: true, ..asked(Rows::All, &["cost_usd > +2%"]) });
    assert!(found.refused() && found.failed(), "without a manifest nothing is known");
    assert!(compare_table(&found).contains("Failed by --strict: neither side has a manifest.json"));
    assert!(compare_markdown(&found).starts_with("### ❌"));
    assert!(compare_junit(&found).contains("tests=\"3\" failures=\"1\""));
    assert!(!gate(&base, &base, &["cost_usd > +2%"]).failed());
}

#[test]
fn outputs_hold_what_they_say() {
    let costs: Vec<(f64, f64)> = (0..12).map(|i| (1.0 + f64::from(i), 1.0)).collect();
    let dearer: Vec<(f64, f64)> = costs.iter().map(|(a, b)| (a * 1.05, *b)).collect();
    let found = gate(&sessions("s", &costs), &sessions("s", &dearer), &["cost_usd > +2%", "refetches > +5%"]);
    let table = compare_table(&found);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&table).contains("Failed: 1 of 4 thresholds missed. First: cost_usd > +2%, it rose by 5.0 %."), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let markdown = compare_markdown(&found);
    assert!(markdown.starts_with("### ❌") && markdown.contains("| **missed** |") && markdown.contains("ask, memory"), "{markdown}");
    let junit = compare_junit(&found);
    assert!(junit.contains("tests=\"4\" failures=\"1\"") && junit.contains("name=\"cost_usd &gt; +2%\""), "{junit}");
    assert_eq!(junit.matches("<testcase").count(), 4);
    // Means of millions of tokens stay within the columns, and a session's name brings no control characters.
    let mut other = sessions("\u{1b}[31m`t|", &costs);
    for row in &mut other.rows {
        row.totals.prompt_tokens = 123_456_789;
    }
    let found = gate(&sessions("s", &costs), &other, &["prompt_tokens > +1%"]);
    assert!(compare_table(&found).lines().all(|line| line.chars().count() <= 80), "{}", compare_table(&found));
    let mut dearer = other.clone();
    dearer.transcripts.as_mut().unwrap().totals[0][0].cost_usd += 5.0;
    let found = gate(&other, &dearer, &[]);
    let (table, markdown) = (compare_table(&found), compare_markdown(&found));
    assert!(table.contains("sessions that rose most") && markdown.contains("Sessions that rose most"));
    assert!(!table.contains('\u{1b}') && !markdown.contains('\u{1b}') && markdown.contains("[31m't|0`"), "{markdown}");
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
    // Numbers that no sweep writes: they would pass every threshold, or end in a panic.
    let row = |change: &[(&str, &str)]| {
        let names = cleartune::report::csv::KNOBS.iter().chain(&["transcripts"]).chain(&cleartune::report::csv::TOTALS);
        let names: Vec<&str> = names.chain(&["overflowed_transcripts"]).chain(&cleartune::report::csv::DERIVED).copied().collect();
        let cell =
            |name: &&str| change.iter().find(|c| c.0 == *name).map_or(if *name == "requests" { "5" } else { "1" }, |c| c.1).to_owned();
        let none = |name: &&str| if cleartune::report::csv::KNOBS.contains(name) { String::new() } else { cell(name) };
        let cells: Vec<String> = names.iter().map(none).collect();
        format!("{}\nnone{}\n", names.join(","), cells.join(","))
    };
    assert!(parse(row(&[]).as_bytes(), &mut ResultSet::default()).is_ok());
    assert!(parse(format!("\u{feff}{}", row(&[])).as_bytes(), &mut ResultSet::default()).is_ok(), "as a spreadsheet writes it");
    for (name, value, says) in [
        ("cost_vs_none", "NaN", "line 2: cost_vs_none is no finite number"),
        ("cost_vs_none", "inf", "line 2: cost_vs_none is no finite number"),
        ("cost_usd", "-1", "line 2: cost_usd is no finite amount"),
        ("cost_usd", "NaN", "line 2: cost_usd is no finite amount"),
        ("prompt_tokens", "18446744073709551615", "line 2: prompt_tokens is 18446744073709551615, more than any log holds"),
        ("freed_tokens", "-9223372036854775808", "line 2: freed_tokens is -9223372036854775808, more"),
        ("refetch_requests", "6", "line 2: refetch_requests are more than requests"),
    ] {
        assert!(error(row(&[(name, value)]).as_bytes()).starts_with(says), "{name} {value}: {}", error(row(&[(name, value)]).as_bytes()));
    }
    let spreadsheet = row(&[("cost_usd", "-1")]).replace('\n', "\r\n");
    assert!(error(spreadsheet.as_bytes()).starts_with("line 2: cost_usd"), "{}", error(spreadsheet.as_bytes()));
    let twice = row(&[]) + row(&[]).lines().nth(1).unwrap() + "\n";
    assert!(error(twice.as_bytes()).starts_with("line 3: is a config that stands further up already"));
    let report = |id: &str| {
        let totals: Vec<String> = cleartune::report::csv::TOTALS.iter().map(|name| format!("\"{name}\":1")).collect();
        format!("{{\"id\":\"{id}\",\"totals\":{{{},\"first_overflow\":null}},\"requests\":[]}}\n", totals.join(","))
    };
    assert!(parse((report("a") + &report("b")).as_bytes(), &mut ResultSet::default()).is_ok());
    assert!(error((report("a") + &report("b") + &report("a")).as_bytes()).starts_with("line 3: id is one that stands further up"));
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
    refused(&run(&["base", "head", "--keep", "4,99"]), &["--keep 99: no config of base or head has it; there are 3, 4"]);
    refused(&run(&["base", "head", "--keep", "auto"]), &["auto selects nothing"]);
    let kept = run(&["base", "head", "--keep", "4"]);
    assert!(text(&kept.stdout).contains("trigger 60k, keep 4, clear_at_least 40k (as asked)"), "{}", text(&kept.stdout));
    // Compressed, in a folder and alone; cut in the middle.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&fs::read(folder.0.join("base/per_transcript.csv")).unwrap()).unwrap();
    let packed = gzip.finish().unwrap();
    fs::create_dir(folder.0.join("packed")).unwrap();
    for name in ["manifest.json", "sweep.csv", "sweep.json"] {
        fs::copy(folder.0.join("base").join(name), folder.0.join("packed").join(name)).unwrap();
    }
    fs::write(folder.0.join("packed/per_transcript.csv.gz"), &packed).unwrap();
    assert_eq!(run(&["base", "packed"]).stdout, run(&["base", "base"]).stdout);
    let alone = run(&["base/per_transcript.csv", "packed/per_transcript.csv.gz", "--fail-if", "cost_usd > +0%"]);
    assert!(text(&alone.stdout).contains("The same 40 sessions"), "{}", text(&alone.stdout));
    fs::write(folder.0.join("packed/per_transcript.csv.gz"), &packed[..packed.len() / 2]).unwrap();
    refused(&run(&["base", "packed"]), &["per_transcript.csv.gz", "cannot be read"]);
    // The sums of each file are the same, to the last bit that matters.
    assert_eq!(run(&["base/sweep.csv", "base/per_transcript.csv", "--all", "--fail-if", "cost_usd > +0%"]).status.code(), Some(0));
    // An answer beside other rows would name the wrong ones.
    fs::copy(folder.0.join("base/sweep.json"), folder.0.join("packed/sweep.json")).unwrap();
    fs::remove_file(folder.0.join("packed/per_transcript.csv.gz")).unwrap();
    let csv = fs::read_to_string(folder.0.join("base/sweep.csv")).unwrap();
    folder.write("packed/sweep.csv", &csv.lines().take(2).map(|line| line.to_owned() + "\n").collect::<String>());
    refused(&run(&["base", "packed"]), &["sweep.json", "other configs than the sweep.csv"]);
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
            && json("priced").lines().next().unwrap().ends_with("first_overflow,refetch_usd,refetch_seconds,params")
    );
    assert!(json("plain").lines().next().unwrap().ends_with("first_overflow,params"));
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
