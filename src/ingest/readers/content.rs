//! Content blocks as the Messages API spells them, and the pieces of a prompt that they make. Claude Code, API logs and Managed Agents share
//! them.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::lenient::{Content, Flag, Object, Str, strings_of};
use super::super::media::{IMAGE_TOKENS, image_tokens, pdf_tokens};
use super::super::normal::{Held, Item, Kind, hash};
use super::super::weigh::{weigh, weight};
use super::identity::identity;

/// A content block; which fields it has depends on `type`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub text: Str<'a>,
    #[serde(borrow)]
    pub thinking: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub content: Content<'a, Inner<'a>>,
    #[serde(borrow)]
    pub source: Content<'a, Source<'a>>,
    #[serde(borrow)]
    pub image_url: Content<'a, ImageUrl<'a>>,
    pub cache_control: Object<CacheControl>,
    pub is_error: Flag,
}

/// A block inside a tool result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Inner<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub text: Str<'a>,
    #[serde(borrow)]
    pub tool_name: Str<'a>,
    #[serde(borrow)]
    pub title: Str<'a>,
    #[serde(borrow)]
    pub url: Str<'a>,
    #[serde(borrow)]
    pub stdout: Str<'a>,
    #[serde(borrow)]
    pub stderr: Str<'a>,
    #[serde(borrow)]
    pub content: Content<'a, Inner<'a>>,
    #[serde(borrow)]
    pub source: Content<'a, Source<'a>>,
    #[serde(borrow)]
    pub image_url: Content<'a, ImageUrl<'a>>,
}

/// Where an image or a document comes from; a search result names its source as plain text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Source<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub media_type: Str<'a>,
    #[serde(borrow)]
    pub data: Str<'a>,
}

/// An image as `OpenAI`'s content parts hold it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ImageUrl<'a> {
    #[serde(borrow)]
    pub url: Str<'a>,
}

/// A cache breakpoint.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CacheControl {
    pub ttl: Ttl,
}

/// Whether a breakpoint asks for an hour.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ttl(pub bool);

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self(Str::deserialize(d)?.text() == "1h"))
    }
}

fn source<'s, 'a>(source: &'s Content<'a, Source<'a>>) -> Option<&'s Source<'a>> {
    match source {
        Content::Blocks(blocks) => blocks.iter().flatten().next(),
        _ => None,
    }
}

fn picture(from: &Content<'_, Source<'_>>, url: &Content<'_, ImageUrl<'_>>) -> u64 {
    let url = match url {
        Content::Text(url) => Some(url.as_ref()),
        Content::Blocks(blocks) => blocks.iter().flatten().next().and_then(|i| i.url.get()),
        Content::Nothing => None,
    };
    source(from).and_then(|s| s.data.get()).or(url).map_or(IMAGE_TOKENS, image_tokens)
}

/// A block before uses and results are paired.
#[derive(Debug, Clone, PartialEq)]
pub enum Raw {
    /// Client-side text.
    User,
    /// The result of the use with this id.
    Result(u128),
    /// Thinking.
    Thinking,
    /// The model's words, and what its server-side tools did.
    Text,
    /// A use: id and tool name.
    Use(u128, String),
}

/// A block with its size.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// What it is.
    pub raw: Raw,
    /// Its size and text.
    pub item: Item,
    /// Tells the blocks of one answer apart, so that one that is logged twice counts once. 0 for client-side content.
    pub mark: u64,
}

/// What some content holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// UTF-8 bytes of text.
    pub bytes: u64,
    /// The same weighed, in hundredths of a byte.
    pub weight: u64,
    /// Tokens of images and PDF files.
    pub fixed: u64,
    /// Whether there is anything but text.
    pub mixed: bool,
    /// The text, its pieces separated by line ends as the API shows them; empty unless wanted.
    pub text: String,
}

impl Gathered {
    /// Adds a piece of text.
    pub fn push(&mut self, text: &str, keep: bool) {
        self.bytes += text.len() as u64;
        self.weight += weigh(text);
        if keep && !text.is_empty() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(text);
        }
    }

    /// Adds what counts by its own measure.
    pub fn image(&mut self, tokens: u64) {
        self.fixed += tokens;
        self.mixed = true;
    }

    /// A document: text counts as text, a PDF by its bytes, one that the log only points at as one page.
    fn document(&mut self, from: &Content<'_, Source<'_>>, keep: bool) {
        self.mixed = true;
        match source(from) {
            Some(s) if s.kind.text() == "text" => self.push(s.data.text(), keep),
            Some(s) if s.media_type.text().starts_with("image/") => self.image(image_tokens(s.data.text())),
            Some(s) if s.data.get().is_some() => self.image(pdf_tokens(s.data.text())),
            _ => self.image(IMAGE_TOKENS),
        }
    }

    /// The content of a tool result.
    pub fn result(content: &Content<'_, Inner<'_>>, keep: bool) -> Self {
        let mut all = Self::default();
        all.inner(content, keep);
        all
    }

    /// Adds the content of a block.
    pub fn inner(&mut self, content: &Content<'_, Inner<'_>>, keep: bool) {
        match content {
            Content::Nothing => {}
            Content::Text(text) => self.push(text, keep),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        Err(text) => self.push(text, keep),
                        Ok(block) => self.block(block, keep),
                    }
                }
            }
        }
    }

    fn block(&mut self, block: &Inner<'_>, keep: bool) {
        match block.kind.text() {
            "image" | "image_url" | "input_image" => self.image(picture(&block.source, &block.image_url)),
            "document" => {
                self.push(block.title.text(), keep);
                self.document(&block.source, keep);
            }
            "tool_reference" => {
                self.push(block.tool_name.text(), keep);
                self.mixed = true;
            }
            _ => {
                self.mixed |= block.text.0.is_none();
                for text in [&block.title, &block.url, &block.text, &block.stdout, &block.stderr] {
                    self.push(text.text(), keep);
                }
                if let Content::Text(link) = &block.source {
                    self.push(link, keep);
                }
                self.inner(&block.content, keep);
            }
        }
    }

    /// A block of a user's message that is no tool result.
    pub fn user(&mut self, block: &Block<'_>, keep: bool) {
        match block.kind.text() {
            "image" | "image_url" | "input_image" => self.image(picture(&block.source, &block.image_url)),
            "document" => self.document(&block.source, keep),
            _ => {
                self.push(block.text.text(), keep);
                self.inner(&block.content, keep);
            }
        }
    }

    /// The item that this makes.
    pub fn item(self, kind: Kind) -> Item {
        Item { bytes: self.bytes, weight: self.weight, fixed: self.fixed, text_only: !self.mixed, text: self.text, ..Item::new(kind) }
    }

    /// The piece of client text that this makes.
    pub fn piece(self) -> Piece {
        Piece { raw: Raw::User, item: self.item(Kind::User), mark: 0 }
    }
}

/// What stands in place of a result that the client cleared itself.
const PLACEHOLDER: &str = "[Old tool result content cleared]";
/// How what a client answers begins when a file that it believes to be in the prompt is read again.
const UNCHANGED: &str = "File unchanged since last read";

/// Whether the content is the tool's own, or what a client puts in its place.
pub fn held(content: &Content<'_, Inner<'_>>) -> Held {
    let text = match content {
        Content::Text(text) => text.as_ref(),
        Content::Blocks(blocks) => match blocks.as_slice() {
            [Err(text)] => text.as_ref(),
            [Ok(block)] if block.kind.text() == "text" => block.text.text(),
            _ => return Held::Whole,
        },
        Content::Nothing => return Held::Whole,
    };
    if text == PLACEHOLDER {
        Held::Placeholder
    } else if text.starts_with(UNCHANGED) {
        Held::Unchanged
    } else {
        Held::Whole
    }
}

/// Client-side content.
#[derive(Debug, Default)]
pub struct Input {
    /// Its blocks, texts joined to one at the end.
    pub pieces: Vec<Piece>,
    /// Whether results are among them.
    pub results: bool,
}

/// The blocks of a user message.
pub fn input_pieces(content: &Content<'_, Block<'_>>, keep: bool) -> Input {
    let mut input = Input::default();
    let mut words = Gathered::default();
    let mut any = false;
    match content {
        Content::Nothing => {}
        Content::Text(text) => {
            words.push(text, keep);
            any = true;
        }
        Content::Blocks(blocks) => {
            for block in blocks {
                match block {
                    Err(text) => {
                        words.push(text, keep);
                        any = true;
                    }
                    Ok(block) if block.kind.text() == "tool_result" => {
                        input.results = true;
                        let held = held(&block.content);
                        let item = Item { held, error: block.is_error.0, ..Gathered::result(&block.content, keep).item(Kind::Result(0)) };
                        input.pieces.push(Piece { raw: Raw::Result(hash(&[block.tool_use_id.text()])), item, mark: 0 });
                    }
                    Ok(block) => {
                        words.user(block, keep);
                        any = true;
                    }
                }
            }
        }
    }
    if any {
        input.pieces.push(words.piece());
    }
    input
}

/// A piece of the model's words.
pub fn text_piece(text: &str, keep: bool) -> Piece {
    let kept = if keep { text.to_owned() } else { String::new() };
    let item = Item { bytes: text.len() as u64, weight: weigh(text), text: kept, ..Item::new(Kind::Text) };
    Piece { raw: Raw::Text, item, mark: mark("text", text) }
}

/// A piece of thinking; its text is not searched for quotations.
pub fn thinking_piece(text: &str) -> Piece {
    let item = Item { bytes: text.len() as u64, weight: weigh(text), ..Item::new(Kind::Thinking) };
    Piece { raw: Raw::Thinking, item, mark: mark("thinking", text) }
}

/// A use. `input`: its JSON; `id`: empty where there is none.
pub fn use_piece(id: &str, name: &str, input: &str, keep: bool) -> Piece {
    let mut text = String::new();
    if keep {
        strings_of(input, &mut text);
    }
    let name = if name.is_empty() { "(unnamed)" } else { name };
    let identity = identity(name, input);
    let (bytes, weight) = written(input);
    let (bytes, weight) = (bytes + name.len() as u64, weight + weigh(name));
    let item = Item { bytes, weight, text, identity, ..Item::new(Kind::Use(0)) };
    let mark = if id.is_empty() { mark(name, input) } else { mark("id", id) };
    Piece { raw: Raw::Use(hash(&[id]), name.to_owned()), item, mark }
}

/// Bytes and weight of a JSON text without the indentation that an export put in: a line end in it is never the model's.
fn written(json: &str) -> (u64, u64) {
    if !json.contains('\n') {
        return (json.len() as u64, weigh(json));
    }
    let (mut in_string, mut escaped) = (false, false);
    json.bytes()
        .filter(|&b| {
            if in_string {
                in_string = escaped || b != b'"';
                escaped = !escaped && b == b'\\';
                return true;
            }
            in_string = b == b'"';
            !b.is_ascii_whitespace()
        })
        .fold((0, 0), |(bytes, sum), b| (bytes + 1, sum + weight(b)))
}

/// The blocks of an assistant message. What server-side tools were asked and answered is output text: no client ever holds it as a result.
pub fn output_pieces(content: &Content<'_, Block<'_>>, keep: bool) -> Vec<Piece> {
    match content {
        Content::Nothing => Vec::new(),
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![text_piece(text, keep)],
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| {
                let block = match block {
                    Err(text) => return Some(text_piece(text, keep)),
                    Ok(block) => block,
                };
                let input = block.input.map_or("", RawValue::get);
                match block.kind.text() {
                    "text" | "output_text" => Some(text_piece(block.text.text(), keep)),
                    "thinking" | "redacted_thinking" => Some(thinking_piece(block.thinking.text())),
                    "tool_use" => Some(use_piece(block.id.text(), block.name.text(), input, keep)),
                    "server_tool_use" | "mcp_tool_use" => {
                        let asked = use_piece(block.id.text(), block.name.text(), input, keep);
                        Some(Piece { raw: Raw::Text, item: Item { kind: Kind::Text, ..asked.item }, mark: asked.mark })
                    }
                    kind if kind.ends_with("_tool_result") || kind == "compaction" => {
                        let gathered = Gathered::result(&block.content, keep);
                        let mark = mark(kind, block.tool_use_id.text());
                        Some(Piece { raw: Raw::Text, item: gathered.item(Kind::Text), mark })
                    }
                    _ => None,
                }
            })
            .collect(),
    }
}

fn mark(kind: &str, content: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, content).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_is_not_what_the_model_wrote() {
        assert_eq!(written(r#"{"a": "b c"}"#).0, 12);
        let compact = r#"{"a":"b \" c"}"#;
        assert_eq!(written("{\n  \"a\": \"b \\\" c\"\n}"), (compact.len() as u64, weigh(compact)));
    }

    #[test]
    fn documents_count_by_what_they_are() {
        let of = |json: &str| {
            let content: Content<'_, Inner<'_>> = serde_json::from_str(json).unwrap();
            let all = Gathered::result(&content, false);
            (all.bytes, all.fixed, all.mixed)
        };
        assert_eq!(of(r#"[{"type":"text","text":"abc"}]"#), (3, 0, false));
        assert_eq!(of(r#"[{"type":"document","source":{"type":"text","data":"abc"}}]"#), (3, 0, true));
        assert_eq!(of(r#"[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]"#), (0, 1600, true));
        assert_eq!(of(r#"[{"type":"document","source":{"type":"url","url":"x"}}]"#), (0, 1600, true));
        assert_eq!(of(r#"[{"type":"search_result","title":"ab","source":"cd","content":[{"type":"text","text":"ef"}]}]"#), (6, 0, true));
        let pdf = format!(
            r#"[{{"type":"document","source":{{"type":"base64","media_type":"application/pdf","data":"{}"}}}}]"#,
            "A".repeat(400_000)
        );
        assert_eq!(of(&pdf), (0, 12_000, true));
    }
}
