//! Structure, size, escaping, determinism.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::detail::LEVELS;
use super::timelines::{evenly, thinned};
use super::*;
use crate::decide::{Ask, Verdict, decide};
use crate::findings::{Finding, Id, Severity};
use crate::policy::{ClearToolUses, Settings, Trigger};
use crate::replay::{Row, replay};
use crate::report::Hindsights;
use crate::sweep::{ConfigRow, Knobs, Transcript, run};
use crate::trace::{Document, Trace, parse_line};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}\"'&amp;{{title}}<!--";

/// Sessions in which one large result is of no use after it arrived: clearing it pays. Of some the tool and the id are hostile.
fn sessions(n: usize, hostile: bool) -> Vec<(Document, Transcript)> {
    (0..n)
        .map(|n| {
            let tool = if hostile { HOSTILE } else { "read" };
            let call = |id: usize| json!({"kind": "use", "use": id, "tool": tool, "tokens": 10});
            let mut requests = vec![
                json!({"output": [call(0)]}),
                json!({"input": [{"kind": "result", "use": 0, "tokens": 90_000 + 1000 * n}], "output": [call(1)]}),
                json!({"input": [{"kind": "result", "use": 1, "tokens": 20}], "output": [{"kind": "text", "tokens": 10}]}),
            ];
            requests.extend((0..60 + n).map(|i| json!({"at_ms": i * 1000, "needs": if i == 30 { vec![1] } else { Vec::new() }})));
            let id = if hostile { format!("{HOSTILE}{n}") } else { format!("session-{n}") };
            let line = json!({"schema": "cleartune.trace/1", "id": id, "base_tokens": 2000, "requests": requests}).to_string();
            let (document, trace) = parse_line(line.as_bytes()).unwrap();
            (document, Transcript { trace, settings: Settings::default() })
        })
        .collect()
}

fn edit(trigger: u64, keep: u32) -> Knobs {
    Knobs::api(ClearToolUses { trigger: Trigger::InputTokens(trigger), keep, ..ClearToolUses::default() })
}

/// A sweep with all that a page takes.
struct Swept {
    head: Headline,
    outcome: Outcome,
    advice: Option<Advice>,
    findings: Vec<RowFindings>,
    profile: Profile,
    timelines: Vec<Timeline>,
    manifest: Value,
    snippets: Vec<Snippet>,
}

impl Swept {
    fn new(sessions: &[(Document, Transcript)], configs: &[Knobs]) -> Self {
        let transcripts: Vec<Transcript> = sessions.iter().map(|(_, t)| t.clone()).collect();
        let Ok(outcome) = run::<Infallible>(&transcripts, configs, None, &AtomicBool::new(false), &|_| {}, |_| Ok(()));
        let ask = Ask::default();
        let decision = decide(&outcome.ours(), &ask).unwrap();
        let paste = outcome.rows[decision.row].knobs.edit.as_ref().map(ClearToolUses::to_json);
        let found = Finding {
            id: Id::ALL[0],
            severity: Severity::Error,
            evidence: HOSTILE.to_owned(),
            numbers: Vec::new(),
            remedy: "do <b>".to_owned(),
        };
        let findings = vec![RowFindings { role: "recommended", row: decision.row, found: vec![found] }];
        let advice = Advice { ask, decision, importance: Vec::new(), by_kind: None, sensitivity: Vec::new(), sessions_per_day: None };
        let profile = Profile::new(sessions.iter().map(|(document, t)| (document, &t.trace)));
        let rows = rows_shown(&advice, None);
        let one = |trace: &Trace| {
            let replays = rows.iter().map(|&row| {
                let mut settings = Settings::default();
                outcome.rows[row].knobs.apply(&mut settings);
                (row, replay(trace, &settings))
            });
            Timeline { name: trace.id.clone(), window: Some(200_000), replays: replays.collect() }
        };
        let requests: Vec<usize> = transcripts.iter().map(|t| t.trace.requests.len()).collect();
        let timelines = sessions_shown(&requests).into_iter().map(|i| one(&transcripts[i].trace)).collect();
        let head = Headline {
            source: HOSTILE.to_owned(),
            prices: "claude-sonnet-4-6".to_owned(),
            hindsight: Some(Hindsights { none: 1.0, oracle: 0.5, bound: 0.4 }),
            ..Headline::default()
        };
        let manifest = json!({
            "version": "0.1.0", "sources": [{"name": HOSTILE, "sha256": "0123456789abcdef"}],
            "asked": {"grid": {"keep": "auto"}, "choice": {"max_lost": 0}},
            "price_catalogue": {"version": "x", "date": "2026-12-01"},
            "settings": {"prices of x": {"assume": {"memory": "stateless"}, "context_window": 200_000}},
        });
        let snippets = paste.iter().map(|json| Snippet::api(json)).collect();
        Self { head, outcome, advice: Some(advice), findings, profile, timelines, manifest, snippets }
    }

    fn view(&self) -> PageView<'_> {
        PageView {
            head: &self.head,
            outcome: &self.outcome,
            advice: self.advice.as_ref(),
            edit: None,
            findings: &self.findings,
            profile: &self.profile,
            timelines: &self.timelines,
            manifest: &self.manifest,
            snippets: &self.snippets,
        }
    }
}

fn configs() -> Vec<Knobs> {
    vec![Knobs::none(), edit(50_000, 1), edit(50_000, 3), edit(200_000, 1), Knobs::when_cold(1, Vec::new()), Knobs::oracle()]
}

/// What the script of a page reads.
fn data(page: &str) -> Value {
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

#[test]
fn a_page_has_every_part_and_loads_nothing() {
    let swept = Swept::new(&sessions(12, false), &configs());
    let html = page(&swept.view());
    assert_eq!(swept.advice.as_ref().unwrap().decision.verdict, Verdict::Clear);
    for part in ["answer", "tradeoff", "heat-map", "context", "keep", "findings", "assumptions", "proof"] {
        assert_eq!(html.matches(&format!("<section id=\"{part}\"")).count(), 1, "{part}");
    }
    for said in [
        "Clear like this: it saves",
        "trigger&quot;: {&quot;type&quot;",
        "Held-out saving",
        "\u{a0}%",
        "class=\"copy\"",
        "2026-12-01",
        "0123456789ab",
    ] {
        assert!(html.contains(said), "{said:?} is missing");
    }
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    // Without the vendored libraries, of which no word is ours.
    let (before, after) = (html.find("<script>/*!").unwrap(), html.rfind("<script>").unwrap());
    let ours = [&html[..before], &html[after..]].concat();
    for load in ["<script src", "<link rel=\"style", "<img", "@import", "url(", "fetch(", "XMLHttpRequest", "import(", "sourceMappingURL"] {
        assert!(!ours.contains(load), "{load:?}");
    }
    assert!(!html.contains("//# sourceMappingURL") && html.contains("default-src 'none'") && html.contains("Permission is hereby granted"));
    let data = data(&html);
    assert_eq!(data["rows"]["row"].as_array().unwrap().len(), configs().len());
    assert_eq!(data["sessions"].as_array().unwrap().len(), 12);
    assert_eq!(data["curves"][1]["tool"], "read");
    let row = data["roles"]["recommended"].as_u64().unwrap() as usize;
    assert_eq!(row, swept.advice.as_ref().unwrap().decision.row);
    // `oracle` is no config and has no knobs.
    assert_eq!((&data["rows"]["policies"][3], &data["rows"]["keep"][5]), (&json!("oracle"), &Value::Null));
}

#[test]
fn nothing_in_a_log_can_break_out() {
    let swept = Swept::new(&sessions(12, true), &configs());
    let html = page(&swept.view());
    assert!(!html.contains("<img") && !html.contains("<b>") && !html.contains("</script><i"));
    let island = &html[html.find("id=\"data\">").unwrap()..];
    assert!(!island[..island.find("</script>").unwrap()].contains(['<', '&', '\u{2028}']));
    // Three libraries and scripts, the island, and nothing else that closes a script.
    assert_eq!(html.matches("</script>").count(), 4);
    assert!(html.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    // What is put in is not looked at for names again.
    assert_eq!(html.matches("{{title}}").count(), html.matches("amp;{{title}}").count());
    let data = data(&html);
    assert_eq!(data["source"], HOSTILE);
    assert_eq!(data["curves"][1]["tool"], HOSTILE);
    assert_eq!(data["sessions"][0]["name"], format!("{HOSTILE}0"));
    assert_eq!(html::text("a\u{0}b\u{202e}\n"), "a\u{fffd}b\u{202e}\n");
}

#[test]
fn the_same_view_gives_the_same_bytes() {
    let of = || page(&Swept::new(&sessions(12, false), &configs()).view());
    assert!(of() == of());
}

/// A sweep with this many rows more, none better than those that it has.
fn widened(swept: &mut Swept, more: usize) {
    let worst = ConfigRow { knobs: edit(50_000, 3), ..swept.outcome.rows[2].clone() };
    for i in 0..more {
        let mut row = worst.clone();
        row.knobs = edit(60_000 + i as u64, 5 + (i % 40) as u32);
        row.totals.cost_usd *= 1.0 + i as f64 / 7.0;
        swept.outcome.rows.push(row);
        for costs in &mut swept.outcome.costs {
            costs.push(costs[2] * (1.0 + i as f64 / 7.0));
        }
    }
}

#[test]
fn a_page_stays_small_and_says_what_is_left_out() {
    let mut swept = Swept::new(&sessions(60, false), &configs());
    assert!(!page(&swept.view()).contains("rows-left-out"));
    widened(&mut swept, 3_000);
    let html = page(&swept.view());
    assert!(html.len() < MOST_BYTES && !html.contains("rows-left-out"), "{}", html.len());
    assert!(html.contains("40 of 60 transcripts, evenly picked"));
    widened(&mut swept, 40_000);
    let html = page(&swept.view());
    let shown = data(&html)["rows"]["row"].as_array().unwrap().len();
    assert!(html.len() < MOST_BYTES && shown >= 1_000, "{} {shown}", html.len());
    assert!(html.contains(&format!("{} of the 43,006 rows", answer::thousands(shown as u64))));
    // What the answer names is there all the same.
    let rows: Vec<usize> = data(&html)["rows"]["row"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let d = &swept.advice.as_ref().unwrap().decision;
    assert!([d.row, d.none, 5].iter().all(|i| rows.contains(i)) && rows.is_sorted());
}

#[test]
fn where_much_has_to_go_the_coarsest_page_is_taken() {
    let mut swept = Swept::new(&sessions(12, false), &configs());
    // A set of exclusions of its own for each row: names that cannot be shared.
    widened(&mut swept, 4_000);
    for (i, row) in swept.outcome.rows.iter_mut().enumerate().skip(6) {
        row.knobs.edit.as_mut().unwrap().exclude_tools = vec![format!("{i}-{}", "x".repeat(1_000))];
    }
    let html = page(&swept.view());
    assert!(html.len() < MOST_BYTES, "{}", html.len());
    let shown = data(&html)["rows"]["row"].as_array().unwrap().len();
    assert!(shown >= LEVELS[4].rows && shown < 4_006, "{shown}");
}

#[test]
fn each_verdict_says_what_to_paste() {
    let mut swept = Swept::new(&sessions(12, false), &configs());
    let view = swept.view();
    assert!(answer::paste(&view).contains("data-copy=\"paste-0-text\""));
    let two = [Snippet::api("{}"), Snippet { title: "Python <SDK>".to_owned(), ..Snippet::api("{}") }];
    let tabs = answer::paste(&PageView { snippets: &two, ..view });
    assert!(tabs.contains("role=\"tablist\"") && tabs.contains("Python &lt;SDK&gt;") && tabs.matches("role=\"tabpanel\"").count() == 2);
    swept.snippets.clear();
    let mut said = |verdict: Verdict, edit: Option<usize>| {
        swept.advice.as_mut().unwrap().decision.verdict = verdict;
        answer::paste(&PageView { edit, ..swept.view() })
    };
    let cold = said(Verdict::ClearWhenCold, Some(1));
    assert!(
        cold.contains("no object of the API") && cold.contains("trigger 50k, keep 1") && cold.contains("data-copy=\"best-edit-0-text\""),
        "{cold}"
    );
    // One that never fires saves nothing.
    assert!(said(Verdict::ClearWhenCold, Some(3)).contains("nothing saves here"));
    assert!(said(Verdict::DoNotClear, None).contains("leave <code>context_management</code> out"));
    assert!(said(Verdict::TooFewSessions, None).contains("too few sessions"));
}

#[test]
fn nothing_to_answer_is_a_page_too() {
    let mut swept = Swept::new(&sessions(1, false), &[Knobs::none()]);
    let html = page(&swept.view());
    assert!(html.contains("Too few sessions to say") || html.contains("Do not clear"), "{}", &html[..3000]);
    swept.advice = None;
    swept.timelines.clear();
    swept.findings.clear();
    swept.manifest = json!({});
    let html = page(&swept.view());
    assert!(html.contains("nothing to answer") && data(&html)["sessions"] == json!([]));
}

#[test]
fn edits_are_ordered_by_value_and_keep_the_bounds() {
    let swept = Swept::new(&sessions(12, false), &configs());
    let advice = swept.advice.as_ref().unwrap();
    // Row 3 never fires; rows 1 and 2 clear, and 2 keeps what is of no use longer.
    let edits = edits_by_value(&swept.outcome, advice);
    assert!(!edits.contains(&3) && !edits.is_empty() && edits[0] == 1, "{edits:?}");
    let mut barred = advice.clone();
    barred.ask.barred.insert(1);
    assert!(!edits_by_value(&swept.outcome, &barred).contains(&1));
    barred.ask.constraints.max_peak = Some(1);
    assert!(edits_by_value(&swept.outcome, &barred).is_empty());
}

#[test]
fn places_are_spread_evenly_with_both_ends() {
    assert_eq!(evenly(3, 20), [0, 1, 2]);
    assert_eq!(evenly(101, 5), [0, 25, 50, 75, 100]);
    assert_eq!((evenly(9, 1), evenly(9, 0), evenly(0, 4)), (vec![4], vec![], vec![]));
    let requests: Vec<usize> = (0..100).map(|i| if i == 7 { 0 } else { (i * 37) % 100 }).collect();
    let shown = sessions_shown(&requests);
    assert_eq!(shown.len(), MOST_SESSIONS);
    assert!(shown.iter().map(|&i| requests[i]).is_sorted() && !shown.contains(&7));
    assert_eq!((requests[shown[0]], requests[shown[MOST_SESSIONS - 1]]), (1, 99));
}

#[test]
fn a_thinned_line_keeps_its_height_and_its_events() {
    let rows: Vec<Row> = (0..1_000_u32)
        .map(|i| Row {
            request: i,
            prompt_tokens: u64::from(i % 100) * 10 + 5,
            newly_cleared: u64::from(i == 500),
            refetched: u64::from(i == 733),
            lost: u64::from(i == 999),
            ..Row::default()
        })
        .collect();
    assert_eq!(thinned(&rows[..50], 50).len(), 50);
    let kept = thinned(&rows, 40);
    assert!(kept.len() <= 40 && kept.windows(2).all(|w| w[0].0.request < w[1].0.request));
    let sizes = kept.iter().map(|(row, _)| row.prompt_tokens);
    assert_eq!((sizes.clone().min(), sizes.max()), (Some(5), Some(995)));
    assert_eq!(kept.iter().map(|(_, events)| u32::from(*events)).sum::<u32>(), 1 + 2 + 4);
    let flat = vec![Row { refetched: 1, ..Row::default() }; 100];
    assert!(thinned(&flat, 10).iter().all(|(_, events)| *events == 2));
}
