//! What is said of each file that was read: counts and line numbers, never text.

use std::collections::BTreeMap;

use super::clearing::ClearingReport;
use super::natural::Natural;
use super::sizes::SizeReport;
use crate::trace::{Cause, Usage};

/// A record that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Line of the file on which the record starts, from 1.
    pub line: u64,
    /// Why, and what was expected. Holds no text of the record.
    pub why: String,
}

/// Invalidations of one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseCount {
    /// Requests.
    pub requests: u64,
    /// Tokens that the cache gave less than it held.
    pub tokens: u64,
    /// Those of them that were paid for as written (or as input, where writes are free) instead of as read.
    pub billed_tokens: u64,
}

/// The report on one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileReport {
    /// The file as the caller named it.
    pub name: String,
    /// Name of the format that it was recognised as.
    pub format: Option<&'static str>,
    /// Why nothing could be taken from the file, in one line.
    pub error: Option<String>,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Records parsed, those of unknown types included.
    pub records: u64,
    /// Records skipped, the first [`Limits::named_skips`](super::Limits::named_skips) of them by line.
    pub skipped: Vec<Skipped>,
    /// Records skipped in all.
    pub skipped_records: u64,
    /// Records that were read only after a repair (raw control characters, broken UTF-8, several records on a line…).
    pub repaired: u64,
    /// Blank lines.
    pub blank_lines: u64,
    /// Records that repeat one that was read before, in this file or an earlier one, and were merged with it.
    pub duplicates: u64,
    /// Tool uses without a result in the file.
    pub orphan_uses: u64,
    /// Results without a use in their transcript, or second results of one use; they count as plain text.
    pub orphan_results: u64,
    /// Records of types that hold no message, by type.
    pub ignored_types: BTreeMap<String, u64>,
    /// Model calls.
    pub requests: u64,
    /// Those whose usage was recorded (and is not all zero).
    pub requests_with_usage: u64,
    /// Tool uses.
    pub tool_uses: u64,
    /// Recorded usage, summed over the requests.
    pub usage: Usage,
    /// Transcripts made of the file.
    pub transcripts: u64,
    /// Those of sub-agents.
    pub sub_agent_transcripts: u64,
    /// Compactions, at each of which a new transcript begins.
    pub compactions: u64,
    /// Model calls left out because the user rewound past them.
    pub rewound_requests: u64,
    /// Lines that the client wrote itself without a model call (`<synthetic>`).
    pub synthetic: u64,
    /// Needs found.
    pub needs: u64,
    /// Tokens that first requests found in the cache.
    pub warm_start_tokens: u64,
    /// Requests that the cache gave much less than it held, by cause; [`Cause::Cleared`] is among them and is no natural one.
    pub invalidations: BTreeMap<Cause, CauseCount>,
    /// Requests that carry `flush_above`, whatever for; the next two are among them.
    pub flushed_requests: u64,
    /// First requests that found a warm cache.
    pub warm_starts: u64,
    /// Requests whose entries the replay's own rules take away, and which still read system prompt and tools, kept warm by other sessions.
    pub base_served: u64,
    /// Requests after a gap longer than the TTL that read what was held all the same: calls that the log does not hold used the cache.
    pub kept_warm: u64,
    /// Those of them that read more than was held, which only such a call can have written.
    pub kept_warm_proven: u64,
    /// How token sizes were found, and how well they agree with the recorded prompts.
    pub sizes: SizeReport,
    /// What the file shows of clearing.
    pub clearing: ClearingReport,
    /// What else a reader of the figures should know, a sentence each.
    pub notes: Vec<String>,
}

impl FileReport {
    /// A report on a file of which nothing could be read.
    pub fn failed(name: &str, error: impl Into<String>) -> Self {
        Self { name: name.to_owned(), error: Some(error.into()), ..Self::default() }
    }

    /// Whether something in the file was left out for a fault of the file.
    pub fn lost_something(&self) -> bool {
        self.error.is_some() || self.skipped_records > 0
    }

    pub(super) fn skip(&mut self, line: u64, why: impl Into<String>, named: usize) {
        self.skipped_records += 1;
        if self.skipped.len() < named {
            self.skipped.push(Skipped { line, why: why.into() });
        }
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Counts a record type; a name that could be text of the log is not repeated.
    pub(super) fn ignore(&mut self, kind: &str) {
        let plain = !kind.is_empty() && kind.len() <= 48 && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./:".contains(&b));
        let kind = if plain { kind } else { "(unnamed)" };
        if let Some(n) = self.ignored_types.get_mut(kind) {
            *n += 1;
        } else {
            // A file of random objects must not fill the report.
            let kind = if self.ignored_types.len() < 64 { kind } else { "(others)" };
            *self.ignored_types.entry(kind.to_owned()).or_default() += 1;
        }
    }
}

impl FileReport {
    /// Natural invalidations: all but those of the provider's own clearing.
    pub fn natural_invalidations(&self) -> CauseCount {
        let natural = self.invalidations.iter().filter(|&(&cause, _)| cause != Cause::Cleared);
        natural.fold(CauseCount::default(), |sum, (_, n)| CauseCount {
            requests: sum.requests + n.requests,
            tokens: sum.tokens + n.tokens,
            billed_tokens: sum.billed_tokens + n.billed_tokens,
        })
    }

    /// Adds what one part shows of the cache.
    pub(super) fn count_natural(&mut self, seen: &Natural) {
        for one in &seen.invalidations {
            let count = self.invalidations.entry(one.cause).or_default();
            count.requests += 1;
            count.tokens += one.tokens;
            count.billed_tokens += one.billed_tokens;
        }
        self.warm_start_tokens += seen.warm_start_tokens;
        self.warm_starts += u64::from(seen.warm_start_tokens > 0);
        self.flushed_requests += seen.flush.iter().flatten().count() as u64;
        self.base_served += seen.base_served;
        self.kept_warm += seen.kept_warm.iter().filter(|&&kept| kept).count() as u64;
        self.kept_warm_proven += seen.kept_warm_proven;
    }

    /// Adds the usage of one request.
    pub(super) fn count_usage(&mut self, usage: Usage) {
        self.requests_with_usage += 1;
        self.usage.input += usage.input;
        self.usage.cache_read += usage.cache_read;
        self.usage.cache_write_5m += usage.cache_write_5m;
        self.usage.cache_write_1h += usage.cache_write_1h;
        self.usage.output += usage.output;
    }
}
