//! Which calls were met before: the only thing that grows with the number of records read, so it is kept small.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher for keys that are hashes.
pub type Already = BuildHasherDefault<Identity>;

/// Passes a `u64` through.
#[derive(Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(b);
        }
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

const SHARDS: usize = 64;

/// Hashes of calls, 16 bytes each at most where there are many: 8 for the hash, the rest for the table's free places.
///
/// A hash table doubles when it is full, so that one table would take from 10 to 21 bytes a hash and half as much again while it grows. These
/// are several, of shares between one and two, so that they grow one after the other. Of the 16 bytes of a hash half are kept: among
/// a hundred million calls two different ones meet with a probability of 0.0003.
#[derive(Debug)]
pub struct Seen(Vec<HashSet<u64, Already>>);

impl Default for Seen {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| HashSet::default()).collect())
    }
}

impl Seen {
    /// Remembers a hash; `false` where it is there already.
    pub fn insert(&mut self, hash: u128) -> bool {
        let share = (hash >> 96) as u32;
        // The logarithm of a number between one and two: the last shard is met twice as often as the first.
        let shard = (f64::from(share) / 4_294_967_296.0).ln_1p() / std::f64::consts::LN_2 * SHARDS as f64;
        self.0[(shard as usize).min(SHARDS - 1)].insert(hash as u64)
    }

    /// Hashes there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.iter().map(HashSet::len).sum()
    }

    /// Bytes of the tables: of eight places seven may be filled, each with a hash and a byte of its state.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.0.iter().map(|shard| shard.capacity() / 7 * 8 * 9).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::normal::hash;
    use super::*;

    #[test]
    fn a_hash_takes_sixteen_bytes_at_most_at_any_number() {
        let mut seen = Seen::default();
        let mut worst = 0.0f64;
        for n in 1..=300_000u32 {
            assert!(seen.insert(hash(&[&n.to_string()])), "{n}");
            if n > 20_000 && n % 64 == 0 {
                worst = worst.max(seen.bytes() as f64 / seen.len() as f64);
            }
        }
        assert!((12.0..=16.0).contains(&worst), "{worst}");
        assert_eq!(seen.len(), 300_000);
        assert!((1..=300_000u32).step_by(7).all(|n| !seen.insert(hash(&[&n.to_string()]))));
    }
}
