//! Where fingerprints occur: a hash table of chains in two flat arrays, from 12 to 16 bytes for each occurrence.

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Posting {
    at: u32,
    older: u32,
}

/// The places of fingerprints. Different fingerprints may share a chain, so whoever asks compares the bytes.
#[derive(Debug)]
pub struct Index {
    /// The latest posting of each chain; a power of two of them.
    heads: Vec<u32>,
    postings: Vec<Posting>,
}

impl Index {
    /// Empty, with room for so many places.
    pub fn with_room(places: usize) -> Self {
        Self { heads: vec![NONE; places.next_power_of_two().max(16)], postings: Vec::with_capacity(places) }
    }

    fn chain(&self, hash: u64) -> usize {
        (hash >> (64 - self.heads.len().trailing_zeros())) as usize
    }

    /// Adds a place. `hash_of` tells the fingerprint of an earlier place again.
    pub fn add(&mut self, hash: u64, at: usize, hash_of: impl Fn(usize) -> u64) {
        if self.postings.len() >= self.heads.len() {
            self.grow(hash_of);
        }
        let (chain, posting) = (self.chain(hash), self.postings.len() as u32);
        self.postings.push(Posting { at: at as u32, older: self.heads[chain] });
        self.heads[chain] = posting;
    }

    fn grow(&mut self, hash_of: impl Fn(usize) -> u64) {
        let chains = 2 * self.heads.len();
        self.heads = Vec::new();
        self.heads.resize(chains, NONE);
        for i in 0..self.postings.len() {
            let chain = self.chain(hash_of(self.postings[i].at as usize));
            self.postings[i].older = self.heads[chain];
            self.heads[chain] = i as u32;
        }
    }

    /// The places of a fingerprint and of those that share its chain, the most recent first.
    pub fn places(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mut next = self.heads[self.chain(hash)];
        std::iter::from_fn(move || {
            let posting = self.postings.get(next as usize)?;
            next = posting.older;
            Some(posting.at as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_the_most_recent_first_before_and_after_it_grows() {
        let hash = |at: usize| (at as u64 % 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for room in [0, 1000] {
            let mut index = Index::with_room(room);
            for at in 0..500 {
                index.add(hash(at), at, hash);
            }
            for of in 0..7 {
                let found: Vec<usize> = index.places(hash(of)).filter(|&at| hash(at) == hash(of)).collect();
                let expected: Vec<usize> = (0..500).rev().filter(|at| at % 7 == of).collect();
                assert_eq!(found, expected, "{of} with room for {room}");
            }
            assert!(index.heads.len() <= 2 * index.postings.len().max(room));
        }
    }
}
