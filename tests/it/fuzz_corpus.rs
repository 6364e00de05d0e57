//! The corpus of the fuzz targets: small logs of every format, each of which every reader takes without a panic.

use std::fs;
use std::path::PathBuf;

use cleartune::ingest::{Ingest, Options};

fn corpus() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus"))
}

#[test]
fn every_format_has_a_log_in_the_corpus_and_every_reader_takes_every_file() {
    // Written anew where CLEARTUNE_BLESS is set.
    if std::env::var_os("CLEARTUNE_BLESS").is_some() {
        for (i, (format, log)) in super::scrub::logs().iter().enumerate() {
            for folder in [format, &"any", &"scrub"] {
                fs::create_dir_all(corpus().join(folder)).unwrap();
                fs::write(corpus().join(folder).join(format!("{format}-{i}")), log).unwrap();
            }
        }
    }
    let formats = Ingest::formats();
    for format in &formats {
        let files = fs::read_dir(corpus().join(format)).unwrap_or_else(|_| panic!("fuzz/corpus/{format} is missing"));
        let mut requests = 0;
        for file in files.flatten() {
            let log = fs::read(file.path()).unwrap();
            for other in &formats {
                let mut ingest = Ingest::new(Options::default());
                let report = ingest.read_as(other, "log", log.as_slice()).unwrap();
                requests += if other == format { report.requests } else { 0 };
            }
        }
        assert!(requests > 0, "{format}");
    }
    let mut ingest = Ingest::new(Options::default());
    assert!(ingest.read_as("no_format", "log", &b"{}"[..]).is_none());
}
