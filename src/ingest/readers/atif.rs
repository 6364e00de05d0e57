//! Trajectories in the Agent Trajectory Interchange Format: steps of users, systems and the agent, results in the step of their calls.

use serde_json::Value;

use super::super::input::Input;
use super::super::normal::{Call, Part, hash};
use super::super::records::{Lazy, Refusal, each_record, value};
use super::super::{FileReport, Options};
use super::content::{Piece, text_piece, thinking_piece, use_piece};
use super::linear::{Linear, count, gather, inclusive, text};
use super::{Format, Head, Parsed};

/// ATIF trajectories.
pub struct Atif;

impl Format for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn what(&self) -> &'static str {
        "ATIF trajectories (an object with schema_version ATIF-v1.x and steps)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| o.text("schema_version").is_some_and(|v| v.starts_with("ATIF")))
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut parts = Vec::new();
        let mut notes = FileReport::default();
        each_record(input.elements(), options.limits, report, &mut |record, _| {
            let Lazy { rest: trajectory, list: Some(steps) } = Lazy::new(record, "steps")? else {
                return Err(Refusal::Unusable("has no list of steps".to_owned()));
            };
            let mut session = text(&trajectory, "session_id").to_owned();
            if session.is_empty() {
                session = format!("{:032x}", hash(&[record]));
            }
            let mut steps = steps.iter().map(|step| value(step.get()));
            let mut read_now = Vec::new();
            read(&trajectory, &mut steps, &session, "", options.needs.find, &mut read_now, &mut notes)?;
            parts.extend(read_now);
            Ok(())
        });
        report.orphan_uses += notes.orphan_uses;
        report.orphan_results += notes.orphan_results;
        notes.notes.iter().for_each(|note| report.note(note.clone()));
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        3_000
    }
}

/// A trajectory and those of its sub-agents.
fn read(
    trajectory: &Value,
    steps: &mut dyn Iterator<Item = Result<Value, Refusal>>,
    session: &str,
    agent: &str,
    keep: bool,
    parts: &mut Vec<Part>,
    report: &mut FileReport,
) -> Result<(), Refusal> {
    let mut linear = Linear::new(session, keep);
    let tools = &trajectory["agent"]["tool_definitions"];
    if !tools.is_null() {
        linear.base(tools.to_string().len());
    }
    let model = trajectory["agent"]["model_name"].as_str();
    let mut copied = 0;
    let mut begun = false;
    for step in steps {
        let step = &step?;
        // Repeated after a summary: it was counted before.
        if step["is_copied_context"] == true {
            copied += 1;
            continue;
        }
        match text(step, "source") {
            "agent" => {
                begun = true;
                let mut output: Vec<Piece> = Vec::new();
                if let Some(words) = step["reasoning_content"].as_str().filter(|w| !w.is_empty()) {
                    output.push(thinking_piece(words));
                }
                let words = gather(&step["message"], true).text;
                if !words.is_empty() {
                    output.push(text_piece(&words, keep));
                }
                for call in step["tool_calls"].as_array().into_iter().flatten() {
                    output.push(use_piece(text(call, "tool_call_id"), text(call, "function_name"), &call["arguments"].to_string(), keep));
                }
                let metrics = &step["metrics"];
                let extra = &metrics["extra"];
                let read = count(&metrics["cached_tokens"]).or_else(|| count(&extra["cache_read_input_tokens"]));
                let written = count(&extra["cache_creation_input_tokens"]);
                let usage = inclusive(count(&metrics["prompt_tokens"]), read, written, count(&metrics["completion_tokens"]));
                let call = Call {
                    key: Some(hash(&["atif", session, agent, &step["step_id"].to_string(), text(step, "timestamp")])),
                    model: step["model_name"].as_str().or(model).map(str::to_owned),
                    at_ms: linear.at(step["timestamp"].as_str()),
                    complete: usage.is_some(),
                    usage,
                    records: 1,
                    ..Call::default()
                };
                linear.call(call, output);
                for result in step["observation"]["results"].as_array().into_iter().flatten() {
                    match result["source_call_id"].as_str() {
                        Some(id) => linear.result(id, &result["content"]),
                        None => linear.user(&result["content"]),
                    }
                }
            }
            "system" if !begun => linear.base(gather(&step["message"], false).bytes as usize),
            _ => linear.user(&step["message"]),
        }
    }
    if copied > 0 {
        report.note(format!("{copied} steps repeat what stood before a summary; they are left out"));
    }
    let sub_agent = !agent.is_empty();
    parts.extend(linear.finish(report).map(|part| Part { agent: agent.to_owned(), sub_agent, ..part }));
    for (i, sub) in trajectory["subagent_trajectories"].as_array().into_iter().flatten().enumerate() {
        let mut steps = sub["steps"].as_array().into_iter().flatten().cloned().map(Ok);
        read(sub, &mut steps, session, &format!("{agent}/{i}"), keep, parts, report)?;
    }
    Ok(())
}
