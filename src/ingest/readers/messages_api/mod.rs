//! Logs of the Messages API: request/response pairs as proxies and gateways write them, `LiteLLM`'s payloads, bare bodies, bare messages.
//!
//! Every request repeats its history, so the conversations are put together again from the common prefixes of the requests: [`regroup`].

mod answer;
mod chunks;
mod log;
mod message;
mod regroup;
mod responses;
mod wire;

use super::super::input::Input;
use super::super::records::each_record;
use super::super::{FileReport, Options};
use super::{Format, Head, Parsed};
pub use log::Log;

/// Request/response logs of the Messages API.
pub struct MessagesApi;

impl Format for MessagesApi {
    fn name(&self) -> &'static str {
        "messages_api"
    }

    fn what(&self) -> &'static str {
        "Messages API, OpenAI chat and Responses logs (pairs of request and response, claude-trace, LiteLLM payloads, bodies with messages, traj or input)"
    }

    fn sniff(&self, head: &Head) -> bool {
        // Other formats that have `messages` too, by what else they hold.
        let others = ["info", "trajectory_format", "samples", "eval", "sessionId", "projectHash", "history", "trajectory"];
        head.objects().iter().any(|o| {
            let pair = (o.has("request") && o.has("response")) || (o.has("request_body") && o.has("response_body"));
            let payload = (o.has("call_type") && o.has("startTime")) || o.has("standard_logging_object");
            let body = o.has("traj") || (o.has("messages") && !others.iter().any(|k| o.has(k)));
            let message = o.has("content") && matches!(o.text("role"), Some("user" | "assistant" | "system" | "tool")) && !o.has("kind");
            // OpenAI's Responses API: requests, responses, items.
            let asked = o.has("input") && o.has("model") && !others.iter().any(|k| o.has(k)) && !o.has("event");
            let item = o.text("type").is_some_and(responses::is_item) && (o.has("call_id") || o.has("summary"));
            pair || payload
                || body
                || message
                || asked
                || item
                || matches!(o.text("object"), Some("response" | "chat.completion" | "chat.completion.chunk"))
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut log = Log::new(options.needs.find);
        each_record(input.elements(), options.limits, report, &mut |text, _| log.record(text));
        Parsed { parts: log.finish(report), documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // Only where neither system prompt nor tools are in the log: a short prompt and a handful of tools.
        3_000
    }
}
