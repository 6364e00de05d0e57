//! The trace format: what is accepted, and what is said of the rest.

use cleartune::trace::{Block, Document, RequestDoc, SCHEMA, Trace, parse_line, to_line};

use super::random;

fn error_of(change: impl Fn(&mut serde_json::Value)) -> String {
    let mut doc = serde_json::json!({"schema": SCHEMA, "id": "t", "base_tokens": 100, "requests": [
        {"input": [{"kind": "user", "tokens": 5}], "output": [{"kind": "use", "use": 1, "tool": "bash", "tokens": 7}]},
        {"input": [{"kind": "result", "use": 1, "tokens": 50, "bytes": 200}], "output": [{"kind": "text", "tokens": 3}]},
    ]});
    change(&mut doc);
    match parse_line(doc.to_string().as_bytes()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn lines_survive_a_round_trip() {
    for seed in 0..200 {
        let doc = random::document(seed);
        let (again, trace) = parse_line(to_line(&doc).as_bytes()).unwrap();
        assert_eq!(again, doc);
        assert_eq!(trace, Trace::from_document(&doc).unwrap());
        assert_eq!(trace.uses.len(), doc.requests.iter().flat_map(|r| &r.output).filter(|b| b.kind == "use").count());
    }
}

#[test]
fn the_smallest_document_is_enough() {
    assert_eq!(error_of(|_| ()), "");
    let (_, trace) = parse_line(br#"{"schema":"cleartune.trace/1","id":"x","base_tokens":0,"requests":[{}]}"#).unwrap();
    assert_eq!(trace.requests.len(), 1);
    assert_eq!(trace.session, "x");
}

#[test]
fn another_version_is_told_apart_from_another_file() {
    let two = error_of(|d| d["schema"] = "cleartune.trace/2".into());
    assert!(two.contains("version 2") && two.contains("reads version 1") && two.contains("upgrade"), "{two}");
    // What a later version looks like is unknown, so nothing else of it may matter.
    let shape = parse_line(br#"{"schema":"cleartune.trace/2","requests":"elsewhere"}"#).unwrap_err().to_string();
    assert!(shape.contains("version 2"), "{shape}");
    let other = error_of(|d| d["schema"] = "something".into());
    assert!(other.contains("is not \"cleartune.trace/1\""), "{other}");
    assert!(error_of(|d| drop(d.as_object_mut().unwrap().remove("schema"))).contains("schema"));
}

#[test]
fn faults_name_the_field() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str, &str); 11] = [
        (|d| d["requests"][1]["input"][0]["use"] = 9.into(), "requests[1].input[0].use", "no earlier tool use"),
        (|d| d["requests"][0]["output"][0]["tokens"] = (-7).into(), "requests[0].output[0].tokens", "u32"),
        (|d| d["requests"][0]["output"][0]["tokens"] = 1.5.into(), "requests[0].output[0].tokens", "u32"),
        (|d| d["requests"][0]["input"][0]["kind"] = "text".into(), "requests[0].input[0].kind", "user or result"),
        (|d| d["requests"][0]["output"][0]["kind"] = "user".into(), "requests[0].output[0].kind", "thinking, text or use"),
        (|d| drop(d["requests"][0]["output"][0].as_object_mut().unwrap().remove("tool")), "requests[0].output[0].tool", "missing"),
        (|d| drop(d["requests"][0]["output"][0].as_object_mut().unwrap().remove("use")), "requests[0].output[0].use", "missing"),
        (
            |d| d["requests"][1]["output"][0] = serde_json::json!({"kind": "use", "use": 1, "tool": "a", "tokens": 1}),
            "requests[1].output[0].use",
            "twice",
        ),
        (|d| d["requests"][1]["input"][0] = serde_json::json!([]), "requests[1].input[0]", ""),
        (|d| d["requests"][1]["ttl_ms"] = (-1).into(), "requests[1].ttl_ms", "negative"),
        (|d| d["tools"] = serde_json::json!({"bash": {"refetch": "sometimes"}}), "tools.bash.refetch", "costly"),
    ];
    for (change, field, says) in cases {
        let error = error_of(change);
        assert!(error.starts_with(field) && error.contains(says), "{field} / {says}: {error}");
    }
    let second_result = error_of(|d| {
        let result = d["requests"][1]["input"][0].clone();
        d["requests"][1]["input"].as_array_mut().unwrap().push(result);
    });
    assert!(second_result.contains("has a result already"), "{second_result}");
}

#[test]
fn no_text_of_a_line_is_repeated() {
    for line in [
        r#"{"schema":"cleartune.trace/1","id":"t","base_tokens":"SECRET","requests":[]}"#,
        r#"{"schema":"cleartune.trace/1","id":"t","base_tokens":1,"requests":[{"input":"SECRET"}]}"#,
        r#"{"schema":"cleartune.trace/1" SECRET"#,
        r#"{"schema":"cleartune.trace/1","id":"t","base_tokens":1,"tools":{"a":{"refetch":"SECRET"}},"requests":[]}"#,
        r"SECRET",
        r#"{"schema":"cleartune.trace/1","id":"SECRET"#,
    ] {
        let error = parse_line(line.as_bytes()).unwrap_err().to_string();
        assert!(!error.contains("SECRET"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn needs_of_unknown_uses_are_counted_and_left_out() {
    let doc = Document {
        schema: SCHEMA.to_owned(),
        requests: vec![RequestDoc { output: vec![Block::tool_use(4, "a", 1)], needs: vec![4, 5], ..RequestDoc::default() }],
        ..Document::default()
    };
    let trace = Trace::from_document(&doc).unwrap();
    assert_eq!((trace.needs.as_slice(), trace.unknown_needs), (&[0][..], 1));
}
