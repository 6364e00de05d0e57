//! The colours: Okabe and Ito's for lines, a blue-white-orange map for the cost ratio.

/// Red, green, blue, 0 to 255 (sRGB).
pub(super) type Rgb = (u8, u8, u8);

pub(super) const WHITE: Rgb = (255, 255, 255);
pub(super) const INK: Rgb = (34, 34, 34);
pub(super) const MUTED: Rgb = (95, 95, 95);
pub(super) const AXIS: Rgb = (120, 120, 120);
pub(super) const GRID: Rgb = (230, 230, 230);
/// A ratio that is not defined.
pub(super) const UNDEFINED: Rgb = (187, 187, 187);
/// A cell that no config fills.
pub(super) const ABSENT: Rgb = (240, 240, 240);

pub(super) const BLACK: Rgb = (0, 0, 0);
pub(super) const BLUE: Rgb = (0, 114, 178);
pub(super) const VERMILLION: Rgb = (213, 94, 0);
pub(super) const GREEN: Rgb = (0, 158, 115);
pub(super) const PURPLE: Rgb = (170, 68, 153);
pub(super) const SKY: Rgb = (86, 180, 233);
pub(super) const ORANGE: Rgb = (230, 159, 0);

/// Six lines that stay apart for the colour-blind (after Okabe and Ito, 2008).
pub(super) const LINES: [Rgb; 6] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY];

/// From cheapest (blue) over no difference (near white) to dearest (orange), evenly spaced.
const DIVERGING: [Rgb; 9] = [
    (8, 64, 129),
    (33, 113, 181),
    (92, 160, 206),
    (173, 209, 231),
    (247, 247, 247),
    (253, 208, 155),
    (245, 152, 62),
    (209, 97, 12),
    (138, 56, 4),
];

/// Colour at `t` of -1 (cheapest) to 1 (dearest); beyond that the end's colour.
pub(super) fn diverging(t: f64) -> Rgb {
    let at = f64::midpoint(t.clamp(-1.0, 1.0), 1.0) * (DIVERGING.len() - 1) as f64;
    let low = (at.floor() as usize).min(DIVERGING.len() - 2);
    let share = at - low as f64;
    let (a, b) = (DIVERGING[low], DIVERGING[low + 1]);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Black or white, whichever is easier to read on `ground`.
pub(super) fn text_on(ground: Rgb) -> Rgb {
    let luma = 0.299 * f64::from(ground.0) + 0.587 * f64::from(ground.1) + 0.114 * f64::from(ground.2);
    if luma > 135.0 { INK } else { WHITE }
}

/// Colours of cost ratios: the logarithm of the ratio on a scale that is symmetric about 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct CostScale {
    /// Natural logarithm of the ratio at the ends.
    reach: f64,
    /// Whether a ratio below, above the ends was seen.
    pub(super) beyond: (bool, bool),
}

impl CostScale {
    /// Reaches far enough for 95 % of the ratios, so that a few extremes do not wash out the rest, and at least 5 %
    /// either way, so that noise does not look like a difference.
    pub(super) fn new(ratios: impl Iterator<Item = Option<f64>>) -> Self {
        let logs: Vec<f64> = ratios.filter_map(usable).map(libm::log).collect();
        let mut sizes: Vec<f64> = logs.iter().map(|l| l.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let most = if sizes.is_empty() { 0.0 } else { sizes[((sizes.len() - 1) * 95).div_ceil(100)] };
        // A largest value just past the quantile is no extreme: let the scale reach it.
        let largest = sizes.last().copied().unwrap_or(0.0);
        let reach = if largest <= most * 1.5 { largest } else { most }.max(libm::log(1.05));
        let past = reach * (1.0 + 1e-9);
        Self { reach, beyond: (logs.iter().any(|&l| l < -past), logs.iter().any(|&l| l > past)) }
    }

    /// Where the ratio lies, -1 to 1 (0: same cost as `none`); `None` for one that is not defined.
    pub(super) fn position(&self, ratio: Option<f64>) -> Option<f64> {
        usable(ratio).map(|r| (libm::log(r) / self.reach).clamp(-1.0, 1.0))
    }

    /// Colour of a ratio.
    pub(super) fn colour(&self, ratio: Option<f64>) -> Rgb {
        self.position(ratio).map_or(UNDEFINED, diverging)
    }

    /// Ratios at the two ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        (libm::exp(-self.reach), libm::exp(self.reach))
    }
}

/// A ratio that has a logarithm.
fn usable(ratio: Option<f64>) -> Option<f64> {
    ratio.filter(|r| r.is_finite() && *r > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_cost_is_the_light_middle_and_the_ends_are_blue_and_orange() {
        let scale = CostScale::new([Some(0.5), Some(1.0), Some(1.5)].into_iter());
        assert_eq!(scale.colour(Some(1.0)), (247, 247, 247));
        let (cheap, dear) = (scale.colour(Some(0.5)), scale.colour(Some(2.0)));
        assert!(cheap.2 > cheap.0 && dear.0 > dear.2, "{cheap:?} {dear:?}");
        assert_eq!(scale.colour(None), UNDEFINED);
        assert_eq!(scale.colour(Some(f64::NAN)), UNDEFINED);
        assert_eq!(scale.colour(Some(0.0)), UNDEFINED);
    }

    #[test]
    fn a_hair_of_difference_stays_pale_and_an_extreme_does_not_stretch_the_scale() {
        let noise = CostScale::new([Some(0.999), Some(1.001)].into_iter());
        assert!(noise.position(Some(1.001)).unwrap() < 0.03);
        let wide = CostScale::new((0..100).map(|i| Some(if i == 0 { 50.0 } else { 1.2 })));
        assert!(wide.ends().1 < 1.3);
        assert_eq!(wide.beyond, (false, true));
    }
}
