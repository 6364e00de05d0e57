//! Axes: values to pixels, round ticks, and numbers as people read them.

use crate::report::number;

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Spread {
    /// Evenly.
    Linear,
    /// By logarithm beyond `unit`, evenly below it: holds 0 and negative values.
    Log {
        /// A power of ten.
        unit: f64,
    },
}

/// One axis of a plot: a range of values laid on a range of pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    pub(super) spread: Spread,
}

impl Scale {
    /// Holds 0 and all finite `values`, with `pad` (a share of the length) beyond them; `from` and `to` are the pixels of the two ends.
    pub(super) fn over(values: impl Iterator<Item = f64>, spread: Spread, pad: f64, from: f64, to: f64) -> Self {
        let bend = |v: f64| bend(spread, v);
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for v in values.filter(|v| v.is_finite()) {
            low = low.min(v);
            high = high.max(v);
        }
        let (mut low, mut high) = (bend(low), bend(high));
        if high - low <= 0.0 {
            high = 1.0;
        }
        let margin = (high - low) * pad;
        high += margin;
        // An axis that starts at 0 starts there: a gap below would suggest negative values.
        low -= if low < 0.0 { margin } else { 0.0 };
        Self { low, high, from, to, spread }
    }

    /// As [`Scale::over`], even, and without 0 where the values lie so close together that their differences would not show.
    pub(super) fn near(values: impl Iterator<Item = f64>, pad: f64, from: f64, to: f64) -> Self {
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.is_empty() || low <= 0.0 || low < high * 0.25 {
            return Self::over(values.into_iter(), Spread::Linear, pad, from, to);
        }
        // At least 4 % of the value, so that rounding noise does not fill the picture.
        let margin = ((high - low) * pad).max(high * 0.02);
        Self { low: low - margin, high: high + margin, from, to, spread: Spread::Linear }
    }

    /// Moves the foot of the axis away, so that marks at the lowest value stand `pixels` off it.
    pub(super) fn set_off(mut self, pixels: f64) -> Self {
        let length = (self.to - self.from).abs();
        self.low -= (self.high - self.low) * pixels / (length - pixels).max(1.0);
        self
    }

    /// Pixel of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (bend(self.spread, value) - self.low) / (self.high - self.low);
        self.from + (self.to - self.from) * share
    }

    /// Round values on the axis, at least `gap` pixels apart; only whole ones if `whole`.
    pub(super) fn ticks(&self, gap: f64, whole: bool) -> Vec<f64> {
        let room = ((self.to - self.from).abs() / gap).max(1.0);
        match self.spread {
            Spread::Linear => {
                let mut step = nice_step((self.high - self.low) / room);
                if whole {
                    step = step.max(1.0);
                }
                let (first, last) = ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Spread::Log { unit } => self.log_ticks(unit, gap),
        }
    }

    fn log_ticks(&self, unit: f64, gap: f64) -> Vec<f64> {
        let mut all = vec![0.0];
        // Powers of ten first, then 3 between them where there is room.
        for lead in [1.0, 3.0] {
            let mut v = unit * lead;
            for _ in 0..24 {
                all.extend([v, -v]);
                v *= 10.0;
            }
        }
        let end = self.from.min(self.to)..=self.from.max(self.to);
        let mut kept: Vec<f64> = Vec::new();
        for v in all {
            let x = self.at(v);
            if end.contains(&x) && kept.iter().all(|&k| (self.at(k) - x).abs() >= gap) {
                kept.push(v);
            }
        }
        kept.sort_by(f64::total_cmp);
        kept
    }
}

/// A logarithmic axis if most of the values would stick to its foot on a linear one, else linear.
pub(super) fn spread_for(values: &[f64]) -> Spread {
    let mut sizes: Vec<f64> = values.iter().filter(|v| v.is_finite() && **v != 0.0).map(|v| v.abs()).collect();
    if sizes.len() < 8 {
        return Spread::Linear;
    }
    sizes.sort_by(f64::total_cmp);
    let (low, middle, most) = (sizes[sizes.len() / 20], sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
    if middle * 20.0 > most {
        return Spread::Linear;
    }
    Spread::Log { unit: libm::pow(10.0, libm::log10(low).floor()).max(1.0) }
}

fn bend(spread: Spread, v: f64) -> f64 {
    match spread {
        Spread::Linear => v,
        Spread::Log { unit } => libm::copysign(libm::log10(1.0 + v.abs() / unit), v),
    }
}

/// The least of 1, 2, 5 times a power of ten that is at least `raw`.
fn nice_step(raw: f64) -> f64 {
    if !(raw.is_finite() && raw > 0.0) {
        return 1.0;
    }
    let power = libm::pow(10.0, libm::log10(raw).floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// A number in short (see [`number::short_to`]), in signs that the bundled font has.
pub(super) fn short(value: f64, digits: usize) -> String {
    number::short_to(value, digits).replace('-', "\u{2013}")
}

/// US dollars: `$0.12`, `$3.40`, `$12k`; `step` is the distance to the next value shown, 0 if there is none.
pub(super) fn dollars(value: f64, step: f64) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    let sign = if value < 0.0 { "\u{2013}" } else { "" };
    let size = value.abs();
    if size >= 1e4 {
        return format!("{sign}${}", short(size, 4));
    }
    if size >= 1e3 && step == 0.0 {
        return format!("{sign}${size:.0}");
    }
    let fine = if step > 0.0 { step } else { size };
    let needed = if fine > 0.0 { (-libm::log10(fine)).ceil().max(0.0) as usize } else { 0 };
    // Cents when there are any, more places only for what is smaller; a single value gets two digits.
    let decimals = if step > 0.0 { if needed == 0 { 0 } else { needed.clamp(2, 9) } } else { (needed + 1).clamp(2, 9) };
    format!("{sign}${size:.decimals$}")
}

/// A count with its thousands set apart: `3,000`.
pub(super) fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Names of values in short, with as many digits as it takes to tell them apart.
pub(super) fn short_all(values: &[u64]) -> Vec<String> {
    for digits in 3..=12 {
        let names: Vec<String> = values.iter().map(|&v| short(v as f64, digits)).collect();
        if names.windows(2).all(|w| w[0] != w[1]) {
            return names;
        }
    }
    values.iter().map(u64::to_string).collect()
}

/// Every how many labels one is shown, so that neighbours (`extent` pixels each at most, `pitch` pixels from one position to the next) do not touch.
pub(super) fn every(extent: f64, pitch: f64, space: f64) -> usize {
    if pitch <= 0.0 {
        return usize::MAX;
    }
    (((extent + space) / pitch).ceil() as usize).max(1)
}

/// `count` indices out of `0..len`, evenly spread, both ends and `must` among them.
pub(super) fn pick(len: usize, count: usize, must: Option<usize>) -> Vec<usize> {
    if len <= count {
        return (0..len).collect();
    }
    if count < 2 {
        return must.or((len > 0).then_some(0)).into_iter().take(count).collect();
    }
    let mut picked: Vec<usize> = (0..count).map(|i| (i * (len - 1) + (count - 1) / 2) / (count - 1)).collect();
    if let Some(must) = must.filter(|m| *m < len && !picked.contains(m)) {
        // The nearest pick gives way; the ends only if there is nothing between them.
        let inner = if count > 2 { 1..count - 1 } else { 0..count };
        if let Some(i) = inner.min_by_key(|&i| picked[i].abs_diff(must)) {
            picked[i] = must;
        }
    }
    picked.sort_unstable();
    picked
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (950.0, "950"),
            (1_234.0, "1.23k"),
            (40_000.0, "40k"),
            (999_999.0, "1M"),
            (1_200_000.0, "1.2M"),
            (3.4e9, "3.4B"),
            (-1_500.0, "\u{2013}1.5k"),
            (0.25, "0.25"),
            (-0.0, "0"),
        ];
        for (v, text) in cases {
            assert_eq!(short(v, 3), text);
        }
        assert_eq!(short(f64::NAN, 3), "n/a");
        assert_eq!(short_all(&[33_457, 33_461]), ["33.457k", "33.461k"]);
        assert_eq!(short_all(&[30_000, 40_000]), ["30k", "40k"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(["7", "999", "3,000", "1,234,567"], [7, 999, 3_000, 1_234_567].map(thousands).each_ref().map(String::as_str));
    }

    #[test]
    fn dollars_show_cents_or_finer() {
        let cases = [
            (0.12, 0.0, "$0.12"),
            (3.4, 0.0, "$3.40"),
            (0.0012, 0.0, "$0.0012"),
            (0.0, 0.5, "$0.00"),
            (1.5, 0.5, "$1.50"),
            (20.0, 10.0, "$20"),
            (12_000.0, 0.0, "$12k"),
            (3_162.47, 0.0, "$3162"),
            (0.002, 0.001, "$0.002"),
        ];
        for (v, step, text) in cases {
            assert_eq!(dollars(v, step), text);
        }
    }

    #[test]
    fn ticks_are_round() {
        let scale = Scale::over([97.0].into_iter(), Spread::Linear, 0.0, 0.0, 1000.0);
        assert_eq!(scale.ticks(200.0, false), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let counts = Scale::over([2.0].into_iter(), Spread::Linear, 0.0, 0.0, 1000.0);
        assert_eq!(counts.ticks(100.0, true), [0.0, 1.0, 2.0]);
        let log = Scale::over([100_000.0].into_iter(), Spread::Log { unit: 1.0 }, 0.0, 0.0, 1000.0);
        assert_eq!(log.ticks(150.0, true), [0.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
    }

    #[test]
    fn a_long_tail_gets_a_logarithmic_axis() {
        let even: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(spread_for(&even), Spread::Linear);
        let tail: Vec<f64> = (0..100).map(|i| if i == 0 { 1e6 } else { 200.0 + f64::from(i) }).collect();
        assert_eq!(spread_for(&tail), Spread::Log { unit: 100.0 });
        assert_eq!(spread_for(&[0.0; 50]), Spread::Linear);
    }

    proptest! {
        #[test]
        fn ticks_lie_on_the_axis_and_apart(
            values in prop::collection::vec(-1e12..1e12_f64, 0..20), log in any::<bool>(), length in 50.0..2000.0_f64, gap in 20.0..200.0_f64,
        ) {
            let spread = if log { Spread::Log { unit: 10.0 } } else { Spread::Linear };
            let scale = Scale::over(values.iter().copied(), spread, 0.05, 100.0, 100.0 + length);
            let at: Vec<f64> = scale.ticks(gap, false).into_iter().map(|t| scale.at(t)).collect();
            prop_assert!(at.iter().all(|x| (99.9..=100.1 + length).contains(x)));
            prop_assert!(at.windows(2).all(|w| w[1] - w[0] >= gap * 0.999));
            for v in values {
                prop_assert!((99.9..=100.1 + length).contains(&scale.at(v)));
            }
        }

        #[test]
        fn a_pick_is_sorted_without_doubles_and_holds_what_it_must(len in 1_usize..400, count in 1_usize..15, must in 0_usize..400) {
            let picked = pick(len, count, Some(must).filter(|m| *m < len));
            prop_assert_eq!(picked.len(), len.min(count));
            prop_assert!(picked.windows(2).all(|w| w[0] < w[1]) && picked.iter().all(|i| *i < len));
            prop_assert!(must >= len || picked.contains(&must));
        }
    }
}
