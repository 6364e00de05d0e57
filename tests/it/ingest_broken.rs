//! What breaks naive readers, case by case: the record is kept, or skipped and named, and the rest is read.

use std::io::{self, Read, Write};

use cleartune::ingest::{FileReport, Ingest, Limits, Options, Quotations};
use cleartune::trace::{Document, to_line};

use super::ingest_claude_code::{Log, prompts, usage};
use serde_json::json;

fn read(bytes: impl Read) -> (Vec<Document>, FileReport) {
    let mut ingest = Ingest::new(Options::default());
    let report = ingest.read("a.jsonl", bytes);
    (ingest.finish().documents, report)
}

/// Four records on lines 1 to 4: a prompt, a call, its result, an answer.
fn lines() -> Vec<String> {
    let mut log = Log::default();
    log.user("go");
    log.call("m1", "Read", "t1", usage(0, 0, 1000, 50));
    log.result("t1", json!("text of the file"));
    log.answer("m2", json!([{"type": "text", "text": "done"}]), usage(0, 1000, 300, 5));
    log.text().lines().map(str::to_owned).collect()
}

fn skipped(report: &FileReport) -> Vec<u64> {
    report.skipped.iter().map(|s| s.line).collect()
}

#[track_caller]
fn whole(text: impl AsRef<[u8]>) -> FileReport {
    let (docs, report) = read(text.as_ref());
    assert_eq!((report.requests, report.requests_with_usage, report.tool_uses), (2, 2, 1), "{report:?}");
    assert_eq!((report.orphan_uses, report.orphan_results), (0, 0), "{report:?}");
    assert_eq!(prompts(&docs[0]), [1000, 1300]);
    report
}

#[test]
fn line_ends_blank_lines_and_marks() {
    let report = whole(lines().join("\n"));
    assert_eq!((report.records, report.repaired, report.skipped_records), (4, 0, 0));
    whole(lines().join("\r\n"));
    whole(format!("\u{feff}{}", lines().join("\n")));
    assert_eq!(whole(lines().join("\n\n  \n")).blank_lines, 6);
}

#[test]
fn a_cut_line_is_skipped_by_number_and_the_next_is_read() {
    let mut l = lines();
    let cut = l[1][..l[1].len() / 2].to_owned();
    l.insert(1, cut);
    let report = whole(l.join("\n"));
    assert_eq!(skipped(&report), [2]);
    // At the end of the file.
    let mut l = lines();
    let cut = l[3][..40].to_owned();
    l.push(cut);
    assert_eq!(skipped(&whole(l.join("\n"))), [5]);
    // The next record went on in the middle of the cut one's line.
    let mut l = lines();
    let half = l[0][..l[0].len() - 9].to_owned();
    l[1].insert_str(0, &half);
    assert_eq!(skipped(&whole(l.join("\n"))), [2]);
}

#[test]
fn several_records_on_a_line_and_one_over_several_lines() {
    let l = lines();
    let report = whole(format!("{}{}\n{} , {}\n", l[0], l[1], l[2], l[3]));
    assert_eq!((report.records, report.repaired, report.skipped_records), (4, 2, 0));
    let pretty = |line: &str| serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(line).unwrap()).unwrap();
    let all: Vec<String> = l.iter().map(|line| pretty(line)).collect();
    let report = whole(all.join("\n"));
    assert_eq!((report.records, report.repaired, report.skipped_records), (4, 4, 0));
}

#[test]
fn what_is_no_object_is_skipped() {
    let l = lines();
    let report = whole(format!("{}\n12\n{}\n\"words\"\nnull\n[1,2]\n{}\nsome words\n{}\n", l[0], l[1], l[2], l[3]));
    assert_eq!(skipped(&report), [2, 4, 5, 6, 8]);
    assert!(report.skipped.iter().all(|s| !s.why.contains("words")));
}

#[test]
fn strings_with_faults_are_kept() {
    let l = lines();
    let with = |bad: &[u8]| {
        let mut text = l[0].clone().into_bytes();
        let at = l[0].find("go").unwrap();
        text.splice(at..at + 2, bad.iter().copied());
        for line in &l[1..] {
            text.push(b'\n');
            text.extend(line.as_bytes());
        }
        whole(text)
    };
    for bad in [&b"a\x01\tb"[..], b"caf\xe9", br"\ud83d", br"\udcb2 x", br"C:\path"] {
        let report = with(bad);
        assert_eq!((report.records, report.repaired, report.skipped_records), (4, 1, 0), "{bad:?}");
    }
    // A raw line end inside a string.
    let report = with(b"one\ntwo");
    assert_eq!((report.records, report.skipped_records), (4, 0));
}

#[test]
fn numbers_in_other_spellings_nulls_and_doubled_keys() {
    let l = lines().join("\n");
    let (docs, _) = read(l.replace("\"output_tokens\":50", "\"output_tokens\":5e1").replace(":1000", ":1000.0").as_bytes());
    assert_eq!(docs[0].requests[0].usage.unwrap().output, 50);
    assert_eq!(prompts(&docs[0]), [1000, 1300]);
    let (docs, report) = read(l.replace("\"input_tokens\":0", "\"input_tokens\":null,\"service_tier\":NaN").as_bytes());
    assert_eq!((prompts(&docs[0]), report.repaired), (vec![1000, 1300], 2));
    let report = whole(l.replace("\"output_tokens\":50", "\"output_tokens\":7,\"output_tokens\":50"));
    assert_eq!(report.repaired, 1);
    assert_eq!(report.usage.output, 55);
}

#[test]
fn depth_and_foreign_types_are_no_reason_to_lose_a_record() {
    let deep = format!("{}1{}", "[".repeat(4000), "]".repeat(4000));
    let l = lines().join("\n");
    whole(l.replace("\"isSidechain\":false", &format!("\"isSidechain\":false,\"toolUseResult\":{deep}")));
    whole(l.replace("\"path\":\"a\"", &format!("\"path\":{deep}")));
    whole(l.replace("\"isSidechain\":false", "\"isSidechain\":\"no\",\"timestamp\":7,\"agentId\":null,\"attachment\":3"));
}

#[test]
fn gzip_zstd_and_a_broken_end() {
    let text = lines().join("\n");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    whole(&gz);
    whole(ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest));
    let (_, report) = read(&gz[..gz.len() - 30]);
    assert!(report.skipped_records > 0 || report.error.is_some(), "{report:?}");
}

#[test]
fn a_line_of_15_mb_is_read() {
    let l = lines();
    let big = l[2].replace("text of the file", &"words and words ".repeat(15 << 16));
    assert!(big.len() > 15_000_000);
    let (docs, report) = read(format!("{}\n{}\n{big}\n{}", l[0], l[1], l[3]).as_bytes());
    assert_eq!((report.requests, report.skipped_records), (2, 0));
    assert_eq!(prompts(&docs[0]), [1000, 1300]);
}

/// A stream without a line end that is never held.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.0.min(out.len() as u64) as usize;
        out[..n].fill(b'x');
        self.0 -= n as u64;
        Ok(n)
    }
}

#[test]
fn a_line_beyond_the_cap_is_skipped_by_number() {
    let l = lines();
    let start = format!("{}\n{}\n{{\"type\":\"user\",\"message\":\"", l[0], l[1]);
    let end = format!("\n{}\n{}\n", l[2], l[3]);
    let stream = start.as_bytes().chain(Endless(300_000_000)).chain(end.as_bytes());
    let (_, report) = read(stream);
    assert_eq!((report.requests, skipped(&report)), (2, vec![3]));
    assert!(report.skipped[0].why.contains("64 MiB"));
    assert!(report.bytes > 300_000_000);
    // A file that is nothing else is no log.
    let (_, report) = read(Endless(300_000_000));
    assert!(report.error.unwrap().contains("looks like plain text"));
    // A whole record and the lines after it may be joined only up to the cap.
    let mut ingest = Ingest::new(Options { limits: Limits { record_bytes: 400, named_skips: 2 }, ..Options::default() });
    let report = ingest.read("a", format!("{}\n{{\"type\":\n{}\n", l[0], "  \"x\": 1,\n".repeat(100)).as_bytes());
    assert!(report.skipped_records >= 1 && report.skipped.len() <= 2);
}

#[test]
fn empty_and_foreign_files_are_told_in_one_line() {
    for (bytes, says) in [
        (&b""[..], "looks empty"),
        (b"\n\n", "looks empty"),
        (b"PK\x03\x04zip", "zip"),
        (b"just words\n", "plain text"),
        (b"{\"a\":1}\n", "JSON objects with the keys a"),
    ] {
        let (docs, report) = read(bytes);
        let error = report.error.unwrap();
        assert!(docs.is_empty() && error.contains(says) && error.contains("Claude Code") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_session_without_a_call_gives_no_transcript_and_a_note() {
    let (docs, report) = read(lines()[0].as_bytes());
    assert!(docs.is_empty() && report.error.is_none());
    assert!(report.notes.iter().any(|n| n.contains("no model call")));
}

#[test]
fn trace_files_go_through_the_same_door() {
    let (docs, _) = read(lines().join("\n").as_bytes());
    let line = to_line(&docs[0]);
    let (again, report) = read(format!("{line}\n{line}\nnonsense\n").as_bytes());
    assert_eq!((again, report.format, report.duplicates), (docs, Some("trace"), 1));
    assert_eq!((report.requests, skipped(&report)), (2, vec![3]));
    let (none, report) = read(line.replace("trace/1", "trace/2").as_bytes());
    assert!(none.is_empty() && report.skipped[0].why.contains("version 2"), "{report:?}");
}

#[test]
fn no_bytes_make_a_reader_panic() {
    let good = lines().join("\n").into_bytes();
    let mut state = 5u64;
    for round in 0..400 {
        let mut bytes = good.clone();
        for _ in 0..=round % 7 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            match state >> 61 {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.drain(at..(at + 40).min(bytes.len() - 1).max(at))),
                2 => bytes.insert(at, b'{'),
                3 => bytes.insert(at, b'"'),
                4 => bytes.insert(at, b'\\'),
                5 => bytes.insert(at, b'\n'),
                _ => bytes[at] = (state >> 40) as u8,
            }
        }
        read(&bytes[..]);
    }
    let _ = Quotations::new(Options::default().needs).needs(0, "\u{0}\u{ffff}");
}
