//! Config files, JSON or TOML, to a checked [`Config`].
//!
//! A file is one of: a config (`context_management`, `assume`, `cache`, `price`, `context_window`, all optional), the bare
//! `context_management` object (`{"edits": [...]}`), or a whole Messages API request that holds `context_management`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::edits::context_management;
use super::field::{self, Field};
use super::{Assume, CacheMode, CachePatch, Config, KeepCounts, Memory, Selection, TriggerCmp};
use crate::price::{PricePatch, Tier};

/// A result that is cleared again as soon as it is fetched would be fetched for ever.
const MOST_ROUNDS: u32 = 100;

/// An error in a config: the field and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    /// Path of the field as the API spells it, `context_management.edits[0].keep.type`; a line and column where the text is not JSON or TOML at all.
    pub field: String,
    /// What is wrong and what to write instead, one line, without any text of a conversation.
    pub problem: String,
}

impl ConfigError {
    /// An error at `path`; an empty path is the whole file.
    pub(super) fn new(path: &str, problem: impl Into<String>) -> Self {
        let field = if path.is_empty() { "the config".to_owned() } else { path.to_owned() };
        Self { field, problem: problem.into() }
    }

    fn syntax(line: usize, column: usize, problem: impl Into<String>) -> Self {
        Self { field: format!("line {line}, column {column}"), problem: problem.into() }
    }
}

/// Fields of a Messages API request, which are ignored when a whole request is given.
const REQUEST_KEYS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "stream",
    "metadata",
    "thinking",
    "service_tier",
    "container",
    "mcp_servers",
    "betas",
    "output_config",
    "output_format",
    "inference_geo",
    "speed",
    "cache_control",
    "anthropic_version",
    "anthropic_beta",
];

const FILE_EXAMPLE: &str = r#"{"context_management": {"edits": [...]}}"#;

/// Reads a JSON config. A byte order mark at the start is skipped.
///
/// # Errors
/// The first thing that is wrong, by its field.
pub fn from_json(text: &str) -> Result<Config, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(ConfigError::new("", "the file is empty: write {} for a config that never clears"));
    }
    let Strict(value) = serde_json::from_str(text).map_err(|error| {
        // serde_json's own words name characters and classes, never the text around them; its position follows after " at line".
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        let problem = if words == REPEATED {
            REPEATED.to_owned()
        } else {
            format!("not valid JSON ({words}): correct it, or write TOML into a .toml file")
        };
        ConfigError::syntax(error.line(), error.column(), problem)
    })?;
    from_value(&value)
}

/// Reads a TOML config. A byte order mark at the start is skipped.
///
/// # Errors
/// The first thing that is wrong, by its field.
pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
    from_value(&toml_value(text)?)
}

/// TOML as JSON. A byte order mark at the start is skipped.
pub(super) fn toml_value(text: &str) -> Result<Value, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = &text.as_bytes()[..at];
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        let line = before.split(|b| *b == b'\n').count();
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
        let words = error.message().lines().next().unwrap_or_default().to_owned();
        ConfigError::syntax(line, column, format!("not valid TOML ({words}): correct it, or write JSON into a .json file"))
    })?;
    json_of("", toml::Value::Table(table))
}

/// Reads a config that is already a JSON value.
///
/// # Errors
/// The first thing that is wrong, by its field.
pub fn from_value(value: &Value) -> Result<Config, ConfigError> {
    let root = Field::root(value);
    if value.is_array() {
        return Err(root.error(format!("expected an object, got a list: write {FILE_EXAMPLE} around the edits")));
    }
    let map = root.map(FILE_EXAMPLE)?;
    let mut notes = Vec::new();
    let is_request = map.contains_key("context_management") && map.contains_key("messages");
    if map.contains_key("edits") && !map.keys().any(|key| field::TOP_KEYS.contains(&key.as_str())) {
        let bare = Field { path: "context_management".to_owned(), value };
        return Ok(Config { edit: context_management(&bare, &mut notes)?, notes, ..Config::default() });
    }
    if map.contains_key("messages") && !is_request {
        return Err(root.error(format!("a Messages API request without context_management: add it, {FILE_EXAMPLE}")));
    }
    for key in map.keys().map(String::as_str).filter(|key| !field::TOP_KEYS.contains(key)) {
        // Requests gain fields with time: only what looks like a slip in one of this file's own keys is an error there.
        if !is_request || (!REQUEST_KEYS.contains(&key) && field::nearest(key, field::TOP_KEYS).is_some()) {
            return Err(field::unknown_key("", key, field::TOP_KEYS));
        }
    }
    if is_request {
        notes.push(
            "A whole Messages API request: its context_management is read, everything else of it is ignored; name the model with `price`."
                .to_owned(),
        );
    }
    let section = |key: &str| map.get(key).map(|value| Field { path: key.to_owned(), value });
    Ok(Config {
        edit: section("context_management").map_or(Ok(None), |at| context_management(&at, &mut notes))?,
        assume: section("assume").map_or(Ok(Assume::default()), |at| assume(&at))?,
        cache: section("cache").map_or(Ok(CachePatch::default()), |at| cache(&at))?,
        price: section("price").map_or(Ok(PricePatch::default()), |at| price(&at))?,
        context_window: section("context_window").filter(|at| !at.value.is_null()).map(|at| at.count("tokens", 1, u64::MAX)).transpose()?,
        notes,
    })
}

fn assume(at: &Field) -> Result<Assume, ConfigError> {
    let object = at.object(field::ASSUME_KEYS, r#"{"memory": "stateless"}"#)?;
    let mut out = Assume::default();
    if let Some(at) = object.get("memory") {
        out.memory = at.word(&[("stateless", Memory::Stateless), ("sticky", Memory::Sticky)])?;
    }
    if let Some(at) = object.get("selection") {
        out.selection = at.word(&[
            ("batched", Selection::Batched),
            ("all_or_nothing", Selection::AllOrNothing),
            ("stop_when_reached", Selection::StopWhenReached),
        ])?;
    }
    if let Some(at) = object.get("keep_counts") {
        out.keep_counts = at.word(&[("clearable", KeepCounts::Clearable), ("all", KeepCounts::All)])?;
    }
    if let Some(at) = object.get("tiny_result_bytes") {
        out.tiny_result_bytes = at.count32("bytes", 0, u32::MAX)?;
    }
    if let Some(at) = object.get("placeholder_tokens") {
        out.placeholder_tokens = at.count32("tokens", 0, u32::MAX)?;
    }
    if let Some(at) = object.get("cleared_input_tokens") {
        out.cleared_input_tokens = at.count32("tokens", 0, u32::MAX)?;
    }
    if let Some(at) = object.get("trigger_counts_base") {
        out.trigger_counts_base = at.bool()?;
    }
    if let Some(at) = object.get("trigger_cmp") {
        out.trigger_cmp = at.word(&[("gt", TriggerCmp::Gt), ("ge", TriggerCmp::Ge)])?;
    }
    if let Some(at) = object.get("max_refetch_rounds") {
        out.max_refetch_rounds = at.count32("rounds", 0, MOST_ROUNDS)?;
    }
    Ok(out)
}

fn cache(at: &Field) -> Result<CachePatch, ConfigError> {
    let object = at.object(field::CACHE_KEYS, r#"{"ttl_ms": 300000}"#)?;
    let modes = [("entries", CacheMode::Entries), ("prefix", CacheMode::Prefix), ("off", CacheMode::Off)];
    Ok(CachePatch {
        mode: object.get("mode").map(|at| at.word(&modes)).transpose()?,
        ttl_ms: object.get_not_null("ttl_ms").map(|at| at.count("milliseconds", 0, i64::MAX as u64).map(|n| n as i64)).transpose()?,
        lookback: object.get("lookback").map(|at| at.count32("positions", 0, u32::MAX)).transpose()?,
        min_tokens: object.get("min_tokens").map(|at| at.count("tokens", 0, u64::MAX)).transpose()?,
        system_breakpoint: object.get("system_breakpoint").map(|at| at.bool()).transpose()?,
        tail_breakpoints: object.get("tail_breakpoints").map(|at| at.count32("breakpoints", 1, 3)).transpose()?,
        group_parallel: object.get("group_parallel").map(|at| at.bool()).transpose()?,
    })
}

/// A model's name, or prices, or an object with both.
fn price(at: &Field) -> Result<PricePatch, ConfigError> {
    const EXAMPLE: &str = r#"a model's name, "claude-sonnet-4-6", or prices in USD per million tokens, {"input": 3, "output": 15}"#;
    match at.value {
        Value::Null => return Ok(PricePatch::default()),
        Value::String(_) => return Ok(PricePatch { model: Some(model(at)?), ..PricePatch::default() }),
        Value::Object(_) => {}
        _ => return Err(at.wrong_kind("a model's name or an object", EXAMPLE)),
    }
    let object = at.object(field::PRICE_KEYS, EXAMPLE)?;
    let single = |key: &str| object.get(key).map(|at| at.price()).transpose();
    Ok(PricePatch {
        model: object.get("model").map(|at| model(&at)).transpose()?,
        input: single("input")?,
        cache_read: single("cache_read")?,
        cache_write: single("cache_write")?,
        cache_write_1h: single("cache_write_1h")?,
        output: single("output")?,
        tiers: object
            .get("tiers")
            .map(|at| at.array(r#"a list of tiers, [{"above": 200000, "input": 6}]"#)?.iter().map(tier).collect())
            .transpose()?,
    })
}

fn model(at: &Field) -> Result<String, ConfigError> {
    match at.string(r#"a model's name, "claude-sonnet-4-6""#)?.trim() {
        "" => Err(at.error(r#"an empty name: write a model's name, "claude-sonnet-4-6""#)),
        name => Ok(name.to_owned()),
    }
}

fn tier(at: &Field) -> Result<Tier, ConfigError> {
    let object = at.object(field::TIER_KEYS, r#"{"above": 200000, "input": 6}"#)?;
    let single = |key: &str| object.get(key).map(|at| at.price()).transpose();
    Ok(Tier {
        above: object.require("above", "the prompt tokens above which the tier holds, for example 200000")?.count("tokens", 0, u64::MAX)?,
        input: single("input")?,
        cache_read: single("cache_read")?,
        cache_write: single("cache_write")?,
        cache_write_1h: single("cache_write_1h")?,
        output: single("output")?,
    })
}

/// TOML as JSON. What JSON cannot hold (dates, `nan`, `inf`) has no place in a config and is an error at its field.
fn json_of(path: &str, value: toml::Value) -> Result<Value, ConfigError> {
    Ok(match value {
        toml::Value::String(s) => Value::String(s),
        toml::Value::Integer(n) => Value::from(n),
        toml::Value::Boolean(b) => Value::Bool(b),
        toml::Value::Float(f) => serde_json::Number::from_f64(f)
            .map(Value::Number)
            .ok_or_else(|| ConfigError::new(path, format!("{f} is not a number that can be used: write a finite one")))?,
        toml::Value::Datetime(_) => return Err(ConfigError::new(path, "a date: no field takes one, write a number or a string")),
        toml::Value::Array(items) => Value::Array(
            items.into_iter().enumerate().map(|(index, item)| json_of(&format!("{path}[{index}]"), item)).collect::<Result<_, _>>()?,
        ),
        toml::Value::Table(table) => {
            let mut map = Map::new();
            for (key, item) in table {
                let value = json_of(&field::join(path, &key), item)?;
                map.insert(key, value);
            }
            Value::Object(map)
        }
    })
}

const REPEATED: &str = "a key stands twice in the same object: remove one of them";

/// A JSON value in which no object repeats a key: the usual reader would silently keep the last.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(Value::from(n))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::from(n))
    }

    fn visit_f64<E>(self, f: f64) -> Result<Value, E> {
        Ok(Value::from(f))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(Value::from(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(serde::de::Error::custom(REPEATED));
            }
            let Strict(value) = access.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
