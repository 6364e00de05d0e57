//! Flags and files that say under what a transcript is replayed, for every command that replays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use cleartune::hindsight::oracle;
use cleartune::ingest::RecordedClearing;
use cleartune::policy::{self, Config, Settings};
use cleartune::price::{Catalogue, ModelNote, Overrides, PricePatch, Window, parse_ttl, resolve_trace};
use cleartune::replay::plain;
use cleartune::report::{BillCheck, bill, by_session, recorded_bill, recorded_settings};
use cleartune::sweep::{Hindsight, Knobs, Transcript};
use cleartune::trace::{Document, Trace};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Price, cache and readings
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Price, cache, readings")]
pub struct SettingsArgs {
    /// A model's name, prices in USD per million tokens, or both: claude-haiku-4-5,output=6
    #[arg(long, value_name = "MODEL|KEY=USD,…")]
    price: Option<PricePatch>,

    /// How long cache entries live: 5m, 1h or milliseconds; wins over what the log says
    #[arg(long, value_name = "TTL", value_parser = parse_ttl)]
    ttl: Option<i64>,

    /// Context window in tokens, or none
    #[arg(long, value_name = "TOKENS")]
    window: Option<Window>,

    /// A reading of what is not settled, such as memory=sticky or placeholder_tokens=7
    #[arg(long, value_name = "KEY=VALUE")]
    assume: Vec<String>,

    /// A key of the cache model, such as mode=prefix or lookback=20
    #[arg(long, value_name = "KEY=VALUE")]
    cache: Vec<String>,
}

/// What the command line and the config file state together.
#[derive(Debug, Clone, Default)]
pub struct Stated {
    /// The config, with `--assume` and `--cache` on top.
    pub config: Config,
    /// A policy instead of the config's edit.
    pub policy: Option<Knobs>,
    /// Hash of the config file, for the manifest.
    pub config_sha256: Option<String>,
    overrides: Overrides,
}

impl SettingsArgs {
    /// Reads the config file, if any, and puts the flags on top.
    ///
    /// # Errors
    /// The file cannot be read, or a key or value is wrong: one line that names it.
    pub fn read(&self, config: Option<&Path>) -> anyhow::Result<Stated> {
        let mut stated = Stated::default();
        if let Some(path) = config {
            (stated.config, stated.config_sha256) = read_config(path).map(|(config, hash)| (config, Some(hash)))?;
        }
        stated.overrides.price = self.price.clone().unwrap_or_default();
        stated.overrides.cache.ttl_ms = self.ttl;
        stated.overrides.window = self.window.unwrap_or_default();
        // The flags take the same keys and values as the file, so the same parser reads them.
        if !self.assume.is_empty() {
            let mut all = serde_json::to_value(&stated.config.assume)?;
            for (key, value) in pairs("--assume", &self.assume)? {
                all[key] = value;
            }
            stated.config.assume = flag("--assume", "assume", all)?.assume;
        }
        if !self.cache.is_empty() {
            let cache: Map<String, Value> = pairs("--cache", &self.cache)?.into_iter().collect();
            let cache = flag("--cache", "cache", Value::Object(cache))?.cache;
            stated.overrides.cache = stated.overrides.cache.or(&cache);
        }
        Ok(stated)
    }
}

impl Stated {
    /// The settings under which a transcript that was recorded with the provider's clearing on is compared with what was billed: those of
    /// the transcript as recorded, with the config that it asked for.
    ///
    /// # Errors
    /// The user named a model that is unknown.
    pub fn settings_as_recorded(&self, recorded: &RecordedClearing) -> anyhow::Result<(Trace, Settings)> {
        let trace = Trace::from_document(recorded.document())?;
        let settings = self.settings_of(&trace)?.0;
        Ok((trace, recorded_settings(recorded, &settings)))
    }

    /// The bill of every session that records one.
    ///
    /// # Errors
    /// A transcript is invalid, or the user named a model that is unknown.
    pub fn bills<'a>(
        &self,
        all: impl IntoIterator<Item = (&'a Document, &'a Option<RecordedClearing>, &'a Transcript)>,
    ) -> anyhow::Result<Vec<BillCheck>> {
        let mut checks = Vec::new();
        for (doc, recorded, transcript) in all {
            match recorded {
                _ if doc.requests.iter().all(|r| r.usage.is_none()) => {}
                Some(recorded) => checks.push(recorded_bill(recorded, &self.settings_as_recorded(recorded)?.1)?),
                None => checks.push(bill(doc, &transcript.settings)?),
            }
        }
        Ok(by_session(&checks))
    }

    /// The settings of a trace, those of every model that it names included, and where its prices come from.
    ///
    /// # Errors
    /// The user named a model that is unknown.
    pub fn settings_of(&self, trace: &Trace) -> anyhow::Result<(Settings, ModelNote)> {
        let (mut settings, note) = resolve_trace(&self.config, &self.overrides, trace, Catalogue::shipped())?;
        if let Some(knobs) = &self.policy {
            knobs.apply(&mut settings);
            if knobs.hindsight() == Some(Hindsight::Oracle) {
                let found = oracle(&mut plain::Engine::default(), trace, &settings);
                settings.policy = Some(Arc::new(found.policy()));
            }
        }
        Ok((settings, note))
    }
}

/// The config and the hash of its file.
pub fn read_config(path: &Path) -> anyhow::Result<(Config, String)> {
    let text = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let hash = super::source::hex(&Sha256::digest(&text));
    let text = String::from_utf8(text).ok().with_context(|| format!("{}: is not UTF-8 text; write JSON or TOML", path.display()))?;
    let is_toml = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    let config = if is_toml { policy::from_toml(&text) } else { policy::from_json(&text) };
    let config = config.with_context(|| path.display().to_string())?;
    for note in &config.notes {
        eprintln!("{}: {note}", path.display());
    }
    Ok((config, hash))
}

fn flag(flag: &'static str, key: &str, value: Value) -> anyhow::Result<Config> {
    let mut object = Map::new();
    object.insert(key.to_owned(), value);
    policy::from_value(&Value::Object(object)).context(flag)
}

fn pairs(flag: &'static str, given: &[String]) -> anyhow::Result<Vec<(String, Value)>> {
    given
        .iter()
        .flat_map(|text| text.split(','))
        .map(|text| {
            let (key, value) = text.split_once('=').with_context(|| {
                format!("{flag}: {text:?} is no KEY=VALUE, such as {}", if flag == "--cache" { "lookback=20" } else { "memory=sticky" })
            })?;
            // Numbers and booleans as JSON spells them; anything else is a word.
            let value = serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::from(value.trim()));
            Ok((key.trim().to_owned(), value))
        })
        .collect()
}

/// The path of a config file, as a flag.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigArg {
    /// The context_management object that you run, with assume, cache, price beside it (JSON or TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}
