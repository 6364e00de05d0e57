//! Random numbers that are the same on every platform: one `ChaCha` stream a transcript, and quantile functions over `libm`.
//!
//! The standard library's `ln` and `exp` come from the platform and differ in their last bit; one differing bit would change the
//! bytes of a trace. Here only `libm` and the exact operations of IEEE 754 are used.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;

/// No size, count or time is drawn above this.
pub(super) const LARGEST: f64 = 10_000_000.0;

/// The random numbers of one transcript.
pub(super) struct Stream {
    rng: ChaCha12Rng,
}

impl Stream {
    /// Stream `index` of `seed`: independent of every other index, whatever is drawn beside it.
    pub(super) fn new(seed: u64, index: u64) -> Self {
        // Spelled out, as `seed_from_u64` is free to change between versions.
        Self::keyed(*b"________cleartune workload seed.", seed, index)
    }

    /// The words of transcript `index`: whatever they take, sizes, times and needs stay what they are.
    pub(super) fn of_words(seed: u64, index: u64) -> Self {
        Self::keyed(*b"________cleartune workload words", seed, index)
    }

    fn keyed(mut key: [u8; 32], seed: u64, index: u64) -> Self {
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha12Rng::from_seed(key);
        rng.set_stream(index);
        Self { rng }
    }

    /// Uniform on the open interval (0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        unit(self.rng.next_u64())
    }

    /// True with probability `share`.
    pub(super) fn chance(&mut self, share: Share) -> bool {
        self.uniform() < share.0
    }

    /// Uniform on 0..n; n > 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n - 1)
    }

    /// How often in a row something of this probability happens, at most `most` times (geometric).
    pub(super) fn run(&mut self, share: Share, most: usize) -> usize {
        let mut n = 0;
        while n < most && self.chance(share) {
            n += 1;
        }
        n
    }

    /// An index with probability in proportion to its weight; the weights sum to more than 0.
    pub(super) fn categorical(&mut self, weights: &[f64]) -> usize {
        let mut left = self.uniform() * weights.iter().sum::<f64>();
        for (i, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return i;
            }
        }
        weights.iter().rposition(|&w| w > 0.0).unwrap_or(0)
    }

    pub(super) fn draw(&mut self, dist: &Dist) -> f64 {
        let u = self.uniform();
        dist.at(u)
    }

    /// A whole number, at least `least`.
    pub(super) fn draw_whole(&mut self, dist: &Dist, least: u32) -> u32 {
        whole(self.draw(dist)).max(least)
    }
}

/// Rounds to a whole number within 0..=[`LARGEST`].
pub(super) fn whole(value: f64) -> u32 {
    value.round().clamp(0.0, LARGEST) as u32
}

/// The upper 53 bits as a number inside (0, 1): the half keeps both ends out.
fn unit(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// A low-discrepancy number for transcript `index`: any run of transcripts covers (0, 1) evenly (multiples of the golden ratio),
/// so that 40 sessions already show the spread of lengths that independent draws show only in thousands.
pub(super) fn spread(seed: u64, index: u64) -> f64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let start = seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ (seed >> 29);
    unit(start.wrapping_add(index.wrapping_mul(GOLDEN)))
}

/// A probability or a share, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Share(pub(super) f64);

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(format!("is {value}; write a share between 0 and 1")) }
    }
}

/// A distribution of positive numbers, given by its quantile function.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "RawDist")]
pub(super) struct Dist {
    shape: Shape,
    min: f64,
    max: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Fixed(f64),
    /// Median and the standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// (share of draws below, logarithm of the value), straight lines between.
    Quantiles(Vec<(f64, f64)>),
}

/// As it is written in a workload: one of `fixed`, `median` with `sigma`, `quantiles`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDist {
    fixed: Option<f64>,
    median: Option<f64>,
    sigma: Option<f64>,
    quantiles: Option<Vec<(f64, f64)>>,
    min: Option<f64>,
    max: Option<f64>,
}

impl TryFrom<RawDist> for Dist {
    type Error = String;

    fn try_from(raw: RawDist) -> Result<Self, String> {
        let shape = match (raw.fixed, raw.median, raw.sigma, raw.quantiles) {
            (Some(value), None, None, None) => Shape::Fixed(positive("fixed", value)?),
            (None, Some(median), Some(sigma), None) => {
                if !(0.0..=5.0).contains(&sigma) {
                    return Err(format!("`sigma` is {sigma}; write the standard deviation of the logarithm, 0 to 5"));
                }
                Shape::LogNormal(positive("median", median)?, sigma)
            }
            (None, None, None, Some(points)) => Shape::Quantiles(check_quantiles(points)?),
            _ => {
                return Err(
                    "write one of { fixed = n }, { median = n, sigma = s } or { quantiles = [[0.0, least], …, [1.0, largest]] }".to_owned()
                );
            }
        };
        let min = raw.min.map_or(Ok(0.0), |v| positive("min", v))?;
        let max = raw.max.map_or(Ok(LARGEST), |v| positive("max", v))?;
        if min > max {
            return Err(format!("`min` {min} is above `max` {max}; write the smaller one as `min`"));
        }
        Ok(Self { shape, min, max })
    }
}

fn positive(key: &str, value: f64) -> Result<f64, String> {
    if value > 0.0 && value <= LARGEST {
        Ok(value)
    } else {
        Err(format!("`{key}` is {value}; write a number above 0 and at most {LARGEST}"))
    }
}

fn check_quantiles(points: Vec<(f64, f64)>) -> Result<Vec<(f64, f64)>, String> {
    let ends = points.first().is_some_and(|p| p.0.abs() < 1e-12) && points.last().is_some_and(|p| (p.0 - 1.0).abs() < 1e-12);
    if points.len() < 2 || !ends {
        return Err("`quantiles` must run from 0 to 1; write [[0.0, least], …, [1.0, largest]]".to_owned());
    }
    for pair in points.windows(2) {
        if pair[1].0 <= pair[0].0 || pair[1].1 < pair[0].1 {
            return Err(format!(
                "`quantiles` must rise; write [{}, {}] with a larger share and no smaller value than the one before",
                pair[1].0, pair[1].1
            ));
        }
    }
    points.into_iter().map(|(share, value)| Ok((share, libm::log(positive("quantiles", value)?)))).collect()
}

impl Dist {
    /// The value that a share `u` of all draws stays below; 0 < u < 1.
    pub(super) fn at(&self, u: f64) -> f64 {
        let value = match &self.shape {
            Shape::Fixed(value) => *value,
            Shape::LogNormal(median, sigma) => median * libm::exp(sigma * normal_quantile(u)),
            Shape::Quantiles(points) => {
                let above = points.iter().position(|p| p.0 >= u).unwrap_or(points.len() - 1).max(1);
                let ((u0, v0), (u1, v1)) = (points[above - 1], points[above]);
                libm::exp(v0 + (v1 - v0) * (u - u0) / (u1 - u0))
            }
        };
        value.clamp(self.min, self.max)
    }

    /// No draw is larger.
    pub(super) fn largest(&self) -> f64 {
        match &self.shape {
            Shape::Fixed(value) => *value,
            Shape::LogNormal(..) => self.max,
            Shape::Quantiles(points) => libm::exp(points[points.len() - 1].1).min(self.max),
        }
    }
}

/// The standard normal quantile by P. J. Acklam's rational approximation (relative error 1.2e-9), 0 < u < 1.
fn normal_quantile(u: f64) -> f64 {
    const LOW: f64 = 0.024_25;
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416, 1.0];
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = libm::sqrt(-2.0 * libm::log(p));
        horner(&C, q) / horner(&D, q)
    };
    if u < LOW {
        tail(u)
    } else if u > 1.0 - LOW {
        -tail(1.0 - u)
    } else {
        let q = u - 0.5;
        q * horner(&A, q * q) / horner(&B, q * q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dist(text: &str) -> Result<Dist, String> {
        #[derive(Deserialize)]
        struct Holder {
            d: Dist,
        }
        toml::from_str::<Holder>(&format!("d = {text}")).map(|h| h.d).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (u, z) in [(0.5, 0.0), (0.841_344_746, 1.0), (0.975, 1.959_964), (0.01, -2.326_348), (0.001, -3.090_232)] {
            assert!((normal_quantile(u) - z).abs() < 1e-6, "{u}: {}", normal_quantile(u));
        }
    }

    #[test]
    fn log_normal_has_its_median_and_spread() {
        let d = dist("{ median = 100, sigma = 0.5 }").unwrap();
        assert!((d.at(0.5) - 100.0).abs() < 1e-9);
        assert!((d.at(0.841_344_746) - 100.0 * libm::exp(0.5)).abs() < 1e-4);
    }

    #[test]
    fn quantiles_are_met_and_interpolated_in_the_logarithm() {
        let d = dist("{ quantiles = [[0.0, 1], [0.5, 100], [1.0, 10000]] }").unwrap();
        for (u, v) in [(0.25, 10.0), (0.5, 100.0), (0.75, 1000.0)] {
            assert!((d.at(u) - v).abs() < 1e-9 * v, "{u}: {}", d.at(u));
        }
        assert!((d.largest() - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn caps_hold_on_both_sides() {
        let d = dist("{ median = 100, sigma = 2, min = 50, max = 200 }").unwrap();
        assert!((d.at(0.001) - 50.0).abs() < 1e-12);
        assert!((d.at(0.999) - 200.0).abs() < 1e-12);
        assert!((d.at(0.5) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_wrong_distribution_says_what_to_write() {
        for (text, part) in [
            ("{ median = 3 }", "write one of"),
            ("{ fixed = 3, median = 3, sigma = 1 }", "write one of"),
            ("{ fixed = -3 }", "`fixed` is -3"),
            ("{ median = 3, sigma = 9 }", "`sigma` is 9"),
            ("{ median = 3, sigma = nan }", "`sigma` is NaN"),
            ("{ fixed = inf }", "`fixed` is inf"),
            ("{ quantiles = [[0.0, 1], [0.9, 2]] }", "from 0 to 1"),
            ("{ quantiles = [[0.0, 3], [1.0, 2]] }", "must rise"),
            ("{ fixed = 3, min = 9, max = 2 }", "`min` 9 is above `max` 2"),
        ] {
            let error = dist(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn streams_differ_by_seed_and_index_and_repeat() {
        let first = |seed, index| Stream::new(seed, index).uniform().to_bits();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }

    #[test]
    fn spread_covers_the_interval_evenly() {
        let mut values: Vec<f64> = (0..40).map(|i| spread(7, i)).collect();
        values.sort_by(f64::total_cmp);
        assert!(values.windows(2).all(|w| w[1] - w[0] < 0.06), "{values:?}");
    }

    #[test]
    fn draws_have_the_asked_shares() {
        let mut s = Stream::new(3, 0);
        let n = 20_000;
        let hits = (0..n).filter(|_| s.chance(Share(0.3))).count() as f64 / f64::from(n);
        assert!((hits - 0.3).abs() < 0.02, "{hits}");
        let second = (0..n).filter(|_| s.categorical(&[1.0, 3.0, 0.0]) == 1).count() as f64 / f64::from(n);
        assert!((second - 0.75).abs() < 0.02, "{second}");
        let mean = (0..n).map(|_| s.run(Share(0.5), 8) as f64).sum::<f64>() / f64::from(n);
        assert!((mean - 0.996).abs() < 0.03, "{mean}");
    }
}
