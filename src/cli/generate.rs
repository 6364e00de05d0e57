//! `cleartune generate`: a workload's transcripts as a trace file.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use cleartune::workload::{self, Spec};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::output::{self, OutputSet};

/// Generate a workload's synthetic transcripts as a trace file
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cleartune generate coding_agent --transcripts 200 --out coding.trace.jsonl.gz")]
pub struct GenerateArgs {
    /// A workload: the path of a .toml file, or the name of a shipped one, such as `research_agent` (a wrong name lists them)
    pub workload: String,

    /// Where to write one transcript a line: `-` for standard output; a name that ends in .gz is compressed
    /// [default: standard output when piped, else WORKLOAD.trace.jsonl]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// How many transcripts [default: the workload's own number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub transcripts: Option<u32>,

    /// All randomness comes from this number [default: the workload's own]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
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
    match target(args.out.as_deref(), &spec.name)? {
        Target::Stdout => {
            let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            write_lines(&spec, out, Path::new("standard output"))?;
        }
        Target::Special(path) => {
            let file = File::options().write(true).open(&path).with_context(|| format!("{}: cannot be written", path.display()))?;
            write_lines(&spec, BufWriter::new(file), &path)?;
        }
        Target::File(path) => {
            let (folder, name) = output::split(&path)?;
            let mut set = OutputSet::new(&folder)?;
            let file = set.create(&name)?;
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
                let mut packed = GzEncoder::new(file, Compression::default());
                write_lines(&spec, &mut packed, &path)?;
                packed.finish().and_then(|mut file| file.flush()).with_context(|| format!("{}: cannot be written", path.display()))?;
            } else {
                write_lines(&spec, file, &path)?;
            }
            set.commit()?;
            let plural = if spec.transcripts == 1 { "" } else { "s" };
            eprintln!("{}: {} transcript{plural} of {}, seed {}", path.display(), spec.transcripts, spec.name, spec.seed);
        }
    }
    Ok(())
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

enum Target {
    Stdout,
    /// A pipe or device: nothing to rename.
    Special(PathBuf),
    File(PathBuf),
}

fn target(out: Option<&Path>, name: &str) -> anyhow::Result<Target> {
    let Some(path) = out else {
        if !io::stdout().is_terminal() {
            return Ok(Target::Stdout);
        }
        let path = PathBuf::from(format!("{name}.trace.jsonl"));
        if path.exists() {
            bail!("{}: exists already; write --out FILE to name a file that may be replaced", path.display());
        }
        return Ok(Target::File(path));
    };
    if path == Path::new("-") {
        return Ok(Target::Stdout);
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!("{}: is a folder; write --out with a file name", path.display()),
        Ok(found) if !found.is_file() => Ok(Target::Special(path.to_owned())),
        _ => Ok(Target::File(path.to_owned())),
    }
}

fn write_lines(spec: &Spec, mut out: impl Write, path: &Path) -> anyhow::Result<()> {
    for line in spec.lines() {
        writeln!(out, "{line}").with_context(|| path.display().to_string())?;
    }
    out.flush().with_context(|| path.display().to_string())
}
