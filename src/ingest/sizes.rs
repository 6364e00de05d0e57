//! Token sizes of a part's items.
//!
//! Between two consecutive calls the recorded prompt grows by the previous output as it re-enters, and by what the client appended. So the
//! sum of a step is exact and only its spread over the step's items is estimated, by bytes and class. Where usage is missing, sizes follow
//! from the part's own bytes per token, and where there is none at all from defaults by model.

use super::held_out::{HeldOut, Step};
use super::normal::{Call, Item, Kind, Part};

/// How the sizes of one part, or of the parts of one file, were found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SizeReport {
    /// Client-side bytes per token that were fitted to the recorded growth, or the default.
    pub input_bytes_per_token: f64,
    /// Bytes per token of what the model wrote.
    pub output_bytes_per_token: f64,
    /// Whether these were fitted (`false`: default by model).
    pub fitted: bool,
    /// Requests whose replayed prompt equals the recorded one.
    pub exact_prompts: u64,
    /// Requests with a recorded prompt.
    pub recorded_prompts: u64,
    /// Largest difference between the two, tokens.
    pub largest_difference: u64,
    /// Steps whose growth cannot be (the prompt shrank, or the model changed): the difference stays for the rest of the part.
    pub impossible_steps: u64,
    /// Steps at which the previous output did not re-enter whole, so that its replayed size is smaller than the recorded output.
    pub shrunk_outputs: u64,
    /// Tokens that outputs lost by that.
    pub shrunk_tokens: u64,
    /// Outputs whose recorded count was not final (an older client logged it before the answer ended).
    pub partial_outputs: u64,
    /// Tokens by which these grew the prompt beyond the recorded count. They count as client text of the next request, so that the
    /// replayed output equals the recorded one.
    pub partial_tokens: u64,
    /// Tokens that grew without any text in the log to hold them (tool definitions loaded late, reminders); they count as client text.
    pub unlogged_tokens: u64,
    /// Steps between recorded prompts, raw: what a held-out error is taken from. Of the part at hand.
    pub steps: Vec<Step>,
    /// The same part by part, in the report on a file.
    pub parts: Vec<Vec<Step>>,
    /// Held-out errors of the whole file, which is one session; in the report on a file only.
    pub held_out: HeldOut,
}

/// Tokens that a block costs beside its content: the wrapping of results and uses in the prompt, as seen at near-empty ones in logs with
/// recorded usage (a result of 5 bytes grows the prompt by 14 tokens; a call with 20 bytes of input is billed about 50).
pub(super) const RESULT_OVERHEAD: f64 = 12.0;
pub(super) const USE_OVERHEAD: f64 = 42.0;
pub(super) const USER_OVERHEAD: f64 = 4.0;
/// No text has more tokens than this many bytes each (dense hexadecimal comes near).
const DENSEST: f64 = 1.2;

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
struct Fit {
    input: f64,
    output: f64,
    fitted: bool,
}

impl Fit {
    fn tokens(&self, item: &Item) -> f64 {
        let bytes = item.bytes as f64;
        item.fixed as f64
            + match item.kind {
                Kind::User => USER_OVERHEAD + bytes / self.input,
                Kind::Result(_) => RESULT_OVERHEAD + bytes / self.input,
                Kind::Use(_) => USE_OVERHEAD + bytes / self.output,
                Kind::Text | Kind::Thinking => bytes / self.output,
            }
    }

    fn sum<'i>(&self, items: impl IntoIterator<Item = &'i Item>) -> f64 {
        items.into_iter().map(|i| self.tokens(i)).sum()
    }

    fn of(part: &Part) -> Self {
        let default = default_bytes_per_token(main_model(part).as_deref());
        let mut fit = Self { input: default, output: default, fitted: false };
        // The second pass leaves out what the first pass shows to be no plain text.
        for _ in 0..2 {
            let (mut bytes_in, mut tokens_in, mut bytes_out, mut tokens_out) = (0.0, 0.0, 0.0, 0.0);
            for (before, after) in part.calls.iter().zip(part.calls.iter().skip(1)) {
                let (Some(a), Some(b)) = (before.usage, after.usage) else { continue };
                if !before.complete || before.model != after.model {
                    continue;
                }
                let bytes: u64 = after.input.iter().map(|i| i.bytes).sum();
                let plain = after.input.iter().all(|i| i.fixed == 0 && i.text_only && !i.guessed);
                let overhead = fit.sum(&after.input) - bytes as f64 / fit.input;
                let tokens = b.prompt() as f64 - a.prompt() as f64 - a.output as f64 - overhead;
                let expected = bytes as f64 / fit.input;
                if plain && bytes >= 200 && tokens > expected / 2.5 && tokens < expected * 2.5 {
                    bytes_in += bytes as f64;
                    tokens_in += tokens;
                }
            }
            for call in part.calls.iter().filter(|c| c.complete) {
                let Some(usage) = call.usage else { continue };
                let bytes: u64 = call.output.iter().map(|i| i.bytes).sum();
                let expected = bytes as f64 / fit.output;
                let tokens = usage.output as f64 - (fit.sum(&call.output) - expected);
                if bytes >= 100
                    && call.output.iter().all(|i| i.kind != Kind::Thinking)
                    && tokens > expected / 2.5
                    && tokens < expected * 2.5
                {
                    bytes_out += bytes as f64;
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

/// Sets the tokens of every item and returns `base_tokens`, which make the first recorded prompt whole.
///
/// Replayed without clearing, the prompt of each call with usage then equals the recorded one, except after an impossible step.
/// `assumed_base` stands in where no call has usage.
pub fn size(part: &mut Part, assumed_base: u32, report: &mut SizeReport) -> u32 {
    let fit = Fit::of(part);
    report.input_bytes_per_token = fit.input;
    report.output_bytes_per_token = fit.output;
    report.fitted = fit.fitted;
    for call in &mut part.calls {
        if call.output.is_empty() && call.usage.is_some_and(|u| u.output > 0) {
            // The answer was billed though the log shows none of it.
            call.output.push(Item::new(Kind::Text));
        }
        for item in call.input.iter_mut().chain(&mut call.output) {
            item.tokens = fit.tokens(item).round() as u64;
        }
    }
    let known: Vec<usize> = (0..part.calls.len()).filter(|&i| part.calls[i].usage.is_some()).collect();
    let Some((&first, &last)) = known.first().zip(known.last()) else { return assumed_base };
    let base = first_prompt(part, first);
    for pair in known.windows(2) {
        step(part, pair[0], pair[1], &fit, report);
    }
    finish_output(&mut part.calls[last], &fit);
    agree(part, base, report);
    base
}

/// Sizes up to the first recorded prompt; what is not visible text is system prompt and tools.
fn first_prompt(part: &mut Part, first: usize) -> u32 {
    let prompt = part.calls[first].usage.map_or(0, |u| u.prompt());
    let warm = part.calls[first].usage.map_or(0, |u| u.cache_read);
    let visible = |part: &Part| -> u64 { before(part, first).map(|i| i.tokens).sum() };
    let text = visible(part);
    let mut room = text.min(prompt);
    // What the cache held before the session began is the same for all sessions, so it is system prompt and tools, unless the text would
    // then have to be much smaller than it looks (a session that goes on from another).
    if first == 0 && prompt - room < warm && prompt - warm >= room / 2 {
        room = prompt - warm;
    }
    if room < text {
        let weights: Vec<f64> = before(part, first).map(|i| i.tokens as f64).collect();
        let mut shares = distribute(room, &weights).into_iter();
        for i in 0..=first {
            let call = &mut part.calls[i];
            let output = if i < first { &mut call.output[..] } else { &mut [] };
            for item in call.input.iter_mut().chain(output) {
                item.tokens = shares.next().unwrap_or(0);
            }
        }
    }
    u32::try_from(prompt - room).unwrap_or(u32::MAX)
}

/// Items in the prompt of call `i`.
fn before(part: &Part, i: usize) -> impl Iterator<Item = &Item> {
    let outputs = part.calls[..i].iter().flat_map(|c| c.input.iter().chain(&c.output));
    outputs.chain(&part.calls[i].input)
}

/// One step from the recorded prompt of call `from` to that of call `to`.
fn step(part: &mut Part, from: usize, to: usize, fit: &Fit, report: &mut SizeReport) {
    let (Some(a), Some(b)) = (part.calls[from].usage, part.calls[to].usage) else { return };
    let growth = b.prompt() as i64 - a.prompt() as i64;
    if to == from + 1 {
        report.steps.push(Step::between(&part.calls[from], &part.calls[to], to, growth));
    }
    let appended: Vec<&Item> =
        part.calls[from + 1..to].iter().flat_map(|c| c.input.iter().chain(&c.output)).chain(&part.calls[to].input).collect();
    let weights: Vec<f64> = appended.iter().map(|i| fit.tokens(i)).collect();
    let expected: f64 = weights.iter().sum();
    let densest: f64 = appended.iter().map(|i| i.bytes as f64 / DENSEST).sum::<f64>() + expected + 100.0;
    let fixed: Vec<u64> = appended.iter().map(|i| i.fixed).collect();
    let switched = part.calls[from].model != part.calls[to].model;
    let likely = a.output as f64 + expected;
    if growth < 0 || (switched && !(likely * 0.4..=likely * 2.5 + 500.0).contains(&(growth as f64))) {
        report.impossible_steps += 1;
        finish_output(&mut part.calls[from], fit);
        return;
    }
    let growth = growth as u64;
    let output = a.output;
    let beyond = beyond_recorded(&part.calls[from], output, growth, expected, fit);
    report.partial_outputs += u64::from(beyond > 0);
    report.partial_tokens += beyond;
    let total = growth;
    let growth = growth - beyond;
    let mut shares;
    let mut unlogged = 0;
    let mut entered = output;
    if growth < output || ((growth - output) as f64) < expected * 0.15 {
        // The previous output did not re-enter whole (thinking is left out of later turns): what was appended keeps its likely size.
        let rest = (expected.round() as u64).min(growth);
        entered = growth - rest;
        if entered < output {
            report.shrunk_outputs += 1;
            report.shrunk_tokens += output - entered;
        }
        shares = distribute(rest, &weights);
    } else {
        let rest = growth - output;
        if appended.is_empty() || rest as f64 > densest {
            shares = weights.iter().map(|w| w.round() as u64).collect();
            unlogged = rest - shares.iter().sum::<u64>().min(rest);
        } else {
            shares = spread(rest, &weights, &fixed);
        }
    }
    drop(appended);
    report.unlogged_tokens += unlogged;
    spread_output(&mut part.calls[from].output, entered, fit);
    let used: u64 = shares.iter().sum::<u64>() + unlogged + part.calls[from].output.iter().map(|i| i.tokens).sum::<u64>();
    unlogged += total - used.min(total);
    shares.reverse();
    for i in from + 1..=to {
        let call = &mut part.calls[i];
        let output = if i < to { &mut call.output[..] } else { &mut [] };
        for item in call.input.iter_mut().chain(output) {
            item.tokens = shares.pop().unwrap_or(0);
        }
    }
    if unlogged > 0 {
        let input = &mut part.calls[to].input;
        match input.last_mut().filter(|i| i.kind == Kind::User) {
            Some(text) => text.tokens += unlogged,
            None => input.push(Item { tokens: unlogged, ..Item::new(Kind::User) }),
        }
    }
}

/// By how much the output of `call` was larger than a recorded count that is not final, as far as the growth shows it.
fn beyond_recorded(call: &Call, recorded: u64, growth: u64, appended: f64, fit: &Fit) -> u64 {
    if call.complete {
        return 0;
    }
    let visible = fit.sum(&call.output);
    let hidden = call.output.iter().any(|i| i.kind == Kind::Thinking && i.bytes == 0);
    let left = growth.saturating_sub(appended.round() as u64);
    let likely = match (hidden, recorded as f64 >= visible * 0.8) {
        (true, _) => left,
        (false, false) => (visible.round() as u64).min(left),
        (false, true) => recorded,
    };
    likely.saturating_sub(recorded)
}

/// Tokens of the last output of a stretch, whose re-entry no later prompt shows.
fn finish_output(call: &mut Call, fit: &Fit) {
    if let Some(usage) = call.usage {
        spread_output(&mut call.output, usage.output, fit);
    }
}

/// Spreads an output over its blocks; thinking whose text the log does not keep takes what the visible blocks leave.
fn spread_output(items: &mut [Item], total: u64, fit: &Fit) {
    let hidden = |i: &Item| i.kind == Kind::Thinking && i.bytes == 0;
    let unseen = items.iter().filter(|i| hidden(i)).count() as u64;
    let mut weights: Vec<f64> = items.iter().map(|i| fit.tokens(i)).collect();
    if unseen > 0 {
        let visible: f64 = weights.iter().sum();
        let rest = (total as f64 - visible).max(unseen as f64) / unseen as f64;
        for (weight, item) in weights.iter_mut().zip(items.iter()) {
            if hidden(item) {
                *weight = rest;
            }
        }
    }
    for (item, share) in items.iter_mut().zip(distribute(total, &weights)) {
        item.tokens = share;
    }
}

/// Like [`distribute`], but images keep their size where there is room for it.
fn spread(total: u64, weights: &[f64], fixed: &[u64]) -> Vec<u64> {
    let images: u64 = fixed.iter().sum();
    let text: f64 = weights.iter().sum::<f64>() - images as f64;
    if images == 0 || (total.saturating_sub(images) as f64) < text * 0.5 || text <= 0.0 {
        return distribute(total, weights);
    }
    let texts: Vec<f64> = weights.iter().zip(fixed).map(|(w, &f)| w - f as f64).collect();
    distribute(total - images, &texts).into_iter().zip(fixed).map(|(t, f)| t + f).collect()
}

/// Splits `total` in proportion to `weights` into whole numbers that sum to it (largest remainder; the first of equals). No weights: nothing
/// is split. All zero: equal parts.
pub fn distribute(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let even = sum <= 0.0 || !sum.is_finite();
    let share = |w: f64| if even { total as f64 / weights.len() as f64 } else { total as f64 * (w / sum) };
    let mut parts: Vec<u64> = weights.iter().map(|&w| (share(w).floor() as u64).min(total)).collect();
    let mut left = total.saturating_sub(parts.iter().sum());
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| (share(weights[b]).fract()).total_cmp(&share(weights[a]).fract()).then(a.cmp(&b)));
    for &i in order.iter().cycle().take(if weights.is_empty() { 0 } else { left as usize }) {
        parts[i] += 1;
        left -= 1;
    }
    // Rounding of huge totals may give a unit too many.
    let mut over = parts.iter().sum::<u64>().saturating_sub(total);
    for part in parts.iter_mut().rev() {
        let less = over.min(*part);
        *part -= less;
        over -= less;
    }
    debug_assert!(left == 0 || weights.is_empty());
    parts
}

/// Compares the prompts that the sizes add up to with the recorded ones.
fn agree(part: &Part, base: u32, report: &mut SizeReport) {
    let mut prompt = u64::from(base);
    for call in &part.calls {
        prompt += call.input.iter().map(|i| i.tokens).sum::<u64>();
        if let Some(usage) = call.usage {
            report.recorded_prompts += 1;
            report.exact_prompts += u64::from(usage.prompt() == prompt);
            report.largest_difference = report.largest_difference.max(usage.prompt().abs_diff(prompt));
        }
        prompt += call.output.iter().map(|i| i.tokens).sum::<u64>();
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;
    use crate::trace::Usage;

    #[test]
    fn parts_sum_to_the_total_and_the_largest_remainders_round_up() {
        assert_eq!(distribute(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(distribute(10, &[2.0, 1.0, 1.0]), [5, 3, 2]);
        assert_eq!(distribute(7, &[0.0, 0.0]), [4, 3]);
        assert_eq!(distribute(0, &[5.0, 1.0]), [0, 0]);
        assert!(distribute(5, &[]).is_empty());
        for total in [1, 17, 99_999, 1 << 40] {
            let weights: Vec<f64> = (0..37).map(|i| f64::from(i * i % 11) + 0.1).collect();
            assert_eq!(distribute(total, &weights).iter().sum::<u64>(), total);
        }
    }

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

    fn item(kind: Kind, bytes: u64) -> Item {
        Item { bytes, ..Item::new(kind) }
    }

    /// A part whose text has 2 bytes a token beside the overheads, with usage on the calls that `known` names.
    fn part(known: impl Fn(usize) -> bool) -> Part {
        let mut prompt = 10_000;
        let calls = (0..12u32)
            .map(|i| {
                let bytes = 1000 + u64::from(i) * 300;
                let input = if i == 0 { vec![item(Kind::User, 400)] } else { vec![item(Kind::Result(i - 1), bytes)] };
                prompt += if i == 0 { 0 } else { bytes / 2 + RESULT_OVERHEAD as u64 + 100 };
                let usage = Usage { input: prompt, output: 100, ..Usage::default() };
                Call {
                    input,
                    output: vec![item(Kind::Use(i), 116)],
                    usage: known(i as usize).then_some(usage),
                    complete: true,
                    ..Call::default()
                }
            })
            .collect();
        Part { uses: vec![String::new(); 12], calls, ..Part::default() }
    }

    #[test]
    fn recorded_growth_gives_each_result_its_size() {
        let mut all = part(|_| true);
        let mut report = SizeReport::default();
        let base = size(&mut all, 0, &mut report);
        assert!(report.fitted && (report.input_bytes_per_token - 2.0).abs() < 0.01, "{report:?}");
        assert_eq!((report.exact_prompts, report.recorded_prompts, report.steps.len()), (12, 12, 11));
        assert_eq!(base, 10_000 - 204);
        for (i, call) in all.calls.iter().enumerate().skip(1) {
            assert_eq!(call.input[0].tokens, u64::midpoint(1000, i as u64 * 300) + 12);
            assert_eq!(call.output[0].tokens, 100);
        }
    }

    #[test]
    fn calls_without_usage_lie_between_recorded_prompts() {
        let mut some = part(|i| i == 2 || i % 4 == 1);
        let mut report = SizeReport::default();
        size(&mut some, 0, &mut report);
        assert_eq!((report.exact_prompts, report.recorded_prompts, report.largest_difference), (4, 4, 0));
        assert!(some.calls.iter().all(|c| c.input[0].tokens > 100));
    }

    #[test]
    fn without_usage_sizes_follow_from_bytes_and_the_base_is_assumed() {
        let mut none = part(|_| false);
        let mut report = SizeReport::default();
        assert_eq!(size(&mut none, 4321, &mut report), 4321);
        assert_eq!((report.recorded_prompts, report.fitted), (0, false));
        assert_eq!(none.calls[1].input[0].tokens, (12.0 + 1300.0 / 3.4f64).round() as u64);
    }

    #[test]
    fn thinking_that_does_not_re_enter_leaves_results_their_size() {
        let mut all = part(|_| true);
        for call in &mut all.calls[6..] {
            // The output of call 5 was large and its thinking was left out of all that follows.
            call.usage.as_mut().unwrap().input += 20;
        }
        all.calls[5].output.insert(0, item(Kind::Thinking, 5000));
        all.calls[5].usage.as_mut().unwrap().output = 2600;
        let mut report = SizeReport::default();
        size(&mut all, 0, &mut report);
        assert_eq!((report.shrunk_outputs, report.exact_prompts), (1, 12));
        let result = all.calls[6].input[0].tokens;
        assert!((1350..1450).contains(&result), "{result}");
    }
}
