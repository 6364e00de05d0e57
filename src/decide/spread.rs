//! How a saving differs from transcript to transcript.

/// Savings against `none` over the transcripts, as shares of the cost of `none` (0.2: a fifth less; negative: dearer).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Transcripts that cost anything at all.
    pub transcripts: usize,
    /// The smallest saving.
    pub worst: f64,
    /// A quarter of the transcripts save less.
    pub lower: f64,
    /// The middle one.
    pub median: f64,
    /// A quarter save more.
    pub upper: f64,
    /// The largest.
    pub best: f64,
    /// Transcripts that cost more than without clearing.
    pub dearer: usize,
    /// Transcripts that cost the same, as nothing was cleared in them.
    pub unchanged: usize,
}

impl Spread {
    /// Of pairs (cost of `none`, cost of the config) in USD; `None` where no transcript costs anything.
    pub fn new(costs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let mut savings: Vec<f64> = Vec::new();
        let (mut dearer, mut unchanged) = (0, 0);
        for (none, config) in costs {
            if none > 0.0 {
                savings.push(1.0 - config / none);
                dearer += usize::from(config > none);
                unchanged += usize::from(config.total_cmp(&none).is_eq());
            }
        }
        savings.sort_by(f64::total_cmp);
        let at = |q: f64| savings[(q * (savings.len() - 1) as f64 + 0.5) as usize];
        (!savings.is_empty()).then(|| Self {
            transcripts: savings.len(),
            worst: at(0.0),
            lower: at(0.25),
            median: at(0.5),
            upper: at(0.75),
            best: at(1.0),
            dearer,
            unchanged,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_and_the_dearer_ones() {
        let spread = Spread::new([(1.0, 0.5), (2.0, 2.2), (1.0, 1.0), (4.0, 1.0), (0.0, 0.0), (1.0, 0.9)]).unwrap();
        assert_eq!((spread.transcripts, spread.dearer, spread.unchanged), (5, 1, 1));
        assert!((spread.worst + 0.1).abs() < 1e-12 && (spread.best - 0.75).abs() < 1e-12);
        assert!((spread.median - 0.1).abs() < 1e-12 && spread.lower.abs() < 1e-12 && (spread.upper - 0.5).abs() < 1e-12);
    }

    #[test]
    fn free_transcripts_have_no_saving() {
        assert_eq!(Spread::new([(0.0, 1.0)]), None);
    }
}
