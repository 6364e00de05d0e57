//! `cleartune import`: logs to content-free trace lines.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use cleartune::ingest;
use cleartune::trace::{Document, to_line};

use super::output::{self, OutputSet};
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
    if args.out.as_os_str() == "-" {
        let mut out = io::BufWriter::new(io::stdout().lock());
        lines(&sources.documents, &mut out)?;
        out.flush()?;
    } else {
        let (folder, name) = output::split(&args.out)?;
        let mut set = OutputSet::new(&folder)?;
        let file = set.create(&name)?;
        let written = if args.out.extension().is_some_and(|e| e == "gz") {
            let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::default());
            lines(&sources.documents, &mut gz).and_then(|()| gz.finish()?.flush())
        } else {
            let mut file = file;
            lines(&sources.documents, &mut file).and_then(|()| file.flush())
        };
        written.with_context(|| format!("{}: cannot be written", args.out.display()))?;
        set.commit()?;
    }
    let requests: usize = sources.documents.iter().map(|d| d.requests.len()).sum();
    eprintln!("{} transcripts, {requests} requests -> {}", sources.documents.len(), args.out.display());
    let strict = args.strict && sources.lost_something;
    if strict {
        eprintln!("something was skipped, and --strict is set");
    }
    Ok(ExitCode::from(u8::from(strict)))
}

fn lines(documents: &[Document], out: &mut impl Write) -> io::Result<()> {
    documents.iter().try_for_each(|doc| writeln!(out, "{}", to_line(doc)))
}
