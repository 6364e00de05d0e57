//! The profile of a workload as JSON, and for the terminal within 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::bill::BillCheck;
use super::number::{percent, short, usd};
use crate::ingest::{ClearingReport, FileReport};
use crate::profile::{Cause, ClearingFit, Exclusion, Exclusions, KeepCurve, Profile, Quantiles, Reason, Recorded, ToolProfile};
use crate::trace::Refetch;

/// The schema string of the JSON.
pub const PROFILE_SCHEMA: &str = "cleartune.profile/1";

/// Everything that is said of one source.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// The source's name.
    pub name: String,
    /// What needs no replay.
    pub profile: Profile,
    /// Predicted against recorded usage; `None` where none is recorded.
    pub recorded: Option<Recorded>,
    /// What logs recorded with clearing on show of it; `None` where none was.
    pub recorded_clearing: Option<RecordedClearingSection>,
    /// Natural invalidations by cause, with what they cost.
    pub natural_invalidations: Vec<Cause>,
    /// Recorded against replayed dollars of every session that records usage, with the causes of differences.
    pub bill: Vec<BillCheck>,
    /// The config that exclusions are measured under, in words.
    pub config: String,
    /// Proposals for `exclude_tools`.
    pub exclusions: Exclusions,
    /// Whether dollars rest on default prices because a model is unknown.
    pub dollars_assumed: bool,
    /// One a log that was read; none for generated transcripts.
    pub files: Vec<FileLine>,
}

/// What logs recorded with clearing on show of it.
#[derive(Debug, Clone, Serialize)]
pub struct RecordedClearingSection {
    /// Summed over the logs.
    #[serde(flatten)]
    pub log: ClearingReport,
    /// Predicted against observed clearing; `None` where the provider had no part in it.
    pub fit: Option<ClearingFit>,
}

/// What is said of one log.
#[derive(Debug, Clone, Serialize)]
pub struct FileLine {
    /// The file, relative to its source.
    pub name: String,
    /// The format that it was recognised as.
    pub format: Option<&'static str>,
    /// Why nothing could be taken from it.
    pub error: Option<String>,
    /// Records parsed.
    pub records: u64,
    /// Records skipped.
    pub skipped: u64,
    /// Records read only after a repair.
    pub repaired: u64,
    /// Records that repeat one that was read before.
    pub duplicates: u64,
    /// Tool uses without a result.
    pub orphan_uses: u64,
    /// Results without a use.
    pub orphan_results: u64,
    /// Records of types that hold no message, by type.
    pub ignored_types: BTreeMap<String, u64>,
    /// Requests.
    pub requests: u64,
    /// Those with recorded usage.
    pub requests_with_usage: u64,
    /// Compactions, at each of which a new transcript begins.
    pub compactions: u64,
    /// Transcripts.
    pub transcripts: u64,
    /// Those of sub-agents.
    pub sub_agent_transcripts: u64,
}

impl From<&FileReport> for FileLine {
    fn from(r: &FileReport) -> Self {
        Self {
            name: r.name.clone(),
            format: r.format,
            error: r.error.clone(),
            records: r.records,
            skipped: r.skipped_records,
            repaired: r.repaired,
            duplicates: r.duplicates,
            orphan_uses: r.orphan_uses,
            orphan_results: r.orphan_results,
            ignored_types: r.ignored_types.clone(),
            requests: r.requests,
            requests_with_usage: r.requests_with_usage,
            compactions: r.compactions,
            transcripts: r.transcripts,
            sub_agent_transcripts: r.sub_agent_transcripts,
        }
    }
}

/// What of a profile is shown.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Only these tools in tables by tool; empty: all.
    pub tools: Vec<String>,
    /// At most so many rows of a table by tool; 0: all.
    pub top: usize,
}

impl Shown {
    /// Whether a tool's row is shown.
    pub fn has(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|t| t == tool)
    }

    /// The first `top` of those that are shown, and how many are left out.
    fn first<'a, T>(&self, all: &'a [T], name: impl Fn(&T) -> Option<&str>) -> (Vec<&'a T>, usize) {
        let mut rows: Vec<&T> = all.iter().filter(|t| name(t).is_none_or(|n| self.has(n))).collect();
        let n = rows.len();
        rows.truncate(if self.top == 0 { n } else { self.top });
        let left_out = n - rows.len();
        (rows, left_out)
    }
}

/// The profiles of all sources as one JSON object, `{"schema", "sources"}`, indented. The tables by tool are narrowed to the tools
/// that `shown` names; `top` is for people.
pub fn profile_json(all: &[Inspection], shown: &Shown) -> Vec<u8> {
    #[derive(Serialize)]
    struct File<'a> {
        schema: &'static str,
        version: &'static str,
        sources: &'a [Inspection],
    }
    let mut all = all.to_vec();
    for one in &mut all {
        one.profile.tools.retain(|t| shown.has(&t.name));
    }
    let file = File { schema: PROFILE_SCHEMA, version: env!("CARGO_PKG_VERSION"), sources: &all };
    let mut bytes = serde_json::to_vec_pretty(&file).expect("a profile has string keys only");
    bytes.push(b'\n');
    bytes
}

/// Width of the first column.
const NAME: usize = 26;
/// The values of `keep` that stand in the table; the JSON has all.
const KEEPS: [u64; 7] = [0, 1, 3, 5, 10, 20, 50];

/// The profile of one source for the terminal.
pub fn profile_table(one: &Inspection, shown: &Shown) -> String {
    let mut out = String::new();
    head(&mut out, one);
    in_short(&mut out, &one.profile);
    keep_curve(&mut out, &one.profile, shown);
    tools(&mut out, &one.profile, shown);
    prompts(&mut out, &one.profile, shown);
    pauses(&mut out, one);
    exclusions(&mut out, one, shown);
    recorded(&mut out, one);
    if let Some(clearing) = &one.recorded_clearing {
        super::clearing::recorded_clearing(&mut out, clearing);
    }
    sessions(&mut out, &one.bill);
    files(&mut out, &one.files);
    out
}

/// Sessions in the table; the JSON has all.
const SESSIONS: usize = 8;

/// The bill, session by session, the largest first.
fn sessions(out: &mut String, bill: &[BillCheck]) {
    if bill.is_empty() {
        return;
    }
    let mut largest = bill.to_vec();
    largest.sort_by(|a, b| b.recorded.cost_usd.total_cmp(&a.recorded.cost_usd));
    largest.truncate(SESSIONS);
    let which = if bill.len() > SESSIONS { format!(" (the {SESSIONS} largest of {} sessions)", bill.len()) } else { String::new() };
    let _ = writeln!(out, "\nThe bill, recorded and replayed without clearing{which}\n{}", super::bill_table(&largest).trim_end());
}

fn head(out: &mut String, one: &Inspection) {
    let p = &one.profile;
    let _ = writeln!(out, "{}", cut(&one.name, 78));
    let facts = [
        plural(p.transcripts, "transcript"),
        format!("of {}", plural(p.sessions, "session")),
        plural(p.requests, "request"),
        plural(p.uses.total, "tool use"),
        plural(p.keep_curve.needs(), "need"),
    ];
    let _ = writeln!(out, "{} {}, {}, {}, {}", facts[0], facts[1], facts[2], facts[3], facts[4]);
    let models: Vec<String> =
        p.models.keys().map(|m| if m.is_empty() { "no model named".to_owned() } else { cut(m, 40) }).take(4).collect();
    let more = if p.models.len() > 4 { format!(", {} more", p.models.len() - 4) } else { String::new() };
    wrapped(out, &format!("{}{more}", models.join(", ")), "");
}

fn in_short(out: &mut String, p: &Profile) {
    section(out, "In short", &[]);
    let curve = &p.keep_curve;
    if p.results.count == 0 {
        wrapped(out, "There are no tool results: clearing has nothing to do.", "  ");
        return;
    }
    let named: Vec<String> = p.dominating_tools.iter().take(4).map(|t| cut(t, 24)).collect();
    let rest = p.dominating_tools.len().saturating_sub(4);
    let held: f64 = p.tools.iter().filter(|t| p.dominating_tools.contains(&t.name)).map(|t| t.result_share).sum();
    let and = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let text = format!(
        "{}{and} {} {} of the result tokens; the largest tenth of the results holds {}.",
        named.join(", "),
        if p.dominating_tools.len() == 1 { "holds" } else { "hold" },
        percent(held),
        percent(p.largest_tenth_share)
    );
    wrapped(out, &text, "  ");
    let text = format!(
        "Results are {} of the largest prompts (median {}): more than that no clearing can free.",
        percent(p.result_share_of_peaks()),
        tokens(p.prompts.peak.p50)
    );
    wrapped(out, &text, "  ");
    if curve.needs() == 0 {
        wrapped(out, "No result is seen to be needed again: every keep is as good as another, or needs were not looked for.", "  ");
    } else {
        let text = format!(
            "{} of the results are needed again, half of the needs {} uses back or more. keep = 3 cuts off {} of the needs, 10 {}, 30 {}.",
            percent(curve.results_cut_off(0)),
            p.reuse_distance.p50,
            percent(curve.needs_cut_off(3)),
            percent(curve.needs_cut_off(10)),
            percent(curve.needs_cut_off(30))
        );
        wrapped(out, &text, "  ");
    }
}

fn keep_curve(out: &mut String, p: &Profile, shown: &Shown) {
    if p.keep_curve.needs() == 0 {
        return;
    }
    let heads: Vec<String> = KEEPS.iter().map(|k| if *k == 0 { "again".to_owned() } else { format!(">{k}") }).collect();
    section(out, "Keep curve, uses back", &heads.iter().map(|h| (h.as_str(), 6)).collect::<Vec<_>>());
    let mut line = |name: &str, of: &dyn Fn(u64) -> f64| {
        let cells: Vec<(String, usize)> = KEEPS.iter().map(|&k| (percent(of(k)), 6)).collect();
        row(out, name, &cells);
    };
    line("needs", &|k| p.keep_curve.needs_cut_off(k));
    line("results", &|k| p.keep_curve.results_cut_off(k));
    let needed: Vec<&ToolProfile> = p.tools.iter().filter(|t| t.keep_curve.needs() > 0).collect();
    let (rows, left_out) = shown.first(&needed, |t| Some(&t.name));
    for tool in rows {
        let curve: &KeepCurve = &tool.keep_curve;
        line(&format!("  of {}", tool.name), &|k| curve.results_cut_off(k));
    }
    more(out, left_out, "tools whose results are needed again");
    wrapped(out, "Share of needs, and of results by their last need, that keep = k would cut off.", "  ");
}

fn tools(out: &mut String, p: &Profile, shown: &Shown) {
    if p.tools.is_empty() {
        return;
    }
    section(
        out,
        "Results (tokens)",
        &[("share", 6), ("count", 7), ("p10", 6), ("p50", 6), ("p90", 6), ("max", 6), ("use", 6), ("again", 7)],
    );
    let (rows, left_out) = shown.first(&p.tools, |t| Some(&t.name));
    for t in rows {
        let again = match t.refetch {
            Refetch::Yes => "",
            Refetch::Costly => "costly",
            Refetch::Never => "never",
        };
        let r = &t.results;
        let mut cells = vec![(percent(t.result_share), 6), (tokens(r.count), 7)];
        cells.extend([r.p10, r.p50, r.p90, r.max].map(|n| (tokens(n), 6)));
        cells.extend([(tokens(t.uses.p50), 6), (again.to_owned(), 7)]);
        row(out, &t.name, &cells);
    }
    more(out, left_out, "tools");
    if shown.tools.is_empty() {
        let r = &p.results;
        let mut cells = vec![(String::new(), 6), (tokens(r.count), 7)];
        cells.extend([r.p10, r.p50, r.p90, r.max].map(|n| (tokens(n), 6)));
        row(out, "all", &cells);
    }
}

fn prompts(out: &mut String, p: &Profile, shown: &Shown) {
    section(out, "Prompts (tokens)", &[("p10", 9), ("p50", 9), ("p90", 9), ("max", 9)]);
    let mut line = |name: &str, q: &Quantiles| {
        if q.count > 0 {
            row(out, name, &[q.p10, q.p50, q.p90, q.max].map(|n| (tokens(n), 9)));
        }
    };
    line("system prompt and tools", &p.prompts.base);
    line("first", &p.prompts.first);
    line("largest", &p.prompts.peak);
    line("growth a request", &p.prompts.growth);
    line("uses a transcript", &p.uses.per_transcript);
    line("uses an answer with any", &p.uses.per_batch);
    section(out, "In the largest prompts", &[]);
    let (rows, left_out) = shown.first(&p.composition, |part| part.tool.as_deref());
    for part in rows {
        let name = match (part.kind, &part.tool) {
            ("result", Some(tool)) => format!("results of {tool}"),
            ("base", _) => "system prompt and tools".to_owned(),
            ("user", _) => "client's text".to_owned(),
            ("text", _) => "model's text".to_owned(),
            ("use", _) => "tool uses".to_owned(),
            (kind, _) => kind.to_owned(),
        };
        row(out, &name, &[(percent(part.share), 6), (tokens(part.tokens), 8)]);
    }
    more(out, left_out, "parts");
}

fn pauses(out: &mut String, one: &Inspection) {
    let (gaps, cache) = (&one.profile.gaps, &one.profile.cache);
    section(out, "Pauses and the cache", &[]);
    if gaps.ms.count > 0 {
        let text = format!(
            "Between requests: median {}, p90 {}, longest {}; {} over 5 minutes, {} over an hour.",
            time(gaps.ms.p50),
            time(gaps.ms.p90),
            time(gaps.ms.max),
            gaps.over_5_minutes,
            gaps.over_1_hour
        );
        wrapped(out, &text, "  ");
    }
    if gaps.undated_transcripts > 0 {
        wrapped(out, &format!("{} without times: no pause is known of these.", plural(gaps.undated_transcripts, "transcript")), "  ");
    }
    if gaps.backwards > 0 {
        wrapped(out, &format!("{} before the one that precedes it in the conversation.", plural(gaps.backwards, "request starts")), "  ");
    }
    if cache.warm_starts > 0 {
        let text = format!(
            "{} warm, with {} tokens in the cache.",
            plural(cache.warm_starts, "transcript starts"),
            tokens(cache.warm_start_tokens)
        );
        wrapped(out, &text, "  ");
    }
    if cache.natural_invalidations == 0 {
        wrapped(out, "No natural invalidation: the cache never lost what no pause explains.", "  ");
    }
    for cause in &one.natural_invalidations {
        let text = format!(
            "{}, cause {}: the cache gave {} tokens less, which cost {}.",
            plural(cause.requests, "natural invalidation"),
            cause.cause,
            tokens(cause.lost_tokens),
            usd(cause.cost_usd)
        );
        wrapped(out, &text, "  ");
    }
}

fn exclusions(out: &mut String, one: &Inspection, shown: &Shown) {
    let e = &one.exclusions;
    section(out, "exclude_tools", &[]);
    wrapped(out, &format!("Under {}:", one.config), "  ");
    if !e.clears {
        wrapped(out, "This config clears nothing here, so no exclusion changes anything; give --config with a lower trigger.", "  ");
        return;
    }
    if e.proposals.is_empty() {
        wrapped(out, "No tool stands out: none is needed again and cannot be fetched again, none is needed late and cheap to hold.", "  ");
        return;
    }
    let head = [("cost", 10), ("peak", 7), ("fetched", 8), ("lost", 6), ("verdict", 10)];
    row(out, "excluded", &head.map(|(h, w)| (h.to_owned(), w)));
    let mut line = |name: &str, effect: &crate::profile::Effect, verdict: &str| {
        let cells = [
            (usd(effect.cost_usd), 10),
            (tokens(effect.peak_prompt_tokens), 7),
            (tokens(effect.refetches), 8),
            (tokens(effect.lost_needs), 6),
            (verdict.to_owned(), 10),
        ];
        row(out, name, &cells);
    };
    line("none further", &e.without, "");
    for proposal in e.proposals.iter().filter(|p| p.reason.is_none() || p.tools.iter().any(|t| shown.has(t))) {
        let name = if proposal.reason.is_none() { "all of these".to_owned() } else { proposal.tools.join(", ") };
        let verdict = if proposal.effect == e.without {
            "no change"
        } else if proposal.pays {
            "pays"
        } else {
            "costs"
        };
        line(&name, &proposal.effect, verdict);
    }
    let because = |reason: Reason| -> Vec<String> {
        e.proposals.iter().filter(|p: &&Exclusion| p.reason == Some(reason)).flat_map(|p| p.tools.iter().map(|t| cut(t, 24))).collect()
    };
    let gone = because(Reason::CannotBeFetchedAgain);
    if !gone.is_empty() {
        wrapped(out, &format!("Needed again and cannot be fetched again: {}.", gone.join(", ")), "  ");
    }
    let late = because(Reason::NeededLateAndCheap);
    if !late.is_empty() {
        wrapped(out, &format!("Needed late and cheap to hold: {}.", late.join(", ")), "  ");
    }
}

fn recorded(out: &mut String, one: &Inspection) {
    section(out, "Recorded usage", &[("prompt", 9), ("read", 9), ("written", 9), ("output", 9), ("cost", 10)]);
    let Some(r) = &one.recorded else {
        wrapped(out, "None is recorded: sizes and dollars are the replay's alone.", "  ");
        return;
    };
    for (name, t) in [("recorded", &r.recorded), ("predicted", &r.predicted)] {
        let cells = [t.prompt, t.cache_read, t.cache_write, t.output].map(|n| (tokens(n), 9));
        row(out, name, &[&cells[..], &[(usd(t.cost_usd), 10)]].concat());
    }
    let signed = |d: Option<f64>| d.map_or("n/a".to_owned(), |d| format!("{}{}", if d > 0.0 { "+" } else { "" }, percent(d)));
    let text = format!(
        "{} of {} requests carry usage. Predicted prompts {}, cost {}; {} off by more than 1 %.",
        r.requests,
        r.of_requests,
        signed(r.prompt_difference()),
        signed(r.cost_difference()),
        plural(r.prompts_off_by_more_than_1_percent, "prompt")
    );
    wrapped(out, &text, "  ");
    if one.dollars_assumed {
        wrapped(out, "Dollars are assumed: default prices, as a model is unknown; give --price MODEL.", "  ");
    }
}

fn files(out: &mut String, files: &[FileLine]) {
    if files.is_empty() {
        return;
    }
    section(out, "Records", &[]);
    let sum = |of: fn(&FileLine) -> u64| files.iter().map(of).sum::<u64>();
    let failed = files.iter().filter(|f| f.error.is_some()).count() as u64;
    let text = format!(
        "{}: {} read, {} skipped, {} repaired, {} merged as duplicates.",
        plural(files.len() as u64, "file"),
        plural(sum(|f| f.records), "record"),
        sum(|f| f.skipped),
        sum(|f| f.repaired),
        sum(|f| f.duplicates)
    );
    wrapped(out, &text, "  ");
    if failed > 0 {
        wrapped(out, &format!("{} could not be used.", plural(failed, "file")), "  ");
    }
    let text = format!(
        "{} without result, {} without use; {}; {} of {} with usage.",
        plural(sum(|f| f.orphan_uses), "use"),
        plural(sum(|f| f.orphan_results), "result"),
        plural(sum(|f| f.compactions), "compaction"),
        sum(|f| f.requests_with_usage),
        plural(sum(|f| f.requests), "request")
    );
    wrapped(out, &text, "  ");
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    files.iter().flat_map(|f| &f.ignored_types).for_each(|(name, n)| *types.entry(name).or_default() += n);
    if !types.is_empty() {
        let mut types: Vec<(&str, u64)> = types.into_iter().collect();
        types.sort_by_key(|t| std::cmp::Reverse(t.1));
        let named: Vec<String> = types.iter().take(5).map(|(name, n)| format!("{name} {n}")).collect();
        let rest = if types.len() > 5 { format!(", {} more types", types.len() - 5) } else { String::new() };
        wrapped(out, &format!("Records without a message: {}{rest}.", named.join(", ")), "  ");
    }
}

pub(super) fn section(out: &mut String, title: &str, heads: &[(&str, usize)]) {
    let mut line = format!("{title:<width$}", width = NAME + 2);
    for (head, width) in heads {
        let _ = write!(line, "{head:>width$}");
    }
    let _ = writeln!(out, "\n{}", line.trim_end());
}

fn row(out: &mut String, name: &str, cells: &[(String, usize)]) {
    let mut line = format!("  {:<NAME$}", cut(name, NAME - 1));
    for (cell, width) in cells {
        let _ = write!(line, "{cell:>width$}");
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn more(out: &mut String, left_out: usize, what: &str) {
    if left_out > 0 {
        let what = if left_out == 1 { what.replacen("tools", "tool", 1).replacen("parts", "part", 1) } else { what.to_owned() };
        let _ = writeln!(out, "  … and {left_out} more {what} (--top 0 shows all)");
    }
}

/// `text` in lines of at most 80 columns.
pub(super) fn wrapped(out: &mut String, text: &str, indent: &str) {
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > 80 {
            let _ = writeln!(out, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{indent}{line}");
}

/// A name of at most `width` characters on one line; of a longer one both ends, which tell names apart best.
fn cut(name: &str, width: usize) -> String {
    let chars: Vec<char> = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.len() <= width {
        return chars.into_iter().collect();
    }
    let head = width / 2 - 1;
    chars[..head].iter().chain(['…'].iter()).chain(&chars[chars.len() - (width - head - 1)..]).collect()
}

fn tokens(n: u64) -> String {
    short(n as f64)
}

pub(super) fn plural(n: u64, one: &str) -> String {
    if n == 1 {
        return format!("1 {one}");
    }
    // "request starts" becomes "requests start".
    let many = one.strip_suffix(" starts").map_or_else(|| format!("{one}s"), |noun| format!("{noun}s start"));
    format!("{n} {many}")
}

/// Milliseconds as people say them.
fn time(ms: u64) -> String {
    let s = ms as f64 / 1000.0;
    match s {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}
