//! Transcripts in words: sizes, links, and that what is said to be quoted is.

use std::collections::BTreeMap;

use cleartune::workload::{BlockText, Conversation, PlantedQuote, QuoteKind};
use serde_json::Value;

use super::{sha256, spec};

/// Texts of results by use, and the text of each request's output.
fn texts(conversation: &Conversation) -> (BTreeMap<usize, String>, Vec<String>) {
    let mut results = BTreeMap::new();
    let mut outputs = Vec::new();
    for request in &conversation.requests {
        for block in &request.input {
            if let BlockText::Result { use_id, text, .. } = block {
                results.insert(*use_id, text.replace('\n', " "));
            }
        }
        let said = request.output.iter().map(|block| match block {
            BlockText::Text(text) | BlockText::Use { query: text, .. } => text.as_str(),
            _ => "",
        });
        outputs.push(said.collect::<Vec<_>>().join("\u{1f}"));
    }
    (results, outputs)
}

/// What stands between quotation marks in an output.
fn quotations(output: &str) -> Vec<&str> {
    output.split('\'').skip(1).step_by(2).collect()
}

#[test]
fn words_have_the_planned_sizes() {
    for name in ["research_agent", "coding_agent", "ephemeral_api", "notebook"] {
        let spec = spec(name);
        for index in 0..spec.transcripts.min(6) {
            let (plan, conversation) = (spec.plan(index), spec.converse(index));
            let bytes = |tokens: u32| (f64::from(tokens) * plan.bytes_per_token).round() as usize;
            assert_eq!(conversation.requests.len(), plan.requests.len());
            for (planned, request) in plan.requests.iter().zip(&conversation.requests) {
                assert_eq!(planned.at_ms, request.at_ms);
                for block in request.input.iter().chain(&request.output) {
                    match block {
                        BlockText::User(text) => assert_eq!(text.len(), bytes(planned.user.unwrap())),
                        BlockText::Thinking(text) => assert_eq!(text.len(), bytes(planned.thinking.unwrap())),
                        BlockText::Text(text) => assert_eq!(text.len(), bytes(planned.text.unwrap())),
                        BlockText::Result { use_id, text, error } => {
                            assert_eq!(text.len() as u64, plan.uses[*use_id].result_bytes);
                            assert_eq!(*error, plan.uses[*use_id].error);
                        }
                        BlockText::Use { use_id, tool, query } => {
                            let used = &plan.uses[*use_id];
                            assert_eq!(*tool, used.tool);
                            let around = tool.len() + r#"{"query":""}"#.len();
                            assert_eq!(query.len(), bytes(used.tokens).saturating_sub(around));
                        }
                    }
                }
            }
            let base = serde_json::to_string(&conversation.system).unwrap().len() + tools_bytes(&conversation);
            let planned = bytes(plan.base_tokens);
            assert!(base.abs_diff(planned) * 50 < planned, "{name}: {base} bytes of {planned}");
        }
    }
}

fn tools_bytes(conversation: &Conversation) -> usize {
    let body: Value = serde_json::from_str(&conversation.body()).unwrap();
    body["tools"].to_string().len()
}

/// Every planned need is there once, and the quotation that stands for it in result and output.
#[test]
fn every_need_is_quoted_as_it_says() {
    let mut seen: BTreeMap<QuoteKind, usize> = BTreeMap::new();
    for name in ["research_agent", "coding_agent", "compare_documents"] {
        let spec = spec(name);
        for index in 0..10 {
            let (plan, conversation) = (spec.plan(index), spec.converse(index));
            let needs: Vec<(usize, usize)> = conversation.quotes.iter().map(|q| (q.request, q.use_id)).collect();
            assert_eq!(needs, plan.needs.iter().map(|n| (n.request, n.use_id)).collect::<Vec<_>>());
            let (results, outputs) = texts(&conversation);
            for quote in &conversation.quotes {
                *seen.entry(quote.kind).or_default() += 1;
                check(quote, &results, &outputs);
            }
        }
    }
    let total: usize = seen.values().sum();
    assert_eq!(seen.len(), 7, "{seen:?}");
    assert!(seen[&QuoteKind::Literal] * 2 > total && seen[&QuoteKind::Omitted] * 10 < total, "{seen:?}");
    assert!(seen.values().all(|&n| n >= 10), "{seen:?}");
}

fn check(quote: &PlantedQuote, results: &BTreeMap<usize, String>, outputs: &[String]) {
    let result = &results[&quote.use_id];
    let said: Vec<&str> = quotations(&outputs[quote.request]).into_iter().filter(|said| said.len() == quote.bytes).collect();
    let held: Vec<&&str> = said.iter().filter(|said| result.contains(**said)).collect();
    match quote.kind {
        QuoteKind::Omitted => assert_eq!(quote.bytes, 0),
        QuoteKind::Paraphrase => assert!(!said.is_empty() && quote.bytes >= 40, "{quote:?}"),
        QuoteKind::Short => assert!(!held.is_empty() && quote.bytes < 40, "{quote:?}"),
        QuoteKind::Literal => assert!(!held.is_empty() && quote.bytes >= 40, "{quote:?}"),
        QuoteKind::BoilerplateAdjacent => {
            let line = held.first().unwrap_or_else(|| panic!("{quote:?}"));
            let shared = results.values().filter(|other| other.contains(&line[..44])).count();
            // Of a short session it may be the only one.
            let long = results.values().filter(|other| other.len() >= 1200).count();
            assert!(shared > 1 || long < 30, "the header stands in other results too: {quote:?}");
        }
        QuoteKind::NearDuplicate => {
            let copy = &results[&quote.other.unwrap()];
            assert!(held.iter().any(|said| !copy.contains(**said)), "{quote:?}");
            let same = copy.bytes().zip(result.bytes()).filter(|(a, b)| a == b).count();
            let shorter = copy.len().min(result.len());
            // Of a short result the line that differs is most.
            assert!(shorter < 400 || same * 10 > shorter * 3, "{quote:?}: {same} of {shorter}");
        }
        QuoteKind::ResultQuotesResult => {
            let source = quote.other.unwrap();
            assert!(source < quote.use_id && held.iter().any(|said| results[&source].contains(**said)), "{quote:?}");
        }
    }
}

/// The bytes, and that no transcript depends on its neighbours.
#[test]
fn golden_words() {
    let spec = spec("coding_agent");
    let hash = sha256([3, 1].into_iter().map(|index| spec.converse(index).body()));
    assert_eq!(hash, "61d5490d00164bddf4bf36d2e186064c03f37b3172ff3d35ef4448c73a4a9772");
}

#[test]
fn pairs_repeat_the_history_and_carry_what_was_recorded() {
    let mut spec = spec("ephemeral_api");
    spec.transcripts = 1;
    let conversation = spec.converse(0);
    let usage: Vec<_> = (0..conversation.requests.len() as u64)
        .map(|i| cleartune::trace::Usage { input: i, cache_read: 10 * i, cache_write_5m: 100 * i, cache_write_1h: 0, output: 7 })
        .collect();
    let lines: Vec<Value> = conversation.pairs(&usage).map(|line| serde_json::from_str(&line).unwrap()).collect();
    assert_eq!(lines.len(), conversation.requests.len());
    let body: Value = serde_json::from_str(&conversation.body()).unwrap();
    let mut messages: Vec<Value> = Vec::new();
    let mut last = 0.0;
    for (i, line) in lines.iter().enumerate() {
        let (request, response) = (&line["request"]["body"], &line["response"]["body"]);
        let sent = request["messages"].as_array().unwrap();
        assert_eq!(&sent[..messages.len()], &messages[..], "request {i} begins with the history");
        assert_eq!(sent.len(), messages.len() + 1);
        messages.clone_from(sent);
        messages.push(serde_json::json!({"role": "assistant", "content": response["content"]}));
        assert_eq!((&request["system"], &request["tools"], &request["model"]), (&body["system"], &body["tools"], &body["model"]));
        assert_eq!(response["usage"]["cache_read_input_tokens"], 10 * i as u64);
        let (from, to) = (line["request"]["timestamp"].as_f64().unwrap(), line["response"]["timestamp"].as_f64().unwrap());
        assert!(last <= from && from <= to);
        last = to;
    }
    assert_eq!(body["messages"], Value::Array(messages));
}
