//! Sessions of providers that cache prefixes by themselves: recorded against replayed dollars, with the causes, as docs/bill.md has them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use cleartune::ingest::{Ingest, Ingested, Options};
use cleartune::policy::Config;
use cleartune::price::{Catalogue, Overrides, resolve_trace};
use cleartune::report::{BillCheck, bill};
use cleartune::trace::{Document, Trace};

const HEAD: &str = "| format | log | model | requests | recorded USD | replayed USD | differs | causes, replayed less recorded |\n|---|---|---|---|---|---|---|---|\n";
/// Samples with usage of which no request writes a cache, by folder.
const FORMATS: [&str; 5] = ["codex", "gemini-cli", "mini-swe-agent", "openhands", "pi-agent"];

fn check(doc: &Document) -> BillCheck {
    let config: Config = cleartune::policy::from_json("{}").unwrap();
    let trace = Trace::from_document(doc).unwrap();
    let settings = resolve_trace(&config, &Overrides::default(), &trace, Catalogue::shipped()).unwrap().0;
    let check = bill(doc, &settings).unwrap();
    let causes: f64 = check.differences.iter().map(|d| d.usd).sum();
    assert!((causes - (check.replayed.cost_usd - check.recorded.cost_usd)).abs() < 1e-8, "{check:?}");
    check
}

/// The transcripts of one log together.
fn of_log(all: &Ingested) -> Option<BillCheck> {
    let mut checks = all.documents.iter().map(check);
    let mut sum = checks.next()?;
    checks.for_each(|one| sum.merge(&one));
    Some(sum)
}

fn usd(n: f64) -> String {
    if n.abs() < 0.01 { format!("{n:.4}") } else { format!("{n:.3}") }.replace('-', "−")
}

fn row(name: &str, all: &Ingested, check: &BillCheck) -> String {
    let format = all.reports[0].format.unwrap_or("?");
    let model = all.documents.iter().find_map(|d| d.model.as_deref()).unwrap_or("?");
    let causes: Vec<String> = check
        .differences
        .iter()
        .filter(|d| d.usd.abs() >= check.recorded.cost_usd / 1000.0)
        .map(|d| format!("`{}` {} ({})", d.why.name(), usd(d.usd), d.requests))
        .collect();
    let (recorded, replayed) = (usd(check.recorded.cost_usd), usd(check.replayed.cost_usd));
    let differs = format!("{:+.1} %", 100.0 * check.relative().unwrap_or(0.0)).replace('-', "−");
    let requests = check.requests_with_usage;
    format!("| `{format}` | `{name}` | {model} | {requests} | {recorded} | {replayed} | {differs} | {} |\n", causes.join(", "))
}

#[test]
fn the_table_of_prefix_caches_is_what_comes_out() {
    let Some(dir) = super::shared::folder("real") else { return };
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    let mut by_format: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for folder in FORMATS {
        for file in fs::read_dir(dir.join(folder)).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            let mut ingest = Ingest::new(Options::default());
            ingest.read(&name, fs::File::open(file.path()).unwrap());
            let all = ingest.finish();
            let writes = all.reports[0].usage.cache_write_5m + all.reports[0].usage.cache_write_1h;
            let Some(check) = of_log(&all).filter(|c| c.requests_with_usage > 0 && c.recorded.cost_usd > 0.0 && writes == 0) else {
                continue;
            };
            let (recorded, replayed) = by_format.entry(all.reports[0].format.unwrap()).or_default();
            *recorded += check.recorded.cost_usd;
            *replayed += check.replayed.cost_usd;
            rows.insert(name.clone(), row(&name, &all, &check));
        }
    }
    let mut table = HEAD.to_owned();
    for row in rows.values() {
        table.push_str(row);
    }
    for (format, (recorded, replayed)) in &by_format {
        let differs = format!("{:+.1} %", 100.0 * (replayed / recorded - 1.0)).replace('-', "−");
        writeln!(table, "| `{format}` | all | | | {} | {} | {differs} | |", usd(*recorded), usd(*replayed)).unwrap();
    }
    let doc = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/bill.md")).unwrap();
    assert!(doc.contains(&table), "docs/bill.md should hold:\n{table}");
}
