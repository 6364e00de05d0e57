//! Bytes in: decompression by magic number, a look at the first bytes, lines with a bound on their length.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::repair::Strings;
use super::utf16::Utf16;

/// How far detection looks into a file.
const HEAD_BYTES: u64 = 1 << 20;
/// Largest window of a zstd frame, that of `zstd --long`.
const ZSTD_WINDOW: u64 = 128 << 20;

/// A decompressed stream whose first bytes have been looked at.
pub struct Input<'a> {
    head: Vec<u8>,
    rest: Box<dyn BufRead + 'a>,
}

impl<'a> Input<'a> {
    /// Decompresses gzip and zstd (any number of members or frames, and one inside the other up to 4 deep), and reads UTF-16 that says so by
    /// its byte-order mark.
    ///
    /// # Errors
    /// The first bytes cannot be read or decompressed.
    pub fn open(raw: impl Read + 'a) -> io::Result<Self> {
        let mut rest: Box<dyn BufRead + 'a> = Box::new(BufReader::with_capacity(1 << 16, raw));
        for _ in 0..4 {
            let mut magic = Vec::new();
            rest.by_ref().take(4).read_to_end(&mut magic)?;
            let whole = Cursor::new(magic.clone()).chain(rest);
            if magic.starts_with(&[0x1f, 0x8b]) {
                rest = Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(whole)));
            } else if is_zstd(&magic) {
                rest = Box::new(BufReader::with_capacity(1 << 16, Zstd::new(whole)));
            } else if magic.starts_with(&[0xff, 0xfe]) || magic.starts_with(&[0xfe, 0xff]) {
                rest = Box::new(BufReader::with_capacity(1 << 16, Utf16::new(whole)));
                break;
            } else {
                rest = Box::new(whole);
                break;
            }
        }
        let mut head = Vec::new();
        // What was read before a fault is kept: the fault comes again when the rest is read.
        let _ = rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        Ok(Self { head, rest })
    }

    /// The first bytes, at most 1 MiB.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The whole stream.
    ///
    /// # Errors
    /// It cannot be read or decompressed.
    pub fn bytes(mut self) -> io::Result<Vec<u8>> {
        self.rest.read_to_end(&mut self.head)?;
        Ok(self.head)
    }

    /// The stream as far as `most` bytes.
    ///
    /// # Errors
    /// It cannot be read or decompressed.
    pub fn at_most(mut self, most: usize) -> io::Result<Vec<u8>> {
        let rest = most.saturating_sub(self.head.len());
        self.rest.take(rest as u64).read_to_end(&mut self.head)?;
        self.head.truncate(most);
        Ok(self.head)
    }

    /// The same stream with a top-level array of records laid out as records, one after the other; anything else as it is.
    ///
    /// Line numbers stay where the elements stand on lines of their own; of several on one line each counts as a line.
    pub fn elements(self) -> Self {
        if !is_array(&self.head) {
            return self;
        }
        let whole = Cursor::new(self.head.clone()).chain(self.rest);
        Self { head: Vec::new(), rest: Box::new(BufReader::with_capacity(1 << 16, FlatReader { source: whole, flat: Flat::default() })) }
    }

    /// The whole stream, line by line.
    pub fn lines(self, longest: usize) -> Lines<'a> {
        Lines { source: Box::new(Cursor::new(self.head).chain(self.rest)), longest, line: Vec::new(), number: 0, bytes: 0 }
    }
}

/// Whether the text is an array of objects.
pub fn is_array(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    text.strip_prefix(b"[").is_some_and(|rest| matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b']')))
}

/// The state of the laying out of an array: brackets go, commas between elements become line ends.
#[derive(Debug, Default)]
pub struct Flat {
    depth: u32,
    strings: Strings,
    /// A comma became a line end, and the line end after it is to go.
    ended: bool,
}

impl Flat {
    /// Lays out the next bytes in place.
    pub fn lay_out(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let b = *byte;
            if std::mem::take(&mut self.ended) && b"\r\n".contains(&b) {
                *byte = b' ';
                self.ended = b == b'\r';
                continue;
            }
            if self.strings.hold(b) {
                continue;
            }
            match b {
                b'[' | b'{' => {
                    if self.depth == 0 && b == b'[' {
                        *byte = b' ';
                    }
                    self.depth += 1;
                }
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 && b == b']' {
                        *byte = b' ';
                    }
                }
                b',' if self.depth == 1 => {
                    *byte = b'\n';
                    self.ended = true;
                }
                _ => {}
            }
        }
    }
}

struct FlatReader<R> {
    source: R,
    flat: Flat,
}

impl<R: Read> Read for FlatReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(out)?;
        self.flat.lay_out(&mut out[..n]);
        Ok(n)
    }
}

fn is_zstd(magic: &[u8]) -> bool {
    magic == [0x28, 0xb5, 0x2f, 0xfd] || (magic.len() == 4 && magic[0] & 0xf0 == 0x50 && magic[1..] == [0x2a, 0x4d, 0x18])
}

/// Frames of zstd one after the other.
struct Zstd<R: BufRead> {
    source: R,
    decoder: ruzstd::decoding::FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        let mut decoder = ruzstd::decoding::FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        Self { source, decoder, inside: false }
    }

    /// Goes to the next frame that holds data; `false` at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut magic = Vec::new();
            self.source.by_ref().take(4).read_to_end(&mut magic)?;
            if magic.is_empty() {
                return Ok(false);
            }
            if !is_zstd(&magic) {
                return Err(damaged());
            }
            if magic[0] & 0xf0 != 0x50 {
                self.decoder.init(Cursor::new(magic).chain(self.source.by_ref())).map_err(|_| damaged())?;
                return Ok(true);
            }
            let mut length = [0; 4];
            self.source.read_exact(&mut length)?;
            io::copy(&mut self.source.by_ref().take(u64::from(u32::from_le_bytes(length))), &mut io::sink())?;
        }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "damaged zstd data")
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
        while !out.is_empty() {
            if !self.inside {
                self.inside = self.next_frame()?;
                if !self.inside {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.source, UptoBlocks(1)).map_err(|_| damaged())?;
            }
            let n = self.decoder.read(out)?;
            if n > 0 {
                return Ok(n);
            }
            self.inside = false;
        }
        Ok(0)
    }
}

/// One physical line.
pub enum Line<'l> {
    /// Its bytes without the line end.
    Text(&'l [u8]),
    /// It is longer than the bound and was passed over.
    TooLong,
}

/// Lines of a stream. Memory: at most the longest line allowed.
pub struct Lines<'a> {
    source: Box<dyn BufRead + 'a>,
    longest: usize,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl Lines<'_> {
    /// The next line and its number from 1; `None` at the end.
    ///
    /// # Errors
    /// The stream breaks off; what was read of the broken line is lost.
    pub fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.line.clear();
        let n = self.source.by_ref().take(self.longest as u64 + 1).read_until(b'\n', &mut self.line)?;
        if n == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += n as u64;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() > self.longest {
            self.line = Vec::new();
            self.skip_line()?;
            return Ok(Some((self.number, Line::TooLong)));
        }
        let bom = self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf");
        Ok(Some((self.number, Line::Text(&self.line[if bom { 3 } else { 0 }..]))))
    }

    /// Number of the last line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            let end = buffer.iter().position(|&b| b == b'\n');
            let used = end.map_or(buffer.len(), |i| i + 1);
            self.bytes += used as u64;
            self.source.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(bytes: &[u8], longest: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Input::open(bytes).unwrap().lines(longest);
        let mut out = Vec::new();
        while let Some((_, line)) = lines.next().unwrap() {
            out.push(match line {
                Line::Text(t) => Some(t.to_vec()),
                Line::TooLong => None,
            });
        }
        out
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    }

    #[test]
    fn a_line_at_the_bound_is_read_and_one_byte_more_is_passed_over() {
        assert_eq!(all(b"abcd\nefghi\nj", 4), [Some(b"abcd".to_vec()), None, Some(b"j".to_vec())]);
    }

    #[test]
    fn gzip_and_zstd_members_follow_each_other() {
        let mut gz = gzip(b"one\n");
        gz.extend(gzip(b"two\n"));
        assert_eq!(all(&gz, 9), [Some(b"one".to_vec()), Some(b"two".to_vec())]);
        let frame = |b: &[u8]| ruzstd::encoding::compress_to_vec(b, ruzstd::encoding::CompressionLevel::Fastest);
        let mut zst = frame(b"one\n");
        zst.extend([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);
        zst.extend(frame(b"two\n"));
        assert_eq!(all(&zst, 9), [Some(b"one".to_vec()), Some(b"two".to_vec())]);
        assert_eq!(all(&gzip(&zst), 9), [Some(b"one".to_vec()), Some(b"two".to_vec())]);
    }

    #[test]
    fn a_byte_order_mark_goes_and_only_the_first() {
        assert_eq!(all(b"\xef\xbb\xbfa\n\xef\xbb\xbfb", 9), [Some(b"a".to_vec()), Some(b"\xef\xbb\xbfb".to_vec())]);
    }

    #[test]
    fn arrays_are_laid_out_and_other_texts_stay() {
        let flat = |text: &str| {
            let mut lines = Input::open(text.as_bytes()).unwrap().elements().lines(1 << 20);
            let mut out = Vec::new();
            while let Some((number, Line::Text(line))) = lines.next().unwrap() {
                out.push((number, String::from_utf8_lossy(line.trim_ascii()).into_owned()));
            }
            out
        };
        let of = |pairs: &[(u64, &str)]| pairs.iter().map(|&(n, s)| (n, s.to_owned())).collect::<Vec<_>>();
        assert_eq!(flat(r#"[{"a":[1,2],"s":"],\",["},{"b":{}}]"#), of(&[(1, r#"{"a":[1,2],"s":"],\",["}"#), (2, r#"{"b":{}}"#)]));
        assert_eq!(flat("[\n{\"a\":1},\n{\"b\":2}\n]"), of(&[(1, ""), (2, "{\"a\":1}"), (3, "{\"b\":2}"), (4, "")]));
        assert_eq!(flat("{\"a\":[{},{}]}\n[1]"), of(&[(1, "{\"a\":[{},{}]}"), (2, "[1]")]));
    }

    #[test]
    fn empty_input_has_no_lines() {
        assert!(all(b"", 9).is_empty());
    }
}
