//! Flags of every command that reads logs.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use cleartune::ingest::{AgentFilter, NeedOptions, Options, OwnText};
use cleartune::trace::Refetch;
use serde_json::{Value, json};

/// Reading logs
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading logs")]
pub struct LogArgs {
    /// Which agents' transcripts to take from logs.
    #[arg(long, value_enum, default_value_t = Agent::All)]
    pub agent: Agent,
    /// Do not look for needs in the text of logs: faster, and no re-fetch is ever counted.
    #[arg(long)]
    pub no_needs: bool,
    /// Smallest quotation of a tool result that counts as a need, in bytes (white space collapsed).
    #[arg(long, value_name = "BYTES", default_value_t = NeedOptions::default().min_bytes, value_parser = quotation)]
    pub need_bytes: usize,
    /// Smallest number of different characters in such a quotation.
    #[arg(long, value_name = "N", default_value_t = NeedOptions::default().min_distinct)]
    pub need_distinct: usize,
    /// When the user's or the agent's own words, which are never cleared, make a quotation of a result no need: where they
    /// hold it more recently than any result, or anywhere before. The latter finds fewer needs and is right more often
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = NeedOwnText::MostRecent)]
    pub need_own_text: NeedOwnText,
    /// Whether results of a tool can be had again: TOOL=yes, TOOL=costly or TOOL=never. May be repeated.
    #[arg(long, value_name = "TOOL=CLASS", value_parser = refetch)]
    pub refetch: Vec<(String, Refetch)>,
}

/// Which agents.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Agent {
    /// Main agents and sub-agents.
    All,
    /// Main agents only.
    Main,
    /// Sub-agents only.
    Sub,
}

/// Where own words stand for a quotation.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum NeedOwnText {
    /// Later than every result that holds it.
    MostRecent,
    /// Anywhere before the output.
    Anywhere,
}

fn quotation(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n >= 8 => Ok(n),
        _ => Err("write a whole number of at least 8".to_owned()),
    }
}

fn refetch(text: &str) -> Result<(String, Refetch), String> {
    // A tool's name may hold an equals sign; a class does not.
    let (tool, class) = text.rsplit_once('=').ok_or("write TOOL=yes, TOOL=costly or TOOL=never")?;
    let class = match class {
        "yes" => Refetch::Yes,
        "costly" => Refetch::Costly,
        "never" => Refetch::Never,
        _ => return Err(format!("{class:?} is no class; write {tool}=yes, {tool}=costly or {tool}=never")),
    };
    Ok((tool.to_owned(), class))
}

impl LogArgs {
    /// What was asked, for the manifest.
    pub fn asked(&self) -> Value {
        let refetch: BTreeMap<&str, Refetch> = self.refetch.iter().map(|(tool, class)| (tool.as_str(), *class)).collect();
        let agent = match self.agent {
            Agent::All => "all",
            Agent::Main => "main",
            Agent::Sub => "sub",
        };
        json!({
            "agent": agent,
            "find_needs": !self.no_needs,
            "need_bytes": self.need_bytes,
            "need_distinct": self.need_distinct,
            "refetch": refetch,
        })
    }

    /// Whether transcripts of a sub-agent, or of a main agent, are wanted.
    pub fn wants(&self, sub_agent: bool) -> bool {
        match self.agent {
            Agent::All => true,
            Agent::Main => !sub_agent,
            Agent::Sub => sub_agent,
        }
    }

    /// The library's options.
    pub fn options(&self) -> Options {
        Options {
            needs: NeedOptions {
                find: !self.no_needs,
                min_bytes: self.need_bytes,
                min_distinct: self.need_distinct,
                own_text: match self.need_own_text {
                    NeedOwnText::MostRecent => OwnText::MostRecent,
                    NeedOwnText::Anywhere => OwnText::Anywhere,
                },
            },
            agent: match self.agent {
                Agent::All => AgentFilter::All,
                Agent::Main => AgentFilter::Main,
                Agent::Sub => AgentFilter::Sub,
            },
            refetch: self.refetch.iter().cloned().collect(),
            ..Options::default()
        }
    }
}
