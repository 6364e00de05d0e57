//! A policy of the space as it stands in a file, checked.

use serde_json::Value;

use super::field::{Field, Object};
use super::space::{Basis, Clear, Condition, Gate, MOST_RULES, Protect, Rule, State, Tail, Take, Unit};
use super::{ClearToolInputs, ConfigError, KeepCounts, Memory, Policy, TriggerCmp};

/// The keys that a policy has besides its name and knobs.
pub(super) const POLICY_KEYS: &[&str] =
    &["rules", "placeholder_tokens", "trimmed_tokens", "tiny_result_bytes", "clear_tool_inputs", "cleared_input_tokens", "note_tokens"];

const CLEAR_KEYS: &[&str] = &[
    "type",
    "when",
    "newest",
    "first",
    "exclude_tools",
    "only_tools",
    "keep_counts",
    "min_tokens",
    "errors",
    "refetched",
    "unless_read_again",
    "take",
    "gate",
    "growth",
    "every",
    "memory",
    "to",
];

const BASES: &[(&str, Basis)] = &[
    ("original_tokens", Basis::OriginalTokens),
    ("edited_tokens", Basis::EditedTokens),
    ("original_message_tokens", Basis::OriginalMessageTokens),
    ("edited_message_tokens", Basis::EditedMessageTokens),
    ("original_window_share", Basis::OriginalWindowShare),
    ("edited_window_share", Basis::EditedWindowShare),
    ("tool_uses", Basis::ToolUses),
    ("messages", Basis::Count(Unit::Messages)),
    ("items", Basis::Count(Unit::Items)),
    ("events", Basis::Count(Unit::Events)),
    ("user_turns", Basis::Count(Unit::UserTurns)),
    ("assistant_turns", Basis::Count(Unit::AssistantTurns)),
    ("messages_since_clear", Basis::MessagesSinceClear),
    ("idle_ms", Basis::IdleMs),
    ("cache_cold", Basis::CacheCold),
];

/// A key, and what it makes of its number.
type Made<T> = (&'static str, fn(u64) -> T);

const TAILS: &[Made<Tail>] = &[
    ("uses", Tail::Uses),
    ("results", Tail::Results),
    ("result_tokens", Tail::ResultTokens),
    ("window_share", Tail::WindowShare),
    ("messages", |n| Tail::Units(Unit::Messages, n)),
    ("items", |n| Tail::Units(Unit::Items, n)),
    ("events", |n| Tail::Units(Unit::Events, n)),
    ("user_turns", |n| Tail::Units(Unit::UserTurns, n)),
    ("assistant_turns", |n| Tail::Units(Unit::AssistantTurns, n)),
];

const TAKES: &[Made<Take>] =
    &[("batches", Take::Batches), ("until", Take::Until), ("into_kept", Take::IntoKept), ("down_to", Take::DownTo)];

/// Reads the rules and sizes of a policy; other keys of the object are left to the caller.
pub(super) fn policy(object: &Object) -> Result<Policy, ConfigError> {
    let count = |key: &str, unit: &str| object.get(key).map(|at| at.count32(unit, 0, u32::MAX - 1)).transpose();
    let rules = object.require("rules", "a list of rules, [[rules]]; one without keys clears everything")?;
    let items = rules.array("a list of rules, [[rules]]")?;
    if items.len() > MOST_RULES {
        return Err(rules.error(format!("has {} rules: write at most {MOST_RULES}", items.len())));
    }
    let policy = Policy {
        rules: items.iter().map(rule).collect::<Result<_, _>>()?,
        placeholder_tokens: count("placeholder_tokens", "tokens")?,
        trimmed_tokens: count("trimmed_tokens", "tokens")?.unwrap_or(0),
        tiny_result_bytes: count("tiny_result_bytes", "bytes")?,
        clear_tool_inputs: object.get("clear_tool_inputs").map_or(Ok(ClearToolInputs::No), |at| super::edits::clear_tool_inputs(&at))?,
        cleared_input_tokens: count("cleared_input_tokens", "tokens")?,
        note_tokens: count("note_tokens", "tokens")?,
    };
    let trims = policy.clears().any(|clear| clear.to == State::Trimmed);
    if trims && !object.has("trimmed_tokens") {
        return Err(ConfigError::new(&object.path_of("trimmed_tokens"), "missing: write how many tokens of a trimmed result are left"));
    }
    Ok(policy)
}

fn rule(at: &Field) -> Result<Rule, ConfigError> {
    let kind = at.map("a rule, a table")?.get("type");
    let field = kind.map(|value| Field { path: super::field::join(&at.path, "type"), value });
    let kinds = [("clear", 0), ("clear_thinking", 1), ("compact", 2)];
    match field.map_or(Ok(0), |field| field.word(&kinds))? {
        0 => clear(at).map(Rule::Clear),
        1 => {
            let object = at.object(&["type", "keep_turns"], "a rule")?;
            let keep_turns = object.get("keep_turns").map(|at| at.count32("answers", 0, u32::MAX)).transpose()?;
            Ok(Rule::ClearThinking { keep_turns })
        }
        _ => {
            let object = at.object(&["type", "trigger", "summary_tokens"], "a rule")?;
            let tokens = |key: &str| object.require(key, "a whole number of tokens")?.count("tokens", 0, u64::MAX);
            let summary_tokens = object.require("summary_tokens", "a whole number of tokens")?.count32("tokens", 0, u32::MAX - 1)?;
            Ok(Rule::Compact { trigger: tokens("trigger")?, summary_tokens })
        }
    }
}

fn clear(at: &Field) -> Result<Clear, ConfigError> {
    let object = at.object(CLEAR_KEYS, "a rule")?;
    let count = |key: &str, unit: &str| object.get(key).map_or(Ok(0), |at| at.count32(unit, 0, u32::MAX));
    let flag = |key: &str| object.get(key).map_or(Ok(false), |at| at.bool());
    let keep_counts = [("clearable", KeepCounts::Clearable), ("all", KeepCounts::All)];
    Ok(Clear {
        when: object.get("when").map_or(Ok(Vec::new()), |at| when(&at))?,
        protect: Protect {
            newest: object.get("newest").map_or(Ok(Vec::new()), |at| newest(&at))?,
            first: count("first", "tool uses")?,
            exclude_tools: object.get("exclude_tools").map_or(Ok(Vec::new()), |at| at.tool_names())?,
            only_tools: object.get("only_tools").map(|at| at.tool_names()).transpose()?,
            keep_counts: object.get("keep_counts").map(|at| at.word(&keep_counts)).transpose()?,
            min_tokens: count("min_tokens", "tokens")?,
            errors: flag("errors")?,
            refetched: flag("refetched")?,
            unless_read_again: flag("unless_read_again")?,
        },
        take: object.get("take").map_or(Ok(Take::All), |at| take(&at))?,
        gate: object.get("gate").map_or(Ok(None), |at| gate(&at))?,
        growth: flag("growth")?,
        every: count("every", "tool uses")?,
        memory: object
            .get("memory")
            .map_or(Ok(Memory::Stateless), |at| at.word(&[("recomputed", Memory::Stateless), ("remembered", Memory::Sticky)]))?,
        to: object.get("to").map_or(Ok(State::Cleared), |at| {
            at.word(&[("placeholder", State::Cleared), ("trimmed", State::Trimmed), ("removed", State::Removed)])
        })?,
    })
}

const WHEN_EXAMPLE: &str = "conditions that hold together, { edited_tokens = { gt = 100000 } }, or a list of these of which one suffices";

fn when(at: &Field) -> Result<Vec<Vec<Condition>>, ConfigError> {
    if at.value.is_array() {
        return at.array(WHEN_EXAMPLE)?.iter().map(all_of).collect();
    }
    Ok(vec![all_of(at)?])
}

fn all_of(at: &Field) -> Result<Vec<Condition>, ConfigError> {
    let known: Vec<&str> = BASES.iter().map(|(name, _)| *name).collect();
    let object = at.object(&known, WHEN_EXAMPLE)?;
    let stated = BASES.iter().filter_map(|(name, basis)| Some((*basis, object.get(name)?)));
    let all: Vec<Condition> = stated.map(|(basis, at)| condition(basis, &at)).collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err(at.error("holds no condition: write one, or leave the key out for every request"));
    }
    Ok(all)
}

fn condition(basis: Basis, at: &Field) -> Result<Condition, ConfigError> {
    if basis == Basis::CacheCold {
        if !at.bool()? {
            return Err(at.error("false is no condition: write true, or leave the key out"));
        }
        return Ok(Condition { basis, cmp: TriggerCmp::Ge, value: 1 });
    }
    let (cmp, at) = compared(at)?;
    let value = match basis {
        Basis::OriginalWindowShare | Basis::EditedWindowShare => share(&at)?,
        _ => at.count("tokens, uses, messages or milliseconds", 0, u64::MAX)?,
    };
    Ok(Condition { basis, cmp, value })
}

/// `{ gt = … }` or `{ ge = … }`.
fn compared<'a>(at: &Field<'a>) -> Result<(TriggerCmp, Field<'a>), ConfigError> {
    const EXAMPLE: &str = "{ gt = 100000 } for more than that, { ge = 100000 } for as much";
    let object = at.object(&["gt", "ge"], EXAMPLE)?;
    match (object.get("gt"), object.get("ge")) {
        (Some(value), None) => Ok((TriggerCmp::Gt, value)),
        (None, Some(value)) => Ok((TriggerCmp::Ge, value)),
        _ => Err(at.error(format!("has to hold one of gt and ge: write {EXAMPLE}"))),
    }
}

/// A share from 0 to 1, in millionths.
fn share(at: &Field) -> Result<u64, ConfigError> {
    match at.value.as_f64() {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(libm::round(share * 1e6) as u64),
        _ => Err(at.error("is no share: write a number from 0 to 1, such as 0.8")),
    }
}

fn newest(at: &Field) -> Result<Vec<Tail>, ConfigError> {
    let known: Vec<&str> = TAILS.iter().map(|(name, _)| *name).collect();
    let object = at.object(&known, "what of the newest part is kept, { uses = 3 }")?;
    let stated = TAILS.iter().filter_map(|(name, make)| Some((*name, make, object.get(name)?)));
    stated.map(|(name, make, at)| Ok(make(if name == "window_share" { share(&at)? } else { at.count(name, 0, u64::MAX)? }))).collect()
}

fn take(at: &Field) -> Result<Take, ConfigError> {
    const EXAMPLE: &str = "\"all\", or one of { batches = 10000 }, { until = 10000 }, { into_kept = 10000 } and { down_to = 60000 }";
    match at.value {
        Value::String(word) if word == "all" => return Ok(Take::All),
        Value::Object(map) if map.len() == 1 => {}
        _ => return Err(at.wrong_kind("how much is taken", EXAMPLE)),
    }
    let known: Vec<&str> = TAKES.iter().map(|(name, _)| *name).collect();
    let object = at.object(&known, EXAMPLE)?;
    let stated = TAKES.iter().find_map(|(name, make)| Some((make, object.get(name)?)));
    let (make, tokens) = stated.ok_or_else(|| at.wrong_kind("how much is taken", EXAMPLE))?;
    Ok(make(tokens.count("tokens", 0, u64::MAX)?))
}

fn gate(at: &Field) -> Result<Option<Gate>, ConfigError> {
    let (cmp, at) = compared(at)?;
    let tokens = at.count("tokens", 0, u64::MAX)?;
    // As much as nothing is always freed.
    Ok((tokens > 0 || cmp == TriggerCmp::Gt).then_some(Gate { cmp, tokens }))
}
