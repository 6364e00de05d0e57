//! Files to transcripts: on all cores, in the order of the sources, in memory that the largest file decides and not their number.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Cursor, IsTerminal, Read};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use cleartune::ingest::{Ingest, Ingested, MadeFile, Options, ParsedFile};
use cleartune::workload::{self, Spec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::entries::{Entry, What};
use super::generate::load_workload;

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

/// What one file gave, or one transcript of a workload.
pub struct Given {
    /// Index of the source.
    pub source: usize,
    /// Transcripts and reports.
    pub ingested: Ingested,
    /// The file, where it was used and [`Reading::hashes`] are wanted.
    pub input: Option<Input>,
    /// Whether it is the last of its file.
    pub last: bool,
}

/// Memory that is used for several files at once however small the largest is.
const SMALL: u64 = 32 << 20;

/// How files are read.
pub struct Reading {
    /// How logs are read.
    pub options: Options,
    /// Whether the files' hashes are wanted.
    pub hashes: bool,
}

/// A file after the stage that needs no other.
// A handful at a time: a box would save nothing.
#[allow(clippy::large_enum_variant)]
enum Parsed {
    Log(ParsedFile, Option<String>, Vec<(String, String)>),
    Workload(Spec, Input),
    /// It cannot be read: why.
    Unreadable(String),
    /// A named file that cannot be used.
    Failed(anyhow::Error),
}

/// A file that waits for its turn to be taken in.
#[allow(clippy::large_enum_variant)]
enum Made {
    Log(Box<MadeFile>, Option<String>, Vec<(String, String)>),
    Other(Parsed),
}

/// Where the workers are.
struct State {
    /// The next file to begin, and the next to be taken in.
    begin: usize,
    take: usize,
    /// Files that wait to be compared with those before them, and files that were.
    parsed: BTreeMap<usize, ParsedFile>,
    claimed: BTreeMap<usize, ParsedFile>,
    /// Memory that the files take which are being read.
    bytes: u64,
    made: BTreeMap<usize, Made>,
    stop: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn wait(&self, until: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = lock(&self.state);
        self.changed.wait_while(state, |state| !state.stop && !until(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }
}

/// Ends the others' waiting when a worker ends before its work does.
struct Alarm<'s>(&'s Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.change(|state| state.stop = true);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reading {
    /// Reads the files and gives what they hold, in their order, whatever the number of threads.
    ///
    /// Files are begun as long as those that are being read take no more than four times the bytes of the largest, and no more than a few wait
    /// for one before them.
    ///
    /// # Errors
    /// Those of `take`; a workload that was named is not valid.
    pub fn each(&self, entries: &[Entry], take: &mut dyn FnMut(Given) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let (texts, sizes): (Vec<u64>, Vec<u64>) = entries.iter().map(Entry::sizes).unzip();
        let most = (4 * texts.iter().max().copied().unwrap_or(0)).max(SMALL);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(entries.len());
        let shared = Shared {
            state: Mutex::new(State {
                begin: 0,
                take: 0,
                parsed: BTreeMap::new(),
                claimed: BTreeMap::new(),
                made: BTreeMap::new(),
                bytes: 0,
                stop: false,
            }),
            changed: Condvar::new(),
        };
        // What outlives a file is made on this thread alone: among the texts of another it would keep their memory from being given back.
        let mut ingest = Ingest::new(self.options.clone());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let _alarm = Alarm(&shared);
                    self.work(entries, &sizes, most, 4 * threads, &shared);
                });
            }
            let _alarm = Alarm(&shared);
            let mut claim = 0;
            let mut all = Ok(());
            for (i, entry) in entries.iter().enumerate() {
                let made = loop {
                    let mut state = shared.wait(|state| state.made.contains_key(&i) || state.parsed.contains_key(&claim));
                    if state.stop {
                        return Ok(());
                    }
                    if let Some(made) = state.made.remove(&i) {
                        // One that is no log is not compared.
                        claim = claim.max(i + 1);
                        break made;
                    }
                    let Some(mut file) = state.parsed.remove(&claim) else { continue };
                    drop(state);
                    ingest.claim(&mut file);
                    shared.change(|state| _ = state.claimed.insert(claim, file));
                    claim += 1;
                };
                all = give(made, entry, &mut ingest, take);
                if all.is_err() {
                    break;
                }
                shared.change(|state| state.take = i + 1);
            }
            shared.change(|state| state.stop = true);
            all
        })
    }

    fn work(&self, entries: &[Entry], sizes: &[u64], most: u64, ahead: usize, shared: &Shared) {
        loop {
            let mut state = shared.wait(|state| {
                let Some(size) = sizes.get(state.begin) else { return true };
                state.begin < state.take + ahead && (state.bytes == 0 || state.bytes + size <= most)
            });
            let i = state.begin;
            if state.stop || i == entries.len() {
                return;
            }
            state.begin += 1;
            state.bytes += sizes[i];
            drop(state);
            let made = match self.parse(&entries[i]) {
                Parsed::Log(file, hash, unreadable) => {
                    shared.change(|state| _ = state.parsed.insert(i, file));
                    let claimed = shared.wait(|state| state.claimed.contains_key(&i)).claimed.remove(&i);
                    let Some(file) = claimed else { return };
                    Made::Log(Box::new(file.made(&self.options)), hash, unreadable)
                }
                other => Made::Other(other),
            };
            shared.change(|state| {
                state.bytes -= sizes[i];
                state.made.insert(i, made);
            });
        }
    }

    fn parse(&self, entry: &Entry) -> Parsed {
        match &entry.what {
            What::Stdin => {
                if io::stdin().is_terminal() {
                    eprintln!("reading standard input (end with Ctrl-D)");
                }
                self.log(&entry.name, io::stdin().lock())
            }
            What::Shipped => workload(&entry.name, entry),
            What::Refused(why) => Parsed::Unreadable((*why).to_owned()),
            What::Events(paths) => {
                let mut joined = super::events::Joined::new(paths);
                let parsed = self.log(&entry.name, &mut joined);
                let Parsed::Log(file, hash, _) = parsed else { return parsed };
                let name =
                    |path: &Path| path.file_name().map_or_else(String::new, |name| super::entries::printable(&name.to_string_lossy()));
                let unreadable =
                    joined.unreadable.iter().map(|(path, error)| (format!("{}: {}", entry.name, name(path)), error.to_string()));
                Parsed::Log(file, hash, unreadable.collect())
            }
            What::File(path) => {
                let mut head = Vec::new();
                let opened = std::fs::File::open(path).and_then(|mut file| {
                    // The same stream is read on: a pipe gives its bytes once.
                    (&mut file).take(1 << 16).read_to_end(&mut head)?;
                    Ok(file)
                });
                match opened {
                    Ok(_) if is_workload(path, &head) => workload(&path.to_string_lossy(), entry),
                    Ok(file) => self.log(&entry.name, Cursor::new(head).chain(file)),
                    Err(error) => Parsed::Unreadable(error.to_string()),
                }
            }
        }
    }

    /// Parses, and hashes at once where that is wanted.
    fn log(&self, name: &str, source: impl Read) -> Parsed {
        if !self.hashes {
            return Parsed::Log(Ingest::parse(&self.options, name, source), None, Vec::new());
        }
        let mut tee = Tee { source, sha: Sha256::new() };
        let file = Ingest::parse(&self.options, name, &mut tee);
        // Of a file that broke off in the decompressor the rest is hashed as well.
        let hash = file.is_log().then(|| {
            let _ = io::copy(&mut tee, &mut io::sink());
            hex(&tee.sha.finalize())
        });
        Parsed::Log(file, hash, Vec::new())
    }
}

/// Takes one file in and gives what came of it.
fn give(made: Made, entry: &Entry, ingest: &mut Ingest, take: &mut dyn FnMut(Given) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut input = None;
    match made {
        Made::Log(file, hash, unreadable) => {
            ingest.keep(*file);
            for (name, error) in unreadable {
                ingest.unreadable(&name, &error);
            }
            input = hash.map(|sha256| Input { name: entry.name.clone(), sha256, seed: None });
        }
        Made::Other(Parsed::Workload(spec, of)) => {
            for index in 0..spec.transcripts {
                ingest.add_document(spec.generate(index));
                take(Given { source: entry.source, ingested: ingest.take(), input: None, last: false })?;
            }
            input = Some(of);
        }
        Made::Other(Parsed::Failed(error)) => return Err(error),
        Made::Other(Parsed::Unreadable(why)) => {
            ingest.unreadable(&entry.name, &why);
        }
        Made::Other(Parsed::Log(..)) => {}
    }
    take(Given { source: entry.source, ingested: ingest.take(), input, last: true })
}

/// A workload by its path or shipped name. Of a folder only what is a workload counts; a named file has to be one.
fn workload(from: &str, entry: &Entry) -> Parsed {
    let read = || -> anyhow::Result<_> {
        let spec = load_workload(from)?;
        let text = match workload::shipped_text(from) {
            Ok(text) => text.as_bytes().to_vec(),
            Err(_) => std::fs::read(from)?,
        };
        let input = Input { name: entry.name.clone(), sha256: hex(&Sha256::digest(text)), seed: Some(spec.seed) };
        Ok((spec, input))
    };
    match read() {
        Ok((spec, input)) => Parsed::Workload(spec, input),
        Err(error) if entry.named => Parsed::Failed(error),
        Err(error) => Parsed::Unreadable(format!("{error:#}")),
    }
}

/// Whether a file is TOML rather than the JSON of a log, whatever its name is: no JSON value starts a TOML document's line.
fn is_workload(path: &Path, head: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(head.trim_ascii_start()) else { return false };
    if text.starts_with(['{', '"']) {
        return false;
    }
    let is_toml = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    is_toml || text.parse::<toml::Table>().is_ok_and(|table| ["name", "seed", "transcripts"].iter().all(|key| table.contains_key(*key)))
}

/// Hash of a file, in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn file_sha256(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    Ok(hex(&Sha256::digest(bytes)))
}

/// Bytes as lower-case hexadecimal digits.
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
