//! The schemas describe what is written and read, and nothing else.

use std::fs;
use std::path::Path;

use cleartune::policy::named::Named;
use cleartune::policy::{from_json, from_toml};
use cleartune::report::csv::{DERIVED, KNOBS, TOTALS};
use cleartune::report::schema::SCHEMAS;
use cleartune::trace::Trace;
use serde_json::{Value, json};

use crate::cli::{Folder, text};

fn schema(name: &str) -> Value {
    let found = SCHEMAS.into_iter().find(|schema| schema.name == name).unwrap();
    serde_json::from_str(found.text).unwrap()
}

/// What of `value` is not as `schema` says, by its place: the words of JSON Schema that the schemas use, and a panic at any other.
fn wrong(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("type {other}"),
    };
    for (word, says) in schema.as_object().unwrap() {
        let found = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "additionalProperties" => None,
            "$ref" => {
                let name = says.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                wrong(root, &root["$defs"][name], value, at)
            }
            "type" => {
                let any = says.as_str().map_or_else(|| says.as_array().unwrap().iter().any(|k| is(k.as_str().unwrap())), is);
                (!any).then(|| format!("{at}: is no {says}"))
            }
            "const" => (says != value).then(|| format!("{at}: is not {says}")),
            "enum" => (!says.as_array().unwrap().contains(value)).then(|| format!("{at}: is none of {says}")),
            "minimum" => (value.as_f64().is_some_and(|n| n < says.as_f64().unwrap())).then(|| format!("{at}: is less than {says}")),
            "maximum" => (value.as_f64().is_some_and(|n| n > says.as_f64().unwrap())).then(|| format!("{at}: is more than {says}")),
            "pattern" => {
                assert_eq!(says, "^\\$");
                value.as_str().is_some_and(|text| !text.starts_with('$')).then(|| format!("{at}: is no knob"))
            }
            "anyOf" => {
                let each: Option<Vec<String>> = says.as_array().unwrap().iter().map(|one| wrong(root, one, value, at)).collect();
                each.map(|each| each.join(" and "))
            }
            "items" => {
                value.as_array().and_then(|all| all.iter().enumerate().find_map(|(i, v)| wrong(root, says, v, &format!("{at}[{i}]"))))
            }
            "required" => value.as_object().and_then(|object| {
                let lacking = says.as_array().unwrap().iter().find(|key| !object.contains_key(key.as_str().unwrap()))?;
                Some(format!("{at}: lacks {lacking}"))
            }),
            "properties" => value.as_object().and_then(|object| {
                object.iter().find_map(|(key, v)| says.get(key).and_then(|says| wrong(root, says, v, &format!("{at}.{key}"))))
            }),
            other => panic!("the schema says {other}"),
        };
        if found.is_some() {
            return found;
        }
    }
    let rest = schema.get("additionalProperties")?;
    let known = |key: &String| schema.get("properties").is_some_and(|p| p.get(key).is_some());
    value.as_object()?.iter().filter(|(key, _)| !known(key)).find_map(|(key, v)| match rest {
        Value::Bool(true) => None,
        Value::Bool(false) => Some(format!("{at}: {key} is unknown")),
        rest => wrong(root, rest, v, &format!("{at}.{key}")),
    })
}

#[track_caller]
fn fits(name: &str, value: &Value) {
    let schema = schema(name);
    if let Some(wrong) = wrong(&schema, &schema, value, name) {
        panic!("{wrong}");
    }
}

#[track_caller]
fn does_not_fit(name: &str, value: &Value) {
    let schema = schema(name);
    assert!(wrong(&schema, &schema, value, name).is_some(), "{name} takes {value}");
}

/// Every object of `value` with a key more, one at a time; objects whose keys are names are left out by their place.
fn with_a_key_more(value: &Value, names: &[&str]) -> Vec<Value> {
    let mut out = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let free = names.contains(&key.as_str());
                let changed = with_a_key_more(inner, names);
                // Of a free object itself the first variant is the one with a key more.
                let skip = usize::from(free && inner.is_object());
                out.extend(changed.into_iter().skip(skip).map(|inner| {
                    let mut map = map.clone();
                    map.insert(key.clone(), inner);
                    Value::Object(map)
                }));
            }
            let mut more = map.clone();
            more.insert("surplus".to_owned(), json!(1));
            out.insert(0, Value::Object(more));
        }
        Value::Array(items) => {
            // One of a kind is enough.
            for (i, item) in items.iter().enumerate().take(2) {
                for changed in with_a_key_more(item, names) {
                    let mut items = items.clone();
                    items[i] = changed;
                    out.push(Value::Array(items));
                }
            }
        }
        _ => {}
    }
    out
}

/// The traces and configs of the worked cases fit, and with a key more they do not.
#[test]
fn what_is_read() {
    let golden = include_str!("../fixtures/golden.jsonl");
    let mut configs = 0;
    for case in golden.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        fits("trace", &case["trace"]);
        fits("config", &case["config"]);
        configs += 1;
        if configs < 20 {
            for more in with_a_key_more(&case["trace"], &["source", "tools"]) {
                does_not_fit("trace", &more);
            }
            for more in with_a_key_more(&case["config"], &[]) {
                does_not_fit("config", &more);
                assert!(from_json(&more.to_string()).is_err(), "{more}");
            }
        }
    }
    assert!(configs > 20);
    let trace = json!({"schema": "cleartune.trace/1", "id": "a", "base_tokens": 5, "requests": []});
    fits("trace", &trace);
    for key in ["schema", "id", "base_tokens", "requests"] {
        let mut less = trace.clone();
        less.as_object_mut().unwrap().remove(key);
        does_not_fit("trace", &less);
        let document = serde_json::from_value(less);
        assert!(document.is_err() || Trace::from_document(&document.unwrap()).is_err() || key == "schema", "{key}");
    }
}

#[test]
fn policy_files() {
    let table: toml::Table = toml::from_str(include_str!("../../src/policy/named.toml")).unwrap();
    for policy in table["policy"].as_array().unwrap().iter().filter(|policy| policy.get("rules").is_some()) {
        let value = serde_json::to_value(policy).unwrap();
        fits("policy", &value);
        for mut more in with_a_key_more(&value, &["knobs"]) {
            does_not_fit("policy", &more);
            more["name"] = json!("of_my_own");
            assert!(Named::from_toml(&toml::to_string(&more).unwrap()).is_err(), "{more}");
        }
    }
    let readme = "name = \"a\"\n[[rules]]\nwhen = { edited_tokens = { gt = 5 } }\n";
    fits("policy", &serde_json::to_value(toml::from_str::<toml::Table>(readme).unwrap()).unwrap());
    let two = "name = \"a\"\n[[rules]]\nwhen = { edited_tokens = { gt = 5, ge = 5 } }\n";
    does_not_fit("policy", &serde_json::to_value(toml::from_str::<toml::Table>(two).unwrap()).unwrap());
    assert!(from_toml("surplus = 1").is_err());
}

/// A sweep with everything in it that a sweep may hold.
#[test]
fn what_is_written() {
    let folder = Folder::new("schema");
    folder.write("prices.toml", "[read_file]\nusd = 0.01\n");
    let grid = ["--trigger", "30k,60k", "--keep", "3,8", "--clear-at-least", "0,20k"];
    let more = ["--policy", "low_water", "--for", "langchain", "--sessions-per-day", "9", "--refetch-costs", "prices.toml"];
    let plain = ["--objective", "latency", "--max-lost", "none"];
    for (out, more) in [("plain", &plain[..]), ("full", &more)] {
        let ran = folder.run(&[&["sweep", "coding_agent", "--out", out][..], &grid, more].concat());
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let read = |name: &str| fs::read_to_string(folder.0.join(out).join(name)).unwrap();
        let sweep: Value = serde_json::from_str(&read("sweep.json")).unwrap();
        let manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
        fits("sweep", &sweep);
        fits("manifest", &manifest);
        let mut few = sweep.clone();
        few["rows"].as_array_mut().unwrap().truncate(2);
        few["answer"]["pareto_front"] = json!([0]);
        for more in with_a_key_more(&few, &["broken_bounds", "numbers"]) {
            does_not_fit("sweep", &more);
        }
        for more in with_a_key_more(&manifest, &["settings", "refetch"]) {
            does_not_fit("manifest", &more);
        }
        for (name, file) in [("sweep_csv", "sweep.csv"), ("per_transcript_csv", "per_transcript.csv")] {
            table(&schema(name), &read(file), out == "full");
        }
    }
}

/// The head of a CSV file, and the kind of every cell.
fn table(schema: &Value, file: &str, priced: bool) {
    let fields = schema["fields"].as_array().unwrap();
    let name = |field: &Value| field["name"].as_str().unwrap().to_owned();
    let mut expected: Vec<&Value> = fields.iter().collect();
    expected.retain(|field| priced || !name(field).starts_with("refetch_usd") && !name(field).starts_with("refetch_seconds"));
    let mut reader = csv::Reader::from_reader(file.as_bytes());
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(head, expected.iter().map(|field| name(field)).collect::<Vec<_>>());
    assert!(KNOBS.iter().chain(&TOTALS).all(|column| head.iter().any(|name| name == column)));
    assert!(!head.contains(&"overflowed_transcripts".to_owned()) || DERIVED.iter().all(|column| head.iter().any(|name| name == column)));
    for row in reader.records() {
        let row = row.unwrap();
        for (field, cell) in expected.iter().zip(&row) {
            let required = field["constraints"]["required"] == json!(true);
            let is = match field["type"].as_str().unwrap() {
                _ if cell.is_empty() => !required,
                "integer" => cell.parse::<i64>().is_ok(),
                "number" => cell.parse::<f64>().is_ok(),
                _ => true,
            };
            assert!(is, "{}: {cell:?}", name(field));
        }
    }
}

/// What is committed is what the command prints and writes.
#[test]
fn the_command() {
    let folder = Folder::new("schema_command");
    assert!(folder.run(&["schema", "--out", "all"]).status.success());
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    let mut names: Vec<String> = fs::read_dir(&committed).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut known: Vec<String> = SCHEMAS.iter().map(|schema| format!("{}.json", schema.name)).collect();
    known.sort();
    assert_eq!(names, known);
    let list = text(&folder.run(&["schema"]).stdout);
    for schema in SCHEMAS {
        let file = fs::read_to_string(committed.join(format!("{}.json", schema.name))).unwrap();
        assert_eq!(file, schema.text);
        assert_eq!(file, fs::read_to_string(folder.0.join("all").join(format!("{}.json", schema.name))).unwrap());
        assert_eq!(file, text(&folder.run(&["schema", schema.name]).stdout));
        assert!(list.contains(schema.name) && list.lines().all(|line| line.len() <= 80));
    }
    assert_eq!(folder.run(&["schema", "nothing"]).status.code(), Some(2));
}
