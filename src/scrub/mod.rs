//! A log with every word replaced by another of the same length: structure, sizes, usage, timestamps, links and repetition stay, so that it
//! reads as the original does and can be shown to others.
//!
//! It works on JSON's tokens, not on records: what is damaged stays as damaged as it was. Replaced are words of two letters or more, numbers
//! of two digits or more, letters beyond ASCII and pictures; each by the same one wherever it stands in the log, no two by one. What stays:
//! words that formats are read by ([`vocabulary`]), field names that look like such, types, roles, models, names of tools, timestamps, and
//! numbers outside what tools are given and give back.

mod vocabulary;
mod words;

use crate::ingest::{parse_timestamp, png_like};
use words::Words;

/// Scrubs a log of JSON or JSON lines. The seed decides what replaces what; whoever knows it can try words out, so it should be as secret as
/// the log, for example a hash of it.
pub fn scrub(log: &[u8], seed: [u8; 32]) -> Vec<u8> {
    let mut words = Words::new(seed);
    Document { words: &mut words, out: Vec::with_capacity(log.len()), stack: Vec::new(), nested: 0 }.run(log)
}

/// How deep JSON in strings of JSON is followed.
const NESTED: u32 = 4;

/// Fields whose text is JSON of the format's, or a stream of it.
const DOCUMENTS: [&str; 11] = [
    "body",
    "body_raw",
    "request",
    "response",
    "request_body",
    "response_body",
    "replay_config",
    "messages",
    "data",
    "stringValue",
    "user_id",
];
/// Fields whose value says what something is.
const KINDS: [&str; 26] = [
    "type",
    "role",
    "subtype",
    "kind",
    "status",
    "stop_reason",
    "stopReason",
    "finish_reason",
    "object",
    "source",
    "level",
    "model",
    "modelId",
    "model_name",
    "ls_model_name",
    "service_tier",
    "schema_version",
    "trajectory_format",
    "version",
    "call_type",
    "run_type",
    "media_type",
    "mimeType",
    "encoding",
    "cache",
    "ttl",
];
/// Those of them that may hold more than a word: names of models and of types of media.
const PATHS: [&str; 6] = ["model", "modelId", "model_name", "ls_model_name", "media_type", "mimeType"];
/// Fields that name tools, wherever they stand.
const TOOL_NAMES: [&str; 4] = ["tool_name", "function_name", "toolName", "tool"];
/// Fields that name tools where they stand in one of [`TOOLS`].
const NAMES: [&str; 2] = ["name", "function"];
/// Containers of uses and definitions of tools.
const TOOLS: [&str; 16] = [
    "content",
    "content_block",
    "tool_calls",
    "toolCalls",
    "function",
    "function_call",
    "functionCall",
    "tools",
    "functions",
    "tool_call",
    "payload",
    "parts",
    "output",
    "raw",
    "messages",
    "events",
];
/// Containers of what tools are given and give back, and of other content.
const CONTENT: [&str; 14] = [
    "arguments",
    "args",
    "parameters",
    "toolUseResult",
    "extras",
    "functionResponse",
    "store",
    "state",
    "changes",
    "test_result",
    "instance",
    "details",
    "variables",
    "properties",
];
/// Containers of numbers that are counts, wherever they stand.
const COUNTS: [&str; 8] = ["usage", "tokens", "metrics", "usage_metadata", "model_usage", "model_stats", "info", "token_usages"];

/// A container that is open.
#[derive(Default)]
struct Frame {
    array: bool,
    /// The field that it is the value of.
    under: String,
    /// The field whose value comes next.
    key: String,
    /// The attribute whose value comes next, where attributes are pairs of `key` and `value`.
    attribute: String,
    /// Whether it is content.
    content: bool,
    /// Whether its numbers are counts.
    counts: bool,
}

struct Document<'w> {
    words: &'w mut Words,
    out: Vec<u8>,
    stack: Vec<Frame>,
    nested: u32,
}

impl Document<'_> {
    fn run(mut self, log: &[u8]) -> Vec<u8> {
        let mut i = 0;
        while i < log.len() {
            let b = log[i];
            let end = match b {
                b'"' => self.string(log, i),
                b'-' | b'0'..=b'9' => self.number(log, i),
                b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => {
                    let end = i + log[i..].iter().take_while(|b| b.is_ascii_alphabetic() || **b >= 0x80).count();
                    self.bytes(&log[i..end]);
                    end
                }
                _ => {
                    self.out.push(b);
                    match b {
                        b'{' | b'[' => self.open(b == b'['),
                        b'}' | b']' => drop(self.stack.pop()),
                        // A record that starts at the margin: what was open before it was cut.
                        b'\n' if log.get(i + 1) == Some(&b'{') => self.stack.clear(),
                        _ => {}
                    }
                    i + 1
                }
            };
            i = end;
        }
        self.out
    }

    fn open(&mut self, array: bool) {
        let Some(above) = self.stack.last() else {
            return self.stack.push(Frame { array, ..Frame::default() });
        };
        let key = above.key.as_str();
        // `input` is a tool's where it is an object, and a list of messages or items elsewhere.
        let content = above.content || CONTENT.contains(&key) || (key == "input" && !array && !above.array);
        let counts = above.counts || COUNTS.contains(&key);
        // The elements of an array stand under its field.
        let under = if key == "value" { above.attribute.clone() } else { key.to_owned() };
        let key = if array { key.to_owned() } else { String::new() };
        self.stack.push(Frame { array, under, key, content, counts, ..Frame::default() });
    }

    /// A number or what begins like one.
    fn number(&mut self, log: &[u8], from: usize) -> usize {
        let end = from + log[from..].iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
        let stays = self.stack.last().is_none_or(|f| !f.content || f.counts || f.key.starts_with("forgotten"));
        if stays {
            self.out.extend(&log[from..end]);
        } else {
            self.bytes(&log[from..end]);
        }
        end
    }

    /// A string, which ends with its line at the latest; where it ends.
    fn string(&mut self, log: &[u8], from: usize) -> usize {
        let mut end = from + 1;
        while end < log.len() && log[end] != b'"' && log[end] != b'\n' {
            end += if log[end] == b'\\' && log.get(end + 1).is_some_and(|b| *b != b'\n') { 2 } else { 1 };
        }
        let end = end.min(log.len());
        let content = &log[from + 1..end];
        let closed = log.get(end) == Some(&b'"');
        let after = log[(end + 1).min(log.len())..].iter().copied().find(|b| !b.is_ascii_whitespace());
        self.out.push(b'"');
        if closed && after == Some(b':') && self.stack.last().is_none_or(|f| !f.array) {
            self.field(content);
        } else {
            self.value(content);
        }
        if closed {
            self.out.push(b'"');
        }
        end + usize::from(closed)
    }

    /// The name of a field.
    fn field(&mut self, name: &[u8]) {
        if is_field(name) || name.starts_with(b"gen_ai.") {
            self.out.extend(name);
        } else {
            self.bytes(name);
        }
        if let Some(frame) = self.stack.last_mut() {
            frame.key = String::from_utf8_lossy(name).into_owned();
        }
    }

    fn value(&mut self, value: &[u8]) {
        let Ok(text) = std::str::from_utf8(value) else { return self.bytes(value) };
        let frame = self.stack.last();
        let key = frame.map_or("", |f| f.key.as_str());
        let under = frame.map_or("", |f| f.under.as_str());
        let structure = frame.is_none_or(|f| !f.content);
        let plain = text.len() <= 80 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:/@+-<> ".contains(&b));
        let model = PATHS.contains(&key)
            || (key == "name" && under == "model")
            || [key, under].iter().any(|k| k.starts_with("gen_ai.re") && k.ends_with("model"));
        let stays = is_time(text)
            || (plain && text.starts_with("gen_ai."))
            || (plain && structure && !text.contains(' ') && (model || (KINDS.contains(&key) && !text.contains(['/', ':', '@']))))
            || (structure && is_tool(text) && (TOOL_NAMES.contains(&key) || (NAMES.contains(&key) && TOOLS.contains(&under))))
            || (key == "intValue" && plain);
        let is_document = DOCUMENTS.contains(&key) || key.starts_with("gen_ai.");
        if key == "key"
            && let Some(frame) = self.stack.last_mut()
        {
            text.clone_into(&mut frame.attribute);
        }
        if stays {
            return self.out.extend(value);
        }
        if is_document && self.nested < NESTED && self.document(text) {
            return;
        }
        match self.picture(text) {
            Some(picture) => self.out.extend(picture.as_bytes()),
            None => self.bytes(value),
        }
    }

    /// JSON or a stream of events in a string.
    fn document(&mut self, raw: &str) -> bool {
        let Ok(text) = serde_json::from_str::<String>(&format!("\"{raw}\"")) else { return false };
        let start = text.trim_start();
        let stream = ["event:", "data:", ":", "id:", "retry:"].iter().any(|p| start.starts_with(p));
        if !stream && (!start.starts_with(['{', '[']) || serde_json::from_str::<serde::de::IgnoredAny>(start).is_err()) {
            return false;
        }
        let mut inner = Vec::new();
        for line in text.split_inclusive('\n') {
            let (head, json) = match line.split_once(':') {
                Some((head @ ("data" | "event" | "id" | "retry"), rest)) if stream => (&line[..=head.len()], rest),
                _ => ("", line),
            };
            inner.extend(head.as_bytes());
            let document = Document { words: self.words, out: Vec::new(), stack: Vec::new(), nested: self.nested + 1 };
            // JSON over several lines is one document.
            if !stream {
                inner = document.run(text.as_bytes());
                break;
            }
            inner.extend(document.run(json.as_bytes()));
        }
        let Ok(inner) = String::from_utf8(inner) else { return false };
        let quoted = serde_json::Value::from(inner).to_string();
        self.out.extend(&quoted.as_bytes()[1..quoted.len() - 1]);
        true
    }

    /// A picture of the same size in pixels and bytes, in the place of a picture in base64.
    fn picture(&self, text: &str) -> Option<String> {
        let (head, data) = match text.split_once("base64,") {
            Some((head, data)) if head.starts_with("data:") && head.len() < 64 => (&text[..text.len() - data.len()], data),
            _ => ("", text),
        };
        let base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b);
        if data.len() < 64 || !data.bytes().all(base64) {
            return None;
        }
        let start = png_like(data)?;
        Some([head, &start, &self.words.blob(data, data.len() - start.len())].concat())
    }

    /// Text as it stands in a string of JSON, or bytes that are none.
    fn bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            let valid = chunk.valid();
            let mut rest = valid;
            while let Some(first) = rest.chars().next() {
                let run = |of: fn(&char) -> bool| rest.chars().take_while(of).count();
                let length = match first {
                    'a'..='z' | 'A'..='Z' => {
                        let n = run(char::is_ascii_alphabetic);
                        let new = self.words.word(&rest[..n]);
                        self.out.extend(new.as_bytes());
                        n
                    }
                    '0'..='9' => {
                        let n = run(char::is_ascii_digit);
                        let new = self.words.number(&rest[..n]);
                        self.out.extend(new.as_bytes());
                        n
                    }
                    '\\' => self.escape(rest),
                    other => {
                        let new = if !other.is_ascii() && other.is_alphanumeric() { self.words.letter(other) } else { other };
                        self.out.extend(new.encode_utf8(&mut [0; 4]).as_bytes());
                        other.len_utf8()
                    }
                };
                rest = &rest[length..];
            }
            self.out.extend(chunk.invalid());
        }
    }

    /// Backslashes and what they escape, at whatever depth of strings in strings; its length.
    fn escape(&mut self, text: &str) -> usize {
        let slashes = text.bytes().take_while(|&b| b == b'\\').count();
        self.out.extend(&text.as_bytes()[..slashes]);
        let rest = &text[slashes..];
        let hex = rest.get(1..5).filter(|h| rest.starts_with('u') && h.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some(hex) = hex {
            let old = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).filter(|c| !c.is_ascii() && c.is_alphanumeric());
            let new = old.map(|old| format!("{:04x}", u32::from(self.words.letter(old))));
            let upper = hex.bytes().any(|b| b.is_ascii_uppercase());
            let new = new.map_or_else(|| hex.to_owned(), |new| if upper { new.to_ascii_uppercase() } else { new });
            self.out.push(b'u');
            self.out.extend(new.as_bytes());
            return slashes + 5;
        }
        match rest.bytes().next() {
            Some(b) if b"nrtbfu".contains(&b) => {
                self.out.push(b);
                slashes + 1
            }
            _ => slashes,
        }
    }
}

/// Whether a field's name is a format's or a program's, and no text: letters and underscores, not long, no number of three digits.
fn is_field(name: &[u8]) -> bool {
    let digits = name.split(|b| !b.is_ascii_digit()).map(<[u8]>::len).max().unwrap_or(0);
    let starts = name.first().is_some_and(|b| b.is_ascii_alphabetic() || b"_$@".contains(b));
    starts && name.len() <= 48 && digits < 3 && name.iter().all(|b| b.is_ascii_alphanumeric() || b"_$@".contains(b))
}

/// Whether a text can be the name of a tool as the APIs allow them.
fn is_tool(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// Whether a text is a timestamp and nothing else.
fn is_time(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|b| b.is_ascii_digit() || b"TtZz:+-. ".contains(&b)) && parse_timestamp(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        String::from_utf8(scrub(text.as_bytes(), [9; 32])).unwrap()
    }

    #[test]
    fn structure_types_usage_and_times_stay_and_words_go() {
        let log = r#"{"type":"user","timestamp":"2026-01-02T03:04:05.678Z","model":"claude-sonnet-4-5-20250929","usage":{"input_tokens":1234},
            "message":{"content":[{"type":"tool_use","id":"toolu_01Secret22","name":"Read","input":{"file_path":"/home/alice/secret.txt","limit":2000}}]}}"#;
        let new = of(log);
        assert_eq!(new.len(), log.len());
        for stays in ["\"type\":\"user\"", "2026-01-02T03:04:05.678Z", "claude-sonnet-4-5-20250929", "1234", "\"Read\"", "\"file_path\""] {
            assert!(new.contains(stays), "{stays} is gone: {new}");
        }
        for gone in ["Secret", "secret", "alice", "home", "2000", "txt"] {
            assert!(!new.contains(gone), "{gone} is there: {new}");
        }
        assert!(serde_json::from_str::<serde_json::Value>(&new).is_ok());
        assert_eq!(of(log), new);
        assert_ne!(scrub(log.as_bytes(), [8; 32]), new.as_bytes());
    }

    #[test]
    fn the_same_word_is_the_same_at_any_depth_of_strings() {
        let new = of(r#"{"content":"line one\nsecret caf\u00e9","arguments":"{\"text\":\"x\\nsecret café true\"}"}"#);
        let value: serde_json::Value = serde_json::from_str(&new).unwrap();
        let outer = value["content"].as_str().unwrap();
        let inner: serde_json::Value = serde_json::from_str(value["arguments"].as_str().unwrap()).unwrap();
        let inner = inner["text"].as_str().unwrap();
        let words: Vec<&str> = outer.split_whitespace().collect();
        assert_eq!(inner, format!("x\n{} {} true", words[2], words[3]));
        assert!(!new.contains("secret") && !new.contains("caf"));
    }

    #[test]
    fn json_and_streams_in_strings_keep_their_counts() {
        let body = r#"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1234}}}\n\ndata: {\"delta\":{\"text\":\"secret 9876\"}}\n"#;
        let new = of(&format!(r#"{{"response":{{"body_raw":"{body}"}}}}"#));
        assert!(new.contains(r#"event: message_start\ndata: {\"type\":\"message_start\""#) && new.contains("1234"), "{new}");
        assert!(!new.contains("secret") && !new.contains("9876"), "{new}");
    }

    #[test]
    fn damage_stays_damage_and_shows_nothing() {
        for log in [
            "{\"a\":\"secret words\n{\"type\":\"user\",\"b\":\"secret\"}\n",
            "secret {\"a\": secret\n",
            "{\"a\":\"secret\\",
            "\"",
            "{]}}\"secret\"",
            "\"x\\\n",
        ] {
            let new = of(log);
            assert_eq!(new.len(), log.len(), "{log}");
            assert!(!new.contains("secret"), "{new}");
        }
        assert_eq!(scrub(b"{\"a\":\"\xe9\xff\"}", [0; 32]), b"{\"a\":\"\xe9\xff\"}");
    }

    #[test]
    fn pictures_keep_their_size_and_show_something_else() {
        let picture = format!("iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY{}", "Secret00".repeat(20));
        let new = of(&format!("{{\"data\":\"{picture}\",\"url\":\"data:image/png;base64,{picture}\"}}"));
        let value: serde_json::Value = serde_json::from_str(&new).unwrap();
        assert_eq!(value["data"].as_str().unwrap().len(), picture.len());
        assert!(value["data"].as_str().unwrap().starts_with("iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY") && !new.contains("Secret"), "{new}");
        assert!(value["url"].as_str().unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"));
    }
}
