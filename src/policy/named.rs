//! Named policies: points of the space that agents run, in a table, and those of a user's own file.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::field::{self, Field};
use super::parse::toml_value;
use super::{ConfigError, Policy, size, space_file};

/// The table: a policy that is a point in the space is an entry of it, and nothing else.
const TABLE: &str = include_str!("named.toml");

/// A policy with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// As on the command line and in the column `policy`.
    pub name: String,
    /// What it does, one sentence.
    pub about: String,
    /// Where its rule and its defaults are from.
    pub source: String,
    /// Read in documentation or by third parties, not in the released package.
    pub unverified: bool,
    /// Its knobs with their defaults, in the order of the file.
    pub knobs: Vec<Knob>,
    /// Rules and sizes, with `"$knob"` where a knob's value stands; `null`: never clears, or is the API's edit.
    body: Value,
}

/// A knob of a named policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Knob {
    /// Its name.
    pub name: String,
    /// A number, a word, or a list of tool names.
    pub default: Value,
}

impl Knob {
    /// Reads a value as the command line spells it: `120k`, a word, or tools joined by `|` (`none`: no tool).
    ///
    /// # Errors
    /// It is of another kind than the default.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        match &self.default {
            Value::Array(_) if text == "none" => Ok(Value::Array(Vec::new())),
            Value::Array(_) => Ok(text.split('|').filter(|tool| !tool.is_empty()).collect()),
            Value::Number(n) if n.is_u64() => size::parse(text).map(Value::from),
            Value::Number(_) => text
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number)
                .ok_or_else(|| format!("{} is no number: write one such as {}", field::quoted(text), self.default)),
            Value::Bool(_) => text.parse().map(Value::Bool).map_err(|_| format!("{} is neither true nor false", field::quoted(text))),
            _ => Ok(Value::from(text)),
        }
    }
}

/// A value as the command line spells it.
pub fn spelled(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Array(tools) if tools.is_empty() => "none".to_owned(),
        Value::Array(tools) => tools.iter().map(|tool| tool.as_str().unwrap_or_default()).collect::<Vec<_>>().join("|"),
        other => other.to_string(),
    }
}

static ALL: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let table = toml_value(TABLE).expect("the shipped table is TOML");
    let entries = table["policy"].as_array().expect("[[policy]] entries");
    entries.iter().map(|entry| Named::from_value(entry).unwrap_or_else(|error| panic!("{error}"))).collect()
});

/// The shipped policies, in the order of tables.
pub fn all() -> &'static [Named] {
    &ALL
}

/// The shipped policy of that name.
pub fn find(name: &str) -> Option<&'static Named> {
    all().iter().find(|named| named.name == name)
}

/// The shipped policy whose name is nearest.
pub fn nearest(name: &str) -> Option<&'static str> {
    let names: Vec<&str> = all().iter().map(|named| named.name.as_str()).collect();
    field::nearest(name, &names)
}

impl Named {
    /// Reads a policy of a user's own: the same keys as an entry of the shipped table, at the top of the file.
    ///
    /// # Errors
    /// The first thing that is wrong, by its field.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let named = Self::from_value(&toml_value(text)?)?;
        if find(&named.name).is_some() || matches!(named.name.as_str(), "oracle" | "bound" | "all") {
            return Err(ConfigError::new("name", format!("{} is the name of a shipped policy: write another", field::quoted(&named.name))));
        }
        if named.body.is_null() {
            return Err(ConfigError::new("rules", "missing: write a list of rules, [[rules]]"));
        }
        Ok(named)
    }

    fn from_value(value: &Value) -> Result<Self, ConfigError> {
        const OWN: &[&str] = &["name", "about", "source", "unverified", "knobs"];
        let keys: Vec<&str> = OWN.iter().chain(space_file::POLICY_KEYS).copied().collect();
        let object = Field::root(value).object(&keys, "a policy: name, knobs and [[rules]]")?;
        let text = |key: &str| object.get(key).map_or(Ok(""), |at| at.string("text in quotes"));
        let name = object.require("name", "a name in quotes")?;
        let known = name.string("a name in quotes")?;
        let is_name = !known.is_empty() && known.len() <= 40 && known.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !is_name {
            return Err(name.error("is no name: write up to 40 letters, digits, _ and -"));
        }
        let knobs = object.get("knobs").map_or(Ok(Vec::new()), |at| knobs(&at))?;
        let mut body: Map<String, Value> = value.as_object().cloned().unwrap_or_default();
        body.retain(|key, _| space_file::POLICY_KEYS.contains(&key.as_str()));
        let named = Self {
            name: known.to_owned(),
            about: text("about")?.to_owned(),
            source: text("source")?.to_owned(),
            unverified: object.get("unverified").map_or(Ok(false), |at| at.bool())?,
            knobs,
            body: if body.is_empty() { Value::Null } else { Value::Object(body) },
        };
        // What is wrong is said now, by its field, not at the first replay; and every knob has a use.
        if !named.body.is_null() {
            named.policy(&[])?;
            let written = named.body.to_string();
            if let Some(idle) = named.knobs.iter().find(|knob| !written.contains(&format!("\"${}\"", knob.name))) {
                let name = &idle.name;
                return Err(ConfigError::new(
                    &format!("knobs.{name}"),
                    format!("is used nowhere: write \"${name}\" where its value belongs"),
                ));
            }
        }
        Ok(named)
    }

    /// The value of a knob: of `values`, else its default.
    pub fn value<'a>(&'a self, name: &str, values: &'a [(String, Value)]) -> Option<&'a Value> {
        let stated = values.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        stated.or_else(|| self.knobs.iter().find(|knob| knob.name == name).map(|knob| &knob.default))
    }

    /// The policy with these values of its knobs; the others keep their defaults. Of `none` and the API's edit, which are no tables of
    /// rules, one without rules.
    ///
    /// # Errors
    /// A value does not fit, by the field where it stands.
    pub fn policy(&self, values: &[(String, Value)]) -> Result<Policy, ConfigError> {
        if self.body.is_null() {
            return Ok(Policy::default());
        }
        let mut body = self.body.clone();
        self.substitute("", &mut body, values)?;
        let root = Field { path: String::new(), value: &body };
        space_file::policy(&root.object(space_file::POLICY_KEYS, "rules and sizes")?)
    }

    fn substitute(&self, path: &str, at: &mut Value, values: &[(String, Value)]) -> Result<(), ConfigError> {
        match at {
            Value::String(text) => {
                if let Some(name) = text.strip_prefix('$') {
                    let value = self.value(name, values).ok_or_else(|| {
                        ConfigError::new(path, format!("{} is no knob: name it under [knobs] with its default", field::quoted(name)))
                    })?;
                    *at = value.clone();
                }
            }
            Value::Array(items) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.substitute(&format!("{path}[{i}]"), item, values)?;
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    self.substitute(&field::join(path, key), item, values)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn knobs(at: &Field) -> Result<Vec<Knob>, ConfigError> {
    let map = at.map("knobs with their defaults, { keep = 3 }")?;
    map.iter()
        .map(|(name, default)| {
            let at = Field { path: field::join(&at.path, name), value: default };
            match default {
                Value::Array(_) => at.tool_names().map(|_| ()),
                Value::Null | Value::Object(_) => Err(at.wrong_kind("a number, a word or a list of tools", "its default")),
                _ => Ok(()),
            }?;
            Ok(Knob { name: name.clone(), default: default.clone() })
        })
        .collect()
}
