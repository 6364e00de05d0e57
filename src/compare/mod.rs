//! The regression gate: two result sets, metric by metric and session by session.

mod changed;
mod metric;
mod thresholds;

use std::collections::BTreeMap;

pub use changed::{Changed, changed};
pub use metric::{METRICS, Metric, unknown_metric};
pub use thresholds::{Check, Outcome, Threshold};

use crate::decide::bootstrap::{Interval, LEAST_SESSIONS, Statistic, paired, two_sample};
use crate::results::ResultSet;
use crate::sweep::Knobs;

/// Of the bootstrap, for the same bytes every time.
const SEED: u64 = 0x0B5E_55ED_C0DE_0001;

/// Why a row is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Never clearing.
    None,
    /// What the base recommends.
    Recommended,
    /// What the team runs, by the base.
    Current,
    /// The user named it.
    Asked,
}

impl Role {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "no clearing",
            Self::Recommended => "recommended by the base",
            Self::Current => "what you run",
            Self::Asked => "as asked",
        }
    }
}

/// How sessions stand against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Both sides hold the same sessions: totals are compared, session by session.
    Paired(usize),
    /// Different sessions (of the base, of the head): means per session are compared.
    Unpaired(usize, usize),
    /// At least one side tells only sums over so many transcripts each: means per transcript are compared where the numbers differ.
    SumsOnly(u64, u64),
}

/// One metric of one row on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which.
    pub metric: Metric,
    /// The base's value: a total; a mean per session where sessions differ.
    pub base: f64,
    /// The head's.
    pub head: f64,
    /// 95 % interval of head − base in the metric's unit; `None` where noise cannot be judged or does not exist.
    pub difference: Option<Interval>,
}

impl Change {
    /// head − base.
    pub fn absolute(&self) -> f64 {
        self.head - self.base
    }

    /// (head − base) / base: 0 where both are 0, infinite where only the base is.
    pub fn relative(&self) -> f64 {
        if self.absolute() == 0.0 {
            0.0
        } else if self.base == 0.0 {
            f64::INFINITY.copysign(self.absolute())
        } else {
            self.absolute() / self.base.abs()
        }
    }
}

/// One config on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChange {
    /// The config.
    pub knobs: Knobs,
    /// Why it is compared.
    pub role: Role,
    /// Every metric, in the order of [`METRICS`].
    pub changes: Vec<Change>,
    /// Cost of each common session: id, base, head; the largest rise first.
    pub sessions: Vec<(String, f64, f64)>,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What differs besides the results; said before any number.
    pub changed: Vec<Changed>,
    /// How sessions are matched.
    pub pairing: Pairing,
    /// Whether both sides ran on the same inputs: then nothing differs by chance.
    pub same_inputs: bool,
    /// The rows.
    pub rows: Vec<RowChange>,
    /// Configs that were wanted and stand on one side only: which side lacks it.
    pub missing: Vec<(Knobs, Side)>,
    /// What became of each threshold on each row.
    pub checks: Vec<Check>,
}

/// One of the two result sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The earlier one.
    Base,
    /// The later one.
    Head,
}

impl Comparison {
    /// Whether a threshold is missed.
    pub fn failed(&self) -> bool {
        self.checks.iter().any(|c| c.outcome == Outcome::Missed)
    }
}

/// Which rows to compare.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// `none`, what the base recommends, and what the team runs.
    Usual,
    /// Every row that both sides have.
    All,
    /// These.
    Named(Vec<Knobs>),
}

/// Compares. `over_noise`: a threshold on a change counts as missed though the change may be chance.
pub fn compare(base: &ResultSet, head: &ResultSet, wanted: &Rows, thresholds: &[Threshold], over_noise: bool) -> Comparison {
    let changed = changed(base, head);
    let same_inputs = base.manifest.is_some() && head.manifest.is_some() && !changed.iter().any(|c| c.moves_sessions);
    let pairing = pairing(base, head);
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    for (knobs, role) in roles(base, head, wanted) {
        let at = |set: &ResultSet| set.rows.iter().position(|row| row.knobs == knobs);
        match (at(base), at(head)) {
            (Some(b), Some(h)) => rows.push(row_change(base, head, b, h, role, pairing, same_inputs)),
            (None, Some(_)) => missing.push((knobs, Side::Base)),
            (_, None) => missing.push((knobs, Side::Head)),
        }
    }
    let judged = |row: &RowChange| thresholds.iter().map(|t| t.check(row, pairing, same_inputs, over_noise)).collect::<Vec<_>>();
    let checks = rows.iter().flat_map(judged).collect();
    Comparison { changed, pairing, same_inputs, rows, missing, checks }
}

fn roles(base: &ResultSet, head: &ResultSet, wanted: &Rows) -> Vec<(Knobs, Role)> {
    match wanted {
        Rows::Named(knobs) => knobs.iter().map(|k| (k.clone(), Role::Asked)).collect(),
        Rows::All => {
            let common = base.rows.iter().filter(|row| head.rows.iter().any(|other| other.knobs == row.knobs));
            common.map(|row| (row.knobs.clone(), if row.knobs.is_none() { Role::None } else { Role::Asked })).collect()
        }
        Rows::Usual => {
            let mut roles: Vec<(Knobs, Role)> = Vec::new();
            let mut add = |row: Option<usize>, role| {
                let knobs = row.and_then(|i| base.rows.get(i)).map(|row| row.knobs.clone());
                if let Some(knobs) = knobs.filter(|k| !roles.iter().any(|(known, _)| known == k)) {
                    roles.push((knobs, role));
                }
            };
            let answer = base.answer.as_ref();
            let index = |value: &serde_json::Value| value.as_u64().map(|n| n as usize);
            let current = answer.and_then(|a| a["against"].as_array()?.iter().find(|o| o["other"] == "current"));
            add(current.and_then(|o| index(&o["row"])), Role::Current);
            add(answer.and_then(|a| index(&a["row"])).filter(|&i| base.rows.get(i).is_some_and(|r| !r.knobs.is_none())), Role::Recommended);
            add(base.rows.iter().position(|row| row.knobs.is_none()), Role::None);
            if roles.is_empty() && base.rows.len() == 1 {
                roles.push((base.rows[0].knobs.clone(), Role::Asked));
            }
            roles
        }
    }
}

/// Sums by session, in the order of their ids.
fn by_session(set: &ResultSet, row: usize, metric: Metric) -> BTreeMap<&str, f64> {
    let mut sums = BTreeMap::new();
    if let Some(found) = &set.transcripts {
        for (session, totals) in found.sessions.iter().zip(&found.totals) {
            let value = metric.of_transcript(&totals[row]);
            let sum: &mut f64 = sums.entry(session.as_str()).or_insert(0.0);
            *sum = if metric.is_largest() { sum.max(value) } else { *sum + value };
        }
    }
    sums
}

fn pairing(base: &ResultSet, head: &ResultSet) -> Pairing {
    let (Some(b), Some(h)) = (&base.transcripts, &head.transcripts) else {
        let count = |set: &ResultSet| set.rows.first().map_or(0, |row| row.transcripts);
        return Pairing::SumsOnly(count(base), count(head));
    };
    let ids = |sessions: &[String]| sessions.iter().cloned().collect::<std::collections::BTreeSet<_>>();
    let (b, h) = (ids(&b.sessions), ids(&h.sessions));
    if b == h { Pairing::Paired(b.len()) } else { Pairing::Unpaired(b.len(), h.len()) }
}

fn row_change(
    base: &ResultSet,
    head: &ResultSet,
    base_row: usize,
    head_row: usize,
    role: Role,
    pairing: Pairing,
    same_inputs: bool,
) -> RowChange {
    let changes = METRICS
        .iter()
        .map(|&metric| {
            let (of_base, of_head) = (metric.of_row(&base.rows[base_row]), metric.of_row(&head.rows[head_row]));
            let sums = metric.is_sum();
            let (mut base_value, mut head_value, mut difference) = (of_base, of_head, None);
            match pairing {
                Pairing::Paired(n) => {
                    if n >= LEAST_SESSIONS && !same_inputs && metric.has_sessions() {
                        let (x, y) = (by_session(base, base_row, metric), by_session(head, head_row, metric));
                        let pairs: Vec<(f64, f64)> = x.values().copied().zip(y.values().copied()).collect();
                        let times = if sums { n as f64 } else { 1.0 };
                        difference = paired(&pairs, Statistic::Difference, SEED).map(|i| scaled(i, times));
                    }
                }
                Pairing::Unpaired(n, m) => {
                    if sums {
                        (base_value, head_value) = (of_base / n.max(1) as f64, of_head / m.max(1) as f64);
                    }
                    if n.min(m) >= LEAST_SESSIONS && metric.has_sessions() {
                        let values = |map: BTreeMap<&str, f64>| map.into_values().collect::<Vec<f64>>();
                        let (x, y) = (values(by_session(base, base_row, metric)), values(by_session(head, head_row, metric)));
                        difference = two_sample(&x, &y, Statistic::Difference, SEED);
                    }
                }
                Pairing::SumsOnly(n, m) => {
                    if sums && n != m {
                        (base_value, head_value) = (of_base / n.max(1) as f64, of_head / m.max(1) as f64);
                    }
                }
            }
            Change { metric, base: base_value, head: head_value, difference }
        })
        .collect();
    let cost = Metric::named("cost_usd").expect("it is one");
    let (x, y) = (by_session(base, base_row, cost), by_session(head, head_row, cost));
    let mut sessions: Vec<(String, f64, f64)> = x.iter().filter_map(|(id, &a)| y.get(id).map(|&b| ((*id).to_owned(), a, b))).collect();
    sessions.sort_by(|a, b| (b.2 - b.1).total_cmp(&(a.2 - a.1)).then(a.0.cmp(&b.0)));
    RowChange { knobs: base.rows[base_row].knobs.clone(), role, changes, sessions }
}

fn scaled(i: Interval, times: f64) -> Interval {
    Interval { low: i.low * times, estimate: i.estimate * times, high: i.high * times }
}
