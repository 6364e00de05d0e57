//! Logs of Inspect: `.json`, and `.eval`, which is a zip archive with one JSON file a sample.
//!
//! The model events of a sample hold each call whole: what was sent, what was answered, what it used. So the conversations of a sample are
//! put together from them as from any log of requests; a sample without them has its messages.

use std::io::{Cursor, Read};

use serde_json::{Value, json};
use zip::{CompressionMethod, ZipArchive};

use super::super::input::Input;
use super::super::normal::{Part, hash};
use super::super::records::{Lazy, each_record, value};
use super::super::{FileReport, Options, time};
use super::linear::{count, text};
use super::messages_api::Log;
use super::{Format, Head, Parsed};

/// Logs of Inspect.
pub struct Inspect;

impl Format for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn what(&self) -> &'static str {
        "Inspect logs (.json with eval and samples, or .eval)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let members = ["_journal/", "samples/", "header.json", "summaries.json", "reductions.json"];
        let archive = head.first_in_archive().is_some_and(|name| members.iter().any(|m| name.starts_with(m)));
        let json = |o: &super::head::Keys| o.has("eval") && (o.has("samples") || (o.has("version") && o.has("status")));
        archive || head.objects().iter().any(json)
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut parts = Vec::new();
        if input.head().starts_with(b"PK") {
            archive(input, options, report, &mut parts);
        } else {
            let mut notes = FileReport::default();
            each_record(input.elements(), options.limits, report, &mut |record, _| {
                let Lazy { rest: log, list } = Lazy::new(record, "samples")?;
                let run = text(&log["eval"], "run_id");
                let (mut read, mut said) = (Vec::new(), FileReport::default());
                for raw in list.into_iter().flatten() {
                    sample(&value(raw.get())?, run, options, &mut said, &mut read);
                }
                parts.append(&mut read);
                add(&mut notes, said);
                Ok(())
            });
            add(report, notes);
        }
        Parsed { parts, documents: Vec::new() }
    }

    fn assumed_base(&self) -> u32 {
        // Only where neither system prompt nor tools are in the log.
        1_000
    }
}

/// Takes over what was said of a part of the file.
fn add(report: &mut FileReport, part: FileReport) {
    report.orphan_uses += part.orphan_uses;
    report.orphan_results += part.orphan_results;
    report.compactions += part.compactions;
    report.duplicates += part.duplicates;
    for (kind, n) in &part.ignored_types {
        (0..*n).for_each(|_| report.ignore(kind));
    }
    part.notes.into_iter().for_each(|note| report.note(note));
}

/// The samples of an archive. In memory: the archive as it is packed, and one sample at a time.
fn archive(input: Input<'_>, options: &Options, report: &mut FileReport, parts: &mut Vec<Part>) {
    let named = options.limits.named_skips;
    let packed = match input.bytes() {
        Ok(packed) => packed,
        Err(error) => return report.skip(1, format!("the archive cannot be read ({})", error.kind()), named),
    };
    report.bytes = packed.len() as u64;
    let Ok(mut archive) = ZipArchive::new(Cursor::new(packed)) else {
        return report.skip(1, "the archive is cut or damaged: its directory, which stands at the end, is not there", named);
    };
    for i in 0..archive.len() {
        let is_sample =
            archive.name_for_index(i).and_then(Result::ok).is_some_and(|name| name.starts_with("samples/") && name.ends_with(".json"));
        if !is_sample {
            continue;
        }
        let number = i as u64 + 1;
        match unpacked(&mut archive, i, options.limits.record_bytes) {
            Ok(json) => {
                let mut of_sample = FileReport::default();
                let mut notes = FileReport::default();
                if let Ok(input) = Input::open(json.as_slice()) {
                    each_record(input, options.limits, &mut of_sample, &mut |record, _| {
                        let value = value(record)?;
                        sample(&value, "", options, &mut notes, parts);
                        Ok(())
                    });
                }
                add(report, notes);
                report.records += of_sample.records;
                of_sample
                    .skipped
                    .into_iter()
                    .for_each(|skip| report.skip(number, format!("file {number} of the archive: {}", skip.why), named));
            }
            Err(why) => report.skip(number, format!("file {number} of the archive {why}"), named),
        }
    }
}

/// A file of the archive. What is packed with zstd is unpacked as zstd is everywhere here, without the C library.
fn unpacked(archive: &mut ZipArchive<Cursor<Vec<u8>>>, i: usize, longest: usize) -> Result<Vec<u8>, String> {
    let method = archive.by_index_raw(i).map_err(|_| "is damaged")?.compression();
    let too_long = || format!("is longer than {} MiB", longest >> 20);
    let mut out = Vec::new();
    match method {
        CompressionMethod::Stored | CompressionMethod::Deflated => {
            let file = archive.by_index(i).map_err(|_| "is damaged or encrypted")?;
            file.take(longest as u64 + 1).read_to_end(&mut out).map_err(|_| "is damaged")?;
        }
        _ => {
            let mut raw = archive.by_index_raw(i).map_err(|_| "is damaged")?;
            let mut packed = Vec::new();
            raw.by_ref().take(longest as u64 + 1).read_to_end(&mut packed).map_err(|_| "is damaged")?;
            if !packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                return Err("is packed in a way that is not known; deflate and zstd are".to_owned());
            }
            out = Input::open(packed.as_slice()).and_then(|input| input.at_most(longest + 1)).map_err(|_| "is damaged")?;
        }
    }
    if out.len() > longest { Err(too_long()) } else { Ok(out) }
}

/// The conversations of a sample.
fn sample(sample: &Value, run: &str, options: &Options, report: &mut FileReport, parts: &mut Vec<Part>) {
    let mut log = Log::new(options.needs.find);
    let own = [run, text(sample, "uuid"), &sample["id"].to_string(), &sample["epoch"].to_string(), &sample["input"].to_string()];
    let session = format!("{:032x}", hash(&own));
    let texts = Texts { attachments: &sample["attachments"], pool: pool(sample) };
    let mut calls = 0;
    for event in sample["events"].as_array().into_iter().flatten().filter(|e| text(e, "event") == "model") {
        let answer = &event["output"]["choices"][0]["message"];
        if !answer.is_object() {
            report.ignore("failed_request");
            continue;
        }
        let sent: Vec<Value> = texts.sent(event).into_iter().map(|m| texts.message(m)).collect();
        if sent.is_empty() {
            report.ignore("request_without_input");
            continue;
        }
        let mut body = json!({"model": event["model"], "messages": sent});
        if event["tools"].as_array().is_some_and(|tools| !tools.is_empty()) {
            body["tools"] = texts.whole(&event["tools"]);
        }
        let output = &event["output"];
        let choice = json!({"message": texts.message(answer), "finish_reason": output["choices"][0]["stop_reason"]});
        // Answers from Inspect's own cache were not billed.
        let cached = text(event, "cache") == "read";
        let usage = if cached { Value::Null } else { usage(&output["usage"]) };
        let response = json!({"id": answer["id"], "model": output["model"], "choices": [choice], "usage": usage});
        log.told(&body, Some(&response), Some(session.clone()), event["timestamp"].as_str().and_then(time::parse));
        calls += 1;
    }
    let messages = sample["messages"].as_array().map_or(&[][..], Vec::as_slice);
    if calls == 0 && !messages.is_empty() {
        let messages: Vec<Value> = messages.iter().map(|m| texts.message(m)).collect();
        log.told(&json!({"model": sample["output"]["model"], "messages": messages}), None, Some(session), None);
    }
    parts.extend(log.finish(report));
}

/// Messages that the events name by number.
fn pool(sample: &Value) -> &[Value] {
    let pools = [&sample["message_pool"], &sample["events_data"]["messages"]];
    pools.into_iter().find_map(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Usage with disjoint fields. Whether the input includes what the cache gave differs from provider to provider and from version to version;
/// the total tells.
fn usage(usage: &Value) -> Value {
    let n = |key: &str| count(&usage[key]).unwrap_or(0);
    let (mut input, output) = (n("input_tokens"), n("output_tokens"));
    let (read, written) = (n("input_tokens_cache_read"), n("input_tokens_cache_write"));
    if count(&usage["total_tokens"]).is_some_and(|total| total == input + output) {
        input = input.saturating_sub(read + written);
    }
    json!({"input_tokens": input, "cache_read_input_tokens": read, "cache_creation_input_tokens": written, "output_tokens": output})
}

/// Where the texts of a sample are that stand in several places.
struct Texts<'s> {
    attachments: &'s Value,
    pool: &'s [Value],
}

impl<'s> Texts<'s> {
    /// The messages that a model event sent: its own, or ranges of the pool.
    fn sent(&self, event: &'s Value) -> Vec<&'s Value> {
        let mut sent: Vec<&Value> = event["input"].as_array().into_iter().flatten().collect();
        for range in event["input_refs"].as_array().into_iter().flatten() {
            let at = |i: usize| range[i].as_u64().map(|n| n as usize);
            let (from, to) = match (at(0), at(1)) {
                (Some(from), Some(to)) => (from, to),
                _ => match range.as_u64() {
                    Some(one) => (one as usize, one as usize + 1),
                    None => continue,
                },
            };
            sent.extend(self.pool.get(from..to.min(self.pool.len())).unwrap_or_default());
        }
        sent
    }

    /// A text, or the attachment that it points at.
    fn text<'t>(&'t self, text: &'t str) -> &'t str {
        text.strip_prefix("attachment://").and_then(|name| self.attachments[name].as_str()).unwrap_or(text)
    }

    /// A value with its texts put in.
    fn whole(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.text(text)),
            Value::Array(all) => Value::Array(all.iter().map(|v| self.whole(v)).collect()),
            Value::Object(all) => Value::Object(all.iter().map(|(k, v)| (k.clone(), self.whole(v))).collect()),
            other => other.clone(),
        }
    }

    /// A message in the shape of `OpenAI` chat.
    fn message(&self, message: &Value) -> Value {
        let content = self.content(&message["content"]);
        match text(message, "role") {
            "assistant" => {
                let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
                    let arguments = self.whole(&call["arguments"]);
                    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
                    json!({"id": call["id"], "function": {"name": call["function"], "arguments": arguments}})
                });
                json!({"role": "assistant", "content": content, "tool_calls": calls.collect::<Vec<_>>()})
            }
            "tool" => {
                // What failed is told to the model in place of the content.
                let content = message["error"]["message"].as_str().map_or(content, |why| Value::from(self.text(why)));
                json!({"role": "tool", "tool_call_id": message["tool_call_id"], "content": content})
            }
            role => json!({"role": role, "content": content}),
        }
    }

    fn content(&self, content: &Value) -> Value {
        let Some(parts) = content.as_array() else { return self.whole(content) };
        let part = |part: &Value| match text(part, "type") {
            "reasoning" => json!({"type": "thinking", "thinking": self.whole(&part["reasoning"])}),
            "image" => json!({"type": "image_url", "image_url": {"url": self.whole(&part["image"])}}),
            "text" => json!({"type": "text", "text": self.whole(&part["text"])}),
            // What a server-side tool was asked and gave is text of the answer.
            "tool_use" => {
                let words = [&part["arguments"], &part["result"]].map(|v| self.whole(v).to_string()).concat();
                json!({"type": "text", "text": words})
            }
            _ => json!({"type": "document"}),
        };
        Value::Array(parts.iter().map(part).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_tells_whether_the_input_includes_the_cache() {
        let of = |total: u64| {
            let raw = json!({"input_tokens": 100, "output_tokens": 10, "input_tokens_cache_read": 60, "input_tokens_cache_write": 20, "total_tokens": total});
            usage(&raw)["input_tokens"].as_u64()
        };
        assert_eq!((of(110), of(190)), (Some(20), Some(100)));
    }
}
