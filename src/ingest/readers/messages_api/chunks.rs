//! Streams of `OpenAI` chat: chunks put together to the responses that they are parts of.

use serde_json::{Value, json};

/// What a chunk names itself.
pub const CHUNK: &str = "chat.completion.chunk";

/// Responses as their chunks come, in the order of their first ones. Chunks of several may alternate.
#[derive(Debug, Default)]
pub struct Chunks(Vec<Response>);

#[derive(Debug)]
struct Response {
    id: Value,
    model: Value,
    created: Value,
    usage: Value,
    finish_reason: Value,
    content: String,
    reasoning: String,
    /// Index, id, name and arguments of each call.
    calls: Vec<(u64, String, String, String)>,
}

impl Chunks {
    /// Adds a chunk. Only the first choice counts: it is the one that a conversation goes on with.
    pub fn add(&mut self, chunk: &Value) {
        // The newest first, for most streams come one after the other.
        let known = self.0.iter().rposition(|response| response.id == chunk["id"]);
        let known = known.unwrap_or_else(|| {
            let (content, reasoning, calls) = (String::new(), String::new(), Vec::new());
            let [id, model, created] = ["id", "model", "created"].map(|key| chunk[key].clone());
            self.0.push(Response { id, model, created, usage: Value::Null, finish_reason: Value::Null, content, reasoning, calls });
            self.0.len() - 1
        });
        let response = &mut self.0[known];
        // Sent once at the end, or as a running total with every chunk.
        if chunk["usage"].is_object() {
            response.usage = chunk["usage"].clone();
        }
        let choices = chunk["choices"].as_array();
        let Some(choice) = choices.and_then(|all| all.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0)) else { return };
        if choice["finish_reason"].is_string() {
            response.finish_reason = choice["finish_reason"].clone();
        }
        let delta = &choice["delta"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        response.content.push_str(&text(&delta["content"]));
        response.reasoning.push_str(&text(if delta["reasoning"].is_string() { &delta["reasoning"] } else { &delta["reasoning_content"] }));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or(response.calls.len() as u64);
            if !response.calls.iter().any(|known| known.0 == index) {
                response.calls.push((index, String::new(), String::new(), String::new()));
            }
            let Some(known) = response.calls.iter_mut().find(|known| known.0 == index) else { continue };
            known.1.push_str(&text(&call["id"]));
            known.2.push_str(&text(&call["function"]["name"]));
            known.3.push_str(&text(&call["function"]["arguments"]));
        }
    }

    /// The responses, as if they had not been streamed.
    pub fn finish(self) -> Vec<Value> {
        let whole = |response: Response| {
            let calls = response.calls.into_iter();
            let calls: Vec<Value> = calls
                .map(|(_, id, name, arguments)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
                .collect();
            let mut message = json!({"role": "assistant", "content": response.content});
            if !response.reasoning.is_empty() {
                message["reasoning_content"] = response.reasoning.into();
            }
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({
                "id": response.id,
                "object": "chat.completion",
                "model": response.model,
                "created": response.created,
                "choices": [{"index": 0, "message": message, "finish_reason": response.finish_reason}],
                "usage": response.usage,
            })
        };
        self.0.into_iter().map(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_two_streams_make_two_responses() {
        let mut chunks = Chunks::default();
        let chunk = |id: &str, delta: Value, more: Value| {
            let mut chunk = json!({"id": id, "object": CHUNK, "model": "gpt-5", "created": 9, "choices": [{"index": 0, "delta": delta}]});
            more.as_object().unwrap().iter().for_each(|(key, value)| chunk[key] = value.clone());
            chunk
        };
        let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
        chunks.add(&chunk("a", json!({"role": "assistant", "content": "one "}), json!({})));
        chunks.add(&chunk("b", json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "ls", "arguments": ""}}]}), json!({})));
        chunks.add(&chunk("a", json!({"content": "two"}), json!({})));
        chunks.add(&chunk("b", call("{\"x\""), json!({})));
        chunks.add(&chunk("b", call(":1}"), json!({"usage": null})));
        chunks.add(&chunk("a", json!({}), json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})));
        // Another choice, and what is none at all, add nothing.
        chunks.add(&json!({"id": "a", "choices": [{"index": 1, "delta": {"content": "no"}}]}));
        chunks.add(&json!({"id": "a", "choices": 3}));
        let all = chunks.finish();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0]["choices"][0]["message"]["content"], "one two");
        assert_eq!(all[0]["usage"]["prompt_tokens"], 7);
        let function = &all[1]["choices"][0]["message"]["tool_calls"][0];
        assert_eq!((&function["id"], &function["function"]["arguments"]), (&json!("c1"), &json!("{\"x\":1}")));
    }
}
