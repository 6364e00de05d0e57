//! Every sample log in every state that a disk, an editor or a transfer can leave it in: a report, never a panic, and nothing of the rest lost.

use std::fs;
use std::path::PathBuf;

use cleartune::ingest::{FileReport, Ingest, Options};
use cleartune::trace::{Trace, parse_line, to_line};

/// Samples of other checkouts where they are at hand, else the corpus of the fuzz targets.
fn samples() -> Vec<PathBuf> {
    let root = super::shared::folder("real").unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus")));
    let folders =
        fs::read_dir(root).unwrap().flatten().filter(|f| f.path().is_dir() && f.file_name() != "workload" && f.file_name() != "config");
    let mut files: Vec<PathBuf> = folders.flat_map(|f| fs::read_dir(f.path()).unwrap().flatten().map(|f| f.path())).collect();
    files.sort();
    files
}

/// Reads, and checks what has to hold whatever was read.
fn read(name: &str, bytes: &[u8]) -> FileReport {
    let mut ingest = Ingest::new(Options::default());
    let report = ingest.read(name, bytes);
    for doc in &ingest.finish().documents {
        Trace::from_document(doc).unwrap_or_else(|e| panic!("{name}: {e}"));
        parse_line(to_line(doc).as_bytes()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    }
    for line in report.error.iter().chain(report.skipped.iter().map(|s| &s.why)).chain(&report.notes) {
        assert!(!line.contains('\n') && line.len() < 2_000, "{name}: {line}");
    }
    // Whatever comes of a file, it is said.
    assert!(report.requests > 0 || report.error.is_some() || report.skipped_records > 0 || !report.notes.is_empty(), "{name}: {report:?}");
    report
}

fn counts(r: &FileReport) -> (Option<&'static str>, u64, u64, u64) {
    (r.format, r.requests, r.requests_with_usage, r.tool_uses)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

fn long() -> bool {
    std::env::var_os("CLEARTUNE_LONG_TESTS").is_some()
}

#[test]
fn what_a_transfer_adds_changes_nothing() {
    for path in samples() {
        let name = path.display().to_string();
        let bytes = fs::read(&path).unwrap();
        if bytes.starts_with(b"PK") || (!long() && bytes.len() > 100_000) {
            continue;
        }
        let whole = counts(&read(&name, &bytes));
        let mark = [b"\xef\xbb\xbf", bytes.as_slice()].concat();
        assert_eq!(counts(&read(&name, &mark)), whole, "{name} with a byte-order mark");
        // Line ends of Windows; within JSON strings no line ends stand.
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\n', "\r\n");
        assert_eq!(counts(&read(&name, text.as_bytes())), whole, "{name} with CRLF");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gz, &bytes).unwrap();
        let gz = gz.finish().unwrap();
        assert_eq!(counts(&read(&name, &gz)), whole, "{name} in gzip");
        let zst = ruzstd::encoding::compress_to_vec(bytes.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(counts(&read(&name, &zst)), whole, "{name} in zstd");
        // Twice in one file: every record twice, so never less.
        let twice = read(&name, &[bytes.as_slice(), b"\n", bytes.as_slice()].concat());
        assert_eq!(twice.format, whole.0, "{name} twice");
        assert!(twice.requests >= whole.1, "{name} twice: {} of {}", twice.requests, whole.1);
    }
}

#[test]
fn sixteen_bit_text_and_shuffled_lines_are_told_or_read() {
    for path in samples() {
        let name = path.display().to_string();
        let bytes = fs::read(&path).unwrap();
        if bytes.starts_with(b"PK") || (!long() && bytes.len() > 100_000) {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        let whole = counts(&read(&name, &bytes));
        for little in [true, false] {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            let wide: Vec<u8> = units.flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() }).collect();
            let report = read(&name, &wide);
            assert_eq!(counts(&report), whole, "{name} in UTF-16: {:?}", report.error);
        }
        let mut lines: Vec<&str> = text.lines().collect();
        let mut random = Random(bytes.len() as u64);
        for i in (1..lines.len()).rev() {
            lines.swap(i, random.below(i + 1));
        }
        if bytes.len() < 400_000 || long() {
            read(&name, lines.join("\n").as_bytes());
        }
    }
}

#[test]
fn a_log_cut_anywhere_keeps_what_is_before_the_cut() {
    for path in samples() {
        let name = path.display().to_string();
        let bytes = fs::read(&path).unwrap();
        if !long() && bytes.len() > 100_000 {
            continue;
        }
        let whole = read(&name, &bytes);
        let mut random = Random(bytes.len() as u64 + 7);
        for _ in 0..if long() { 12 } else { 4 } {
            let at = random.below(bytes.len());
            let cut = read(&format!("{name} cut at {at}"), &bytes[..at]);
            // Of lines, all but the cut one are read.
            let line_ends = |bytes: &[u8]| bytes.split(|b| *b == b'\n').count() as u64 - 1;
            let of_lines = Path::new(&name).extension().is_some_and(|ending| ending == "jsonl");
            let lines = line_ends(&bytes[..at]);
            if whole.records > 1 && of_lines && cut.format.is_some() {
                assert!(cut.records + cut.blank_lines >= lines && cut.skipped_records <= 1, "{name} cut at {at}: {cut:?}");
            }
            // A hole in the middle costs the lines that it touches.
            let hole = random.below(600) + 1;
            let rest = &bytes[(at + hole).min(bytes.len())..];
            let holed = read(&format!("{name} without {hole} bytes at {at}"), &[&bytes[..at], rest].concat());
            if whole.records > 1 && of_lines && holed.format == whole.format {
                let touched = line_ends(&bytes[at..(at + hole).min(bytes.len())]) + 1;
                assert!(holed.records + touched + 1 >= whole.records, "{name} without {hole} bytes at {at}: {holed:?}");
            }
        }
    }
}
