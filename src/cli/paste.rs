//! The flags `--for` and `--paste`: a config in the shape in which a framework takes it.

use std::collections::BTreeSet;

use anyhow::ensure;
use clap::Args;
use clap::builder::PossibleValuesParser;
use cleartune::decide::{self, Ask, Decision};
use cleartune::policy::named;
use cleartune::report::number::{percent, usd};
use cleartune::report::snippets::{Shape, Snippet};
use cleartune::sweep::{Auto, Axes, Outcome, PolicyAsk, Transcript, Trap, trap};
use serde_json::Value;

/// Frameworks that clear by rules of their own
#[derive(Debug, Clone, Default, Args)]
pub struct ForArgs {
    /// Shapes to paste the answer in, joined by commas; what a framework does otherwise than the API is replayed too,
    /// over the same grid, and its values are chosen from that
    #[arg(long = "for", value_name = "SHAPE,…", value_delimiter = ',', value_parser = shapes(), help_heading = "Results")]
    shapes: Vec<String>,
}

/// The names of the shapes, for a flag.
pub fn shapes() -> PossibleValuesParser {
    PossibleValuesParser::new(Shape::ALL.map(Shape::name))
}

impl ForArgs {
    /// The shapes asked for, each once.
    fn each(&self) -> Vec<Shape> {
        Shape::ALL.into_iter().filter(|shape| self.shapes.iter().any(|name| name == shape.name())).collect()
    }

    /// The policies to replay for them.
    pub fn asks(&self, axes: &Axes, auto: &Auto) -> Vec<PolicyAsk> {
        let policies = self.each().into_iter().filter_map(Shape::policy);
        policies.filter_map(named::find).map(|named| PolicyAsk::on_grid(named, axes, auto)).collect()
    }

    /// What was asked, for the manifest; `None`: nothing.
    pub fn asked(&self) -> Option<Value> {
        let names: Vec<&str> = self.each().into_iter().map(Shape::name).collect();
        (!names.is_empty()).then(|| Value::from(names))
    }

    /// What to paste in each shape that was asked for; `decision`: that among the configs of the API.
    pub fn answers(&self, outcome: &Outcome, ask: &Ask, decision: Option<&Decision>, transcripts: &[Transcript]) -> Vec<ForShape> {
        self.each()
            .into_iter()
            .filter_map(|shape| match shape.policy() {
                Some(policy) => {
                    let rows = outcome.of_policy(policy);
                    let decision = sound(&rows, ask, transcripts)?;
                    Some(ForShape::new(shape, &rows, &decision))
                }
                None => Some(ForShape::new(shape, outcome, decision?)),
            })
            .collect()
    }
}

/// Configs that are barred one after the other at most.
const MOST_BARRED: usize = 64;

/// The decision among the rows of a policy, without those that are stuck or fire for ever.
fn sound(rows: &Outcome, ask: &Ask, transcripts: &[Transcript]) -> Option<Decision> {
    let mut ask = Ask { barred: BTreeSet::new(), current: None, ..ask.clone() };
    for _ in 0..MOST_BARRED {
        let decision = decide::decide(rows, &ask)?;
        let found = decision.best.and_then(|best| trap(&rows.rows[best].knobs, transcripts).map(|trap| (best, trap)));
        match found {
            Some((best, Trap::Stuck | Trap::Saturated)) => ask.barred.insert(best),
            _ => return Some(decision),
        };
    }
    ask.barred.extend(0..rows.rows.len());
    decide::decide(rows, &ask)
}

/// The answer for one shape.
pub struct ForShape {
    shape: Shape,
    /// `None`: nothing is to be pasted.
    pub snippet: Option<Snippet>,
    why: String,
}

impl ForShape {
    /// From the rows among which the choice was made.
    pub fn new(shape: Shape, rows: &Outcome, decision: &Decision) -> Self {
        let (row, none) = (&rows.rows[decision.row], &rows.rows[decision.none]);
        let snippet = decision.verdict.clears().then(|| shape.snippet(&row.knobs)).flatten();
        let own = shape.policy() == Some(row.knobs.policy.as_str());
        let why = if snippet.is_some() {
            let share = percent(1.0 - row.totals.cost_usd / none.totals.cost_usd);
            let rules = if own { " under its own rules" } else { "" };
            format!("{}{rules}: {} instead of {}, {share} less", shape.name(), usd(row.totals.cost_usd), usd(none.totals.cost_usd))
        } else {
            format!("{}: nothing to paste, the verdict is {}", shape.name(), decision.verdict.name())
        };
        Self { shape, snippet, why }
    }

    /// For the terminal; ends with a line end.
    pub fn text(&self) -> String {
        match &self.snippet {
            Some(snippet) => format!("{}\n\n{}\n\n{}\n", self.why, snippet.text, cleartune::report::wrapped(&snippet.note, 80)),
            None => format!("{}\n", self.why),
        }
    }

    /// The text to redirect, and what to know of it; else why there is none.
    pub fn alone(self) -> Result<Snippet, String> {
        self.snippet.ok_or(self.why)
    }

    /// Whether the page has a tab of this shape anyway, beside the API's object.
    pub fn is_of_api(&self) -> bool {
        self.shape.policy().is_none()
    }
}

/// The answer for `shape` from an earlier sweep.
///
/// # Errors
/// The sweep did not replay what the framework does.
pub fn from_results(shape: Shape, shown: &str, outcome: &Outcome, ask: &Ask) -> anyhow::Result<ForShape> {
    let policy = shape.policy().filter(|policy| outcome.rows.iter().any(|row| row.knobs.policy == *policy));
    ensure!(
        policy.is_some() || shape.takes_edits(),
        "{shown}: holds no replays of what {0} does by itself; sweep again with --for {0}",
        shape.name()
    );
    let rows = policy.map_or_else(|| outcome.ours(), |policy| outcome.of_policy(policy));
    let decision = decide::decide(&rows, ask).ok_or_else(|| anyhow::anyhow!("{shown}: holds no row none; sweep again"))?;
    Ok(ForShape::new(shape, &rows, &decision))
}
