//! Config files.

use super::Config;

/// An error in a config: the field and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    /// Path of the field.
    pub field: String,
    /// What is wrong and what to write instead.
    pub problem: String,
}

/// Parses a JSON config.
pub fn from_json(_text: &str) -> Result<Config, ConfigError> {
    unimplemented!()
}

/// Parses a TOML config.
pub fn from_toml(_text: &str) -> Result<Config, ConfigError> {
    unimplemented!()
}
