//! Numbers of tokens as people write them: `30000`, `30k`, `1.5m`.

/// Reads a number of tokens (or tool uses): digits, a decimal point, and `k` (thousand) or `m` (million), in either case.
///
/// # Errors
/// One line that says what is wrong with the text and what to write; a value with a fraction of a token is one.
///
/// ```
/// use cleartune::policy::size;
/// assert_eq!(size::parse("30k"), Ok(30_000));
/// assert_eq!(size::parse("1.5m"), Ok(1_500_000));
/// assert!(size::parse("0.5").is_err());
/// ```
pub fn parse(text: &str) -> Result<u64, String> {
    let shown = || super::field::quoted(text);
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(format!("{} is negative: write 0 or more, such as 30000, 30k or 1.5m", shown()));
    }
    let (digits, zeros) = match trimmed.as_bytes().last() {
        Some(b'k' | b'K') => (&trimmed[..trimmed.len() - 1], 3),
        Some(b'm' | b'M') => (&trimmed[..trimmed.len() - 1], 6),
        _ => (trimmed, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // 30_000 as in Rust and TOML: underscores only between digits.
    let plain = whole.replace('_', "");
    let well_formed = !plain.is_empty()
        && plain.bytes().all(|b| b.is_ascii_digit())
        && !whole.starts_with('_')
        && !whole.ends_with('_')
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && digits.contains('.') != fraction.is_empty();
    if !well_formed {
        return Err(format!("{} is not a number of tokens: write 30000, 30k or 1.5m", shown()));
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > zeros {
        return Err(format!("{} is not a whole number: write one such as 30000, 30k or 1.5m", shown()));
    }
    format!("{plain}{fraction}{}", "0".repeat(zeros - fraction.len()))
        .parse()
        .map_err(|_| format!("{} is too large: write a number of tokens such as 30000, 30k or 1.5m", shown()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn every_way_to_write_a_size() {
        for (text, tokens) in [
            ("0", 0),
            ("30000", 30_000),
            ("30_000", 30_000),
            ("30k", 30_000),
            ("200K", 200_000),
            ("1.5m", 1_500_000),
            ("1M", 1_000_000),
            ("0.5k", 500),
            ("1.234k", 1_234),
            ("1.50k", 1_500),
            ("2.0", 2),
            (" 5k ", 5_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(tokens), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_says_what_to_write() {
        for (text, why) in [
            ("", "not a number"),
            ("k", "not a number"),
            (".5k", "not a number"),
            ("5.", "not a number"),
            ("30,000", "not a number"),
            ("3e4", "not a number"),
            ("30kk", "not a number"),
            ("1.2.3k", "not a number"),
            ("_1", "not a number"),
            ("٣", "not a number"),
            ("é", "not a number"),
            ("nan", "not a number"),
            ("+5", "not a number"),
            ("-1", "negative"),
            ("0.5", "not a whole"),
            ("1.2345k", "not a whole"),
            ("18446744073709551616", "too large"),
            ("99999999999999999m", "too large"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why) && error.contains("write"), "{text}: {error}");
        }
    }
}
