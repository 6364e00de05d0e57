//! Trajectories of SWE-agent, whole and as rows of a dataset: function calls, and actions that stand in the text.
//!
//! `history` is what the agents said and were told, every observation whole; `trajectory` is the steps, each with what the model was sent
//! (`messages` or `query`), from which observations may have been elided. A row of a dataset has the conversation itself as `trajectory`.

use serde_json::{Value, json};

use super::super::input::Input;
use super::super::normal::{Call, Part, hash};
use super::super::records::{Refusal, each_record, value};
use super::super::{FileReport, Options};
use super::content::{Piece, text_piece, thinking_piece, use_piece};
use super::linear::{Linear, gather, text};
use super::{Format, Head, Parsed};

/// Trajectories of SWE-agent.
pub struct SweAgent;

impl Format for SweAgent {
    fn name(&self) -> &'static str {
        "swe_agent"
    }

    fn what(&self) -> &'static str {
        "SWE-agent trajectories (an object with trajectory or history, also as rows of a dataset)"
    }

    fn sniff(&self, head: &Head) -> bool {
        // Other formats that have a history or a trajectory, by what else they hold.
        let others = ["metrics", "instruction", "test_result", "messages", "schema_version", "request", "response", "role", "type"];
        head.objects().iter().any(|o| (o.has("trajectory") || o.has("history")) && !others.iter().any(|k| o.has(k)))
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut parts = Vec::new();
        let mut notes = FileReport::default();
        let (mut elided, mut named) = (0, true);
        each_record(input.elements(), options.limits, report, &mut |record, _| {
            let mut record_value = value(record)?;
            let Some(history) = history(&mut record_value) else {
                return Err(Refusal::Unusable("has neither a history nor a trajectory of messages or steps".to_owned()));
            };
            let session = format!("{:032x}", hash(&[record]));
            elided += u64::from(elides(&record_value));
            let model = model(&record_value);
            named &= model.is_some();
            // Agents talk in one history, each to itself.
            let mut agents: Vec<&str> = Vec::new();
            for message in &history {
                if !agents.contains(&text(message, "agent")) {
                    agents.push(text(message, "agent"));
                }
            }
            for (i, agent) in agents.into_iter().enumerate() {
                let mine: Vec<&Value> = history.iter().filter(|m| text(m, "agent") == agent).collect();
                let last = last_observation(&record_value).filter(|_| i == 0);
                let part = conversation(&mine, last, &session, model.as_deref(), options.needs.find, &mut notes);
                let agent = if i == 0 { String::new() } else { agent.to_owned() };
                parts.extend(part.map(|part| Part { agent, sub_agent: i > 0, ..part }));
            }
            Ok(())
        });
        report.orphan_uses += notes.orphan_uses;
        report.orphan_results += notes.orphan_results;
        if elided > 0 {
            report
                .note(format!("in {elided} trajectories the agent itself elided old observations; they are read whole, as if it had not"));
        }
        if !named && !parts.is_empty() {
            report.note("the log does not name the model".to_owned());
        }
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // The system prompt is in the log; what is not is the definitions of a dozen tools, where there are any.
        1_000
    }
}

/// The messages of a record: its history; else what the last step was sent and answered; else the steps; else the row of a dataset.
fn history(record: &mut Value) -> Option<Vec<Value>> {
    // Taken out, as a copy would take as much memory again.
    if let Some(Value::Array(messages)) = record.get_mut("history").filter(|history| history.is_array()).map(Value::take) {
        return Some(messages.into_iter().flat_map(entry).collect());
    }
    let steps = record["trajectory"].as_array()?;
    if steps.iter().any(|step| step["role"].is_string()) {
        return Some(steps.iter().map(row).collect());
    }
    if !steps.iter().all(|step| step["action"].is_string() || step["response"].is_string()) {
        return None;
    }
    let said = |step: &Value| {
        let words = if step["response"].is_string() { &step["response"] } else { &step["thought"] };
        json!({"role": "assistant", "content": words, "action": step["action"]})
    };
    let sent = steps.last().and_then(|step| ["messages", "query"].iter().find_map(|key| step[*key].as_array()));
    match (sent, steps.last()) {
        (Some(sent), Some(last)) => Some(sent.iter().cloned().chain([said(last)]).collect()),
        _ => Some(steps.iter().flat_map(|step| [said(step), json!({"role": "user", "content": step["observation"]})]).collect()),
    }
}

/// An entry of a history; old ones may be nested by step.
fn entry(entry: Value) -> Vec<Value> {
    match entry {
        Value::Array(messages) => messages,
        message => vec![message],
    }
}

/// A message of a dataset's row, as a history has it.
fn row(message: &Value) -> Value {
    let words = ["text", "content", "system_prompt"].iter().map(|key| &message[*key]).find(|v| !v.is_null()).unwrap_or(&Value::Null);
    let role = text(message, "role");
    if !matches!(role, "ai" | "assistant") {
        return json!({"role": role, "content": words, "tool_call_id": message["tool_call_id"]});
    }
    let action = block(words.as_str().unwrap_or_default());
    json!({"role": "assistant", "content": words, "action": action, "tool_calls": message["tool_calls"]})
}

/// The inside of the last fenced block, which is what the agent runs.
fn block(words: &str) -> Option<&str> {
    let fences: Vec<usize> = words.match_indices("```").filter(|&(i, _)| i == 0 || words[..i].ends_with('\n')).map(|(i, _)| i).collect();
    let [.., open, close] = fences.as_slice() else { return None };
    if fences.len() % 2 == 1 {
        return None;
    }
    let inside = &words[open + 3..*close];
    // What follows the fence on its line names a language.
    Some(inside.split_once('\n').map_or(inside, |(_, code)| code).trim_end_matches('\n')).filter(|code| !code.trim().is_empty())
}

fn model(record: &Value) -> Option<String> {
    let named = |config: &Value| config["agent"]["model"]["name"].as_str().map(str::to_owned);
    let config = &record["replay_config"];
    // Some versions write the config as text.
    let parsed = || serde_json::from_str::<Value>(config.as_str()?).ok().as_ref().and_then(named);
    named(config).or_else(parsed).or_else(|| record["model_name"].as_str().map(str::to_owned))
}

/// Whether what the model was sent lacks observations that the history has.
fn elides(record: &Value) -> bool {
    let sent = |step: &Value| ["messages", "query"].iter().filter_map(|key| step[*key].as_array()).flatten().any(elided);
    record["trajectory"].as_array().is_some_and(|steps| steps.iter().any(sent))
}

fn elided(message: &Value) -> bool {
    let starts = |text: &Value| text.as_str().is_some_and(|t| t.starts_with("Old environment output: ("));
    starts(&message["content"]) || message["content"].as_array().is_some_and(|parts| parts.iter().any(|part| starts(&part["text"])))
}

/// What the last action gave: the history ends before it where nothing was asked after it.
fn last_observation(record: &Value) -> Option<&Value> {
    record["trajectory"].as_array()?.last().map(|step| &step["observation"]).filter(|o| o.is_string())
}

/// The conversation of one agent.
fn conversation(
    history: &[&Value],
    last: Option<&Value>,
    session: &str,
    model: Option<&str>,
    keep: bool,
    report: &mut FileReport,
) -> Option<Part> {
    let mut linear = Linear::new(session, keep);
    // The use in the text of the message before, which the next message answers.
    let mut open: Option<String> = None;
    let mut begun = false;
    for (i, message) in history.iter().enumerate() {
        let content = &message["content"];
        let demonstration = message["is_demo"] == true;
        match text(message, "role") {
            "system" if !begun => linear.base(gather(content, false).bytes as usize),
            "assistant" | "ai" if !demonstration => {
                begun = true;
                let (output, asked) = said(message, i, keep);
                open = asked;
                let key = hash(&["swe_agent", session, text(message, "agent"), &i.to_string()]);
                linear.call(Call { key: Some(key), model: model.map(str::to_owned), records: 1, ..Call::default() }, output);
            }
            "tool" if !demonstration => {
                let id = message["tool_call_ids"][0].as_str().or(message["tool_call_id"].as_str()).unwrap_or_default();
                linear.result(id, content);
            }
            _ => match open.take() {
                Some(id) => linear.result(&id, content),
                None => linear.user(content),
            },
        }
    }
    if let (Some(id), Some(observation)) = (open, last) {
        linear.result(&id, observation);
    }
    linear.finish(report)
}

/// What an assistant's message says, and the id of the action that stands in its text.
fn said(message: &Value, i: usize, keep: bool) -> (Vec<Piece>, Option<String>) {
    let mut output = Vec::new();
    for thought in message["thinking_blocks"].as_array().into_iter().flatten() {
        output.push(thinking_piece(text(thought, "thinking")));
    }
    let words = gather(&message["content"], true).text;
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let action = text(message, "action").trim();
    let written = if calls.is_empty() && !action.is_empty() { words.rfind(action) } else { None };
    let spoken = match written {
        Some(at) => [&words[..at], &words[at + action.len()..]].concat(),
        None => words,
    };
    if !spoken.trim().is_empty() {
        output.push(text_piece(&spoken, keep));
    }
    for call in calls {
        output.push(use_piece(text(call, "id"), text(&call["function"], "name"), &arguments(&call["function"]["arguments"]), keep));
    }
    if !calls.is_empty() || action.is_empty() {
        return (output, None);
    }
    let id = format!("message {i}");
    let (tool, rest) = command(action);
    output.push(use_piece(&id, tool, &Value::from(rest).to_string(), keep));
    (output, Some(id))
}

fn arguments(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Tool and input of an action: its first word and the rest. What is no plain word (a path, an assignment) is run by the shell, and is text
/// of the log that must not leave as a tool's name.
fn command(action: &str) -> (&str, &str) {
    let (word, rest) = action.split_once(char::is_whitespace).unwrap_or((action, ""));
    let plain = word.len() <= 32 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    if plain { (word, rest.trim_start()) } else { ("bash", action) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_the_tool_unless_it_is_a_path() {
        assert_eq!(command("open a.py 12"), ("open", "a.py 12"));
        assert_eq!(command("submit"), ("submit", ""));
        assert_eq!(command("edit\n1:2"), ("edit", "1:2"));
        assert_eq!(command("./run.sh now"), ("bash", "./run.sh now"));
        assert_eq!(command("KEY=secret run"), ("bash", "KEY=secret run"));
    }

    #[test]
    fn the_last_whole_block_is_run() {
        assert_eq!(block("I look.\n```\nls -F\n```"), Some("ls -F"));
        assert_eq!(block("a\n```\nls\n```\nb\n```bash\npwd\n```\n"), Some("pwd"));
        assert_eq!(block("no block"), None);
        assert_eq!(block("a\n```\nls\n```\nb\n```\ncut"), None);
        assert_eq!(block("```\n\n```"), None);
    }
}
