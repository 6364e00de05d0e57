//! Recorded usage, in the shapes that Anthropic and `OpenAI` give it, to disjoint fields.

use serde::Deserialize;

use super::super::lenient::{Count, Object};
use crate::trace::Usage;

/// The longer of the two TTLs that the provider offers.
pub const HOUR_MS: i64 = 3_600_000;

/// `usage` of a response. Anthropic's fields are disjoint; `OpenAI`'s `prompt_tokens` includes what was read from the cache, and where a
/// gateway adds Anthropic's cache fields to `OpenAI`'s shape, these too.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct RawUsage {
    pub input_tokens: Count,
    pub cache_creation_input_tokens: Count,
    pub cache_read_input_tokens: Count,
    pub output_tokens: Count,
    pub cache_creation: Object<CacheCreation>,
    pub prompt_tokens: Count,
    pub completion_tokens: Count,
    pub prompt_tokens_details: Object<PromptDetails>,
    /// Of the Responses API, whose `input_tokens` include what was read.
    pub input_tokens_details: Object<PromptDetails>,
}

/// Tokens written to the cache by TTL.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct CacheCreation {
    pub ephemeral_5m_input_tokens: Count,
    pub ephemeral_1h_input_tokens: Count,
}

/// `prompt_tokens_details`, with what `LiteLLM` adds to it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct PromptDetails {
    pub cached_tokens: Count,
    pub cache_creation_tokens: Count,
    pub cache_creation_token_details: Object<CacheCreation>,
}

impl Copy for Object<CacheCreation> {}
impl Copy for Object<PromptDetails> {}

impl RawUsage {
    /// Takes every field that `later` states: the figures of a stream are cumulative.
    pub fn update(&mut self, later: &Self) {
        let take = |mine: &mut Count, theirs: Count| {
            if theirs.0.is_some() {
                *mine = theirs;
            }
        };
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        take(&mut self.prompt_tokens, later.prompt_tokens);
        take(&mut self.completion_tokens, later.completion_tokens);
        if later.cache_creation.0.is_some() {
            self.cache_creation = later.cache_creation;
        }
        if later.prompt_tokens_details.0.is_some() {
            self.prompt_tokens_details = later.prompt_tokens_details;
        }
        if later.input_tokens_details.0.is_some() {
            self.input_tokens_details = later.input_tokens_details;
        }
    }

    /// From a value that is already parsed; `None` where it is no object.
    pub fn deserialize_lenient(value: &serde_json::Value) -> Option<Self> {
        value.is_object().then(|| serde_json::from_str(&value.to_string()).ok())?
    }

    /// Whether the log says how much was written for how long.
    pub fn split_by_ttl(&self) -> bool {
        self.creation().is_some()
    }

    fn creation(&self) -> Option<CacheCreation> {
        self.cache_creation.0.or_else(|| self.prompt_tokens_details.0.and_then(|d| d.cache_creation_token_details.0))
    }

    /// Usage with disjoint fields, and whether anything was written for an hour.
    ///
    /// Where the split by TTL does not sum to the total, the hour's part counts up to the total and the rest is 5 minutes.
    pub fn disjoint(&self) -> (Usage, bool) {
        let n = |c: Count| c.0.unwrap_or(0);
        let details = self.prompt_tokens_details.0.unwrap_or_default();
        let split = self.creation().unwrap_or_default();
        let (minutes, hour) = (n(split.ephemeral_5m_input_tokens), n(split.ephemeral_1h_input_tokens));
        let total = self.cache_creation_input_tokens.0.or(details.cache_creation_tokens.0).unwrap_or(minutes + hour);
        let hour = hour.min(total);
        let read = self.cache_read_input_tokens.0.or(details.cached_tokens.0).unwrap_or(0);
        let inclusive = self.input_tokens_details.0;
        let read = inclusive.and_then(|d| d.cached_tokens.0).unwrap_or(read);
        let input = match (self.input_tokens.0, self.prompt_tokens.0) {
            (Some(input), _) if inclusive.is_some() => input.saturating_sub(read + total),
            (None, Some(prompt)) => prompt.saturating_sub(read + total),
            (input, _) => input.unwrap_or(0),
        };
        let usage = Usage {
            input,
            cache_read: read,
            cache_write_5m: total - hour,
            cache_write_1h: hour,
            output: self.output_tokens.0.or(self.completion_tokens.0).unwrap_or(0),
        };
        (usage, hour > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> (Usage, bool) {
        serde_json::from_str::<RawUsage>(json).unwrap().disjoint()
    }

    #[test]
    fn both_shapes_come_out_disjoint() {
        let anthropic = of(r#"{"input_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":7}"#);
        assert_eq!(anthropic, (Usage { input: 3, cache_read: 100, cache_write_5m: 20, cache_write_1h: 0, output: 7 }, false));
        let openai =
            of(r#"{"prompt_tokens":123,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":100,"cache_creation_tokens":20}}"#);
        assert_eq!(openai, anthropic);
        let gateway = of(r#"{"prompt_tokens":123,"completion_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":20}"#);
        assert_eq!(gateway, anthropic);
        let responses = of(r#"{"input_tokens":123,"output_tokens":7,"input_tokens_details":{"cached_tokens":100}}"#);
        assert_eq!(responses.0, Usage { input: 23, cache_read: 100, output: 7, ..Usage::default() });
    }

    #[test]
    fn a_split_by_ttl_is_clamped_to_the_total() {
        let with = |split: &str| of(&format!(r#"{{"input_tokens":1,"cache_creation_input_tokens":50,"cache_creation":{split}}}"#));
        assert_eq!(with(r#"{"ephemeral_1h_input_tokens":30,"ephemeral_5m_input_tokens":20}"#).0.cache_write_1h, 30);
        let over = with(r#"{"ephemeral_1h_input_tokens":90}"#);
        assert_eq!((over.0.cache_write_5m, over.0.cache_write_1h, over.1), (0, 50, true));
        assert_eq!(with("null").0.cache_write_5m, 50);
    }
}
