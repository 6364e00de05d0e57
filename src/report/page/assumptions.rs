//! What the numbers rest on: which other assumptions turn the answer, and the settings of the replays.

use std::fmt::Write;

use serde_json::Value;

use super::PageView;
use super::answer::thousands;
use super::html::text;
use crate::decide::Verdict;
use crate::decide::sensitivity::Standing;
use crate::report::number::percent;

/// The replays under other assumptions: those that turn the answer in full view, the others folded away.
pub(super) fn sensitivity(view: &PageView) -> String {
    let Some(advice) = view.advice.filter(|advice| !advice.sensitivity.is_empty()) else {
        return "<p>No other assumptions were tried.</p>".to_owned();
    };
    let verdict = advice.decision.verdict;
    let all = &advice.sensitivity;
    let (stand, turned): (Vec<&Standing>, Vec<&Standing>) = all.iter().partition(|s| s.stands);
    let subject = match verdict {
        Verdict::TooFewSessions => "That the best config saves",
        _ if verdict.clears() => "The recommendation",
        _ => "Not to clear",
    };
    let mut out = format!("<p>{subject} stands under {} of {} other assumptions", stand.len(), all.len());
    if turned.is_empty() {
        out.push_str(".</p>\n");
    } else {
        out.push_str(if turned.len() == 1 { "; this one turns it:</p>\n" } else { "; these turn it:</p>\n" });
        table(&mut out, &turned);
    }
    if !stand.is_empty() {
        let _ = writeln!(out, "<details><summary>The {} under which it stands</summary>", stand.len());
        table(&mut out, &stand);
        out.push_str("</details>\n");
    }
    out
}

fn table(out: &mut String, standings: &[&Standing]) {
    out.push_str("<table class=\"plain\"><thead><tr><th scope=\"col\">If</th><th scope=\"col\">then</th></tr></thead><tbody>\n");
    for s in standings {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code><span class=\"about\">{}</span></td><td>{}</td></tr>",
            text(&s.name),
            text(about_scenario(&s.name)),
            text(&outcome(s))
        );
    }
    out.push_str("</tbody></table>\n");
}

/// What happens there, in words.
fn outcome(s: &Standing) -> String {
    let own = if s.saving < -0.0005 { format!("it costs {} more", percent(-s.saving)) } else { format!("it saves {}", percent(s.saving)) };
    let lost = match s.lost {
        0 => String::new(),
        1 => ", and 1 need is lost or unmet".to_owned(),
        n => format!(", and {n} needs are lost or unmet"),
    };
    match (s.saving == 0.0, s.best) {
        (true, None) => "no config saves".to_owned(),
        (true, Some(_)) => format!("a config saves {}", percent(s.best_saving)),
        _ => format!("{own}{lost}"),
    }
}

/// What a scenario means.
fn about_scenario(name: &str) -> &'static str {
    let key = name.split([' ', '=']).next().unwrap_or("");
    match key {
        "result_sizes" => "every tool result is that many times as large",
        "needs_refetched" => "only this share of the needs is real; the agent does without the rest",
        "read_price_ratio" => "a token read from the cache costs this share of an uncached one",
        key => about_setting(key),
    }
}

/// What a setting means, in a few words.
fn about_setting(key: &str) -> &'static str {
    match key {
        "memory" => "stateless: what is cleared is found anew for each request; sticky: it stays cleared",
        "selection" => "how results are taken when clear_at_least is set",
        "keep_counts" => "which tool uses take up a keep slot",
        "tiny_result_bytes" => "a text result up to this size is neither counted nor cleared",
        "placeholder_tokens" => "size of what takes a cleared result's place",
        "cleared_input_tokens" => "what is left of a tool use whose input is cleared",
        "trigger_counts_base" => "whether system prompt and tool definitions count against the trigger",
        "trigger_cmp" => "gt: clears above the trigger; ge: at it",
        "max_refetch_rounds" => "how often one request may fetch again",
        "mode" => "entries: breakpoints with a lookback; prefix: the longest known prefix; off: no cache",
        "ttl_ms" => "how long cache entries live, stated",
        "default_ttl_ms" => "how long cache entries live where nothing is stated",
        "lookback" => "positions that a breakpoint looks back",
        "min_tokens" => "shorter prompts are not cached",
        "system_breakpoint" => "a breakpoint after the system prompt",
        "tail_breakpoints" => "breakpoints at the end of the prompt",
        "group_parallel" => "parallel uses or results are one position",
        "context_window" => "tokens that fit the model",
        "input" => "USD per million uncached prompt tokens",
        "cache_read" => "USD per million tokens read from the cache",
        "cache_write" => "USD per million tokens written to the cache",
        "cache_write_1h" => "the same for entries that live longer than five minutes",
        "output" => "USD per million tokens answered",
        "tiers" => "other prices for larger prompts",
        _ => "",
    }
}

/// The settings of the replays as the manifest states them, folded away by kind.
pub(super) fn settings(view: &PageView) -> String {
    let Some(all) = view.manifest["settings"].as_object() else { return String::new() };
    let mut out = String::new();
    for (name, settings) in all.iter().take(MOST_SETTINGS) {
        let _ = writeln!(out, "<details><summary>Replayed with {}</summary>", text(name));
        out.push_str("<table class=\"plain\"><thead><tr><th scope=\"col\">Setting</th><th scope=\"col\">Value</th></tr></thead><tbody>\n");
        for (group, values) in settings.as_object().into_iter().flatten() {
            match values.as_object() {
                Some(values) => values.iter().for_each(|(key, value)| setting(&mut out, group, key, value)),
                None => setting(&mut out, "", group, values),
            }
        }
        out.push_str("</tbody></table></details>\n");
    }
    if all.len() > MOST_SETTINGS {
        let _ = writeln!(out, "<p>And {} more, see manifest.json.</p>", all.len() - MOST_SETTINGS);
    }
    out
}

/// Kinds of settings (one a model) at most.
const MOST_SETTINGS: usize = 8;

fn setting(out: &mut String, group: &str, key: &str, value: &Value) {
    let group = match group {
        "price_usd_per_million_tokens" => "price.",
        "assume" => "assume.",
        "cache" => "cache.",
        _ => "",
    };
    let value = match value {
        Value::Null => "not stated".to_owned(),
        Value::String(word) => word.clone(),
        Value::Number(n) => n.as_u64().map_or_else(|| n.to_string(), thousands),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        other => other.to_string(),
    };
    let _ = writeln!(
        out,
        "<tr><td><code>{}{}</code><span class=\"about\">{}</span></td><td>{}</td></tr>",
        group,
        text(key),
        text(about_setting(key)),
        text(&value)
    );
}
