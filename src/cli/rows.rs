//! The rows of each transcript, written as the sweep goes: as CSV, and as Parquet where that is asked for.

use std::fs::File;
use std::io::BufWriter;

use anyhow::Context;
use cleartune::replay::Totals;
use cleartune::report::csv;
use cleartune::sweep::Knobs;

use super::output::OutputSet;

const CANNOT: &str = "per_transcript.csv: cannot be written";

/// Both files, or one.
pub struct Rows {
    csv: csv::PerTranscript<BufWriter<File>>,
    #[cfg(feature = "parquet")]
    parquet: Option<cleartune::report::parquet::PerTranscript<BufWriter<File>>>,
}

/// Whether this build writes Parquet, if that is asked for.
///
/// # Errors
/// It is, and it does not.
pub fn check(parquet: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        cfg!(feature = "parquet") || !parquet,
        "--parquet: this build writes CSV only; install with: cargo install --path . --features parquet"
    );
    Ok(())
}

impl Rows {
    /// Begins the files.
    ///
    /// # Errors
    /// One cannot be written.
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables))]
    pub fn new(set: &mut OutputSet, configs: &[Knobs], priced: bool, parquet: bool) -> anyhow::Result<Self> {
        Ok(Self {
            csv: csv::PerTranscript::new(set.create("per_transcript.csv")?, configs, priced)?,
            #[cfg(feature = "parquet")]
            parquet: if parquet {
                Some(cleartune::report::parquet::PerTranscript::new(set.create("per_transcript.parquet")?, configs, priced)?)
            } else {
                None
            },
        })
    }

    /// Takes the outcomes of a transcript.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, id: &str, session: &str, totals: &[Totals]) -> anyhow::Result<()> {
        self.csv.add(id, session, totals).context(CANNOT)?;
        #[cfg(feature = "parquet")]
        if let Some(file) = &mut self.parquet {
            file.add(id, session, totals).context("per_transcript.parquet: cannot be written")?;
        }
        Ok(())
    }

    /// Ends the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> anyhow::Result<()> {
        self.csv.finish().context(CANNOT)?;
        #[cfg(feature = "parquet")]
        if let Some(file) = self.parquet {
            use std::io::Write;
            let done = file.finish().map_err(anyhow::Error::from);
            done.and_then(|mut out| Ok(out.flush()?)).context("per_transcript.parquet: cannot be written")?;
        }
        Ok(())
    }
}
