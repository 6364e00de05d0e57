//! Token sizes of a part's items.
//!
//! Between two consecutive calls the recorded prompt grows by the previous output as it re-enters, and by what the client appended. So the
//! sum of a step is exact and only its spread over the step's items is estimated, by bytes and class. Where usage is missing, sizes follow
//! from the part's own bytes per token, and where there is none at all from defaults by model.

use super::clearing::{Change, Growth, Plan};
use super::fit::Fit;
use super::held_out::{HeldOut, Step};
use super::normal::{Call, Held, Item, Kind, Part};
use super::spread::{distribute, spread, spread_output};

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
    /// Clear events at which the recorded prompt does not fit what was cleared: the sizes of what came then are from bytes.
    pub estimated_steps: u64,
    /// Results that are placeholders in the log and whose original size the recorded growth shows.
    pub recovered_results: u64,
    /// Steps between recorded prompts, raw: what a held-out error is taken from. Of the part at hand.
    pub steps: Vec<Step>,
    /// The same part by part while a file is read; empty once [`Self::held_out`] is made of them.
    pub parts: Vec<Vec<Step>>,
    /// Held-out errors of the whole file, which is one session; in the report on a file only.
    pub held_out: HeldOut,
}

/// No text has more tokens than this many bytes each (dense hexadecimal comes near).
const DENSEST: f64 = 1.2;
/// By this share sizes from bytes may be wrong.
const UNCERTAIN: f64 = 0.35;

/// Sets the tokens of every item and returns `base_tokens`, which make the first recorded prompt whole.
///
/// Replayed without clearing, the prompt of each call with usage then equals the recorded one and what was cleared of it (`plan`, where the
/// log was recorded with clearing on), except after an impossible step. `assumed_base` stands in where no call has usage.
pub fn size(part: &mut Part, assumed_base: u32, mut plan: Option<&mut Plan>, report: &mut SizeReport) -> u32 {
    let fit = Fit::of(part, |i| plan.as_ref().is_none_or(|plan| plan.steady(part, i)));
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
    let first = known.first().copied().unwrap_or(part.calls.len());
    let assumed = u64::from(assumed_base);
    if let Some(plan) = plan.as_deref_mut() {
        let prompt = part.calls.get(first).and_then(|c| c.usage).map(|u| u.prompt());
        for i in 0..part.calls.len().min(first + 1) {
            let likely = assumed + before(part, i).map(|i| i.tokens).sum::<u64>();
            plan.pass(part, i, prompt.filter(|_| i == first).unwrap_or(likely), assumed);
        }
    }
    let mut base = assumed_base;
    if let Some(&last) = known.last() {
        base = first_prompt(part, first, plan.as_deref());
        for pair in known.windows(2) {
            step(part, pair[0], pair[1], base, &fit, plan.as_deref_mut(), report);
        }
        finish_output(&mut part.calls[last], &fit);
        if let Some(plan) = plan.as_deref_mut() {
            for i in last + 1..part.calls.len() {
                let likely = u64::from(base) + before(part, i).map(|i| i.tokens).sum::<u64>();
                plan.pass(part, i, likely, u64::from(base));
            }
        }
        agree(part, base, plan.as_deref(), report);
    }
    if let Some(plan) = plan {
        part.calls.iter_mut().zip(&plan.sets.counts).for_each(|(call, &n)| call.cleared_uses = n);
    }
    base
}

/// Sizes up to the first recorded prompt; what is not visible text is system prompt and tools.
fn first_prompt(part: &mut Part, first: usize, plan: Option<&Plan>) -> u32 {
    let cleared = plan.map_or(0, |plan| plan.cleared_tokens(part, first));
    let prompt = part.calls[first].usage.map_or(0, |u| u.prompt()).saturating_add_signed(cleared);
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
fn step(part: &mut Part, from: usize, to: usize, base: u32, fit: &Fit, plan: Option<&mut Plan>, report: &mut SizeReport) {
    let (Some(a), Some(b)) = (part.calls[from].usage, part.calls[to].usage) else { return };
    let mut growth = b.prompt() as i64 - a.prompt() as i64;
    let appended: Vec<&Item> =
        part.calls[from + 1..to].iter().flat_map(|c| c.input.iter().chain(&c.output)).chain(&part.calls[to].input).collect();
    let mut weights: Vec<f64> = appended.iter().map(|i| fit.tokens(i)).collect();
    let mut change = Change::default();
    if let Some(plan) = plan {
        let appends: f64 = weights.iter().sum();
        let likely = a.output as i64 + appends.round() as i64;
        let original = a.prompt().saturating_add_signed(plan.cleared_tokens(part, from) + likely);
        let tolerance = (appends * UNCERTAIN) as u64 + 300;
        change = plan.step(part, from, to, &Growth { grew: growth, likely, tolerance, original, base: u64::from(base) });
        // What arrived cleared: the prompt had only its placeholder.
        for (weight, item) in weights.iter_mut().zip(&appended) {
            if matches!(item.kind, Kind::Result(id) if change.arrived.contains(&id)) {
                *weight = plan.placeholder() as f64;
            }
        }
    }
    if to == from + 1 && change.is_none() {
        report.steps.push(Step::between(&part.calls[from], &part.calls[to], to, growth));
    }
    let expected: f64 = weights.iter().sum();
    if !change.is_none() {
        growth += change.freed;
        let most = (a.output as f64 + expected) * 3.0 + 500.0;
        if (growth as f64) < expected * 0.3 - 100.0 || growth as f64 > most {
            report.estimated_steps += 1;
            growth = a.output as i64 + expected.round() as i64;
        }
    }
    let lost: Vec<usize> = (0..appended.len()).filter(|&i| appended[i].held == Held::Placeholder).collect();
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
    let mut found: Vec<usize> = Vec::new();
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
        if !lost.is_empty() && rest as f64 > expected * 1.5 + 200.0 {
            // The prompt held whole what the log has a placeholder of.
            shares = weights.iter().map(|w| w.round() as u64).collect();
            let more = distribute(rest - shares.iter().sum::<u64>(), &vec![1.0; lost.len()]);
            for (&i, more) in lost.iter().zip(more) {
                shares[i] += more;
                found.push(i);
            }
            report.recovered_results += lost.len() as u64;
        } else if appended.is_empty() || rest as f64 > densest {
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
    let mut shares = shares.into_iter().enumerate();
    for i in from + 1..=to {
        let call = &mut part.calls[i];
        let output = if i < to { &mut call.output[..] } else { &mut [] };
        for item in call.input.iter_mut().chain(output) {
            let Some((at, share)) = shares.next() else { break };
            // What arrived cleared keeps its likely size.
            if !matches!(item.kind, Kind::Result(id) if change.arrived.contains(&id)) {
                item.tokens = share;
            }
            if found.contains(&at) {
                item.held = Held::Whole;
            }
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

/// Compares the prompts that the sizes add up to, less what was cleared of them, with the recorded ones.
fn agree(part: &Part, base: u32, plan: Option<&Plan>, report: &mut SizeReport) {
    let mut prompt = u64::from(base);
    let mut cleared = vec![false; part.uses.len()];
    for (i, call) in part.calls.iter().enumerate() {
        prompt += call.input.iter().map(|i| i.tokens).sum::<u64>();
        let gone = plan.map_or(0, |plan| {
            plan.sets.follow(i, &mut cleared);
            plan.tokens_of(part, i, &cleared)
        });
        if let Some(usage) = call.usage {
            let sent = prompt.saturating_add_signed(-gone);
            report.recorded_prompts += 1;
            report.exact_prompts += u64::from(usage.prompt() == sent);
            report.largest_difference = report.largest_difference.max(usage.prompt().abs_diff(sent));
        }
        prompt += call.output.iter().map(|i| i.tokens).sum::<u64>();
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::super::fit::RESULT_OVERHEAD;
    use super::*;
    use crate::trace::Usage;

    fn item(kind: Kind, bytes: u64) -> Item {
        Item { bytes, weight: bytes * 100, ..Item::new(kind) }
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
        let base = size(&mut all, 0, None, &mut report);
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
        size(&mut some, 0, None, &mut report);
        assert_eq!((report.exact_prompts, report.recorded_prompts, report.largest_difference), (4, 4, 0));
        assert!(some.calls.iter().all(|c| c.input[0].tokens > 100));
    }

    #[test]
    fn without_usage_sizes_follow_from_bytes_and_the_base_is_assumed() {
        let mut none = part(|_| false);
        let mut report = SizeReport::default();
        assert_eq!(size(&mut none, 4321, None, &mut report), 4321);
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
        size(&mut all, 0, None, &mut report);
        assert_eq!((report.shrunk_outputs, report.exact_prompts), (1, 12));
        let result = all.calls[6].input[0].tokens;
        assert!((1350..1450).contains(&result), "{result}");
    }
}
