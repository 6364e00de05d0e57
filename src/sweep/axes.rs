//! Values of one knob, as the command line spells them.

use crate::policy::size;

/// Values of a numeric knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// Taken from the data.
    Auto,
    /// These, in ascending order, each once.
    Values(Vec<u64>),
}

/// Why an axis cannot be read: what is wrong and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AxisError(pub String);

/// More values than this on one axis are taken for a slip of the pen.
const MOST_VALUES: u64 = 100_000;

impl Axis {
    /// Parses `30000`, `30k`, `1.5m`, a list `0,5k,20k`, an inclusive range `30k..150k:10k`, `auto`, and `none` for 0
    /// where `none_is_zero`. Lists may hold ranges.
    ///
    /// # Errors
    /// A part is none of these, a range is empty or has no step, or there are more than 100,000 values.
    pub fn parse(text: &str, none_is_zero: bool) -> Result<Self, AxisError> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        let mut values = Vec::new();
        for part in text.split(',').map(str::trim) {
            match part {
                "none" if none_is_zero => values.push(0),
                "none" => return Err(AxisError("none is not a value of this knob; write a number such as 30k".to_owned())),
                "auto" => return Err(AxisError("auto stands alone; write auto, or numbers such as 30k,60k".to_owned())),
                "" => return Err(AxisError("a value is missing; write a list such as 0,5k,20k".to_owned())),
                _ => match part.split_once("..") {
                    Some((from, rest)) => range(part, from, rest, &mut values)?,
                    None => values.push(number(part)?),
                },
            }
        }
        values.sort_unstable();
        values.dedup();
        Ok(Self::Values(values))
    }
}

fn number(text: &str) -> Result<u64, AxisError> {
    size::parse(text).map_err(AxisError)
}

fn range(part: &str, from: &str, rest: &str, values: &mut Vec<u64>) -> Result<(), AxisError> {
    let (to, step) =
        rest.split_once(':').ok_or_else(|| AxisError(format!("{part} has no step; write FROM..TO:STEP, such as 30k..150k:10k")))?;
    let (from, to, step) = (number(from)?, number(to)?, number(step)?);
    if step == 0 {
        return Err(AxisError(format!("{part} has step 0; write a step such as 10k")));
    }
    if from > to {
        return Err(AxisError(format!("{part} runs downwards; write the smaller value first")));
    }
    if (to - from) / step >= MOST_VALUES {
        return Err(AxisError(format!("{part} has more than {MOST_VALUES} values; write a larger step")));
    }
    values.extend((0..=(to - from) / step).map(|i| from + i * step));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<u64> {
        match Axis::parse(text, true).unwrap() {
            Axis::Values(values) => values,
            Axis::Auto => panic!("auto"),
        }
    }

    #[test]
    fn lists_ranges_and_none() {
        assert_eq!(values("30000"), [30_000]);
        assert_eq!(values("20k, 0,5k,5k"), [0, 5_000, 20_000]);
        assert_eq!(values("30k..60k:10k"), [30_000, 40_000, 50_000, 60_000]);
        assert_eq!(values("30k..59999:10k"), [30_000, 40_000, 50_000]);
        assert_eq!(values("7..7:1"), [7]);
        assert_eq!(values("none,1..3:1"), [0, 1, 2, 3]);
        assert_eq!(Axis::parse(" auto ", false), Ok(Axis::Auto));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("", "missing"),
            ("1,,2", "missing"),
            ("30k..20k:1k", "downwards"),
            ("1..5", "no step"),
            ("1..5:0", "step 0"),
            ("0..10m:1", "more than"),
            ("1,auto", "alone"),
        ] {
            let error = Axis::parse(text, true).unwrap_err().0;
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(Axis::parse("none", false).is_err());
        assert_eq!(values("0..99999:1").len(), 100_000);
    }
}
