//! Which files the sources name or hold. Finds them; opens none of them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cleartune::workload;

/// One file to read.
pub struct Entry {
    /// Where its bytes come from.
    pub what: What,
    /// Index of the source that names or holds it.
    pub source: usize,
    /// What it is called in reports.
    pub name: String,
    /// Whether the user named it, as opposed to a directory that holds it.
    pub named: bool,
}

/// Where its bytes come from.
pub enum What {
    Stdin,
    /// A workload that the binary brings along.
    Shipped,
    File(PathBuf),
    /// The files of a folder that hold one event each, in order.
    Events(Vec<PathBuf>),
    /// Something in a folder that is not read: why.
    Refused(&'static str),
}

/// How much larger a compressed log is taken to be than its file: JSON of agents shrinks to an eighth or so.
const COMPRESSED: u64 = 8;

/// Memory that reading takes for each byte of a log of lines, and of one JSON document, as measured, with what the allocator does not give
/// back (docs/scale.md).
const LINES: u64 = 3;
const DOCUMENT: u64 = 4;

impl Entry {
    /// Bytes on disk.
    fn size(&self) -> u64 {
        match &self.what {
            What::File(path) => path.metadata().map_or(0, |found| found.len()),
            What::Events(paths) => paths.iter().filter_map(|path| path.metadata().ok()).map(|found| found.len()).sum(),
            What::Stdin | What::Shipped | What::Refused(_) => 0,
        }
    }

    /// Bytes of its text, and bytes of memory that reading it is likely to take: a log of lines goes line by line, one JSON document is held
    /// whole beside what is made of it. Names serve here because nothing but the number of files read at once follows from it.
    pub fn sizes(&self) -> (u64, u64) {
        let ending = match &self.what {
            What::File(path) => path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default(),
            _ => String::new(),
        };
        let plain = [".gz", ".zst"].iter().fold(ending.as_str(), |name, packed| name.strip_suffix(packed).unwrap_or(name));
        let is = |endings: &[&str]| plain.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending));
        let text = self.size() * if plain != ending || is(&["eval"]) { COMPRESSED } else { 1 };
        let lines = is(&["jsonl", "ndjson"]) || matches!(self.what, What::Events(_));
        (text, text * if lines { LINES } else { DOCUMENT })
    }
}

/// The files of the sources: directories are searched, in an order that no platform and no moving of the folder changes.
pub fn entries(sources: &[String]) -> anyhow::Result<Vec<Entry>> {
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
            entries[from..].sort_by_cached_key(|e| (std::cmp::Reverse(e.size()), e.name.clone()));
        } else {
            entries.push(Entry { source: at, what: What::File(path.to_owned()), name: file_name(source), named: true });
        }
    }
    Ok(entries)
}

/// Every file below `dir`. Links to folders are not followed, so that no loop can be walked; they, a directory that cannot be listed and
/// whatever is no file are left to the report.
fn search(root: &Path, dir: &Path, source: usize, entries: &mut Vec<Entry>) {
    let Ok(listing) = std::fs::read_dir(dir) else {
        let name = dir.strip_prefix(root).unwrap_or(dir).display().to_string();
        entries.push(Entry { source, what: What::File(dir.to_owned()), name, named: false });
        return;
    };
    let mut found: Vec<_> = listing.flatten().collect();
    found.sort_by_cached_key(std::fs::DirEntry::file_name);
    let events = super::events::events(&found);
    if !events.is_empty() {
        let known: HashSet<&PathBuf> = events.iter().collect();
        found.retain(|item| !known.contains(&item.path()));
        drop(known);
        let name = printable(&dir.strip_prefix(root).unwrap_or(dir).display().to_string().replace('\\', "/"));
        let name = format!("{name}{}({} events)", if name.is_empty() { "" } else { " " }, events.len());
        entries.push(Entry { source, what: What::Events(events), name, named: false });
    }
    for item in found {
        let path = item.path();
        let what = match item.file_type() {
            Ok(kind) if kind.is_dir() => {
                search(root, &path, source, entries);
                continue;
            }
            Ok(kind) if kind.is_symlink() && path.is_dir() => What::Refused("links to folders are not followed; name the folder itself"),
            // A pipe would block for ever and a device may never end.
            Ok(_) if path.metadata().is_ok_and(|found| !found.is_file()) => {
                What::Refused("it is a pipe, a socket or a device; in folders only files are read")
            }
            _ => What::File(path.clone()),
        };
        let name = printable(&path.strip_prefix(root).unwrap_or(&path).display().to_string().replace('\\', "/"));
        entries.push(Entry { source, what, name, named: false });
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
pub fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
