//! A session in words: what the model was sent and what it answered, of the planned sizes, with the planned needs to be found in it.
//!
//! Every size in tokens is [`Plan::bytes_per_token`] times as many bytes: of results exactly [`PlannedUse::result_bytes`], of everything
//! else rounded. The words come from a stream of their own, so that a transcript has the same sizes, times and needs with and without them.

use std::collections::BTreeMap;

use super::dist::Stream;
use super::plan::{Plan, PlannedRequest};
use super::quotes::{PlantedQuote, Quotes, argument_bytes, bytes_of};
use super::spec::Spec;
use super::words::Writer;

/// One block of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockText {
    /// The user's words.
    User(String),
    /// The result of a use.
    Result {
        /// The use that it answers.
        use_id: usize,
        /// What the tool said.
        text: String,
        /// The call failed.
        error: bool,
    },
    /// The model's thinking.
    Thinking(String),
    /// The model's words.
    Text(String),
    /// A tool use.
    Use {
        /// Its id, from 0 within a transcript.
        use_id: usize,
        /// The tool's name.
        tool: String,
        /// The value of the input's only key, `query`.
        query: String,
    },
}

/// One model call in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestText {
    /// Start, milliseconds after the session's.
    pub at_ms: i64,
    /// What the client appended: results, then the user's words.
    pub input: Vec<BlockText>,
    /// What the model answered.
    pub output: Vec<BlockText>,
}

/// A transcript in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// That of the trace.
    pub id: String,
    /// Index of the transcript.
    pub index: usize,
    /// The model's name.
    pub model: Option<String>,
    /// The system prompt.
    pub system: String,
    /// Names and descriptions of the tools.
    pub tools: Vec<(String, String)>,
    /// The model calls.
    pub requests: Vec<RequestText>,
    /// The needs, in the order of requests, then uses, and how each can be seen in the words.
    pub quotes: Vec<PlantedQuote>,
}

/// Headers that results share: how many there are, and their bytes.
const HEADERS: usize = 3;
const HEADER_BYTES: usize = 220;

impl Spec {
    /// Transcript `index` in words: the same whatever else is generated.
    pub fn converse(&self, index: usize) -> Conversation {
        let plan = self.plan(index);
        // Headers, tools and system prompt are those of the workload.
        let mut shared = Stream::of_words(self.seed, u64::MAX);
        let mut writer = Writer { stream: &mut shared };
        let headers: Vec<String> = (0..HEADERS).map(|_| writer.fill(HEADER_BYTES, usize::MAX)).collect();
        let base = bytes_of(&plan, plan.base_tokens);
        let share = base / 2 / plan.tools.len().max(1);
        let tools: Vec<(String, String)> = plan
            .tools
            .keys()
            .map(|name| (name.clone(), writer.fill(share.saturating_sub(name.len() + SCHEMA.len() + TOOL_JSON), usize::MAX)))
            .collect();
        let described: usize = tools.iter().map(|(name, text)| name.len() + text.len() + SCHEMA.len() + TOOL_JSON).sum();
        let system = writer.fill(base.saturating_sub(described), 4);

        let mut stream = Stream::of_words(self.seed, index as u64);
        let quotes = Quotes::place(&plan, &headers, &mut stream);
        let writer = Writer { stream: &mut stream };
        let mut rendering = Rendering { plan: &plan, quotes: &quotes, headers: &headers, writer, copied: BTreeMap::new() };
        let mut arriving = 0..0;
        let mut requests = Vec::with_capacity(plan.requests.len());
        for (i, planned) in plan.requests.iter().enumerate() {
            requests.push(rendering.request(i, planned, arriving));
            arriving = planned.uses..planned.uses_end;
        }
        Conversation { id: plan.id.clone(), index, model: plan.model.clone(), system, tools, requests, quotes: quotes.truth }
    }
}

/// The input schema of every tool.
pub(super) const SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#;
/// Bytes of the JSON around name, description and schema of a tool.
const TOOL_JSON: usize = r#"{"name":"","description":"","input_schema":}"#.len();

struct Rendering<'a> {
    plan: &'a Plan,
    quotes: &'a Quotes,
    headers: &'a [String],
    writer: Writer<'a>,
    /// Results of which a later one is a near-duplicate.
    copied: BTreeMap<usize, String>,
}

impl Rendering<'_> {
    fn request(&mut self, i: usize, planned: &PlannedRequest, arriving: std::ops::Range<usize>) -> RequestText {
        let mut input: Vec<BlockText> =
            arriving.map(|use_id| BlockText::Result { use_id, text: self.result(use_id), error: self.plan.uses[use_id].error }).collect();
        input.extend(planned.user.map(|tokens| BlockText::User(self.plain(tokens))));
        let mut output: Vec<BlockText> = planned.thinking.map(|tokens| BlockText::Thinking(self.plain(tokens))).into_iter().collect();
        let said = &self.quotes.said[i];
        output.extend(planned.text.map(|tokens| BlockText::Text(self.quoting(bytes_of(self.plan, tokens), &said[0]))));
        for (use_id, said) in (planned.uses..planned.uses_end).zip(&said[1..]) {
            let used = &self.plan.uses[use_id];
            let query = self.quoting(argument_bytes(self.plan, used), said);
            output.push(BlockText::Use { use_id, tool: used.tool.clone(), query });
        }
        RequestText { at_ms: planned.at_ms, input, output }
    }

    fn plain(&mut self, tokens: u32) -> String {
        self.writer.fill(bytes_of(self.plan, tokens), 4)
    }

    /// Words of the agent's own with the quotations between them.
    fn quoting(&mut self, bytes: usize, said: &[String]) -> String {
        let quoted: usize = said.iter().map(|quote| quote.len() + super::quotes::MARKS).sum();
        let left = bytes.saturating_sub(quoted);
        let mut text = String::with_capacity(bytes);
        for quote in said {
            text.push_str(&self.writer.fill(left / (said.len() + 1), usize::MAX));
            text.push_str(" '");
            text.push_str(quote);
            text.push_str("' ");
        }
        text.push_str(&self.writer.fill(left - left / (said.len() + 1) * said.len(), usize::MAX));
        text
    }

    fn result(&mut self, use_id: usize) -> String {
        let bytes = self.plan.uses[use_id].result_bytes as usize;
        let Some(source) = self.quotes.copy_of[use_id] else {
            let text = self.lines(use_id, bytes);
            if self.quotes.copy_of.contains(&Some(use_id)) {
                self.copied.insert(use_id, text.clone());
            }
            return text;
        };
        // The source's words are drawn anew only for what is quoted of them: those lines differ.
        let mut copy = self.copied[&source].clone();
        let held = self.quotes.facts[source].iter().chain(&self.quotes.lead[source]);
        for fact in held {
            let other = self.writer.fill(fact.len(), usize::MAX);
            copy = copy.replacen(fact.as_str(), &other, 1);
        }
        if copy.len() < bytes {
            copy.push('\n');
            let more = self.writer.fill(bytes.saturating_sub(copy.len()), 3);
            copy.push_str(&more);
        }
        copy.truncate(bytes);
        copy
    }

    /// Header, the sentence after it, then the other sentences with words between them.
    fn lines(&mut self, use_id: usize, bytes: usize) -> String {
        let quotes = self.quotes;
        let mut text = String::with_capacity(bytes + 1);
        let first = quotes.header[use_id].map(|h| &self.headers[h]).into_iter().chain(&quotes.lead[use_id]);
        for line in first {
            text.push_str(line);
            text.push('\n');
        }
        let facts = &quotes.facts[use_id];
        let held: usize = facts.iter().map(|fact| fact.len() + 1).sum();
        let left = bytes.saturating_sub(text.len() + held);
        for fact in facts {
            self.gap(&mut text, left / (facts.len() + 1));
            text.push_str(fact);
            text.push('\n');
        }
        let rest = bytes.saturating_sub(text.len());
        text.push_str(&self.writer.fill(rest, 3));
        text.truncate(bytes);
        text
    }

    fn gap(&mut self, text: &mut String, bytes: usize) {
        if bytes > 0 {
            text.push_str(&self.writer.fill(bytes - 1, 3));
            text.push('\n');
        }
    }
}
