//! Winnowing: a sparse choice of rolling hashes such that two texts that share a stretch share a chosen hash within it.

/// Odd, so that multiplication loses nothing.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Chooses the smallest of every `window` consecutive hashes of `gram` bytes: any stretch of `gram + window - 1` bytes holds a chosen one.
pub struct Winnow {
    gram: usize,
    window: usize,
    /// `BASE` to the power of `gram`.
    out: u64,
}

impl Winnow {
    /// For stretches of `least` bytes.
    pub fn new(least: usize) -> Self {
        let gram = least / 2;
        let out = (0..gram).fold(1u64, |p, _| p.wrapping_mul(BASE));
        Self { gram, window: least - gram + 1, out }
    }

    /// Bytes of which a hash is made.
    pub fn gram(&self) -> usize {
        self.gram
    }

    /// Bytes from one chosen hash to the next, in the mean.
    pub fn spacing(&self) -> usize {
        self.window.div_ceil(2)
    }

    /// The hash of the first `gram` bytes.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        mix(bytes[..self.gram].iter().fold(0u64, |rolling, &b| rolling.wrapping_mul(BASE).wrapping_add(u64::from(b) + 1)))
    }

    /// Calls `choose` with each chosen hash and the offset of its bytes, in order of offset.
    pub fn each(&self, bytes: &[u8], mut choose: impl FnMut(u64, usize)) {
        if bytes.len() < self.gram {
            return;
        }
        let mut rolling = 0u64;
        // Hashes of the current window, smallest first kept at the front: offsets and values both ascend.
        let mut queue: std::collections::VecDeque<(usize, u64)> = std::collections::VecDeque::with_capacity(self.window);
        let mut last = usize::MAX;
        for (i, &b) in bytes.iter().enumerate() {
            rolling = rolling.wrapping_mul(BASE).wrapping_add(u64::from(b) + 1);
            if i >= self.gram {
                rolling = rolling.wrapping_sub(self.out.wrapping_mul(u64::from(bytes[i - self.gram]) + 1));
            }
            if i + 1 < self.gram {
                continue;
            }
            let at = i + 1 - self.gram;
            let hash = mix(rolling);
            // The rightmost of equals, so that a run of one character is chosen once a window and not at every byte.
            while queue.back().is_some_and(|&(_, h)| h >= hash) {
                queue.pop_back();
            }
            queue.push_back((at, hash));
            while queue.front().is_some_and(|&(p, _)| p + self.window <= at) {
                queue.pop_front();
            }
            if at + 1 >= self.window
                && let Some(&(p, h)) = queue.front().filter(|&&(p, _)| p != last)
            {
                last = p;
                choose(h, p);
            }
        }
    }
}

/// Spreads the rolling value, whose low bits depend on the last bytes alone.
fn mix(mut h: u64) -> u64 {
    h ^= h >> 32;
    h = h.wrapping_mul(0xd6e8_feb8_6659_fd93);
    h ^= h >> 32;
    h = h.wrapping_mul(0xd6e8_feb8_6659_fd93);
    h ^ (h >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stretch_of_the_stated_length_holds_a_chosen_hash_that_depends_on_it_alone() {
        let mut state = 7u64;
        let text: Vec<u8> = std::iter::repeat_with(|| {
            state = mix(state.wrapping_add(BASE));
            b'a' + (state % 3) as u8
        })
        .take(3000)
        .collect();
        for least in [8, 9, 40, 41] {
            let winnow = Winnow::new(least);
            let mut whole = Vec::new();
            winnow.each(&text, |h, p| whole.push((p, h)));
            for from in 0..=text.len() - least {
                let mut part = Vec::new();
                winnow.each(&text[from..from + least], |h, p| part.push((p + from, h)));
                assert!(part.iter().any(|p| whole.contains(p)), "{least} at {from}");
            }
            assert!(whole.iter().all(|&(p, h)| winnow.hash(&text[p..]) == h), "{least}");
        }
    }

    #[test]
    fn the_choice_is_sparse() {
        let text: Vec<u8> = (0..100_000u64).map(|i| mix(i) as u8).collect();
        let mut n = 0;
        Winnow::new(40).each(&text, |_, _| n += 1);
        assert!((6_000..12_000).contains(&n), "{n}");
        let mut n = 0;
        Winnow::new(40).each(&[b'-'; 10_000], |_, _| n += 1);
        assert!(n < 11_000, "{n}");
    }
}
