//! UTF-16 as UTF-8: what some editors and shells make of a log that is redirected to a file.

use std::io::{self, Read};

/// A stream of UTF-16 that begins with a byte-order mark, read as UTF-8. Lone surrogates become replacement characters.
pub struct Utf16<R> {
    source: R,
    /// Whether the low byte comes first; known after the mark.
    little: Option<bool>,
    /// Bytes that make no whole character yet.
    raw: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16<R> {
    /// Nothing is read yet.
    pub fn new(source: R) -> Self {
        Self { source, little: None, raw: Vec::new(), ready: Vec::new(), given: 0 }
    }

    /// Reads on; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let held = self.raw.len();
        self.raw.resize(held + (1 << 14), 0);
        let n = self.source.read(&mut self.raw[held..]);
        self.raw.truncate(held + n.as_ref().map_or(0, |n| *n));
        let ended = n? == 0;
        if self.little.is_none() && (self.raw.len() >= 2 || ended) {
            self.little = Some(self.raw.starts_with(&[0xff, 0xfe]));
            self.raw.drain(..self.raw.len().min(2));
        }
        let Some(little) = self.little else { return Ok(true) };
        let unit = |pair: &[u8]| if little { u16::from_le_bytes([pair[0], pair[1]]) } else { u16::from_be_bytes([pair[0], pair[1]]) };
        let mut units: Vec<u16> = self.raw.chunks_exact(2).map(unit).collect();
        if !ended && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            // Its other half comes next.
            units.pop();
        }
        self.raw.drain(..2 * units.len());
        self.given = 0;
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>();
        self.ready = text.into_bytes();
        Ok(!ended)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() && !out.is_empty() {
            if !self.fill()? && self.ready.is_empty() {
                return Ok(0);
            }
        }
        let n = (self.ready.len() - self.given).min(out.len());
        out[..n].copy_from_slice(&self.ready[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dripping(Vec<u8>);

    impl Read for Dripping {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(out.len()).min(1);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    #[test]
    fn both_orders_of_bytes_and_halves_that_come_one_by_one() {
        let text = "{\"a\":\"ä 🗄 z\"}\n";
        for little in [true, false] {
            let bytes = |u: u16| if little { u.to_le_bytes() } else { u.to_be_bytes() };
            let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect();
            let mut read = String::new();
            Utf16::new(Dripping(wide.clone())).read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
            // A lone half at the end, and half a unit.
            let mut cut = wide;
            cut.extend(bytes(0xd800));
            cut.push(b'x');
            read.clear();
            Utf16::new(cut.as_slice()).read_to_string(&mut read).unwrap();
            assert_eq!(read, format!("{text}\u{fffd}"));
        }
        assert_eq!(Utf16::new(&[0xff, 0xfe][..]).read(&mut [0; 9]).unwrap(), 0);
    }
}
