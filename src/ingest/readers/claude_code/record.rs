//! One line of a session file as serde types; what is not needed is passed over unparsed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::super::lenient::{Content, Flag, Object, Str, strings_of};
use super::super::super::media::image_tokens;
use super::super::super::normal::hash;
use super::super::super::weigh::weigh;
use super::super::content::{Block, Gathered};
use super::super::usage::RawUsage;

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
    #[serde(borrow)]
    pub microcompact_metadata: Object<Microcompaction<'a>>,
}

/// What a boundary says of results that the client cleared.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Microcompaction<'a> {
    #[serde(borrow)]
    pub compacted_tool_ids: Content<'a, Object<()>>,
}

impl Microcompaction<'_> {
    /// Ids of the uses, as hashes.
    pub fn ids(&self) -> Vec<u128> {
        match &self.compacted_tool_ids {
            Content::Blocks(ids) => ids.iter().filter_map(|id| id.as_ref().err()).map(|id| hash(&[id])).collect(),
            _ => Vec::new(),
        }
    }
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

/// The record, or `None` when the text is not an object that reads as one.
pub fn parse(text: &str) -> Option<Record<'_>> {
    serde_json::from_str::<Object<Record<'_>>>(text).ok()?.0
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
    all.weight = weigh(&text);
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
