//! The prompt cache: which prefixes are held, what a prompt reads, what it writes.
//!
//! Two prefixes are the same if they hold the same blocks in the same state. As every prompt of a replay is a part of one
//! growing history, a prefix is a path in a tree: at each block that is there, whole, trimmed or cleared. Its node *is* the
//! content, so that comparing prefixes is comparing node numbers, exactly. A block that is missing has no node: the next one that is
//! there hangs on the node before it.

use std::collections::HashMap;

use super::history::{Edited, History};
use crate::policy::space::State;
use crate::policy::{Cache, CacheMode};
use crate::trace::NONE;

/// One prefix content.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The contents one block longer: that block whole, trimmed, and cleared.
    next: [u32; 3],
    /// The block of the history behind its last one.
    end: u32,
    tokens: u64,
    /// Whether an entry for this content is held, and since when, for how long.
    held: bool,
    last_used: i64,
    ttl: i64,
}

impl Node {
    fn new(end: u32, tokens: u64) -> Self {
        Self { next: [NONE; 3], end, tokens, held: false, last_used: 0, ttl: 0 }
    }
}

/// When a request reads and writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    pub now: i64,
    pub ttl: i64,
    /// The tokens that the provider still serves after a natural invalidation; 0 without one.
    pub floor: u64,
}

/// The cache of one replay.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    nodes: Vec<Node>,
    /// Contents longer by a block before which others of the history are missing, by node, that block and its state.
    over_gaps: HashMap<(u32, u32, State), u32>,
    /// By model: the node of the base. Caches are kept per model, so what one model sees is another content to the next.
    roots: Vec<u32>,
    /// Nodes that hold, or held, an entry.
    entries: Vec<u32>,
    /// By position: the node of the prompt's prefix that ends with it.
    path: Vec<u32>,
    /// The same for the hypothetical prompt, from position `other_from` on.
    other: Vec<u32>,
    other_from: usize,
    breakpoints: Vec<u32>,
    /// Whether positions of the history can be missing in a prompt: one that is has the node of the position before it.
    gaps: bool,
}

impl PromptCache {
    /// Empties the cache, keeping its memory. `gaps`: whether positions of the history can be missing in a prompt.
    pub fn reset(&mut self, base_tokens: u64, gaps: bool) {
        self.gaps = gaps;
        self.nodes.clear();
        self.nodes.push(Node::new(0, base_tokens));
        self.over_gaps.clear();
        self.roots.clear();
        self.roots.push(0);
        self.entries.clear();
        self.path.clear();
        self.path.push(0);
    }

    /// Goes over to the cache of model `model`; the prompt has to be followed anew when it is another.
    pub fn enter(&mut self, model: u16) {
        let base_tokens = self.nodes[0].tokens;
        while self.roots.len() <= usize::from(model) {
            self.roots.push(self.nodes.len() as u32);
            self.nodes.push(Node::new(0, base_tokens));
        }
        let root = self.roots[usize::from(model)];
        if self.path[0] != root {
            self.path.clear();
            self.path.push(root);
        }
    }

    /// Lets every entry that is live at `then` count as used at `now`.
    pub fn keep_warm(&mut self, then: i64, now: i64) {
        for &node in &self.entries {
            let entry = &mut self.nodes[node as usize];
            if entry.held && then.saturating_sub(entry.last_used) <= entry.ttl {
                entry.last_used = now;
            }
        }
    }

    /// Drops every entry whose prefix is longer than `tokens`.
    pub fn flush_above(&mut self, tokens: u64) {
        let nodes = &mut self.nodes;
        self.entries.retain(|&node| {
            let node = &mut nodes[node as usize];
            node.held &= node.tokens <= tokens;
            node.held
        });
    }

    /// Follows the prompt: `history` with its cleared set, which differs from the last one followed from position
    /// `changed_from` on at the earliest (or only by new blocks).
    pub fn follow(&mut self, history: &History, changed_from: Option<u32>) {
        let known = changed_from.map_or(self.path.len(), |p| self.path.len().min(p as usize));
        self.path.truncate(known);
        let mut path = std::mem::take(&mut self.path);
        self.extend(&mut path, known, history, &history.now, 0);
        self.path = path;
    }

    /// Follows the hypothetical prompt: the same history with so much of it as `before`, which differs from the
    /// prompt's from position `changed_from` on.
    pub fn follow_other(&mut self, history: &History, before: &Edited, changed_from: u32) {
        let mut other = std::mem::take(&mut self.other);
        other.clear();
        self.other_from = changed_from as usize;
        self.extend(&mut other, changed_from as usize, history, before, changed_from as usize);
        self.other = other;
    }

    /// Appends to `nodes_at` the nodes of positions `from..`; it holds those of positions `offset..from`.
    fn extend(&mut self, nodes_at: &mut Vec<u32>, from: usize, history: &History, edited: &Edited, offset: usize) {
        let mut node = if from > offset { nodes_at[from - offset - 1] } else { self.path[from - 1] };
        let mut block = history.position_ends[from - 1] as usize;
        for &end in &history.position_ends[from..] {
            for b in block..end as usize {
                let Some((state, tokens)) = history.shown(b, edited) else { continue };
                node = self.longer(node, b as u32, state, tokens);
            }
            block = end as usize;
            nodes_at.push(node);
        }
    }

    /// The content of `node` and block `block` in that state behind it.
    fn longer(&mut self, node: u32, block: u32, state: State, tokens: u32) -> u32 {
        let Node { next, end, tokens: before, .. } = self.nodes[node as usize];
        let known = if end == block { next[state as usize] } else { self.over_gaps.get(&(node, block, state)).copied().unwrap_or(NONE) };
        if known != NONE {
            return known;
        }
        let new = self.nodes.len() as u32;
        if end == block {
            self.nodes[node as usize].next[state as usize] = new;
        } else {
            self.over_gaps.insert((node, block, state), new);
        }
        self.nodes.push(Node::new(block + 1, before + u64::from(tokens)));
        new
    }

    /// Marks the breakpoints of the prompt that was followed: last position first.
    pub fn mark_breakpoints(&mut self, history: &History, cache: &Cache) {
        self.breakpoints.clear();
        let last = history.last_position();
        self.breakpoints.push(last);
        let further = cache.tail_breakpoints.saturating_sub(1) as usize;
        let (path, gaps) = (&self.path, self.gaps);
        let node = |position: u32| path[position as usize];
        // With gaps: messages of which something is there, and that end before the last position that is.
        let is_end = |&&(start, end): &&(u32, u32)| end < last && (!gaps || (node(end) != node(start - 1) && node(end) != node(last)));
        self.breakpoints.extend(history.user_messages.iter().rev().filter(is_end).map(|&(_, end)| end).take(further));
        if cache.system_breakpoint && self.breakpoints.last() != Some(&0) {
            self.breakpoints.push(0);
        }
    }

    /// Tokens that the prompt reads; an entry that is hit lives on from now.
    pub fn read(&mut self, cache: &Cache, when: When) -> u64 {
        let hit = self.find(cache, when.now, |cache, position| cache.path[position as usize]);
        let tokens = hit.map_or(0, |node| self.nodes[node as usize].tokens);
        if tokens < when.floor {
            return when.floor;
        }
        if let Some(node) = hit {
            self.touch(node, when);
        }
        tokens
    }

    /// Tokens of the prompt that was followed before position `position`, which is not 0.
    pub fn tokens_before(&self, position: u32) -> u64 {
        (position as usize).checked_sub(1).map_or(0, |before| self.nodes[self.path[before] as usize].tokens)
    }

    /// Tokens that the hypothetical prompt would read; refreshes nothing.
    pub fn read_other(&self, cache: &Cache, when: When) -> u64 {
        let hit = self.find(cache, when.now, |cache, position| match (position as usize).checked_sub(cache.other_from) {
            Some(i) => cache.other[i],
            None => cache.path[position as usize],
        });
        hit.map_or(0, |node| self.nodes[node as usize].tokens).max(when.floor)
    }

    fn find(&self, cache: &Cache, now: i64, node_at: impl Fn(&Self, u32) -> u32) -> Option<u32> {
        let live = |position: u32| {
            let node = node_at(self, position);
            let entry = &self.nodes[node as usize];
            (entry.held && now.saturating_sub(entry.last_used) <= entry.ttl).then_some(node)
        };
        match cache.mode {
            CacheMode::Off => None,
            CacheMode::Prefix => (0..=self.breakpoints[0]).rev().find_map(live),
            CacheMode::Entries => {
                let lookback = cache.lookback as usize;
                let there = |&position: &u32| position == 0 || node_at(self, position) != node_at(self, position - 1);
                self.breakpoints.iter().find_map(|&breakpoint| {
                    let back = (0..=breakpoint).rev();
                    if self.gaps { back.filter(there).take(lookback).find_map(live) } else { back.take(lookback).find_map(live) }
                })
            }
        }
    }

    /// Writes the entries of the prompt.
    pub fn write(&mut self, cache: &Cache, when: When) {
        match cache.mode {
            CacheMode::Off => {}
            CacheMode::Entries => {
                for i in 0..self.breakpoints.len() {
                    let node = self.path[self.breakpoints[i] as usize];
                    self.write_one(node, cache.min_tokens, when);
                }
            }
            CacheMode::Prefix => {
                for position in 0..self.path.len() {
                    self.write_one(self.path[position], cache.min_tokens, when);
                }
            }
        }
    }

    fn write_one(&mut self, node: u32, min_tokens: u64, when: When) {
        if self.nodes[node as usize].tokens < min_tokens {
            return;
        }
        if !self.nodes[node as usize].held {
            self.nodes[node as usize].held = true;
            self.entries.push(node);
        }
        self.touch(node, when);
    }

    fn touch(&mut self, node: u32, when: When) {
        let entry = &mut self.nodes[node as usize];
        entry.last_used = when.now;
        entry.ttl = when.ttl;
    }
}
