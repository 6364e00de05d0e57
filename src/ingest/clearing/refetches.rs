//! Re-fetches that really happened: uses that repeat an earlier one whose result was cleared at that moment.
//!
//! The agent saw a placeholder and called the tool again. In a replay that would happen twice, once because it is in the log and once
//! because the need is found missing again. So such a use, its result, and the request if it did nothing else, are left out of the trace,
//! and the request that got the result needs the original use. A repetition of a use whose result was in the prompt stays what it is, and
//! so does reading a file again that was edited in between, or running a command again after any edit.

use std::collections::{BTreeMap, HashMap};

use super::super::normal::{Held, Kind, Part};
use super::super::options::default_refetch;
use super::Sets;
use crate::trace::Refetch;

/// Most bytes of text that a request which only fetches again may say beside.
const REMARK: u64 = 200;

/// What was fetched again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refetches {
    /// Uses that fetch again, and the first use of which each is a copy.
    pub copies: BTreeMap<u32, u32>,
    /// Needs of each call: first uses.
    pub needs: Vec<Vec<u32>>,
    /// Calls that did nothing else.
    pub dropped: Vec<bool>,
    /// Copies that the client answered with "unchanged".
    pub failed: u64,
}

impl Refetches {
    /// Turns the quoted needs of each call into needs of first uses, adds those that the re-fetches served, and gives those of a call that
    /// is left out to the next one.
    pub fn apply(&self, needs: &mut [Vec<u32>]) {
        let mut left = Vec::new();
        for (i, found) in needs.iter_mut().enumerate() {
            let Some(served) = self.needs.get(i) else { return };
            let all = std::mem::take(&mut left).into_iter().chain(found.drain(..)).chain(served.iter().copied());
            let mut all: Vec<u32> = all.map(|id| self.copies.get(&id).copied().unwrap_or(id)).collect();
            all.sort_unstable();
            all.dedup();
            if self.dropped[i] {
                left = all;
            } else {
                *found = all;
            }
        }
    }
}

/// Tools that do nothing but change files: calling one again fetches nothing.
fn edits(tool: &str) -> bool {
    matches!(tool, "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "edit" | "write")
}

/// Looks for them in a part.
pub fn find(part: &Part, sets: &Sets) -> Refetches {
    let calls = &part.calls;
    let mut found = Refetches { needs: vec![Vec::new(); calls.len()], dropped: vec![false; calls.len()], ..Refetches::default() };
    if sets.newly.iter().all(Vec::is_empty) {
        return found;
    }
    let mut arrives: HashMap<u32, (usize, Held)> = HashMap::new();
    for (i, call) in calls.iter().enumerate() {
        arrives.extend(call.input.iter().filter_map(|item| match item.kind {
            Kind::Result(id) => Some((id, (i, item.held))),
            _ => None,
        }));
    }
    let mut cleared = vec![false; part.uses.len()];
    // The latest use of each identity, with its call; the latest change of each path, and of any.
    let mut latest: HashMap<u64, (u32, usize)> = HashMap::new();
    let mut changed: HashMap<u64, (usize, u64)> = HashMap::new();
    let mut any_change: Option<usize> = None;
    for (i, call) in calls.iter().enumerate() {
        sets.follow(i, &mut cleared);
        let mut others = 0;
        let mut copies = 0;
        for item in &call.output {
            let Kind::Use(id) = item.kind else { continue };
            let tool = part.uses[id as usize].as_str();
            let (what, costly) = (item.identity, default_refetch(tool) == Refetch::Costly);
            let before = latest.get(&what.input).copied().filter(|&(_, at)| what.input != 0 && at < i);
            let original = before.filter(|&(first, at)| {
                let path_changed = changed.get(&what.path).is_some_and(|&(when, by)| what.path != 0 && when >= at && by != what.input);
                let rerun = costly && what.path == 0 && any_change.is_some_and(|when| when >= at);
                cleared[first as usize] && !edits(tool) && !path_changed && !rerun
            });
            match (original, arrives.get(&id)) {
                (Some((first, _)), Some(&(_, held))) if !call.repeated => {
                    let first = found.copies.get(&first).copied().unwrap_or(first);
                    found.copies.insert(id, first);
                    found.failed += u64::from(held == Held::Unchanged);
                    copies += 1;
                }
                _ => others += 1,
            }
            if costly && what.path != 0 {
                changed.insert(what.path, (i, what.input));
                any_change = Some(i);
            }
            if what.input != 0 {
                latest.insert(what.input, (id, i));
            }
        }
        let said: u64 = call.output.iter().filter(|item| item.kind == Kind::Text).map(|item| item.bytes).sum();
        found.dropped[i] = copies > 0 && others == 0 && said <= REMARK && i + 1 < calls.len();
    }
    for (copy, first) in &found.copies {
        let at = arrives[copy].0;
        if let Some(at) = (at..calls.len()).find(|&i| !found.dropped[i])
            && !found.needs[at].contains(first)
        {
            found.needs[at].push(*first);
        }
    }
    found
}
