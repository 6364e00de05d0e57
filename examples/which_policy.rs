//! Writes `docs/which-policy.md` and its picture: every named policy on every shipped workload.
//!
//! `cargo run --release --example which_policy`, in the project's folder; half a minute on two cores.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use cleartune::hindsight::is_comparable;
use cleartune::policy::{Config, named};
use cleartune::price::{Catalogue, Overrides, resolve_trace};
use cleartune::report::plot::{MatrixView, policy_matrix};
use cleartune::sweep::{Hindsight, Knobs, Outcome, PolicyAsk, Transcript, Trap, run, trap};
use cleartune::trace::Trace;
use cleartune::workload::{Spec, shipped};

const HEAD: &str = "# Which policy for which workload\n\n\
Every named policy at its defaults (`cleartune policies`) on every shipped workload, at the workload's own prices: what it costs against\n\
not clearing. Made by `cargo run --release --example which_policy`; for your own logs, `cleartune sweep YOUR-LOGS --policy all`.\n\n\
A star: some needs were lost or unmet, which no dollar here stands for. A letter: the policy compacts (c), shows some results in part only\n\
(p) or gives back what it took (g), and is not comparable with the bound. `oracle` knows what follows, fetches nothing again and loses\n\
nothing; no policy that loses nothing costs less than `bound`, and none that takes results alone, as the API's edit does, less than\n\
`bound (results)`; see [policies.md](policies.md).\n\n\
![Policies by workloads](which-policy.png)\n\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut configs = vec![Knobs::none()];
    for policy in named::all().iter().filter(|policy| policy.name != "none") {
        configs.extend(PolicyAsk::new(policy, &[])?.configs()?);
    }
    let mut done: Vec<(&str, Outcome, Vec<Option<Trap>>)> = Vec::new();
    for (name, text) in shipped() {
        let spec = Spec::from_toml(text)?;
        let transcripts = (0..spec.transcripts)
            .map(|i| {
                let trace = Trace::from_document(&spec.generate(i))?;
                let (settings, _) = resolve_trace(&Config::default(), &Overrides::default(), &trace, Catalogue::shipped())?;
                Ok(Transcript { trace, settings })
            })
            .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
        let mut all = configs.clone();
        all.extend(Knobs::all_hindsight(&configs, &transcripts[0].settings.assume));
        let outcome = run::<std::convert::Infallible>(&transcripts, &all, None, &AtomicBool::new(false), &|_| {}, |_| Ok(()))?;
        let traps = all.iter().map(|knobs| trap(knobs, &transcripts)).collect();
        eprintln!("{name}: {} transcripts", transcripts.len());
        done.push((name, outcome, traps));
    }
    // The second bound is that of policies that take results alone.
    let rows = &done[0].1.rows;
    let narrow = |i: usize| i + 1 == rows.len() && matches!(rows[i].knobs.hindsight(), Some(Hindsight::Bound(_)));
    let names: Vec<&str> =
        rows.iter().enumerate().map(|(i, row)| if narrow(i) { "bound (results)" } else { row.knobs.policy.as_str() }).collect();
    let workloads: Vec<&str> = done.iter().map(|(name, ..)| *name).collect();
    let cells: Vec<Vec<Option<(f64, bool)>>> = (0..names.len())
        .map(|i| {
            let cell = |(_, outcome, _): &(&str, Outcome, Vec<Option<Trap>>)| {
                let row = &outcome.rows[i];
                Some((row.derived.cost_vs_none?, row.totals.lost_needs + row.totals.unmet_needs == 0))
            };
            done.iter().map(cell).collect()
        })
        .collect();
    let mut page = HEAD.to_owned();
    let _ = writeln!(page, "| policy | {} |\n|---|{}", workloads.join(" | "), "---:|".repeat(workloads.len()));
    for (i, name) in names.iter().enumerate() {
        let mut line = format!("| `{name}` |");
        for (_, outcome, traps) in &done {
            let row = &outcome.rows[i];
            let t = &row.totals;
            let lost = t.lost_needs + t.unmet_needs > 0;
            let letters = [(lost, " \\*"), (t.compactions > 0, " c"), (t.previews > 0, " p"), (t.given_back > 0, " g")];
            let marks: String = letters.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect();
            let trap = traps[i].map_or(String::new(), |trap| format!(" {}", trap.name()));
            let _ = write!(line, " {:.2}{marks}{trap} |", row.derived.cost_vs_none.unwrap_or(f64::NAN));
        }
        let _ = writeln!(page, "{line}");
    }
    page.push_str("\nPer workload, the cheapest that loses nothing, and how much of what the oracle saves it reaches:\n\n");
    for (name, outcome, _) in &done {
        let usd = |i: usize| outcome.rows[i].totals.cost_usd;
        let oracle = outcome.rows.iter().position(|row| row.knobs.hindsight() == Some(Hindsight::Oracle)).expect("it was asked for");
        let sound =
            (0..outcome.rows.len()).filter(|&i| outcome.rows[i].knobs.hindsight().is_none() && is_comparable(&outcome.rows[i].totals));
        let best = sound.min_by(|&a, &b| usd(a).total_cmp(&usd(b))).expect("not clearing is one");
        let share = (usd(0) - usd(best)) / (usd(0) - usd(oracle)).max(f64::MIN_POSITIVE);
        let saved = format!("the oracle saves {:.1} %", 100.0 * (1.0 - usd(oracle) / usd(0)));
        if best == 0 {
            let _ = writeln!(page, "- {name}: not clearing ({saved}).");
        } else {
            let _ = writeln!(page, "- {name}: `{}`, {:.0} % of it ({saved}).", names[best], 100.0 * share);
        }
    }
    page.push_str("\nTraps:\n\n");
    for trap in Trap::ALL {
        let _ = writeln!(page, "- {}: {}.", trap.name(), trap.about());
    }
    let title = "the shipped workloads, at their own prices";
    let png = policy_matrix(&MatrixView { title, policies: &names, workloads: &workloads, cells: &cells })?;
    std::fs::write("docs/which-policy.md", page)?;
    std::fs::write("docs/which-policy.png", png)?;
    Ok(())
}
