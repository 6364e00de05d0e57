//! Predicted against recorded usage.

use serde::Serialize;

use crate::policy::Settings;
use crate::replay::replay;
use crate::sweep::Transcript;
use crate::trace::{Document, Trace, Usage};

/// Tokens and dollars of some requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Tokens {
    /// Prompt tokens: uncached, read and written.
    pub prompt: u64,
    /// Neither read nor written.
    pub uncached: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// Answered.
    pub output: u64,
    /// USD at the prices of the transcript's settings.
    pub cost_usd: f64,
}

/// The replay beside what the provider recorded, over the requests with recorded usage: without clearing, or under the recorded config
/// where a transcript was recorded with clearing on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recorded {
    /// Requests with recorded usage.
    pub requests: u64,
    /// Requests in all.
    pub of_requests: u64,
    /// As recorded.
    pub recorded: Tokens,
    /// As replayed.
    pub predicted: Tokens,
    /// Requests whose predicted prompt differs from the recorded one by more than 1 % of it.
    pub prompts_off_by_more_than_1_percent: u64,
}

impl Recorded {
    /// Compares with the replay without clearing; `None` where no request carries usage. `documents` and `transcripts` belong together
    /// one by one.
    pub fn new(documents: &[Document], transcripts: &[Transcript]) -> Option<Self> {
        let none = |t: &Transcript| Settings { edit: None, ..t.settings.clone() };
        Self::under(documents.iter().zip(transcripts).map(|(doc, t)| (doc, &t.trace, none(t))))
    }

    /// Compares with the replay under the settings given, which must fetch nothing again: with the recorded config, where a transcript was
    /// recorded with clearing on. `None` where no request carries usage.
    pub fn under<'a>(all: impl IntoIterator<Item = (&'a Document, &'a Trace, Settings)>) -> Option<Self> {
        let mut sums = Self::default();
        for (document, trace, settings) in all {
            sums.of_requests += document.requests.len() as u64;
            if document.requests.iter().all(|r| r.usage.is_none()) {
                continue;
            }
            let report = replay(trace, &settings);
            // Nothing is fetched again, so rows are requests.
            debug_assert_eq!(report.requests.len(), document.requests.len());
            for (request, row) in document.requests.iter().zip(&report.requests) {
                let Some(usage) = request.usage else { continue };
                sums.requests += 1;
                sums.recorded.add_usage(usage, &settings);
                let p = &mut sums.predicted;
                p.prompt += row.prompt_tokens;
                p.uncached += row.uncached;
                p.cache_read += row.cache_read;
                p.cache_write += row.cache_write;
                p.output += row.output_tokens;
                p.cost_usd += row.cost_usd;
                let off = row.prompt_tokens.abs_diff(usage.prompt());
                sums.prompts_off_by_more_than_1_percent += u64::from(off * 100 > usage.prompt());
            }
        }
        (sums.requests > 0).then_some(sums)
    }

    /// Predicted prompt tokens over recorded ones, less 1; `None` where none were recorded.
    pub fn prompt_difference(&self) -> Option<f64> {
        difference(self.predicted.prompt as f64, self.recorded.prompt as f64)
    }

    /// Predicted USD over those of the recorded usage, less 1; `None` where these are 0.
    pub fn cost_difference(&self) -> Option<f64> {
        difference(self.predicted.cost_usd, self.recorded.cost_usd)
    }
}

fn difference(predicted: f64, recorded: f64) -> Option<f64> {
    (recorded > 0.0).then(|| predicted / recorded - 1.0)
}

impl Tokens {
    fn add_usage(&mut self, usage: Usage, settings: &Settings) {
        self.prompt += usage.prompt();
        self.uncached += usage.input;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write_5m + usage.cache_write_1h;
        self.output += usage.output;
        // The two kinds of writes have prices of their own; the rest is billed once.
        let prompt = usage.prompt();
        self.cost_usd += settings.prices.cost(prompt, usage.input, usage.cache_read, usage.cache_write_5m, usage.output, false)
            + settings.prices.cost(prompt, 0, 0, usage.cache_write_1h, 0, true);
    }
}
