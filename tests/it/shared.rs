//! The folder of larger samples that some checkouts have beside them.

use std::path::PathBuf;

/// `$CLEARTUNE_SHARED`, or the folder `shared` beside the checkout; `None`, said loudly, where there is none.
pub fn folder(part: &str) -> Option<PathBuf> {
    let root =
        std::env::var_os("CLEARTUNE_SHARED").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no folder {part} of larger samples beside this checkout; only the copies in tests/fixtures were tested");
    None
}
