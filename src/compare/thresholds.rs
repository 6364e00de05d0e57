//! `METRIC OP VALUE`: what makes the gate fail.

use std::fmt;
use std::str::FromStr;

use super::{Change, Metric, Noise, RowChange, unknown_metric};
use crate::decide::bootstrap::Interval;
use crate::policy::size;
use crate::sweep::Knobs;

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// What is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// A relative change: 0.02 is +2 %.
    Relative(f64),
    /// A change in the metric's unit.
    Absolute(f64),
    /// A value of the head itself.
    Head(f64),
}

/// A condition under which the gate fails, such as `cost_usd > +2%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    metric: Metric,
    op: Op,
    limit: Limit,
}

/// What became of a threshold on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The condition does not hold.
    Kept,
    /// It holds.
    Missed,
    /// It holds for the change seen, which may be chance.
    WithinNoise,
    /// The metric does not apply to the config on a side: a ratio to nothing.
    NotApplicable,
}

/// A threshold on a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The condition, as written.
    pub threshold: String,
    /// The config.
    pub knobs: Knobs,
    /// Its metric on both sides.
    pub change: Change,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether chance was looked at: there are enough sessions, or nothing is left to chance.
    pub noise_judged: bool,
    /// Whether the condition is on the head alone, not on a change.
    pub on_head: bool,
}

impl FromStr for Threshold {
    type Err = String;

    /// Parses `METRIC > VALUE` (or `>=`, `<`, `<=`). A VALUE with a sign is a change, in per cent or in the metric's unit; one without is a
    /// value of the head.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text:?}: {why}; write METRIC > VALUE, such as 'cost_usd > +2%' or 'peak_prompt_tokens > 180k'");
        let at = text.find(['>', '<']).ok_or_else(|| wrong("has no > or <"))?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let (op, value) = if let Some(value) = rest.strip_prefix(">=") {
            (Op::AtLeast, value)
        } else if let Some(value) = rest.strip_prefix("<=") {
            (Op::AtMost, value)
        } else if let Some(value) = rest.strip_prefix('>') {
            (Op::Above, value)
        } else {
            (Op::Below, &rest[1..])
        };
        let value = value.trim();
        let (sign, digits) = match value.chars().next() {
            Some('+') => (Some(1.0), &value[1..]),
            Some('-') => (Some(-1.0), &value[1..]),
            _ => (None, value),
        };
        let limit = match (digits.strip_suffix('%'), sign) {
            (Some(_), None) => return Err(wrong("a percentage is a change and needs its sign")),
            (Some(percent), Some(sign)) => Limit::Relative(sign * number(percent).ok_or_else(|| wrong("VALUE is no number"))? / 100.0),
            (None, Some(sign)) => Limit::Absolute(sign * number(digits).ok_or_else(|| wrong("VALUE is no number"))?),
            (None, None) => Limit::Head(number(digits).ok_or_else(|| wrong("VALUE is no number"))?),
        };
        let metric = Metric::named(name).ok_or_else(|| unknown_metric(name))?;
        Ok(Self { text: text.trim().to_owned(), metric, op, limit })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `2`, `0.5`, `180k`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() || text.starts_with(['+', '-']) {
        return None;
    }
    text.parse::<f64>().ok().filter(|n| n.is_finite()).or_else(|| size::parse(text).ok().map(|n| n as f64))
}

impl Threshold {
    /// Whether it is a bound on the head itself.
    pub(super) fn is_on_head(&self) -> bool {
        matches!(self.limit, Limit::Head(_))
    }

    /// Looks at one row. `interval` is that of a metric's change.
    ///
    /// A change that can be chance (sessions are a sample, and its 95 % interval does not lie wholly on the forbidden side of no change
    /// at all) is [`Outcome::WithinNoise`], or missed with `over_noise`. Where chance cannot be judged, what is seen decides; so it does
    /// where the condition demands a change for the better (`cost_usd > -5%`), which chance does not excuse from.
    pub(super) fn check(&self, row: &RowChange, noise: Noise, over_noise: bool, interval: impl Fn(Metric) -> Option<Interval>) -> Check {
        let mut change = row.change(self.metric).clone();
        let upwards = matches!(self.op, Op::Above | Op::AtLeast);
        let (seen, limit, size) = match self.limit {
            Limit::Relative(limit) => (change.relative(), limit, 1.0),
            Limit::Absolute(limit) => (change.absolute(), limit, change.base.unwrap_or(0.0).abs()),
            Limit::Head(limit) => (change.head_total, limit, 0.0),
        };
        // A hair of rounding is no change: the same costs are summed in another order here and there.
        let slack = 1e-12 * limit.abs().max(size);
        let holds = seen.map(|seen| match self.op {
            Op::Above => seen > limit + slack,
            Op::AtLeast => seen >= limit - slack,
            Op::Below => seen < limit - slack,
            Op::AtMost => seen <= limit + slack,
        });
        let on_head = self.is_on_head();
        let excusable = !on_head && if upwards { limit >= 0.0 } else { limit <= 0.0 };
        if holds == Some(true) && excusable {
            change.difference = interval(self.metric);
        }
        let supported = change.difference.is_none_or(|i| if upwards { i.above(0.0) } else { i.below(0.0) });
        let outcome = match holds {
            None => Outcome::NotApplicable,
            Some(false) => Outcome::Kept,
            Some(true) if supported || over_noise => Outcome::Missed,
            Some(true) => Outcome::WithinNoise,
        };
        let noise_judged = on_head || noise == Noise::None || (noise == Noise::Judged && self.metric.is_sum());
        Check { threshold: self.text.clone(), knobs: row.knobs.clone(), change, outcome, noise_judged, on_head }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Role;
    use crate::decide::bootstrap::Interval;

    fn checked(text: &str, base: Option<f64>, head: Option<f64>, difference: Option<(f64, f64)>) -> Check {
        let threshold: Threshold = text.parse().unwrap();
        let estimate = head.unwrap_or(0.0) - base.unwrap_or(0.0);
        let changes = vec![Change { metric: threshold.metric, base, head, head_total: head, mean: false, difference: None }];
        let knobs = Knobs::none();
        let row =
            RowChange { knobs, head_knobs: None, role: Role::None, changes, checks: Vec::new(), detailed: false, sessions: Vec::new() };
        threshold.check(&row, Noise::Judged, false, |_| difference.map(|(low, high)| Interval { low, estimate, high }))
    }

    fn outcome(text: &str, base: f64, head: f64, difference: Option<(f64, f64)>) -> Outcome {
        checked(text, Some(base), Some(head), difference).outcome
    }

    #[test]
    fn at_the_limit_it_is_kept_and_over_it_missed() {
        assert_eq!(outcome("cost_usd > +2%", 100.0, 102.0, None), Outcome::Kept);
        assert_eq!(outcome("cost_usd > +2%", 100.0, 102.01, None), Outcome::Missed);
        assert_eq!(outcome("cost_usd >= +2%", 100.0, 102.0, None), Outcome::Missed);
        assert_eq!(outcome("cache_invalidations > +10", 5.0, 15.0, None), Outcome::Kept);
        assert_eq!(outcome("cache_invalidations > +10", 5.0, 16.0, None), Outcome::Missed);
        assert_eq!(outcome("peak_prompt_tokens > 180k", 0.0, 180_000.0, None), Outcome::Kept);
        assert_eq!(outcome("peak_prompt_tokens > 180k", 0.0, 180_001.0, None), Outcome::Missed);
        assert_eq!(outcome("cache_read_share < -0.05", 0.9, 0.85, None), Outcome::Kept);
        assert_eq!(outcome("cache_read_share < -0.05", 0.9, 0.84, None), Outcome::Missed);
        assert_eq!(outcome("cache_read_share <= 0.5", 0.9, 0.5, None), Outcome::Missed);
        // From nothing to something is more than any per cent; from nothing to nothing is none.
        assert_eq!(outcome("refetches > +5%", 0.0, 1.0, None), Outcome::Missed);
        assert_eq!(outcome("refetches > +5%", 0.0, 0.0, None), Outcome::Kept);
        assert_eq!(outcome("refetches < -5%", 1.0, 0.0, None), Outcome::Missed);
    }

    #[test]
    fn a_last_bit_is_no_change_and_one_token_of_many_is() {
        assert_eq!(outcome("cost_usd > +0%", 0.3, 0.1 + 0.2, None), Outcome::Kept);
        assert_eq!(outcome("cost_usd > +0", 0.3, 0.1 + 0.2, None), Outcome::Kept);
        assert_eq!(outcome("cost_usd > +0%", 0.3, 0.300_001, None), Outcome::Missed);
        assert_eq!(outcome("prompt_tokens > +0", 5e9, 5e9, None), Outcome::Kept);
        assert_eq!(outcome("prompt_tokens > +0", 5e9, 5e9 + 1.0, None), Outcome::Missed);
    }

    #[test]
    fn what_does_not_apply_is_neither_kept_nor_missed() {
        for text in ["rewrite_factor < 1", "rewrite_factor > +5%", "rewrite_factor > +1"] {
            assert_eq!(checked(text, Some(1.0), None, None).outcome, Outcome::NotApplicable, "{text}");
        }
        assert_eq!(checked("rewrite_factor > +5%", None, Some(1.0), None).outcome, Outcome::NotApplicable);
        assert_eq!(checked("rewrite_factor < 1", None, Some(0.5), None).outcome, Outcome::Missed, "the head alone decides");
        assert_eq!(checked("rewrite_factor < 1", None, Some(1.0), None).outcome, Outcome::Kept);
    }

    #[test]
    fn a_demanded_saving_is_not_excused_by_noise() {
        assert_eq!(outcome("cost_usd > -5%", 100.0, 97.0, Some((-9.0, 3.0))), Outcome::Missed);
        assert_eq!(outcome("cost_usd > -5%", 100.0, 101.0, Some((-5.0, 7.0))), Outcome::Missed);
        assert_eq!(outcome("cost_usd > -5%", 100.0, 94.0, Some((-12.0, 1.0))), Outcome::Kept);
        assert_eq!(outcome("cache_read_tokens < +5%", 100.0, 103.0, Some((-3.0, 9.0))), Outcome::Missed);
    }

    #[test]
    fn what_may_be_chance_is_not_missed() {
        assert_eq!(outcome("cost_usd > +2%", 100.0, 110.0, Some((-1.0, 21.0))), Outcome::WithinNoise);
        assert_eq!(outcome("cost_usd > +2%", 100.0, 110.0, Some((0.5, 21.0))), Outcome::Missed);
        assert_eq!(outcome("cost_usd < -2%", 100.0, 90.0, Some((-21.0, 1.0))), Outcome::WithinNoise);
        assert_eq!(outcome("cost_usd < -2%", 100.0, 90.0, Some((-21.0, -1.0))), Outcome::Missed);
        // A bound on the head itself is no matter of chance.
        assert_eq!(outcome("cost_usd > 105", 100.0, 110.0, Some((-1.0, 21.0))), Outcome::Missed);
    }

    #[test]
    fn what_is_no_threshold_is_refused() {
        for (text, says) in [
            ("cost_usd", "no > or <"),
            ("cost_usd > 2%", "sign"),
            ("cost_usd > +x%", "no number"),
            ("cost_usd > --2", "no number"),
            ("cost_usd >", "no number"),
            ("cost > +2%", "did you mean cost_"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
