//! The policies of a sweep side by side, and the list of those with a name.

use std::fmt::Write;

use serde_json::{Value, json};

use super::answer::wrap;
use super::number::{percent, short, usd};
use crate::hindsight::is_comparable;
use crate::policy::named::{Named, spelled};
use crate::sweep::{ConfigRow, Hindsight, Knobs, Outcome, Trap};

/// The best row of each policy, in the order in which the policies first stand in the rows.
pub fn best_of_each(outcome: &Outcome) -> Vec<usize> {
    let totals: Vec<f64> = (0..outcome.rows.len()).map(|i| (0..outcome.transcripts_done).map(|t| outcome.values(t)[i]).sum()).collect();
    let mut best: Vec<usize> = Vec::new();
    for (i, row) in outcome.rows.iter().enumerate() {
        match best.iter_mut().find(|at| outcome.rows[**at].knobs.policy == row.knobs.policy) {
            // Of bounds the first is that for all policies.
            Some(at) if totals[i] < totals[*at] && row.knobs.hindsight().is_none() => *at = i,
            Some(_) => {}
            None => best.push(i),
        }
    }
    best
}

/// The knobs of a config in one line, `trigger=100k;keep=3`; empty where it has none.
pub fn knob_words(knobs: &Knobs) -> String {
    let mut words = Vec::new();
    if let Some(trigger) = knobs.trigger() {
        words.push(format!(
            "{}={}",
            if trigger.type_name() == "tool_uses" { "trigger (uses)" } else { "trigger" },
            short(trigger.value() as f64)
        ));
    }
    words.extend(knobs.keep().map(|keep| format!("keep={keep}")));
    words.extend(knobs.clear_at_least().filter(|&n| n > 0).map(|n| format!("clear_at_least={}", short(n as f64))));
    words.extend(knobs.excluded().filter(|tools| !tools.is_empty()).map(|_| format!("exclude_tools={}", knobs.exclude_tools())));
    words.extend((!knobs.params().is_empty()).then(|| knobs.params().to_owned()));
    words.join(";")
}

/// What hindsight could reach on the transcripts of a sweep, USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hindsights {
    /// Without clearing.
    pub none: f64,
    /// The oracle.
    pub oracle: f64,
    /// The bound for policies that take results alone.
    pub bound: f64,
}

impl Hindsights {
    /// From the rows of a sweep; `None`: it has none of these.
    pub fn of(rows: &[ConfigRow]) -> Option<Self> {
        let cost = |row: Option<&ConfigRow>| row.map(|row| row.totals.cost_usd);
        Some(Self {
            none: cost(rows.iter().find(|row| row.knobs.is_none()))?,
            oracle: cost(rows.iter().find(|row| row.knobs.hindsight() == Some(Hindsight::Oracle)))?,
            // The last one is the narrowest.
            bound: cost(rows.iter().rfind(|row| matches!(row.knobs.hindsight(), Some(Hindsight::Bound(_)))))?,
        })
    }

    /// How much of what the oracle saves a config saves; `None` where the oracle saves nothing.
    pub fn share(self, row: &ConfigRow) -> Option<f64> {
        let possible = self.none - self.oracle;
        (possible > 1e-9 * self.none).then(|| (self.none - row.totals.cost_usd) / possible)
    }
}

/// One line a policy, its best row, within 80 columns; `traps`: what each runs into, one a row of `best`.
pub fn policies_table(outcome: &Outcome, best: &[usize], traps: &[Option<Trap>]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<24} {:>7} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5} {:>9}",
        "policy", "cost", "vs none", "best", "clear", "fetch", "lost", "peak", "trap"
    );
    let known = Hindsights::of(&outcome.rows);
    let none = outcome.rows.iter().find(|row| row.knobs.is_none()).map_or(0.0, |row| row.totals.cost_usd);
    let mut beyond = Vec::new();
    for (&i, trap) in best.iter().zip(traps) {
        let (row, t) = (&outcome.rows[i], &outcome.rows[i].totals);
        let name: String = row.knobs.policy.chars().take(24).collect();
        let against = if row.knobs.is_none() || none <= 0.0 {
            String::new()
        } else {
            let text = percent(t.cost_usd / none - 1.0);
            if text.starts_with('-') || text == percent(0.0) { text } else { format!("+{text}") }
        };
        let bound = matches!(row.knobs.hindsight(), Some(Hindsight::Bound(_)));
        let share = known.and_then(|known| known.share(row)).filter(|share| *share > 0.0005 && !bound);
        let share = share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0));
        let blank = |n: u64| if n == 0 { String::new() } else { short(n as f64) };
        let line = format!(
            "{name:<24} {:>7} {against:>7} {share:>5} {:>5} {:>5} {:>5} {:>5} {:>9}",
            usd(t.cost_usd),
            blank(t.clear_events),
            blank(t.refetches),
            blank(t.lost_needs + t.unmet_needs),
            blank(t.peak_prompt_tokens),
            trap.map_or("", Trap::name)
        );
        let _ = writeln!(out, "{}", line.trim_end());
        if !is_comparable(t) && t.lost_needs + t.unmet_needs == 0 {
            beyond.push(name);
        }
    }
    let mut notes =
        "best: how much of what the oracle saves, which knows what follows and loses nothing; bound: no policy that loses nothing \
                     costs less; clear: clear events; fetch: results fetched again; lost: needs of results that are gone or not fetched \
                     again, whose cost does not stand in dollars, so that these are not comparable with the bound."
            .to_owned();
    if !beyond.is_empty() {
        let _ = write!(notes, " Nor are {}: they compact, show results in part only, or give back what they took.", beyond.join(", "));
    }
    let bounds: Vec<&ConfigRow> = outcome.rows.iter().filter(|row| matches!(row.knobs.hindsight(), Some(Hindsight::Bound(_)))).collect();
    if let [_, narrow] = bounds[..] {
        let _ = write!(
            notes,
            " Some of these policies take more than results; those that take results alone cannot cost less than {}.",
            usd(narrow.totals.cost_usd)
        );
    }
    let _ = writeln!(out, "{}", wrap(&notes, 80).join("\n"));
    for trap in Trap::ALL.into_iter().filter(|trap| traps.contains(&Some(*trap))) {
        let _ = writeln!(out, "{}: {}.", trap.name(), trap.about());
    }
    let several = best.iter().filter(|&&i| {
        let knobs = &outcome.rows[i].knobs;
        knobs.hindsight().is_none() && outcome.rows.iter().filter(|row| row.knobs.policy == knobs.policy).count() > 1
    });
    let words: Vec<String> =
        several.map(|&i| format!("{} ({})", outcome.rows[i].knobs.policy, knob_words(&outcome.rows[i].knobs).replace(';', ", "))).collect();
    if !words.is_empty() {
        let _ = writeln!(out, "{}", wrap(&format!("Shown at their best: {}.", words.join("; ")), 80).join("\n"));
    }
    out
}

/// The named policies for people, within 80 columns.
pub fn named_table(all: &[Named]) -> String {
    let mut out = String::new();
    for named in all {
        let mark = if named.unverified { " †" } else { "" };
        let knobs: Vec<String> = named.knobs.iter().map(|knob| format!("{}={}", knob.name, spelled(&knob.default))).collect();
        let _ = writeln!(out, "{}{mark}", named.name);
        let knobs = if knobs.is_empty() { "none".to_owned() } else { knobs.join(", ") };
        for text in [named.about.clone(), format!("knobs: {knobs}"), format!("source: {}", named.source)] {
            for line in wrap(&text, 76) {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    let _ = writeln!(out, "\n† read in documentation or by third parties, not in the released package");
    out
}

/// The named policies for programs.
pub fn named_json(all: &[Named]) -> Value {
    let one = |named: &Named| {
        let knobs: Vec<Value> = named.knobs.iter().map(|knob| json!({"name": knob.name, "default": knob.default})).collect();
        json!({"name": named.name, "about": named.about, "source": named.source, "unverified": named.unverified, "knobs": knobs})
    };
    json!({"schema": "cleartune.policies/1", "policies": all.iter().map(one).collect::<Vec<_>>()})
}
