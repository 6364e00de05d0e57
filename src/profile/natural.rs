//! Invalidations that no clearing caused, and what they cost.

use serde::Serialize;

use crate::policy::Settings;
use crate::replay::{Totals, plain};
use crate::sweep::Transcript;
use crate::trace::{Document, Trace};

/// Natural invalidations of one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// Why entries were lost; `unknown` where the source does not tell.
    pub cause: String,
    /// Requests before which it happened.
    pub requests: u64,
    /// Tokens that the cache would have given besides, had none of these happened.
    pub lost_tokens: u64,
    /// USD that the transcripts would have cost less, had none of these happened.
    pub cost_usd: f64,
}

/// Indices of the requests, but the first, before which the cache lost an entry of the prompt before.
///
/// A mark beyond the size of that prompt drops nothing: it only says what the provider still served.
pub(super) fn invalidated(trace: &Trace) -> impl Iterator<Item = usize> + '_ {
    let mut size = trace.base_tokens;
    let mut before = 0;
    trace.requests.iter().enumerate().filter_map(move |(i, request)| {
        let sum = |from: u32, to: u32| trace.tokens[from as usize..to as usize].iter().map(|&t| u64::from(t)).sum::<u64>();
        let last = std::mem::replace(&mut before, size + sum(request.input, request.output));
        size += sum(request.input, request.end);
        (i > 0 && request.flush_above.is_some_and(|n| n < last)).then_some(i)
    })
}

/// Why entries were lost before a request, as far as the source tells.
fn cause(document: &Document, request: usize) -> &'static str {
    document.requests[request].invalidation_cause.unwrap_or(crate::trace::Cause::Unknown).name()
}

/// Natural invalidations by cause, in the order of the causes' names, with what each cause cost under no clearing: the difference between
/// the replay as it is and one without the invalidations of that cause. `documents` and `transcripts` belong together one by one.
pub fn natural_invalidations(documents: &[Document], transcripts: &[Transcript]) -> Vec<Cause> {
    let mut engine = plain::Engine::default();
    let mut causes: std::collections::BTreeMap<&'static str, Cause> = std::collections::BTreeMap::new();
    for (document, transcript) in documents.iter().zip(transcripts) {
        let seen: Vec<(usize, &'static str)> = invalidated(&transcript.trace).map(|i| (i, cause(document, i))).collect();
        if seen.is_empty() {
            continue;
        }
        let mut names: Vec<&'static str> = seen.iter().map(|s| s.1).collect();
        names.sort_unstable();
        names.dedup();
        let none = Settings { edit: None, ..transcript.settings.clone() };
        let mut run = |trace: &Trace| -> Totals { engine.run(trace, &none, |_| {}) };
        let as_it_is = run(&transcript.trace);
        for name in names {
            let mut without = transcript.trace.clone();
            let mut requests = 0;
            for (i, _) in seen.iter().filter(|s| s.1 == name) {
                without.requests[*i].flush_above = None;
                requests += 1;
            }
            let spared = run(&without);
            let entry = causes.entry(name).or_insert_with(|| Cause { cause: name.to_owned(), requests: 0, lost_tokens: 0, cost_usd: 0.0 });
            entry.requests += requests;
            entry.lost_tokens += spared.cache_read_tokens.saturating_sub(as_it_is.cache_read_tokens);
            entry.cost_usd += as_it_is.cost_usd - spared.cost_usd;
        }
    }
    causes.into_values().collect()
}
