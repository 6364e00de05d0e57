//! Values as JSON, Python and TypeScript write them, with the keys in the order given.

use serde_json::Value;

/// A value.
pub enum Literal {
    /// `true`, `True`.
    Bool(bool),
    /// A number that is no fraction.
    Number(u64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Literal>),
    /// An object.
    Object(Vec<(&'static str, Literal)>),
}

/// Whose spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Keys in quotes, `True`, four spaces.
    Python,
    /// Bare keys, `true`, two spaces.
    Typescript,
}

/// A value that takes no more than this stands on one line.
const LINE: usize = 64;

impl Literal {
    /// A list of strings.
    pub fn texts(names: &[String]) -> Self {
        Self::List(names.iter().map(|name| Self::Text(name.clone())).collect())
    }

    /// Written at this depth of indentation; the first line without it.
    pub fn write(&self, language: Language, depth: usize) -> String {
        let line = self.line(language);
        // An object of objects is easier to read a key a line.
        let nested = match self {
            Self::Object(keys) => keys.iter().any(|(_, value)| matches!(value, Self::Object(_))),
            Self::List(items) => items.iter().any(|value| matches!(value, Self::Object(_))),
            _ => false,
        };
        if line.chars().count() <= LINE && !nested {
            return line;
        }
        let step = if language == Language::Python { 4 } else { 2 };
        let (inner, outer) = (" ".repeat(step * (depth + 1)), " ".repeat(step * depth));
        let lines: Vec<String> = match self {
            Self::List(items) => items.iter().map(|item| format!("{inner}{},\n", item.write(language, depth + 1))).collect(),
            Self::Object(keys) => {
                keys.iter().map(|(key, value)| format!("{inner}{}: {},\n", language.key(key), value.write(language, depth + 1))).collect()
            }
            _ => return line,
        };
        let (open, close) = if matches!(self, Self::List(_)) { ('[', ']') } else { ('{', '}') };
        format!("{open}\n{}{outer}{close}", lines.concat())
    }

    fn line(&self, language: Language) -> String {
        match self {
            Self::Bool(yes) if language == Language::Python => if *yes { "True" } else { "False" }.to_owned(),
            Self::Bool(yes) => yes.to_string(),
            Self::Number(n) => n.to_string(),
            // The escapes of JSON are those of both languages.
            Self::Text(text) => Value::from(text.as_str()).to_string(),
            Self::List(items) => format!("[{}]", items.iter().map(|item| item.line(language)).collect::<Vec<_>>().join(", ")),
            Self::Object(keys) => {
                let keys: Vec<String> =
                    keys.iter().map(|(key, value)| format!("{}: {}", language.key(key), value.line(language))).collect();
                if language == Language::Python { format!("{{{}}}", keys.join(", ")) } else { format!("{{ {} }}", keys.join(", ")) }
            }
        }
    }
}

impl Language {
    fn key(self, key: &str) -> String {
        if self == Self::Python { format!("\"{key}\"") } else { key.to_owned() }
    }
}
