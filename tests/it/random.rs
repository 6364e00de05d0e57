//! Random transcripts and configs in which every threshold matters.

use cleartune::policy::{
    Assume, Cache, CacheMode, ClearToolInputs, ClearToolUses, KeepCounts, Memory, Selection, Settings, Trigger, TriggerCmp,
};
use cleartune::price::{Prices, Tier};
use cleartune::trace::{Block, Document, Refetch, RequestDoc, ToolDoc};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A small source of choices.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in `0..n`, for the small n of tests.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

const TOOLS: [(&str, Refetch); 5] = [
    ("read_file", Refetch::Yes),
    ("bash", Refetch::Costly),
    ("ask_user", Refetch::Never),
    ("memory", Refetch::Never),
    ("search", Refetch::Yes),
];

/// A transcript of up to 30 requests: parallel and late results, unanswered uses, needs of any use, idle gaps, flushes.
pub fn document(seed: u64) -> Document {
    let mut dice = Dice::new(seed);
    let sizes: &[u32] = dice.pick(&[&[0, 1, 10, 11, 12, 500][..], &[11, 100, 900, 4000], &[500, 4000, 12_000, 40_000]]);
    let mut doc = Document {
        schema: cleartune::trace::SCHEMA.to_owned(),
        id: format!("random-{seed}"),
        base_tokens: dice.pick(&[0, 400, 1024, 5000, 33_000]),
        ..Document::default()
    };
    for (name, refetch) in TOOLS {
        doc.tools.insert(name.to_owned(), ToolDoc::new(refetch));
    }
    let (mut at_ms, mut next_use) = (0, 0);
    let mut open: Vec<u64> = Vec::new();
    let requests = 1 + dice.below(30);
    for i in 0..requests {
        at_ms += dice.pick(&[0, 1500, 20_000, 299_999, 300_000, 300_001, 3_700_000]);
        let mut request = RequestDoc { at_ms, ..RequestDoc::default() };
        if i == 0 || dice.one_in(6) {
            request.input.push(Block::user(dice.pick(sizes)));
        }
        // Results come in any order, some late, some never.
        while !open.is_empty() && !dice.one_in(8) {
            let use_id = open.swap_remove(dice.below(open.len() as u64) as usize);
            let tokens = dice.pick(sizes);
            let bytes = dice.pick(&[None, Some(0), Some(1), Some(46), Some(47), Some(u64::from(tokens) * 4)]);
            request.input.push(Block::result(use_id, tokens, bytes));
        }
        if dice.one_in(3) {
            request.output.push(Block::thinking(dice.pick(sizes)));
        }
        if dice.one_in(3) {
            request.output.push(Block::text(dice.pick(sizes)));
        }
        let uses = if dice.one_in(4) { dice.below(6) } else { 1 };
        for _ in 0..uses {
            request.output.push(Block::tool_use(next_use, dice.pick(&TOOLS).0, dice.pick(&[0, 25, 60, 900])));
            open.push(next_use);
            next_use += 1;
        }
        while next_use > 0 && dice.one_in(3) {
            request.needs.push(dice.below(next_use));
        }
        if dice.one_in(9) {
            request.flush_above = Some(dice.pick(&[0, 500, 1024, 5000, 16_500, 60_000]));
        }
        if dice.one_in(5) {
            request.ttl_ms = Some(dice.pick(&[0, 1500, 300_000, 3_600_000]));
        }
        doc.requests.push(request);
    }
    doc
}

/// A config that is likely to fire on [`document`]s.
pub fn settings(seed: u64) -> Settings {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let edit = (!dice.one_in(12)).then(|| ClearToolUses {
        trigger: if dice.one_in(4) {
            Trigger::ToolUses(dice.below(8))
        } else {
            Trigger::InputTokens(dice.pick(&[0, 600, 5000, 12_000, 40_000, 100_000]))
        },
        keep: dice.pick(&[0, 1, 2, 3, 5, 9]),
        clear_at_least: dice.pick(&[0, 0, 1, 500, 4000, 12_000, 30_000]),
        exclude_tools: dice.pick(&[vec![], vec!["memory".to_owned()], vec!["bash".to_owned(), "search".to_owned()]]),
        clear_tool_inputs: dice.pick(&[
            ClearToolInputs::No,
            ClearToolInputs::No,
            ClearToolInputs::Yes,
            ClearToolInputs::Tools(vec!["bash".to_owned(), "memory".to_owned()]),
        ]),
    });
    Settings {
        policy: None,
        edit,
        assume: Assume {
            memory: dice.pick(&[Memory::Stateless, Memory::Sticky]),
            selection: dice.pick(&[Selection::Batched, Selection::AllOrNothing, Selection::StopWhenReached]),
            keep_counts: dice.pick(&[KeepCounts::Clearable, KeepCounts::All]),
            tiny_result_bytes: dice.pick(&[0, 46, 53]),
            placeholder_tokens: dice.pick(&[0, 7, 11, 25]),
            cleared_input_tokens: dice.pick(&[0, 25]),
            trigger_counts_base: !dice.one_in(4),
            trigger_cmp: dice.pick(&[TriggerCmp::Gt, TriggerCmp::Ge]),
            max_refetch_rounds: dice.pick(&[0, 1, 1, 2, 3]),
        },
        cache: Cache {
            mode: dice.pick(&[CacheMode::Entries, CacheMode::Entries, CacheMode::Prefix, CacheMode::Off]),
            ttl_ms: dice.pick(&[None, None, Some(300_000), Some(3_600_000)]),
            default_ttl_ms: Cache::DEFAULT_TTL_MS,
            lookback: dice.pick(&[0, 1, 2, 5, 20]),
            min_tokens: dice.pick(&[0, 512, 1024, 4096]),
            system_breakpoint: !dice.one_in(3),
            tail_breakpoints: 1 + dice.below(3) as u32,
            group_parallel: !dice.one_in(3),
        },
        prices: Prices {
            tiers: dice.pick(&[vec![], vec![Tier { above: 12_000, input: Some(6.0), output: Some(30.0), ..Tier::default() }]]),
            ..Prices::default()
        },
        other_models: Vec::new(),
        context_window: dice.pick(&[None, Some(20_000), Some(100_000)]),
    }
}
