//! SOURCE: what a command works on, from arguments to transcripts. Opens files and tells on stderr what was read of them.

use std::ops::Range;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use cleartune::ingest::{FileReport, HeldOut, Ingested, RecordedClearing};
use cleartune::report::SizesLine;
use cleartune::trace::Document;

use super::entries::{Entry, entries};
use super::logs::LogArgs;
use super::progress;
use super::read_report::ReadReport;
use super::reading::Reading;
pub use super::reading::{Input, file_sha256, hex};

/// What to work on
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// A workload (file or shipped name), a trace file, an agent's log, a folder of these, or - for standard input
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<String>,

    #[command(flatten)]
    pub log: LogArgs,
}

/// What the sources of one command hold.
pub struct Loaded {
    /// A short name for all of it: that of the workload, file or folder named first.
    pub name: String,
    /// Transcripts, in the order of the sources.
    pub documents: Vec<Document>,
    /// Of each transcript that was recorded with the provider's clearing on: what was asked and done.
    pub recorded_clearing: Vec<Option<RecordedClearing>>,
    /// What each source gave, in their order.
    pub parts: Vec<Part>,
    /// The report on each log, in the order of the sources.
    pub reports: Vec<FileReport>,
    /// Every file that was used.
    pub inputs: Vec<Input>,
    /// Whether a fault of an input left something out (`--strict` makes that exit code 1).
    pub lost_something: bool,
}

/// What one source gave.
pub struct Part {
    /// Its short name.
    pub name: String,
    /// Its transcripts among [`Loaded::documents`].
    pub documents: Range<usize>,
    /// Its reports among [`Loaded::reports`].
    pub reports: Range<usize>,
}

/// Which files and transcripts of the sources to take.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Pattern of the file's path relative to its source: `*` is any text, `?` any one character.
    pub project: Option<String>,
    /// Earliest start, milliseconds since 1970, as the user wrote it and as a number.
    pub since: Option<(String, i64)>,
}

impl SourceArgs {
    /// Reads every source and prints the reports to stderr.
    ///
    /// # Errors
    /// A source does not exist, or no transcript is in any of them. A file that cannot be read or is no log is reported
    /// and passed over.
    pub fn load(&self) -> anyhow::Result<Loaded> {
        self.load_where(&Filter::default())
    }

    /// As [`SourceArgs::load`], of what passes the filter.
    ///
    /// # Errors
    /// Those of [`SourceArgs::load`]; nothing passes the filter.
    pub fn load_where(&self, filter: &Filter) -> anyhow::Result<Loaded> {
        let parts = self.sources.iter().map(|source| Part { name: short_name(source), documents: 0..0, reports: 0..0 }).collect();
        let mut loaded = Loaded {
            name: short_name(&self.sources[0]),
            documents: Vec::new(),
            recorded_clearing: Vec::new(),
            parts,
            reports: Vec::new(),
            inputs: Vec::new(),
            lost_something: false,
        };
        let read = self.each(filter, true, &mut |passed| {
            let Passed { source, documents, reports, input } = passed;
            let (documents, recorded): (Vec<_>, Vec<_>) = documents.into_iter().unzip();
            loaded.documents.extend(documents);
            loaded.recorded_clearing.extend(recorded);
            loaded.reports.extend(reports.into_iter().map(|mut report| {
                // Said already, and as large as the log is long.
                report.sizes.held_out = HeldOut::default();
                report
            }));
            loaded.inputs.extend(input);
            for part in &mut loaded.parts[source..] {
                (part.documents.end, part.reports.end) = (loaded.documents.len(), loaded.reports.len());
            }
            for part in &mut loaded.parts[source + 1..] {
                (part.documents.start, part.reports.start) = (loaded.documents.len(), loaded.reports.len());
            }
            Ok(())
        })?;
        loaded.lost_something = read.lost_something;
        Ok(loaded)
    }

    /// Reads every source, gives what passes the filter as it comes and prints the reports to stderr. Nothing is kept.
    ///
    /// # Errors
    /// Those of [`SourceArgs::load_where`] and of `take`.
    pub fn each(&self, filter: &Filter, hashes: bool, take: &mut dyn FnMut(Passed) -> anyhow::Result<()>) -> anyhow::Result<Read> {
        let mut entries = entries(&self.sources)?;
        if let Some(pattern) = &filter.project {
            let all = list(&entries);
            entries.retain(|e| glob(pattern, &e.name));
            if entries.is_empty() {
                bail!("--project {pattern:?}: no file of the sources has such a path (there is {all}); * stands for any text");
            }
        }
        let mut gate = Gate { agent: &self.log, since: filter.since.as_ref(), all: 0, of_agent: 0, undated: 0, passed: 0 };
        let mut reports = ReadReport::default();
        let mut sizes = SizesLine::default();
        let mut read = Read::default();
        let bar = progress::bar(entries.len() as u64, "files");
        let reading = Reading { options: self.log.options(), hashes };
        let done = reading.each(&entries, &mut |given| {
            let Ingested { documents, starts, recorded_clearing, reports: more } = given.ingested;
            for report in &more {
                reports.add(report);
                sizes.add(report);
                read.lost_something |= report.lost_something();
            }
            bar.inc(u64::from(given.last));
            let all = documents.into_iter().zip(recorded_clearing).zip(starts);
            let documents = all.filter(|((document, _), start)| gate.passes(document, *start)).map(|(both, _)| both).collect();
            take(Passed { source: given.source, documents, reports: more, input: given.input })
        });
        bar.finish_and_clear();
        done?;
        // A single source that cannot be used has its say in the error.
        let failure = reports.first_failure().filter(|_| gate.all == 0 && reports.files() == 1);
        if let Some(failure) = failure {
            bail!("{failure}");
        }
        eprint!("{}", reports.table());
        if let Some(line) = sizes.line() {
            eprintln!("{line}");
        }
        if gate.all == 0 {
            bail!(
                "no transcript in {}; give a log, a trace file, a folder of these or a workload (see `cleartune --help`)",
                list(&entries)
            );
        }
        gate.check()?;
        Ok(read)
    }
}

/// What one file, or one transcript of a workload, gave and the filter passed.
pub struct Passed {
    /// Index of the source.
    source: usize,
    /// Transcripts, with what was asked and done where they were recorded with the provider's clearing on.
    pub documents: Vec<(Document, Option<RecordedClearing>)>,
    reports: Vec<FileReport>,
    input: Option<Input>,
}

/// What is left to say of all sources.
#[derive(Default)]
pub struct Read {
    /// Whether a fault of an input left something out.
    pub lost_something: bool,
}

/// Which transcripts pass: those of the wanted agents (of traces that say whose they are) that start late enough.
struct Gate<'a> {
    agent: &'a LogArgs,
    since: Option<&'a (String, i64)>,
    all: usize,
    of_agent: usize,
    /// Those of them without a date.
    undated: usize,
    passed: usize,
}

impl Gate<'_> {
    fn passes(&mut self, document: &Document, start: Option<i64>) -> bool {
        let sub = document.source.as_ref().and_then(|s| s.get("agent")).is_some_and(|agent| agent == "sub");
        let agent = self.agent.wants(sub);
        let passes = agent && self.since.is_none_or(|(_, since)| start.is_some_and(|s| s >= *since));
        self.all += 1;
        self.of_agent += usize::from(agent);
        self.undated += usize::from(agent && start.is_none());
        self.passed += usize::from(passes);
        passes
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.of_agent == 0 {
            bail!("--agent leaves no transcript of {}", self.all);
        }
        let Some((written, _)) = self.since else { return Ok(()) };
        let left_out = if self.undated > 0 {
            format!("{} of {} transcripts have no date (workloads and trace files have none) and are left out", self.undated, self.all)
        } else {
            String::new()
        };
        if self.passed == 0 {
            let why = if self.undated > 0 { format!("; {left_out}") } else { String::new() };
            bail!("--since {written}: no transcript starts then or later{why}");
        }
        if self.undated > 0 {
            eprintln!("--since {written}: {left_out}");
        }
        Ok(())
    }
}

/// Whether `text` has the form of `pattern`: `*` is any text, also none and across `/`; `?` is any one character.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // reach[j]: the pattern so far has the form of the first j characters.
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    for p in pattern {
        let before = reach.clone();
        for j in 0..reach.len() {
            reach[j] = match p {
                '*' => before[j] || (j > 0 && reach[j - 1]),
                _ => j > 0 && before[j - 1] && (p == '?' || p == text[j - 1]),
            };
        }
    }
    reach[text.len()]
}

/// `claude-code` of `logs/claude-code/`, `session` of `session.trace.jsonl.gz`.
fn short_name(source: &str) -> String {
    if source == "-" {
        return "stdin".to_owned();
    }
    // `..` and `.` have no name until they are resolved.
    let path = Path::new(source);
    let path = if path.file_name().is_none() { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut name = name.as_str();
    if !path.is_dir() {
        for ending in [".gz", ".zst", ".jsonl", ".json", ".toml", ".trace", ".traj"] {
            name = name.strip_suffix(ending).unwrap_or(name);
        }
    }
    let name = name.trim_start_matches('.');
    if name.is_empty() { "sweep".to_owned() } else { name.to_owned() }
}

fn list(entries: &[Entry]) -> String {
    match entries {
        [] => "the sources (no file)".to_owned(),
        [one] => one.name.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.name, rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_the_whole_path() {
        for (pattern, text, fits) in [
            ("a.jsonl", "a.jsonl", true),
            ("a.jsonl", "ba.jsonl", false),
            ("*shop*", "-home-me-shop/1.jsonl", true),
            ("*shop*", "-home-me-web/1.jsonl", false),
            ("*/?.jsonl", "x/y/1.jsonl", true),
            ("*/?.jsonl", "x/y/10.jsonl", false),
            ("*", "", true),
            ("?", "", false),
            ("a**b", "ab", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
