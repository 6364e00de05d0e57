//! One field of a config file: its value, its path as the API spells it, and readers that say what to write instead.

use serde_json::{Map, Value};

use super::ConfigError;
use crate::price::MOST_USD;

/// The keys of every object in a config file, by the object's place; for messages and for spotting a key in the wrong object.
pub(super) const TOP_KEYS: &[&str] = &["context_management", "assume", "cache", "price", "context_window"];
pub(super) const MANAGEMENT_KEYS: &[&str] = &["edits"];
pub(super) const TOOL_USES_KEYS: &[&str] = &["type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"];
pub(super) const ASSUME_KEYS: &[&str] = &[
    "memory",
    "selection",
    "keep_counts",
    "tiny_result_bytes",
    "placeholder_tokens",
    "cleared_input_tokens",
    "trigger_counts_base",
    "trigger_cmp",
    "max_refetch_rounds",
];
pub(super) const CACHE_KEYS: &[&str] =
    &["mode", "ttl_ms", "lookback", "min_tokens", "system_breakpoint", "tail_breakpoints", "group_parallel"];
pub(super) const PRICE_KEYS: &[&str] = &["model", "input", "cache_read", "cache_write", "cache_write_1h", "output", "tiers"];
pub(super) const TIER_KEYS: &[&str] = &["above", "input", "cache_read", "cache_write", "cache_write_1h", "output"];

/// Where a key that stands in the wrong object belongs.
const HOMES: &[(&str, &[&str])] = &[
    ("the top of the file", TOP_KEYS),
    ("context_management", MANAGEMENT_KEYS),
    ("an edit in context_management.edits", TOOL_USES_KEYS),
    ("assume", ASSUME_KEYS),
    ("cache", CACHE_KEYS),
    ("price", PRICE_KEYS),
];

/// Integers up to here are exact in a float, so that 3e4 can be read as 30000 without guessing.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// A value with its path.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    pub path: String,
    pub value: &'a Value,
}

/// An object whose keys are all known.
#[derive(Debug, Clone)]
pub(super) struct Object<'a> {
    pub path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Field<'a> {
    /// The whole file.
    pub fn root(value: &'a Value) -> Self {
        Self { path: String::new(), value }
    }

    /// An error at this field.
    pub fn error(&self, problem: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.path, problem)
    }

    /// An object with no keys but `known`. `example`: what to write instead of anything else.
    pub fn object(&self, known: &[&str], example: &str) -> Result<Object<'a>, ConfigError> {
        let map = self.map(example)?;
        let object = Object { path: self.path.clone(), map };
        for key in map.keys() {
            if !known.contains(&key.as_str()) {
                return Err(object.unknown_key(key, known));
            }
        }
        Ok(object)
    }

    /// The object's map, keys unchecked.
    pub fn map(&self, example: &str) -> Result<&'a Map<String, Value>, ConfigError> {
        match self.value {
            Value::Object(map) => Ok(map),
            _ => Err(self.wrong_kind("an object", example)),
        }
    }

    /// The elements of an array.
    pub fn array(&self, example: &str) -> Result<Vec<Field<'a>>, ConfigError> {
        match self.value {
            Value::Array(items) => {
                Ok(items.iter().enumerate().map(|(index, value)| Field { path: format!("{}[{index}]", self.path), value }).collect())
            }
            _ => Err(self.wrong_kind("a list", example)),
        }
    }

    /// `true` or `false`.
    pub fn bool(&self) -> Result<bool, ConfigError> {
        match self.value {
            Value::Bool(b) => Ok(*b),
            Value::String(s) if matches!(s.to_ascii_lowercase().as_str(), "true" | "false") => {
                Err(self.error(format!("expected true or false, got a string: write {} without quotes", s.to_ascii_lowercase())))
            }
            _ => Err(self.wrong_kind("true or false", "true or false")),
        }
    }

    /// Text.
    pub fn string(&self, example: &str) -> Result<&'a str, ConfigError> {
        match self.value {
            Value::String(s) => Ok(s),
            _ => Err(self.wrong_kind("a string", example)),
        }
    }

    /// A list of tool names.
    pub fn tool_names(&self) -> Result<Vec<String>, ConfigError> {
        const EXAMPLE: &str = r#"a list of tool names, ["memory"]"#;
        self.array(EXAMPLE)?
            .iter()
            .map(|item| match item.string(r#"a tool's name, "memory""#)? {
                "" => Err(item.error(r#"an empty tool name: write the tool's name, "memory""#)),
                name => Ok(name.to_owned()),
            })
            .collect()
    }

    /// A whole number from `least` to `most`, in `unit` (plural). 30000.0 is 30000.
    pub fn count(&self, unit: &str, least: u64, most: u64) -> Result<u64, ConfigError> {
        let whole = format!("a whole number of {unit}");
        let n = match self.value {
            Value::Number(n) => match (n.as_u64(), n.as_f64()) {
                (Some(n), _) => n,
                (None, Some(f)) if f < 0.0 => {
                    return Err(self.error(format!("{n} is negative: write {whole}, {least} or more")));
                }
                (None, Some(f)) if f > EXACT_FLOAT => {
                    return Err(self.error(format!("{f:e} is too large: write {whole}, for example 30000")));
                }
                (None, Some(f)) if f.fract() == 0.0 => f as u64,
                _ => {
                    return Err(self.error(format!("{n} is not whole: write {whole}, without a fraction")));
                }
            },
            Value::String(s) => {
                let write = super::size::parse(s).map_or_else(|_| "for example 30000".to_owned(), |n| n.to_string());
                return Err(self.error(format!("expected {whole}, got a string: write {write} without quotes")));
            }
            _ => return Err(self.wrong_kind(&whole, "for example 30000")),
        };
        if n < least {
            return Err(self.error(format!("{n} is too small: write {whole}, {least} or more")));
        }
        if n > most {
            return Err(self.error(format!("{n} is too large: write {whole}, at most {most}")));
        }
        Ok(n)
    }

    /// As [`Self::count`], for fields of 32 bits.
    pub fn count32(&self, unit: &str, least: u32, most: u32) -> Result<u32, ConfigError> {
        self.count(unit, least.into(), most.into()).map(|n| n as u32)
    }

    /// A price in USD per million tokens: finite, 0 or more.
    pub fn price(&self) -> Result<f64, ConfigError> {
        match self.value {
            Value::Number(n) => match n.as_f64() {
                Some(f) if (0.0..=MOST_USD).contains(&f) => Ok(f + 0.0),
                _ => Err(self.error(format!("{n} is not a price: write USD per million tokens, from 0 to 1000000, for example 3.75"))),
            },
            Value::String(s) => {
                let number = s.trim().trim_start_matches('$').parse::<f64>().ok().filter(|f| (0.0..=MOST_USD).contains(f));
                let write = number.map_or_else(|| "for example 3.75".to_owned(), |f| f.to_string());
                Err(self.error(format!("expected USD per million tokens, got a string: write {write} without quotes")))
            }
            _ => Err(self.wrong_kind("USD per million tokens", "for example 3.75")),
        }
    }

    /// One of a few words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ConfigError> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let choices = alternatives(&names);
        let given = self.string(&choices)?;
        words.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or_else(|| {
            self.error(format!("{} is not known: write {}{choices}", quoted(given), did_you_mean(given, &names).unwrap_or_default()))
        })
    }

    /// "expected X, got Y: write Z".
    pub fn wrong_kind(&self, expected: &str, example: &str) -> ConfigError {
        let got = kind(self.value);
        let hint = if self.value.is_null() { ", or leave the key out for its default" } else { "" };
        self.error(format!("expected {expected}, got {got}: write {example}{hint}"))
    }
}

impl<'a> Object<'a> {
    /// The field of this key, if the key is there.
    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        self.map.get(key).map(|value| Field { path: self.path_of(key), value })
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// The field of this key, unless it is absent or `null`.
    pub fn get_not_null(&self, key: &str) -> Option<Field<'a>> {
        self.get(key).filter(|field| !field.value.is_null())
    }

    /// The field of a key that must be there.
    pub fn require(&self, key: &str, example: &str) -> Result<Field<'a>, ConfigError> {
        self.get(key).ok_or_else(|| ConfigError::new(&self.path_of(key), format!("missing: write {example}")))
    }

    /// The path of one key.
    pub fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The error for a key that this object does not have.
    pub fn unknown_key(&self, key: &str, known: &[&str]) -> ConfigError {
        unknown_key(&self.path, key, known)
    }
}

/// The error for a key that an object at `path` does not have: the nearest key, where it belongs, and all that are known.
pub(super) fn unknown_key(path: &str, key: &str, known: &[&str]) -> ConfigError {
    let list = format!("known keys: {}", known.join(", "));
    let home = HOMES.iter().find(|(_, keys)| keys.contains(&key)).map(|(home, _)| *home);
    let problem = match (did_you_mean_key(key, known), home) {
        (Some(near), _) => format!("unknown key: write {near} ({list})"),
        (None, Some(home)) => format!("unknown key here: {key} belongs in {home} ({list})"),
        (None, None) => format!("unknown key: remove it ({list})"),
    };
    ConfigError::new(&join(path, key), problem)
}

/// A path with one more key, as one would write it; strange keys are quoted and cut.
pub(super) fn join(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.len() <= 60 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    match (plain, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{}]", quoted(key)),
    }
}

/// A string from the file in quotes, escaped and cut to one short piece.
pub(super) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    let cut = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{cut}\"", short.escape_debug())
}

/// `"a"`, `"b" or "c"`.
pub(super) fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The known name nearest to `given`, if one is near.
pub(super) fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    let fold = |s: &str| s.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let given = fold(&given.chars().take(80).collect::<String>());
    let mut best: Option<(&str, f64)> = None;
    for name in known {
        let score = strsim::jaro_winkler(&given, &fold(name));
        if score >= 0.84 && best.is_none_or(|(_, b)| score > b) {
            best = Some((name, score));
        }
    }
    best.map(|(name, _)| name)
}

fn did_you_mean_key(given: &str, known: &[&str]) -> Option<String> {
    nearest(given, known).map(|near| format!("`{near}`"))
}

/// The nearest word and a lead-in to the whole list.
fn did_you_mean(given: &str, known: &[&str]) -> Option<String> {
    nearest(given, known).map(|near| format!("\"{near}\"; the choices are "))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
