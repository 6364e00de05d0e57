//! Bytes per token of one part, fitted to what it records. All bytes are weighed, see [`weigh`](super::weigh).

use super::normal::{Item, Kind, Part};

/// Tokens that a block costs beside its content: the wrapping of results and uses in the prompt, as seen at near-empty ones in logs with
/// recorded usage (a result of 5 bytes grows the prompt by 14 tokens; a call with 20 bytes of input is billed about 50).
pub(super) const RESULT_OVERHEAD: f64 = 12.0;
pub(super) const USE_OVERHEAD: f64 = 42.0;
pub(super) const USER_OVERHEAD: f64 = 4.0;

/// Bytes per token where nothing is recorded, by model name.
///
/// 2.5 for the tokenizer of Opus 4.7 and later, 3.4 for Claude models up to Sonnet 4.6, 3.2 Gemini, 4.0 GPT.
pub fn default_bytes_per_token(model: Option<&str>) -> f64 {
    let model = model.unwrap_or("").to_ascii_lowercase();
    if model.contains("gemini") {
        return 3.2;
    }
    if model.contains("gpt") || model.starts_with("o1") || model.starts_with("o3") || model.starts_with("o4") || model.contains("codex") {
        return 4.0;
    }
    if ["fable", "mythos"].iter().any(|m| model.contains(m)) {
        return 2.5;
    }
    // `claude-opus-4-7`, `claude-sonnet-5`: the version is the first numbers after the family.
    for family in ["opus", "sonnet", "haiku"] {
        let Some((_, after)) = model.split_once(family) else { continue };
        let mut numbers =
            after.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty() && n.len() < 3).filter_map(|n| n.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        return if version >= (4, 7) { 2.5 } else { 3.4 };
    }
    3.4
}

/// Bytes per token of one part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    pub input: f64,
    pub output: f64,
    pub fitted: bool,
}

/// Bytes of an item, weighed.
fn bytes(item: &Item) -> f64 {
    item.weight as f64 / 100.0
}

impl Fit {
    /// Likely tokens of an item.
    pub fn tokens(&self, item: &Item) -> f64 {
        let bytes = bytes(item);
        item.fixed as f64
            + match item.kind {
                Kind::User => USER_OVERHEAD + bytes / self.input,
                Kind::Result(_) => RESULT_OVERHEAD + bytes / self.input,
                Kind::Use(_) => USE_OVERHEAD + bytes / self.output,
                Kind::Text | Kind::Thinking => bytes / self.output,
            }
    }

    /// Likely tokens of several.
    pub fn sum<'i>(&self, items: impl IntoIterator<Item = &'i Item>) -> f64 {
        items.into_iter().map(|i| self.tokens(i)).sum()
    }

    /// Fits to the steps of a part of which `steady` says that nothing but growth happened at them.
    pub fn of(part: &Part, steady: impl Fn(usize) -> bool) -> Self {
        let default = default_bytes_per_token(main_model(part).as_deref());
        let mut fit = Self { input: default, output: default, fitted: false };
        // The second pass leaves out what the first pass shows to be no plain text.
        for _ in 0..2 {
            let (mut bytes_in, mut tokens_in, mut bytes_out, mut tokens_out) = (0.0, 0.0, 0.0, 0.0);
            for (i, (before, after)) in part.calls.iter().zip(part.calls.iter().skip(1)).enumerate() {
                let (Some(a), Some(b)) = (before.usage, after.usage) else { continue };
                if !before.complete || before.model != after.model || !steady(i + 1) {
                    continue;
                }
                let bytes: f64 = after.input.iter().map(bytes).sum();
                let plain = after.input.iter().all(|i| i.fixed == 0 && i.text_only && !i.guessed);
                let overhead = fit.sum(&after.input) - bytes / fit.input;
                let tokens = b.prompt() as f64 - a.prompt() as f64 - a.output as f64 - overhead;
                let expected = bytes / fit.input;
                if plain && bytes >= 200.0 && tokens > expected / 2.5 && tokens < expected * 2.5 {
                    bytes_in += bytes;
                    tokens_in += tokens;
                }
            }
            for call in part.calls.iter().filter(|c| c.complete) {
                let Some(usage) = call.usage else { continue };
                let bytes: f64 = call.output.iter().map(bytes).sum();
                let expected = bytes / fit.output;
                let tokens = usage.output as f64 - (fit.sum(&call.output) - expected);
                if bytes >= 100.0
                    && call.output.iter().all(|i| i.kind != Kind::Thinking)
                    && tokens > expected / 2.5
                    && tokens < expected * 2.5
                {
                    bytes_out += bytes;
                    tokens_out += tokens;
                }
            }
            if bytes_in >= 2000.0 {
                fit.input = bytes_in / tokens_in;
                fit.fitted = true;
            }
            if bytes_out >= 1000.0 {
                fit.output = bytes_out / tokens_out;
            }
        }
        fit
    }
}

/// The model that answered most calls, the first of several.
pub fn main_model(part: &Part) -> Option<String> {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for model in part.calls.iter().filter_map(|c| c.model.as_deref()) {
        match counts.iter_mut().find(|(m, _)| *m == model) {
            Some((_, n)) => *n += 1,
            None => counts.push((model, 1)),
        }
    }
    let most = counts.iter().map(|&(_, n)| n).max()?;
    counts.iter().find(|&&(_, n)| n == most).map(|&(m, _)| m.to_owned())
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_token_by_model() {
        for (model, bytes) in [
            ("claude-opus-4-7", 2.5),
            ("claude-opus-4-6", 3.4),
            ("claude-sonnet-4-6-20260101", 3.4),
            ("claude-sonnet-5", 2.5),
            ("claude-opus-4-20250514", 3.4),
            ("claude-3-5-haiku-20241022", 3.4),
            ("claude-fable-5", 2.5),
            ("gemini-3-pro", 3.2),
            ("gpt-5.4", 4.0),
            ("glm-4.7", 3.4),
        ] {
            assert_eq!(default_bytes_per_token(Some(model)), bytes, "{model}");
        }
    }
}
