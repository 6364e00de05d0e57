//! What is pasted, completed and printed as a manual.

use std::fs;

use crate::cli::{Folder, refused, text};

/// A framework's own rules are replayed and chosen from where they are asked for; else recommend says what to do.
#[test]
fn values_of_a_framework_come_from_its_own_rules() {
    let folder = Folder::new("paste");
    let grid = ["--trigger", "30k,60k", "--keep", "8,30", "--clear-at-least", "0,20k", "--no-sensitivity"];
    // What is lost does not count here: every shape is to have something to paste.
    let free = ["--max-lost", "none", "--objective", "peak"];
    let sweep = |out: &str, more: &[&str]| {
        let ran = folder.run(&[&["sweep", "coding_agent", "--out", out][..], &grid, &free, more].concat());
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        text(&ran.stdout)
    };
    let plain = sweep("plain", &[]);
    let asked = sweep("asked", &["--for", "langchain,langchain_js,litellm,vercel_prune,vercel"]);
    assert!(!plain.contains("ClearToolUsesEdit"));
    for words in ["ClearToolUsesEdit(", "new ClearToolUsesEdit(", "litellm.anthropic", "pruneMessages(", "contextManagement:"] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    let manifest = |out: &str| fs::read_to_string(folder.0.join(out).join("manifest.json")).unwrap();
    assert!(manifest("asked").contains("\"for\": [") && !manifest("plain").contains("\"for\""));
    let page = fs::read_to_string(folder.0.join("asked/report.html")).unwrap();
    assert!(page.contains("TypeScript SDK") && page.contains("LangChain JS"));

    let recommend = |out: &str, shape: &str| folder.run(&[&["recommend", out, "--paste", shape][..], &free].concat());
    for shape in ["json", "python", "typescript", "litellm", "vercel", "openrouter"] {
        let done = recommend("plain", shape);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains("clear_tool_uses_20250919"), "{shape}");
    }
    refused(&recommend("plain", "langchain"), &["what langchain does", "--for langchain"]);
    let python = text(&recommend("asked", "langchain").stdout);
    assert!(asked.contains(python.trim_end()), "{python}\n{asked}");
    // Of the values of a row of that policy.
    let csv = fs::read_to_string(folder.0.join("asked/sweep.csv")).unwrap();
    let value = |name: &str| python.split_once(&format!("{name}=")).unwrap().1.split(',').next().unwrap().to_owned();
    let row = format!("langchain_py,{},input_tokens,{},0,", value("trigger"), value("keep"));
    assert!(csv.contains(&row), "{row}");
}

#[test]
fn nothing_is_pasted_where_clearing_does_not_pay() {
    let folder = Folder::new("paste_nothing");
    let grid = ["--trigger", "30k", "--keep", "1", "--clear-at-least", "0", "--no-sensitivity", "--for", "python,langchain"];
    let ran = folder.run(&[&["sweep", "coding_agent", "--out", "out"][..], &grid].concat());
    let said = text(&ran.stdout);
    assert!(ran.status.success() && said.contains("python: nothing to paste") && said.contains("langchain: nothing to paste"), "{said}");
    for shape in ["json", "python", "langchain"] {
        let done = folder.run(&["recommend", "out", "--paste", shape]);
        assert_eq!(done.status.code(), Some(1));
        assert!(done.stdout.is_empty() && text(&done.stderr).contains("nothing to paste"));
    }
}

#[test]
fn completions() {
    let folder = Folder::new("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&folder.run(&["completions", shell]).stdout);
        assert!(["recommend", "clear-at-least", "completions"].iter().all(|word| script.contains(word)), "{shell}");
    }
    assert_eq!(folder.run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn man_pages() {
    let folder = Folder::new("man");
    let one = text(&folder.run(&["man"]).stdout);
    assert!(one.contains(".TH cleartune 1"), "{one}");
    assert!(folder.run(&["man", "pages"]).status.success());
    assert_eq!(fs::read_to_string(folder.0.join("pages/cleartune.1")).unwrap(), one);
    let sweep = fs::read_to_string(folder.0.join("pages/cleartune-sweep.1")).unwrap();
    assert!(sweep.contains(".TH cleartune-sweep 1") && sweep.contains("clear\\-at\\-least"), "{sweep}");
    let help = text(&folder.run(&["--help"]).stdout);
    for command in ["sweep", "recommend", "compare", "replay", "generate", "import", "inspect", "lint", "policies", "models", "schema"] {
        assert!(help.contains(command) && folder.0.join(format!("pages/cleartune-{command}.1")).exists(), "{command}");
    }
}
