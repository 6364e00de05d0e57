//! `cleartune policies`, and the flag `--policy` of the commands that replay.

use std::fs;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use cleartune::policy::named::{self, Named};
use cleartune::report::{named_json, named_table};
use cleartune::sweep::{Axes, Axis, Knobs, PolicyAsk};
use serde_json::{Value, json};

use super::output;

/// The named policies with their defaults, knobs and sources
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cleartune policies
  cleartune sweep ~/.claude/projects --policy all
  cleartune replay session.jsonl --policy low_water,high=90k,low=40k")]
pub struct PoliciesArgs {
    /// Only this one
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, within 80 columns
    Table,
    /// For programs
    Json,
}

/// Runs the command: to standard output.
///
/// # Errors
/// There is no policy of that name.
pub fn run(args: &PoliciesArgs) -> anyhow::Result<()> {
    let one;
    let shown = match &args.name {
        None => named::all(),
        Some(name) => {
            one = [known(name)?.clone()];
            &one[..]
        }
    };
    let text = match args.format {
        Format::Table => named_table(shown),
        Format::Json => format!("{:#}\n", named_json(shown)),
    };
    output::stdout(text.as_bytes())
}

fn known(name: &str) -> anyhow::Result<&'static Named> {
    named::find(name).with_context(|| {
        let near = named::nearest(name).map_or_else(String::new, |near| format!("write {near}, or "));
        format!("no policy {name:?}: {near}see cleartune policies")
    })
}

/// Policies besides the API's edit
#[derive(Debug, Clone, Default, Args)]
pub struct PolicyArgs {
    /// A policy by name with its knobs, such as low_water,high=90k,low=40k (see cleartune policies), a FILE.toml with
    /// one of your own, or all; may be repeated
    #[arg(long, value_name = "NAME[,KEY=VALUE…]", help_heading = "Policies besides the API's edit")]
    policy: Vec<String>,
}

impl PolicyArgs {
    /// What is asked for, in the order given.
    ///
    /// # Errors
    /// A name, knob, value or file is wrong.
    pub fn asks(&self) -> anyhow::Result<Vec<PolicyAsk>> {
        let mut asks = Vec::new();
        for text in &self.policy {
            let mut parts = text.split(',').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let stated: Vec<&str> = parts.collect();
            if matches!(name, "oracle" | "bound") {
                // They stand in every sweep.
                anyhow::ensure!(stated.is_empty(), "--policy {name}: takes no knobs");
                continue;
            }
            if name == "all" {
                anyhow::ensure!(stated.is_empty(), "--policy all: takes no knobs; name the policy that has them");
                for named in named::all() {
                    asks.push(PolicyAsk::new(named, &[])?);
                }
                continue;
            }
            let own;
            let named = if name.to_ascii_lowercase().ends_with(".toml") {
                let text = fs::read_to_string(name).with_context(|| format!("{name}: cannot be read"))?;
                own = Named::from_toml(&text).with_context(|| name.to_owned())?;
                &own
            } else {
                known(name).context("--policy")?
            };
            asks.push(PolicyAsk::new(named, &stated).with_context(|| format!("--policy {name}"))?);
        }
        Ok(asks)
    }

    /// The one policy that is asked for, if any.
    ///
    /// # Errors
    /// As [`Self::asks`]; there are several, or a knob has several values.
    pub fn one(&self) -> anyhow::Result<Option<Knobs>> {
        if let [name] = self.policy.as_slice() {
            match name.trim() {
                "oracle" => return Ok(Some(Knobs::oracle())),
                "bound" => bail!("--policy bound: is a number and nothing that can be replayed; sweep has it beside every policy"),
                _ => {}
            }
        }
        let configs: Vec<Knobs> = self.asks()?.iter().map(PolicyAsk::configs).collect::<Result<Vec<_>, _>>()?.concat();
        match configs.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => bail!("--policy: {} configs; replay takes one, sweep compares several", configs.len()),
        }
    }

    /// The configs for a sweep with these axes, those among which a choice is made first, each once; and what the axes do not fit. `more`
    /// is asked for besides, with values of its own.
    ///
    /// # Errors
    /// As [`Self::asks`].
    pub fn configs(&self, axes: &Axes, more: Vec<PolicyAsk>) -> anyhow::Result<(Vec<Knobs>, Vec<String>)> {
        let numbers = |axis: &Axis| match axis {
            Axis::Auto => None,
            Axis::Values(values) => Some(values.iter().map(|&n| Value::from(n)).collect::<Vec<_>>()),
        };
        let stated = [
            ("trigger", numbers(&axes.trigger).filter(|_| !axes.trigger_counts_uses)),
            ("keep", numbers(&axes.keep)),
            ("clear_at_least", numbers(&axes.clear_at_least)),
            ("exclude_tools", axes.exclude_tools.as_ref().map(|sets| sets.iter().map(|set| json!(set)).collect())),
        ];
        let mut asks = self.asks()?;
        let mut unfit = Vec::new();
        for (knob, values) in stated {
            let Some(values) = values else { continue };
            let without = asks.iter_mut().filter(|ask| ask.named.name != "none").filter_map(|ask| {
                let has = ask.take_axis(knob, &values);
                (!has).then(|| ask.named.name.clone())
            });
            let without: Vec<String> = without.collect();
            if !without.is_empty() {
                unfit.push(format!("--{} does not fit {}: no such knob there", knob.replace('_', "-"), without.join(", ")));
            }
        }
        asks.extend(more);
        let mut configs: Vec<Knobs> = Vec::new();
        for ask in &asks {
            for config in ask.configs()? {
                if !config.is_none() && !configs.contains(&config) {
                    configs.push(config);
                }
            }
        }
        configs.sort_by_key(|config| !config.is_ours());
        Ok((configs, unfit))
    }

    /// Whether any is asked for.
    pub fn any(&self) -> bool {
        !self.policy.is_empty()
    }

    /// What was asked, for the manifest; files by their last part.
    pub fn asked(&self) -> Value {
        let file = |text: &String| text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        self.policy.iter().map(|text| Value::from(file(text))).collect()
    }
}
