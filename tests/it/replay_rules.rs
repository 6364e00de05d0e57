//! Rules of the replay that no worked case decides, each with a case on both sides.

use cleartune::policy::{Assume, Cache, CacheMode, ClearToolUses, KeepCounts, Memory, Settings, Trigger};
use cleartune::price::{Prices, Tier};
use cleartune::replay::{Row, replay};
use cleartune::trace::{Block, Document, RequestDoc, SCHEMA, Trace};

fn request(at_ms: i64, input: Vec<Block>, output: Vec<Block>) -> RequestDoc {
    RequestDoc { at_ms, input, output, ..RequestDoc::default() }
}

fn rows(base_tokens: u32, requests: Vec<RequestDoc>, settings: &Settings) -> Vec<Row> {
    let doc = Document { schema: SCHEMA.to_owned(), id: "t".to_owned(), base_tokens, requests, ..Document::default() };
    replay(&Trace::from_document(&doc).unwrap(), settings).requests
}

fn clear(trigger: Trigger, keep: u32, clear_at_least: u64) -> Settings {
    Settings { edit: Some(ClearToolUses { trigger, keep, clear_at_least, ..ClearToolUses::default() }), ..Settings::default() }
}

/// `n` requests, each bringing the result of the one use before it.
fn steps(n: u64, result: u32) -> Vec<RequestDoc> {
    (0..n)
        .map(|i| {
            let input = if i == 0 { Block::user(100) } else { Block::result(i - 1, result, None) };
            request(i as i64 * 1000, vec![input], vec![Block::tool_use(i, "read", 50)])
        })
        .collect()
}

#[test]
fn remembered_clearing_counts_cleared_uses_against_a_trigger_in_uses() {
    // Uses 0 and 1 are cleared at the third request; they count on, so the trigger stays passed.
    let mut settings = clear(Trigger::ToolUses(2), 1, 0);
    settings.assume.memory = Memory::Sticky;
    let cleared: Vec<u64> = rows(2000, steps(6, 3000), &settings).iter().map(|r| r.cleared_uses).collect();
    assert_eq!(cleared, [0, 0, 0, 2, 3, 4]);
}

#[test]
fn a_flush_spares_an_entry_of_exactly_its_size() {
    let with = |flush_above: u64| {
        let mut requests = vec![request(0, vec![Block::user(1000)], vec![Block::text(10)]), request(1000, vec![Block::user(500)], vec![])];
        requests[1].flush_above = Some(flush_above);
        rows(2000, requests, &Settings::default())[1].cache_read
    };
    // The first request wrote entries of 2,000 (the base) and 3,000 tokens.
    assert_eq!(with(3000), 3000);
    assert_eq!(with(2999), 2000);
    assert_eq!(with(1999), 1999, "the provider still serves that much of the base");
    assert_eq!(with(0), 0);
}

#[test]
fn nothing_is_served_to_a_prompt_below_the_minimum() {
    let with = |user: u32| {
        let mut first = request(0, vec![Block::user(user)], vec![]);
        first.flush_above = Some(600);
        let row = rows(800, vec![first], &Settings::default()).remove(0);
        (row.cache_read, row.cache_write, row.uncached)
    };
    assert_eq!(with(223), (0, 0, 1023));
    assert_eq!(with(224), (600, 424, 0));
}

#[test]
fn what_is_still_served_counts_in_the_hypothetical_read_too() {
    // The flush drops everything, under both cleared sets, so the clear is not billed for it.
    let mut requests = steps(4, 3000);
    requests[3].flush_above = Some(2000);
    let row = rows(2000, requests, &clear(Trigger::InputTokens(7000), 1, 0)).remove(3);
    assert_eq!((row.newly_cleared, row.cache_read, row.invalidated_tokens), (1, 2000, 0));
    let unflushed = rows(2000, steps(4, 3000), &clear(Trigger::InputTokens(7000), 1, 0)).remove(3);
    // 5,211 tokens were sent before; what is left is the first request's 2,100.
    assert_eq!((unflushed.newly_cleared, unflushed.cache_read, unflushed.invalidated_tokens), (1, 2100, 3111));
}

#[test]
fn a_clear_below_the_minimum_invalidates_all_that_would_have_been_read() {
    // 500 + 100 + 50 + 900 = 1,550 at the second request; at the third the result is cleared and the prompt is too small.
    let requests = vec![
        request(0, vec![Block::user(100)], vec![Block::tool_use(0, "read", 50)]),
        request(1000, vec![Block::result(0, 900, None)], vec![Block::text(10)]),
        request(2000, vec![Block::user(10)], vec![]),
    ];
    let row = rows(500, requests.clone(), &clear(Trigger::InputTokens(1560), 0, 0)).remove(2);
    assert_eq!((row.prompt_tokens, row.uncached, row.invalidated_tokens), (681, 681, 1550));
    let row = rows(500, requests, &clear(Trigger::InputTokens(1570), 0, 0)).remove(2);
    assert_eq!((row.prompt_tokens, row.cache_read, row.invalidated_tokens), (1570, 1550, 0));
}

#[test]
fn a_hit_takes_over_the_lifetime_of_the_request() {
    let with = |gap: i64, second_ttl: Option<i64>| {
        let mut requests = vec![
            request(0, vec![Block::user(1000)], vec![]),
            request(1000, vec![Block::user(10)], vec![]),
            request(1000 + gap, vec![Block::user(10)], vec![]),
        ];
        requests[0].ttl_ms = Some(3_600_000);
        requests[1].ttl_ms = second_ttl;
        rows(2000, requests, &Settings::default())[2].cache_read
    };
    assert_eq!(with(300_000, None), 3010);
    assert_eq!(with(300_001, None), 0, "the second request's five minutes replace the hour");
    assert_eq!(with(3_600_000, Some(3_600_000)), 3010);
}

#[test]
fn tiers_apply_in_their_order_above_their_size() {
    let tier = |above, input| Tier { above, input: Some(input), ..Tier::default() };
    let cost = |user: u32, tiers: Vec<Tier>| {
        let cache = Cache { mode: CacheMode::Off, ..Cache::default() };
        let prices = Prices { input: 1.0, tiers, ..Prices::default() };
        rows(0, vec![request(0, vec![Block::user(user)], vec![])], &Settings { cache, prices, ..Settings::default() })[0].cost_usd
    };
    assert!((cost(1000, vec![tier(1000, 5.0)]) - 0.001).abs() < 1e-12, "exactly at the size is not above it");
    assert!((cost(1001, vec![tier(1000, 5.0)]) - 0.005_005).abs() < 1e-12);
    // The last that matches wins, whatever its size.
    assert!((cost(3000, vec![tier(2000, 7.0), tier(1000, 5.0)]) - 0.015).abs() < 1e-12);
}

#[test]
fn candidates_follow_the_uses_and_not_the_arrival_of_results() {
    // Two uses in one answer; the first one's result comes a request later than the second's.
    let requests = vec![
        request(0, vec![Block::user(100)], vec![Block::tool_use(0, "slow", 50), Block::tool_use(1, "fast", 50)]),
        request(1000, vec![Block::result(1, 3000, None)], vec![Block::tool_use(2, "fast", 50)]),
        request(2000, vec![Block::result(0, 3000, None), Block::result(2, 3000, None)], vec![]),
    ];
    let mut settings = clear(Trigger::InputTokens(1), 1, 2000);
    settings.assume.max_refetch_rounds = 0;
    let cleared: Vec<(u64, u64)> = rows(2000, requests, &settings).iter().map(|r| (r.cleared_uses, r.newly_cleared)).collect();
    // Request 1: use 0 is pending and use 1 is the newest that is kept. Request 2: use 2 is kept, 0 and 1 go.
    assert_eq!(cleared, [(0, 0), (0, 0), (2, 2)]);
}

#[test]
fn pending_uses_take_up_keep_slots() {
    // At the second request: use 0 has its result, uses 1 and 2 have none yet.
    let requests = vec![
        request(0, vec![Block::user(100)], vec![Block::tool_use(0, "a", 50), Block::tool_use(1, "ask", 50), Block::tool_use(2, "ask", 50)]),
        request(1000, vec![Block::result(0, 3000, None)], vec![]),
    ];
    let with = |keep, keep_counts, exclude: &[&str]| {
        let mut settings = clear(Trigger::InputTokens(1), keep, 0);
        settings.assume = Assume { keep_counts, max_refetch_rounds: 0, ..Assume::default() };
        if let Some(edit) = &mut settings.edit {
            edit.exclude_tools = exclude.iter().map(|&t| t.to_owned()).collect();
        }
        rows(2000, requests.clone(), &settings).last().unwrap().cleared_uses
    };
    assert_eq!((with(2, KeepCounts::Clearable, &[]), with(3, KeepCounts::Clearable, &[])), (1, 0));
    // Excluded ones take a slot only when all uses count.
    assert_eq!((with(1, KeepCounts::Clearable, &["ask"]), with(0, KeepCounts::Clearable, &["ask"])), (0, 1));
    assert_eq!((with(2, KeepCounts::All, &["ask"]), with(3, KeepCounts::All, &["ask"])), (1, 0));
}

#[test]
fn when_the_cache_is_cold_clearing_breaks_nothing_and_stays() {
    let with = |gap: i64, keep: u32| {
        let mut requests = steps(8, 3000);
        for request in &mut requests[5..] {
            request.at_ms += gap;
        }
        let mut settings = clear(Trigger::InputTokens(0), keep, 0);
        settings.policy =
            settings.edit.take().map(|edit| std::sync::Arc::new(cleartune::policy::Policy::when_cold(edit.keep, edit.exclude_tools)));
        rows(2000, requests, &settings)
    };
    let cleared = |rows: &[Row]| rows.iter().map(|r| r.cleared_uses).collect::<Vec<_>>();
    // A second lies between any two requests; entries live for 300.
    let quiet = with(299_000, 2);
    assert_eq!(cleared(&quiet), [0; 8]);
    let cold = with(299_001, 2);
    assert_eq!(cleared(&cold), [0, 0, 0, 0, 0, 3, 3, 3], "five results less the newest two");
    assert!(cold.iter().all(|r| r.invalidated_tokens == 0));
    assert_eq!(cold[5].cache_read, 0, "it was cold in any case");
    assert!(cold[6].cache_read > 2000, "what was written then is read");
    let cost = |rows: &[Row]| rows.iter().map(|r| r.cost_usd).sum::<f64>();
    let mut none = steps(8, 3000);
    for request in &mut none[5..] {
        request.at_ms += 299_001;
    }
    assert!(cost(&cold) < cost(&rows(2000, none, &Settings::default())));
    assert_eq!(cleared(&with(299_001, 9)), [0; 8]);
}

#[test]
fn a_tools_own_price_is_no_part_of_the_bill() {
    let mut doc =
        Document { schema: SCHEMA.to_owned(), id: "t".to_owned(), base_tokens: 2000, requests: steps(6, 3000), ..Document::default() };
    doc.requests[5].needs = vec![0, 1];
    let totals = |doc: &Document| replay(&Trace::from_document(doc).unwrap(), &clear(Trigger::InputTokens(5000), 1, 0)).totals;
    let free = totals(&doc);
    let mut tool = cleartune::trace::ToolDoc::new(cleartune::trace::Refetch::Yes);
    (tool.refetch_usd, tool.refetch_seconds) = (Some(0.25), Some(2.0));
    doc.tools.insert("read".to_owned(), tool);
    let priced = totals(&doc);
    assert_eq!(
        (priced.refetches, priced.refetches as f64 * 0.25, priced.refetches as f64 * 2.0),
        (free.refetches, priced.refetch_usd, priced.refetch_seconds)
    );
    assert!(priced.refetches >= 2 && priced.cost_usd == free.cost_usd && free.refetch_usd == 0.0);
    // Out of bounds it is refused by its field.
    doc.tools.get_mut("read").unwrap().refetch_usd = Some(-1.0);
    assert!(Trace::from_document(&doc).unwrap_err().to_string().starts_with("tools.read.refetch_usd: is -1"));
}
