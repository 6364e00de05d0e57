//! The proof of the baseline: what was billed against what the replay without clearing costs, with the cause of every difference.
//!
//! Recorded dollars are the recorded usage at the same prices, so that a difference is one of tokens. Requests without usage count on
//! neither side. A transcript that was recorded with clearing on was not billed for its whole prompts: it is replayed under the recorded
//! config, re-fetches that really happened included.

use serde::{Serialize, Serializer};

use crate::ingest::{Caching, RecordedClearing, natural_invalidations};
use crate::policy::{Assume, Cache, Settings};
use crate::replay::{Report, Row, replay};
use crate::trace::{Cause, Document, Trace, TraceError, Usage};

/// Tokens and dollars of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Side {
    /// Prompt tokens: the sum of the next three.
    pub prompt_tokens: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to it, for whatever time.
    pub cache_write: u64,
    /// Neither.
    pub uncached: u64,
    /// Answered.
    pub output_tokens: u64,
    /// USD.
    pub cost_usd: f64,
}

impl Side {
    fn add(&mut self, other: &Self) {
        self.prompt_tokens += other.prompt_tokens;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.uncached += other.uncached;
        self.output_tokens += other.output_tokens;
        self.cost_usd += other.cost_usd;
    }
}

/// Why a replayed request costs other than it was billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Prompts of another size: a step that cannot be, as when history shrank.
    Sizes,
    /// Outputs of another size: thinking that did not re-enter the prompt is replayed without it.
    Output,
    /// The first request found another part of the prompt cached than the replay can serve.
    WarmStart,
    /// At a natural invalidation of this cause the replay reads another amount than was recorded.
    Invalidation(Cause),
    /// After a gap at which calls that the log does not hold kept the cache warm.
    KeptWarm,
    /// More was read than the previous request left: calls that the log does not hold wrote it.
    UnloggedCalls,
    /// A little less was read than was held, too little for a natural invalidation.
    SmallShortfall,
    /// The replay's cache gives another amount, though the log shows nothing unusual.
    CacheModel,
    /// Prompt tokens billed as input, which the replay writes (or the reverse), and reads the next time: the last tokens of a prompt go
    /// uncached.
    Uncached,
    /// The request wrote for five minutes and for an hour, or its price tier differs.
    WritePrice,
}

impl Why {
    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sizes => "sizes",
            Self::Output => "output",
            Self::WarmStart => "warm_start",
            Self::Invalidation(cause) => cause.name(),
            Self::KeptWarm => "kept_warm",
            Self::UnloggedCalls => "unlogged_calls",
            Self::SmallShortfall => "small_shortfall",
            Self::CacheModel => "cache_model",
            Self::Uncached => "uncached",
            Self::WritePrice => "write_price",
        }
    }
}

impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What one cause adds to the difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The cause.
    pub why: Why,
    /// Requests that it shows at.
    pub requests: u64,
    /// Replayed less recorded, USD. The differences of a check sum to that of its costs.
    pub usd: f64,
    /// The last request that it was seen at, while they are counted.
    #[serde(skip)]
    pub(super) last: usize,
}

/// Natural invalidations of one cause with their price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PricedCause {
    /// The cause.
    pub cause: Cause,
    /// Requests.
    pub requests: u64,
    /// Tokens that the cache gave less than it held.
    pub tokens: u64,
    /// What they cost, USD: clamp(tokens, 0, written) × (write − read price).
    pub usd: f64,
}

/// One transcript, or the transcripts of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BillCheck {
    /// Session, by hash.
    pub session: String,
    /// Transcripts.
    pub transcripts: u64,
    /// Requests.
    pub requests: u64,
    /// Those with recorded usage: only these are compared.
    pub requests_with_usage: u64,
    /// Requests that carry `flush_above`.
    pub flushed_requests: u64,
    /// Requests before which calls that the log does not hold kept the cache warm.
    pub kept_warm: u64,
    /// Transcripts that were recorded with the provider's clearing on and are compared, as recorded, under the recorded config.
    pub under_recorded_config: u64,
    /// Requests that were sent with cleared results and are compared with the replay without clearing, which sends them whole.
    pub cleared_requests: u64,
    /// As billed.
    pub recorded: Side,
    /// As replayed: without clearing, or under the recorded config.
    pub replayed: Side,
    /// Their difference by cause, the largest first.
    pub differences: Vec<Difference>,
    /// Natural invalidations by cause.
    pub invalidations: Vec<PricedCause>,
}

impl BillCheck {
    /// Replayed less recorded cost, as a share of the recorded one; `None` where nothing was billed.
    pub fn relative(&self) -> Option<f64> {
        (self.recorded.cost_usd > 0.0).then(|| self.replayed.cost_usd / self.recorded.cost_usd - 1.0)
    }

    /// Adds `usd` at request `at`; a request counts once for a cause that it shows twice.
    fn differ(&mut self, why: Why, usd: f64, at: usize) {
        if usd == 0.0 {
            return;
        }
        match self.differences.iter_mut().find(|d| d.why == why) {
            Some(known) => {
                known.requests += u64::from(known.last != at);
                known.usd += usd;
                known.last = at;
            }
            None => self.differences.push(Difference { why, requests: 1, usd, last: at }),
        }
    }

    fn sort(&mut self) {
        self.differences.sort_by(|a, b| b.usd.abs().total_cmp(&a.usd.abs()).then(a.why.cmp(&b.why)));
        self.invalidations.sort_by_key(|i| i.cause);
    }

    /// Adds another transcript of the session.
    pub fn merge(&mut self, other: &Self) {
        self.transcripts += other.transcripts;
        self.requests += other.requests;
        self.requests_with_usage += other.requests_with_usage;
        self.flushed_requests += other.flushed_requests;
        self.kept_warm += other.kept_warm;
        self.under_recorded_config += other.under_recorded_config;
        self.cleared_requests += other.cleared_requests;
        self.recorded.add(&other.recorded);
        self.replayed.add(&other.replayed);
        for d in &other.differences {
            match self.differences.iter_mut().find(|known| known.why == d.why) {
                Some(known) => {
                    known.requests += d.requests;
                    known.usd += d.usd;
                }
                None => self.differences.push(*d),
            }
        }
        for i in &other.invalidations {
            self.add_invalidation(*i);
        }
        self.sort();
    }

    fn add_invalidation(&mut self, one: PricedCause) {
        match self.invalidations.iter_mut().find(|known| known.cause == one.cause) {
            Some(known) => {
                known.requests += one.requests;
                known.tokens += one.tokens;
                known.usd += one.usd;
            }
            None => self.invalidations.push(one),
        }
    }
}

/// Compares the bill of a transcript with its replay without clearing under `settings`, whose edit is not looked at.
///
/// # Errors
/// The document is no valid transcript.
pub fn bill(doc: &Document, settings: &Settings) -> Result<BillCheck, TraceError> {
    let cleared = doc.source.as_ref().and_then(|s| s["clearing"]["cleared_requests"].as_u64()).unwrap_or(0);
    let check = bill_under(doc, &Settings { edit: None, ..settings.clone() })?;
    Ok(BillCheck { cleared_requests: cleared, ..check })
}

/// Compares the bill of a transcript that was recorded with the provider's clearing on with the replay, as recorded, under the config that
/// most of its requests asked for. `settings`: those of its [`document`](RecordedClearing::document); their edit is not looked at.
///
/// # Errors
/// The document is no valid transcript.
pub fn recorded_bill(recorded: &RecordedClearing, settings: &Settings) -> Result<BillCheck, TraceError> {
    let check = bill_under(recorded.document(), &recorded_settings(recorded, settings))?;
    Ok(BillCheck { under_recorded_config: 1, ..check })
}

/// `settings` with the config that was recorded, and without re-fetches: those that happened are in the document.
pub fn recorded_settings(recorded: &RecordedClearing, settings: &Settings) -> Settings {
    let assume = Assume { max_refetch_rounds: 0, ..settings.assume.clone() };
    Settings { edit: recorded.main_edit().cloned(), assume, ..settings.clone() }
}

/// Compares with the replay as the settings say; nothing may be fetched again.
fn bill_under(doc: &Document, settings: &Settings) -> Result<BillCheck, TraceError> {
    let trace = Trace::from_document(doc)?;
    let report = replay(&trace, settings);
    Ok(compare(doc, &trace, settings, &report))
}

/// The transcripts of each session together, in the order of their first ones.
pub fn by_session(checks: &[BillCheck]) -> Vec<BillCheck> {
    let mut sessions: Vec<BillCheck> = Vec::new();
    for check in checks {
        match sessions.iter_mut().find(|s| s.session == check.session) {
            Some(session) => session.merge(check),
            None => sessions.push(check.clone()),
        }
    }
    sessions
}

fn compare(doc: &Document, trace: &Trace, settings: &Settings, report: &Report) -> BillCheck {
    let caching = Caching::of(doc.requests.iter().map(|r| r.usage));
    let mut check = BillCheck {
        session: trace.session.clone(),
        transcripts: 1,
        requests: doc.requests.len() as u64,
        flushed_requests: doc.requests.iter().filter(|r| r.flush_above.is_some()).count() as u64,
        kept_warm: doc.requests.iter().filter(|r| r.kept_warm).count() as u64,
        ..BillCheck::default()
    };
    for (i, (request, row)) in doc.requests.iter().zip(&report.requests).enumerate() {
        let Some(usage) = request.usage else { continue };
        let (cache, prices) = settings.terms(trace.requests[i].model);
        let one_hour = cache.ttl(request.ttl_ms) > Cache::DEFAULT_TTL_MS;
        let recorded = prices.recorded(&usage);
        check.requests_with_usage += 1;
        check.recorded.add(&Side {
            prompt_tokens: usage.prompt(),
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m + usage.cache_write_1h,
            uncached: usage.input,
            output_tokens: usage.output,
            cost_usd: recorded,
        });
        check.replayed.add(&Side {
            prompt_tokens: row.prompt_tokens,
            cache_read: row.cache_read,
            cache_write: row.cache_write,
            uncached: row.uncached,
            output_tokens: row.output_tokens,
            cost_usd: row.cost_usd,
        });
        let of = prices.at(row.prompt_tokens);
        let write = if one_hour { of.cache_write_1h } else { of.cache_write };
        let before = i.checked_sub(1).and_then(|i| doc.requests[i].usage);
        let reads = match before {
            // The replay's entry spans the whole prompt that wrote it, the recorded one ends before its uncached tokens.
            Some(b) if usage.cache_read == caching.held(b) && row.cache_read == b.prompt() => Why::Uncached,
            _ => why_reads(&usage, before.map(|b| caching.held(b)), request.kept_warm, request.invalidation_cause),
        };
        let parts = [
            (Why::Sizes, difference(row.prompt_tokens, usage.prompt()) * write),
            (Why::Output, difference(row.output_tokens, usage.output) * of.output),
            (Why::Uncached, difference(row.uncached, usage.input) * (of.input - write)),
            (reads, difference(row.cache_read, usage.cache_read) * (of.cache_read - write)),
        ];
        let explained: f64 = parts.iter().map(|(_, usd)| usd / 1e6).sum();
        for (why, usd) in parts {
            check.differ(why, usd / 1e6, i);
        }
        let rest = row.cost_usd - recorded - explained;
        // Less than a billionth of a dollar is rounding.
        check.differ(Why::WritePrice, if rest.abs() < 1e-9 { 0.0 } else { rest }, i);
    }
    for one in natural_invalidations(doc) {
        let (i, row): (usize, &Row) = (one.request as usize, &report.requests[one.request as usize]);
        let (cache, prices) = settings.terms(trace.requests[i].model);
        let of = prices.at(doc.requests[i].usage.map_or(row.prompt_tokens, |u| u.prompt()));
        let hour = cache.ttl(doc.requests[i].ttl_ms) > Cache::DEFAULT_TTL_MS;
        let write = match caching {
            Caching::Prefix => of.input,
            _ if hour => of.cache_write_1h,
            _ => of.cache_write,
        };
        let usd = one.billed_tokens as f64 * (write - of.cache_read) / 1e6;
        check.add_invalidation(PricedCause { cause: one.cause, requests: 1, tokens: one.tokens, usd });
    }
    check.sort();
    check
}

/// Why a request read other than the replay does. `held`: what the previous request left, if that is known.
fn why_reads(usage: &Usage, held: Option<u64>, kept_warm: bool, cause: Option<Cause>) -> Why {
    match (held, cause) {
        (None, _) => Why::WarmStart,
        (_, Some(cause)) => Why::Invalidation(cause),
        _ if kept_warm => Why::KeptWarm,
        (Some(held), _) if usage.cache_read > held => Why::UnloggedCalls,
        (Some(held), _) if usage.cache_read < held => Why::SmallShortfall,
        _ => Why::CacheModel,
    }
}

fn difference(replayed: u64, recorded: u64) -> f64 {
    replayed as f64 - recorded as f64
}
