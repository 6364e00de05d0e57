//! One line of a session file as serde types; what is not needed is passed over unparsed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::super::lenient::{Content, Count, Flag, Object, Str, strings_of};
use super::super::super::media::{IMAGE_TOKENS, image_tokens};

/// A line. `toolUseResult` is left out on purpose: it is not what the model saw.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub subtype: Str<'a>,
    #[serde(borrow)]
    pub uuid: Str<'a>,
    #[serde(borrow)]
    pub parent_uuid: Str<'a>,
    #[serde(borrow)]
    pub logical_parent_uuid: Str<'a>,
    #[serde(borrow)]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub agent_id: Str<'a>,
    #[serde(borrow)]
    pub request_id: Str<'a>,
    #[serde(borrow)]
    pub timestamp: Str<'a>,
    pub is_sidechain: Flag,
    pub is_meta: Flag,
    pub is_compact_summary: Flag,
    pub is_visible_in_transcript_only: Flag,
    #[serde(borrow)]
    pub message: Object<Message<'a>>,
    #[serde(borrow)]
    pub attachment: Option<&'a RawValue>,
}

/// `message` of a user or assistant record.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub model: Str<'a>,
    #[serde(borrow)]
    pub stop_reason: Str<'a>,
    #[serde(borrow)]
    pub content: Content<'a, Block<'a>>,
    pub usage: Object<RawUsage>,
}

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
    pub source: Object<Source<'a>>,
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
    pub source: Object<Source<'a>>,
}

/// Where an image comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Source<'a> {
    #[serde(borrow)]
    pub data: Str<'a>,
}

impl Source<'_> {
    fn tokens(source: &Object<Self>) -> u64 {
        source.0.as_ref().and_then(|s| s.data.get()).map_or(IMAGE_TOKENS, image_tokens)
    }
}

/// `message.usage`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct RawUsage {
    pub input_tokens: Count,
    pub cache_creation_input_tokens: Count,
    pub cache_read_input_tokens: Count,
    pub output_tokens: Count,
    pub cache_creation: Object<CacheCreation>,
}

/// Tokens written to the cache by TTL.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct CacheCreation {
    pub ephemeral_5m_input_tokens: Count,
    pub ephemeral_1h_input_tokens: Count,
}

impl Copy for Object<CacheCreation> {}

/// The record, or `None` when the text is not an object that reads as one.
pub fn parse(text: &str) -> Option<Record<'_>> {
    serde_json::from_str::<Object<Record<'_>>>(text).ok()?.0
}

/// What some content holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// UTF-8 bytes of text.
    pub bytes: u64,
    /// Tokens of images.
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
        if keep {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(text);
        }
    }

    fn image(&mut self, tokens: u64) {
        self.fixed += tokens;
        self.mixed = true;
    }

    /// The content of a tool result.
    pub fn result(content: &Content<'_, Inner<'_>>, keep: bool) -> Self {
        let mut all = Self::default();
        match content {
            Content::Nothing => {}
            Content::Text(text) => all.push(text, keep),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        Err(text) => all.push(text, keep),
                        Ok(block) => match block.kind.text() {
                            "image" | "document" => all.image(Source::tokens(&block.source)),
                            "tool_reference" => {
                                all.push(block.tool_name.text(), keep);
                                all.mixed = true;
                            }
                            _ => {
                                all.push(block.text.text(), keep);
                                all.mixed |= block.text.0.is_none();
                            }
                        },
                    }
                }
            }
        }
        all
    }

    /// A block of a user's message that is no tool result.
    pub fn user(&mut self, block: &Block<'_>, keep: bool) {
        match block.kind.text() {
            "image" | "document" => self.image(Source::tokens(&block.source)),
            _ => self.push(block.text.text(), keep),
        }
    }
}

/// Attachments that the client puts into the context; the others are notes to itself or to its user.
const IN_CONTEXT: &[&str] = &[
    "deferred_tools_delta",
    "skill_listing",
    "task_reminder",
    "todo_reminder",
    "queued_command",
    "file",
    "compact_file_reference",
    "edited_text_file",
    "nested_memory",
    "selected_lines_in_ide",
    "diagnostics",
    "plan_mode",
    "invoked_skills",
    "hook_additional_context",
    "mcp_instructions_delta",
    "agent_listing_delta",
    "mcp_resource",
    "directory",
];

/// Fields of an attachment that matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    added_lines: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// What an attachment adds to the context; `Err` with its type when it adds nothing.
pub fn attachment(raw: &str, keep: bool) -> Result<Gathered, String> {
    let Ok(Object(Some(a))) = serde_json::from_str::<Object<Attachment<'_>>>(raw) else {
        return Err("(unnamed)".to_owned());
    };
    if !IN_CONTEXT.contains(&a.kind.text()) {
        return Err(a.kind.text().to_owned());
    }
    let mut all = Gathered::default();
    let shown = a.added_lines.or(a.prompt).or(a.content).map_or(raw, RawValue::get);
    if shown.contains("\"base64\"") {
        // A picture: the longest string is its data, the rest is a name.
        let mut strings = String::new();
        strings_of(shown, &mut strings);
        let data = strings.split('\u{1f}').max_by_key(|s| s.len()).unwrap_or("");
        all.image(image_tokens(data));
        return Ok(all);
    }
    let mut text = String::new();
    if a.kind.text() == "task_reminder" {
        tasks(shown, &mut text);
    } else {
        strings_of(shown, &mut text);
    }
    all.bytes = text.len() as u64;
    if keep {
        all.text = text;
    }
    Ok(all)
}

/// A task as a reminder shows it: number, state and subject, not its description.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Task<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    status: Str<'a>,
    #[serde(borrow)]
    subject: Str<'a>,
}

fn tasks(raw: &str, out: &mut String) {
    let Ok(Content::Blocks(tasks)) = serde_json::from_str::<Content<'_, Task<'_>>>(raw) else {
        return strings_of(raw, out);
    };
    for task in tasks.iter().flatten() {
        for piece in [task.id.text(), task.status.text(), task.subject.text()] {
            out.push_str(piece);
            out.push('\u{1f}');
        }
    }
}
