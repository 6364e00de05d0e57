//! The transcript model: what a replay knows of a conversation, and nothing of its text.
//!
//! [`Document`] is the file form (`cleartune.trace/1`, one JSON object a line); readers and the generator make it.
//! [`Trace`] is the same checked once and laid out in columns; a replay touches no JSON and no strings.

mod columns;
mod document;
mod file;

pub use columns::{BlockKind, NONE, Refetch, Request, Tool, Trace, TraceError, Use};
pub use document::{Block, Cause, Document, RequestDoc, SCHEMA, ToolDoc, Usage};
pub use file::{LineError, parse_line, to_line};
