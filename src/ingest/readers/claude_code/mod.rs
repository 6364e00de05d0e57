//! Claude Code sessions: `~/.claude/projects/<project>/<session>.jsonl` and the files of their sub-agents.
//!
//! One JSON object a line, of many types; `user`, `assistant` and some `attachment` records make up the conversation. One answer of the
//! model is several records that share `message.id`. Records are linked by `uuid` and `parentUuid`.

mod chains;
mod record;
mod rewind;
mod walk;

use super::super::input::Input;
use super::super::records::{Refusal, each_record};
use super::super::{FileReport, Options};
use super::{Format, Head, Parsed};

/// Record types that are common and hold no message.
const SILENT: &[&str] = &[
    "progress",
    "queue-operation",
    "file-history-snapshot",
    "permission-mode",
    "last-prompt",
    "summary",
    "ai-title",
    "custom-title",
    "agent-name",
    "mode",
    "system",
];

/// Session files of Claude Code.
pub struct ClaudeCode;

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude_code"
    }

    fn what(&self) -> &'static str {
        "Claude Code sessions (JSON lines with type, message and sessionId)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let linked = ["parentUuid", "isSidechain", "sessionId", "leafUuid", "toolUseResult"].iter().any(|k| o.has(k));
            match o.text("type") {
                Some("user" | "assistant") => o.has("message") && (linked || o.has("uuid") || o.has("requestId")),
                Some("file-history-snapshot") => o.has("snapshot"),
                Some("summary") => o.has("leafUuid"),
                Some(kind) => (o.has("sessionId") && SILENT.contains(&kind)) || (o.has("parentUuid") && o.has("uuid")),
                // A cut first line may hold the links and not yet the type.
                None => o.has("parentUuid") && (o.has("isSidechain") || o.has("message") || o.has("attachment")),
            }
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut log = chains::Log::new(options.needs.find);
        each_record(input, options.limits, report, &mut |text, _| {
            if let Some(record) = record::parse(text) {
                log.add(&record, text);
                return Ok(());
            }
            // Keys that occur twice in an object: the last value counts, as in most JSON readers.
            let whole = serde_json::from_str::<serde_json::Value>(text).map_err(|_| Refusal::Syntax)?.to_string();
            let record = record::parse(&whole).ok_or(Refusal::Syntax)?;
            log.repaired += 1;
            log.add(&record, &whole);
            Ok(())
        });
        Parsed { parts: log.finish(report), documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // First calls of sessions whose usage is known: 19,000 to 37,000 tokens, most of it system prompt and tools.
        20_000
    }
}
