//! The generator: determinism, golden bytes, what stands in a transcript and why, errors.

mod calibration;
mod decisions;
mod errors;
mod measure;
mod text;

use std::collections::BTreeSet;

use cleartune::trace::{Trace, to_line};
use cleartune::workload::{Mechanism, Plan, Spec, shipped, shipped_text};
use sha2::{Digest, Sha256};

fn spec(name: &str) -> Spec {
    Spec::from_toml(shipped_text(name).unwrap()).unwrap()
}

fn sha256(lines: impl Iterator<Item = String>) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The bytes are part of what users compare results by: they change only with a workload or, on purpose, with the generator.
#[test]
fn golden_bytes() {
    let golden = [
        ("research_agent", "aac868c8ca96049c1cc2e93938558faef23b78773a3e170972244d5561c9e643"),
        ("coding_agent", "1c4b38d07f7bcb8a0710a8cf719e5699ce56f33669262f8e3213065b86185315"),
        ("notebook", "68808509e0a286d2a07128442038c19c146f9c79476cbdfb2db06d07e20bb1ab"),
        ("web_research_100", "0869caf7a4d95c01d6f44f1dce25bc5506505e63f0eb4d11bc59ea5e97b9d224"),
        ("compare_documents", "ab15fedc9c62a2444c259933beed5cc7ff1ba43be2460edf785b8e755ce11c06"),
        ("ephemeral_api", "fc38fcbb1116220bb4fc4b4bf0c505470acca1c268e7ccfa3f23c9736218e29c"),
        ("long_chat", "ddfcc421d6b4c1b998e12de6a6f7c8343a8c92e884f9622be75ef4216ec5952d"),
    ];
    let found: Vec<(&str, String)> = golden.iter().map(|(name, _)| (*name, sha256(spec(name).lines()))).collect();
    let expected: Vec<(&str, String)> = golden.iter().map(|(name, hash)| (*name, (*hash).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_shipped_workload_is_named_as_its_file_and_valid() {
    assert_eq!(shipped()[0].0, cleartune::workload::DEFAULT);
    for (name, text) in shipped() {
        let spec = Spec::from_toml(text).unwrap();
        assert_eq!(spec.name, *name);
        let ids: BTreeSet<String> = (0..spec.transcripts).map(|i| spec.generate(i).id).collect();
        assert_eq!(ids.len(), spec.transcripts);
        for i in 0..spec.transcripts {
            let trace = Trace::from_document(&spec.generate(i)).unwrap();
            assert_eq!(trace.unknown_needs, 0);
            assert_eq!(trace.model.as_deref(), Some("claude-sonnet-4-6"));
        }
    }
    let once = shipped().iter().filter(|(name, _)| spec(name).transcripts != 40).map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(once, ["notebook"]);
}

#[test]
fn a_transcript_is_the_same_whatever_is_generated_beside_it() {
    let spec = spec("research_agent");
    let in_order: Vec<String> = spec.lines().take(12).collect();
    let mut backwards: Vec<String> = (0..12).rev().map(|i| to_line(&spec.generate(i))).collect();
    backwards.reverse();
    let on_threads: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..12)
            .map(|i| {
                scope.spawn({
                    let spec = &spec;
                    move || to_line(&spec.generate(i))
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(in_order, backwards);
    assert_eq!(in_order, on_threads);
    assert_eq!(in_order.iter().collect::<BTreeSet<_>>().len(), 12);
}

#[test]
fn another_seed_gives_other_transcripts() {
    let one = spec("coding_agent");
    let mut other = one.clone();
    other.seed += 1;
    assert!((0..5).all(|i| one.generate(i).requests != other.generate(i).requests));
}

#[test]
fn an_unknown_name_lists_what_is_shipped() {
    let error = shipped_text("reserch_agent").unwrap_err().to_string();
    assert!(error.contains("did you mean `research_agent`"), "{error}");
    assert!(
        error.contains("coding_agent, compare_documents, ephemeral_api, long_chat, notebook, research_agent, web_research_100"),
        "{error}"
    );
}

/// The published notebook's prompts without clearing.
#[test]
fn notebook_has_the_published_contexts() {
    let doc = spec("notebook").generate(0);
    let mut size = doc.base_tokens;
    let mut prompts = Vec::new();
    for request in &doc.requests {
        size += request.input.iter().map(|b| b.tokens).sum::<u32>();
        prompts.push(size);
        size += request.output.iter().map(|b| b.tokens).sum::<u32>();
    }
    assert_eq!(prompts, [1058, 166_043, 168_242, 332_821, 335_279]);
    let reads: Vec<usize> =
        doc.requests.iter().map(|r| r.input.iter().filter(|b| b.kind == "result" && b.tokens > 41_000).count()).collect();
    assert_eq!(reads, [0, 4, 0, 4, 0]);
}

fn plans(name: &str) -> Vec<Plan> {
    let spec = spec(name);
    (0..60).map(|i| spec.plan(i)).collect()
}

#[test]
fn the_trace_is_the_plan() {
    for plan in plans("coding_agent") {
        let doc = plan.document();
        for (request, planned) in doc.requests.iter().zip(&plan.requests) {
            let results: Vec<u64> = request.input.iter().filter_map(|b| b.use_id).collect();
            let kinds: Vec<&str> = request.input.iter().map(|b| b.kind.as_str()).collect();
            assert!(kinds.is_sorted_by_key(|k| *k == "user"), "results come before the user's words");
            for id in results {
                assert_eq!(plan.uses[id as usize].arrives(), doc.requests.iter().position(|r| std::ptr::eq(r, request)).unwrap());
            }
            let uses: Vec<u64> = request.output.iter().filter_map(|b| b.use_id).collect();
            assert_eq!(uses, (planned.uses as u64..planned.uses_end as u64).collect::<Vec<_>>());
        }
        let results = doc.requests.iter().flat_map(|r| &r.input).filter(|b| b.kind == "result").count();
        assert_eq!(results, plan.uses.len(), "every use has its result");
        assert!(doc.requests.is_sorted_by_key(|r| r.at_ms));
        assert!(doc.requests.last().unwrap().output.iter().all(|b| b.kind != "use"));
    }
}

#[test]
fn sizes_in_bytes_and_tokens_agree() {
    for plan in plans("research_agent") {
        for used in &plan.uses {
            let tokens = (used.result_bytes as f64 / 3.4).round().max(1.0);
            assert!((f64::from(used.result_tokens) - tokens).abs() < 0.5, "{used:?}");
        }
    }
}

/// What a need must rest on, mechanism by mechanism.
fn assert_grounded(plan: &Plan) {
    for need in &plan.needs {
        let used = &plan.uses[need.use_id];
        let request = &plan.requests[need.request];
        assert!(need.request > used.arrives(), "{need:?}: not its first use");
        assert!(!used.error && used.note_of.is_none() && used.result_bytes >= 80, "{need:?}: {used:?}");
        let back = plan.uses_back(*need);
        match need.mechanism {
            Mechanism::FollowUp => {
                let before = &plan.requests[need.request - 1];
                assert!(request.user.is_some() && before.uses == before.uses_end && used.arrives() == need.request - 1);
                assert!(back <= 8, "{back}");
            }
            Mechanism::Recency => assert!((2..=28).contains(&back), "{back}"),
            Mechanism::Revisit => assert!((6..=130).contains(&back), "{back}"),
            Mechanism::Paging => {
                let next = plan.uses.iter().find(|u| u.page_of == Some(need.use_id)).expect("a next page");
                assert!(need.request == next.issued || need.request == next.arrives());
                assert_eq!(next.class, used.class);
            }
            Mechanism::Note => {
                let note = plan.uses.iter().find(|u| u.note_of == Some(need.use_id)).expect("a note");
                assert_eq!(need.request, note.issued);
            }
            Mechanism::Synthesis => {
                assert!(request.synthesis);
                assert!(!plan.requests[used.issued].synthesis, "a source from before");
            }
            Mechanism::Comparison | Mechanism::Script => panic!("neither here"),
        }
    }
    assert!(plan.needs.is_sorted_by_key(|n| (n.request, n.use_id)));
    assert!(plan.needs.windows(2).all(|w| (w[0].request, w[0].use_id) != (w[1].request, w[1].use_id)), "one a request and use");
}

#[test]
fn every_need_has_its_cause_and_every_cause_occurs() {
    for name in ["research_agent", "coding_agent"] {
        let plans = plans(name);
        plans.iter().for_each(assert_grounded);
        let seen: BTreeSet<Mechanism> = plans.iter().flat_map(|p| &p.needs).map(|n| n.mechanism).collect();
        let all = [Mechanism::FollowUp, Mechanism::Recency, Mechanism::Revisit, Mechanism::Paging, Mechanism::Note, Mechanism::Synthesis];
        assert_eq!(seen, all.into_iter().collect(), "{name}");
    }
}

/// Research is written up at the end: most needs stand there, and on sources from the whole session.
#[test]
fn research_reuse_comes_from_the_synthesis() {
    let plans = plans("research_agent");
    let needs = |of: fn(Mechanism) -> bool| plans.iter().flat_map(|p| &p.needs).filter(|n| of(n.mechanism)).count();
    let (synthesis, all) = (needs(|m| m == Mechanism::Synthesis), needs(|_| true));
    assert!(synthesis * 2 > all, "{synthesis} of {all}");
    for plan in &plans {
        let start = plan.requests.iter().find(|r| r.synthesis).unwrap().uses;
        let share = 1.0 - start as f64 / plan.uses.len() as f64;
        assert!((0.15..=0.32).contains(&share), "{share}");
    }
}

/// A source with a note is drawn on in the synthesis less often than one without.
#[test]
fn notes_spare_later_needs() {
    let spec = spec("research_agent");
    let (mut drawn, mut sources) = ([0.0; 2], [0.0; 2]);
    for plan in (0..400).map(|i| spec.plan(i)) {
        let noted: BTreeSet<usize> = plan.uses.iter().filter_map(|u| u.note_of).collect();
        let wanted: BTreeSet<usize> = plan.needs.iter().filter(|n| n.mechanism == Mechanism::Synthesis).map(|n| n.use_id).collect();
        for (id, used) in plan.uses.iter().enumerate() {
            if ["read", "web"].contains(&used.class.as_str()) && !used.error && used.result_bytes >= 80 {
                let group = usize::from(noted.contains(&id));
                sources[group] += 1.0;
                drawn[group] += f64::from(u8::from(wanted.contains(&id)));
            }
        }
    }
    let (plain, spared) = (drawn[0] / sources[0], drawn[1] / sources[1]);
    assert!(sources[1] > 200.0, "{sources:?}");
    assert!(spared < 0.6 * plain, "with a note {spared}, without {plain}");
}

#[test]
fn sessions_hold_what_real_ones_hold() {
    for name in ["research_agent", "coding_agent"] {
        let plans = plans(name);
        let share = |hits: usize, of: usize| hits as f64 / of as f64;
        let uses: Vec<_> = plans.iter().flat_map(|p| &p.uses).collect();
        let requests: Vec<_> = plans.iter().flat_map(|p| &p.requests).collect();
        let thinking = share(requests.iter().filter(|r| r.thinking.is_some()).count(), requests.len());
        assert!((0.3..0.6).contains(&thinking), "{name}: thinking {thinking}");
        let tiny = share(uses.iter().filter(|u| u.result_bytes < 46).count(), uses.len());
        assert!(tiny > 0.05, "{name}: tiny results {tiny}");
        let batches = requests.iter().filter(|r| r.uses_end - r.uses > 1).count();
        assert!(batches > 50, "{name}: {batches} parallel batches");
        let warm = share(plans.iter().filter(|p| p.requests[0].flush_above.is_some()).count(), plans.len());
        assert!((0.4..1.0).contains(&warm), "{name}: warm {warm}");
        for plan in &plans {
            for flush in plan.requests.iter().filter_map(|r| r.flush_above) {
                assert!((11_000..=u64::from(plan.base_tokens).min(16_000)).contains(&flush), "{name}: {flush}");
            }
        }
    }
    let never = |name: &str| {
        let doc = spec(name).generate(0);
        doc.tools.values().map(|t| format!("{:?}", t.refetch)).collect::<BTreeSet<_>>().len()
    };
    assert_eq!((never("research_agent"), never("coding_agent")), (3, 3), "tools of all three kinds");
}

/// The default workload must not lose by construction: nothing that is needed again is out of reach.
#[test]
fn research_needs_only_what_can_be_fetched_again() {
    for plan in plans("research_agent") {
        assert!(plan.needs.iter().all(|n| plan.uses[n.use_id].tool != "memory"));
    }
}
