//! One replay as a table for the terminal, within 80 columns.

use std::fmt::Write;

use super::number::{count, percent, short, usd};
use crate::replay::{Report, Row, RowKind};

/// Rows shown of a long replay: the first ones, every row where something happens, and the last.
const PLAIN_ROWS: usize = 40;

/// The replay of one transcript. With `all`, every row; else, of more than 40, those where something happens.
pub fn replay_table(report: &Report, all: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", report.id);
    let head = ["request", "prompt", "cleared", "freed", "read", "written", "broken", "fetched", "missing", "cost"];
    line(&mut out, &head.map(str::to_owned));
    let long = !all && report.requests.len() > PLAIN_ROWS;
    let mut left_out = 0_u64;
    for (i, row) in report.requests.iter().enumerate() {
        let quiet = !row.is_clear_event() && row.kind == RowKind::Original && row.refetched == 0 && row.lost + row.unmet == 0;
        if long && quiet && i != 0 && i + 1 != report.requests.len() {
            left_out += 1;
            continue;
        }
        skipped(&mut out, &mut left_out);
        line(&mut out, &cells(row));
    }
    skipped(&mut out, &mut left_out);
    let t = &report.totals;
    let share = if t.prompt_tokens == 0 { 0.0 } else { t.cache_read_tokens as f64 / t.prompt_tokens as f64 };
    let _ = writeln!(
        out,
        "{}, {} of them to fetch {} again; {} lost, {} unmet",
        count(t.requests, "request"),
        t.refetch_requests,
        count(t.refetches, "result"),
        count(t.lost_needs, "need"),
        t.unmet_needs
    );
    let cleared = format!(
        "{} freed {} tokens; {} broke the cache, which gave {} tokens less",
        count(t.clear_events, "clear event"),
        short(t.freed_tokens as f64),
        t.cache_invalidations,
        short(t.invalidated_tokens as f64)
    );
    let _ = writeln!(out, "{}", super::wrapped(&cleared, 80));
    let _ = writeln!(
        out,
        "{} prompt tokens, {} of them read from the cache; peak {}; {}",
        short(t.prompt_tokens as f64),
        percent(share),
        short(t.peak_prompt_tokens as f64),
        usd(t.cost_usd)
    );
    if let Some(request) = t.first_overflow {
        let _ = writeln!(out, "request {request} is the first that does not fit the context window");
    }
    out
}

fn cells(row: &Row) -> [String; 10] {
    let blank = |n: u64| if n == 0 { String::new() } else { short(n as f64) };
    let mark = match row.kind {
        RowKind::Original => "",
        RowKind::Refetch => "+",
        RowKind::Compact => "*",
    };
    [
        format!("{}{mark}", row.request),
        row.prompt_tokens.to_string(),
        blank(row.cleared_uses),
        if row.is_clear_event() { short(row.freed_tokens as f64) } else { String::new() },
        row.cache_read.to_string(),
        row.cache_write.to_string(),
        blank(row.invalidated_tokens),
        blank(row.refetched),
        blank(row.lost + row.unmet),
        usd(row.cost_usd),
    ]
}

fn skipped(out: &mut String, left_out: &mut u64) {
    if *left_out > 0 {
        let _ = writeln!(out, "{:>7}  ({} at which nothing is cleared or missing)", "…", count(*left_out, "request"));
        *left_out = 0;
    }
}

fn line(out: &mut String, cells: &[String; 10]) {
    const WIDTHS: [usize; 10] = [7, 7, 7, 6, 7, 7, 6, 7, 7, 9];
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(WIDTHS) {
        let _ = write!(text, "{cell:>width$} ");
    }
    let _ = writeln!(out, "{}", text.trim_end());
}
