//! What was read of each file and what was skipped, for standard error, within 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cleartune::ingest::FileReport;

/// More files than this are summed up by format, and only those with trouble are named.
const LINES: usize = 24;
/// How many skipped records are listed a file.
const SKIPS: usize = 5;
/// Width of the first column.
const NAME: usize = 32;

/// Most lines on trouble.
const TROUBLES: usize = 4 * LINES;

/// The reports so far, in little room however many there are.
#[derive(Default)]
pub struct ReadReport {
    /// Files that were read, the first of them with their lines and all there is to know of them.
    read: usize,
    lines: Vec<(String, Counts)>,
    known: Vec<String>,
    formats: BTreeMap<&'static str, (usize, Counts)>,
    /// What was lost, and how many lines on it there would be.
    lost: Vec<String>,
    losses: usize,
    /// Files that were not read.
    failed: Vec<String>,
    failures: usize,
}

impl ReadReport {
    /// Adds the report on one file.
    pub fn add(&mut self, report: &FileReport) {
        if let Some(error) = &report.error {
            self.failures += 1;
            if self.failed.len() < TROUBLES {
                self.failed.push(format!("{}: {error}", report.name));
            }
            return;
        }
        self.read += 1;
        let counts = Counts::of(report);
        if self.read <= LINES {
            self.lines.push((tail(&report.name), counts));
            self.known.extend(trouble(report, true));
        }
        let (files, sum) = self.formats.entry(report.format.unwrap_or("?")).or_default();
        *files += 1;
        sum.add(&counts);
        let lost = trouble(report, false);
        self.losses += lost.len();
        self.lost.extend(lost.into_iter().take(TROUBLES - self.lost.len()));
    }

    /// Files there are reports on.
    pub fn files(&self) -> usize {
        self.read + self.failures
    }

    /// The first file that was not read, and why.
    pub fn first_failure(&self) -> Option<&str> {
        self.failed.first().map(String::as_str)
    }

    /// The reports as a table: a line a file, or a line a format where there are many files, and below it whatever was skipped.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let few = self.read <= LINES;
        if self.read > 0 {
            let by_format = || self.formats.iter().map(|(format, (files, counts))| (format!("{files} files of {format}"), *counts));
            let lines: Vec<(String, Counts)> = if few { self.lines.clone() } else { by_format().collect() };
            let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(4);
            let head = ["requests", "usage", "uses", "needs", "skipped"];
            let _ = writeln!(out, "{:width$}  {:>8} {:>7} {:>7} {:>7} {:>7}", "file", head[0], head[1], head[2], head[3], head[4]);
            for (name, c) in lines {
                let cells = [c.requests, c.usage, c.uses, c.needs, c.skipped];
                let _ = writeln!(out, "{name:width$}  {:>8} {:>7} {:>7} {:>7} {:>7}", cells[0], cells[1], cells[2], cells[3], cells[4]);
            }
        }
        let (troubles, all) = if few { (&self.known, self.known.len()) } else { (&self.lost, self.losses) };
        for text in troubles.iter().chain(&self.failed).take(TROUBLES) {
            let _ = writeln!(out, "{text}");
        }
        let more = (all + self.failures).saturating_sub(TROUBLES);
        if more > 0 {
            let _ = writeln!(out, "and {more} more files or records with trouble");
        }
        out
    }
}

/// What a reader has to know of one file besides its line; of many files only what was lost.
fn trouble(report: &FileReport, all: bool) -> Vec<String> {
    let name = tail(&report.name);
    let mut out: Vec<String> =
        report.skipped.iter().take(SKIPS).map(|skip| format!("{name}: line {} skipped: {}", skip.line, skip.why)).collect();
    if report.skipped_records > SKIPS as u64 {
        out.push(format!("{name}: and {} more records skipped", report.skipped_records - SKIPS as u64));
    }
    if all {
        let counts = [(report.repaired, "records repaired"), (report.duplicates, "duplicates merged")];
        out.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{name}: {n} {what}")));
        out.extend(report.notes.iter().map(|note| format!("{name}: {note}")));
    }
    out
}

#[derive(Clone, Copy, Default)]
struct Counts {
    requests: u64,
    usage: u64,
    uses: u64,
    needs: u64,
    skipped: u64,
}

impl Counts {
    fn of(r: &FileReport) -> Self {
        Self { requests: r.requests, usage: r.requests_with_usage, uses: r.tool_uses, needs: r.needs, skipped: r.skipped_records }
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.usage += other.usage;
        self.uses += other.uses;
        self.needs += other.needs;
        self.skipped += other.skipped;
    }
}

/// The end of a long name, which tells files apart better than its start.
fn tail(name: &str) -> String {
    let n = name.chars().count();
    if n <= NAME { name.to_owned() } else { format!("…{}", name.chars().skip(n - NAME + 1).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(reports: &[FileReport]) -> String {
        let mut all = ReadReport::default();
        for report in reports {
            all.add(report);
        }
        assert_eq!(all.files(), reports.len());
        all.table()
    }

    fn report(i: u64, skipped: u64) -> FileReport {
        FileReport {
            name: format!("a/rather/long/folder/of/sessions/{i}.jsonl"),
            format: Some("claude_code"),
            requests: 10 + i,
            skipped_records: skipped,
            skipped: (0..skipped.min(9)).map(|line| cleartune::ingest::Skipped { line, why: "is cut".to_owned() }).collect(),
            ..FileReport::default()
        }
    }

    #[test]
    fn few_files_have_a_line_each() {
        let text = table(&[report(1, 0), report(2, 7), FileReport::failed("x.bin", "looks like bytes")]);
        assert!(text.contains("1.jsonl") && text.contains("2.jsonl") && text.contains("x.bin: looks like bytes"), "{text}");
        assert_eq!(text.matches("skipped: is cut").count(), 5);
        assert!(text.contains("and 2 more records skipped"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn many_files_are_summed_up() {
        let mut reports: Vec<FileReport> = (0..500).map(|i| report(i, u64::from(i == 77))).collect();
        let text = table(&reports);
        assert!(text.contains("500 files of claude_code") && text.contains("line 0 skipped"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        reports.extend((0..500).map(|i| FileReport::failed(&format!("{i}.bin"), "looks like bytes")));
        let text = table(&reports);
        assert!(text.lines().count() < 110 && text.contains("more files or records with trouble"), "{text}");
    }
}
