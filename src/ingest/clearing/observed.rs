//! What of a log recorded with clearing on outlives its text: what was asked and done at each request, and the transcript as recorded.

use serde::Serialize;

use crate::policy::ClearToolUses;
use crate::trace::Document;

/// What a request asked of context editing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedEdit {
    /// The log does not show it.
    #[default]
    Unknown,
    /// No clearing of tool uses.
    Nothing,
    /// An edit that this version does not read.
    Unread,
    /// This one of [`RecordedClearing::edits`].
    Edit(u32),
}

/// One request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObservedRequest {
    /// What it asked.
    pub asked: AskedEdit,
    /// `cleared_tool_uses` of its `applied_edits`. `None`: the response says nothing, and gateways drop the field, so that is *unknown* and
    /// not *none*.
    pub applied: Option<u64>,
}

/// The transcript under one size of placeholder and of what is too small to be cleared.
#[derive(Debug, Clone, PartialEq)]
pub struct SizedUnder {
    /// `assume.tiny_result_bytes`.
    pub tiny_result_bytes: u32,
    /// `assume.placeholder_tokens`.
    pub placeholder_tokens: u32,
    /// All requests as recorded, re-fetches that really happened among them, without needs: what the agent did is in it.
    pub document: Document,
}

/// A transcript that was recorded with clearing by the provider.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedClearing {
    /// The configs that were asked, each once.
    pub edits: Vec<ClearToolUses>,
    /// Request by request; as many as each document has.
    pub requests: Vec<ObservedRequest>,
    /// The transcript in each reading that the sizes depend on, the default first; at least that one.
    pub sized: Vec<SizedUnder>,
}

impl RecordedClearing {
    /// The transcript as recorded, sized under the default reading.
    pub fn document(&self) -> &Document {
        &self.sized[0].document
    }

    /// The edit that most requests asked for, the first of several; `None` where none can be read.
    pub fn main_edit(&self) -> Option<&ClearToolUses> {
        let asked = |e: usize| self.requests.iter().filter(|r| r.asked == AskedEdit::Edit(e as u32)).count();
        let most = (0..self.edits.len()).map(asked).max()?;
        (0..self.edits.len()).find(|&e| asked(e) == most).map(|e| &self.edits[e])
    }
}

/// What a file shows of clearing, for its report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClearingReport {
    /// Requests that asked for clearing of tool uses.
    pub asked: u64,
    /// Those of them whose edits this version cannot read.
    pub unread: u64,
    /// Requests whose response says what was cleared, nothing included.
    pub observed: u64,
    /// Requests of transcripts with clearing whose response does not say: unknown, and not none.
    pub unknown: u64,
    /// Requests in whose prompt something was cleared.
    pub cleared_requests: u64,
    /// Those of which the size of the recorded prompt tells it, and no response.
    pub inferred_requests: u64,
    /// Results that the client had replaced and whose original another record of the log holds.
    pub restored_results: u64,
    /// Results that are placeholders in the log and whose original size the recorded growth shows.
    pub recovered_results: u64,
    /// Results that are placeholders in the log and whose original size is unknown: they stay at placeholder size.
    pub unknown_results: u64,
    /// Re-fetches that really happened: left out of the trace, and counted as needs.
    pub refetches: u64,
    /// Those of them that the client answered with "unchanged".
    pub failed_refetches: u64,
    /// Requests that did nothing but fetch again, left out with them.
    pub refetch_requests: u64,
    /// Clear events at which the recorded prompt does not fit what was cleared, so that sizes are from bytes.
    pub estimated_steps: u64,
    /// Requests with cleared thinking, which the trace holds uncleared.
    pub thinking_requests: u64,
}

impl ClearingReport {
    /// Whether anything was cleared, or may have been.
    pub fn is_on(&self) -> bool {
        self.asked + self.observed + self.unknown + self.cleared_requests + self.unknown_results + self.recovered_results > 0
    }

    /// Adds the figures of another part.
    pub fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.unread += other.unread;
        self.observed += other.observed;
        self.unknown += other.unknown;
        self.cleared_requests += other.cleared_requests;
        self.inferred_requests += other.inferred_requests;
        self.restored_results += other.restored_results;
        self.recovered_results += other.recovered_results;
        self.unknown_results += other.unknown_results;
        self.refetches += other.refetches;
        self.failed_refetches += other.failed_refetches;
        self.refetch_requests += other.refetch_requests;
        self.estimated_steps += other.estimated_steps;
        self.thinking_requests += other.thinking_requests;
    }

    /// What a reader of the figures has to know, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |n: u64, text: String| {
            if n > 0 {
                notes.push(text);
            }
        };
        let inferred = if self.inferred_requests > 0 {
            format!(" ({} of them by the size of the recorded prompt)", self.inferred_requests)
        } else {
            String::new()
        };
        note(
            self.cleared_requests,
            format!(
                "recorded with clearing on: {} requests had results cleared{inferred}; sizes here are unedited, what was sent plus what was cleared",
                self.cleared_requests
            ),
        );
        note(self.unknown, format!("{} responses do not say what was cleared: unknown, which is not none", self.unknown));
        note(self.unread, format!("{} requests ask for edits that this version cannot read", self.unread));
        note(self.restored_results, format!("{} cleared results were taken from other records of the log", self.restored_results));
        note(
            self.recovered_results,
            format!("{} results are placeholders in the log; the recorded growth gives their original size", self.recovered_results),
        );
        note(
            self.unknown_results,
            format!("{} results are placeholders of unknown original size, and count as the placeholder", self.unknown_results),
        );
        let failed = if self.failed_refetches > 0 { format!(" ({} of them failed)", self.failed_refetches) } else { String::new() };
        note(self.refetches, format!("{} re-fetches really happened{failed}, left out of `none`, counted as needs", self.refetches));
        note(
            self.estimated_steps,
            format!("at {} clear events the recorded prompt fits no clearing; sizes there are from bytes", self.estimated_steps),
        );
        note(
            self.thinking_requests,
            format!("{} requests had thinking cleared; it counts here as if it were not, under every config", self.thinking_requests),
        );
        notes
    }
}
