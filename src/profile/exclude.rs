//! Which tools might go into `exclude_tools`, and what each exclusion would cost.

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::Profile;
use crate::policy::ClearToolUses;
use crate::replay::Totals;
use crate::sweep::{Knobs, Transcript, run};
use crate::trace::Refetch;

/// When a tool is looked at. The defaults are what the command line uses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rules {
    /// A need is late if it lies more than so many uses back.
    pub late_uses_back: u64,
    /// Needed late: at least this share of the tool's needs is late.
    pub late_share: f64,
    /// … and it has at least so many needs.
    pub least_needs: u64,
    /// Cheap to hold: its results are at most this share of the result tokens.
    pub cheap_share: f64,
    /// At most so many tools are measured, those with the most needs.
    pub most_tools: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { late_uses_back: 10, late_share: 0.5, least_needs: 5, cheap_share: 0.1, most_tools: 8 }
    }
}

/// Why a tool is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its results cannot be fetched again and are needed again.
    CannotBeFetchedAgain,
    /// Its results are needed late and are cheap to hold.
    NeededLateAndCheap,
}

/// Totals that an exclusion changes, over all transcripts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Effect {
    /// USD.
    pub cost_usd: f64,
    /// The largest prompt in tokens.
    pub peak_prompt_tokens: u64,
    /// Results fetched again.
    pub refetches: u64,
    /// Needs of results that are gone.
    pub lost_needs: u64,
    /// Tokens cleared away.
    pub freed_tokens: i64,
}

impl From<&Totals> for Effect {
    fn from(t: &Totals) -> Self {
        Self {
            cost_usd: t.cost_usd,
            peak_prompt_tokens: t.peak_prompt_tokens,
            refetches: t.refetches,
            lost_needs: t.lost_needs,
            freed_tokens: t.freed_tokens,
        }
    }
}

/// One exclusion, measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exclusion {
    /// The tools excluded on top of the config's own.
    pub tools: Vec<String>,
    /// Why; `None` for all tools together.
    pub reason: Option<Reason>,
    /// The replay with the exclusion.
    pub effect: Effect,
    /// Whether it pays: fewer needs are lost, or as many are and it does not cost more. Lost needs weigh more than any cost.
    pub pays: bool,
}

/// Proposals for `exclude_tools`, measured by replaying one config with and without each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exclusions {
    /// When a tool was looked at.
    pub rules: Rules,
    /// The config without any further exclusion.
    pub without: Effect,
    /// Whether that config clears anything; if not, no exclusion can change a thing.
    pub clears: bool,
    /// A row a tool that the rules pick, and, if there are several, one with all of them together, last.
    pub proposals: Vec<Exclusion>,
}

impl Exclusions {
    /// Picks the tools by `rules` and replays `config` with and without them, on all threads of the current rayon pool.
    pub fn new(profile: &Profile, transcripts: &[Transcript], config: &ClearToolUses, rules: Rules) -> Self {
        let picked = pick(profile, config, rules);
        let with = |tools: &[String]| {
            let mut edit = config.clone();
            edit.exclude_tools.extend(tools.iter().cloned());
            Knobs::api(edit)
        };
        let mut sets: Vec<(Vec<String>, Option<Reason>)> =
            picked.iter().map(|(name, reason)| (vec![name.clone()], Some(*reason))).collect();
        if picked.len() > 1 {
            sets.push((picked.into_iter().map(|(name, _)| name).collect(), None));
        }
        let configs: Vec<Knobs> = std::iter::once(with(&[])).chain(sets.iter().map(|(tools, _)| with(tools))).collect();
        let outcome = run(transcripts, &configs, None, &AtomicBool::new(false), &|_| {}, |_| Ok::<(), std::convert::Infallible>(()));
        let Ok(outcome) = outcome;
        let without = Effect::from(&outcome.rows[0].totals);
        let proposals = sets
            .into_iter()
            .zip(&outcome.rows[1..])
            .map(|((tools, reason), row)| {
                let effect = Effect::from(&row.totals);
                let pays = effect.lost_needs < without.lost_needs
                    || (effect.lost_needs == without.lost_needs && effect != without && effect.cost_usd <= without.cost_usd);
                Exclusion { tools, reason, effect, pays }
            })
            .collect();
        Self { rules, without, clears: outcome.rows[0].totals.clear_events > 0, proposals }
    }
}

/// The tools that the rules pick, those with the most needs, in the order of the profile.
fn pick(profile: &Profile, config: &ClearToolUses, rules: Rules) -> Vec<(String, Reason)> {
    let mut picked: Vec<(usize, u64, Reason)> = Vec::new();
    for (i, tool) in profile.tools.iter().enumerate().filter(|(_, t)| !config.exclude_tools.contains(&t.name)) {
        let (curve, needs) = (&tool.keep_curve, tool.keep_curve.needs());
        let late = needs >= rules.least_needs && curve.needs_cut_off(rules.late_uses_back) >= rules.late_share;
        if tool.refetch == Refetch::Never && needs > 0 {
            picked.push((i, needs, Reason::CannotBeFetchedAgain));
        } else if late && tool.result_share <= rules.cheap_share {
            picked.push((i, needs, Reason::NeededLateAndCheap));
        }
    }
    picked.sort_by_key(|&(i, needs, reason)| (reason != Reason::CannotBeFetchedAgain, std::cmp::Reverse(needs), i));
    picked.truncate(rules.most_tools);
    picked.sort_by_key(|p| p.0);
    picked.into_iter().map(|(i, _, reason)| (profile.tools[i].name.clone(), reason)).collect()
}
