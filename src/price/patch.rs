//! `--price`, `--ttl` and `--window` as people write them.

use std::str::FromStr;

use super::PricePatch;
use crate::policy::size;

/// USD per million tokens; sums of larger prices could overflow.
pub(crate) const MOST_USD: f64 = 1e6;

const PRICE_KEYS: [&str; 5] = ["input", "cache_read", "cache_write", "cache_write_1h", "output"];

impl FromStr for PricePatch {
    type Err = String;

    /// Reads a model's name, prices in USD per million tokens, or both, separated by commas:
    /// `claude-sonnet-4-6`, `input=10,cache_read=1,output=60`, `claude-haiku-4-5,output=6`.
    ///
    /// # Errors
    /// One line: what is wrong and what to write. Whether the model exists is looked up later, by [`super::resolve`].
    fn from_str(text: &str) -> Result<Self, String> {
        const EXAMPLE: &str = "claude-sonnet-4-6, or input=3,cache_read=0.3,cache_write=3.75,cache_write_1h=6,output=15";
        let mut patch = Self::default();
        for part in text.split(',').map(str::trim) {
            let (key, value) = part.split_once('=').map_or(("model", part), |(key, value)| (key.trim(), value.trim()));
            if value.is_empty() {
                return Err(format!("\"{}\" has an empty part: write {EXAMPLE}", text.escape_debug()));
            }
            if key == "model" {
                if patch.model.replace(value.to_owned()).is_some() {
                    return Err(format!("two models: write one, as in {EXAMPLE}"));
                }
                continue;
            }
            let slot = match key {
                "input" => &mut patch.input,
                "cache_read" => &mut patch.cache_read,
                "cache_write" => &mut patch.cache_write,
                "cache_write_1h" => &mut patch.cache_write_1h,
                "output" => &mut patch.output,
                _ => {
                    let near = PRICE_KEYS
                        .iter()
                        .map(|known| (strsim::jaro_winkler(&key.to_lowercase(), known), *known))
                        .filter(|(score, _)| *score > 0.8)
                        .max_by(|a, b| a.0.total_cmp(&b.0))
                        .map_or_else(String::new, |(_, near)| format!("{near}; the prices are "));
                    return Err(format!("\"{}\" is not a price: write {near}{}", key.escape_debug(), PRICE_KEYS.join(", ")));
                }
            };
            let usd = value.trim_start_matches('$').parse::<f64>().ok().filter(|usd| (0.0..=MOST_USD).contains(usd));
            let usd = usd.ok_or_else(|| {
                format!("{key}={} is not a price: write USD per million tokens, from 0 to 1000000, as in {key}=3.75", value.escape_debug())
            })?;
            if slot.replace(usd + 0.0).is_some() {
                return Err(format!("{key} stands twice: write it once"));
            }
        }
        Ok(patch)
    }
}

/// Reads a lifetime of cache entries in milliseconds: `5m`, `1h`, `90s`, or plain milliseconds, `300000`.
///
/// # Errors
/// One line: what is wrong and what to write.
pub fn parse_ttl(text: &str) -> Result<i64, String> {
    let trimmed = text.trim().to_ascii_lowercase();
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let (digits, unit) =
        units.iter().find_map(|(end, unit)| trimmed.strip_suffix(end).map(|digits| (digits, *unit))).unwrap_or((&trimmed, 1));
    let number = Some(digits).filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
    number
        .and_then(|d| d.parse::<i64>().ok())
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(|| format!("\"{}\" is not a lifetime: write 5m, 1h, or milliseconds such as 300000", text.escape_debug()))
}

/// The context window that a command line states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Window {
    /// Nothing is said: the config's, else the model's.
    #[default]
    Unstated,
    /// No window: overflow is not looked at.
    None,
    /// Tokens.
    Tokens(u64),
}

impl FromStr for Window {
    type Err = String;

    /// Reads `none` or a size (see [`size::parse`]) above 0.
    ///
    /// # Errors
    /// One line: what is wrong and what to write.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(Self::None);
        }
        match size::parse(text) {
            Ok(0) => Err("a window of 0 tokens holds nothing: write tokens such as 200k, or none".to_owned()),
            Ok(tokens) => Ok(Self::Tokens(tokens)),
            Err(error) => Err(format!("{error}, or none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices() {
        assert_eq!("claude-haiku-4-5".parse(), Ok(PricePatch { model: Some("claude-haiku-4-5".to_owned()), ..PricePatch::default() }));
        assert_eq!(
            " input=10, cache_read=$1 ,output=60".parse(),
            Ok(PricePatch { input: Some(10.0), cache_read: Some(1.0), output: Some(60.0), ..PricePatch::default() })
        );
        let both: PricePatch = "x,cache_write=0,cache_write_1h=2".parse().unwrap();
        assert_eq!((both.model.as_deref(), both.cache_write, both.cache_write_1h), (Some("x"), Some(0.0), Some(2.0)));
        for (text, why) in [
            ("", "empty part"),
            ("a,", "empty part"),
            ("input=", "empty part"),
            ("a,b", "two models"),
            ("input=1,input=2", "twice"),
            ("input=-1", "not a price"),
            ("input=nan", "not a price"),
            ("input=inf", "not a price"),
            ("input=x", "not a price"),
            ("imput=1", "write input"),
            ("cacheread=1", "write cache_read"),
            ("zzz=1", "write input, cache_read"),
        ] {
            let error = text.parse::<PricePatch>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn lifetimes() {
        for (text, ms) in
            [("5m", 300_000), ("1h", 3_600_000), ("1H", 3_600_000), ("90s", 90_000), ("300000", 300_000), ("7ms", 7), ("0", 0)]
        {
            assert_eq!(parse_ttl(text), Ok(ms), "{text}");
        }
        for text in ["", "m", "-5m", "1.5h", "5d", "99999999999999999h", "5 m", "é"] {
            assert!(parse_ttl(text).unwrap_err().contains("write 5m"), "{text}");
        }
    }

    #[test]
    fn windows() {
        assert_eq!("200k".parse(), Ok(Window::Tokens(200_000)));
        assert_eq!("None".parse(), Ok(Window::None));
        for text in ["0", "-1", "0.5", "big"] {
            assert!(text.parse::<Window>().unwrap_err().contains("none"), "{text}");
        }
    }
}
