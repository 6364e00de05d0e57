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
mod sizes;
mod spread;
mod time;
mod weigh;

use std::collections::{BTreeMap, HashMap, HashSet};
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

use crate::trace::{Document, ToolDoc};
use input::Input;
use readers::{Format, Head, Parsed};

/// Everything that was read.
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
/// [`Ingest::parse`] needs nothing but the file, so files can be parsed on many threads and committed in order.
pub struct ParsedFile {
    report: FileReport,
    format: Option<&'static dyn Format>,
    parsed: Parsed,
}

/// An import in progress: files go in one by one, in an order that decides which of two copies of a record counts.
pub struct Ingest {
    options: Options,
    seen: HashSet<u128>,
    documents: Vec<Document>,
    starts: Vec<Option<i64>>,
    recorded_clearing: Vec<Option<RecordedClearing>>,
    by_id: HashMap<String, usize>,
    reports: Vec<FileReport>,
}

impl Ingest {
    /// An import of nothing yet.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            seen: HashSet::new(),
            documents: Vec::new(),
            starts: Vec::new(),
            recorded_clearing: Vec::new(),
            by_id: HashMap::new(),
            reports: Vec::new(),
        }
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
        self.reports.push(report.clone());
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
    pub fn commit(&mut self, file: ParsedFile) -> FileReport {
        let ParsedFile { mut report, format, parsed } = file;
        let before = self.documents.len();
        let mut nothing = parsed.parts.is_empty() && parsed.documents.is_empty();
        for doc in parsed.documents {
            if self.push(doc, None, None, true) {
                report.transcripts += 1;
            } else {
                report.duplicates += 1;
            }
        }
        if let Some(format) = format {
            for mut part in parsed.parts {
                assemble::mark_repeated(&mut part.calls, &mut self.seen);
                let start = assemble::start(&part.calls);
                let made = assemble::document(part, format.name(), format.assumed_base(), &self.options, &mut report);
                if let Some((doc, recorded)) = made {
                    self.push(doc, start, recorded, false);
                }
            }
        }
        report.clearing.notes().into_iter().for_each(|note| report.note(note));
        assemble::note_sizes(&mut report);
        assemble::note_cache(&mut report);
        if report.error.is_none() && self.documents.len() == before {
            nothing |= report.requests == 0 && report.duplicates == 0;
            report.note(match (nothing, report.requests) {
                (true, _) => "no model call is in the file, so no transcript was made",
                (false, 0) => "every record repeats an earlier file's",
                (false, _) if report.duplicates > 0 => "every transcript repeats an earlier one",
                (false, _) => "the filter on agents leaves no transcript",
            });
        }
        self.reports.push(report.clone());
        report
    }

    /// Keeps a document under an id of its own; `false` when the very same one is there already.
    fn push(&mut self, mut doc: Document, start: Option<i64>, recorded: Option<RecordedClearing>, same_is_one: bool) -> bool {
        let id = doc.id.clone();
        let mut copy = 1;
        while let Some(&other) = self.by_id.get(&doc.id) {
            if same_is_one && copy == 1 && self.documents[other] == doc {
                return false;
            }
            if copy == 1 && doc.session.is_none() {
                doc.session = Some(id.clone());
            }
            copy += 1;
            doc.id = format!("{id}.{copy}");
        }
        self.by_id.insert(doc.id.clone(), self.documents.len());
        self.documents.push(doc);
        self.starts.push(start);
        self.recorded_clearing.push(recorded);
        true
    }

    /// Adds a transcript that another source made (a generator).
    pub fn add_document(&mut self, doc: Document) {
        self.push(doc, None, None, false);
    }

    /// The transcripts so far.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The reports so far.
    pub fn reports(&self) -> &[FileReport] {
        &self.reports
    }

    /// Ends the import.
    pub fn finish(self) -> Ingested {
        Ingested { documents: self.documents, starts: self.starts, recorded_clearing: self.recorded_clearing, reports: self.reports }
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
