//! Folders in which a session has a file for each event, as `OpenHands` keeps them: read as one log.

use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::PathBuf;

use cleartune::ingest::format_of;

/// How much of the first event is looked at.
const HEAD: u64 = 1 << 20;

/// Of a folder's files those that hold one event each, in order; none where its files are no events.
pub fn events(folder: &[DirEntry]) -> Vec<PathBuf> {
    let mut numbered: Vec<(u64, PathBuf)> =
        folder.iter().filter_map(|item| Some((number(item.file_name().to_str()?)?, item.path()))).filter(|(_, p)| p.is_file()).collect();
    numbered.sort();
    let first = numbered.first().and_then(|(_, path)| File::open(path).ok());
    let mut head = Vec::new();
    let read = first.is_some_and(|file| file.take(HEAD).read_to_end(&mut head).is_ok());
    // The names are only a hint: the content decides.
    let are_events = numbered.len() > 1 && read && format_of(&head) == Some("openhands");
    if are_events { numbered.into_iter().map(|(_, path)| path).collect() } else { Vec::new() }
}

/// The number of an event by the name of its file: `12.json`, `event-00012-….json`.
fn number(name: &str) -> Option<u64> {
    let name = name.strip_suffix(".json")?;
    let name = name.strip_prefix("event-").unwrap_or(name);
    name.split('-').next()?.parse().ok()
}

/// Files one after the other, a line end between them. One that cannot be read is passed over and named afterwards.
pub struct Joined<'p> {
    rest: std::slice::Iter<'p, PathBuf>,
    open: Option<(&'p PathBuf, File)>,
    /// Files that could not be read, or not to their end, and why.
    pub unreadable: Vec<(&'p PathBuf, io::Error)>,
}

impl<'p> Joined<'p> {
    /// Nothing is opened yet.
    pub fn new(paths: &'p [PathBuf]) -> Self {
        Self { rest: paths.iter(), open: None, unreadable: Vec::new() }
    }
}

impl Read for Joined<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if let Some((path, file)) = &mut self.open {
            match file.read(out) {
                Ok(n @ 1..) => return Ok(n),
                Ok(0) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => self.unreadable.push((path, error)),
            }
            self.open = None;
            out[0] = b'\n';
            return Ok(1);
        }
        for path in self.rest.by_ref() {
            match File::open(path) {
                Ok(file) => {
                    self.open = Some((path, file));
                    return self.read(out);
                }
                Err(error) => self.unreadable.push((path, error)),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers() {
        assert_eq!(number("12.json"), Some(12));
        assert_eq!(number("event-00012-a1b2.json"), Some(12));
        assert!(number("base_state.json").is_none() && number("12.jsonl").is_none() && number("a-12.json").is_none());
    }
}
