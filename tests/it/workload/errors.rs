//! A wrong workload: one line that names the field and what to write.

use cleartune::workload::{Spec, shipped_text};

/// A shipped workload with one piece of text replaced, and the error that follows.
fn error(name: &str, from: &str, to: &str) -> (String, String) {
    let text = shipped_text(name).unwrap();
    assert!(text.contains(from), "{from:?} does not stand in {name}");
    let error = Spec::from_toml(&text.replacen(from, to, 1)).expect_err(to);
    (error.field, error.problem)
}

#[test]
fn an_error_names_the_field_and_what_to_write() {
    let research = [
        ("turn_end = 0.025", "turn_ends = 0.025", "session.turn_ends", "did you mean `turn_end`?"),
        ("[gaps]", "[gap]", "gap", "did you mean `gaps`?"),
        ("turn_end = 0.025", "", "session.turn_end", "is missing"),
        ("turn_end = 0.025", "turn_end = 1.5", "session.turn_end", "is 1.5; write a share between 0 and 1"),
        ("turn_end = 0.025", "turn_end = \"often\"", "session.turn_end", "write it as"),
        ("parallel_max = 6", "parallel_max = 0", "session.parallel_max", "is 0; write a number from 1 to 1000"),
        ("parallel_max = 6", "parallel_max = -1", "session.parallel_max", "write it as"),
        ("bytes_per_token = 3.4", "bytes_per_token = 0", "bytes_per_token", "write a number from 0.5 to 20"),
        ("transcripts = 40", "transcripts = 0", "transcripts", "write a number from 1"),
        ("transcripts = 40", "transcripts = 1.5", "transcripts", "write it as"),
        ("name = \"research_agent\"", "name = \"../x\"", "name", "must be made of letters"),
        ("sigma = 0.03, min", "min", "session.base_tokens", "write one of { fixed"),
        ("min = 11000, max = 13500", "min = 14000, max = 13500", "session.base_tokens", "`min` 14000 is above `max` 13500"),
        ("[1.0, 160]", "[1.0, 200000]", "session.uses", "more than 100000 uses"),
        ("until = 1.0", "until = 0.9", "phases", "the last one 1.0"),
        ("share = [0.20, 0.30]", "share = [0.30, 0.20]", "synthesis.share", "write [least, most]"),
        ("mix = { read = 0.21", "mix = { reed = 0.21", "phases[0].mix.reed", "did you mean `read`?"),
        ("tool = \"memory\"", "tool = \"memo\"", "notes.tool", "did you mean `memory`?"),
        ("sources = [\"read\", \"web\"]", "sources = [\"mail\"]", "notes.sources[0]", "write one of edit, exec"),
        ("errors = { share = 0.14, from", "errors = { share = 0.34, from", "classes.web.errors", "does not fit between"),
        ("tools.bash = { weight = 1,", "tools.grep = { weight = 1,", "classes.search.tools.grep", "is a tool of `exec` too"),
        ("tools.bash = { weight = 1,", "tools.bash = { weight = 0,", "classes.exec.tools", "no tool with a weight above 0"),
        ("refetch = \"yes\" }", "refetch = \"maybe\" }", "classes.read.tools.read_file.refetch", "write"),
        ("direct_answers = 0.05", "direct_answers = 1.0", "session.direct_answers", "write a share of at most 0.99"),
    ];
    let notebook = [
        ("tool = \"read_file\"", "tool = \"read_fil\"", "script.requests[0].uses[0].tool", "did you mean `read_file`?"),
        ("gap_seconds = 20", "gap_seconds = -1", "script.requests[1].gap_seconds", "write seconds, 0 or more"),
        ("gap_seconds = 20", "needs = [0]", "script.requests[1].needs", "names use 0"),
        ("[script]", "[gaps]\n[script]", "gaps.call_seconds", "is missing"),
        ("[script]", "bytes_per_token = 3.0\n[script]", "bytes_per_token", "does not go with [script]"),
    ];
    let compare = [
        ("classes = [\"read\"]", "classes = [\"reed\"]", "comparison.classes[0]", "did you mean `read`?"),
        ("share = 0.6  ", "share = 6  ", "comparison.share", "is 6; write a share between 0 and 1"),
        ("\n[comparison]", "\n[comparisons]", "comparisons", "did you mean `comparison`?"),
    ];
    let cases = research.map(|c| ("research_agent", c)).into_iter().chain(notebook.map(|c| ("notebook", c)));
    let cases = cases.chain(compare.map(|c| ("compare_documents", c)));
    for (name, (from, to, field, part)) in cases {
        let (found, problem) = error(name, from, to);
        assert_eq!(found, field, "{to}: {problem}");
        assert!(problem.contains(part), "{to}: {problem}");
        assert!(!problem.contains('\n'), "one line: {problem}");
    }
}

#[test]
fn broken_toml_is_reported_by_its_line() {
    let text = shipped_text("research_agent").unwrap();
    let line = text[..=text.find("\n[cache]").unwrap()].matches('\n').count() + 1;
    let (field, problem) = error("research_agent", "\n[cache]", "\n[cache");
    assert_eq!(field, format!("line {line}"));
    assert!(problem.contains("is not valid TOML") && !problem.contains('\n'), "{problem}");
}

/// On the other side of the rule: a need is fine from the request after the one that brings the result.
#[test]
fn a_script_may_need_what_arrived_before() {
    let text = shipped_text("notebook").unwrap();
    let text = text.replace("gap_seconds = 20\ntext = 3000", "gap_seconds = 20\ntext = 3000\nneeds = [4, 0]");
    let doc = Spec::from_toml(&text).unwrap().generate(0);
    assert_eq!(doc.requests[4].needs, [0, 4]);
}

#[test]
fn an_empty_file_says_what_is_missing() {
    let error = Spec::from_toml("").unwrap_err();
    assert_eq!((error.field.as_str(), error.problem.contains("is missing")), ("name", true), "{error}");
    let error = Spec::from_toml("name = \"x\"\nseed = 1\ntranscripts = 1").unwrap_err();
    assert!(error.problem.contains("[script]"), "{error}");
}
