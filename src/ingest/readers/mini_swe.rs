//! Trajectories of mini-swe-agent. Version 1: an assistant's message holds one fenced block, which is the tool call, and the user's message
//! after it is the result. Version 2: tool calls and messages of the role `tool`.

use serde_json::Value;

use super::super::input::Input;
use super::super::normal::{Call, hash};
use super::super::records::{Lazy, Refusal, each_record, value};
use super::super::{FileReport, Options};
use super::content::{Piece, text_piece, thinking_piece, use_piece};
use super::linear::{Linear, exit_code_behind, gather, text};
use super::usage::RawUsage;
use super::{Format, Head, Parsed};

/// Trajectories of mini-swe-agent.
pub struct MiniSwe;

impl Format for MiniSwe {
    fn name(&self) -> &'static str {
        "mini_swe_agent"
    }

    fn what(&self) -> &'static str {
        "mini-swe-agent trajectories (an object with info, messages and trajectory_format)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| {
            let named = o.text("trajectory_format").is_some_and(|f| f.starts_with("mini-swe-agent"));
            // The format is named behind the messages, which may be longer than what detection sees.
            named || (o.has("info") && o.has("messages") && !o.has("history") && !o.has("trajectory"))
        })
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut parts = Vec::new();
        let mut notes = FileReport::default();
        each_record(input.elements(), options.limits, report, &mut |record, _| {
            let Lazy { rest: trajectory, list: Some(messages) } = Lazy::new(record, "messages")? else {
                return Err(Refusal::Unusable("has no list of messages".to_owned()));
            };
            let mut session = text(&trajectory, "instance_id").to_owned();
            if session.is_empty() {
                session = format!("{:032x}", hash(&[record]));
            }
            let mut linear = Linear::new(&session, options.needs.find);
            let mut before = None;
            for (i, message) in messages.iter().enumerate() {
                let message = value(message.get())?;
                take(&mut linear, i, &message, before.as_ref());
                before = Some(message);
            }
            parts.extend(linear.finish(&mut notes));
            Ok(())
        });
        report.orphan_uses += notes.orphan_uses;
        report.orphan_results += notes.orphan_results;
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // The system prompt is in the log; there are no tool definitions to speak of.
        100
    }
}

/// The command of a message in version 1: the inside of its one fenced block, and its place.
fn block(content: &str) -> Option<(std::ops::Range<usize>, &str)> {
    let start = content.find("```bash\n")?;
    let inner = start + "```bash\n".len();
    let end = inner + content[inner..].find("\n```")?;
    let after = end + "\n```".len();
    // With two of them the agent is told off and none is run.
    (!content[after..].contains("```bash\n")).then(|| (start..after, &content[inner..end]))
}

/// Whether a result tells of an exit code other than 0.
fn failed(content: &Value) -> bool {
    exit_code_behind(&gather(content, true).text, "<returncode>")
}

fn take(linear: &mut Linear, i: usize, message: &Value, before: Option<&Value>) {
    let keep = linear.keep;
    match text(message, "role") {
        "system" => linear.base(gather(&message["content"], false).bytes as usize),
        "assistant" => {
            let response = &message["extra"]["response"];
            let content = gather(&message["content"], true).text;
            let mut output: Vec<Piece> = Vec::new();
            let reasoning = &response["choices"][0]["message"]["reasoning"];
            if let Some(words) = reasoning.as_str().filter(|words| !words.is_empty()) {
                output.push(thinking_piece(words));
            }
            let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
            match block(&content).filter(|_| calls.is_empty()) {
                Some((range, command)) => {
                    let words = [&content[..range.start], &content[range.end..]].concat();
                    if !words.trim().is_empty() {
                        output.push(text_piece(&words, keep));
                    }
                    output.push(use_piece(&format!("message {i}"), "bash", &Value::from(command).to_string(), keep));
                }
                None if !content.is_empty() => output.push(text_piece(&content, keep)),
                None => {}
            }
            for call in calls {
                output.push(use_piece(text(call, "id"), text(&call["function"], "name"), text(&call["function"], "arguments"), keep));
            }
            let usage = RawUsage::deserialize_lenient(&response["usage"]).map(|u| u.disjoint().0).filter(|u| u.prompt() > 0);
            let created = response["created"].as_f64().or_else(|| message["extra"]["timestamp"].as_f64());
            let call = Call {
                key: Some(hash(&["mini_swe_agent", text(response, "id"), &i.to_string(), &content])),
                model: response["model"].as_str().map(str::to_owned),
                at_ms: created.map(|seconds| (seconds * 1000.0) as i64),
                complete: usage.is_some(),
                usage,
                records: 1,
                ..Call::default()
            };
            linear.call(call, output);
        }
        "tool" => {
            linear.result(text(message, "tool_call_id"), &message["content"]);
            linear.failed(failed(&message["content"]));
        }
        _ => {
            let ran = before.is_some_and(|b| {
                text(b, "role") == "assistant"
                    && b["tool_calls"].as_array().is_none_or(Vec::is_empty)
                    && block(&gather(&b["content"], true).text).is_some()
            });
            if ran {
                linear.result(&format!("message {}", i - 1), &message["content"]);
                linear.failed(failed(&message["content"]));
            } else {
                linear.user(&message["content"]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_is_a_command_and_two_are_none() {
        assert_eq!(block("I look.\n```bash\nls -F\n```\n").map(|b| b.1), Some("ls -F"));
        assert!(block("```bash\nls\n```\nand\n```bash\npwd\n```").is_none());
        assert!(block("```bash\nls").is_none() && block("```python\nx\n```").is_none());
    }
}
