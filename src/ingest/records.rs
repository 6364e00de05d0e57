//! Records out of lines: one JSON object a line as a rule, and what is done when the rule is broken.
//!
//! A line that parses costs one pass. Only a line that does not is looked at again: it is repaired (raw control characters, broken UTF-8,
//! lone surrogates, `NaN`), split (`}{`), joined with the lines that follow (an object over several lines), or skipped by number.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::input::{Input, Line, Lines};
use super::repair::{Scan, Strings, repair};
use super::{FileReport, Limits};

/// Why a reader did not take a record.
pub enum Refusal {
    /// The text is not the JSON that the reader expects; a repair may help.
    Syntax,
    /// It is, and cannot be used: the reason in words.
    Unusable(String),
}

/// Calls `take` with every record and its line number, and tells the report of those that could not be read.
///
/// `take` may be called with a text that it refuses and then with a repaired one, so it acts only when it accepts.
pub fn each_record(input: Input<'_>, limits: Limits, report: &mut FileReport, take: &mut dyn FnMut(&str, u64) -> Result<(), Refusal>) {
    let mut lines = input.lines(limits.record_bytes);
    let mut driver = Driver { limits, report, take, open: None };
    loop {
        match lines.next() {
            Ok(Some((number, Line::Text(line)))) => driver.line(line, number),
            Ok(Some((number, Line::TooLong))) => {
                driver.cut();
                let cap = limits.record_bytes >> 20;
                driver.skip(number, format!("the line is longer than {cap} MiB; write one record a line"));
            }
            Ok(None) => break,
            Err(error) => {
                driver.cut();
                driver.skip(next_line(&lines), format!("the file breaks off here ({})", plain(&error)));
                break;
            }
        }
    }
    driver.cut();
    report.bytes = lines.bytes();
    report.skipped.sort_by_key(|s| s.line);
}

fn next_line(lines: &Lines<'_>) -> u64 {
    lines.number() + 1
}

/// An I/O error in words that hold nothing of the file.
fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "the compressed data ends too early".to_owned(),
        std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => "the compressed data is damaged".to_owned(),
        _ => error.to_string(),
    }
}

/// How deep a record is parsed; what lies deeper counts as text. The parser itself goes to 128, and what is made of a record adds to it.
const DEEPEST: usize = 100;

/// A record as JSON, however deep it is.
pub fn value(text: &str) -> Result<serde_json::Value, Refusal> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    shallow(text).and_then(|text| serde_json::from_str(&text).ok()).ok_or(Refusal::Syntax)
}

/// An object of which one list, the bulk of it, is parsed element by element: as values all at once it would take several times its size.
pub struct Lazy<'a> {
    /// Everything but the list.
    pub rest: serde_json::Value,
    /// The elements of the list; `None` where there is none under the key.
    pub list: Option<Vec<&'a RawValue>>,
}

impl<'a> Lazy<'a> {
    /// The object with the list under `key`.
    pub fn new(text: &'a str, key: &str) -> Result<Self, Refusal> {
        let fields: BTreeMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(text).map_err(|_| Refusal::Syntax)?;
        let mut lazy = Self { rest: serde_json::Value::Object(serde_json::Map::new()), list: None };
        for (name, raw) in fields {
            match serde_json::from_str(raw.get()) {
                Ok(list) if name == key => lazy.list = Some(list),
                _ => lazy.rest[name.as_ref()] = value(raw.get())?,
            }
        }
        Ok(lazy)
    }
}

/// The text with containers that lie too deep turned to strings; `None` where there are none.
fn shallow(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut depth, mut start, mut copied) = (0usize, 0, 0);
    let mut strings = Strings::default();
    for (i, b) in text.bytes().enumerate() {
        if strings.hold(b) {
            continue;
        }
        match b {
            b'{' | b'[' => {
                depth += 1;
                if depth == DEEPEST + 1 {
                    start = i;
                }
            }
            b'}' | b']' => {
                if depth == DEEPEST + 1 {
                    out.push_str(&text[copied..start]);
                    out.push_str(&serde_json::Value::from(&text[start..=i]).to_string());
                    copied = i + 1;
                }
                depth = depth.checked_sub(1)?;
            }
            _ => {}
        }
    }
    out.push_str(&text[copied..]);
    (copied > 0).then_some(out)
}

/// An object that is not closed yet.
struct Open {
    text: String,
    line: u64,
    scan: Scan,
}

struct Driver<'d> {
    limits: Limits,
    report: &'d mut FileReport,
    take: &'d mut dyn FnMut(&str, u64) -> Result<(), Refusal>,
    open: Option<Open>,
}

enum Outcome {
    Taken,
    Refused,
    Failed,
}

impl Driver<'_> {
    fn skip(&mut self, line: u64, why: impl Into<String>) {
        self.report.skip(line, why, self.limits.named_skips);
    }

    /// Whatever is open was cut: say so and go on.
    fn cut(&mut self) {
        if let Some(open) = self.open.take() {
            self.skip(open.line, "the record is cut; expected a whole JSON object");
        }
    }

    fn line(&mut self, bytes: &[u8], number: u64) {
        let line = bytes.trim_ascii();
        if line.is_empty() {
            self.report.blank_lines += 1;
            return;
        }
        if let Some(held) = self.open.as_ref().map(|open| open.text.len()) {
            // A record that starts at the margin and is whole shows that the open one was cut.
            let whole = bytes[0] == b'{' && matches!(self.attempt(line, number), Outcome::Taken | Outcome::Refused);
            if whole || held + line.len() > self.limits.record_bytes {
                self.cut();
            } else {
                self.append(line);
            }
            return;
        }
        if line[0] != b'{' {
            // Arrays, numbers, strings and words are no records; a stray tail of a cut record is none either.
            if let Some(at) = torn_start(line)
                && matches!(self.attempt(&line[at..], number), Outcome::Taken)
            {
                self.skip(number, "text before the record; expected one JSON object a line");
                return;
            }
            self.skip(number, format!("{}; expected a JSON object", what(line)));
            return;
        }
        if matches!(self.attempt(line, number), Outcome::Failed) {
            self.recover(&String::from_utf8_lossy(line), number);
        }
    }

    /// One text as one record: as it stands, then repaired.
    fn attempt(&mut self, line: &[u8], number: u64) -> Outcome {
        if let Ok(text) = std::str::from_utf8(line) {
            match (self.take)(text, number) {
                Ok(()) => {
                    self.report.records += 1;
                    return Outcome::Taken;
                }
                Err(Refusal::Unusable(why)) => {
                    self.skip(number, why);
                    return Outcome::Refused;
                }
                Err(Refusal::Syntax) => {}
            }
        }
        // A repair is tried only where the braces close, for it cannot close them.
        let text = String::from_utf8_lossy(line);
        if !Scan::over(&text).is_one_object() {
            return Outcome::Failed;
        }
        match (self.take)(&repair(&text), number) {
            Ok(()) => {
                self.report.records += 1;
                self.report.repaired += 1;
                Outcome::Taken
            }
            Err(Refusal::Unusable(why)) => {
                self.skip(number, why);
                Outcome::Refused
            }
            Err(Refusal::Syntax) => Outcome::Failed,
        }
    }

    /// A line that starts like an object and is not one object: several, or the start of one, or broken.
    fn recover(&mut self, text: &str, number: u64) {
        let mut rest = text;
        let mut first = true;
        loop {
            let mut scan = Scan::default();
            let end = scan.feed(rest);
            let Some(end) = end else {
                if let Some(at) = torn_start(rest.as_bytes())
                    && matches!(self.attempt(&rest.as_bytes()[at..], number), Outcome::Taken)
                {
                    self.skip(number, "the record is cut and another follows on the line; expected a whole JSON object");
                    return;
                }
                self.open = Some(Open { text: rest.to_owned(), line: number, scan });
                return;
            };
            let (object, after) = rest.split_at(end);
            let alone = first && after.trim().is_empty();
            if alone || matches!(self.attempt(object.as_bytes(), number), Outcome::Failed) {
                self.skip(number, "not valid JSON, and no repair helps");
            } else {
                self.report.repaired += u64::from(first);
            }
            first = false;
            rest = after.trim_start_matches([' ', '\t', ',', '\r', '\u{1e}']);
            if rest.is_empty() {
                return;
            }
            if !rest.starts_with('{') {
                self.skip(number, "text after the record; expected one JSON object a line");
                return;
            }
        }
    }

    fn append(&mut self, line: &[u8]) {
        let Some(mut open) = self.open.take() else { return };
        let more = format!("\n{}", String::from_utf8_lossy(line));
        let start = open.text.len();
        let end = open.scan.feed(&more);
        open.text.push_str(&more);
        let Some(end) = end else {
            self.open = Some(open);
            return;
        };
        let after = open.text.split_off(start + end);
        match self.attempt(open.text.as_bytes(), open.line) {
            Outcome::Taken => self.report.repaired += 1,
            Outcome::Refused => {}
            Outcome::Failed => self.skip(open.line, "not valid JSON, and no repair helps"),
        }
        let after = after.trim();
        if after.starts_with('{') {
            self.line(after.as_bytes(), open.line);
        }
    }
}

/// Where an object starts that does not stand inside another: a brace and a quote after anything but `:`, `,`, `[` or a blank.
fn torn_start(text: &[u8]) -> Option<usize> {
    (1..text.len().saturating_sub(1)).find(|&i| text[i] == b'{' && text[i + 1] == b'"' && !b":,[ \t{\\".contains(&text[i - 1]))
}

fn what(line: &[u8]) -> &'static str {
    match line[0] {
        b'[' => "a JSON array",
        b'"' => "a bare string",
        b'-' | b'0'..=b'9' => "a bare number",
        b't' | b'f' | b'n' if line.len() <= 5 => "a bare word",
        _ => "not JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_left_unparsed_and_the_last_of_equal_keys_counts() {
        let lazy = Lazy::new("{\"a\":1,\"l\":[0],\"b\":{\"l\":[3]},\"l\":[{\"x\":[1]},2 ]}", "l").ok().unwrap();
        assert_eq!(lazy.rest, serde_json::json!({"a": 1, "b": {"l": [3]}}));
        assert_eq!(lazy.list.unwrap().iter().map(|raw| raw.get()).collect::<Vec<_>>(), ["{\"x\":[1]}", "2"]);
        let none = Lazy::new("{\"l\":{}}", "l").ok().unwrap();
        assert!(none.list.is_none() && none.rest["l"].is_object());
        assert!(Lazy::new("{\"l\":[1}", "l").is_err());
    }

    #[test]
    fn what_lies_too_deep_is_text_and_the_rest_is_kept() {
        let nested = |n: usize| format!("{{\"a\":{}{{\"x\":\"]}}\"}}{},\"b\":1}}", "[".repeat(n), "]".repeat(n));
        for n in [0, 98, 99, 126, 127, 4000] {
            let value = value(&nested(n)).ok().unwrap();
            assert_eq!(value["b"], 1, "{n}");
            let mut inner = &value["a"];
            while let Some(list) = inner.as_array() {
                inner = &list[0];
            }
            assert_eq!(inner.is_string(), n > 125, "{n}");
        }
        assert!(value("{\"a\":").is_err() && value("]").is_err() && value(&"[".repeat(300)).is_err());
    }
}
