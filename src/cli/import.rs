//! `cleartune import`: logs to content-free trace lines.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use cleartune::ingest::{self, FileReport, Ingest};
use cleartune::scrub::scrub;
use cleartune::trace::to_line;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::output::{self, OutputSet, Target};
use super::source::{Filter, SourceArgs};

const OUTPUT: &str = "Output";

/// Turn logs into content-free traces: only counts, hashes and tool names leave.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cleartune import ~/.claude/projects --out my.trace.jsonl\n  cleartune sweep my.trace.jsonl\n  cleartune import session.jsonl --scrub --out to-show.jsonl"
)]
pub struct ImportArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Trace file to write, or - for standard output; compressed when its name ends in .gz.
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    pub out: PathBuf,
    /// Replace tool names by hashes, too.
    #[arg(long, help_heading = OUTPUT)]
    pub hash_names: bool,
    /// Write the log itself instead, with every word replaced by another of the same length: structure, sizes, usage, links and
    /// repetition stay, so that it can be attached to a bug report. Takes one log of JSON or JSON lines.
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["hash_names", "strict"])]
    pub scrub: bool,
    /// Seed of --scrub; by default a hash of the log, which nobody knows who does not have it.
    #[arg(long, value_name = "N", help_heading = OUTPUT, requires = "scrub")]
    pub seed: Option<u64>,
    /// Exit with 1 if any record or file was skipped.
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
}

/// Runs the command. Exit code 1: `--strict`, and something was skipped.
///
/// # Errors
/// A source does not exist, holds no transcript, or the output cannot be written.
pub fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    if args.scrub {
        return scrubbed(args);
    }
    let (mut transcripts, mut requests) = (0, 0);
    let mut lost_something = false;
    write(&args.out, |out| {
        // Each transcript is written as it comes: the logs may be larger than memory.
        let read = args.source.each(&Filter::default(), false, &mut |passed| {
            for (mut document, _) in passed.documents {
                if args.hash_names {
                    ingest::hash_tool_names(&mut document);
                }
                (transcripts, requests) = (transcripts + 1, requests + document.requests.len());
                writeln!(out, "{}", to_line(&document)).with_context(|| cannot(&args.out))?;
            }
            Ok(())
        })?;
        lost_something = read.lost_something;
        Ok(())
    })?;
    eprintln!("{transcripts} transcripts, {requests} requests -> {}", args.out.display());
    let strict = args.strict && lost_something;
    if strict {
        eprintln!("something was skipped, and --strict is set");
    }
    Ok(ExitCode::from(u8::from(strict)))
}

fn cannot(path: &Path) -> String {
    if path == Path::new("-") { "standard output".to_owned() } else { format!("{}: cannot be written", path.display()) }
}

/// Writes what `lines` writes, compressed where the name says so.
fn write(out: &Path, lines: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    match output::target(out)? {
        Target::Stdout => all(out, lines, io::BufWriter::new(io::stdout().lock())),
        Target::Special(path) => all(&path, lines, output::open_special(&path)?),
        Target::File(path) => {
            let (folder, name) = output::split(&path)?;
            let mut set = OutputSet::new(&folder)?;
            let file = set.create(&name)?;
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
                let mut packed = GzEncoder::new(file, Compression::default());
                all(&path, lines, &mut packed)?;
                packed.finish().and_then(|mut file| file.flush()).with_context(|| cannot(&path))?;
            } else {
                all(&path, lines, file)?;
            }
            set.commit()
        }
    }
}

fn all(path: &Path, lines: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>, mut out: impl Write) -> anyhow::Result<()> {
    lines(&mut out)?;
    out.flush().with_context(|| cannot(path))
}

/// The log itself with its words replaced, and how it reads compared with the original.
fn scrubbed(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let [source] = args.source.sources.as_slice() else {
        bail!("--scrub takes one log at a time: what replaces what is decided for each log");
    };
    let path = Path::new(source);
    let log = if source == "-" {
        ingest::decompressed(io::stdin().lock())
    } else if path.is_dir() {
        bail!("{source}: is a folder; --scrub takes one log at a time");
    } else {
        File::open(path).and_then(ingest::decompressed)
    };
    let log = log.with_context(|| format!("{source}: cannot be read; name a log or - for standard input"))?;
    if log.contains(&0) || log.starts_with(b"PK\x03\x04") {
        bail!("{source}: is no text; --scrub takes logs of JSON or JSON lines (unpack an archive first)");
    }
    let seed = match args.seed {
        Some(seed) => Sha256::digest(seed.to_le_bytes()),
        None => Sha256::digest(&log),
    };
    let new = scrub(&log, seed.into());
    write(&args.out, |out| out.write_all(&new).with_context(|| cannot(&args.out)))?;
    let read = |log: &[u8]| Ingest::new(args.source.log.options()).read("-", log);
    let (old, new) = (read(&log), read(&new));
    eprintln!("{} bytes scrubbed -> {}", log.len(), args.out.display());
    let counts =
        |r: &FileReport| format!("{} requests, {} tool uses, {} needs, {} skipped", r.requests, r.tool_uses, r.needs, r.skipped_records);
    match (old.format, counts(&old) == counts(&new)) {
        (None, _) => eprintln!("the format is not known: {}", old.error.unwrap_or_default()),
        (Some(format), true) => eprintln!("reads as before, as {format}: {}", counts(&old)),
        (Some(format), false) => eprintln!("reads as {format}: {}; the original: {}", counts(&new), counts(&old)),
    }
    eprintln!("look it over before you show it: names of fields, tools and models stay, as do timestamps");
    Ok(ExitCode::SUCCESS)
}
