//! A recommended config in the shapes in which people run it: text to paste, and what to know of it.

// Names of products and policies stand in prose here.
#![allow(clippy::doc_markdown)]

mod api;
mod langchain;
mod literal;
#[cfg(test)]
mod tests;
mod vercel;

use crate::sweep::Knobs;

/// A config in one of the shapes in which people run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Its name for people, such as `Python SDK`.
    pub title: String,
    /// `json`, `python`, `typescript`.
    pub language: String,
    /// What is copied; without a line end at its end.
    pub text: String,
    /// What to know of it; empty: nothing.
    pub note: String,
}

impl Snippet {
    /// `context_management` as the API takes it.
    pub fn api(json: &str) -> Self {
        Self::new(
            "Claude API",
            "json",
            json.to_owned(),
            "Goes into the body of a request; clearing is a beta: send the header anthropic-beta: context-management-2025-06-27.",
        )
    }

    fn new(title: &str, language: &str, text: String, note: &str) -> Self {
        Self { title: title.to_owned(), language: language.to_owned(), text, note: note.to_owned() }
    }
}

/// The header value that turns context editing on (Anthropic API, beta headers).
const BETA: &str = "context-management-2025-06-27";

/// A shape to paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The object `context_management` of the Messages API.
    Json,
    /// A call of Anthropic's SDK for Python.
    Python,
    /// A call of Anthropic's SDK for TypeScript.
    Typescript,
    /// `ContextEditingMiddleware` of LangChain for Python.
    Langchain,
    /// `contextEditingMiddleware` of LangChain for JavaScript.
    LangchainJs,
    /// A call through LiteLLM.
    Litellm,
    /// Provider options of the Vercel AI SDK: the API clears.
    Vercel,
    /// `pruneMessages` of the Vercel AI SDK: the client removes.
    VercelPrune,
    /// A call of OpenRouter's Messages API.
    Openrouter,
}

impl Shape {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Json,
        Self::Python,
        Self::Typescript,
        Self::Langchain,
        Self::LangchainJs,
        Self::Litellm,
        Self::Vercel,
        Self::VercelPrune,
        Self::Openrouter,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Langchain => "langchain",
            Self::LangchainJs => "langchain_js",
            Self::Litellm => "litellm",
            Self::Vercel => "vercel",
            Self::VercelPrune => "vercel_prune",
            Self::Openrouter => "openrouter",
        }
    }

    /// The shape of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// The named policy whose rows hold the values for this shape, where the framework clears by rules of its own.
    pub fn policy(self) -> Option<&'static str> {
        match self {
            Self::Langchain => Some("langchain_py"),
            Self::LangchainJs => Some("langchain_js"),
            Self::Litellm => Some("litellm"),
            Self::VercelPrune => Some("vercel_prune"),
            _ => None,
        }
    }

    /// Whether a config of the API's edit can be pasted in this shape.
    pub fn takes_edits(self) -> bool {
        !matches!(self, Self::Langchain | Self::LangchainJs | Self::VercelPrune)
    }

    /// The config in this shape; `None` where it is of another policy, for which the shape has no words.
    pub fn snippet(self, knobs: &Knobs) -> Option<Snippet> {
        if let Some(edit) = &knobs.edit {
            return match self {
                Self::Json => Some(Snippet::api(&edit.to_json())),
                Self::Python => Some(api::python(edit)),
                Self::Typescript => Some(api::typescript(edit)),
                Self::Openrouter => Some(api::openrouter(edit)),
                Self::Litellm => Some(api::litellm(edit, false)),
                Self::Vercel => Some(vercel::edits(edit)),
                Self::Langchain | Self::LangchainJs | Self::VercelPrune => None,
            };
        }
        if self.policy() != Some(knobs.policy.as_str()) {
            return None;
        }
        match self {
            Self::Langchain => langchain::python(knobs),
            Self::LangchainJs => langchain::javascript(knobs),
            Self::Litellm => Some(api::litellm(&langchain::as_edit(knobs)?, true)),
            Self::VercelPrune => vercel::prune(knobs),
            _ => None,
        }
    }
}

/// The config in every shape that fits it, in the order of [`Shape::ALL`].
pub fn snippets(knobs: &Knobs) -> Vec<Snippet> {
    Shape::ALL.into_iter().filter_map(|shape| shape.snippet(knobs)).collect()
}
