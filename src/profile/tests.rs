//! Hand-made transcripts, every figure of which is computed by hand.

use super::*;
use crate::policy::{ClearToolUses, Settings, Trigger};
use crate::sweep::Transcript;
use crate::trace::{Block, RequestDoc, SCHEMA, ToolDoc, Usage};

/// Five requests. Prompts: 100 + 20 = 120; + 5 use + 50 result = 175; + 10 text + 6 + 7 uses + 500 + 30 results = 728;
/// + 8 use + 40 result = 776; + 9 thinking + 4 user = 789.
fn document() -> Document {
    let request = |at_ms, input: Vec<Block>, output: Vec<Block>, needs: &[u64]| RequestDoc {
        at_ms,
        input,
        output,
        needs: needs.to_vec(),
        ..RequestDoc::default()
    };
    let mut document = Document {
        schema: SCHEMA.to_owned(),
        id: "hand".to_owned(),
        model: Some("claude-sonnet-4-6".to_owned()),
        base_tokens: 100,
        requests: vec![
            request(0, vec![Block::user(20)], vec![Block::tool_use(1, "read", 5)], &[]),
            // Use 1 arrives here: naming it is no need of an earlier result.
            request(
                10_000,
                vec![Block::result(1, 50, None)],
                vec![Block::text(10), Block::tool_use(2, "fetch", 6), Block::tool_use(3, "ask", 7)],
                &[1],
            ),
            // Use 1 lies three uses back, named twice; 3 arrives only now.
            request(
                310_000,
                vec![Block::result(2, 500, None), Block::result(3, 30, None)],
                vec![Block::tool_use(4, "read", 8)],
                &[1, 1, 3],
            ),
            // Of four uses 2 lies three back, 3 two back, 4 has just arrived.
            request(610_001, vec![Block::result(4, 40, None)], vec![Block::thinking(9)], &[2, 3, 4]),
            // 1 lies four back, 4 one back.
            request(4_210_002, vec![Block::user(4)], vec![], &[1, 4]),
        ],
        ..Document::default()
    };
    document.tools.insert("ask".to_owned(), ToolDoc::new(Refetch::Never));
    document.tools.insert("fetch".to_owned(), ToolDoc::new(Refetch::Costly));
    document
}

fn profile(documents: &[Document]) -> Profile {
    let traces: Vec<Trace> = documents.iter().map(|d| Trace::from_document(d).unwrap()).collect();
    Profile::new(documents.iter().zip(&traces))
}

fn transcripts(documents: &[Document], settings: &Settings) -> Vec<Transcript> {
    documents.iter().map(|d| Transcript { trace: Trace::from_document(d).unwrap(), settings: settings.clone() }).collect()
}

#[test]
fn sizes_and_growth() {
    let p = profile(&[document()]);
    assert_eq!(p.paths, [[120, 175, 728, 776, 789]]);
    assert_eq!((p.prompts.base.p50, p.prompts.first.p50, p.prompts.peak.max), (100, 120, 789));
    // 13, 48, 55, 553.
    assert_eq!((p.prompts.growth.p10, p.prompts.growth.p50, p.prompts.growth.p90, p.prompts.growth.max), (13, 48, 553, 553));
    assert_eq!((p.transcripts, p.sessions, p.requests, p.uses.total), (1, 1, 5, 4));
    assert_eq!(p.uses.batches, [Batch { uses: 1, answers: 2 }, Batch { uses: 2, answers: 1 }]);
    // 500 of 620 result tokens are more than 80 %: one tool dominates.
    assert_eq!(p.dominating_tools, ["fetch"]);
    assert!((p.largest_tenth_share - 500.0 / 620.0).abs() < 1e-12);
    let names: Vec<&str> = p.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["fetch", "read", "ask"]);
    let read = &p.tools[1];
    assert_eq!((read.results.count, read.results.p10, read.results.p50, read.results.max, read.uses.p50), (2, 40, 40, 50, 5));
    assert!((read.result_share - 90.0 / 620.0).abs() < 1e-12);
    assert_eq!(p.tools.iter().map(|t| t.refetch).collect::<Vec<_>>(), [Refetch::Costly, Refetch::Yes, Refetch::Never]);
}

#[test]
fn the_largest_prompt_is_split_without_rest() {
    let p = profile(&[document()]);
    let parts: Vec<(&str, Option<&str>, u64)> = p.composition.iter().map(|c| (c.kind, c.tool.as_deref(), c.tokens)).collect();
    let expected = [
        ("result", Some("fetch"), 500),
        ("base", None, 100),
        ("result", Some("read"), 90),
        ("result", Some("ask"), 30),
        ("use", None, 26),
        ("user", None, 24),
        ("text", None, 10),
        ("thinking", None, 9),
    ];
    assert_eq!(parts, expected);
    assert_eq!(p.composition.iter().map(|c| c.tokens).sum::<u64>(), 789);
    assert!((p.result_share_of_peaks() - 620.0 / 789.0).abs() < 1e-12);
}

#[test]
fn what_the_last_answer_holds_is_in_no_prompt() {
    let mut doc = document();
    doc.requests.last_mut().unwrap().output.push(Block::tool_use(5, "read", 1000));
    let p = profile(&[doc]);
    assert_eq!(p.prompts.peak.max, 789);
    assert_eq!(p.composition.iter().map(|c| c.tokens).sum::<u64>(), 789);
}

#[test]
fn the_keep_curve_by_hand() {
    let p = profile(&[document()]);
    let curve = &p.keep_curve;
    // Needs: 1 at 3, 2 at 3, 3 at 2, 1 at 4, 4 at 1. Last needs: 1 at 4, 2 at 3, 3 at 2, 4 at 1.
    assert_eq!((curve.needs(), curve.results, curve.needed_results(), curve.reach()), (5, 4, 4, 4));
    assert_eq!([0, 1, 2, 3, 4, 5].map(|k| curve.needs_beyond(k)), [5, 4, 3, 1, 0, 0]);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|k| curve.results_beyond(k)), [4, 3, 2, 1, 0, 0]);
    let read = &p.tools.iter().find(|t| t.name == "read").unwrap().keep_curve;
    assert_eq!((read.results, read.needs()), (2, 3));
    assert_eq!([0, 1, 3, 4].map(|k| read.results_beyond(k)), [2, 1, 1, 0]);
    assert_eq!((p.reuse_distance.p10, p.reuse_distance.p50, p.reuse_distance.max), (1, 3, 4));
    let steps = curve.steps();
    assert_eq!(steps.iter().map(|s| s.keep).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(steps.iter().all(|s| (s.needs_cut_off - curve.needs_cut_off(s.keep)).abs() < 1e-12));
    assert!(steps.iter().all(|s| (s.results_cut_off - curve.results_cut_off(s.keep)).abs() < 1e-12));
}

#[test]
fn gaps_on_each_side_of_their_edges() {
    // 10,000; exactly 300,000; 300,001; 3,600,001.
    let p = profile(&[document()]);
    assert_eq!((p.gaps.ms.count, p.gaps.over_5_minutes, p.gaps.over_1_hour, p.gaps.undated_transcripts), (4, 2, 1, 0));
    let mut exact = document();
    exact.requests[4].at_ms -= 1;
    assert_eq!(profile(&[exact]).gaps.over_1_hour, 0);
    let mut back = document();
    back.requests[1].at_ms = -1;
    let gaps = profile(&[back]).gaps;
    assert_eq!((gaps.backwards, gaps.ms.count), (1, 3));
    let mut undated = document();
    undated.requests.iter_mut().for_each(|r| r.at_ms = 7);
    let gaps = profile(&[undated, document()]).gaps;
    assert_eq!((gaps.undated_transcripts, gaps.ms.count), (1, 4));
}

#[test]
fn natural_invalidations_lose_part_of_the_prompt_before() {
    let seen = |flush: Option<u64>| {
        let mut doc = document();
        doc.requests[3].flush_above = flush;
        profile(&[doc]).cache.natural_invalidations
    };
    // The prompt before has 728 tokens: an entry of that size survives a mark of 728.
    assert_eq!((seen(None), seen(Some(728)), seen(Some(727)), seen(Some(0))), (0, 0, 1, 1));
    let mut warm = document();
    warm.requests[0].flush_above = Some(90);
    let cache = profile(&[warm.clone()]).cache;
    assert_eq!((cache.warm_starts, cache.warm_start_tokens, cache.natural_invalidations), (1, 90, 0));
    warm.requests[0].flush_above = Some(0);
    assert_eq!(profile(&[warm]).cache.warm_starts, 0);
}

#[test]
fn a_natural_invalidation_costs_what_the_replay_says() {
    let mut doc = document();
    doc.requests.iter_mut().for_each(|r| r.at_ms /= 1000);
    doc.requests[3].flush_above = Some(0);
    let mut settings = Settings::default();
    settings.cache.min_tokens = 0;
    let documents = [doc];
    let causes = natural_invalidations(&documents, &transcripts(&documents, &settings));
    // Without it the request would read the 728 tokens of the prompt before; with it, nothing.
    assert_eq!(causes.len(), 1);
    assert_eq!((causes[0].cause.as_str(), causes[0].requests, causes[0].lost_tokens), ("unknown", 1, 728));
    assert!((causes[0].cost_usd - 728.0 * (3.75 - 0.3) / 1e6).abs() < 1e-12, "{causes:?}");
    let none = [document()];
    assert!(natural_invalidations(&none, &transcripts(&none, &settings)).is_empty());
}

#[test]
fn recorded_usage_is_billed_and_compared_where_it_is_known() {
    let settings = Settings::default();
    let mut documents = [document()];
    assert_eq!(Recorded::new(&documents, &transcripts(&documents, &settings)), None);
    let usage = |input, cache_write_1h| Usage { input, cache_write_1h, cache_read: 10, cache_write_5m: 20, output: 3 };
    // Predicted 175 and 728; the first recorded 175, the second 720: off by 8, more than 1 %.
    documents[0].requests[1].usage = Some(usage(145, 0));
    documents[0].requests[2].usage = Some(usage(590, 100));
    let r = Recorded::new(&documents, &transcripts(&documents, &settings)).unwrap();
    assert_eq!((r.requests, r.of_requests, r.prompts_off_by_more_than_1_percent), (2, 5, 1));
    assert_eq!((r.recorded.prompt, r.predicted.prompt, r.recorded.cache_write), (895, 903, 140));
    let usd = (735.0 * 3.0 + 20.0 * 0.3 + 40.0 * 3.75 + 100.0 * 6.0 + 6.0 * 15.0) / 1e6;
    assert!((r.recorded.cost_usd - usd).abs() < 1e-12);
    // 721 is within 1 % of 728.
    documents[0].requests[2].usage = Some(usage(591, 100));
    assert_eq!(Recorded::new(&documents, &transcripts(&documents, &settings)).unwrap().prompts_off_by_more_than_1_percent, 0);
}

#[test]
fn exclusions_are_picked_by_rule_and_measured_by_replay() {
    let documents = [document()];
    let (p, all) = (profile(&documents), transcripts(&documents, &Settings::default()));
    let edit = ClearToolUses { trigger: Trigger::InputTokens(300), keep: 1, ..ClearToolUses::default() };
    let e = Exclusions::new(&p, &all, &edit, Rules::default());
    // `ask` is needed again and gone once cleared; the others have fewer than five needs.
    assert_eq!(e.proposals.len(), 1);
    assert_eq!((e.proposals[0].tools.as_slice(), e.proposals[0].reason), (&["ask".to_owned()][..], Some(Reason::CannotBeFetchedAgain)));
    assert!(e.clears && e.without.lost_needs > 0);
    assert_eq!(e.proposals[0].effect.lost_needs, 0);
    assert!(e.proposals[0].pays);

    // Two of the three needs of `read` lie more than 2 uses back, none more than 4; it holds 14.5 % of the result tokens.
    let rules = |late_uses_back, cheap_share| Rules { late_uses_back, least_needs: 3, cheap_share, ..Rules::default() };
    let names = |rules| {
        let e = Exclusions::new(&p, &all, &edit, rules);
        e.proposals.into_iter().map(|x| x.tools.join("+")).collect::<Vec<_>>()
    };
    assert_eq!(names(rules(2, 0.15)), ["read", "ask", "read+ask"]);
    assert_eq!(names(rules(4, 0.15)), ["ask"]);
    assert_eq!(names(rules(2, 0.14)), ["ask"]);

    // What the config excludes already is not proposed; one that never fires clears nothing.
    let mut excluded = edit.clone();
    excluded.exclude_tools = vec!["ask".to_owned()];
    assert!(Exclusions::new(&p, &all, &excluded, Rules::default()).proposals.is_empty());
    assert!(!Exclusions::new(&p, &all, &ClearToolUses::default(), Rules::default()).clears);
}

#[test]
fn nothing_is_a_profile_too() {
    let p = profile(&[]);
    assert_eq!(p, Profile::default());
    let empty = Document { schema: SCHEMA.to_owned(), id: "e".to_owned(), ..Document::default() };
    let p = profile(&[empty]);
    assert_eq!((p.transcripts, p.requests, p.prompts.peak.count), (1, 0, 0));
}
