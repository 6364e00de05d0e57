//! The search for quotations against what was planted: precision and recall by kind of quotation.

use std::collections::{BTreeMap, BTreeSet};

use cleartune::ingest::{NeedOptions, OwnText, Quotations};
use cleartune::workload::{BlockText, Conversation, QuoteKind, Spec, shipped_text};

/// Of one kind: planted, found of these, and what was found at requests of this kind beside any planted need.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    planted: usize,
    found: usize,
    wrong: usize,
}

impl Score {
    fn recall(self) -> f64 {
        self.found as f64 / self.planted as f64
    }

    fn precision(self) -> f64 {
        self.found as f64 / (self.found + self.wrong) as f64
    }
}

/// Uses whose results each request needs, found as an import finds them.
fn found(conversation: &Conversation, options: NeedOptions) -> Vec<BTreeSet<usize>> {
    let mut quotations = Quotations::new(options);
    let mut all = Vec::new();
    for (i, request) in conversation.requests.iter().enumerate() {
        for block in &request.input {
            match block {
                BlockText::Result { use_id, text, .. } => quotations.add_result(*use_id as u32, i as u32, text),
                BlockText::User(text) => quotations.add_own(text),
                _ => unreachable!("an input"),
            }
        }
        let texts: Vec<&str> = request
            .output
            .iter()
            .map(|block| match block {
                BlockText::Text(text) | BlockText::Thinking(text) | BlockText::Use { query: text, .. } => text.as_str(),
                _ => unreachable!("an output"),
            })
            .collect();
        all.push(texts.iter().flat_map(|text| quotations.needs(i as u32, text)).map(|id| id as usize).collect());
        for text in texts {
            quotations.add_own(text);
        }
    }
    all
}

/// What a request's wrong finds are laid to: the kind among its quotations that tempts most.
fn tempting(kinds: &[QuoteKind]) -> Option<QuoteKind> {
    use QuoteKind::{BoilerplateAdjacent, Literal, NearDuplicate, Omitted, Paraphrase, ResultQuotesResult, Short};
    [BoilerplateAdjacent, NearDuplicate, ResultQuotesResult, Paraphrase, Short, Literal, Omitted].into_iter().find(|k| kinds.contains(k))
}

fn scores(own_text: OwnText) -> BTreeMap<QuoteKind, Score> {
    let options = NeedOptions { own_text, ..NeedOptions::default() };
    let mut scores: BTreeMap<QuoteKind, Score> = BTreeMap::new();
    for (name, transcripts) in
        [("research_agent", 10), ("coding_agent", 40), ("compare_documents", 6), ("ephemeral_api", 10), ("web_research_100", 6)]
    {
        let spec = Spec::from_toml(shipped_text(name).unwrap()).unwrap();
        for conversation in (0..transcripts).map(|i| spec.converse(i)) {
            for (request, found) in found(&conversation, options).into_iter().enumerate() {
                let planted: Vec<_> = conversation.quotes.iter().filter(|q| q.request == request).collect();
                for quote in &planted {
                    let score = scores.entry(quote.kind).or_default();
                    score.planted += 1;
                    score.found += usize::from(found.contains(&quote.use_id));
                }
                let wrong = found.iter().filter(|id| planted.iter().all(|q| q.use_id != **id)).count();
                // Without any planted need it is the decoys that were taken for one: literal quotations that are none.
                let kind = tempting(&planted.iter().map(|q| q.kind).collect::<Vec<_>>()).unwrap_or(QuoteKind::Literal);
                scores.entry(kind).or_default().wrong += wrong;
            }
        }
    }
    scores
}

#[test]
fn precision_and_recall_against_the_planted_truth() {
    check(&scores(OwnText::MostRecent));
}

/// Nothing that is planted was said before, so the stricter reading finds the same.
#[test]
fn precision_and_recall_when_own_text_counts_anywhere() {
    check(&scores(OwnText::Anywhere));
}

fn check(scores: &BTreeMap<QuoteKind, Score>) {
    println!("{:<22} {:>8} {:>7} {:>7} {:>7} {:>7} {:>10}", "kind", "planted", "found", "missed", "wrong", "recall", "precision");
    for (kind, s) in scores {
        let missed = s.planted - s.found;
        let name = format!("{kind:?}");
        println!("{name:<22} {:>8} {:>7} {missed:>7} {:>7} {:>7.3} {:>10.3}", s.planted, s.found, s.wrong, s.recall(), s.precision());
    }
    let literal = scores[&QuoteKind::Literal];
    assert!(literal.planted > 500, "{literal:?}");
    assert!(literal.recall() >= 0.95 && literal.precision() >= 0.95, "{literal:?}");
    for kind in [QuoteKind::BoilerplateAdjacent, QuoteKind::NearDuplicate, QuoteKind::ResultQuotesResult] {
        let score = scores[&kind];
        assert!(score.planted > 20 && score.recall() >= 0.95, "{kind:?}: {score:?}");
    }
    // Over everything that is quoted word for word.
    let quoted = [QuoteKind::Literal, QuoteKind::BoilerplateAdjacent, QuoteKind::NearDuplicate, QuoteKind::ResultQuotesResult];
    let all = quoted.iter().map(|kind| scores[kind]).fold(Score::default(), |sum, s| Score {
        planted: sum.planted + s.planted,
        found: sum.found + s.found,
        wrong: sum.wrong + s.wrong,
    });
    assert!(all.recall() >= 0.95 && all.precision() >= 0.95, "{all:?}");
    // What a search for quotations cannot see. If these are found one day, the meaning of a need has changed.
    for kind in [QuoteKind::Paraphrase, QuoteKind::Short, QuoteKind::Omitted] {
        let score = scores[&kind];
        assert!(score.planted > 20 && score.recall() <= 0.02, "{kind:?}: {score:?}");
    }
}
