//! A conversation as Messages API logs: a request and its response a line, or the whole as one body.

use serde_json::{Value, json};

use super::text::{BlockText, Conversation, RequestText, SCHEMA};
use crate::trace::Usage;

/// Seconds since 1970 at which the first transcript starts: 2026-01-05, 08:00 UTC. Each further one starts a day later.
const START: i64 = 1_767_600_000;
const DAY: i64 = 86_400;
/// Milliseconds that an answer takes, and those of a token of it.
const ANSWER_MS: u64 = 800;
const TOKEN_MS: u64 = 16;

impl Conversation {
    /// One JSON line a model call, `{"request":{"timestamp","body"},"response":{"timestamp","body"}}` with times in seconds since 1970.
    /// Every request repeats the history before it, as the API demands, so all lines together grow with the square of the length.
    ///
    /// `usage`: what the provider would record, one a request; as many lines come as it has entries.
    pub fn pairs<'a>(&'a self, usage: &'a [Usage]) -> impl Iterator<Item = String> + 'a {
        let head = format!(
            r#"{{"model":{},"max_tokens":32000,"cache_control":{{"type":"ephemeral"}},"system":{},"tools":{}"#,
            json!(self.model),
            json!(self.system),
            self.tools()
        );
        let mut messages = String::new();
        self.requests.iter().zip(usage).enumerate().map(move |(i, (request, usage))| {
            message(&mut messages, "user", &self.blocks(&request.input));
            let content = self.blocks(&request.output);
            let start = (START + DAY * self.index as i64) * 1000 + request.at_ms;
            let next = self.requests.get(i + 1).map_or(i64::MAX, |next| start - request.at_ms + next.at_ms);
            let end = (start + (ANSWER_MS + TOKEN_MS * usage.output) as i64).min(next - 1).max(start);
            let line = format!(
                r#"{{"request":{{"timestamp":{},"body":{head},"messages":[{messages}]}}}},"response":{{"timestamp":{},"status_code":200,"body":{}}}}}"#,
                seconds(start),
                seconds(end),
                self.response(i, request, &content, *usage)
            );
            message(&mut messages, "assistant", &content);
            line
        })
    }

    /// The whole as `{"model","system","tools","messages"}`, without times and usage.
    pub fn body(&self) -> String {
        let mut messages = String::new();
        for request in &self.requests {
            message(&mut messages, "user", &self.blocks(&request.input));
            message(&mut messages, "assistant", &self.blocks(&request.output));
        }
        let (model, system, tools) = (json!(self.model), json!(self.system), self.tools());
        format!(r#"{{"model":{model},"system":{system},"tools":{tools},"messages":[{messages}]}}"#)
    }

    fn tools(&self) -> String {
        let tool = |(name, description): &(String, String)| {
            format!(r#"{{"name":{},"description":{},"input_schema":{SCHEMA}}}"#, json!(name), json!(description))
        };
        format!("[{}]", self.tools.iter().map(tool).collect::<Vec<_>>().join(","))
    }

    fn response(&self, i: usize, request: &RequestText, content: &[Value], usage: Usage) -> Value {
        let calls = request.output.iter().any(|block| matches!(block, BlockText::Use { .. }));
        json!({
            "id": format!("msg_{}_{i:04}", self.id),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": if calls { "tool_use" } else { "end_turn" },
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": usage.cache_write_5m,
                    "ephemeral_1h_input_tokens": usage.cache_write_1h,
                },
                "output_tokens": usage.output,
            },
        })
    }

    fn blocks(&self, blocks: &[BlockText]) -> Vec<Value> {
        let id = |use_id: &usize| format!("toolu_{}_{use_id:04}", self.id);
        blocks
            .iter()
            .map(|block| match block {
                BlockText::User(text) | BlockText::Text(text) => json!({"type": "text", "text": text}),
                BlockText::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": ""}),
                BlockText::Use { use_id, tool, query } => {
                    json!({"type": "tool_use", "id": id(use_id), "name": tool, "input": {"query": query}})
                }
                BlockText::Result { use_id, text, error: false } => {
                    json!({"type": "tool_result", "tool_use_id": id(use_id), "content": text})
                }
                BlockText::Result { use_id, text, error: true } => {
                    json!({"type": "tool_result", "tool_use_id": id(use_id), "content": text, "is_error": true})
                }
            })
            .collect()
    }
}

/// Appends a message; one without blocks is not sent.
fn message(messages: &mut String, role: &str, content: &[Value]) {
    if content.is_empty() {
        return;
    }
    if !messages.is_empty() {
        messages.push(',');
    }
    messages.push_str(&json!({"role": role, "content": content}).to_string());
}

/// Milliseconds as seconds with three decimals.
fn seconds(ms: i64) -> String {
    format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000))
}
