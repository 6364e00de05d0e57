//! Each finding: a case that has it, one that has not, and the two sides of its boundary.

use serde_json::{Value, json};

use super::*;
use crate::policy::{Assume, Cache, ClearToolInputs, Memory, Settings, Trigger};
use crate::price::{Prices, Tier};

/// A session as it is built up: one request a call.
struct Session {
    base: u64,
    tools: Value,
    requests: Vec<Value>,
    /// Results that come with the next request.
    arriving: Vec<Value>,
    uses: u64,
    now: i64,
}

impl Session {
    fn new(base: u64) -> Self {
        Self { base, tools: json!({}), requests: Vec::new(), arriving: Vec::new(), uses: 0, now: 0 }
    }

    /// A request whose output is `text` tokens and one use a tool, with results of so many tokens.
    fn call(&mut self, uses: &[(&str, u32)], text: u32) -> &mut Self {
        let mut output = Vec::new();
        if text > 0 {
            output.push(json!({"kind": "text", "tokens": text}));
        }
        let input = std::mem::take(&mut self.arriving);
        for (tool, tokens) in uses {
            output.push(json!({"kind": "use", "use": self.uses, "tool": tool, "tokens": 0}));
            self.arriving.push(json!({"kind": "result", "use": self.uses, "tokens": tokens}));
            self.uses += 1;
        }
        self.requests.push(json!({"at_ms": self.now, "input": input, "output": output, "needs": []}));
        self.now += 10_000;
        self
    }

    /// The last request needs these uses.
    fn needs(&mut self, uses: &[u64]) -> &mut Self {
        self.requests.last_mut().unwrap()["needs"] = json!(uses);
        self
    }

    fn pause(&mut self, ms: i64) -> &mut Self {
        self.now += ms;
        self
    }

    fn transcript(&self, settings: Settings) -> Transcript {
        let line =
            json!({"schema": "cleartune.trace/1", "id": "t", "base_tokens": self.base, "tools": self.tools, "requests": self.requests});
        Transcript { trace: crate::trace::parse_line(line.to_string().as_bytes()).unwrap().1, settings }
    }
}

/// `calls` calls of one result each, and one more request that takes the last of them in.
fn steady(base: u64, calls: usize, result: u32, text: u32) -> Session {
    let mut session = Session::new(base);
    for _ in 0..calls {
        session.call(&[("read", result)], text);
    }
    session.call(&[], 0);
    session
}

fn sticky() -> Settings {
    Settings { assume: Assume { memory: Memory::Sticky, ..Assume::default() }, ..Settings::default() }
}

fn edit(trigger: u64, keep: u32, clear_at_least: u64) -> ClearToolUses {
    ClearToolUses { trigger: Trigger::InputTokens(trigger), keep, clear_at_least, ..ClearToolUses::default() }
}

fn of(edit: &ClearToolUses, session: &Session, settings: Settings) -> Vec<Finding> {
    find(Some(edit), &[session.transcript(settings)])
}

fn has(found: &[Finding], id: Id) -> bool {
    found.iter().any(|f| f.id == id)
}

fn number(found: &[Finding], id: Id, name: &str) -> f64 {
    let finding = found.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("{} is missing: {found:?}", id.name()));
    finding.numbers.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{finding:?}")).1
}

#[test]
fn saturated() {
    // Base 20,000, 300 tokens a call, 40 results of 5,000, keep 6: cleared of all candidates the prompt is
    // 20,000 + 40 · 300 + 6 · 5,000 + 34 · 11 = 62,374.
    let session = steady(20_000, 40, 5_000, 300);
    let found = of(&edit(50_000, 6, 0), &session, sticky());
    assert!((number(&found, Id::Saturated, "floor_tokens") - 62_374.0).abs() < 0.5);
    assert!(found[0].id == Id::Saturated && found[0].severity == Severity::Error);
    assert!(is_saturated(&edit(50_000, 6, 0), &[session.transcript(sticky())]));
    // At the trigger it is, below it is not.
    assert!(has(&of(&edit(62_374, 6, 0), &session, sticky()), Id::Saturated));
    assert!(!has(&of(&edit(62_375, 6, 0), &session, sticky()), Id::Saturated));
    // Recomputed clearing is past its trigger for good by nature.
    assert!(!has(&of(&edit(50_000, 6, 0), &session, Settings::default()), Id::Saturated));
}

#[test]
fn slides_every_request() {
    let session = steady(20_000, 40, 5_000, 300);
    let found = of(&edit(50_000, 6, 0), &session, Settings::default());
    assert!(number(&found, Id::SlidesEveryRequest, "rewritten_per_event") > 20_000.0);
    assert!((number(&found, Id::SlidesEveryRequest, "freed_per_event") - 4_989.0).abs() < 0.5);
    assert!(!has(&of(&edit(50_000, 6, 30_000), &session, Settings::default()), Id::SlidesEveryRequest));
    assert!(!has(&of(&edit(50_000, 6, 0), &session, sticky()), Id::SlidesEveryRequest), "remembered");
    // Half of the requests clear: no. One more of them: yes.
    let every_other = |extra: bool| {
        let mut session = Session::new(20_000);
        for i in 0..20 {
            session.call(if i % 2 == 0 || (extra && i == 19) { &[("read", 5_000)] } else { &[] }, 10);
        }
        session.call(&[], 0).call(&[], 0);
        session
    };
    let counts = |extra| {
        let found = survey::of_all(
            Some(&edit(24_000, 0, 0)),
            &[every_other(extra)
                .transcript(Settings { assume: Assume { max_refetch_rounds: 0, ..Assume::default() }, ..Settings::default() })],
        );
        (found[0].events, found[0].since_first)
    };
    assert_eq!((counts(false), counts(true)), ((10, 21), (11, 21)));
    let without_rounds = || Settings { assume: Assume { max_refetch_rounds: 0, ..Assume::default() }, ..Settings::default() };
    assert!(!has(&of(&edit(24_000, 0, 0), &every_other(false), without_rounds()), Id::SlidesEveryRequest));
    assert!(has(&of(&edit(24_000, 0, 0), &every_other(true), without_rounds()), Id::SlidesEveryRequest));
}

#[test]
fn low_mark_equals_trigger() {
    // After each clear of one result the prompt is just under the trigger again.
    let session = steady(20_000, 40, 2_000, 0);
    let stops = || Settings {
        assume: Assume { memory: Memory::Sticky, selection: crate::policy::Selection::StopWhenReached, ..Assume::default() },
        ..Settings::default()
    };
    let found = of(&edit(50_000, 3, 1), &session, stops());
    assert!(has(&found, Id::LowMarkEqualsTrigger), "{found:?}");
    assert!(!has(&of(&edit(50_000, 3, 20_000), &session, stops()), Id::LowMarkEqualsTrigger));
    // One result of 2,000 arrives with each request. A clear of one leaves exactly the trigger less 1,989 + 2,000 behind, or a token less.
    let boundary = |trigger: u64| number_of_events(&edit(trigger, 3, 1), &session, stops());
    let (events, near) = boundary(50_000);
    assert!(near == events && events > 10, "{near} of {events}");
}

fn number_of_events(edit: &ClearToolUses, session: &Session, settings: Settings) -> (u64, u64) {
    let seen = &survey::of_all(Some(edit), &[session.transcript(settings)])[0];
    (seen.events, seen.events_near_trigger)
}

#[test]
fn a_clear_ends_near_the_trigger_or_not() {
    // Base 1,000; results of 1,000; one clear of all four candidates leaves 1,000 + 1,000 + 4 · 11 = 2,044; the usual growth is 1,000.
    let session = steady(1_000, 5, 1_000, 0);
    let near = |trigger: u64| number_of_events(&edit(trigger, 1, 3_956), &session, sticky());
    assert_eq!(near(3_043), (1, 1), "3,044 is above 3,043");
    assert_eq!(near(3_044), (1, 0), "and not above 3,044");
}

#[test]
fn never_fires() {
    let session = steady(20_000, 10, 3_000, 0);
    let found = of(&edit(60_000, 3, 0), &session, Settings::default());
    assert!((number(&found, Id::NeverFires, "largest") - 50_000.0).abs() < 0.5);
    let fires = number(&found, Id::NeverFires, "largest_that_fires") as u64;
    assert_eq!(fires, 49_999);
    assert!(!has(&of(&edit(fires, 3, 0), &session, Settings::default()), Id::NeverFires));
    assert!(has(&of(&edit(fires + 1, 3, 0), &session, Settings::default()), Id::NeverFires));
    // It fires and keeps everything.
    assert!(has(&of(&edit(30_000, 10, 0), &session, Settings::default()), Id::NeverFires));
    assert!(!has(&of(&edit(30_000, 9, 0), &session, Settings::default()), Id::NeverFires));
    // Counted in uses.
    let uses = |n| ClearToolUses { trigger: Trigger::ToolUses(n), ..edit(0, 3, 0) };
    assert!((number(&of(&uses(10), &session, Settings::default()), Id::NeverFires, "largest_that_fires") - 9.0).abs() < 0.5);
    assert!(!has(&of(&uses(9), &session, Settings::default()), Id::NeverFires));
}

#[test]
fn unreachable_clear_at_least() {
    // Base 33,000; 900 tokens a call; results of 3,000; keep 3; window 200,000. The request with 43 results would be the first beyond the
    // window: 40 of them may be cleared, each of which frees 2,989.
    let session = steady(33_000, 60, 3_000, 900);
    let window = || Settings { context_window: Some(200_000), ..Settings::default() };
    let found = of(&edit(180_000, 3, 140_000), &session, window());
    assert!((number(&found, Id::UnreachableClearAtLeast, "largest_that_works") - 119_560.0).abs() < 0.5);
    assert!(found.iter().any(|f| f.remedy.contains("119,560")));
    assert!(has(&found, Id::OverflowBeforeClear), "and so the window overflows");
    let works = of(&edit(180_000, 3, 119_560), &session, window());
    assert!(!has(&works, Id::UnreachableClearAtLeast) && !has(&works, Id::OverflowBeforeClear), "{works:?}");
    let beyond = of(&edit(180_000, 3, 119_561), &session, window());
    assert!(has(&beyond, Id::UnreachableClearAtLeast) && has(&beyond, Id::OverflowBeforeClear));
}

#[test]
fn overflow_before_clear() {
    let session = steady(20_000, 10, 3_000, 0);
    let window = |w| Settings { context_window: Some(w), ..Settings::default() };
    // 41,000 tokens at the request with seven results.
    let found = of(&edit(45_000, 3, 0), &session, window(40_999));
    assert_eq!(number(&found, Id::OverflowBeforeClear, "request") as u64, 7);
    assert!(!has(&of(&edit(45_000, 3, 0), &session, window(47_000)), Id::OverflowBeforeClear), "47,000 fits, and is cleared after");
    assert!(has(&of(&edit(45_000, 3, 0), &session, window(44_000 - 1)), Id::OverflowBeforeClear));
    assert!(!has(&of(&edit(40_000, 3, 0), &session, window(44_000)), Id::OverflowBeforeClear));
}

#[test]
fn lookback_cliff() {
    // One result a request slides out of the tail: behind it lie 2 positions a call.
    let session = steady(20_000, 40, 3_000, 0);
    let found = of(&edit(30_000, 15, 0), &session, Settings::default());
    assert!(number(&found, Id::LookbackCliff, "median_positions") > 20.0);
    assert!(!has(&of(&edit(30_000, 3, 0), &session, Settings::default()), Id::LookbackCliff));
    let positions = |keep| {
        let seen = survey::of_all(Some(&edit(30_000, keep, 0)), &[session.transcript(Settings::default())]);
        (*seen[0].positions_behind.last().unwrap(), seen[0].events_beyond_lookback)
    };
    // The cleared result, then a use and a result for each that is kept: 1 + 2 · keep.
    assert_eq!(positions(9).0, 19);
    let lookback = |n| Settings { cache: Cache { lookback: n, ..Cache::default() }, ..Settings::default() };
    assert!(!has(&of(&edit(30_000, 9, 0), &session, lookback(20)), Id::LookbackCliff));
    assert!(has(&of(&edit(30_000, 9, 0), &session, lookback(19)), Id::LookbackCliff));
    // A batch reaches farther back, but its kept tail is as short as ever.
    assert!(!has(&of(&edit(30_000, 3, 60_000), &session, Settings::default()), Id::LookbackCliff));
}

#[test]
fn below_minimum_cacheable() {
    let session = steady(500, 10, 1_000, 0);
    let minimum = |n| Settings { cache: Cache { min_tokens: n, ..Cache::default() }, ..Settings::default() };
    // Nine results are cleared at once: 500 + 1,000 + 9 · 11 = 1,599 are left at the end.
    let config = edit(9_000, 1, 0);
    assert!(has(&of(&config, &session, minimum(1_600)), Id::BelowMinimumCacheable));
    let least: u64 = 500 + 1_000 + 8 * 11;
    assert!(!has(&of(&config, &session, minimum(least)), Id::BelowMinimumCacheable), "the smallest cleared prompt has eight placeholders");
    assert!(has(&of(&config, &session, minimum(least + 1)), Id::BelowMinimumCacheable));
    // Without clearing: every prompt, or all but one.
    let none = |n| find(None, &[session.transcript(minimum(n))]);
    assert!(has(&none(10_501), Id::BelowMinimumCacheable) && !has(&none(10_500), Id::BelowMinimumCacheable));
}

#[test]
fn price_cliff() {
    let session = steady(20_000, 10, 3_000, 0);
    let tiered = |above| Settings {
        prices: Prices { tiers: vec![Tier { above, input: Some(15.0), cache_write: Some(18.75), ..Tier::default() }], ..Prices::default() },
        ..Settings::default()
    };
    let none = |above| find(None, &[session.transcript(tiered(above))]);
    assert_eq!(number(&none(47_000), Id::PriceCliff, "requests") as u64, 1);
    assert!(number(&none(47_000), Id::PriceCliff, "usd") > 0.0);
    assert!(!has(&none(50_000), Id::PriceCliff) && has(&none(49_999), Id::PriceCliff));
    assert!(!has(&of(&edit(45_000, 1, 0), &session, tiered(47_000)), Id::PriceCliff), "a config that stays below");
}

#[test]
fn excluded_dominates() {
    let session = |big: u32| {
        let mut session = Session::new(1_000);
        for _ in 0..10 {
            session.call(&[("big", big), ("small", 3_000)], 0);
        }
        session.call(&[], 0);
        session
    };
    let config = ClearToolUses { exclude_tools: vec!["big".to_owned()], ..edit(5_000, 3, 0) };
    // 70 % of the tokens.
    let found = of(&config, &session(7_000), Settings::default());
    assert!((number(&found, Id::ExcludedDominates, "excluded_tokens") - 70_000.0).abs() < 0.5);
    assert!(found.iter().any(|f| f.evidence.contains("70 %") && f.remedy.contains("big")));
    assert!(!has(&of(&config, &session(3_000), Settings::default()), Id::ExcludedDominates), "half of them");
    assert!(has(&of(&config, &session(3_001), Settings::default()), Id::ExcludedDominates));
    assert!(!has(&of(&edit(5_000, 3, 0), &session(7_000), Settings::default()), Id::ExcludedDominates));
}

#[test]
fn memory_not_excluded() {
    let mut session = Session::new(1_000);
    for _ in 0..10 {
        session.call(&[("Memory_read", 2_000)], 0).call(&[("read", 2_000)], 0);
    }
    session.call(&[], 0);
    assert!(has(&of(&edit(5_000, 3, 0), &session, Settings::default()), Id::MemoryNotExcluded));
    let excluded = ClearToolUses { exclude_tools: vec!["Memory_read".to_owned()], ..edit(5_000, 3, 0) };
    assert!(!has(&of(&excluded, &session, Settings::default()), Id::MemoryNotExcluded));
    // Never cleared, so nothing is lost: the trigger at its boundary.
    assert!(!has(&of(&edit(41_000, 3, 0), &session, Settings::default()), Id::MemoryNotExcluded));
    assert!(has(&of(&edit(40_999, 3, 0), &session, Settings::default()), Id::MemoryNotExcluded));
}

#[test]
fn irrecoverable_cleared() {
    let session = |needed: bool| {
        let mut session = steady(1_000, 10, 2_000, 0);
        session.tools = json!({"read": {"refetch": "never"}});
        if needed {
            session.needs(&[0]);
        }
        session
    };
    let severity = |needed| {
        of(&edit(5_000, 3, 0), &session(needed), Settings::default()).iter().find(|f| f.id == Id::IrrecoverableCleared).map(|f| f.severity)
    };
    assert_eq!((severity(true), severity(false)), (Some(Severity::Error), Some(Severity::Note)));
    let mut recoverable = session(true);
    recoverable.tools = json!({});
    assert!(!has(&of(&edit(5_000, 3, 0), &recoverable, Settings::default()), Id::IrrecoverableCleared));
    assert!(!has(&of(&edit(21_000, 3, 0), &session(true), Settings::default()), Id::IrrecoverableCleared), "nothing is cleared");
    assert!(has(&of(&edit(20_999, 3, 0), &session(true), Settings::default()), Id::IrrecoverableCleared));
}

#[test]
fn keep_splits_batch() {
    let session = |batches: usize| {
        let mut session = Session::new(1_000);
        for i in 0..20 {
            let three = [("read", 2_000), ("read", 2_000), ("read", 2_000)];
            session.call(if i < batches { &three } else { &three[..1] }, 0);
        }
        session.call(&[], 0);
        session
    };
    // Two of twenty batches are larger than keep 2: a tenth.
    let found = of(&edit(5_000, 2, 0), &session(2), Settings::default());
    assert_eq!(number(&found, Id::KeepSplitsBatch, "larger_than_keep") as u64, 2);
    assert!(!has(&of(&edit(5_000, 2, 0), &session(1), Settings::default()), Id::KeepSplitsBatch));
    assert!(!has(&of(&edit(5_000, 3, 0), &session(2), Settings::default()), Id::KeepSplitsBatch), "keep 3 holds them");
    assert!(has(&of(&edit(5_000, 0, 0), &session(1), Settings::default()), Id::KeepSplitsBatch), "keep 0 splits every batch");
}

#[test]
fn clear_before_idle_and_clearing_when_cold() {
    let session = |gap: i64, late: bool| {
        let mut session = Session::new(20_000);
        for i in 0..12 {
            session.call(&[("read", 3_000)], 0);
            if i == if late { 9 } else { 10 } {
                session.pause(gap);
            }
        }
        session.call(&[], 0);
        session
    };
    // The clear at the request with ten results (50,000 tokens) breaks a warm cache; the next request comes after the pause.
    let config = edit(49_000, 3, 12_000);
    let events = |gap, late| {
        let seen = survey::of_all(Some(&config), &[session(gap, late).transcript(Settings::default())]);
        (seen[0].invalidations, seen[0].events_before_idle, seen[0].cold_requests)
    };
    // Ten seconds go by in any case.
    assert_eq!(events(290_001, false), (1, 1, 1));
    assert_eq!(events(290_000, false), (1, 0, 0));
    assert!(has(&of(&config, &session(290_001, false), Settings::default()), Id::ClearBeforeIdle));
    assert!(!has(&of(&config, &session(290_000, false), Settings::default()), Id::ClearBeforeIdle));
    assert_eq!(events(290_001, true).1, 0, "the clear itself comes after the pause");
    assert!(!has(&of(&config, &session(290_001, true), Settings::default()), Id::ClearWhenColdIsFree), "it is made use of");
    // Nothing is cleared although the cache is cold.
    let later = edit(70_000, 3, 0);
    assert!(has(&of(&later, &session(290_001, false), Settings::default()), Id::ClearWhenColdIsFree));
    assert!(!has(&of(&later, &session(290_000, false), Settings::default()), Id::ClearWhenColdIsFree));
}

#[test]
fn a_free_clear_has_to_be_worth_it() {
    let session = |tokens| {
        let mut session = Session::new(20_000);
        session.call(&[("read", tokens)], 0).call(&[("read", 10)], 0).call(&[], 0).pause(300_000).call(&[], 0);
        session
    };
    let found = |tokens| has(&of(&edit(900_000, 1, 0), &session(tokens), Settings::default()), Id::ClearWhenColdIsFree);
    assert!(found(1_011) && !found(1_010), "a placeholder of 11 is left");
}

#[test]
fn read_too_cheap() {
    let session = steady(20_000, 30, 3_000, 300);
    let at = |ratio: f64| Settings { prices: Prices { cache_read: 3.0 * ratio, ..Prices::default() }, ..Settings::default() };
    let least = survey::of_all(Some(&edit(30_000, 3, 0)), &[session.transcript(at(0.1))])[0].least_read_price.unwrap();
    assert!(least > 0.0 && least < 1.25, "{least}");
    assert!(has(&of(&edit(30_000, 3, 0), &session, at(least * 0.999)), Id::ReadTooCheap));
    assert!(!has(&of(&edit(30_000, 3, 0), &session, at(least * 1.001)), Id::ReadTooCheap));
    assert!(
        !has(&find(None, &[Session::new(5_000).call(&[], 10).call(&[], 10).transcript(at(0.01))]), Id::ReadTooCheap),
        "nothing to clear"
    );
}

#[test]
fn the_least_read_price_is_that_of_the_break_even() {
    // One result of 10,000 then 1,000 of text, cleared at the first chance with nine more requests to come while warm.
    let mut session = Session::new(5_000);
    session.call(&[("read", 10_011)], 0).call(&[("read", 0)], 1_000);
    for _ in 0..9 {
        session.call(&[], 0);
    }
    let seen = survey::of_all(Some(&edit(1, 1, 0)), &[session.transcript(Settings::default())]);
    // At request 2: F = 10,000; W = 11 + 1,000; R = 8. Write price 1.25.
    let expected = 1.25 * 1_011.0 / (10_000.0 * 9.0 + 1_011.0);
    assert!((seen[0].least_read_price.unwrap() - expected).abs() < 1e-4, "{:?} {expected}", seen[0].least_read_price);
}

#[test]
fn dead_knob() {
    let session = steady(20_000, 20, 3_000, 300);
    let dead = |config: &ClearToolUses| {
        let found = of(config, &session, Settings::default());
        found.iter().filter(|f| f.id == Id::DeadKnob).map(|f| f.evidence.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let excludes = ClearToolUses { exclude_tools: vec!["nothing".to_owned()], ..edit(40_000, 5, 8_000) };
    assert_eq!(dead(&excludes), ["nothing"]);
    // Each batch is one result of 2,989: asking for that or for less is the same as asking for nothing.
    assert_eq!(dead(&edit(40_000, 5, 2_989)), ["clear_at_least"]);
    assert!(dead(&edit(40_000, 5, 2_990)).is_empty());
    // The uses have no tokens: their inputs grow when cleared, which is a change.
    let inputs = ClearToolUses { clear_tool_inputs: ClearToolInputs::Yes, ..edit(40_000, 5, 8_000) };
    assert!(dead(&inputs).is_empty());
}

#[test]
fn refetch_chain() {
    let session = |again: bool| {
        let mut session = steady(1_000, 12, 2_000, 0);
        session.needs(&[0]);
        for _ in 0..6 {
            session.call(&[("read", 2_000)], 0);
        }
        session.call(&[], 0);
        if again {
            session.needs(&[0]);
        }
        session
    };
    let found = of(&edit(5_000, 3, 0), &session(true), Settings::default());
    assert_eq!(number(&found, Id::RefetchChain, "longest_chain") as u64, 2);
    assert!(!has(&of(&edit(5_000, 3, 0), &session(false), Settings::default()), Id::RefetchChain), "once is no chain");
    assert!(!has(&of(&edit(5_000, 30, 0), &session(true), Settings::default()), Id::RefetchChain));
}

#[test]
fn every_id_has_its_name_in_files() {
    for id in Id::ALL {
        assert_eq!(serde_json::to_value(id).unwrap(), json!(id.name()));
    }
    assert_eq!((n(0), n(999), n(1_000), n(119_560)), ("0".to_owned(), "999".to_owned(), "1,000".to_owned(), "119,560".to_owned()));
}
