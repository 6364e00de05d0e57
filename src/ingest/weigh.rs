//! How much of a token a byte is likely to make, by what it is.
//!
//! Bytes alone tell tokens badly: of one session's results some had 1.8 bytes a token (numbers and brackets) and others 3.2 (prose). A
//! tokenizer makes a token of four or five letters with the blank before them, of one to three digits, of one or two other signs. So each
//! byte is weighed by its class, such that ordinary text weighs about as much as it has bytes, and only the scale is fitted to a session.
//! The weights are round numbers, the same for every log, model and tool.

/// Hundredths of a byte that a byte weighs.
pub const fn weight(byte: u8) -> u64 {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' => 88,
        b'0'..=b'9' => 240,
        b'\n' => 140,
        b' ' | b'\t' | b'\r' => 32,
        // Letters beyond ASCII are two to four bytes each.
        0x80.. => 120,
        _ => 200,
    }
}

const WEIGHTS: [u64; 256] = {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = weight(byte as u8);
        byte += 1;
    }
    all
};

/// The weight of a text in hundredths of a byte.
pub fn weigh(text: &str) -> u64 {
    text.bytes().map(|b| WEIGHTS[b as usize]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_weighs_about_its_bytes_and_numbers_more() {
        let share = |text: &str| weigh(text) as f64 / 100.0 / text.len() as f64;
        let prose = "The request was sent again after the cache had expired, so every token of the prompt was written once more.";
        assert!((0.75..0.95).contains(&share(prose)), "{}", share(prose));
        let code = "    let mut sum = 0;\n    for (i, x) in all.iter().enumerate() {\n        sum += x * 100;\n    }\n";
        assert!((0.75..1.2).contains(&share(code)), "{}", share(code));
        assert!(share("[[0.1712, 3.4518], [7.1041, 9.9981]]") > 1.7);
        assert_eq!((weigh(""), weigh("a1 \n,é")), (0, 88 + 240 + 32 + 140 + 200 + 240));
    }
}
