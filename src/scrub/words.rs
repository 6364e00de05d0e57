//! Words and numbers to others of the same length, each always to the same one, no two to one.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::vocabulary::stays;

/// Letters in proportion to their use, so that a text keeps about as many different ones.
const LETTERS: &[u8; 64] = b"eeeeeeeetttttaaaaaooooiiiinnnnsssshhhrrrrdddlllcccuummwffggyppbv";
/// As many attempts at a free word before the next free one is taken in order.
const ATTEMPTS: u64 = 16;

/// The replacements of one log.
pub struct Words {
    seed: [u8; 32],
    /// By what they replace, letters in lower case.
    known: HashMap<String, String>,
    taken: HashSet<String>,
    letters: HashMap<char, char>,
}

impl Words {
    /// No replacement yet; the same seed gives the same ones to the same text.
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed, known: HashMap::new(), taken: HashSet::new(), letters: HashMap::new() }
    }

    fn random(&self, what: &str, attempt: u64) -> impl Iterator<Item = u8> + use<> {
        let mut start = Sha256::new();
        start.update(self.seed);
        start.update(attempt.to_le_bytes());
        start.update(what.as_bytes());
        let start = start.finalize();
        (0u32..).flat_map(move |block| {
            let mut sha = Sha256::new();
            sha.update(start);
            sha.update(block.to_le_bytes());
            sha.finalize().into_iter()
        })
    }

    fn replacement(&mut self, what: &str, make: impl Fn(&mut dyn Iterator<Item = u8>) -> String, next: impl Fn(&str) -> String) -> String {
        if let Some(known) = self.known.get(what) {
            return known.clone();
        }
        let free = |words: &Self, word: &str| !words.taken.contains(word) && !stays(word);
        let drawn = (0..ATTEMPTS).map(|attempt| make(&mut self.random(what, attempt)));
        let mut found = drawn.clone().find(|word| free(self, word)).unwrap_or_else(|| drawn.last().unwrap_or_default());
        // There are as many replacements as words of the length, so one is free, but for those that stay.
        for _ in 0..100_000 {
            if free(self, &found) {
                break;
            }
            found = next(&found);
        }
        self.known.insert(what.to_owned(), found.clone());
        self.taken.insert(found.clone());
        found
    }

    /// The replacement of a run of ASCII letters, in the same cases; one letter, and a word that formats are read by, stays.
    pub fn word(&mut self, word: &str) -> String {
        if word.len() < 2 || stays(word) {
            return word.to_owned();
        }
        let lower = word.to_ascii_lowercase();
        let n = lower.len();
        let make = |random: &mut dyn Iterator<Item = u8>| random.take(n).map(|b| LETTERS[usize::from(b) % 64] as char).collect();
        let replaced = self.replacement(&lower, make, |word| step(word, b'a', b'z'));
        replaced
            .bytes()
            .zip(word.bytes())
            .map(|(new, old)| (if old.is_ascii_uppercase() { new.to_ascii_uppercase() } else { new }) as char)
            .collect()
    }

    /// The replacement of a run of ASCII digits; one digit, and zeros at its head, stay, and a number stays one.
    pub fn number(&mut self, digits: &str) -> String {
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        let (head, rest) = digits.split_at(zeros);
        if digits.len() < 2 || rest.is_empty() {
            return digits.to_owned();
        }
        let n = rest.len();
        let make = |random: &mut dyn Iterator<Item = u8>| {
            let digit = |(i, b): (usize, u8)| (if i == 0 { b'1' + b % 9 } else { b'0' + b % 10 }) as char;
            random.take(n).enumerate().map(digit).collect()
        };
        let next = |number: &str| {
            let next = step(number, b'0', b'9');
            next.strip_prefix('0').map_or_else(|| next.clone(), |rest| format!("1{rest}"))
        };
        // Of the same length with zeros at its head a number is another one.
        let replaced = self.replacement(rest, make, next);
        [head, &replaced].concat()
    }

    /// The replacement of a letter beyond ASCII: one of the same 64 code points, so that it is as long in UTF-8.
    pub fn letter(&mut self, letter: char) -> char {
        if let Some(&known) = self.letters.get(&letter) {
            return known;
        }
        let block = u32::from(letter) & !63;
        let letters: Vec<char> = (block..block + 64).filter_map(char::from_u32).filter(|c| c.is_alphanumeric()).collect();
        // A shift by the seed: every letter to another one, no two to one.
        let shift = self.random(&block.to_string(), 0).next().map_or(1, usize::from) % letters.len().max(2) + 1;
        let at = letters.iter().position(|&c| c == letter).unwrap_or(0);
        let new = letters.get((at + shift) % letters.len().max(1)).copied().unwrap_or(letter);
        self.letters.insert(letter, new);
        new
    }

    /// So many letters of base64, always the same for the same text.
    pub fn blob(&self, text: &str, length: usize) -> String {
        const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        self.random(text, 0).take(length).map(|b| SIGNS[usize::from(b) % 64] as char).collect()
    }
}

/// The next word of the length, the first after the last.
fn step(word: &str, first: u8, last: u8) -> String {
    let mut bytes = word.as_bytes().to_vec();
    for byte in bytes.iter_mut().rev() {
        if *byte < last {
            *byte += 1;
            break;
        }
        *byte = first;
    }
    bytes.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_case_stay_and_each_word_has_its_own() {
        let mut words = Words::new([7; 32]);
        let (a, b, c) = (words.word("secret"), words.word("Secret"), words.word("SECRET"));
        assert!(a != "secret" && a.len() == 6 && b.to_ascii_lowercase() == a && c == a.to_ascii_uppercase());
        assert_eq!((words.word("a"), words.word("content")), ("a".to_owned(), "content".to_owned()));
        // All words of two letters have one each.
        let all: HashSet<String> =
            (b'a'..=b'z').flat_map(|x| (b'a'..=b'z').map(move |y| [x as char, y as char].iter().collect())).collect();
        let replaced: HashSet<String> = all.iter().map(|w| words.word(w)).collect();
        assert_eq!(replaced.len(), all.len());
    }

    #[test]
    fn numbers_stay_numbers_of_their_length() {
        let mut words = Words::new([7; 32]);
        for n in 10..1000u32 {
            let new = words.number(&n.to_string());
            assert!(new.len() == n.to_string().len() && !new.starts_with('0'), "{new}");
        }
        assert!(words.number("0012").starts_with("00") && words.number("0012").len() == 4);
        assert_eq!((words.number("7"), words.number("00")), ("7".to_owned(), "00".to_owned()));
    }

    #[test]
    fn letters_beyond_ascii_stay_as_long() {
        let mut words = Words::new([3; 32]);
        for letter in ['é', 'ß', 'д', '中', 'あ', '한'] {
            let new = words.letter(letter);
            assert!(new != letter && new.len_utf8() == letter.len_utf8() && new.is_alphanumeric(), "{letter}");
        }
    }
}
