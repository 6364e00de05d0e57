//! Numbers as people read them.

/// Tokens or counts with three significant digits: `999`, `40k`, `1.25M`.
pub fn short(n: f64) -> String {
    short_to(n, 3)
}

/// A number in short with up to `digits` significant digits: `950`, `1.2k`, `40k`, `1.2M`.
pub fn short_to(n: f64, digits: usize) -> String {
    if !n.is_finite() {
        return "n/a".to_owned();
    }
    let units = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "B"), (1e12, "T")];
    let texts = units.map(|(unit, name)| (significant(n.abs() / unit, digits), name));
    // 999,999 rounds to 1000k: the next unit says 1M.
    let fits = texts.iter().position(|(text, _)| text.parse::<f64>().is_ok_and(|v| v < 1000.0)).unwrap_or(units.len() - 1);
    let (text, name) = &texts[fits];
    let sign = if n < 0.0 && text != "0" { "-" } else { "" };
    format!("{sign}{text}{name}")
}

/// Plain decimal with at most `digits` significant digits (whole numbers keep all of theirs) and no trailing zeros.
fn significant(v: f64, digits: usize) -> String {
    let whole = if v > 0.0 { libm::log10(v).floor() as i32 + 1 } else { 1 };
    let decimals = (digits as i32 - whole).clamp(0, 9) as usize;
    let text = format!("{v:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// USD with at least two decimals and at least three significant digits.
pub fn usd(n: f64) -> String {
    let a = n.abs();
    let sign = if n < 0.0 { "-" } else { "" };
    let digits = match a {
        _ if a == 0.0 || a >= 1.0 => 2,
        _ if a >= 0.1 => 3,
        _ if a >= 0.01 => 4,
        _ => 6,
    };
    if a >= 99_999.5 { format!("{sign}${}", short(a)) } else { format!("{sign}${a:.digits$}") }
}

/// A share as a percentage, one decimal below 10 %.
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    // Rounding to 0 must not leave a sign.
    let p = if p.abs() < 0.05 { 0.0 } else { p };
    if p.abs() >= 9.95 || p == 0.0 { format!("{p:.0} %") } else { format!("{p:.1} %") }
}

/// `1 request`, `2 requests`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_keep_three_digits() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (999.4, "999"),
            (999.6, "1k"),
            (1_234.0, "1.23k"),
            (40_000.0, "40k"),
            (335_279.0, "335k"),
            (999_499.0, "999k"),
            (1_250_000.0, "1.25M"),
            (-168_153.0, "-168k"),
            (2.5e9, "2.5B"),
        ];
        for (n, text) in cases {
            assert_eq!(short(n), text);
        }
    }

    #[test]
    fn dollars_and_shares() {
        assert_eq!(
            (usd(0.0).as_str(), usd(12.345).as_str(), usd(0.1234).as_str(), usd(0.012_34).as_str()),
            ("$0.00", "$12.35", "$0.123", "$0.0123")
        );
        assert_eq!((usd(-3.0).as_str(), usd(250_000.0).as_str()), ("-$3.00", "$250k"));
        assert_eq!((percent(0.314).as_str(), percent(0.0314).as_str(), percent(-0.0001).as_str()), ("31 %", "3.1 %", "0 %"));
    }
}
