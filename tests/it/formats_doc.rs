//! The table of samples in docs/formats.md, made of the samples where they are at hand.

use std::fmt::Write as _;
use std::fs;

use cleartune::ingest::{Ingest, Options};

const HEAD: &str =
    "| sample | format | requests | with usage | tool uses | needs | duplicates merged | skipped |\n|---|---|---|---|---|---|---|---|\n";

#[test]
fn the_table_of_samples_is_what_comes_out() {
    let Some(dir) = super::shared::folder("real") else { return };
    let mut names: Vec<String> = Vec::new();
    for folder in fs::read_dir(&dir).unwrap().flatten().filter(|f| f.path().is_dir()) {
        let folder_name = folder.file_name().into_string().unwrap();
        let files = fs::read_dir(folder.path()).unwrap().flatten();
        names.extend(files.map(|f| format!("{folder_name}/{}", f.file_name().into_string().unwrap())));
    }
    names.sort();
    let mut table = HEAD.to_owned();
    for name in &names {
        let mut ingest = Ingest::new(Options::default());
        let r = ingest.read(name, fs::File::open(dir.join(name)).unwrap());
        assert_eq!(r.error, None, "{name}");
        let short = name.split('/').next_back().unwrap();
        let format = r.format.unwrap_or("none");
        let counts = [r.requests, r.requests_with_usage, r.tool_uses, r.needs, r.duplicates, r.skipped_records];
        let cells = counts.map(|n| n.to_string()).join(" | ");
        writeln!(table, "| `{short}` | `{format}` | {cells} |").unwrap();
    }
    let doc = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/formats.md")).unwrap();
    assert!(doc.contains(&table), "docs/formats.md should hold:\n{table}");
}
