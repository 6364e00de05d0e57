//! Findings as a table, as Markdown and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::answer::wrap;
use crate::findings::{Finding, Severity};

/// The schema of findings as JSON.
pub const LINT_SCHEMA: &str = "cleartune.lint/1";

/// What was found of one row of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFindings {
    /// Why the row is looked at: `recommended`, `current`, `api_defaults`.
    pub role: &'static str,
    /// Its index.
    pub row: usize,
    /// What was found, the worst first.
    pub found: Vec<Finding>,
}

/// The findings that the answer tells: the errors and warnings of the recommended row and of what the team runs, or else how many the API's
/// defaults have; `None` where there is nothing to tell.
pub fn findings_of_answer(all: &[RowFindings]) -> Option<String> {
    let mut out = String::new();
    for of in all.iter().filter(|of| of.role != "api_defaults") {
        let bad: Vec<Finding> = of.found.iter().filter(|f| f.severity > Severity::Note).cloned().collect();
        if !bad.is_empty() {
            let what = if of.role == "current" { "What you run" } else { "What is recommended" };
            let _ = writeln!(out, "{what}: {}\n{}", findings_summary(&bad), findings_table(&bad).trim_end());
        }
    }
    if let Some(defaults) = all.iter().find(|of| of.role == "api_defaults") {
        let bad: Vec<&Finding> = defaults.found.iter().filter(|f| f.severity > Severity::Note).collect();
        if !bad.is_empty() {
            let mut names: Vec<&str> = bad.iter().map(|f| f.id.name()).collect();
            names.dedup();
            for line in wrap(&format!("The API's defaults have: {} (see sweep.json)", names.join(", ")), 80) {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// How many of each severity there are, in words.
pub fn findings_summary(found: &[Finding]) -> String {
    let of = |severity| found.iter().filter(|f| f.severity == severity).count() as u64;
    let parts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
        .into_iter()
        .filter(|(severity, _)| of(*severity) > 0)
        .map(|(severity, noun)| super::number::count(of(severity), noun))
        .collect();
    if parts.is_empty() { "nothing found".to_owned() } else { parts.join(", ") }
}

/// One finding after the other, within 80 columns: what is wrong in words, then what to do.
pub fn findings_table(found: &[Finding]) -> String {
    let mut out = String::new();
    for finding in found {
        let _ = writeln!(out, "{}: {}", name(finding.severity), finding.id.name());
        for line in wrap(&finding.evidence, 76) {
            let _ = writeln!(out, "    {line}");
        }
        for (i, line) in wrap(&finding.remedy, 73).into_iter().enumerate() {
            let _ = writeln!(out, "    {}{line}", if i == 0 { "-> " } else { "   " });
        }
    }
    out
}

/// The findings as a Markdown table.
pub fn findings_markdown(found: &[Finding]) -> String {
    let mut out = String::from("| severity | finding | evidence | what to do |\n|---|---|---|---|\n");
    let escape = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
    for f in found {
        let _ = writeln!(out, "| {} | `{}` | {} | {} |", name(f.severity), f.id.name(), escape(&f.evidence), escape(&f.remedy));
    }
    out
}

/// The findings as JSON values, numbers by name.
pub fn findings_json(found: &[Finding]) -> Value {
    found
        .iter()
        .map(|f| {
            let numbers: serde_json::Map<String, Value> = f.numbers.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
            json!({"id": f.id.name(), "severity": name(f.severity), "evidence": f.evidence, "numbers": numbers, "remedy": f.remedy})
        })
        .collect()
}
