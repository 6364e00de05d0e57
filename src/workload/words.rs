//! Words made of syllables: English to look at, ASCII, and never twice the same sentence.

use super::dist::{Share, Stream};

const ONSETS: [&str; 26] = [
    "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "ch", "cl", "dr", "fl", "gr", "pl", "sh", "st", "tr",
    "qu",
];
const NUCLEI: [&str; 10] = ["a", "e", "i", "o", "u", "ai", "ea", "ou", "io", "ee"];
const CODAS: [&str; 14] = ["", "n", "r", "l", "s", "t", "m", "d", "ck", "nd", "st", "rt", "ng", "x"];
const SMALL: [&str; 32] = [
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "by", "on", "not", "be", "at", "from", "or",
    "which", "an", "this", "are", "has", "its", "than", "more", "when", "into", "if", "under",
];

/// Writes words drawn from a stream.
pub(super) struct Writer<'a> {
    pub(super) stream: &'a mut Stream,
}

impl Writer<'_> {
    fn pick<'w>(&mut self, of: &[&'w str]) -> &'w str {
        of[self.stream.below(of.len())]
    }

    /// One word of one to three syllables.
    pub(super) fn word(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..=self.stream.run(Share(0.6), 2) {
            word.push_str(self.pick(&ONSETS));
            word.push_str(self.pick(&NUCLEI));
        }
        word.push_str(self.pick(&CODAS));
        word
    }

    /// A sentence of 8 to 15 words, with its full stop.
    pub(super) fn sentence(&mut self) -> String {
        let mut sentence = String::new();
        let words = 8 + self.stream.below(8);
        let mut small = true;
        for i in 0..words {
            // Never two small words in a row, so that no stretch is common to many sentences.
            small = !small && self.stream.chance(Share(0.5));
            let word = match self.stream.below(12) {
                0 if i > 0 => (10 + self.stream.below(9990)).to_string(),
                _ if small => self.pick(&SMALL).to_owned(),
                _ => self.word(),
            };
            if i == 0 {
                sentence.push_str(&word[..1].to_ascii_uppercase());
                sentence.push_str(&word[1..]);
            } else {
                sentence.push(' ');
                sentence.push_str(&word);
            }
        }
        sentence.push('.');
        sentence
    }

    /// A sentence of at most `most` bytes and at least `least`, of `distinct` different characters or more; `most` is at least 4 above `least`.
    pub(super) fn fact(&mut self, least: usize, most: usize, distinct: usize) -> String {
        loop {
            let mut sentence = self.sentence();
            if sentence.len() > most {
                let Some(end) = sentence[..most].rfind(' ') else { continue };
                sentence.truncate(end);
            }
            if sentence.len() >= least && different(&sentence) >= distinct {
                return sentence;
            }
        }
    }

    /// Exactly `bytes` bytes of sentences, cut where they end; `line` sentences a line.
    pub(super) fn fill(&mut self, bytes: usize, line: usize) -> String {
        let mut text = String::with_capacity(bytes + 120);
        let mut n = 0usize;
        while text.len() < bytes {
            if n > 0 {
                text.push(if n.is_multiple_of(line) { '\n' } else { ' ' });
            }
            text.push_str(&self.sentence());
            n += 1;
        }
        text.truncate(bytes);
        text
    }
}

/// How many different characters an ASCII text holds.
pub(super) fn different(text: &str) -> usize {
    text.bytes().fold(0u128, |set, b| set | 1 << (b & 127)).count_ones() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_to_the_byte_and_states_facts_within_bounds() {
        let mut stream = Stream::of_words(1, 0);
        let mut writer = Writer { stream: &mut stream };
        for bytes in [0, 1, 7, 500] {
            let text = writer.fill(bytes, 3);
            assert!(text.len() == bytes && text.is_ascii());
        }
        for _ in 0..200 {
            let fact = writer.fact(48, 90, 16);
            assert!((48..=90).contains(&fact.len()) && different(&fact) >= 16, "{fact}");
        }
    }

    #[test]
    fn sentences_do_not_come_twice() {
        let mut stream = Stream::of_words(1, 0);
        let mut writer = Writer { stream: &mut stream };
        let mut windows = std::collections::BTreeSet::new();
        for _ in 0..3000 {
            let sentence = writer.sentence();
            assert!(windows.insert(sentence[..40.min(sentence.len())].to_owned()), "{sentence}");
        }
    }
}
