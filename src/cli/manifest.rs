//! `manifest.json`: what a result set was made from. Nothing in it depends on the machine, the clock or the folder.

use std::collections::BTreeMap;

use cleartune::price::{Catalogue, ModelNote};
use cleartune::sweep::{Grid, Transcript, Work};
use serde_json::{Value, json};

use super::source::Loaded;

/// What goes into the manifest.
pub struct Manifest<'a> {
    /// The axes as asked.
    pub asked: &'a Value,
    /// The sources.
    pub loaded: &'a Loaded,
    /// The transcripts with their settings.
    pub transcripts: &'a [Transcript],
    /// Where the prices of each transcript come from.
    pub notes: &'a [ModelNote],
    /// The configs.
    pub grid: &'a Grid,
    /// How many replays it was, and by which engine.
    pub work: Work,
}

/// What the file says.
pub fn manifest(m: &Manifest) -> Value {
    // Transcripts of one model share their settings, so each different one is stated once.
    let mut settings: BTreeMap<String, Value> = BTreeMap::new();
    for (transcript, note) in m.transcripts.iter().zip(m.notes) {
        let s = &transcript.settings;
        settings.entry(note.to_string()).or_insert_with(
            || json!({"assume": s.assume, "cache": s.cache, "price_usd_per_million_tokens": s.prices, "context_window": s.context_window}),
        );
    }
    let catalogue = Catalogue::shipped();
    json!({
        "schema": "cleartune.manifest/1",
        "version": env!("CARGO_PKG_VERSION"),
        "asked": m.asked,
        "configs": m.grid.configs.len(),
        "full_grid_configs": m.grid.full,
        "sources": m.loaded.inputs.iter().map(super::source::Input::stamp).collect::<Vec<_>>(),
        "transcripts": m.transcripts.len(),
        "requests": m.transcripts.iter().map(|t| t.trace.requests.len()).sum::<usize>(),
        "replays": {"asked": m.work.asked, "distinct": m.work.replayed, "by_reference_engine": m.work.by_reference},
        "settings": settings,
        "price_catalogue": {"version": catalogue.version(), "date": catalogue.date()},
    })
}

/// The file's bytes.
pub fn bytes(manifest: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(manifest).expect("keys are strings");
    bytes.push(b'\n');
    bytes
}
