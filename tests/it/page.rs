//! `report.html` of real sweeps: what the browser tests need of it, without a browser.

use std::fs;

use serde_json::Value;

use crate::cli::{Folder, text};

/// Sweeps, and gives the page with the data that its script reads.
fn page(folder: &Folder, args: &[&str]) -> (String, Value) {
    let swept = folder.run(&[&["sweep", "--out", "out"], args].concat());
    assert!(swept.status.success(), "{}", text(&swept.stderr));
    let page = fs::read_to_string(folder.0.join("out/report.html")).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    let data = serde_json::from_str(&page[start..end]).unwrap();
    (page, data)
}

#[test]
fn the_page_has_the_rows_of_the_csv() {
    let folder = Folder::new("page-rows");
    let (html, data) =
        page(&folder, &["web_research_100", "--trigger", "60k", "--keep", "4", "--clear-at-least", "0,40k", "--no-sensitivity"]);
    let csv = fs::read_to_string(folder.0.join("out/sweep.csv")).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let (cost, refetches) = (at("cost_usd"), at("refetches"));
    let mut rows = 0;
    for (i, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let of_page = data["rows"]["cost_usd"][i].as_f64().unwrap();
        let of_csv: f64 = cells[cost].parse().unwrap();
        assert!((of_page - of_csv).abs() <= 1e-5 * of_csv, "{line}");
        assert_eq!(data["rows"]["refetches"][i].as_u64().map_or_else(String::new, |n| n.to_string()), cells[refetches], "{line}");
        rows += 1;
    }
    assert_eq!(data["rows"]["row"].as_array().unwrap().len(), rows);
    assert_eq!(data["rows_in_all"], rows);
    // What is pasted is what the answer of sweep.json holds.
    let answer: Value = serde_json::from_slice(&fs::read(folder.0.join("out/sweep.json")).unwrap()).unwrap();
    let recommended = answer["answer"]["row"].as_u64().unwrap();
    assert_eq!(data["roles"]["recommended"], recommended);
    assert!(html.contains("&quot;value&quot;: 40000") && html.contains("data-copy=\"paste-0-text\""));
    // Every transcript, under what the answer is about.
    assert_eq!(data["sessions"].as_array().unwrap().len(), 40);
    let shown: Vec<&Value> = data["sessions"][0]["lines"].as_array().unwrap().iter().map(|line| &line["row"]).collect();
    assert!(
        shown.contains(&&data["roles"]["none"])
            && shown.contains(&&data["roles"]["api_defaults"])
            && shown.contains(&&data["roles"]["recommended"])
    );
}

#[test]
fn one_session_and_all_policies_have_a_page() {
    let folder = Folder::new("page-one");
    let root = env!("CARGO_MANIFEST_DIR");
    let log = format!("{root}/tests/fixtures/claude_code/small.jsonl");
    let (html, data) = page(&folder, &[&log, "--policy", "all", "--trigger", "2k", "--keep", "1", "--clear-at-least", "0"]);
    assert!(html.contains("It takes 10 to set some aside"));
    let policies: Vec<&str> = data["rows"]["policies"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    for policy in ["none", "clear_tool_uses_20250919", "oracle", "bound", "litellm"] {
        assert!(policies.contains(&policy), "{policy} of {policies:?}");
    }
    // A bound is a cost and nothing else.
    let bound = policies.iter().position(|p| *p == "bound").unwrap();
    let row = data["rows"]["policy"].as_array().unwrap().iter().position(|p| *p == bound).unwrap();
    assert!(data["rows"]["requests"][row].is_null() && data["rows"]["cost_usd"][row].is_number());
    assert_eq!(data["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn names_of_a_log_cannot_break_out() {
    let folder = Folder::new("page-hostile");
    let hostile = fs::read_to_string(format!("{}/tests/page/hostile.trace.jsonl", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert!(hostile.contains("</script><img"));
    let log = folder.write("hostile.trace.jsonl", &hostile);
    let (html, data) = page(&folder, &[&log, "--trigger", "2k", "--keep", "1", "--clear-at-least", "0,1k"]);
    assert!(!html.contains("<img") && !html.contains("<b>"));
    assert_eq!(html.matches("</script>").count(), 4);
    assert!(data["sessions"][0]["name"].as_str().unwrap().starts_with("</script><img"));
}
