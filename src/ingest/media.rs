//! Images: what they count in tokens, by their pixels.

/// Tokens of an image of unknown size, and the most that one counts.
pub const IMAGE_TOKENS: u64 = 1600;

/// Tokens of an image given as base64: width × height / 750, at most 1,600 (`formats` of the provider's documentation); 1,600 where the
/// header cannot be read.
pub fn image_tokens(base64: &str) -> u64 {
    dimensions(&decode_head(base64, 1 << 16))
        .map_or(IMAGE_TOKENS, |(w, h)| (u64::from(w) * u64::from(h)).div_ceil(750).clamp(1, IMAGE_TOKENS))
}

/// Tokens of a PDF given as base64, by its bytes: one for every 25, at least those of one page as an image, at most 300,000.
///
/// The provider bills each page as text (1,500 to 3,000 tokens) and as an image; pages cannot be counted without unpacking the file, and
/// 50 to 100 kB a page is common, so this is a guess within a factor of a few. Where usage is recorded the recorded growth replaces it.
pub fn pdf_tokens(base64: &str) -> u64 {
    (base64.len() as u64 * 3 / 4 / 25).clamp(IMAGE_TOKENS, 300_000)
}

/// The first 32 letters of base64 of a PNG that has as many pixels as the picture given as base64; `None` where that is no picture.
pub fn png_like(base64: &str) -> Option<String> {
    let (width, height) = dimensions(&decode_head(base64, 1 << 16))?;
    let mut header = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    header.extend(width.to_be_bytes().into_iter().chain(height.to_be_bytes()));
    let sign = |six: u32| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[six as usize & 63] as char;
    let four = |three: &[u8]| {
        let bits = three.iter().fold(0, |bits, &b| bits << 8 | u32::from(b));
        [18, 12, 6, 0].map(|shift| sign(bits >> shift))
    };
    Some(header.chunks_exact(3).flat_map(four).collect())
}

/// At most `most` decoded bytes of a base64 text, data-URL prefix allowed; stops at the first foreign character.
fn decode_head(text: &str, most: usize) -> Vec<u8> {
    let text = text.split_once("base64,").filter(|(head, _)| head.len() < 64).map_or(text, |(_, data)| data);
    let mut out = Vec::with_capacity(most.min(text.len()));
    let (mut bits, mut n) = (0u32, 0);
    for b in text.bytes() {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\n' | b'\r' => continue,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        n += 6;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
            if out.len() == most {
                break;
            }
        }
    }
    out
}

/// Width and height from the header of a PNG, JPEG, GIF or WebP.
fn dimensions(b: &[u8]) -> Option<(u32, u32)> {
    let be16 = |i: usize| Some(u32::from(u16::from_be_bytes(b.get(i..i + 2)?.try_into().ok()?)));
    let le16 = |i: usize| Some(u32::from(u16::from_le_bytes(b.get(i..i + 2)?.try_into().ok()?)));
    let be32 = |i: usize| Some(u32::from_be_bytes(b.get(i..i + 4)?.try_into().ok()?));
    let size = if b.starts_with(b"\x89PNG\r\n\x1a\n") {
        (be32(16)?, be32(20)?)
    } else if b.starts_with(b"GIF8") {
        (le16(6)?, le16(8)?)
    } else if b.starts_with(b"\xff\xd8") {
        let mut i = 2;
        loop {
            if *b.get(i)? != 0xff {
                return None;
            }
            match *b.get(i + 1)? {
                0xff => i += 1,
                // Start of frame, in all its kinds but the tables that share the range.
                0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => break (be16(i + 7)?, be16(i + 5)?),
                0x01 | 0xd0..=0xd8 => i += 2,
                _ => i += 2 + be16(i + 2)? as usize,
            }
        }
    } else if b.starts_with(b"RIFF") && b.get(8..12) == Some(b"WEBP") {
        match b.get(12..16)? {
            b"VP8 " => (le16(26)? & 0x3fff, le16(28)? & 0x3fff),
            b"VP8L" => {
                let bits = u32::from_le_bytes(b.get(21..25)?.try_into().ok()?);
                ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
            }
            b"VP8X" => (le16(24)? + 1 + (u32::from(*b.get(26)?) << 16), le16(27)? + 1 + (u32::from(*b.get(29)?) << 16)),
            _ => return None,
        }
    } else {
        return None;
    };
    (size.0 > 0 && size.1 > 0).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_each_kind() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        png.extend([0, 0, 3, 0x20, 0, 0, 2, 0x58]);
        assert_eq!(dimensions(&png), Some((800, 600)));
        assert_eq!(dimensions(b"GIF89a\x20\x03\x58\x02"), Some((800, 600)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x11\x08\x02\x58\x03\x20";
        assert_eq!(dimensions(jpeg), Some((800, 600)));
        let mut vp8 = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a".to_vec();
        vp8.extend([0x20, 3, 0x58, 2]);
        assert_eq!(dimensions(&vp8), Some((800, 600)));
        let mut lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".to_vec();
        lossless.extend((799u32 + (599 << 14)).to_le_bytes());
        assert_eq!(dimensions(&lossless), Some((800, 600)));
        let mut extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
        extended.extend([0x1f, 3, 0, 0x57, 2, 0]);
        assert_eq!(dimensions(&extended), Some((800, 600)));
        for bad in [&b""[..], b"\x89PNG", b"\xff\xd8\xff", b"\xff\xd8\0\0\0", b"RIFF\0\0\0\0WEBPVP8L", b"plain text"] {
            assert_eq!(dimensions(bad), None);
        }
    }

    #[test]
    fn tokens_by_pixels_and_never_more_than_the_cap() {
        // The PNG header of an 800 × 600 image.
        assert_eq!(image_tokens("iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY"), 640);
        assert_eq!(image_tokens("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY"), 640);
        assert_eq!(image_tokens("iVBORw0KGgoAAAANSUhEUgAAfyAAAAJY"), IMAGE_TOKENS);
        assert_eq!(image_tokens("????"), IMAGE_TOKENS);
    }
}
