//! `cleartune import`: logs to content-free trace lines.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use cleartune::ingest::{self, AgentFilter, NeedOptions};
use cleartune::trace::{Document, to_line};

use super::source;

/// Turn logs into content-free traces: only counts, hashes and tool names leave.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cleartune import ~/.claude/projects --out my.trace.jsonl\n  cleartune sweep my.trace.jsonl")]
pub struct ImportArgs {
    /// Logs, trace files, directories of these (searched recursively), or - for standard input.
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<String>,
    /// Trace file to write, or - for standard output; compressed when its name ends in .gz.
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// Replace tool names by hashes, too.
    #[arg(long)]
    pub hash_names: bool,
    /// Exit with 1 if any record or file was skipped.
    #[arg(long)]
    pub strict: bool,
    /// How logs are read.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Flags of every command that reads logs.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// Which agents' transcripts to take from logs.
    #[arg(long, value_enum, default_value_t = Agent::All)]
    pub agent: Agent,
    /// Do not look for needs in the text of logs: faster, and no re-fetch is ever counted.
    #[arg(long)]
    pub no_needs: bool,
    /// Smallest quotation of a tool result that counts as a need, in bytes (white space collapsed).
    #[arg(long, value_name = "BYTES", default_value_t = NeedOptions::default().min_bytes, value_parser = quotation)]
    pub need_bytes: usize,
    /// Smallest number of different characters in such a quotation.
    #[arg(long, value_name = "N", default_value_t = NeedOptions::default().min_distinct)]
    pub need_distinct: usize,
    /// Whether results of a tool can be had again: TOOL=yes, TOOL=costly or TOOL=never. May be repeated.
    #[arg(long, value_name = "TOOL=CLASS", value_parser = refetch)]
    pub refetch: Vec<(String, cleartune::trace::Refetch)>,
}

/// Which agents.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Agent {
    /// Main agents and sub-agents.
    All,
    /// Main agents only.
    Main,
    /// Sub-agents only.
    Sub,
}

fn quotation(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n >= 8 => Ok(n),
        _ => Err("write a whole number of at least 8".to_owned()),
    }
}

fn refetch(text: &str) -> Result<(String, cleartune::trace::Refetch), String> {
    use cleartune::trace::Refetch;
    // A tool's name may hold an equals sign; a class does not.
    let (tool, class) = text.rsplit_once('=').ok_or("write TOOL=yes, TOOL=costly or TOOL=never")?;
    let class = match class {
        "yes" => Refetch::Yes,
        "costly" => Refetch::Costly,
        "never" => Refetch::Never,
        _ => return Err(format!("{class:?} is no class; write {tool}=yes, {tool}=costly or {tool}=never")),
    };
    Ok((tool.to_owned(), class))
}

impl LogArgs {
    /// The library's options.
    pub fn options(&self) -> ingest::Options {
        ingest::Options {
            needs: NeedOptions { find: !self.no_needs, min_bytes: self.need_bytes, min_distinct: self.need_distinct },
            agent: match self.agent {
                Agent::All => AgentFilter::All,
                Agent::Main => AgentFilter::Main,
                Agent::Sub => AgentFilter::Sub,
            },
            refetch: self.refetch.iter().cloned().collect(),
            ..ingest::Options::default()
        }
    }
}

/// Runs the command. Exit code 1: `--strict`, and something was skipped.
///
/// # Errors
/// A source does not exist, holds no transcript, or the output cannot be written.
pub fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let mut sources = source::resolve(&args.sources, args.log.options())?;
    if args.hash_names {
        sources.documents.iter_mut().for_each(ingest::hash_tool_names);
    }
    if args.out.as_os_str() == "-" {
        let mut out = io::BufWriter::new(io::stdout().lock());
        lines(&sources.documents, &mut out)?;
        out.flush()?;
    } else {
        beside(&args.out, &sources.documents).with_context(|| format!("{}: cannot be written", args.out.display()))?;
    }
    let requests: usize = sources.documents.iter().map(|d| d.requests.len()).sum();
    eprintln!("{} transcripts, {requests} requests -> {}", sources.documents.len(), args.out.display());
    let strict = args.strict && sources.lost_something();
    if strict {
        eprintln!("something was skipped, and --strict is set");
    }
    Ok(ExitCode::from(u8::from(strict)))
}

fn lines(documents: &[Document], out: &mut impl Write) -> io::Result<()> {
    documents.iter().try_for_each(|doc| writeln!(out, "{}", to_line(doc)))
}

/// Writes beside the target and renames, so that a full disk never leaves half a file.
fn beside(target: &Path, documents: &[Document]) -> anyhow::Result<()> {
    let Some(name) = target.file_name() else { bail!("name a file, not a directory") };
    let mut partial = name.to_owned();
    partial.push(".partial");
    let partial = target.with_file_name(partial);
    let file = io::BufWriter::new(std::fs::File::create(&partial)?);
    let written = if target.extension().is_some_and(|e| e == "gz") {
        let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        lines(documents, &mut gz).and_then(|()| gz.finish()?.into_inner().map_err(io::IntoInnerError::into_error))
    } else {
        let mut file = file;
        lines(documents, &mut file).and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error))
    };
    let done = written.and_then(|file| file.sync_all()).and_then(|()| std::fs::rename(&partial, target));
    if done.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    Ok(done?)
}
