//! One event as serde types.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::super::lenient::{Content, Flag, Object, Str};
use super::super::super::time::{Instant, parse};
use super::super::content::{Block, Inner};
use super::super::usage::RawUsage;

/// A line that wraps an event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wrapper<'a> {
    #[serde(borrow)]
    pub role: Str<'a>,
    #[serde(borrow)]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub time: Str<'a>,
    #[serde(borrow)]
    pub raw: Option<&'a RawValue>,
}

impl Wrapper<'_> {
    /// The event that a line without `raw` stands for.
    pub fn event(&self) -> Event<'_> {
        let kind = self.kind.text();
        let domain = match self.role.text() {
            "system" if kind.starts_with("model_request") || kind.starts_with("outcome_evaluation") => "span",
            "system" => "session",
            role => role,
        };
        let fields = Fields {
            kind: Str(Some(Cow::Owned(format!("{domain}.{kind}")))),
            name: Str(self.tool.0.as_deref().map(Cow::Borrowed)),
            input: self.content,
            content: self.content,
            ..Fields::default()
        };
        Event { fields, time: None }
    }
}

/// An event and when it was.
#[derive(Debug)]
pub struct Event<'a> {
    /// Its fields.
    pub fields: Fields<'a>,
    /// `processed_at`.
    pub time: Option<Instant>,
}

/// Fields of all events; which an event has depends on its `type`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub processed_at: Str<'a>,
    #[serde(borrow)]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub session_thread_id: Str<'a>,
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub model: Str<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub custom_tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub mcp_tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub model_request_start_id: Str<'a>,
    pub model_usage: Object<RawUsage>,
    pub usage: Object<RawUsage>,
    pub is_error: Flag,
    #[serde(borrow)]
    pub description: Str<'a>,
    #[serde(borrow)]
    pub rubric: Object<Inner<'a>>,
    #[serde(borrow)]
    pub explanation: Str<'a>,
}

impl<'a> Event<'a> {
    /// The event of a JSON text; `None` when that is no object which reads as one.
    pub fn parse(text: &'a str) -> Option<Self> {
        let fields = serde_json::from_str::<Object<Fields<'a>>>(text).ok()?.0?;
        let time = fields.processed_at.get().and_then(parse);
        Some(Self { fields, time })
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        self.fields.kind.text()
    }

    /// Its id.
    pub fn id(&self) -> Option<&str> {
        self.fields.id.get()
    }

    /// Its content as that of a message.
    pub fn blocks(&self) -> Content<'_, Block<'_>> {
        self.fields.content.and_then(|c| serde_json::from_str(c.get()).ok()).unwrap_or_default()
    }

    /// Its content as that of a tool result.
    pub fn result(&self) -> Content<'_, Inner<'_>> {
        self.fields.content.and_then(|c| serde_json::from_str(c.get()).ok()).unwrap_or_default()
    }

    /// The use that a result answers; empty where none is named.
    pub fn answers(&self) -> &str {
        let f = &self.fields;
        f.tool_use_id.get().or(f.custom_tool_use_id.get()).or(f.mcp_tool_use_id.get()).unwrap_or("")
    }
}
