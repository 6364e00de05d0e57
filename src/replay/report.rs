//! What a replay reports. Names and meaning are fixed.

use serde::Serialize;

/// The report on one trace under one config.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Id of the trace.
    pub id: String,
    /// Sums over the rows.
    pub totals: Totals,
    /// One row a request sent, in the order sent.
    pub requests: Vec<Row>,
}

/// Whether a request stands in the trace or was caused by a cleared result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// A request of the trace.
    #[default]
    Original,
    /// One that fetches cleared results again.
    Refetch,
    /// One that reads the history and writes the summary that takes its place.
    Compact,
}

/// One request as sent. Sizes in tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// Index of the original request, for both kinds.
    pub request: u32,
    /// Original or re-fetch.
    pub kind: RowKind,
    /// Start, milliseconds.
    pub at_ms: i64,
    /// Unedited size of the history.
    pub original_tokens: u64,
    /// What is sent; the sum of `cache_read`, `cache_write` and `uncached`.
    pub prompt_tokens: u64,
    /// Uses that are cleared in this prompt.
    pub cleared_uses: u64,
    /// Those that were not in the previous row's.
    pub newly_cleared: u64,
    /// Unedited minus edited tokens of the newly cleared, with their sign.
    pub freed_tokens: i64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
    /// Prompt tokens neither read nor written.
    pub uncached: u64,
    /// Tokens answered.
    pub output_tokens: u64,
    /// What the cache would have given under the previous row's cleared set, less what it gave.
    pub invalidated_tokens: u64,
    /// Uses fetched again by this row.
    pub refetched: u64,
    /// Those of `costly` tools.
    pub costly_refetched: u64,
    /// Missing results whose tool cannot be called again.
    pub lost: u64,
    /// Missing results when no re-fetch round was left.
    pub unmet: u64,
    /// USD.
    pub cost_usd: f64,
    /// What the tools that are called again cost in themselves, USD; no part of `cost_usd`.
    #[serde(skip)]
    pub refetch_usd: f64,
    /// How long they take, seconds.
    #[serde(skip)]
    pub refetch_seconds: f64,
    /// Tokens that went with thinking that was dropped, or with a compaction; a part of `freed_tokens`.
    #[serde(skip)]
    pub dropped_tokens: u64,
    /// Uses of which more stands in this prompt than in the one before.
    #[serde(skip)]
    pub given_back: u64,
    /// Results of which the request saw head and tail and no more as they arrived; on the row that is no re-fetch.
    #[serde(skip)]
    pub previews: u64,
}

impl Row {
    /// Whether something is gone that the row before still had.
    pub fn is_clear_event(&self) -> bool {
        self.newly_cleared > 0 || self.dropped_tokens > 0
    }
}

/// Sums over the rows of one report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Rows, re-fetch requests and compactions included.
    pub requests: u64,
    /// Rows that fetch again.
    pub refetch_requests: u64,
    /// Uses fetched again.
    pub refetches: u64,
    /// Those of `costly` tools.
    pub costly_refetches: u64,
    /// Needs of results that are gone.
    pub lost_needs: u64,
    /// Needs still missing after the allowed rounds.
    pub unmet_needs: u64,
    /// Rows whose cleared set holds a use that the previous row's did not, or that lack thinking or history that it had.
    pub clear_events: u64,
    /// Newly cleared uses, summed.
    pub cleared_uses: u64,
    /// Freed tokens, summed with their sign.
    pub freed_tokens: i64,
    /// Clear events that made the cache give less.
    pub cache_invalidations: u64,
    /// Tokens that the cache gave less.
    pub invalidated_tokens: u64,
    /// Prompt tokens sent.
    pub prompt_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_write_tokens: u64,
    /// Prompt tokens neither read nor written.
    pub uncached_tokens: u64,
    /// Tokens answered.
    pub output_tokens: u64,
    /// The largest prompt.
    pub peak_prompt_tokens: u64,
    /// USD.
    pub cost_usd: f64,
    /// `request` of the first row whose prompt + output exceeds the window; `None`: none does, or no window is known.
    pub first_overflow: Option<u32>,
    /// What the tools that are called again cost in themselves, USD; no part of `cost_usd`.
    #[serde(skip)]
    pub refetch_usd: f64,
    /// How long they take, seconds.
    #[serde(skip)]
    pub refetch_seconds: f64,
    /// Requests that write a summary; a part of `requests`.
    #[serde(skip)]
    pub compactions: u64,
    /// Uses of which more stood in a prompt than in the one before, summed.
    #[serde(skip)]
    pub given_back: u64,
    /// Results of which no request saw more than head and tail as they arrived.
    #[serde(skip)]
    pub previews: u64,
}

impl Totals {
    /// Adds the totals of another transcript: sums, the larger peak; `first_overflow` has no meaning over several.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.refetch_requests += other.refetch_requests;
        self.refetches += other.refetches;
        self.costly_refetches += other.costly_refetches;
        self.lost_needs += other.lost_needs;
        self.unmet_needs += other.unmet_needs;
        self.clear_events += other.clear_events;
        self.cleared_uses += other.cleared_uses;
        self.freed_tokens += other.freed_tokens;
        self.cache_invalidations += other.cache_invalidations;
        self.invalidated_tokens += other.invalidated_tokens;
        self.prompt_tokens += other.prompt_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.uncached_tokens += other.uncached_tokens;
        self.output_tokens += other.output_tokens;
        self.peak_prompt_tokens = self.peak_prompt_tokens.max(other.peak_prompt_tokens);
        self.cost_usd += other.cost_usd;
        self.refetch_usd += other.refetch_usd;
        self.refetch_seconds += other.refetch_seconds;
        self.compactions += other.compactions;
        self.given_back += other.given_back;
        self.previews += other.previews;
    }

    /// Adds one row. `window`: the context window in tokens.
    pub fn add(&mut self, row: &Row, window: Option<u64>) {
        self.requests += 1;
        self.refetch_requests += u64::from(row.kind == RowKind::Refetch);
        self.refetches += row.refetched;
        self.costly_refetches += row.costly_refetched;
        self.lost_needs += row.lost;
        self.unmet_needs += row.unmet;
        self.clear_events += u64::from(row.is_clear_event());
        self.cleared_uses += row.newly_cleared;
        self.freed_tokens += row.freed_tokens;
        self.cache_invalidations += u64::from(row.invalidated_tokens > 0);
        self.invalidated_tokens += row.invalidated_tokens;
        self.prompt_tokens += row.prompt_tokens;
        self.cache_read_tokens += row.cache_read;
        self.cache_write_tokens += row.cache_write;
        self.uncached_tokens += row.uncached;
        self.output_tokens += row.output_tokens;
        self.peak_prompt_tokens = self.peak_prompt_tokens.max(row.prompt_tokens);
        self.cost_usd += row.cost_usd;
        self.refetch_usd += row.refetch_usd;
        self.refetch_seconds += row.refetch_seconds;
        self.compactions += u64::from(row.kind == RowKind::Compact);
        self.given_back += row.given_back;
        self.previews += row.previews;
        if self.first_overflow.is_none() && window.is_some_and(|w| row.prompt_tokens + row.output_tokens > w) {
            self.first_overflow = Some(row.request);
        }
    }
}
