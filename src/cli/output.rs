//! Where bytes leave the program: files written beside and renamed, and standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Whether an error comes from a reader that closed its end of the pipe: not a failure.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

/// Writes to standard output.
///
/// # Errors
/// Those of the stream; a broken pipe among them, see [`is_broken_pipe`].
pub fn stdout(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).context("standard output")
}

/// Where an output goes.
pub enum Target {
    /// `-`.
    Stdout,
    /// A pipe or device: written as it is, nothing to rename.
    Special(PathBuf),
    /// A file, links followed, to be written beside and renamed.
    File(PathBuf),
}

/// What an output path names.
///
/// # Errors
/// It is a folder.
pub fn target(path: &Path) -> anyhow::Result<Target> {
    if path == Path::new("-") {
        return Ok(Target::Stdout);
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!("{}: is a folder; write a file name", path.display()),
        Ok(found) if !found.is_file() => Ok(Target::Special(path.to_owned())),
        // Renaming over a link would replace the link and leave the file that it points to.
        Ok(_) => Ok(Target::File(path.canonicalize().unwrap_or_else(|_| path.to_owned()))),
        Err(_) => Ok(Target::File(path.to_owned())),
    }
}

/// Opens a pipe or device.
///
/// # Errors
/// It cannot be opened for writing.
pub fn open_special(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::options().write(true).open(path).with_context(|| format!("{}: cannot be written", path.display()))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Writes one file beside its place and renames it there, so that a crash or a full disk leaves the old one.
///
/// # Errors
/// The folder or the file cannot be written; the message names it.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let path = match target(path)? {
        Target::Stdout => bail!("-: write a file name; standard output is taken"),
        Target::Special(path) => {
            let mut file = open_special(&path)?;
            return file.write_all(bytes).and_then(|()| file.flush()).with_context(|| format!("{}: cannot be written", path.display()));
        }
        Target::File(path) => path,
    };
    let (folder, name) = split(&path)?;
    let mut set = OutputSet::new(&folder)?;
    set.write(&name, bytes)?;
    set.commit()
}

/// The folder and the name of a file.
///
/// # Errors
/// The path names no file.
pub fn split(path: &Path) -> anyhow::Result<(PathBuf, String)> {
    let name = path.file_name().and_then(|n| n.to_str()).with_context(|| format!("{} names no file", path.display()))?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), name.to_owned()))
}

/// Files of one result set, none of which is seen before all are written.
pub struct OutputSet {
    folder: PathBuf,
    names: Vec<String>,
}

impl OutputSet {
    /// Makes the folder if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), names: Vec::new() })
    }

    fn temporary(&self, name: &str) -> PathBuf {
        self.folder.join(format!(".{name}.{}.tmp", std::process::id()))
    }

    /// Opens a file of the set for writing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(&mut self, name: &str) -> anyhow::Result<BufWriter<File>> {
        let path = self.temporary(name);
        let file = File::create(&path).with_context(|| format!("{}: cannot be written", self.folder.join(name).display()))?;
        self.names.push(name.to_owned());
        Ok(BufWriter::with_capacity(1 << 16, file))
    }

    /// Writes a whole file of the set.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let mut file = self.create(name)?;
        file.write_all(bytes)
            .and_then(|()| file.flush())
            .with_context(|| format!("{}: cannot be written", self.folder.join(name).display()))
    }

    /// Puts every file in its place, in the order in which they were made.
    ///
    /// # Errors
    /// One cannot be renamed. What can be known beforehand is looked at before the first one is, so that no set is mixed.
    pub fn commit(mut self) -> anyhow::Result<()> {
        for name in &self.names {
            let path = self.folder.join(name);
            if path.is_dir() {
                bail!("{}: is a folder, where a file of the results has to go; move it away", path.display());
            }
        }
        while let Some(name) = self.names.first() {
            let path = self.folder.join(name);
            fs::rename(self.temporary(name), &path).with_context(|| format!("{}: cannot be replaced", path.display()))?;
            self.names.remove(0);
        }
        Ok(())
    }
}

impl Drop for OutputSet {
    fn drop(&mut self) {
        // Whatever was not committed is of no use to anybody.
        for name in &self.names {
            let _ = fs::remove_file(self.temporary(name));
        }
    }
}
