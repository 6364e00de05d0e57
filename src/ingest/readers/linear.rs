//! A conversation that is logged once, from beginning to end: what the client appends and what the model answers, call by call. Formats of
//! this kind share it.

use serde_json::Value;

use super::super::media::{IMAGE_TOKENS, image_tokens};
use super::super::normal::{Call, Kind, Part, hash};
use super::super::{FileReport, time};
use super::content::{Gathered, Piece, Raw};
use super::pairing::pair;
use crate::trace::Usage;

/// A history as it grows.
pub struct Linear {
    part: Part,
    pieces: Vec<(Vec<Piece>, Vec<Piece>)>,
    pending: Vec<Piece>,
    /// Whether the text is needed later.
    pub keep: bool,
    unzoned: u64,
}

impl Linear {
    /// The first part of a session.
    pub fn new(session: &str, keep: bool) -> Self {
        let part = Part { session: session.to_owned(), ..Part::default() };
        Self { part, pieces: Vec::new(), pending: Vec::new(), keep, unzoned: 0 }
    }

    /// Gives the session its name, where it had none yet.
    pub fn name(&mut self, session: &str) {
        session.clone_into(&mut self.part.session);
    }

    /// System prompt and tools of so many bytes, on top of what is known.
    pub fn base(&mut self, bytes: usize) {
        *self.part.base_bytes.get_or_insert(0) += bytes as u64;
    }

    /// Content that the client appends.
    pub fn user(&mut self, content: &Value) {
        let gathered = gather(content, self.keep);
        if gathered != Gathered::default() {
            self.pending.push(gathered.piece());
        }
    }

    /// The result of the use with this id.
    pub fn result(&mut self, id: &str, content: &Value) {
        let item = gather(content, self.keep).item(Kind::Result(0));
        self.pending.push(Piece { raw: Raw::Result(hash(&[id])), item, mark: 0 });
    }

    /// Says of the result just added whether it tells of a failure.
    pub fn failed(&mut self, failed: bool) {
        if let Some(Piece { raw: Raw::Result(_), item, .. }) = self.pending.last_mut() {
            item.error = failed;
        }
    }

    /// A model call, which sends what was appended since the one before.
    pub fn call(&mut self, call: Call, output: Vec<Piece>) {
        self.part.calls.push(call);
        self.pieces.push((std::mem::take(&mut self.pending), output));
    }

    /// Milliseconds of a timestamp; one without a zone is counted.
    pub fn at(&mut self, text: Option<&str>) -> Option<i64> {
        let at = text.and_then(time::parse)?;
        self.unzoned += u64::from(!at.zoned);
        Some(at.ms)
    }

    /// Ends the part, as a compaction does, and begins the session's next one.
    pub fn split(&mut self, report: &mut FileReport) -> Option<Part> {
        let next =
            Part { session: self.part.session.clone(), number: self.part.number + 1, base_bytes: self.part.base_bytes, ..Part::default() };
        let part = std::mem::replace(&mut self.part, next);
        close(part, std::mem::take(&mut self.pieces), std::mem::take(&mut self.pending), report)
    }

    /// Ends the session's last part.
    pub fn finish(self, report: &mut FileReport) -> Option<Part> {
        if self.unzoned > 0 {
            report.note(format!("{} timestamps without a zone were taken as UTC", self.unzoned));
        }
        close(self.part, self.pieces, self.pending, report)
    }
}

fn close(mut part: Part, pieces: Vec<(Vec<Piece>, Vec<Piece>)>, pending: Vec<Piece>, report: &mut FileReport) -> Option<Part> {
    if part.calls.is_empty() {
        return None;
    }
    let orphans = pair(&mut part, pieces, pending);
    report.orphan_uses += orphans.uses.len() as u64;
    report.orphan_results += orphans.results.len() as u64;
    Some(part)
}

/// Text and media of content in any of the usual shapes: a string, parts with `text`, images, or plain data, which counts as its JSON.
pub fn gather(content: &Value, keep: bool) -> Gathered {
    let mut all = Gathered::default();
    add(&mut all, content, keep);
    all
}

fn add(all: &mut Gathered, content: &Value, keep: bool) {
    match content {
        Value::Null => {}
        Value::String(text) => all.push(text, keep),
        Value::Array(parts) => parts.iter().for_each(|part| add(all, part, keep)),
        Value::Object(object) => {
            let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
            if matches!(kind, "image" | "input_image" | "image_url") || object.contains_key("inlineData") {
                let data = ["data", "image_url", "inlineData"].iter().find_map(|key| text_in(object.get(*key)?));
                all.image(data.map_or(IMAGE_TOKENS, |data| image_tokens(&data)));
            } else if let Some(text) = object.get("text").and_then(Value::as_str) {
                all.push(text, keep);
            } else {
                all.push(&content.to_string(), keep);
            }
        }
        other => all.push(&other.to_string(), keep),
    }
}

/// The longest way down to a string: data URLs are strings or objects with `url` or `data`.
fn text_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => ["url", "data"].iter().find_map(|key| text_in(object.get(*key)?)),
        _ => None,
    }
}

/// A count, whatever kind of number it is written as; absent, negative or no number is `None`.
pub fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|n| (0.0..1e15).contains(n)).map(|n| n as u64))
}

/// Usage whose prompt includes what was read from the cache; `None` where it is all zero, which is unknown.
pub fn inclusive(prompt: Option<u64>, read: Option<u64>, written: Option<u64>, output: Option<u64>) -> Option<Usage> {
    let (prompt, read, written) = (prompt?, read.unwrap_or(0), written.unwrap_or(0));
    let read = read.min(prompt);
    let written = written.min(prompt - read);
    let usage =
        Usage { input: prompt - read - written, cache_read: read, cache_write_5m: written, cache_write_1h: 0, output: output.unwrap_or(0) };
    (prompt > 0).then_some(usage)
}

/// Whether the text names, behind `marker`, an exit code other than 0.
pub fn exit_code_behind(text: &str, marker: &str) -> bool {
    let code = text.split_once(marker).map(|(_, rest)| rest.trim_start());
    code.and_then(|rest| rest.split(|c: char| c != '-' && !c.is_ascii_digit()).next())
        .is_some_and(|n| n.parse::<i64>().is_ok_and(|n| n != 0))
}

/// The string under `key`; empty where there is none.
pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}
