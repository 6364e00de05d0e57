//! The cleared set of every call's prompt, as changes from call to call.

/// What was cleared in the prompt of each call; uses by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sets {
    /// Uses that are cleared and were not at the call before.
    pub newly: Vec<Vec<u32>>,
    /// Uses that were and are not.
    pub back: Vec<Vec<u32>>,
    /// How many are cleared: as the answer says, else as found.
    pub counts: Vec<u64>,
    /// Whether the recorded prompt told it, and no `applied_edits`.
    pub inferred: Vec<bool>,
}

impl Sets {
    /// Nothing cleared at any of `calls`.
    pub fn new(calls: usize) -> Self {
        Self { newly: vec![Vec::new(); calls], back: vec![Vec::new(); calls], counts: vec![0; calls], inferred: vec![false; calls] }
    }

    /// Makes `cleared`, the set at the call before, that at call `at`.
    pub fn follow(&self, at: usize, cleared: &mut [bool]) {
        for &id in &self.newly[at] {
            cleared[id as usize] = true;
        }
        for &id in &self.back[at] {
            cleared[id as usize] = false;
        }
    }
}
