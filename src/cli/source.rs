//! SOURCE: what a command works on, from arguments to transcripts. Opens files and tells on stderr what was read of them.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use cleartune::ingest::{FileReport, Ingest, RecordedClearing};
use cleartune::report::sizes_line;
use cleartune::trace::Document;
use cleartune::workload;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::generate::load_workload;
use super::logs::LogArgs;

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

/// One file that was used, for the manifest.
pub struct Input {
    /// As given; files of a folder: relative to it. Never an absolute path.
    name: String,
    sha256: String,
    /// Seed of a workload.
    seed: Option<u64>,
}

impl Input {
    /// The file as the manifest states it.
    pub fn stamp(&self) -> Value {
        match self.seed {
            Some(seed) => json!({"name": self.name, "sha256": self.sha256, "seed": seed}),
            None => json!({"name": self.name, "sha256": self.sha256}),
        }
    }
}

/// One file to read.
struct Entry {
    what: What,
    /// Index of the source that names or holds it.
    source: usize,
    /// What it is called in reports.
    name: String,
    /// Whether the user named it, as opposed to a directory that holds it.
    named: bool,
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
        let mut entries = entries(&self.sources)?;
        if let Some(pattern) = &filter.project {
            let all = list(&entries);
            entries.retain(|e| glob(pattern, &e.name));
            if entries.is_empty() {
                bail!("--project {pattern:?}: no file of the sources has such a path (there is {all}); * stands for any text");
            }
        }
        let mut ingest = Ingest::new(self.log.options());
        let mut inputs = Vec::new();
        // Of each file: its source, and the transcripts and reports that there are after it.
        let mut marks: Vec<(usize, usize, usize)> = Vec::new();
        for entry in &entries {
            inputs.extend(read(&mut ingest, entry)?);
            marks.push((entry.source, ingest.documents().len(), ingest.reports().len()));
        }
        let ingested = ingest.finish();
        // A single source that cannot be used has its say in the error.
        if !(ingested.documents.is_empty() && ingested.reports.len() == 1 && ingested.reports[0].error.is_some()) {
            eprint!("{}", super::read_report::table(&ingested.reports));
        }
        if let Some(line) = sizes_line(&ingested.reports) {
            eprintln!("{line}");
        }
        if ingested.documents.is_empty() {
            match ingested.reports.iter().find_map(|r| Some((&r.name, r.error.as_ref()?))) {
                Some((name, error)) if ingested.reports.len() == 1 => bail!("{name}: {error}"),
                _ => bail!(
                    "no transcript in {}; give a log, a trace file, a folder of these or a workload (see `cleartune --help`)",
                    list(&entries)
                ),
            }
        }
        let keep = self.passing(&ingested.documents, &ingested.starts, filter)?;
        let kept = |end: usize| keep[..end].iter().filter(|k| **k).count();
        let mut parts: Vec<Part> = Vec::new();
        let (mut documents_from, mut reports_from) = (0, 0);
        for (i, source) in self.sources.iter().enumerate() {
            let last = marks.iter().rev().find(|m| m.0 <= i);
            let (documents_to, reports_to) = last.map_or((0, 0), |m| (kept(m.1), m.2));
            let (documents, reports) = (documents_from..documents_to, reports_from..reports_to);
            (documents_from, reports_from) = (documents_to, reports_to);
            parts.push(Part { name: short_name(source), documents, reports });
        }
        let kept = keep.into_iter().zip(ingested.documents.into_iter().zip(ingested.recorded_clearing)).filter(|(keep, _)| *keep);
        let (documents, recorded_clearing) = kept.map(|(_, both)| both).unzip();
        Ok(Loaded {
            name: short_name(&self.sources[0]),
            lost_something: ingested.reports.iter().any(FileReport::lost_something),
            documents,
            recorded_clearing,
            parts,
            reports: ingested.reports,
            inputs,
        })
    }

    /// Which transcripts pass: those of the wanted agents (of traces that say whose they are) that start late enough.
    fn passing(&self, documents: &[Document], starts: &[Option<i64>], filter: &Filter) -> anyhow::Result<Vec<bool>> {
        let sub = |doc: &Document| doc.source.as_ref().and_then(|s| s.get("agent")).is_some_and(|agent| agent == "sub");
        let agent: Vec<bool> = documents.iter().map(|doc| self.log.wants(sub(doc))).collect();
        if agent.iter().all(|a| !a) {
            bail!("--agent leaves no transcript of {}", documents.len());
        }
        let Some((written, since)) = &filter.since else { return Ok(agent) };
        let undated = agent.iter().zip(starts).filter(|(agent, start)| **agent && start.is_none()).count();
        let keep: Vec<bool> = agent.iter().zip(starts).map(|(agent, start)| *agent && start.is_some_and(|s| s >= *since)).collect();
        let left_out = if undated > 0 {
            format!("{undated} of {} transcripts have no date (workloads and trace files have none) and are left out", documents.len())
        } else {
            String::new()
        };
        if keep.iter().all(|k| !k) {
            let why = if undated > 0 { format!("; {left_out}") } else { String::new() };
            bail!("--since {written}: no transcript starts then or later{why}");
        }
        if undated > 0 {
            eprintln!("--since {written}: {left_out}");
        }
        Ok(keep)
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

/// Where its bytes come from.
enum What {
    Stdin,
    /// A workload that the binary brings along.
    Shipped,
    File(PathBuf),
    /// The files of a folder that hold one event each, in order.
    Events(Vec<PathBuf>),
}

/// The files of the sources: directories are searched, in an order that no platform and no moving of the folder changes.
fn entries(sources: &[String]) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        if source == "-" {
            entries.push(Entry { source: at, what: What::Stdin, name: "-".to_owned(), named: true });
            continue;
        }
        if workload::shipped_text(source).is_ok() {
            entries.push(Entry { source: at, what: What::Shipped, name: source.clone(), named: true });
            continue;
        }
        let path = Path::new(source);
        let meta =
            path.metadata().with_context(|| format!("{source}: cannot be read; name a file, a directory or - for standard input"))?;
        if meta.is_dir() {
            let from = entries.len();
            search(path, path, at, &mut entries);
            // The largest first: of two files that share the start of a session the longer one is read whole, and the other
            // adds only what it has besides. Their names are random, so an order by name would be left to chance.
            entries[from..].sort_by_cached_key(|e| (std::cmp::Reverse(size(e)), e.name.clone()));
        } else {
            entries.push(Entry { source: at, what: What::File(path.to_owned()), name: file_name(source), named: true });
        }
    }
    Ok(entries)
}

fn size(entry: &Entry) -> u64 {
    match &entry.what {
        What::File(path) => path.metadata().map_or(0, |found| found.len()),
        What::Events(paths) => paths.iter().filter_map(|path| path.metadata().ok()).map(|found| found.len()).sum(),
        What::Stdin | What::Shipped => 0,
    }
}

/// Every file below `dir`. Links are not followed, so that no loop can be walked; a directory that cannot be listed is left to the report.
fn search(root: &Path, dir: &Path, source: usize, entries: &mut Vec<Entry>) {
    let Ok(listing) = std::fs::read_dir(dir) else {
        let name = dir.strip_prefix(root).unwrap_or(dir).display().to_string();
        entries.push(Entry { source, what: What::File(dir.to_owned()), name, named: false });
        return;
    };
    let mut found: Vec<_> = listing.flatten().collect();
    found.sort_by_key(std::fs::DirEntry::file_name);
    let events = super::events::events(&found);
    if !events.is_empty() {
        found.retain(|item| !events.contains(&item.path()));
        let name = printable(&dir.strip_prefix(root).unwrap_or(dir).display().to_string().replace('\\', "/"));
        let name = format!("{name}{}({} events)", if name.is_empty() { "" } else { " " }, events.len());
        entries.push(Entry { source, what: What::Events(events), name, named: false });
    }
    for item in found {
        let path = item.path();
        match item.file_type() {
            Ok(kind) if kind.is_dir() => search(root, &path, source, entries),
            Ok(kind) if kind.is_symlink() && path.is_dir() => {}
            // A pipe would block for ever and a device may never end.
            Ok(_) if path.metadata().is_ok_and(|found| !found.is_file()) => {}
            _ => {
                let name = printable(&path.strip_prefix(root).unwrap_or(&path).display().to_string().replace('\\', "/"));
                entries.push(Entry { source, what: What::File(path), name, named: false });
            }
        }
    }
}

/// A named file as reports and the manifest call it: as given, but of an absolute path only the name, so that results do not
/// depend on the folder they were made in.
fn file_name(source: &str) -> String {
    let path = Path::new(source);
    match path.file_name() {
        Some(name) if path.is_absolute() => printable(&name.to_string_lossy()),
        _ => printable(source),
    }
}

/// A name without control characters, which would reach the terminal.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Reads one file; what the manifest says of it if it was used.
fn read(ingest: &mut Ingest, entry: &Entry) -> anyhow::Result<Option<Input>> {
    let log = |hash: Option<String>| hash.map(|sha256| Input { name: entry.name.clone(), sha256, seed: None });
    match &entry.what {
        What::Stdin => {
            if io::stdin().is_terminal() {
                eprintln!("reading standard input (end with Ctrl-D)");
            }
            Ok(log(hashed(ingest, &entry.name, io::stdin().lock())))
        }
        What::Shipped => generate(ingest, &entry.name, &entry.name).map(Some),
        What::File(path) if is_workload(path) => {
            let text = path.to_string_lossy();
            // Of a folder only what is a workload counts; a named file has to be one.
            match generate(ingest, &text, &entry.name) {
                Ok(input) => Ok(Some(input)),
                Err(error) if entry.named => Err(error),
                Err(error) => {
                    ingest.unreadable(&entry.name, &format!("{error:#}"));
                    Ok(None)
                }
            }
        }
        What::Events(paths) => Ok(log(hashed(ingest, &entry.name, super::events::Joined::new(paths)))),
        What::File(path) => Ok(match std::fs::File::open(path) {
            Ok(file) => log(hashed(ingest, &entry.name, file)),
            Err(error) => {
                ingest.unreadable(&entry.name, &error.to_string());
                None
            }
        }),
    }
}

/// Whether a file is TOML rather than the JSON of a log, whatever its name is: no JSON value starts a TOML document's line.
fn is_workload(path: &Path) -> bool {
    let mut head = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(1 << 16).read_to_end(&mut head);
    }
    let Ok(text) = std::str::from_utf8(head.trim_ascii_start()) else { return false };
    let is_toml = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml")) && !text.starts_with(['{', '"']);
    is_toml || text.parse::<toml::Table>().is_ok_and(|table| ["name", "seed", "transcripts"].iter().all(|key| table.contains_key(*key)))
}

/// Generates the transcripts of a workload.
fn generate(ingest: &mut Ingest, workload: &str, name: &str) -> anyhow::Result<Input> {
    let spec = load_workload(workload)?;
    let text = match workload::shipped_text(workload) {
        Ok(text) => text.as_bytes().to_vec(),
        Err(_) => std::fs::read(workload)?,
    };
    (0..spec.transcripts).for_each(|i| ingest.add_document(spec.generate(i)));
    Ok(Input { name: name.to_owned(), sha256: hex(&Sha256::digest(text)), seed: Some(spec.seed) })
}

/// Reads and hashes at once.
fn hashed(ingest: &mut Ingest, name: &str, source: impl Read) -> Option<String> {
    let mut tee = Tee { source, sha: Sha256::new() };
    let report = ingest.read(name, &mut tee);
    report.format?;
    // Of a file that broke off in the decompressor the rest is hashed as well.
    let _ = io::copy(&mut tee, &mut io::sink());
    Some(hex(&tee.sha.finalize()))
}

/// Bytes as lower-case hexadecimal digits.
/// Hash of a file, in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn file_sha256(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    Ok(hex(&Sha256::digest(bytes)))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut hex, b| {
        let _ = write!(hex, "{b:02x}");
        hex
    })
}

struct Tee<R> {
    source: R,
    sha: Sha256,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(out)?;
        self.sha.update(&out[..n]);
        Ok(n)
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
