//! Repairs of JSON text: what agents, proxies and full disks leave behind, made readable without touching what is well.

/// Tells the bytes of JSON's strings from those of its structure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// Whether the next byte belongs to a string, its quotes included.
    pub fn hold(&mut self, b: u8) -> bool {
        if !self.inside {
            self.inside = b == b'"';
            return self.inside;
        }
        match b {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.inside = false,
            _ => {}
        }
        true
    }
}

/// A brace counter that knows strings. Feed it text piece by piece.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scan {
    depth: u32,
    strings: Strings,
    started: bool,
    closed: bool,
    trailing: bool,
}

impl Scan {
    /// The scan of a whole text.
    pub fn over(text: &str) -> Self {
        let mut scan = Self::default();
        if let Some(end) = scan.feed(text) {
            scan.trailing = !text[end..].trim().is_empty();
        }
        scan
    }

    /// Reads on; the offset one past the brace or bracket that closes the outermost one, if it closes here.
    pub fn feed(&mut self, text: &str) -> Option<usize> {
        for (i, b) in text.bytes().enumerate() {
            if self.strings.hold(b) {
                continue;
            }
            match b {
                b'{' | b'[' => {
                    self.depth += 1;
                    self.started = true;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.started && self.depth == 0 {
                        self.closed = true;
                        return Some(i + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether the text holds one closed object and nothing after it.
    pub fn is_one_object(self) -> bool {
        self.closed && !self.trailing
    }
}

/// The text with raw control characters in strings escaped, lone surrogates replaced by U+FFFD, unknown escapes taken literally, and `NaN`
/// and infinities turned to `null`.
pub fn repair(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut copied = 0;
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        if !in_string {
            if b == b'"' {
                in_string = true;
            } else if let Some(n) = ["NaN", "-Infinity", "Infinity", "-NaN"].iter().find(|w| text[i..].starts_with(**w)).map(|w| w.len()) {
                out.push_str(&text[copied..i]);
                out.push_str("null");
                i += n;
                copied = i;
                continue;
            } else if b < 0x20 && !b.is_ascii_whitespace() {
                out.push_str(&text[copied..i]);
                copied = i + 1;
            }
            i += 1;
            // Outside strings JSON is ASCII; step over a whole character so that slicing stays on a boundary.
            while i < bytes.len() && !text.is_char_boundary(i) {
                i += 1;
            }
            continue;
        }
        match b {
            b'"' => in_string = false,
            b'\\' => {
                let (keep, len) = escape_at(bytes, i);
                match keep {
                    Escape::Well => {}
                    Escape::LoneSurrogate => {
                        out.push_str(&text[copied..i]);
                        out.push('\u{fffd}');
                        copied = i + len;
                    }
                    Escape::Unknown => {
                        out.push_str(&text[copied..i]);
                        out.push_str("\\\\");
                        copied = i + len;
                    }
                }
                i += len;
                continue;
            }
            0..0x20 => {
                use std::fmt::Write;
                out.push_str(&text[copied..i]);
                let _ = write!(out, "\\u{b:04x}");
                copied = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    out.push_str(&text[copied..]);
    out
}

enum Escape {
    Well,
    LoneSurrogate,
    Unknown,
}

/// What the escape at `i` is and how many bytes it spans.
fn escape_at(bytes: &[u8], i: usize) -> (Escape, usize) {
    match bytes.get(i + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => (Escape::Well, 2),
        Some(b'u') => match hex4(bytes, i + 2) {
            None => (Escape::Unknown, 1),
            Some(0xd800..0xdc00) => match (bytes.get(i + 6), bytes.get(i + 7), hex4(bytes, i + 8)) {
                (Some(b'\\'), Some(b'u'), Some(0xdc00..0xe000)) => (Escape::Well, 12),
                _ => (Escape::LoneSurrogate, 6),
            },
            Some(0xdc00..0xe000) => (Escape::LoneSurrogate, 6),
            Some(_) => (Escape::Well, 6),
        },
        _ => (Escape::Unknown, 1),
    }
}

/// Four hexadecimal digits at `at`.
pub fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |n, &d| Some(n * 16 + (d as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_leaves_good_text_alone() {
        let good = r#"{"a":"x\n\u00e9\ud83d\ude00 ü NaN","b":[1,-2.5e3,null]}"#;
        assert_eq!(repair(good), good);
    }

    #[test]
    fn each_fault_becomes_readable() {
        for (bad, good) in [
            ("{\"a\":\"x\ty\u{1}z\"}", r#"{"a":"x\u0009y\u0001z"}"#),
            (r#"{"a":"\ud83d"}"#, "{\"a\":\"\u{fffd}\"}"),
            (r#"{"a":"\udcb2x"}"#, "{\"a\":\"\u{fffd}x\"}"),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, "{\"a\":\"\u{fffd}\\ud83d\\ude00\"}"),
            (r#"{"a":NaN,"b":-Infinity,"c":[Infinity]}"#, r#"{"a":null,"b":null,"c":[null]}"#),
            (r#"{"a":"C:\path"}"#, r#"{"a":"C:\\path"}"#),
            ("{\"a\":\u{0}1}", r#"{"a":1}"#),
        ] {
            assert_eq!(repair(bad), good);
            serde_json::from_str::<serde_json::Value>(&repair(bad)).unwrap();
        }
    }

    #[test]
    fn braces_in_strings_do_not_count() {
        let mut scan = Scan::default();
        assert_eq!(scan.feed(r#"{"a":"}\"}"#), None);
        assert_eq!(scan.feed(r#""}{"#), Some(2));
        assert!(Scan::over(r#"{"a":1} "#).is_one_object());
        assert!(!Scan::over(r#"{"a":1} x"#).is_one_object());
        assert!(!Scan::over(r#"{"a":1"#).is_one_object());
    }
}
