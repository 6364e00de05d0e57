//! The start of a file, as detection sees it.

use super::super::input::{Flat, is_array};
use super::super::repair::hex4;

/// How many lines are looked at.
const LINES: usize = 40;

/// A top-level value as far as detection cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A string, at most 64 bytes of it.
    Text(String),
    /// An object.
    Object,
    /// An array.
    Array,
    /// Anything else.
    Other,
}

/// Top-level keys of one object.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<(String, Value)>);

impl Keys {
    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    /// The string under the key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|(k, v)| match v {
            Value::Text(t) if k == key => Some(t.as_str()),
            _ => None,
        })
    }
}

/// The start of a file: its bytes and the objects that begin on its first lines, cut ones included.
pub struct Head {
    bytes: Vec<u8>,
    objects: Vec<Keys>,
}

impl Head {
    /// Looks at the first bytes of a file.
    pub fn new(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut objects = Vec::new();
        if is_array(text) {
            let mut laid_out = text.to_vec();
            let mut flat = Flat::default();
            flat.lay_out(&mut laid_out);
            // The elements of an array may be indented; their own members are indented more, or stand on the same line.
            let margin = laid_out.split(|&b| b == b'\n').find_map(|l| l.iter().position(|b| !b.is_ascii_whitespace())).unwrap_or(0);
            let mut at = 0;
            for line in laid_out.split(|&b| b == b'\n') {
                let start = line.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
                if objects.len() < LINES && start <= margin && line.get(start) == Some(&b'{') {
                    objects.push(keys(&laid_out[at + start..]));
                }
                at += line.len() + 1;
            }
            return Self { bytes: text[..text.len().min(4096)].to_vec(), objects };
        }
        let mut at = 0;
        for line in text.split(|&b| b == b'\n').take(LINES) {
            // Indented braces belong to an object that began above.
            if line.first() == Some(&b'{') {
                objects.push(keys(&text[at..]));
            }
            at += line.len() + 1;
        }
        Self { bytes: text[..text.len().min(4096)].to_vec(), objects }
    }

    /// The objects in order.
    pub fn objects(&self) -> &[Keys] {
        &self.objects
    }

    /// The name of the first file of a zip archive.
    pub fn first_in_archive(&self) -> Option<&str> {
        let rest = self.bytes.strip_prefix(b"PK\x03\x04")?;
        let length = usize::from(u16::from_le_bytes([*rest.get(22)?, *rest.get(23)?]));
        std::str::from_utf8(rest.get(26..26 + length)?).ok()
    }

    /// What the file looks like, in words that hold none of its values.
    pub fn looks_like(&self) -> String {
        let start = self.bytes.trim_ascii_start();
        let binary = [
            (&b"PK\x03\x04"[..], "a zip archive"),
            (b"\x89PNG", "a PNG picture"),
            (b"%PDF", "a PDF"),
            (b"PAR1", "a Parquet file (export it as JSON lines)"),
            (b"SQLite format 3", "an SQLite database"),
            (b"<", "XML or HTML"),
        ];
        if start.is_empty() {
            return "looks empty".to_owned();
        }
        if let Some((_, name)) = binary.iter().find(|(magic, _)| start.starts_with(magic)) {
            return format!("looks like {name}");
        }
        if start.contains(&0) {
            return "looks like binary data".to_owned();
        }
        if let Some(object) = self.objects.first() {
            let plain = |k: &&str| !k.is_empty() && k.len() <= 32 && k.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let keys: Vec<_> = object.0.iter().map(|(k, _)| k.as_str()).filter(plain).take(5).collect();
            return match keys.as_slice() {
                [] => "looks like JSON objects".to_owned(),
                keys => format!("looks like JSON objects with the keys {}", keys.join(", ")),
            };
        }
        match start[0] {
            b'[' => "looks like a JSON array".to_owned(),
            b'{' => "looks like a JSON object".to_owned(),
            _ => "looks like plain text".to_owned(),
        }
    }
}

/// The top-level keys of the object that `text` begins with; ends quietly where the text does.
fn keys(text: &[u8]) -> Keys {
    let mut keys = Keys::default();
    let mut i = 1;
    let mut depth = 1u32;
    let mut key: Option<String> = None;
    while i < text.len() {
        match text[i] {
            b'"' => {
                let (string, end) = string(text, i + 1);
                i = end;
                if depth == 1 {
                    match key.take() {
                        Some(k) => keys.0.push((k, Value::Text(string))),
                        None => key = Some(string),
                    }
                }
                continue;
            }
            open @ (b'{' | b'[') => {
                if let (1, Some(k)) = (depth, key.take()) {
                    keys.0.push((k, if open == b'{' { Value::Object } else { Value::Array }));
                }
                depth += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b',' if depth == 1 => {
                if let Some(k) = key.take() {
                    keys.0.push((k, Value::Other));
                }
            }
            _ => {}
        }
        i += 1;
    }
    if let Some(k) = key {
        keys.0.push((k, Value::Other));
    }
    keys
}

/// The first 64 bytes or so of a string and the offset after its closing quote.
fn string(text: &[u8], from: usize) -> (String, usize) {
    let mut out = Vec::new();
    let mut i = from;
    while i < text.len() && text[i] != b'"' {
        let step = if text[i] == b'\\' { 2 } else { 1 };
        if out.len() < 64 {
            match (text[i], text.get(i + 1)) {
                (b'\\', Some(b'u')) => out.extend(hex4(text, i + 2).and_then(char::from_u32).map_or('?', |c| c).to_string().bytes()),
                (b'\\', Some(&c)) | (c, _) => out.push(c),
            }
        }
        i += step;
    }
    (String::from_utf8_lossy(&out).into_owned(), i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_whole_cut_and_pretty_objects() {
        let head =
            Head::new(b"{\"a\":{\"x\":1},\"b\":[{}],\"c\":\"d\\\"e\",\"n\":12}\n  {\"no\":1}\n{\n \"type\": \"user\",\n \"long\": \"cut");
        assert_eq!(head.objects().len(), 2);
        let first = &head.objects()[0];
        assert!(first.has("a") && first.has("b") && first.has("n") && !first.has("x"));
        assert_eq!(first.text("c"), Some("d\"e"));
        assert_eq!(head.objects()[1].text("type"), Some("user"));
        assert_eq!(head.objects()[1].text("long"), Some("cut"));
    }

    #[test]
    fn what_a_file_looks_like() {
        let like = |b: &[u8]| Head::new(b).looks_like();
        assert_eq!(like(b" \n"), "looks empty");
        assert_eq!(like(b"PK\x03\x04.."), "looks like a zip archive");
        assert_eq!(like(b"a\0b"), "looks like binary data");
        assert_eq!(like(b"[1]"), "looks like a JSON array");
        assert_eq!(like(b"Dear Sir"), "looks like plain text");
        assert_eq!(like(b"{\"messages\":[],\"secret words here\":1}"), "looks like JSON objects with the keys messages");
    }
}
