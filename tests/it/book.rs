//! The book: every page is in it, and no link leads nowhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "md") && name != "SUMMARY.md").collect()
}

/// Where the links of a text lead, those to other sites left out; code is no text.
fn links(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for part in line.split("](").skip(1) {
            let to = part.split(')').next().unwrap_or_default();
            if !to.contains("://") && !to.is_empty() {
                found.push(to.to_owned());
            }
        }
    }
    found
}

/// The name under which a heading can be linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn dead(from: &Path, text: &str) -> Vec<String> {
    let leads = |link: &String| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let path = if file.is_empty() { from.to_owned() } else { from.parent().unwrap().join(file) };
        if heading.is_empty() {
            return path.exists();
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.lines().filter_map(|line| line.strip_prefix('#')).any(|line| anchor(line.trim_start_matches('#')) == heading)
    };
    links(text).into_iter().filter(|link| !leads(link)).collect()
}

#[test]
fn every_page_is_in_the_book_once() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed = links(&summary);
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    assert_eq!(once, pages());
}

#[test]
fn no_link_leads_nowhere() {
    let docs = pages().into_iter().map(|name| root().join("docs").join(name));
    for path in docs.chain(["README.md", "CHANGELOG.md"].map(|name| root().join(name))) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(dead(&path, &text), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn a_dead_link_is_noticed() {
    let page = root().join("docs/guide.md");
    let text = "[a](findings.md) [b](nowhere.md) [c](policies.md#one-of-your-own) [d](policies.md#none-such) [e](https://example.org/x)\n```\n[f](code.md)\n```\n";
    assert_eq!(dead(&page, text), ["nowhere.md", "policies.md#none-such"]);
}
