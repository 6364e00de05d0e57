//! Requests, responses and what wraps them, as serde types; what is not needed is passed over unparsed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::super::lenient::{Content, Count, Flag, Object, Str};
use super::super::super::time::{Instant, parse};
use super::super::content::{Block, CacheControl};
use super::super::usage::RawUsage;

/// One record of a log: a pair, a `LiteLLM` payload, a bare body, or a bare message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    #[serde(borrow)]
    pub request: Option<&'a RawValue>,
    #[serde(borrow)]
    pub request_body: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response_body: Option<&'a RawValue>,
    #[serde(borrow)]
    pub standard_logging_object: Option<&'a RawValue>,
    #[serde(borrow)]
    pub data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub logged_at: Option<&'a RawValue>,
    #[serde(borrow)]
    pub timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub created: Option<&'a RawValue>,
    #[serde(borrow)]
    pub created_at: Option<&'a RawValue>,
    #[serde(borrow, rename = "startTime")]
    pub start_time: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub trace_id: Str<'a>,
    #[serde(borrow)]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub call_type: Str<'a>,
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow)]
    pub role: Str<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub object: Str<'a>,
    // Datasets of conversations call it `traj`.
    #[serde(borrow, alias = "traj")]
    pub messages: Option<&'a RawValue>,
    pub max_tokens: Count,
    pub prompt_tokens: Count,
    pub completion_tokens: Count,
    pub cache_hit: Flag,
    #[serde(borrow)]
    pub metadata: Object<Metadata<'a>>,
}

/// What surrounds a request in a pair; or the request itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Sent<'a> {
    #[serde(borrow)]
    pub body: Option<&'a RawValue>,
    #[serde(borrow)]
    pub messages: Option<&'a RawValue>,
    #[serde(borrow)]
    pub url: Str<'a>,
    #[serde(borrow)]
    pub timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub created_at: Option<&'a RawValue>,
}

/// What surrounds a response in a pair; or the response itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Received<'a> {
    #[serde(borrow)]
    pub body: Option<&'a RawValue>,
    #[serde(borrow)]
    pub body_raw: Option<&'a RawValue>,
    #[serde(borrow)]
    pub events: Option<&'a RawValue>,
    pub status_code: Count,
    pub status: Count,
}

/// A request's body.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Body<'a> {
    #[serde(borrow)]
    pub model: Str<'a>,
    #[serde(borrow)]
    pub system: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tools: Option<&'a RawValue>,
    #[serde(borrow, alias = "traj")]
    pub messages: Option<&'a RawValue>,
    #[serde(borrow)]
    pub context_management: Option<&'a RawValue>,
    pub cache_control: Object<CacheControl>,
    #[serde(borrow)]
    pub metadata: Object<Metadata<'a>>,
}

/// `metadata` of a request (the API's own has `user_id`) or of a `LiteLLM` payload.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metadata<'a> {
    #[serde(borrow)]
    pub user_id: Str<'a>,
    #[serde(borrow)]
    pub session_id: Str<'a>,
    pub usage_object: Object<RawUsage>,
}

impl Metadata<'_> {
    /// The session that it names: clients put `…_session_<id>` into `user_id`, newer ones a JSON object with `session_id`.
    pub fn session(&self) -> Option<String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct User<'a> {
            #[serde(borrow)]
            session_id: Str<'a>,
        }
        if let Some(id) = self.session_id.get() {
            return Some(id.to_owned());
        }
        let user = self.user_id.get()?;
        if let Some((_, id)) = user.split_once("session_").filter(|(_, id)| !id.is_empty() && !user.starts_with('{')) {
            return Some(id.to_owned());
        }
        serde_json::from_str::<Object<User<'_>>>(user).ok()?.0?.session_id.get().map(str::to_owned)
    }
}

/// A message of either shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub role: Str<'a>,
    #[serde(borrow)]
    pub content: Content<'a, Block<'a>>,
    #[serde(borrow)]
    pub reasoning_content: Str<'a>,
    #[serde(borrow)]
    pub tool_calls: Content<'a, ToolCall<'a>>,
    #[serde(borrow)]
    pub function_call: Object<Function<'a>>,
    #[serde(borrow)]
    pub tool_call_id: Str<'a>,
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub model: Str<'a>,
    #[serde(borrow)]
    pub stop_reason: Str<'a>,
    pub usage: Object<RawUsage>,
}

/// An element of `tool_calls`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolCall<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub function: Object<Function<'a>>,
}

/// A function's name and arguments: a string of JSON, or, from some gateways, the object itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Function<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    /// The arguments' JSON as the model wrote it.
    pub fn input(&self) -> String {
        let raw = self.arguments.map_or("", RawValue::get);
        if raw.starts_with('"') { serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()) } else { raw.to_owned() }
    }
}

/// A response's body of either shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Response<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub model: Str<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub stop_reason: Str<'a>,
    #[serde(borrow)]
    pub choices: Content<'a, Choice<'a>>,
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    pub usage: Object<RawUsage>,
    #[serde(borrow)]
    pub context_management: Object<ContextManagement<'a>>,
}

/// One of the answers of a response in `OpenAI`'s shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Choice<'a> {
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub finish_reason: Str<'a>,
}

/// `context_management` of a response.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContextManagement<'a> {
    #[serde(borrow)]
    pub applied_edits: Content<'a, AppliedEdit<'a>>,
}

/// One edit that was applied.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppliedEdit<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    pub cleared_tool_uses: Count,
    pub cleared_input_tokens: Count,
    pub cleared_thinking_turns: Count,
}

/// An object of the type, if the text is one.
pub fn object<'a, T: Deserialize<'a>>(raw: &'a str) -> Option<T> {
    serde_json::from_str::<Object<T>>(raw).ok()?.0
}

/// The elements of an array; `None` when it is none.
pub fn elements(raw: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw).ok()
}

/// A JSON value that may be wrapped in a string, as some exports do: the text of the value itself.
pub fn unwrapped(raw: &str) -> std::borrow::Cow<'_, str> {
    match raw.starts_with('"').then(|| serde_json::from_str::<String>(raw)) {
        Some(Ok(inner)) => inner.into(),
        _ => raw.into(),
    }
}

/// A time: ISO 8601, or a number of seconds, milliseconds or microseconds since 1970, told apart by size.
pub fn moment(raw: Option<&RawValue>) -> Option<Instant> {
    let raw = raw?.get();
    let text = raw.trim_matches('"');
    if let Ok(number) = text.parse::<f64>() {
        let ms = match number {
            n if !(1e6..1e17).contains(&n) => return None,
            n if n < 1e11 => n * 1e3,
            n if n < 1e14 => n,
            n => n / 1e3,
        };
        return Some(Instant { ms: ms.round() as i64, zoned: true });
    }
    parse(text)
}
