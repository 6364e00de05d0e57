//! RESULTS: a folder that `sweep` wrote, or one file of results.

use std::path::Path;

use anyhow::{Context, ensure};
use cleartune::ingest::decompressed;
use cleartune::results::{Kind, ResultSet, parse};

/// The files of a folder that are read, in this order, where they are there, plain or compressed.
const FILES: [&str; 4] = ["manifest.json", "sweep.csv", "sweep.json", "per_transcript.csv"];

/// Reads a result set.
///
/// # Errors
/// There is no such path, a folder holds no result, or a file is not what cleartune writes: one line that names file, line and field.
pub fn load(path: &Path) -> anyhow::Result<ResultSet> {
    let shown = path.display();
    let found =
        path.metadata().with_context(|| format!("{shown}: cannot be read; name a folder that sweep wrote, or a file of results"))?;
    let mut set = ResultSet::default();
    let mut read = |file: &Path| -> anyhow::Result<Kind> {
        let bytes = std::fs::File::open(file)
            .and_then(decompressed)
            .with_context(|| format!("{}: cannot be read; was the file cut or damaged?", file.display()))?;
        parse(&bytes, &mut set).with_context(|| file.display().to_string())
    };
    if found.is_dir() {
        for name in FILES {
            let forms = ["", ".gz", ".zst"].map(|ending| path.join(format!("{name}{ending}")));
            if let Some(file) = forms.iter().find(|file| file.is_file()) {
                read(file)?;
            }
        }
        ensure!(!set.rows.is_empty(), "{shown}: holds no sweep.csv, sweep.json or per_transcript.csv; name a folder that sweep wrote");
    } else {
        let kind = read(path)?;
        ensure!(kind != Kind::Manifest, "{shown}: says only what results were made from; name its folder");
    }
    ensure!(!set.rows.is_empty(), "{shown}: holds no row");
    Ok(set)
}

/// A short name for what was swept: that of the folder or file.
pub fn name(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.file_name().map_or_else(|| "results".to_owned(), |name| name.to_string_lossy().into_owned())
}
