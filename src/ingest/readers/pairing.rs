//! Results to their uses, the same for every format whose results name the use.

use std::collections::HashMap;

use super::super::normal::{Held, Item, Kind, Part, arrange};
use super::content::{Piece, Raw};

/// What found no partner, by index of the call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Calls that made a use which no result answers, once a use.
    pub uses: Vec<usize>,
    /// Calls that brought a result without a use, once a result; these count as client text.
    pub results: Vec<usize>,
}

/// Fills input and output of the part's calls from their raw pieces, `(input, output)` a call. `pending`: what no call sent any more.
///
/// A result belongs to the latest call before it that made a use of its id which is not answered yet; within that call to the first such
/// use. So ids that a model uses again and again pair by position. A result that the log writes before its use was sent after it all the
/// same.
pub fn pair(part: &mut Part, pieces: Vec<(Vec<Piece>, Vec<Piece>)>, pending: Vec<Piece>) -> Orphans {
    let mut orphans = Orphans::default();
    let mut used_in: Vec<usize> = Vec::new();
    let mut by_id: HashMap<u128, Vec<u32>> = HashMap::new();
    let mut inputs = Vec::with_capacity(pieces.len() + 1);
    for (i, (input, output)) in pieces.into_iter().enumerate() {
        inputs.push(input);
        for Piece { raw, mut item, .. } in output {
            if let Raw::Use(id, name) = raw {
                let index = part.uses.len() as u32;
                part.uses.push(name);
                used_in.push(i);
                by_id.entry(id).or_default().push(index);
                item.kind = Kind::Use(index);
            }
            part.calls[i].output.push(item);
        }
    }
    inputs.push(pending);
    // What the client says that it cleared is the latest use of the id before that call.
    for (i, call) in part.calls.iter_mut().enumerate() {
        let latest = |id: &u128| by_id.get(id)?.iter().rev().copied().find(|&u| used_in[u as usize] < i);
        call.replaced = std::mem::take(&mut call.replaced_ids).iter().filter_map(latest).collect();
    }
    let mut answered = vec![false; part.uses.len()];
    let used = by_id.clone();
    let mut arriving: Vec<Vec<Item>> = (0..inputs.len()).map(|_| Vec::new()).collect();
    for (i, input) in inputs.into_iter().enumerate() {
        for Piece { raw, mut item, .. } in input {
            let mut at = i;
            if let Raw::Result(id) = raw {
                let open = by_id.get_mut(&id).and_then(|uses| {
                    uses.retain(|&u| !answered[u as usize]);
                    let latest = uses.iter().map(|&u| used_in[u as usize]).filter(|&call| call < i).max();
                    uses.iter().copied().find(|&u| latest.is_none_or(|call| used_in[u as usize] == call))
                });
                let cleared = matches!(item.held, Held::Placeholder | Held::Restored);
                if let Some(index) = open {
                    answered[index as usize] = true;
                    item.kind = Kind::Result(index);
                    at = at.max(used_in[index as usize] + 1);
                    if let Some(call) = part.calls.get_mut(at).filter(|_| item.held == Held::Restored) {
                        call.replaced.push(index);
                    }
                } else if let Some(&index) = used.get(&id).filter(|_| cleared).and_then(|uses| uses.last()) {
                    // The client wrote the record once more, with its placeholder.
                    if let Some(call) = part.calls.get_mut(i) {
                        call.replaced.push(index);
                        call.messages_changed = true;
                    }
                    continue;
                } else {
                    orphans.results.push(i);
                    item.kind = Kind::User;
                }
            }
            arriving[at].push(item);
        }
    }
    orphans.uses.extend(answered.iter().zip(&used_in).filter(|(answered, _)| !**answered).map(|(_, &call)| call));
    for (call, mut input) in part.calls.iter_mut().zip(arriving) {
        arrange(&mut input);
        call.input = input;
    }
    orphans
}
