//! SOURCE: what a command works on, from arguments to transcripts. Opens files and tells on stderr what was read of them.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cleartune::ingest::{FileReport, Ingest, Options};
use cleartune::trace::Document;
use sha2::{Digest, Sha256};

/// What the sources of one command hold.
pub struct Sources {
    /// Transcripts, in the order of the sources.
    pub documents: Vec<Document>,
    /// One report a log or trace file.
    pub reports: Vec<FileReport>,
    /// Every file that was used: its name as given (files of a directory: relative to it), and the SHA-256 of its bytes.
    pub inputs: Vec<(String, String)>,
}

impl Sources {
    /// Whether a fault of an input left something out (`--strict` makes that exit code 1).
    pub fn lost_something(&self) -> bool {
        self.reports.iter().any(FileReport::lost_something)
    }
}

/// One file to read.
struct Entry {
    /// Where it is; `None`: standard input.
    path: Option<PathBuf>,
    /// What it is called in reports.
    name: String,
    /// Whether the user named it, as opposed to a directory that holds it.
    named: bool,
}

/// Reads every source and prints the reports to stderr.
///
/// # Errors
/// A source does not exist, or no transcript is in any of them. A file that cannot be read or is no log is reported and passed over.
pub fn resolve(sources: &[String], options: Options) -> anyhow::Result<Sources> {
    let entries = entries(sources)?;
    let mut ingest = Ingest::new(options);
    let mut inputs = Vec::new();
    for entry in &entries {
        if let Some(hash) = read(&mut ingest, entry)? {
            inputs.push((entry.name.clone(), hash));
        }
    }
    let ingested = ingest.finish();
    eprint!("{}", table(&ingested.reports));
    let sources = Sources { documents: ingested.documents, reports: ingested.reports, inputs };
    if sources.documents.is_empty() {
        match sources.reports.iter().find_map(|r| Some((&r.name, r.error.as_ref()?))) {
            Some((name, error)) if sources.reports.len() == 1 => bail!("{name}: {error}"),
            _ => bail!("no transcript in {}; give a log, a trace file, a directory of these or a workload (see `cleartune --help`)", list(&entries)),
        }
    }
    Ok(sources)
}

fn list(entries: &[Entry]) -> String {
    match entries {
        [] => "the sources (no file)".to_owned(),
        [one] => one.name.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.name, rest.len()),
    }
}

/// The files of the sources: directories are searched, names sorted by bytes so that every platform has one order.
fn entries(sources: &[String]) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for source in sources {
        if source == "-" {
            entries.push(Entry { path: None, name: "-".to_owned(), named: true });
            continue;
        }
        let path = Path::new(source);
        let meta = path.metadata().with_context(|| format!("{source}: cannot be read; name a file, a directory or - for standard input"))?;
        if meta.is_dir() {
            search(path, path, &mut entries);
        } else {
            entries.push(Entry { path: Some(path.to_owned()), name: source.clone(), named: true });
        }
    }
    Ok(entries)
}

/// Every file below `dir`. Links are not followed, so that no loop can be walked; a directory that cannot be listed is left to the report.
fn search(root: &Path, dir: &Path, entries: &mut Vec<Entry>) {
    let Ok(listing) = std::fs::read_dir(dir) else {
        let name = dir.strip_prefix(root).unwrap_or(dir).display().to_string();
        entries.push(Entry { path: Some(dir.to_owned()), name, named: false });
        return;
    };
    let mut found: Vec<_> = listing.flatten().collect();
    found.sort_by_key(std::fs::DirEntry::file_name);
    for item in found {
        let path = item.path();
        match item.file_type() {
            Ok(kind) if kind.is_dir() => search(root, &path, entries),
            Ok(kind) if kind.is_symlink() && path.is_dir() => {}
            _ => {
                let name = path.strip_prefix(root).unwrap_or(&path).display().to_string().replace('\\', "/");
                entries.push(Entry { path: Some(path), name, named: false });
            }
        }
    }
}

/// Reads one file; the hash of its bytes if it was used.
fn read(ingest: &mut Ingest, entry: &Entry) -> anyhow::Result<Option<String>> {
    let Some(path) = &entry.path else {
        if io::stdin().is_terminal() {
            eprintln!("reading standard input (end with Ctrl-D)");
        }
        return Ok(hashed(ingest, &entry.name, io::stdin().lock()));
    };
    if path.extension().is_some_and(|e| e == "toml") {
        // ---- workloads: the generator's arm goes here (`crate::workload`: parse, generate, push the documents) ----
        if entry.named {
            bail!("{}: workloads are not wired to this command yet", entry.name);
        }
        return Ok(None);
    }
    Ok(match std::fs::File::open(path) {
        Ok(file) => hashed(ingest, &entry.name, file),
        Err(error) => {
            ingest.unreadable(&entry.name, &error.to_string());
            None
        }
    })
}

/// Reads and hashes at once.
fn hashed(ingest: &mut Ingest, name: &str, source: impl Read) -> Option<String> {
    let mut tee = Tee { source, sha: Sha256::new() };
    let report = ingest.read(name, &mut tee);
    report.format?;
    // Of a file that broke off in the decompressor the rest is hashed as well.
    let _ = io::copy(&mut tee, &mut io::sink());
    Some(tee.sha.finalize().iter().fold(String::with_capacity(64), |mut hex, b| {
        let _ = write!(hex, "{b:02x}");
        hex
    }))
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

/// How many skipped records are listed a file.
const LISTED: usize = 5;

/// The reports as a table of one line a file, each with what was skipped below it.
pub fn table(reports: &[FileReport]) -> String {
    let mut out = String::new();
    let width = reports.iter().filter(|r| r.error.is_none()).map(|r| r.name.chars().count()).max().unwrap_or(4).clamp(4, 60);
    if reports.iter().any(|r| r.error.is_none()) {
        let _ = writeln!(
            out,
            "{:width$}  {:11} {:>7} {:>8} {:>6} {:>5} {:>6} {:>7} {:>8} {:>5}",
            "file", "format", "records", "requests", "usage", "uses", "needs", "skipped", "repaired", "dupl."
        );
    }
    for r in reports {
        if let Some(error) = &r.error {
            let _ = writeln!(out, "{}: {error}", r.name);
            continue;
        }
        let _ = writeln!(
            out,
            "{:width$}  {:11} {:>7} {:>8} {:>6} {:>5} {:>6} {:>7} {:>8} {:>5}",
            tail(&r.name, width),
            r.format.unwrap_or("?"),
            r.records,
            r.requests,
            r.requests_with_usage,
            r.tool_uses,
            r.needs,
            r.skipped_records,
            r.repaired,
            r.duplicates
        );
        for skip in r.skipped.iter().take(LISTED) {
            let _ = writeln!(out, "    line {}: {}", skip.line, skip.why);
        }
        if r.skipped_records > LISTED as u64 {
            let _ = writeln!(out, "    and {} more", r.skipped_records - LISTED as u64);
        }
        for note in &r.notes {
            let _ = writeln!(out, "    note: {note}");
        }
    }
    out
}

/// The end of a long name, which tells files apart better than its start.
fn tail(name: &str, width: usize) -> String {
    let n = name.chars().count();
    if n <= width { name.to_owned() } else { format!("…{}", name.chars().skip(n - width + 1).collect::<String>()) }
}
