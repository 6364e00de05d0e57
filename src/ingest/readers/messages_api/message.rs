//! Messages of either shape to pieces, and the hashes by which requests are recognised as each other's continuation.

use serde_json::value::RawValue;

use super::super::super::lenient::{Content, strings_of};
use super::super::super::normal::{Kind, hash};
use super::super::content::{Block, CacheControl, Gathered, Inner, Piece, Raw, input_pieces, output_pieces, thinking_piece, use_piece};
use super::super::usage::RawUsage;
use super::wire::Message;

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The system's or the developer's.
    System,
    /// The client's: words and results.
    User,
    /// The model's.
    Assistant,
}

/// The TTLs that cache breakpoints ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Some breakpoint asks for 5 minutes.
    pub minutes: bool,
    /// Some breakpoint asks for an hour.
    pub hour: bool,
}

impl Marks {
    /// Adds a breakpoint.
    pub fn add(&mut self, control: Option<&CacheControl>) {
        if let Some(control) = control {
            self.hour |= control.ttl.0;
            self.minutes |= !control.ttl.0;
        }
    }

    /// Adds the breakpoints of another piece of the request.
    pub fn join(&mut self, other: Self) {
        self.minutes |= other.minutes;
        self.hour |= other.hour;
    }
}

/// A message, kept once however many requests repeat it.
#[derive(Debug)]
pub struct Msg {
    pub role: Role,
    /// By this it is recognised in another request: moved cache breakpoints, reminders that the client inserts and takes out again, thinking,
    /// and results that it cleared itself make no difference.
    pub hash: u128,
    pub pieces: Vec<Piece>,
    /// What a bare message says of the call that it answers.
    pub usage: Option<RawUsage>,
    pub model: Option<String>,
    pub id: Option<String>,
    pub stopped: bool,
}

/// Ids of this length or more do not come again.
const UNIQUE_ID: usize = 16;

/// Collects what tells a message apart.
#[derive(Default)]
struct Print(Vec<String>);

impl Print {
    fn add(&mut self, what: &str, text: &str) {
        self.0.push(what.to_owned());
        self.0.push(text.to_owned());
    }

    fn words(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with("<system-reminder>") {
            self.add("text", text);
        }
    }

    fn tool_use(&mut self, id: &str, name: &str, input: &str) {
        if id.len() >= UNIQUE_ID {
            self.add("use", id);
        } else {
            let mut text = String::new();
            strings_of(input, &mut text);
            self.add(name, &text);
        }
    }

    fn result(&mut self, id: &str, content: &Content<'_, Inner<'_>>) {
        self.add("result", id);
        if id.len() < UNIQUE_ID {
            self.add("content", &Gathered::result(content, true).text);
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        match block.kind.text() {
            "tool_use" => self.tool_use(block.id.text(), block.name.text(), block.input.map_or("", RawValue::get)),
            "tool_result" => self.result(block.tool_use_id.text(), &block.content),
            "image" | "document" | "image_url" => {
                let mut all = Gathered::default();
                all.user(block, true);
                self.add("media", &format!("{} {} {}", all.bytes, all.fixed, all.text));
            }
            "thinking" | "redacted_thinking" | "server_tool_use" | "mcp_tool_use" => {}
            kind if kind.ends_with("_tool_result") => {}
            _ => self.words(block.text.text()),
        }
    }

    fn content(&mut self, content: &Content<'_, Block<'_>>) {
        match content {
            Content::Nothing => {}
            Content::Text(text) => self.words(text),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        Err(text) => self.words(text),
                        Ok(block) => self.block(block),
                    }
                }
            }
        }
    }

    fn hash(self, role: Role) -> u128 {
        let mut parts = vec![match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }];
        parts.extend(self.0.iter().map(String::as_str));
        hash(&parts)
    }
}

impl Msg {
    /// A message and the cache breakpoints in it.
    pub fn new(message: &Message<'_>, keep: bool) -> (Self, Marks) {
        let mut marks = Marks::default();
        if let Content::Blocks(blocks) = &message.content {
            blocks.iter().flatten().for_each(|b| marks.add(b.cache_control.0.as_ref()));
        }
        let mut print = Print::default();
        let role = match message.role.text() {
            "assistant" | "model" => Role::Assistant,
            "system" | "developer" => Role::System,
            _ => Role::User,
        };
        let pieces = match message.role.text() {
            "tool" | "function" => {
                // A legacy function's result names the function, which is all that its call has for an id.
                let id = message.tool_call_id.get().unwrap_or(message.name.text());
                vec![result(id, &message.content, keep, &mut print)]
            }
            _ if role == Role::Assistant => answer(message, keep, &mut print),
            _ => {
                print.content(&message.content);
                input_pieces(&message.content, keep).pieces
            }
        };
        let msg = Self {
            role,
            hash: print.hash(role),
            pieces,
            usage: message.usage.0,
            model: message.model.get().map(str::to_owned),
            id: message.id.get().map(str::to_owned),
            stopped: message.stop_reason.get().is_some(),
        };
        (msg, marks)
    }

    /// UTF-8 bytes of its text.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|p| p.item.bytes).sum()
    }
}

/// A result in `OpenAI`'s shape: the whole message.
fn result(id: &str, content: &Content<'_, Block<'_>>, keep: bool, print: &mut Print) -> Piece {
    let mut all = Gathered::default();
    match content {
        Content::Nothing => {}
        Content::Text(text) => all.push(text, keep),
        Content::Blocks(blocks) => {
            for block in blocks {
                match block {
                    Err(text) => all.push(text, keep),
                    Ok(block) => all.user(block, keep),
                }
            }
        }
    }
    print.add("result", id);
    if id.len() < UNIQUE_ID {
        print.add("content", &format!("{} {}", all.bytes, all.fixed));
        print.content(content);
    }
    Piece { raw: Raw::Result(hash(&[id])), item: all.item(Kind::Result(0)), mark: 0 }
}

/// An assistant's message of either shape.
fn answer(message: &Message<'_>, keep: bool, print: &mut Print) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let Some(thinking) = message.reasoning_content.get() {
        pieces.push(thinking_piece(thinking));
    }
    print.content(&message.content);
    pieces.extend(output_pieces(&message.content, keep));
    if let Content::Blocks(calls) = &message.tool_calls {
        for call in calls.iter().flatten() {
            let Some(function) = &call.function.0 else { continue };
            let input = function.input();
            print.tool_use(call.id.text(), function.name.text(), &input);
            pieces.push(use_piece(call.id.text(), function.name.text(), &input, keep));
        }
    }
    if let Some(function) = message.function_call.0.as_ref().filter(|f| f.name.get().is_some()) {
        let input = function.input();
        print.tool_use("", function.name.text(), &input);
        pieces.push(use_piece(function.name.text(), function.name.text(), &input, keep));
    }
    pieces
}
