//! Readers of agents' logs: bytes in, traces and a report of what was read out.
//!
//! A reader (one file and one line in [`readers`]) turns a log into the normal form of [`normal`]; everything after that is the same for
//! every format: [`clearing`] (what recorded prompts lacked), [`sizes`] (tokens), [`needs`] (quotations), [`natural`] (what the log shows of the cache) and [`assemble`] (documents).
//!
//! ```
//! let log = concat!(
//!     r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"hello"}}"#, "\n",
//!     r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"id":"m","model":"claude-sonnet-4-6","#,
//!     r#""content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":900,"output_tokens":5}}}"#,
//! );
//! let mut ingest = cleartune::ingest::Ingest::new(cleartune::ingest::Options::default());
//! let report = ingest.read("a.jsonl", log.as_bytes());
//! assert_eq!((report.requests, report.skipped_records), (1, 0));
//! assert_eq!(ingest.finish().documents.len(), 1);
//! ```
//!
//! Nothing here opens a file or prints, and no text of a log is in what comes out.

mod assemble;
mod clearing;
mod fit;
mod held_out;
mod input;
mod lenient;
mod media;
mod natural;
mod needs;
mod normal;
mod options;
mod readers;
mod records;
mod repair;
mod report;
mod seen;
mod sizes;
mod spread;
mod time;
mod utf16;
mod weigh;

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

pub use clearing::{AskedEdit, ClearingReport, ObservedRequest, RecordedClearing, SizedUnder};
pub use fit::default_bytes_per_token;
pub use held_out::{HeldOut, Step};
pub(crate) use media::png_like;
pub use natural::{Caching, NaturalInvalidation, natural_invalidations};
pub use needs::Quotations;
pub use options::{AgentFilter, Limits, NeedOptions, Options, OwnText, default_refetch};
pub use report::{CauseCount, FileReport, Skipped};
pub use sizes::SizeReport;
pub use time::{Instant, parse as parse_timestamp};

use crate::trace::{Document, ToolDoc, to_line};
use input::Input;
use readers::{Format, Head, Parsed};
use seen::Seen;

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ingested {
    /// Transcripts, file by file in the order read, ids unique.
    pub documents: Vec<Document>,
    /// When the first request of each transcript was sent, milliseconds since 1970, as far as its source says. Beside the documents and
    /// not in them, so that no date is in what is imported.
    pub starts: Vec<Option<i64>>,
    /// Of each transcript that was recorded with the provider's clearing on: what was asked and done, and the transcript as recorded.
    pub recorded_clearing: Vec<Option<RecordedClearing>>,
    /// One report a file.
    pub reports: Vec<FileReport>,
}

/// The bytes of a stream, decompressed where it is gzip or zstd.
///
/// # Errors
/// It cannot be read or decompressed.
pub fn decompressed(raw: impl Read) -> std::io::Result<Vec<u8>> {
    Input::open(raw)?.bytes()
}

/// Name of the format of a file that starts like this (decompressed); `None` where it is none that is known.
pub fn format_of(start: &[u8]) -> Option<&'static str> {
    readers::detect(&Head::new(start)).map(Format::name)
}

/// A file that was parsed and not yet compared with the others.
///
/// An import has four stages. [`Ingest::parse`] and [`ParsedFile::made`] need nothing but the file, take nearly all the time and can
/// run on many threads; [`Ingest::claim`] and [`Ingest::keep`] are short and go file by file in order. [`Ingest::commit`] is the last three.
pub struct ParsedFile {
    report: FileReport,
    format: Option<&'static dyn Format>,
    parsed: Parsed,
}

/// A file whose transcripts are made and do not have their final ids yet.
pub struct MadeFile {
    report: FileReport,
    made: Vec<Made>,
    /// Whether the file holds no history at all.
    nothing: bool,
}

struct Made {
    document: Document,
    /// Hash of the document.
    hash: u128,
    start: Option<i64>,
    recorded: Option<RecordedClearing>,
    /// Whether it is a transcript of a trace file, of which a second copy does not count.
    same_is_one: bool,
}

impl ParsedFile {
    /// Whether its format is known.
    pub fn is_log(&self) -> bool {
        self.format.is_some()
    }

    /// Sizes, needs, documents. The texts of the log are gone after it.
    pub fn made(self, options: &Options) -> MadeFile {
        let Self { mut report, format, parsed } = self;
        let nothing = parsed.parts.is_empty() && parsed.documents.is_empty();
        let finished = |document: Document, start, recorded, same_is_one| {
            let hash = normal::hash(&[&to_line(&document)]);
            Made { document, hash, start, recorded, same_is_one }
        };
        let mut made: Vec<Made> = parsed.documents.into_iter().map(|doc| finished(doc, None, None, true)).collect();
        if let Some(format) = format {
            for part in parsed.parts {
                let start = assemble::start(&part.calls);
                let document = assemble::document(part, format.name(), format.assumed_base(), options, &mut report);
                made.extend(document.map(|(doc, recorded)| finished(doc, start, recorded, false)));
            }
        }
        report.clearing.notes().into_iter().for_each(|note| report.note(note));
        assemble::note_sizes(&mut report);
        assemble::note_cache(&mut report);
        MadeFile { report, made, nothing }
    }
}

/// An import in progress: files go in one by one, in an order that decides which of two copies of a record counts.
pub struct Ingest {
    options: Options,
    seen: Seen,
    /// Hash of the document of each id.
    by_id: HashMap<String, u128>,
    /// What was read and not yet taken.
    ingested: Ingested,
}

impl Ingest {
    /// An import of nothing yet.
    pub fn new(options: Options) -> Self {
        Self { options, seen: Seen::default(), by_id: HashMap::new(), ingested: Ingested::default() }
    }

    /// Reads one file whole. `name` is only repeated in the report; the format is told by the content.
    pub fn read(&mut self, name: &str, raw: impl Read) -> FileReport {
        let parsed = Self::parse(&self.options, name, raw);
        self.commit(parsed)
    }

    /// Reads one file whole as the format of that name, whatever it looks like; `None` where no format has the name.
    pub fn read_as(&mut self, format: &str, name: &str, raw: impl Read) -> Option<FileReport> {
        let format = readers::FORMATS.iter().copied().find(|f| f.name() == format)?;
        let input = match Input::open(raw) {
            Ok(input) => input,
            Err(error) => return Some(self.unreadable(name, &error.to_string())),
        };
        let parsed = Self::parse_with(format, &self.options, FileReport { name: name.to_owned(), ..FileReport::default() }, input);
        Some(self.commit(parsed))
    }

    /// Names of the formats that are read.
    pub fn formats() -> Vec<&'static str> {
        readers::FORMATS.iter().map(|f| f.name()).collect()
    }

    fn parse_with(format: &'static dyn Format, options: &Options, mut report: FileReport, input: Input<'_>) -> ParsedFile {
        report.format = Some(format.name());
        let parsed = format.read(input, options, &mut report);
        ParsedFile { report, format: Some(format), parsed }
    }

    /// Notes a file that could not be opened.
    pub fn unreadable(&mut self, name: &str, error: &str) -> FileReport {
        let report = FileReport::failed(name, format!("cannot be read: {error}"));
        self.ingested.reports.push(report.clone());
        report
    }

    /// The part of [`Ingest::read`] that needs no other file.
    pub fn parse(options: &Options, name: &str, raw: impl Read) -> ParsedFile {
        let report = FileReport { name: name.to_owned(), ..FileReport::default() };
        let nothing = |report| ParsedFile { report, format: None, parsed: Parsed::default() };
        let input = match Input::open(raw) {
            Ok(input) => input,
            Err(error) => return nothing(FileReport::failed(name, format!("cannot be read: {error}"))),
        };
        let head = Head::new(input.head());
        let Some(format) = readers::detect(&head) else {
            return nothing(FileReport { error: Some(readers::unknown(&head)), ..report });
        };
        Self::parse_with(format, options, report, input)
    }

    /// The rest of [`Ingest::read`]: duplicates across files, sizes, needs, documents.
    pub fn commit(&mut self, mut file: ParsedFile) -> FileReport {
        self.claim(&mut file);
        let made = file.made(&self.options);
        self.keep(made)
    }

    /// Marks the calls that an earlier file holds, and remembers the others: of two copies the first that is claimed counts.
    pub fn claim(&mut self, file: &mut ParsedFile) {
        for part in &mut file.parsed.parts {
            assemble::mark_repeated(&mut part.calls, &mut self.seen);
        }
    }

    /// Takes the transcripts of a file in, under ids of their own.
    pub fn keep(&mut self, file: MadeFile) -> FileReport {
        let MadeFile { mut report, made, mut nothing } = file;
        let before = self.ingested.documents.len();
        for one in made {
            let same_is_one = one.same_is_one;
            let kept = self.push(one);
            report.transcripts += u64::from(same_is_one && kept);
            report.duplicates += u64::from(same_is_one && !kept);
        }
        if report.error.is_none() && self.ingested.documents.len() == before {
            nothing |= report.requests == 0 && report.duplicates == 0;
            report.note(match (nothing, report.requests) {
                (true, _) => "no model call is in the file, so no transcript was made",
                (false, 0) => "every record repeats an earlier file's",
                (false, _) if report.duplicates > 0 => "every transcript repeats an earlier one",
                (false, _) => "the filter on agents leaves no transcript",
            });
        }
        self.ingested.reports.push(report.clone());
        report
    }

    /// Keeps a document under an id of its own; `false` when the very same one is there already.
    fn push(&mut self, made: Made) -> bool {
        let Made { mut document, mut hash, start, recorded, same_is_one } = made;
        let id = document.id.clone();
        let mut copy = 1;
        while let Some(&other) = self.by_id.get(&document.id) {
            if same_is_one && copy == 1 && other == hash {
                return false;
            }
            if copy == 1 && document.session.is_none() {
                document.session = Some(id.clone());
            }
            copy += 1;
            document.id = format!("{id}.{copy}");
        }
        if copy > 1 {
            hash = normal::hash(&[&to_line(&document)]);
        }
        self.by_id.insert(document.id.clone(), hash);
        self.ingested.documents.push(document);
        self.ingested.starts.push(start);
        self.ingested.recorded_clearing.push(recorded);
        true
    }

    /// Adds a transcript that another source made (a generator).
    pub fn add_document(&mut self, document: Document) {
        let hash = normal::hash(&[&to_line(&document)]);
        self.push(Made { document, hash, start: None, recorded: None, same_is_one: false });
    }

    /// What was read since the last time this was called. What is needed to recognise copies stays, so that an import of any length can
    /// be written as it goes.
    pub fn take(&mut self) -> Ingested {
        std::mem::take(&mut self.ingested)
    }

    /// Ends the import: what was read and not taken yet.
    pub fn finish(self) -> Ingested {
        self.ingested
    }
}

/// Replaces every tool name by a hash of it, the same in every document.
pub fn hash_tool_names(doc: &mut Document) {
    let hashed = |name: &str| format!("tool_{}", &normal::short(normal::hash(&["tool", name]))[..8]);
    let tools: BTreeMap<String, ToolDoc> = std::mem::take(&mut doc.tools).into_iter().map(|(name, tool)| (hashed(&name), tool)).collect();
    doc.tools = tools;
    for request in &mut doc.requests {
        for block in &mut request.output {
            if let Some(tool) = &mut block.tool {
                *tool = hashed(tool);
            }
        }
    }
}
