//! Which results are cleared, and under which reading of what is publicly known.
//!
//! [`ClearToolUses`] is the API's edit with its own names; [`Assume`] holds every reading that is not settled;
//! [`Config`] is a config file, checked; [`Settings`] is all of it resolved for one trace.

mod assume;
mod config;
mod edits;
mod field;
pub mod named;
mod parse;
mod paste;
pub mod select;
pub mod size;
pub mod space;
mod space_file;

pub use assume::{Assume, KeepCounts, Memory, Selection, TriggerCmp};
pub use config::{Cache, CacheMode, CachePatch, ClearToolInputs, ClearToolUses, Config, ModelTerms, Settings, Trigger};
pub use parse::{ConfigError, from_json, from_toml, from_value};
pub use space::Policy;
