//! Which sessions a config is chosen on, and which it is confirmed on.

use sha2::{Digest, Sha256};

use super::bootstrap::LEAST_SESSIONS;

/// Which sessions a config is chosen on; it is confirmed on the rest.
///
/// By the order of the hashes of their names, so that neither the order of files nor a further session moves many of them across: half of
/// the sessions, the larger one where they are odd. With fewer than [`LEAST_SESSIONS`] all are chosen on and none is left to confirm.
pub fn chosen_on(sessions: &[String]) -> Vec<bool> {
    if sessions.len() < LEAST_SESSIONS {
        return vec![true; sessions.len()];
    }
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_cached_key(|&i| (<[u8; 32]>::from(Sha256::digest(sessions[i].as_bytes())), i));
    let mut chosen = vec![false; sessions.len()];
    for &i in &order[..sessions.len().div_ceil(2)] {
        chosen[i] = true;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("s{i}")).collect()
    }

    #[test]
    fn half_of_ten_and_all_of_nine() {
        let halves = chosen_on(&names(10));
        assert_eq!(halves.iter().filter(|c| **c).count(), 5);
        assert_eq!(chosen_on(&names(11)).iter().filter(|c| **c).count(), 6);
        assert!(chosen_on(&names(9)).iter().all(|c| *c));
    }

    #[test]
    fn the_order_of_the_sessions_does_not_matter() {
        let forwards = names(40);
        let backwards: Vec<String> = forwards.iter().rev().cloned().collect();
        let mut chosen = chosen_on(&backwards);
        chosen.reverse();
        assert_eq!(chosen, chosen_on(&forwards));
        // By name, not by place: no run of one half.
        assert!(chosen.windows(2).filter(|w| w[0] != w[1]).count() > 5);
    }
}
