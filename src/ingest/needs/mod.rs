//! Needs by quotation: which earlier tool results an output draws on, found by what it repeats of them word for word.
//!
//! An output needs a result when it holds a window of at least [`NeedOptions::min_bytes`] bytes, white space collapsed and at least
//! [`NeedOptions::min_distinct`] characters different, that stands in the result. Of several blocks that hold the window the most recent
//! counts: if that is the user's or the agent's own text nothing is needed, and if it is a result that arrived with this very request, its
//! first use is no need either. Under [`OwnText::Anywhere`] own text counts wherever it stands. Windows are whole characters.
//!
//! Linear time: blocks are indexed by winnowed fingerprints (rolling hashes of which each stretch of `min_bytes` shares at least one), and
//! each meeting of fingerprints is verified byte by byte. Memory: the collapsed text of one transcript and about as much again (16 bytes at
//! most for each fingerprint, of which a text of 40-byte quotations has one in 11 bytes).

mod fingerprints;
mod index;

use super::{NeedOptions, OwnText};
use fingerprints::Winnow;
use index::Index;

/// Fingerprints that occur more often are looked up this many times, the most recent first.
const MOST_LOOKUPS: usize = 64;
/// Postings of other fingerprints that are passed over on the way, which only a text made for it has so many of.
const LONGEST_WALK: usize = 4096;

/// What a block is to the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The user's or the agent's own text.
    Own,
    /// The result of this use, first sent with this request.
    Result { id: u32, request: u32 },
}

struct Text {
    holder: Holder,
    /// Where it starts among all texts, as if they stood one after the other.
    start: usize,
    /// Collapsed.
    bytes: Vec<u8>,
}

/// A stretch of the output that stands in an earlier block.
#[derive(Clone, Copy)]
struct Match {
    block: u32,
    /// Offset in the block less offset in the output.
    shift: i64,
    from: usize,
    to: usize,
}

/// The blocks of one transcript so far.
pub struct Quotations {
    options: NeedOptions,
    winnow: Winnow,
    texts: Vec<Text>,
    /// Bytes of all texts.
    bytes: usize,
    index: Index,
}

impl Quotations {
    /// No blocks yet.
    pub fn new(options: NeedOptions) -> Self {
        Self::with_room(options, 0)
    }

    /// No blocks yet, and room for so many bytes of them.
    pub fn with_room(options: NeedOptions, bytes: usize) -> Self {
        let options = NeedOptions { min_bytes: options.min_bytes.max(8), ..options };
        let winnow = Winnow::new(options.min_bytes);
        let index = Index::with_room(bytes / winnow.spacing());
        Self { winnow, options, bytes: 0, texts: Vec::new(), index }
    }

    /// Adds text of the user or the agent.
    pub fn add_own(&mut self, text: impl Into<String>) {
        self.add(Holder::Own, text.into());
    }

    /// Adds the result of use `id`, which `request` sends for the first time.
    pub fn add_result(&mut self, id: u32, request: u32, text: impl Into<String>) {
        self.add(Holder::Result { id, request }, text.into());
    }

    fn add(&mut self, holder: Holder, text: String) {
        let bytes = collapse(text);
        let (start, end) = (self.bytes, self.bytes + bytes.len());
        // Beyond 4 GiB of one transcript no quotation is found any more.
        if bytes.len() < self.options.min_bytes || u32::try_from(end).is_err() {
            return;
        }
        self.texts.push(Text { holder, start, bytes });
        self.bytes = end;
        let (texts, index, winnow) = (&self.texts, &mut self.index, &self.winnow);
        let hash_of = |at: usize| winnow.hash(from(texts, at).1);
        winnow.each(&texts[texts.len() - 1].bytes, |hash, at| index.add(hash, start + at, hash_of));
    }

    /// The uses whose results the output `text` of `request` needs, in the order of the quotations' recency.
    pub fn needs(&self, request: u32, text: &str) -> Vec<u32> {
        let output = collapse(text.to_owned());
        let most_recent_first = |mut matches: Vec<Match>| {
            matches.sort_by_key(|m| (std::cmp::Reverse(m.block), m.from));
            matches
        };
        // The most recent holder takes its stretch; an older one is needed for what is left.
        let matches = match self.options.own_text {
            OwnText::MostRecent => most_recent_first(self.matches(&output, |_| true)),
            OwnText::Anywhere => {
                let mut own = most_recent_first(self.matches(&output, |holder| holder == Holder::Own));
                own.extend(most_recent_first(self.matches(&output, |holder| holder != Holder::Own)));
                own
            }
        };
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut found = Vec::new();
        let mut rest = Vec::new();
        for m in matches {
            rest.clear();
            let mut from = m.from;
            let first = taken.partition_point(|t| t.1 <= m.from);
            for &(a, b) in taken[first..].iter().take_while(|t| t.0 < m.to) {
                rest.push((from, a.max(from)));
                from = from.max(b);
            }
            rest.push((from, m.to.max(from)));
            if !rest.iter().any(|&(a, b)| self.qualifies(&output[a..b])) {
                continue;
            }
            match self.texts[m.block as usize].holder {
                Holder::Result { id, request: sent } if sent < request && !found.contains(&id) => found.push(id),
                _ => {}
            }
            let last = first + taken[first..].iter().take_while(|t| t.0 < m.to).count();
            let (from, to) = taken[first..last].iter().fold((m.from, m.to), |(a, b), t| (a.min(t.0), b.max(t.1)));
            taken.splice(first..last, [(from, to)]);
        }
        found
    }

    /// Every stretch of the output that a block of a wanted kind holds, found from each fingerprint at its most recent holder.
    fn matches(&self, output: &[u8], wanted: impl Fn(Holder) -> bool) -> Vec<Match> {
        let mut matches: Vec<Match> = Vec::new();
        self.winnow.each(output, |hash, at| {
            let gram = &output[at..at + self.winnow.gram()];
            let mut lookups = 0;
            for place in self.index.places(hash).take(LONGEST_WALK) {
                let (block, rest) = from(&self.texts, place);
                if !rest.starts_with(gram) {
                    continue;
                }
                lookups += 1;
                if lookups > MOST_LOOKUPS {
                    return;
                }
                let text = &self.texts[block];
                if !wanted(text.holder) {
                    continue;
                }
                let within = place - text.start;
                let shift = within as i64 - at as i64;
                // A long copy meets many of its own fingerprints again: it is known already.
                let known = |m: &&Match| m.block as usize == block && m.shift == shift && m.from <= at && at < m.to;
                if matches.iter().rev().take(8).any(|m| known(&m)) {
                    return;
                }
                let (from, to) = stretch(&text.bytes, within, output, at);
                if at < to && self.qualifies(&output[from..to]) {
                    matches.push(Match { block: block as u32, shift, from, to });
                    return;
                }
            }
        });
        matches
    }

    /// Whether a stretch, cut to whole characters, is long and varied enough.
    fn qualifies(&self, bytes: &[u8]) -> bool {
        let whole = whole_characters(bytes);
        whole.len() >= self.options.min_bytes && distinct(whole, self.options.min_distinct)
    }
}

/// The largest equal stretch around two equal places, as offsets in `b`.
fn stretch(a: &[u8], at_a: usize, b: &[u8], at_b: usize) -> (usize, usize) {
    let back = a[..at_a].iter().rev().zip(b[..at_b].iter().rev()).take_while(|(x, y)| x == y).count();
    let on = a[at_a..].iter().zip(&b[at_b..]).take_while(|(x, y)| x == y).count();
    (at_b - back, at_b + on)
}

/// The bytes without a cut character at either end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let continuing = |b: &&u8| **b & 0xc0 == 0x80;
    let bytes = &bytes[bytes.iter().take_while(continuing).count()..];
    let tail = bytes.iter().rev().take_while(continuing).count();
    let Some(lead) = bytes.len().checked_sub(tail + 1) else { return bytes };
    let width = match bytes[lead] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    if width == tail + 1 { bytes } else { &bytes[..lead] }
}

/// Whether at least `least` different characters occur.
fn distinct(bytes: &[u8], least: usize) -> bool {
    let mut ascii = 0u128;
    let mut others: Vec<char> = Vec::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        match u32::from(c) {
            n @ 0..128 => ascii |= 1 << n,
            _ if !others.contains(&c) => others.push(c),
            _ => continue,
        }
        if ascii.count_ones() as usize + others.len() >= least {
            return true;
        }
    }
    least == 0
}

/// The block that holds the byte at `at` of all texts, and its bytes from there on.
fn from(texts: &[Text], at: usize) -> (usize, &[u8]) {
    let block = texts.partition_point(|text| text.start <= at) - 1;
    (block, &texts[block].bytes[at - texts[block].start..])
}

/// The text with every run of white space as one blank, in the memory that it has.
fn collapse(text: String) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    let (mut read, mut write) = (0, 0);
    let mut blank = false;
    while read < bytes.len() {
        let width = match bytes[read] {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
        let white = match bytes[read] {
            byte @ 0..128 => char::from(byte).is_whitespace(),
            // No other character of white space begins otherwise.
            0xc2 | 0xe1..=0xe3 => {
                std::str::from_utf8(&bytes[read..read + width]).is_ok_and(|character| character.chars().all(char::is_whitespace))
            }
            _ => false,
        };
        if !white {
            bytes.copy_within(read..read + width, write);
            write += width;
        } else if !blank {
            bytes[write] = b' ';
            write += 1;
        }
        blank = white;
        read += width;
    }
    bytes.truncate(write);
    bytes
}

#[cfg(test)]
mod tests;
