//! Flags that say what a good config is.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::Args;
use cleartune::decide::{Ask, Constraints, Latency, Metric, Objective};
use cleartune::policy::size;
use cleartune::sweep::Transcript;
use serde::Deserialize;
use serde_json::{Value, json};

use super::settings::read_config;

/// What a good config is
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The choice")]
pub struct DecisionArgs {
    /// What is minimised
    #[arg(long, value_name = "WHAT", default_value = "cost", value_parser = ["cost", "prompt_tokens", "peak", "latency"])]
    objective: String,

    /// Lost and unmet needs that a config may have, all transcripts together; none: no bound [default: 0, or none with
    /// --lost-need-cost]
    #[arg(long, value_name = "N")]
    max_lost: Option<Bound>,

    /// Re-fetches that a config may have, per 100 requests
    #[arg(long, value_name = "N")]
    max_refetches_per_100: Option<f64>,

    /// Cache invalidations by clearing that a config may have, per 100 requests
    #[arg(long, value_name = "N")]
    max_invalidations_per_100: Option<f64>,

    /// The largest prompt that a config may send, tokens
    #[arg(long, value_name = "TOKENS", value_parser = size::parse)]
    max_peak: Option<u64>,

    /// What a lost or unmet need is worth, USD; part of the cost
    #[arg(long, value_name = "USD")]
    lost_need_cost: Option<f64>,

    /// What a re-fetch costs by itself: a TOML file of [TOOL] tables with usd and seconds
    #[arg(long, value_name = "FILE")]
    refetch_costs: Option<PathBuf>,

    /// The model of waiting time, such as first=0.8,per_new=0.00011,per_read=0.000014,output_per_second=60 (seconds; the
    /// defaults)
    #[arg(long, value_name = "KEY=N,…")]
    latency: Option<String>,

    /// The config that you run today, to compare with (JSON or TOML)
    #[arg(long, value_name = "FILE")]
    current: Option<PathBuf>,

    /// Sessions a day, for dollars a month
    #[arg(long, value_name = "N")]
    sessions_per_day: Option<f64>,
}

/// A number, or no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bound(Option<u64>);

impl std::str::FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Self(None)) } else { size::parse(text).map(|n| Self(Some(n))) }
    }
}

impl DecisionArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// A number is negative, a key of `--latency` is unknown, or the file of `--current` cannot be read.
    pub fn ask(&self) -> anyhow::Result<Ask> {
        let metric = match self.objective.as_str() {
            "prompt_tokens" => Metric::PromptTokens,
            "peak" => Metric::Peak,
            "latency" => Metric::Latency,
            _ => Metric::Cost,
        };
        let not_negative = |name: &str, n: Option<f64>| {
            ensure!(n.is_none_or(|n| n.is_finite() && n >= 0.0), "--{name} has to be 0 or more");
            Ok(n)
        };
        let lost_need_cost = not_negative("lost-need-cost", self.lost_need_cost)?;
        ensure!(
            lost_need_cost.is_none() || metric == Metric::Cost,
            "--lost-need-cost is in USD and goes with --objective cost; leave one of the two out"
        );
        not_negative("sessions-per-day", self.sessions_per_day)?;
        ensure!(self.sessions_per_day.is_none_or(|n| n <= 1e9), "--sessions-per-day is at most 1e9");
        // A price of lost needs says what they are worth; without one, none may be lost.
        let max_lost = self.max_lost.map_or_else(|| lost_need_cost.is_none().then_some(0), |bound| bound.0);
        let current = match &self.current {
            Some(path) => {
                let edit = read_config(path)?.0.edit;
                ensure!(
                    edit.is_some(),
                    "{}: holds no clear_tool_uses_20250919 edit; write the context_management object that you run",
                    path.display()
                );
                edit
            }
            None => None,
        };
        Ok(Ask {
            objective: Objective { metric, lost_need_cost: lost_need_cost.unwrap_or(0.0), latency: self.latency()? },
            constraints: Constraints {
                max_lost,
                max_refetches_per_100: not_negative("max-refetches-per-100", self.max_refetches_per_100)?,
                max_invalidations_per_100: not_negative("max-invalidations-per-100", self.max_invalidations_per_100)?,
                max_peak: self.max_peak,
            },
            current,
            ..Ask::default()
        })
    }

    /// Whether re-fetches have prices of their own.
    pub fn prices_refetches(&self) -> bool {
        self.refetch_costs.is_some()
    }

    /// Sessions a day.
    pub fn sessions_per_day(&self) -> Option<f64> {
        self.sessions_per_day
    }

    fn latency(&self) -> anyhow::Result<Latency> {
        let mut latency = Latency::default();
        for part in self.latency.iter().flat_map(|text| text.split(',')) {
            let (key, value) = part.split_once('=').with_context(|| format!("--latency: {part:?} is no KEY=N, such as first=0.8"))?;
            let value: f64 = value
                .trim()
                .parse()
                .ok()
                .filter(|n: &f64| n.is_finite() && *n >= 0.0)
                .with_context(|| format!("--latency {}: {:?} is no number; write seconds, 0 or more", key.trim(), value.trim()))?;
            match key.trim() {
                "first" => latency.first = value,
                "per_new" => latency.per_new = value,
                "per_read" => latency.per_read = value,
                "output_per_second" if value > 0.0 => latency.output_per_second = value,
                "output_per_second" => bail!("--latency output_per_second has to be more than 0"),
                other => bail!("--latency: {other:?} is no key; write first, per_new, per_read or output_per_second"),
            }
        }
        Ok(latency)
    }

    /// Puts the prices of `--refetch-costs` into the transcripts; a tool that no transcript has is named on stderr.
    ///
    /// # Errors
    /// The file cannot be read, or a key or value is wrong.
    pub fn price_refetches(&self, transcripts: &mut [Transcript]) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Costs {
            usd: Option<f64>,
            seconds: Option<f64>,
        }
        let Some(path) = &self.refetch_costs else { return Ok(()) };
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let costs: std::collections::BTreeMap<String, Costs> = toml::from_str(&text).map_err(|e| {
            anyhow::anyhow!("{}: {}; write tables such as [web_search] with usd = 0.01 and seconds = 2", path.display(), e.message())
        })?;
        for (tool, cost) in &costs {
            for (key, value) in [("usd", cost.usd), ("seconds", cost.seconds)] {
                ensure!(
                    value.is_none_or(|n| (0.0..=1e9).contains(&n)),
                    "{}: {tool}.{key} is {}; write a number from 0 to 1e9",
                    path.display(),
                    value.unwrap_or_default()
                );
            }
            let mut known = false;
            for found in transcripts.iter_mut().flat_map(|t| &mut t.trace.tools).filter(|t| t.name == *tool) {
                known = true;
                found.refetch_usd = cost.usd.unwrap_or(found.refetch_usd);
                found.refetch_seconds = cost.seconds.unwrap_or(found.refetch_seconds);
            }
            if !known {
                eprintln!("{}: {tool:?} is no tool of any transcript, so its price changes nothing", path.display());
            }
        }
        Ok(())
    }

    /// What was asked, for the manifest.
    pub fn asked(&self) -> anyhow::Result<Value> {
        let ask = self.ask()?;
        let hash = |path: &Option<PathBuf>| -> anyhow::Result<Value> {
            let Some(path) = path else { return Ok(Value::Null) };
            super::source::file_sha256(path).map(Value::from)
        };
        Ok(json!({
            "objective": self.objective,
            "lost_need_cost": ask.objective.lost_need_cost,
            "latency": self.latency,
            "max_lost": ask.constraints.max_lost,
            "max_refetches_per_100": self.max_refetches_per_100,
            "max_invalidations_per_100": self.max_invalidations_per_100,
            "max_peak": self.max_peak,
            "sessions_per_day": self.sessions_per_day,
            "current_sha256": hash(&self.current)?,
            "refetch_costs_sha256": hash(&self.refetch_costs)?,
        }))
    }
}
