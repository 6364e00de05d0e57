//! The regression gate: two result sets, metric by metric and session by session.

mod changed;
mod metric;
mod select;
mod thresholds;

use std::collections::BTreeMap;

pub use changed::{Changed, changed};
pub use metric::{METRICS, Metric, unknown_metric};
pub use select::{NoSuchConfig, Selection};
pub use thresholds::{Check, Outcome, Threshold};

use crate::decide::bootstrap::{Interval, LEAST_SESSIONS, Statistic, paired, two_sample};
use crate::results::ResultSet;
use crate::sweep::Knobs;

/// Of the bootstrap, for the same bytes every time.
const SEED: u64 = 0x0B5E_55ED_C0DE_0001;

/// Rows that are told in full: with intervals and sessions. Of `Rows::All` those that changed most.
const DETAILED: usize = 10;

/// Why a row is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Never clearing.
    None,
    /// What the base recommends.
    Recommended,
    /// What the team runs: by the base on the base, and by the head on the head where that says it too.
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

/// One metric of one row on both sides. A value is `None` where it is not applicable (a division by zero).
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which.
    pub metric: Metric,
    /// The base's value: a total; a mean per session where sessions differ.
    pub base: Option<f64>,
    /// The head's.
    pub head: Option<f64>,
    /// The head's total, whatever `head` is.
    pub head_total: Option<f64>,
    /// Whether `base` and `head` are means per session (per transcript, where only sums are there).
    pub mean: bool,
    /// 95 % interval of head − base in the metric's unit; `None` where noise cannot be judged, does not exist or was not asked for.
    pub difference: Option<Interval>,
}

impl Change {
    /// head − base; `None` where one of them is not applicable.
    pub fn absolute(&self) -> Option<f64> {
        Some(self.head? - self.base?)
    }

    /// (head − base) / base: 0 where both are 0, infinite where only the base is.
    pub fn relative(&self) -> Option<f64> {
        let (base, absolute) = (self.base?, self.absolute()?);
        Some(if absolute == 0.0 {
            0.0
        } else if base == 0.0 {
            f64::INFINITY.copysign(absolute)
        } else {
            absolute / base.abs()
        })
    }
}

/// One config on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChange {
    /// The config; the base's, where what the team runs was changed.
    pub knobs: Knobs,
    /// The head's config where it is another one.
    pub head_knobs: Option<Knobs>,
    /// Why it is compared.
    pub role: Role,
    /// Every metric, in the order of [`METRICS`].
    pub changes: Vec<Change>,
    /// What became of each threshold that is looked at on this row, in their order.
    pub checks: Vec<Check>,
    /// Whether `changes` have their intervals and `sessions` is filled.
    pub detailed: bool,
    /// Cost of each common session: id, base, head; the largest rise first.
    pub sessions: Vec<(String, f64, f64)>,
}

impl RowChange {
    /// The change of a metric.
    ///
    /// # Panics
    /// Never: each metric stands in `changes`.
    pub fn change(&self, metric: Metric) -> &Change {
        self.changes.iter().find(|c| c.metric == metric).expect("every metric is there")
    }

    fn missed(&self) -> bool {
        self.checks.iter().any(|c| c.outcome == Outcome::Missed)
    }
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
    /// The rows. Many ones are ordered: a missed threshold first, then by how far the cost rose.
    pub rows: Vec<RowChange>,
    /// Configs that were wanted and that one side lacks: which.
    pub missing: Vec<(Knobs, Side)>,
    /// Whether the base does not say what it recommends, so that of its several configs only no clearing is compared.
    pub no_answer: bool,
    /// Whether anything but the results that differs fails the gate.
    pub strict: bool,
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
    /// What became of the thresholds, row by row.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.rows.iter().flat_map(|row| &row.checks)
    }

    /// Whether `strict` found that more than the results differs.
    pub fn refused(&self) -> bool {
        self.strict && !(self.changed.is_empty() && self.missing.is_empty())
    }

    /// Whether the gate fails: a threshold is missed, or it is refused.
    pub fn failed(&self) -> bool {
        self.refused() || self.rows.iter().any(RowChange::missed)
    }
}

/// Which rows to compare.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Rows {
    /// `none`, what the base recommends, and what the team runs.
    #[default]
    Usual,
    /// Every row that both sides have.
    All,
    /// Those with these values.
    Matching(Selection),
}

/// What is asked of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gate {
    /// Which rows.
    pub rows: Rows,
    /// What makes it fail. A change is looked at on each row; a bound on the head, with [`Rows::Usual`], only on what the team runs, else
    /// on what the base recommends.
    pub thresholds: Vec<Threshold>,
    /// A threshold on a change counts as missed though the change may be chance.
    pub over_noise: bool,
    /// Anything but the results that differs, and any config that one side lacks, fails.
    pub strict: bool,
}

/// Compares two result sets.
pub fn compare(base: &ResultSet, head: &ResultSet, gate: &Gate) -> Comparison {
    let changed = changed(base, head);
    let known = |set: &ResultSet| set.manifest.as_ref().is_some_and(|m| m.get("sources").is_some());
    let same_inputs = known(base) && known(head) && !changed.iter().any(|c| c.moves_sessions);
    let sides = Sides { base, head, pairing: pairing(base, head), same_inputs };
    let (matched, missing) = select::matched(base, head, &gate.rows);
    let bounded = select::bounded(base, head, &gate.rows);
    let mut rows: Vec<(select::Matched, RowChange)> = matched
        .into_iter()
        .map(|at| {
            let mut row = sides.row(&at);
            row.checks = gate
                .thresholds
                .iter()
                .filter(|t| !t.is_on_head() || bounded.is_none_or(|role| role == row.role))
                .map(|t| t.check(&row, sides.noise(), gate.over_noise, |metric| sides.interval(&at, metric)))
                .collect();
            (at, row)
        })
        .collect();
    if gate.rows != Rows::Usual {
        // How far the cost rose; what is not applicable stands last.
        let rise = |row: &RowChange| row.change(Metric::cost()).relative().unwrap_or(f64::NEG_INFINITY);
        rows.sort_by(|(_, a), (_, b)| b.missed().cmp(&a.missed()).then(rise(b).total_cmp(&rise(a))));
    }
    for (at, row) in rows.iter_mut().take(DETAILED) {
        sides.detail(at, row);
    }
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    let no_answer = gate.rows == Rows::Usual && base.answer.is_none() && base.rows.len() > 1;
    Comparison { changed, pairing: sides.pairing, same_inputs, rows, missing, no_answer, strict: gate.strict }
}

/// What is known of chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noise {
    /// The same inputs: there is none.
    None,
    /// Enough sessions.
    Judged,
    /// Too few sessions, or only sums.
    Unknown,
}

/// The two sides with how they are set against each other.
struct Sides<'a> {
    base: &'a ResultSet,
    head: &'a ResultSet,
    pairing: Pairing,
    same_inputs: bool,
}

impl Sides<'_> {
    fn noise(&self) -> Noise {
        let sessions = match self.pairing {
            Pairing::Paired(n) => n,
            Pairing::Unpaired(n, m) => n.min(m),
            Pairing::SumsOnly(..) => 0,
        };
        match (self.same_inputs, sessions >= LEAST_SESSIONS) {
            (true, _) => Noise::None,
            (false, true) => Noise::Judged,
            (false, false) => Noise::Unknown,
        }
    }

    /// The row without intervals, checks and sessions.
    fn row(&self, at: &select::Matched) -> RowChange {
        let (base, head) = (&self.base.rows[at.base], &self.head.rows[at.head]);
        // Sums over different numbers of sessions say nothing: the mean of one session does.
        let (n, m) = match self.pairing {
            Pairing::Unpaired(n, m) => (n as f64, m as f64),
            Pairing::SumsOnly(n, m) if n != m => (n as f64, m as f64),
            _ => (1.0, 1.0),
        };
        let means = (n, m) != (1.0, 1.0);
        let changes = METRICS
            .iter()
            .map(|&metric| {
                let mean = means && metric.is_sum();
                let (of_base, of_head) = (metric.of_row(base), metric.of_row(head));
                let per = |value: Option<f64>, units: f64| value.map(|v| if mean { v / units.max(1.0) } else { v });
                Change { metric, base: per(of_base, n), head: per(of_head, m), head_total: of_head, mean, difference: None }
            })
            .collect();
        RowChange {
            knobs: base.knobs.clone(),
            head_knobs: (!select::alike(&base.knobs, &head.knobs)).then(|| head.knobs.clone()),
            role: at.role,
            changes,
            checks: Vec::new(),
            detailed: false,
            sessions: Vec::new(),
        }
    }

    /// 95 % interval of a metric's change, in the unit of the [`Change`].
    fn interval(&self, at: &select::Matched, metric: Metric) -> Option<Interval> {
        if self.noise() != Noise::Judged || !metric.is_sum() {
            return None;
        }
        let (x, y) = (by_session(self.base, at.base, metric), by_session(self.head, at.head, metric));
        match self.pairing {
            Pairing::Paired(n) => {
                let pairs: Vec<(f64, f64)> = x.into_values().zip(y.into_values()).collect();
                paired(&pairs, Statistic::Difference, SEED).map(|i| scaled(i, n as f64))
            }
            Pairing::Unpaired(..) => {
                let values = |map: BTreeMap<&str, f64>| map.into_values().collect::<Vec<f64>>();
                two_sample(&values(x), &values(y), Statistic::Difference, SEED)
            }
            Pairing::SumsOnly(..) => None,
        }
    }

    fn detail(&self, at: &select::Matched, row: &mut RowChange) {
        for change in &mut row.changes {
            change.difference = self.interval(at, change.metric);
        }
        let cost = Metric::cost();
        let (x, y) = (by_session(self.base, at.base, cost), by_session(self.head, at.head, cost));
        row.sessions = x.iter().filter_map(|(id, &a)| y.get(id).map(|&b| ((*id).to_owned(), a, b))).collect();
        row.sessions.sort_by(|a, b| (b.2 - b.1).total_cmp(&(a.2 - a.1)).then(a.0.cmp(&b.0)));
        row.detailed = true;
    }
}

/// Sums by session, in the order of their ids.
fn by_session(set: &ResultSet, row: usize, metric: Metric) -> BTreeMap<&str, f64> {
    let mut sums = BTreeMap::new();
    if let Some(found) = &set.transcripts {
        for (session, totals) in found.sessions.iter().zip(&found.totals) {
            *sums.entry(session.as_str()).or_insert(0.0) += metric.of_transcript(&totals[row]);
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

fn scaled(i: Interval, times: f64) -> Interval {
    Interval { low: i.low * times, estimate: i.estimate * times, high: i.high * times }
}
