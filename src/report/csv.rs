//! `sweep.csv`, `per_transcript.csv` and `replay --format csv`: tidy, units in names, an empty cell is not applicable.

use std::io::Write;

use crate::replay::{Report, RowKind, Totals};
use crate::sweep::{ConfigRow, Hindsight, Knobs};

/// The knobs, first in every row.
pub const KNOBS: [&str; 7] = ["policy", "trigger", "trigger_type", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"];

/// The totals, under the names of the replay's report.
pub const TOTALS: [&str; 18] = [
    "requests",
    "refetch_requests",
    "refetches",
    "costly_refetches",
    "lost_needs",
    "unmet_needs",
    "clear_events",
    "cleared_uses",
    "freed_tokens",
    "cache_invalidations",
    "invalidated_tokens",
    "prompt_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "uncached_tokens",
    "output_tokens",
    "peak_prompt_tokens",
    "cost_usd",
];

/// The derived columns of `sweep.csv`.
pub const DERIVED: [&str; 6] = [
    "cost_vs_none",
    "freed_tokens_per_invalidated_token",
    "refetches_per_100_requests",
    "clear_events_per_100_requests",
    "rewrite_factor",
    "cache_read_share",
];

fn knob_cells(knobs: &Knobs) -> [String; 7] {
    let text = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    [
        knobs.policy.clone(),
        text(knobs.trigger().map(crate::policy::Trigger::value)),
        knobs.trigger().map_or_else(String::new, |t| t.type_name().to_owned()),
        text(knobs.keep().map(u64::from)),
        text(knobs.clear_at_least()),
        knobs.exclude_tools(),
        knobs.clear_tool_inputs(),
    ]
}

fn total_cells(knobs: &Knobs, t: &Totals) -> [String; 18] {
    if is_bound(knobs) {
        // A number and no replay.
        let mut cells: [String; 18] = Default::default();
        cells[17] = t.cost_usd.to_string();
        return cells;
    }
    [
        t.requests.to_string(),
        t.refetch_requests.to_string(),
        t.refetches.to_string(),
        t.costly_refetches.to_string(),
        t.lost_needs.to_string(),
        t.unmet_needs.to_string(),
        t.clear_events.to_string(),
        t.cleared_uses.to_string(),
        t.freed_tokens.to_string(),
        t.cache_invalidations.to_string(),
        t.invalidated_tokens.to_string(),
        t.prompt_tokens.to_string(),
        t.cache_read_tokens.to_string(),
        t.cache_write_tokens.to_string(),
        t.uncached_tokens.to_string(),
        t.output_tokens.to_string(),
        t.peak_prompt_tokens.to_string(),
        t.cost_usd.to_string(),
    ]
}

fn is_bound(knobs: &Knobs) -> bool {
    matches!(knobs.hindsight(), Some(Hindsight::Bound(_)))
}

fn derived_cells(row: &ConfigRow) -> [String; 6] {
    let d = &row.derived;
    [
        d.cost_vs_none,
        d.freed_per_invalidated,
        d.refetches_per_100_requests,
        d.clear_events_per_100_requests,
        d.rewrite_factor,
        d.cache_read_share,
    ]
    .map(|n| n.map_or_else(String::new, |n| n.to_string()))
}

/// `sweep.csv`: one row a config.
pub fn sweep(rows: &[ConfigRow]) -> Vec<u8> {
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    let head = KNOBS.iter().chain(&["transcripts"]).chain(&TOTALS).chain(&["overflowed_transcripts"]).chain(&DERIVED).chain(&["params"]);
    let mut put = |cells: Vec<String>| csv.write_record(cells).expect("rows of one length go into memory");
    put(head.map(ToString::to_string).collect());
    for row in rows {
        let mut cells = Vec::from(knob_cells(&row.knobs));
        cells.push(row.transcripts.to_string());
        cells.extend(total_cells(&row.knobs, &row.totals));
        cells.push(if is_bound(&row.knobs) { String::new() } else { row.overflowed_transcripts.to_string() });
        cells.extend(derived_cells(row));
        cells.push(row.knobs.params().to_owned());
        put(cells);
    }
    csv.into_inner().expect("memory can be flushed")
}

/// The rows of `per_transcript.csv`.
pub(super) struct PerTranscriptRows {
    knobs: Vec<([String; 7], Knobs)>,
    refetch_costs: bool,
}

impl PerTranscriptRows {
    pub fn new(configs: &[Knobs], refetch_costs: bool) -> Self {
        Self { knobs: configs.iter().map(|knobs| (knob_cells(knobs), knobs.clone())).collect(), refetch_costs }
    }

    pub fn head(&self) -> impl Iterator<Item = &'static str> {
        let head = ["transcript", "session"].into_iter().chain(KNOBS).chain(TOTALS).chain(["first_overflow"]);
        let further: &[&str] = if self.refetch_costs { &["refetch_usd", "refetch_seconds", "params"] } else { &["params"] };
        head.chain(further.iter().copied())
    }

    /// Hands out the cells of each row of one transcript.
    pub fn each<E>(&self, id: &str, session: &str, totals: &[Totals], mut row: impl FnMut(&[&str]) -> Result<(), E>) -> Result<(), E> {
        for ((cells_of_knobs, knobs), totals) in self.knobs.iter().zip(totals) {
            let of_totals = total_cells(knobs, totals);
            let overflow = totals.first_overflow.map_or_else(String::new, |i| i.to_string());
            let further =
                if self.refetch_costs { vec![totals.refetch_usd.to_string(), totals.refetch_seconds.to_string()] } else { Vec::new() };
            let mut cells: Vec<&str> = Vec::with_capacity(32);
            cells.extend([id, session].into_iter().chain(cells_of_knobs.iter().map(String::as_str)));
            cells.extend(of_totals.iter().map(String::as_str).chain([overflow.as_str()]));
            cells.extend(further.iter().map(String::as_str).chain([knobs.params()]));
            row(&cells)?;
        }
        Ok(())
    }
}

/// `per_transcript.csv`, written as the sweep goes.
pub struct PerTranscript<W: Write> {
    csv: ::csv::Writer<W>,
    rows: PerTranscriptRows,
}

impl<W: Write> PerTranscript<W> {
    /// Writes the head. `refetch_costs`: with what the tools that are called again cost in themselves, where any of them has a price.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, configs: &[Knobs], refetch_costs: bool) -> std::io::Result<Self> {
        let (mut csv, rows) = (::csv::Writer::from_writer(out), PerTranscriptRows::new(configs, refetch_costs));
        csv.write_record(rows.head())?;
        Ok(Self { csv, rows })
    }

    /// Writes the rows of one transcript, one a config.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, id: &str, session: &str, totals: &[Totals]) -> std::io::Result<()> {
        let csv = &mut self.csv;
        self.rows.each(id, session, totals, |cells| csv.write_record(cells).map_err(std::io::Error::from))
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(self) -> std::io::Result<W> {
        self.csv.into_inner().map_err(::csv::IntoInnerError::into_error)
    }
}

/// `replay --format csv`: one row a request of each report.
pub fn replay(reports: &[Report]) -> Vec<u8> {
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    csv.write_record([
        "transcript",
        "request",
        "kind",
        "at_ms",
        "original_tokens",
        "prompt_tokens",
        "cleared_uses",
        "newly_cleared",
        "freed_tokens",
        "cache_read",
        "cache_write",
        "uncached",
        "output_tokens",
        "invalidated_tokens",
        "refetched",
        "costly_refetched",
        "lost",
        "unmet",
        "cost_usd",
    ])
    .expect("memory");
    for report in reports {
        for r in &report.requests {
            let kind = match r.kind {
                RowKind::Original => "original",
                RowKind::Refetch => "refetch",
                RowKind::Compact => "compact",
            };
            let mut cells = vec![report.id.clone(), r.request.to_string(), kind.to_owned(), r.at_ms.to_string()];
            cells.extend([r.original_tokens, r.prompt_tokens, r.cleared_uses, r.newly_cleared].map(|n| n.to_string()));
            cells.push(r.freed_tokens.to_string());
            cells.extend(
                [
                    r.cache_read,
                    r.cache_write,
                    r.uncached,
                    r.output_tokens,
                    r.invalidated_tokens,
                    r.refetched,
                    r.costly_refetched,
                    r.lost,
                    r.unmet,
                ]
                .map(|n| n.to_string()),
            );
            cells.push(r.cost_usd.to_string());
            csv.write_record(cells).expect("memory");
        }
    }
    csv.into_inner().expect("memory can be flushed")
}
