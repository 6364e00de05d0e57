//! How wrong sizes are: the held-out error.
//!
//! Sizes that are spread from recorded growth add up to the recorded prompts by construction, so their own agreement proves nothing. Here
//! bytes per token are fitted, by class, on every other step of a session and predict the rest, both ways round.

use super::fit::{RESULT_OVERHEAD, USE_OVERHEAD, USER_OVERHEAD};
use super::normal::{Call, Item, Kind};

/// The recorded growth from one call to the next and the bytes that make it up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// Index of the call at which the growth is seen.
    pub call: u32,
    /// Prompt tokens of this call less those of the previous one.
    pub growth: i64,
    /// Prompt tokens of this call.
    pub prompt: u64,
    /// Whether another model answers, so that tokens are counted anew.
    pub switched: bool,
    /// Recorded output tokens of the previous call.
    pub output_tokens: u64,
    /// Bytes of that output which the log shows; these and the next two are weighed by what they are.
    pub output_bytes: u64,
    /// Tool uses in it.
    pub output_uses: u32,
    /// Whether the recorded count is final.
    pub complete: bool,
    /// Tool results among what the client appended.
    pub results: u32,
    /// Bytes of their text.
    pub result_bytes: u64,
    /// Bytes of other client text.
    pub user_bytes: u64,
    /// Tokens of images.
    pub image_tokens: u64,
}

impl Step {
    /// The step from `before` to `now`, call number `call`, which grew the prompt by `growth`.
    pub(super) fn between(before: &Call, now: &Call, call: usize, growth: i64) -> Self {
        let weighed = |items: &mut dyn Iterator<Item = &Item>| items.map(|i| i.weight).sum::<u64>() / 100;
        let results = now.input.iter().filter(|i| matches!(i.kind, Kind::Result(_)));
        Self {
            call: call as u32,
            growth,
            prompt: now.usage.map_or(0, |u| u.prompt()),
            switched: before.model != now.model,
            output_tokens: before.usage.map_or(0, |u| u.output),
            output_bytes: weighed(&mut before.output.iter()),
            output_uses: before.output.iter().filter(|i| matches!(i.kind, Kind::Use(_))).count() as u32,
            complete: before.complete,
            results: results.clone().count() as u32,
            result_bytes: weighed(&mut results.clone()),
            user_bytes: weighed(&mut now.input.iter().filter(|i| i.kind == Kind::User)),
            image_tokens: now.input.iter().map(|i| i.fixed).sum(),
        }
    }
}

/// Relative errors of predictions on held-out steps, each sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldOut {
    /// Of one step: |predicted − recorded growth| over the recorded prompt after it.
    pub of_prompt: Vec<f64>,
    /// The same over the recorded growth; steps that grew by nothing are left out.
    pub of_growth: Vec<f64>,
    /// Of the prompt that the predictions add up to, from the first recorded one on, over the recorded prompt.
    pub cumulative: Vec<f64>,
    /// Of one result: where it is all that the client appended, |predicted − what the growth leaves for it| over the latter.
    pub of_result: Vec<f64>,
}

/// Fewest bytes of a class from which its bytes per token are fitted.
const FEWEST_BYTES: u64 = 1000;

/// Tokens per byte of each class.
#[derive(Debug, Clone, Copy)]
struct Rates {
    result: f64,
    user: f64,
    output: f64,
}

impl Rates {
    fn of_output(&self, step: &Step) -> f64 {
        let visible = step.output_bytes as f64 * self.output + f64::from(step.output_uses) * USE_OVERHEAD;
        if step.complete { step.output_tokens as f64 } else { visible.max(step.output_tokens as f64) }
    }

    fn of_results(&self, step: &Step) -> f64 {
        f64::from(step.results) * RESULT_OVERHEAD + step.result_bytes as f64 * self.result
    }

    fn of_user(&self, step: &Step) -> f64 {
        if step.user_bytes > 0 { USER_OVERHEAD + step.user_bytes as f64 * self.user } else { 0.0 }
    }

    fn growth(&self, step: &Step) -> f64 {
        self.of_output(step) + self.of_results(step) + self.of_user(step) + step.image_tokens as f64
    }

    /// Fits to `steps`, from `default` tokens per byte where a class shows too little.
    fn fit<'s>(steps: &(impl Iterator<Item = &'s Step> + Clone), default: f64) -> Self {
        let mut rates = Self { result: default, user: default, output: default };
        // What is left of a step for one class, and the class's bytes; sums of those within a factor of what is likely.
        let ratio = |likely: f64, parts: &mut dyn Iterator<Item = (f64, u64)>| {
            let (mut tokens, mut bytes) = (0.0, 0);
            for (t, b) in parts {
                let expected = b as f64 * likely;
                if b > 0 && t > expected / 2.5 && t < expected * 2.5 {
                    tokens += t;
                    bytes += b;
                }
            }
            if bytes >= FEWEST_BYTES { tokens / bytes as f64 } else { likely }
        };
        for _ in 0..3 {
            let r = rates;
            let mut outputs = steps
                .clone()
                .filter(|s| s.complete)
                .map(|s| (s.output_tokens as f64 - f64::from(s.output_uses) * USE_OVERHEAD, s.output_bytes));
            rates.output = ratio(r.output, &mut outputs);
            let mut results = steps
                .clone()
                .filter(|s| s.user_bytes == 0 && s.image_tokens == 0)
                .map(|s| (s.growth as f64 - r.of_output(s) - f64::from(s.results) * RESULT_OVERHEAD, s.result_bytes));
            rates.result = ratio(r.result, &mut results);
            let mut users = steps
                .clone()
                .filter(|s| s.image_tokens == 0)
                .map(|s| (s.growth as f64 - r.of_output(s) - r.of_results(s) - USER_OVERHEAD, s.user_bytes));
            rates.user = ratio(r.user, &mut users);
        }
        rates
    }
}

impl HeldOut {
    /// The errors of one session: the steps of its transcripts, and the bytes per token to fall back to.
    pub fn of(parts: &[Vec<Step>], bytes_per_token: f64) -> Self {
        let mut errors = Self::default();
        let known = |s: &&Step| !s.switched;
        let all: Vec<&Step> = parts.iter().flatten().filter(known).collect();
        if all.len() < 4 || bytes_per_token <= 0.0 {
            return errors;
        }
        let half = |odd: usize| Rates::fit(&all.iter().copied().skip(odd).step_by(2), 1.0 / bytes_per_token);
        // The fit on one half predicts the other.
        let rates = [half(1), half(0)];
        let mut number = 0;
        for steps in parts {
            let mut drift = 0.0;
            for step in steps {
                if step.switched {
                    drift = 0.0;
                    continue;
                }
                let rates = &rates[number % 2];
                number += 1;
                let error = rates.growth(step) - step.growth as f64;
                drift += error;
                let prompt = step.prompt.max(1) as f64;
                errors.of_prompt.push(error.abs() / prompt);
                errors.cumulative.push(drift.abs() / prompt);
                if step.growth > 0 {
                    errors.of_growth.push(error.abs() / step.growth as f64);
                }
                let result = step.growth as f64 - step.output_tokens as f64;
                if step.complete && step.results == 1 && step.user_bytes == 0 && step.image_tokens == 0 && result > RESULT_OVERHEAD {
                    errors.of_result.push((rates.of_results(step) - result).abs() / result);
                }
            }
        }
        errors.sort();
        errors
    }

    fn sort(&mut self) {
        for errors in [&mut self.of_prompt, &mut self.of_growth, &mut self.cumulative, &mut self.of_result] {
            errors.sort_by(f64::total_cmp);
        }
    }

    /// Steps that were predicted.
    pub fn steps(&self) -> usize {
        self.of_prompt.len()
    }

    /// The error of which `share` of the sorted `errors` are no larger (nearest rank); `None` of none.
    pub fn quantile(errors: &[f64], share: f64) -> Option<f64> {
        let rank = (errors.len() as f64 * share).ceil() as usize;
        errors.get(rank.max(1) - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of results at 0.5 and user text at 0.25 tokens a byte.
    fn steps(n: u32) -> Vec<Step> {
        let mut prompt = 10_000;
        (0..n)
            .map(|i| {
                let (result_bytes, user_bytes) = if i % 5 == 4 { (0, 2_000) } else { (1_000 + u64::from(i) * 100, 0) };
                let results = u32::from(user_bytes == 0);
                let appended = if results == 1 { 12 + result_bytes / 2 } else { 4 + user_bytes / 4 };
                let growth = 100 + appended;
                prompt += growth;
                Step {
                    call: i + 1,
                    growth: growth as i64,
                    prompt,
                    output_tokens: 100,
                    complete: true,
                    results,
                    result_bytes,
                    user_bytes,
                    ..Step::default()
                }
            })
            .collect()
    }

    #[test]
    fn what_follows_the_classes_is_predicted_to_the_token() {
        let errors = HeldOut::of(&[steps(40)], 3.4);
        assert_eq!((errors.steps(), errors.of_growth.len(), errors.cumulative.len(), errors.of_result.len()), (40, 40, 40, 32));
        assert!(errors.of_growth[39] < 1e-9 && errors.of_result[31] < 1e-9 && errors.cumulative[39] < 1e-9, "{errors:?}");
    }

    #[test]
    fn a_step_predicts_others_and_never_itself() {
        let mut odd = steps(40);
        // A step that no class explains is as wrong as it is, and the others stay right.
        odd[20].growth += 900;
        let errors = HeldOut::of(&[odd.clone()], 3.4);
        let expected = 900.0 / odd[20].prompt as f64;
        assert!((errors.of_prompt[39] - expected).abs() < 0.01, "{} {expected}", errors.of_prompt[39]);
        assert!(HeldOut::quantile(&errors.of_prompt, 0.5).unwrap() < 0.01);
        // From there on the sum is wrong.
        assert!(errors.cumulative.iter().filter(|&&e| e > 0.005).count() >= 18);
    }

    #[test]
    fn switches_and_short_sessions_are_left_out() {
        let mut switched = steps(8);
        switched[3].switched = true;
        assert_eq!(HeldOut::of(&[switched], 3.4).steps(), 7);
        assert_eq!(HeldOut::of(&[steps(4)], 3.4).steps(), 4);
        assert_eq!(HeldOut::of(&[steps(3)], 3.4).steps(), 0);
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let errors = [0.1, 0.2, 0.3, 0.4];
        assert_eq!(HeldOut::quantile(&errors, 0.5), Some(0.2));
        assert_eq!(HeldOut::quantile(&errors, 0.95), Some(0.4));
        assert_eq!(HeldOut::quantile(&errors, 0.0), Some(0.1));
        assert_eq!(HeldOut::quantile(&[], 0.5), None);
    }
}
