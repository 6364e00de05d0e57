//! `cleartune generate`: a workload's transcripts as a trace file, or in words as Messages API logs.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use cleartune::policy::Settings;
use cleartune::replay::replay;
use cleartune::trace::{Trace, Usage};
use cleartune::workload::{self, Spec};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::output::{self, OutputSet, Target};
use super::settings::Stated;

/// Generate a workload's synthetic transcripts, as a trace file or in words
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune generate coding_agent --transcripts 200 --out coding.trace.jsonl.gz
  cleartune generate coding_agent --text --transcripts 4 --out coding.messages.jsonl.gz")]
pub struct GenerateArgs {
    /// A workload: the path of a .toml file, or the name of a shipped one, such as `research_agent` (a wrong name lists them)
    pub workload: String,

    /// Where to write one transcript a line: `-` for standard output; a name that ends in .gz is compressed
    /// [default: standard output when piped, else WORKLOAD.trace.jsonl or, with --text, WORKLOAD.messages.jsonl]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Write the transcripts in words, as Messages API logs in which later outputs quote the results that they need. pairs: a
    /// request and its response a line, each with the whole history before it, so that long sessions take tens of megabytes
    /// each; bodies: one line a transcript, without times and usage. Which need is quoted how goes to FILE.truth.jsonl, FILE
    /// without its .jsonl
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "pairs")]
    pub text: Option<TextForm>,

    /// How many transcripts [default: the workload's own number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub transcripts: Option<u32>,

    /// All randomness comes from this number [default: the workload's own]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// How `--text` writes a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextForm {
    /// A request and its response a line.
    Pairs,
    /// One body a transcript.
    Bodies,
}

/// Runs the command.
///
/// # Errors
/// The workload is not found or not valid, or the output cannot be written; the message names file and field.
pub fn run(args: &GenerateArgs) -> anyhow::Result<()> {
    let mut spec = load_workload(&args.workload)?;
    if let Some(transcripts) = args.transcripts {
        spec.transcripts = transcripts as usize;
    }
    if let Some(seed) = args.seed {
        spec.seed = seed;
    }
    let ending = if args.text.is_some() { "messages.jsonl" } else { "trace.jsonl" };
    match target(args.out.as_deref(), &spec.name, ending)? {
        Target::Stdout => {
            let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            write_all(&spec, args.text, out, io::sink(), Path::new("standard output"))?;
        }
        Target::Special(path) => {
            write_all(&spec, args.text, output::open_special(&path)?, io::sink(), &path)?;
        }
        Target::File(path) => {
            let (folder, name) = output::split(&path)?;
            let mut set = OutputSet::new(&folder)?;
            let file = set.create(&name)?;
            let truth_name = truth_name(&name);
            let truth: Box<dyn Write> = if args.text.is_some() { Box::new(set.create(&truth_name)?) } else { Box::new(io::sink()) };
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
                let mut packed = GzEncoder::new(file, Compression::default());
                write_all(&spec, args.text, &mut packed, truth, &path)?;
                packed.finish().and_then(|mut file| file.flush()).with_context(|| format!("{}: cannot be written", path.display()))?;
            } else {
                write_all(&spec, args.text, file, truth, &path)?;
            }
            set.commit()?;
            let plural = if spec.transcripts == 1 { "" } else { "s" };
            eprintln!("{}: {} transcript{plural} of {}, seed {}", path.display(), spec.transcripts, spec.name, spec.seed);
            if args.text.is_some() {
                eprintln!("{}: which need is quoted how", path.with_file_name(truth_name).display());
            }
        }
    }
    Ok(())
}

/// `a.truth.jsonl` of `a.jsonl`, `a.jsonl.gz` and `a`.
fn truth_name(name: &str) -> String {
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    format!("{}.truth.jsonl", stem.strip_suffix(".jsonl").unwrap_or(stem))
}

/// A workload by the name of a shipped one, else by its path.
///
/// # Errors
/// Neither a shipped name nor a file that can be read; or not a valid workload.
pub fn load_workload(name_or_path: &str) -> anyhow::Result<Spec> {
    let shipped = workload::shipped_text(name_or_path);
    let path = Path::new(name_or_path);
    let text = match shipped {
        Ok(text) => text.to_owned(),
        // Not a file either: what is shipped is the more useful answer.
        Err(unknown) if !path.exists() => return Err(unknown.into()),
        Err(_) => std::fs::read_to_string(path).with_context(|| format!("{name_or_path}: cannot be read"))?,
    };
    Spec::from_toml(&text).with_context(|| name_or_path.to_owned())
}

fn target(out: Option<&Path>, name: &str, ending: &str) -> anyhow::Result<Target> {
    let Some(path) = out else {
        if !io::stdout().is_terminal() {
            return Ok(Target::Stdout);
        }
        let path = PathBuf::from(format!("{name}.{ending}"));
        if path.exists() {
            bail!("{}: exists already; write --out FILE to name a file that may be replaced", path.display());
        }
        return Ok(Target::File(path));
    };
    output::target(path)
}

fn write_all(spec: &Spec, text: Option<TextForm>, mut out: impl Write, truth: impl Write, path: &Path) -> anyhow::Result<()> {
    match text {
        None => spec.lines().try_for_each(|line| writeln!(out, "{line}")).with_context(|| path.display().to_string())?,
        Some(form) => write_text(spec, form, &mut out, truth, path)?,
    }
    out.flush().with_context(|| path.display().to_string())
}

fn write_text(spec: &Spec, form: TextForm, out: &mut impl Write, mut truth: impl Write, path: &Path) -> anyhow::Result<()> {
    let settings = Stated::default();
    for index in 0..spec.transcripts {
        let conversation = spec.converse(index);
        match form {
            TextForm::Pairs => {
                let document = spec.generate(index);
                let trace = Trace::from_document(&document)?;
                let (settings, _) = settings.settings_of(&trace)?;
                let usage = recorded(&trace, &settings);
                conversation.pairs(&usage).try_for_each(|line| writeln!(out, "{line}"))
            }
            TextForm::Bodies => writeln!(out, "{}", conversation.body()),
        }
        .with_context(|| path.display().to_string())?;
        for quote in &conversation.quotes {
            let mut line = serde_json::to_value(quote)?;
            line["transcript"] = conversation.id.as_str().into();
            writeln!(truth, "{line}").with_context(|| path.display().to_string())?;
        }
    }
    truth.flush().with_context(|| path.display().to_string())
}

/// What the provider would record of each request when nothing is cleared.
fn recorded(trace: &Trace, settings: &Settings) -> Vec<Usage> {
    let rows = replay(trace, settings).requests;
    let usage = |row: &cleartune::replay::Row| Usage {
        input: row.uncached,
        cache_read: row.cache_read,
        cache_write_5m: row.cache_write,
        cache_write_1h: 0,
        output: row.output_tokens,
    };
    rows.iter().map(usage).collect()
}
