//! Context size request by request, thinned to what a line of a page can show.

use serde::Serialize;

use super::html::cut;
use super::rows::rounded;
use super::{Detail, PageView};
use crate::replay::{Report, Row};

/// At most `most` of the places 0..n, evenly spread, both ends among them (of two or more).
pub(super) fn evenly(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    if most < 2 {
        return (0..most).map(|_| n / 2).collect();
    }
    (0..most).map(|i| i * (n - 1) / (most - 1)).collect()
}

/// One transcript.
#[derive(Serialize)]
pub(super) struct Shown {
    name: String,
    requests: usize,
    window: Option<u64>,
    lines: Vec<Line>,
}

/// One transcript under one config.
#[derive(Serialize)]
struct Line {
    row: usize,
    peak: u64,
    cost_usd: f64,
    clear_events: u64,
    refetches: u64,
    missing_needs: u64,
    /// Requests in the replay.
    sent: usize,
    /// Request, prompt tokens, and what happened, a digit a point: 1 clear, 2 re-fetch, 4 need lost or unmet, added up.
    x: Vec<u32>,
    y: Vec<u64>,
    events: String,
}

/// The transcripts of a page at this detail.
pub(super) fn timelines(view: &PageView, detail: &Detail) -> Vec<Shown> {
    let picked = evenly(view.timelines.len(), detail.sessions);
    picked
        .into_iter()
        .map(|i| &view.timelines[i])
        .map(|timeline| Shown {
            name: cut(&timeline.name, 80),
            requests: timeline.replays.first().map_or(0, |(_, report)| report.requests.len()),
            window: timeline.window,
            lines: timeline.replays.iter().map(|(row, report)| line(*row, report, detail.points)).collect(),
        })
        .collect()
}

fn line(row: usize, report: &Report, points: usize) -> Line {
    let kept = thinned(&report.requests, points);
    let t = &report.totals;
    Line {
        row,
        peak: t.peak_prompt_tokens,
        cost_usd: rounded(t.cost_usd),
        clear_events: t.clear_events,
        refetches: t.refetches,
        missing_needs: t.lost_needs + t.unmet_needs,
        sent: report.requests.len(),
        x: kept.iter().map(|(row, _)| row.request).collect(),
        y: kept.iter().map(|(row, _)| row.prompt_tokens).collect(),
        events: kept.iter().map(|(_, events)| char::from(b'0' + events)).collect(),
    }
}

fn events(row: &Row) -> u8 {
    u8::from(row.is_clear_event()) + 2 * u8::from(row.refetched > 0) + 4 * u8::from(row.lost + row.unmet > 0)
}

/// All rows, or of every stretch of them the smallest and the largest prompt, in order: saw teeth keep their height. What happened on a row
/// that goes is told by the one of its stretch that stays.
pub(super) fn thinned(rows: &[Row], most: usize) -> Vec<(&Row, u8)> {
    if rows.len() <= most {
        return rows.iter().map(|row| (row, events(row))).collect();
    }
    let stretch = rows.len().div_ceil((most / 2).max(1));
    let mut out = Vec::with_capacity(most);
    for part in rows.chunks(stretch) {
        let low = (0..part.len()).min_by_key(|&i| part[i].prompt_tokens).unwrap_or(0);
        let high = (0..part.len()).rev().max_by_key(|&i| part[i].prompt_tokens).unwrap_or(0);
        let (first, last) = (low.min(high), low.max(high));
        let of = |range: std::ops::Range<usize>| part[range].iter().fold(0, |all, row| all | events(row));
        out.push((&part[first], of(0..last)));
        if first == last {
            out.last_mut().expect("just pushed").1 = of(0..part.len());
        } else {
            out.push((&part[last], of(last..part.len())));
        }
    }
    out
}
