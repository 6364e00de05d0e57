//! Which records a user rewound past.
//!
//! A parent with several children is no rewind as a rule: parallel results and the records of one answer branch too. Only where a user's
//! prompt has siblings did the user go back and write another; then the branch that leads to the last message counts, and the others go.

use std::collections::HashMap;

use super::chains::{Body, Node};

/// For each node whether it stands on a branch that was left.
pub fn dropped(nodes: &[Node], by_uuid: &HashMap<u128, u32>, chains: usize) -> Vec<bool> {
    let parents: Vec<Option<usize>> = nodes
        .iter()
        .enumerate()
        .map(|(i, n)| {
            let parent = n.parent.and_then(|p| by_uuid.get(&p)).map(|&p| p as usize)?;
            (parent != i && nodes[parent].chain == n.chain).then_some(parent)
        })
        .collect();
    let mut leaf = vec![None; chains];
    for (i, node) in nodes.iter().enumerate() {
        if matches!(node.body, Body::Input { .. } | Body::Output { .. }) {
            leaf[node.chain as usize] = Some(i);
        }
    }
    let mut on_leaf = vec![false; nodes.len()];
    for start in leaf.into_iter().flatten() {
        let mut at = Some(start);
        while let Some(i) = at.filter(|&i| !on_leaf[i]) {
            on_leaf[i] = true;
            at = parents[i];
        }
    }
    let mut children: Vec<(usize, usize)> = parents.iter().enumerate().filter_map(|(i, p)| Some(((*p)?, i))).collect();
    children.sort_unstable();
    let mut gone = vec![false; nodes.len()];
    let mut stack = Vec::new();
    for family in children.chunk_by(|a, b| a.0 == b.0) {
        let parent = &nodes[family[0].0];
        let rewound = family.len() > 1 && family.iter().any(|&(_, c)| nodes[c].prompt) && family.iter().any(|&(_, c)| on_leaf[c]);
        if rewound {
            stack.extend(family.iter().map(|&(_, c)| c).filter(|&c| !on_leaf[c] && !continues(parent, &nodes[c])));
        }
    }
    while let Some(i) = stack.pop() {
        if std::mem::replace(&mut gone[i], true) {
            continue;
        }
        let from = children.partition_point(|&(p, _)| p < i);
        stack.extend(children[from..].iter().take_while(|&&(p, _)| p == i).map(|&(_, c)| c));
    }
    gone
}

/// Whether a child is part of what its parent began: a result, or the next record of the same answer.
fn continues(parent: &Node, child: &Node) -> bool {
    match (&parent.body, &child.body) {
        (_, Body::Input { results, .. }) => *results,
        (Body::Output { call: a, .. }, Body::Output { call: b, .. }) => a == b,
        _ => false,
    }
}
