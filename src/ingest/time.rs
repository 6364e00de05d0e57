//! ISO 8601 timestamps to milliseconds.

/// An instant, and whether its zone was stated; without one it is taken as UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub ms: i64,
    /// Whether the text named a zone.
    pub zoned: bool,
}

/// Parses `2026-04-21T10:21:52.979Z`, with any number of fractional digits, `Z`, `+02:00`, `+0200` or no zone, `T` or a blank.
pub fn parse(text: &str) -> Option<Instant> {
    let b = text.trim().as_bytes();
    let num = |from: usize, len: usize| -> Option<i64> {
        let digits = b.get(from..from + len)?;
        digits.iter().try_fold(0, |n, &d| Some(n * 10 + i64::from((d as char).to_digit(10)?)))
    };
    let (year, month, day) = (num(0, 4)?, num(5, 2)?, num(8, 2)?);
    let (hour, minute, second) = (num(11, 2)?, num(14, 2)?, num(17, 2)?);
    let shape = b[4] == b'-' && b[7] == b'-' && b"Tt ".contains(&b[10]) && b[13] == b':' && b[16] == b':';
    if !shape || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let mut i = 19;
    let mut ms = 0;
    if b.get(i).is_some_and(|c| b".,".contains(c)) {
        i += 1;
        let mut scale = 100;
        while let Some(d) = b.get(i).and_then(|&c| (c as char).to_digit(10)) {
            ms += i64::from(d) * scale;
            scale /= 10;
            i += 1;
        }
    }
    let (offset, zoned) = match b.get(i) {
        None => (0, false),
        Some(b'Z' | b'z') => (0, true),
        Some(&sign @ (b'+' | b'-')) => {
            let minutes = if b.get(i + 3) == Some(&b':') { num(i + 4, 2) } else { num(i + 3, 2) };
            let offset = num(i + 1, 2)? * 60 + minutes.unwrap_or(0);
            (if sign == b'-' { -offset } else { offset }, true)
        }
        Some(_) => return None,
    };
    let ms = (days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60) * 1000 + ms;
    Some(Instant { ms, zoned })
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants() {
        let z = |s: &str| parse(s).map(|i| (i.ms, i.zoned));
        assert_eq!(z("1970-01-01T00:00:00Z"), Some((0, true)));
        assert_eq!(z("2000-03-01T00:00:00.5Z"), Some((951_868_800_500, true)));
        assert_eq!(z("2026-04-21T10:21:52.979Z"), Some((1_776_766_912_979, true)));
        assert_eq!(z("2026-04-21T12:21:52.979123+02:00"), Some((1_776_766_912_979, true)));
        assert_eq!(z("2026-04-21T06:21:52.979-0400"), Some((1_776_766_912_979, true)));
        assert_eq!(z("2026-04-21 10:21:52.979"), Some((1_776_766_912_979, false)));
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-04-21", "2026-04-21T10:21:52 PM", "2026/04/21T10:21:52Z"] {
            assert_eq!(z(bad), None, "{bad}");
        }
    }
}
