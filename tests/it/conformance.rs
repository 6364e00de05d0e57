//! Which results the named policies clear, against what the packages cleared that they are named after: recorded by
//! `tools/conformance/run.sh` from their own functions.

use std::collections::BTreeSet;

use cleartune::policy::named;
use cleartune::policy::{Assume, Settings};
use cleartune::replay::{RowKind, plain::Engine};
use cleartune::sweep::config;
use cleartune::trace::{Block, Document, RequestDoc, SCHEMA, Trace};
use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/conformance");

fn rows(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// As `tools/conformance/converse.py` makes requests of a conversation.
fn trace(conversation: &Value) -> Trace {
    let number = |value: &Value| value.as_u64().unwrap();
    let mut doc = Document {
        schema: SCHEMA.to_owned(),
        id: conversation["id"].to_string(),
        base_tokens: number(&conversation["base"]) as u32,
        ..Document::default()
    };
    let (mut pending, mut id): (Vec<(u64, u32)>, u64) = (Vec::new(), 0);
    for step in conversation["steps"].as_array().unwrap() {
        let mut request = RequestDoc::default();
        request.input.extend(pending.drain(..).map(|(id, tokens)| Block::result(id, tokens, Some(tokens.into()))));
        if number(&step[0]) > 0 {
            request.input.push(Block::user(number(&step[0]) as u32));
        }
        if number(&step[1]) > 0 {
            request.output.push(Block::text(number(&step[1]) as u32));
        }
        for call in step[2].as_array().unwrap() {
            request.output.push(Block::tool_use(id, call[0].as_str().unwrap(), number(&call[1]) as u32));
            pending.push((id, number(&call[2]) as u32));
            id += 1;
        }
        doc.requests.push(request);
    }
    Trace::from_document(&doc).unwrap()
}

/// Requests compared, and those at which the sets differ.
fn compare(policy: &str) -> (usize, Vec<String>) {
    let named = named::find(policy).unwrap();
    let conversations = rows("conversations");
    let (mut compared, mut differ, mut cleared) = (0, Vec::new(), 0);
    for row in rows(policy) {
        let conversation = conversations.iter().find(|c| c["id"] == row["conversation"]).unwrap();
        let trace = trace(conversation);
        let knobs = row["knobs"].as_object().unwrap();
        // No trigger of 0 there, and `clear_at_least` has another name.
        let least = u64::from(matches!(policy, "langchain_js" | "pydantic_ai"));
        let value =
            |name: &str, value: &Value| if name == "trigger" { Value::from(value.as_u64().unwrap().max(least)) } else { value.clone() };
        let renamed =
            |name: &str| if policy == "pydantic_ai" && name == "clear_at_least" { "min_clear_tokens".to_owned() } else { name.to_owned() };
        let values: Vec<(String, Value)> = knobs.iter().map(|(name, v)| (renamed(name), value(name, v))).collect();
        let mut settings = Settings { assume: Assume { max_refetch_rounds: 0, ..Assume::default() }, ..Settings::default() };
        config(named, &values).unwrap().apply(&mut settings);
        let mut ours: Vec<Vec<u32>> = Vec::new();
        Engine::default().watch(&trace, &settings, |row, engine| {
            assert_eq!(row.kind, RowKind::Original);
            ours.push(engine.not_whole());
        });
        let mut theirs = BTreeSet::new();
        for (at, changed) in row["changed"].as_array().unwrap().iter().enumerate() {
            for id in changed.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32) {
                if !theirs.remove(&id) {
                    theirs.insert(id);
                }
            }
            compared += 1;
            cleared += usize::from(!theirs.is_empty());
            if !theirs.iter().eq(&ours[at]) {
                differ.push(format!(
                    "{policy}, conversation {}, {knobs:?}, request {at}: {:?} and not {theirs:?}",
                    row["conversation"], ours[at]
                ));
            }
        }
    }
    assert!(cleared > 400, "{policy}: {cleared} requests with something cleared");
    (compared, differ)
}

#[test]
fn the_named_policies_clear_what_the_packages_clear() {
    for policy in ["langchain_py", "langchain_js", "litellm", "pydantic_ai", "vercel_prune"] {
        let (compared, differ) = compare(policy);
        eprintln!("{policy}: {compared} requests, {} differ", differ.len());
        assert!(compared >= 1000);
        assert!(differ.is_empty(), "{} of {compared}: {:#?}", differ.len(), &differ[..differ.len().min(4)]);
    }
}
