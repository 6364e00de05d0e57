//! `cleartune import`: logs to content-free trace lines.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use cleartune::ingest;
use cleartune::trace::{Document, to_line};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::output::{self, OutputSet, Target};
use super::source::SourceArgs;

const OUTPUT: &str = "Output";

/// Turn logs into content-free traces: only counts, hashes and tool names leave.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cleartune import ~/.claude/projects --out my.trace.jsonl\n  cleartune sweep my.trace.jsonl")]
pub struct ImportArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Trace file to write, or - for standard output; compressed when its name ends in .gz.
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    pub out: PathBuf,
    /// Replace tool names by hashes, too.
    #[arg(long, help_heading = OUTPUT)]
    pub hash_names: bool,
    /// Exit with 1 if any record or file was skipped.
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
}

/// Runs the command. Exit code 1: `--strict`, and something was skipped.
///
/// # Errors
/// A source does not exist, holds no transcript, or the output cannot be written.
pub fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let mut sources = args.source.load()?;
    if args.hash_names {
        sources.documents.iter_mut().for_each(ingest::hash_tool_names);
    }
    match output::target(&args.out)? {
        Target::Stdout => write(&sources.documents, io::BufWriter::new(io::stdout().lock())).context("standard output")?,
        Target::Special(path) => write(&sources.documents, output::open_special(&path)?).with_context(|| cannot(&path))?,
        Target::File(path) => {
            let (folder, name) = output::split(&path)?;
            let mut set = OutputSet::new(&folder)?;
            let file = set.create(&name)?;
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
                let mut packed = GzEncoder::new(file, Compression::default());
                let written = write(&sources.documents, &mut packed).and_then(|()| packed.finish()?.flush());
                written.with_context(|| cannot(&path))?;
            } else {
                write(&sources.documents, file).with_context(|| cannot(&path))?;
            }
            set.commit()?;
        }
    }
    let requests: usize = sources.documents.iter().map(|d| d.requests.len()).sum();
    eprintln!("{} transcripts, {requests} requests -> {}", sources.documents.len(), args.out.display());
    let strict = args.strict && sources.lost_something;
    if strict {
        eprintln!("something was skipped, and --strict is set");
    }
    Ok(ExitCode::from(u8::from(strict)))
}

fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

fn write(documents: &[Document], mut out: impl Write) -> io::Result<()> {
    documents.iter().try_for_each(|doc| writeln!(out, "{}", to_line(doc)))?;
    out.flush()
}
