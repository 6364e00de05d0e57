//! SOURCE: what a command works on, from arguments to transcripts. Opens files and tells on stderr what was read of them.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use cleartune::ingest::{FileReport, Ingest};
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
    /// Every file that was used.
    pub inputs: Vec<Input>,
    /// Whether a fault of an input left something out (`--strict` makes that exit code 1).
    pub lost_something: bool,
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
        let entries = entries(&self.sources)?;
        let mut ingest = Ingest::new(self.log.options());
        let mut inputs = Vec::new();
        for entry in &entries {
            inputs.extend(read(&mut ingest, entry)?);
        }
        let ingested = ingest.finish();
        eprint!("{}", super::read_report::table(&ingested.reports));
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
        Ok(Loaded {
            name: short_name(&self.sources[0]),
            lost_something: ingested.reports.iter().any(FileReport::lost_something),
            documents: ingested.documents,
            inputs,
        })
    }
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
}

/// The files of the sources: directories are searched, names sorted by bytes so that every platform has one order.
fn entries(sources: &[String]) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for source in sources {
        if source == "-" {
            entries.push(Entry { what: What::Stdin, name: "-".to_owned(), named: true });
            continue;
        }
        if workload::shipped_text(source).is_ok() {
            entries.push(Entry { what: What::Shipped, name: source.clone(), named: true });
            continue;
        }
        let path = Path::new(source);
        let meta =
            path.metadata().with_context(|| format!("{source}: cannot be read; name a file, a directory or - for standard input"))?;
        if meta.is_dir() {
            search(path, path, &mut entries);
        } else {
            entries.push(Entry { what: What::File(path.to_owned()), name: file_name(source), named: true });
        }
    }
    Ok(entries)
}

/// Every file below `dir`. Links are not followed, so that no loop can be walked; a directory that cannot be listed is left to the report.
fn search(root: &Path, dir: &Path, entries: &mut Vec<Entry>) {
    let Ok(listing) = std::fs::read_dir(dir) else {
        let name = dir.strip_prefix(root).unwrap_or(dir).display().to_string();
        entries.push(Entry { what: What::File(dir.to_owned()), name, named: false });
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
                entries.push(Entry { what: What::File(path), name, named: false });
            }
        }
    }
}

/// A named file as reports and the manifest call it: as given, but of an absolute path only the name, so that results do not
/// depend on the folder they were made in.
fn file_name(source: &str) -> String {
    let path = Path::new(source);
    match path.file_name() {
        Some(name) if path.is_absolute() => name.to_string_lossy().into_owned(),
        _ => source.to_owned(),
    }
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
        What::File(path) if path.extension().is_some_and(|e| e == "toml") => {
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
        What::File(path) => Ok(match std::fs::File::open(path) {
            Ok(file) => log(hashed(ingest, &entry.name, file)),
            Err(error) => {
                ingest.unreadable(&entry.name, &error.to_string());
                None
            }
        }),
    }
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

fn hex(bytes: &[u8]) -> String {
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
