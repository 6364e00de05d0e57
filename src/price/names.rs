//! Model names as logs, gateways and clouds spell them.

/// A name taken apart so that spellings of the same model compare equal: its words, sorted, and its numbers, in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    words: Vec<String>,
    numbers: Vec<String>,
}

/// The key of a name that [`core`] has been applied to.
pub(super) fn key(name: &str) -> Key {
    let (mut numbers, mut words): (Vec<String>, Vec<String>) = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .partition(|part| part.bytes().all(|b| b.is_ascii_digit()));
    words.sort();
    // claude-opus-4-0 is claude-opus-4.
    while numbers.len() > 1 && numbers.last().is_some_and(|n| n == "0") {
        numbers.pop();
    }
    Key { words, numbers }
}

/// The name without path, cloud and region: `us.anthropic.claude-x` and `openrouter/anthropic/claude-x` are `claude-x`.
pub(super) fn core(name: &str) -> &str {
    let mut name = name.rsplit('/').next().unwrap_or(name);
    while let Some((prefix, rest)) = name.split_once('.') {
        let is_region = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if !is_region || !rest.starts_with(|c: char| c.is_ascii_lowercase()) {
            break;
        }
        name = rest;
    }
    name
}

/// The name and what is left of it as dates, versions and modes are taken off its end, one at a time.
pub(super) fn variants(name: &str) -> Vec<&str> {
    let mut out = vec![name];
    let mut name = name;
    while let Some(shorter) = strip(name, ENDS).or_else(|| strip_date(name)).or_else(|| strip_version(name)) {
        if shorter.is_empty() {
            break;
        }
        out.push(shorter);
        name = shorter;
    }
    out
}

/// A catalogue's own id without its date, version or `-latest`; modes and previews stay, as they may have other prices.
pub(super) fn plain_id(id: &str) -> &str {
    // Not from claude-v1, whose version is all that tells it apart.
    let id = strip_version(id).filter(|rest| rest.bytes().any(|b| b.is_ascii_digit())).unwrap_or(id);
    strip(id, &["-latest"]).or_else(|| strip_date(id)).unwrap_or(id)
}

/// Ends of a name that change nothing in its price. `:free` and `:batch` do and stay.
const ENDS: &[&str] = &["-latest", "@latest", "@default", ":beta", ":thinking", "-thinking", "-preview", "-exp"];

fn strip<'a>(name: &'a str, ends: &[&str]) -> Option<&'a str> {
    ends.iter().find_map(|end| name.strip_suffix(end))
}

/// Takes off `-20250929`, `@20250929`, `-2025-09-29` or `-09-2025` and `-06-05` as in Gemini previews.
fn strip_date(name: &str) -> Option<&str> {
    let digits = |s: &str, n: usize| s.len() == n && s.bytes().all(|b| b.is_ascii_digit());
    let (head, last) = name.rsplit_once(['-', '@'])?;
    if digits(last, 8) && last.starts_with("20") {
        return Some(head);
    }
    let (head, middle) = head.rsplit_once('-')?;
    if digits(middle, 2) && digits(last, 2) {
        return match head.rsplit_once('-') {
            Some((start, year)) if digits(year, 4) && year.starts_with("20") => Some(start),
            _ => Some(head),
        };
    }
    (digits(middle, 2) && digits(last, 4) && last.starts_with("20")).then_some(head)
}

/// Takes off `-v1`, `-v1:0` or `:0`.
fn strip_version(name: &str) -> Option<&str> {
    let digits = |s: &str| !s.is_empty() && s.len() <= 3 && s.bytes().all(|b| b.is_ascii_digit());
    let head = name.rsplit_once(':').filter(|(_, n)| digits(n)).map_or(name, |(head, _)| head);
    let head = head.rsplit_once("-v").filter(|(_, n)| digits(n)).map_or(head, |(start, _)| start);
    (head.len() < name.len()).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_model_share_a_key() {
        let same = |a: &str, b: &str| key(a) == key(b);
        assert!(same("claude-sonnet-4-5", "claude-4.5-sonnet"));
        assert!(same("claude-opus-4", "claude-opus-4-0"));
        assert!(same("gpt-5-4", "gpt-5.4"));
        assert!(!same("claude-sonnet-4-5", "claude-sonnet-5-4"));
        assert!(!same("claude-sonnet-4-6", "claude-sonnet-4-66"));
        assert!(!same("gpt-5", "gpt-5-mini"));
    }

    #[test]
    fn cores() {
        assert_eq!(core("us.anthropic.claude-opus-4-5"), "claude-opus-4-5");
        assert_eq!(core("us-gov.anthropic.claude-opus-4-5"), "claude-opus-4-5");
        assert_eq!(core("openrouter/anthropic/claude-opus-4.5"), "claude-opus-4.5");
        assert_eq!(core("gpt-5.6-sol"), "gpt-5.6-sol");
        assert_eq!(core("gemini-2.5-pro"), "gemini-2.5-pro");
        assert_eq!(core(""), "");
    }

    #[test]
    fn ends_come_off_one_at_a_time() {
        assert_eq!(
            variants("claude-opus-4-5-20251101-v1:0"),
            ["claude-opus-4-5-20251101-v1:0", "claude-opus-4-5-20251101", "claude-opus-4-5"]
        );
        assert_eq!(variants("claude-opus-5@20260301").last(), Some(&"claude-opus-5"));
        assert_eq!(variants("gemini-2.5-pro-preview-06-05").last(), Some(&"gemini-2.5-pro"));
        assert_eq!(variants("gpt-5-2025-08-07").last(), Some(&"gpt-5"));
        assert_eq!(variants("claude-opus-4-5"), ["claude-opus-4-5"]);
        assert_eq!(variants("x:free"), ["x:free"]);
        assert_eq!(variants("-latest"), ["-latest"]);
    }
}
