//! Parts to documents: the last step, at which text is left behind.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;

use super::clearing::{self, ClearingReport, Plan, RecordedClearing, Refetches, SizedUnder, size_readings};
use super::fit::{default_bytes_per_token, main_model};
use super::natural::Natural;
use super::needs::Quotations;
use super::normal::{Call, Held, Item, Kind, Part, hash, short};
use super::options::default_refetch;
use super::seen::Seen;
use super::sizes::{SizeReport, size};
use super::{AgentFilter, FileReport, HeldOut, Options, natural};
use crate::policy::Assume;
use crate::trace::{Block, Cause, Document, RequestDoc, SCHEMA, ToolDoc};

/// Makes the document of one part; `None` when it is filtered out or an earlier file holds all its calls.
///
/// Of a part that was recorded with the provider's clearing on, also the part as recorded.
pub fn document(
    mut part: Part,
    format: &'static str,
    assumed_base: u32,
    options: &Options,
    report: &mut FileReport,
) -> Option<(Document, Option<RecordedClearing>)> {
    count(&part, report);
    let wanted = match options.agent {
        AgentFilter::All => true,
        AgentFilter::Main => !part.sub_agent,
        AgentFilter::Sub => part.sub_agent,
    };
    if !wanted || part.calls.iter().all(|c| c.repeated) {
        return None;
    }
    let shown = part.base_bytes.map(|bytes| (bytes as f64 / default_bytes_per_token(main_model(&part).as_deref())).round() as u32);
    let assumed_base = shown.unwrap_or(assumed_base);
    let mut plan = Plan::of(&part, &Assume::default());
    let recorded = plan.as_ref().and_then(|plan| {
        let sized = size_readings(&part).into_iter().map(|assume| as_recorded(&part, &assume, format, assumed_base, options));
        plan.recorded(&part, if plan.is_providers() { sized.collect() } else { Vec::new() })
    });
    let mut sizes = SizeReport::default();
    let base = size(&mut part, assumed_base, plan.as_mut(), &mut sizes);
    if sizes.recorded_prompts == 0 {
        report.note(format!(
            "no usage is recorded: sizes follow from bytes, and {assumed_base} tokens of system prompt and tools are assumed"
        ));
    }
    let seen = natural::natural(&part.calls, u64::from(base));
    let mut needs = if options.needs.find { needs(&mut part, options) } else { vec![Vec::new(); part.calls.len()] };
    // Without needs nothing can stand for a re-fetch that is left out.
    let looks = plan.as_ref().filter(|_| options.needs.find);
    let refetches = looks.map(|plan| clearing::find(&part, &plan.sets)).unwrap_or_default();
    refetches.apply(&mut needs);
    report.count_natural(&seen);
    report.transcripts += 1;
    report.sub_agent_transcripts += u64::from(part.sub_agent);

    let mut doc = empty(&part, format, base, options);
    let mut source = json!({
        "format": format,
        "agent": if part.sub_agent { "sub" } else { "main" },
        "part": part.number,
        "sizes": if sizes.recorded_prompts > 0 { "recorded" } else { "bytes" },
    });
    if let Some(plan) = &plan {
        let mut shown = ClearingReport::default();
        plan.count(&part, &mut shown);
        shown.refetches = refetches.copies.len() as u64;
        shown.refetch_requests = refetches.dropped.iter().filter(|d| **d).count() as u64;
        shown.failed_refetches = refetches.failed;
        shown.estimated_steps = sizes.estimated_steps;
        shown.recovered_results = sizes.recovered_results;
        if shown.is_on() {
            source["clearing"] = json!({
                "cleared_requests": shown.cleared_requests,
                "refetches": shown.refetches,
                "placeholder_uses": placeholder_uses(&part),
            });
        }
        report.clearing.add(&shown);
    }
    doc.source = Some(source);
    fill(&mut doc, &part, &seen, needs, &refetches, report);
    merge(&mut report.sizes, sizes);
    Some((doc, recorded))
}

/// Uses whose results are placeholders of unknown original size.
fn placeholder_uses(part: &Part) -> Vec<u32> {
    let inputs = part.calls.iter().flat_map(|c| &c.input).filter(|i| i.held == Held::Placeholder);
    inputs.filter_map(|i| if let Kind::Result(id) = i.kind { Some(id) } else { None }).collect()
}

/// The document of a part with all that really happened, re-fetches included, and without needs.
fn as_recorded(part: &Part, assume: &Assume, format: &'static str, assumed_base: u32, options: &Options) -> SizedUnder {
    let mut part = part.without_text();
    let mut plan = Plan::of(&part, assume);
    let base = size(&mut part, assumed_base, plan.as_mut(), &mut SizeReport::default());
    let seen = natural::natural(&part.calls, u64::from(base));
    let mut document = empty(&part, format, base, options);
    let needs = vec![Vec::new(); part.calls.len()];
    fill(&mut document, &part, &seen, needs, &Refetches::default(), &mut FileReport::default());
    SizedUnder { tiny_result_bytes: assume.tiny_result_bytes, placeholder_tokens: assume.placeholder_tokens, document }
}

/// The document of a part, still without requests.
fn empty(part: &Part, format: &str, base: u32, options: &Options) -> Document {
    let session = hash(&["session", format, &part.session]);
    let id = hash(&["transcript", format, &part.session, &part.agent, &part.number.to_string()]);
    Document {
        schema: SCHEMA.to_owned(),
        id: short(id),
        session: Some(short(session)),
        model: main_model(part),
        base_tokens: base,
        context_window: None,
        source: None,
        tools: tools(part, options),
        requests: Vec::with_capacity(part.calls.len()),
    }
}

/// Counts what the part holds, calls that an earlier file holds left out.
fn count(part: &Part, report: &mut FileReport) {
    for call in &part.calls {
        if call.repeated {
            report.duplicates += call.records;
            continue;
        }
        report.requests += 1;
        report.tool_uses += call.output.iter().filter(|i| matches!(i.kind, Kind::Use(_))).count() as u64;
        if let Some(usage) = call.usage {
            report.count_usage(usage);
        }
    }
}

fn tools(part: &Part, options: &Options) -> BTreeMap<String, ToolDoc> {
    let class = |name: &String| options.refetch.get(name).copied().unwrap_or_else(|| default_refetch(name));
    part.uses.iter().map(|name| (name.clone(), ToolDoc::new(class(name)))).collect()
}

/// The needs of every call as indices of uses. Every text goes once it was looked at, as nothing else needs it.
fn needs(part: &mut Part, options: &Options) -> Vec<Vec<u32>> {
    let bytes = part.calls.iter().flat_map(|call| call.input.iter().chain(&call.output)).map(|item| item.text.len()).sum();
    let mut quotations = Quotations::with_room(options.needs, bytes);
    let mut all = Vec::with_capacity(part.calls.len());
    for (i, call) in part.calls.iter_mut().enumerate() {
        for item in &mut call.input {
            let text = std::mem::take(&mut item.text);
            match item.kind {
                Kind::Result(id) => quotations.add_result(id, i as u32, text),
                _ => quotations.add_own(text),
            }
        }
        let mut found: Vec<u32> = Vec::new();
        for item in &call.output {
            for id in quotations.needs(i as u32, &item.text) {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        found.sort_unstable();
        all.push(found);
        for item in &mut call.output {
            quotations.add_own(std::mem::take(&mut item.text));
        }
    }
    all
}

/// When the first call that no earlier file holds was made, milliseconds since 1970; `None` where no call carries a time.
pub fn start(calls: &[Call]) -> Option<i64> {
    let first = calls.iter().find(|c| !c.repeated).and_then(|c| c.at_ms);
    first.or_else(|| calls.iter().find_map(|c| c.at_ms))
}

/// Writes the requests. Calls that an earlier file holds are no requests here; what they put into the context enters as client text.
///
/// Re-fetches that really happened are left out. What a request that did nothing else had brought in comes with the next one, at its time:
/// had the result not been cleared, this would have been the request.
fn fill(doc: &mut Document, part: &Part, seen: &Natural, needs: Vec<Vec<u32>>, refetches: &Refetches, report: &mut FileReport) {
    let origin = start(&part.calls).unwrap_or(0);
    let mut at_ms = 0;
    let mut backwards = 0;
    let mut carried = 0;
    let mut inherited = 0;
    let mut dropped: Option<Dropped> = None;
    let mut present: HashSet<u32> = HashSet::new();
    let reads = repeated_reads(part, refetches);
    let causes: BTreeMap<usize, Cause> = seen.invalidations.iter().map(|n| (n.request as usize, n.cause)).collect();
    for (i, (call, needs)) in part.calls.iter().zip(needs).enumerate() {
        if call.repeated {
            carried += tokens(&call.input) + tokens(&call.output);
            continue;
        }
        let now = call.at_ms.map_or(at_ms, |ms| ms - origin);
        backwards += u64::from(now < at_ms);
        at_ms = now;
        let mut input = Vec::with_capacity(call.input.len() + 1);
        let before = dropped.take();
        if let Some(Dropped { results, text, .. }) = &before {
            input.clone_from(results);
            carried += text;
        }
        let mut text = std::mem::take(&mut carried);
        inherited += text - before.as_ref().map_or(0, |b| b.text);
        let mut has_text = text > 0;
        for item in &call.input {
            match item.kind {
                Kind::Result(id) if refetches.copies.contains_key(&id) => {}
                Kind::Result(id) if present.contains(&id) => {
                    let bytes = (item.text_only && item.fixed == 0).then_some(item.bytes);
                    input.push(Block { error: item.error, ..Block::result(u64::from(id), small(item.tokens), bytes) });
                }
                _ => {
                    text += item.tokens;
                    has_text = true;
                }
            }
        }
        let first = doc.requests.is_empty();
        // The first request that is left of a forked session finds its whole history warm; the replay can serve the base of it.
        let mut flush = if first { call.usage.map(|u| u.cache_read).filter(|&r| r > 0) } else { seen.flush[i] };
        let mut kept_warm = !first && seen.kept_warm[i];
        let mut cause = causes.get(&i).copied().filter(|_| !first);
        if let Some(before) = &before {
            flush = before.flush.into_iter().chain(seen.flush[i]).min();
            (kept_warm, cause) = (before.kept_warm, before.cause);
        }
        let now = before.as_ref().map_or(now, |b| b.at_ms);
        if refetches.dropped.get(i).is_some_and(|d| *d) {
            dropped = Some(Dropped { results: input, text, at_ms: now, flush, kept_warm, cause });
            continue;
        }
        if has_text {
            input.push(Block::user(small(text)));
        }
        let needs: Vec<u64> = needs.into_iter().filter(|id| present.contains(id)).map(u64::from).collect();
        report.needs += needs.len() as u64;
        let output = call.output.iter().filter(|item| !matches!(item.kind, Kind::Use(id) if refetches.copies.contains_key(&id)));
        let output = output.map(|item| block(item, part, &reads, &mut present)).collect();
        doc.requests.push(RequestDoc {
            at_ms: now,
            input,
            output,
            needs,
            flush_above: flush,
            ttl_ms: call.ttl_ms,
            model: call.model.clone().filter(|m| doc.model.as_ref() != Some(m)),
            kept_warm,
            invalidation_cause: cause,
            // No recorded prompt is that of a request that took over another's input.
            usage: call.usage.filter(|_| before.is_none()),
        });
    }
    if inherited > 0 {
        report.note(format!(
            "{inherited} tokens of history are shared with an earlier file; they count as client text and are never cleared"
        ));
    }
    if backwards > 0 {
        report.note(format!("{backwards} requests carry a time before their predecessor's; the order of the conversation was kept"));
    }
}

/// What a request that was left out leaves to the next one.
struct Dropped {
    results: Vec<Block>,
    text: u64,
    at_ms: i64,
    flush: Option<u64>,
    kept_warm: bool,
    cause: Option<Cause>,
}

fn tokens(items: &[Item]) -> u64 {
    items.iter().map(|i| i.tokens).sum()
}

fn small(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// Calls that are made more than once, numbered in the order in which they are first made: what a hash of their input would tell is not
/// told on.
fn repeated_reads(part: &Part, refetches: &Refetches) -> HashMap<u64, usize> {
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let mut repeated = HashMap::new();
    let mut first: Vec<u64> = Vec::new();
    for item in part.calls.iter().filter(|call| !call.repeated).flat_map(|call| &call.output) {
        let Kind::Use(id) = item.kind else { continue };
        if item.identity.input == 0 || refetches.copies.contains_key(&id) {
            continue;
        }
        let count = seen.entry(item.identity.input).or_insert(0);
        *count += 1;
        if *count == 1 {
            first.push(item.identity.input);
        }
    }
    first.retain(|input| seen[input] > 1);
    repeated.extend(first.into_iter().enumerate().map(|(number, input)| (input, number)));
    repeated
}

fn block(item: &Item, part: &Part, reads: &HashMap<u64, usize>, present: &mut HashSet<u32>) -> Block {
    match item.kind {
        Kind::Use(id) => {
            present.insert(id);
            let key = reads.get(&item.identity.input).map(|number| format!("call-{number}"));
            Block { key, ..Block::tool_use(u64::from(id), &part.uses[id as usize], small(item.tokens)) }
        }
        Kind::Thinking => Block::thinking(small(item.tokens)),
        _ => Block::text(small(item.tokens)),
    }
}

/// Says what of the cache of a whole file a reader of the figures should know.
pub fn note_cache(report: &mut FileReport) {
    if report.requests_with_usage > 0 && report.usage.cache_read + report.usage.cache_write_5m + report.usage.cache_write_1h == 0 {
        report.note("no request reads or writes the cache, by its usage; the replay caches all the same (see --cache mode=off)");
        return;
    }
    if report.flushed_requests > 0 {
        let dropped = report.flushed_requests - report.warm_starts.min(report.flushed_requests) - report.base_served;
        report.note(format!(
            "{} of {} requests carry flush_above: {dropped} natural invalidations, {} warm starts, {} that found only system prompt and tools",
            report.flushed_requests, report.requests, report.warm_starts, report.base_served
        ));
    }
    for (&cause, n) in &report.invalidations.clone() {
        report.note(format!(
            "invalidations, {}: {}, {} tokens of which {} were paid for again",
            cause.name(),
            n.requests,
            n.tokens,
            n.billed_tokens
        ));
    }
    if report.kept_warm > 0 {
        report.note(format!(
            "{} gaps longer than the TTL did not empty the cache (kept_warm); at {} more was read than the log wrote, so other calls used it",
            report.kept_warm, report.kept_warm_proven
        ));
    }
}

/// Says what of the sizes of a whole file a reader of the figures should know.
pub fn note_sizes(report: &mut FileReport) {
    report.sizes.held_out = HeldOut::of(&std::mem::take(&mut report.sizes.parts), report.sizes.input_bytes_per_token);
    let sizes = &report.sizes;
    let mut notes = Vec::new();
    if sizes.impossible_steps > 0 {
        notes.push(format!(
            "at {} requests the recorded prompt shrank or the model changed; replayed prompts differ from there on, by up to {} tokens",
            sizes.impossible_steps, sizes.largest_difference
        ));
    }
    if sizes.shrunk_outputs > 0 {
        notes.push(format!(
            "{} outputs did not re-enter the prompt whole (thinking left out); they are replayed {} tokens smaller than recorded",
            sizes.shrunk_outputs, sizes.shrunk_tokens
        ));
    }
    if sizes.partial_outputs > 0 {
        notes.push(format!(
            "{} recorded output counts are not final; the {} tokens that they leave out count as client text",
            sizes.partial_outputs, sizes.partial_tokens
        ));
    }
    for note in notes {
        report.note(note);
    }
}

/// Marks calls that `seen` holds already and remembers the others.
pub fn mark_repeated(calls: &mut [Call], seen: &mut Seen) {
    for call in calls {
        call.repeated = call.key.is_some_and(|k| !seen.insert(k));
    }
}

/// Adds the size report of one part to that of its file.
fn merge(file: &mut SizeReport, part: SizeReport) {
    let first = file.recorded_prompts == 0;
    if first {
        file.input_bytes_per_token = part.input_bytes_per_token;
        file.output_bytes_per_token = part.output_bytes_per_token;
        file.fitted = part.fitted;
    }
    file.exact_prompts += part.exact_prompts;
    file.recorded_prompts += part.recorded_prompts;
    file.largest_difference = file.largest_difference.max(part.largest_difference);
    file.impossible_steps += part.impossible_steps;
    file.shrunk_outputs += part.shrunk_outputs;
    file.shrunk_tokens += part.shrunk_tokens;
    file.partial_outputs += part.partial_outputs;
    file.partial_tokens += part.partial_tokens;
    file.unlogged_tokens += part.unlogged_tokens;
    file.estimated_steps += part.estimated_steps;
    file.recovered_results += part.recovered_results;
    file.parts.push(part.steps);
}
