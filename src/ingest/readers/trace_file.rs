//! `cleartune.trace/1`: lines that are traces already.

use std::collections::BTreeMap;

use super::super::input::Input;
use super::super::normal::hash;
use super::super::records::{Refusal, each_record};
use super::super::{FileReport, Options};
use super::{Format, Head, Parsed};
use crate::trace::{Document, LineError, parse_line};

/// The project's own trace format.
pub struct TraceFile;

impl Format for TraceFile {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn what(&self) -> &'static str {
        "trace files (cleartune.trace/1)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.objects().iter().any(|o| o.text("schema").is_some_and(|s| s.starts_with("cleartune.trace/")))
    }

    fn read(&self, input: Input<'_>, options: &Options, report: &mut FileReport) -> Parsed {
        let mut documents: Vec<Document> = Vec::new();
        let mut seen = BTreeMap::new();
        let mut duplicates = 0;
        let mut unknown_needs = 0;
        each_record(input, options.limits, report, &mut |text, _| {
            let doc = match parse_line(text.as_bytes()) {
                Ok((doc, trace)) => {
                    unknown_needs += trace.unknown_needs;
                    doc
                }
                Err(LineError::Json { field, problem }) if field == "line" => {
                    return Err(if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
                        Refusal::Unusable(problem)
                    } else {
                        Refusal::Syntax
                    });
                }
                Err(error) => return Err(Refusal::Unusable(error.to_string())),
            };
            if seen.insert(hash(&[text]), ()).is_some() {
                duplicates += 1;
            } else {
                documents.push(doc);
            }
            Ok(())
        });
        report.duplicates += duplicates;
        if unknown_needs > 0 {
            report.note(format!("needs that name no tool use of their transcript, left out: {unknown_needs}"));
        }
        for doc in &documents {
            report.requests += doc.requests.len() as u64;
            for request in &doc.requests {
                report.tool_uses += request.output.iter().filter(|b| b.kind == "use").count() as u64;
                report.needs += request.needs.len() as u64;
                if let Some(usage) = request.usage {
                    report.count_usage(usage);
                }
            }
        }
        Parsed { documents, ..Parsed::default() }
    }

    fn assumed_base(&self) -> u32 {
        0
    }
}
