//! Figure 4: context size over the requests, for `none` and one config, with what clearing did on the way.

use super::ContextView;
use super::canvas::{Align, Canvas, Mark};
use super::colour::{AXIS, BLUE, GRID, INK, MUTED, ORANGE, PURPLE, Rgb, VERMILLION, WHITE};
use super::frame::{
    Key, MARGIN, RIGHT, SMALL, WIDTH, config_words, count_words, empty_page, heading, legend, numeric_ticks, widest, x_axis, y_axis,
};
use super::labels::{Rect, fit, spread_out};
use super::scale::{Scale, Spread, dollars, short, thousands};
use crate::policy::Trigger;
use crate::replay::{Report, Row, RowKind};

const HEADING: &str = "Context size, request by request";
const NO_CLEARING: &str = "none (no clearing)";
const NONE: Rgb = (110, 110, 110);
const CONFIG: Rgb = BLUE;
const ORACLE: Rgb = ORANGE;
const CLEAR: Rgb = VERMILLION;
const REFETCH: Rgb = (0, 130, 95);
const MISS: Rgb = PURPLE;
/// More marks than this on a line would hide it; the lanes below have them all.
const MOST_MARKS: usize = 60;
const LANE: f64 = 36.0;

/// A row with the part of the axis that is its own: `x0..x1` in requests.
struct Step<'a> {
    x0: f64,
    x1: f64,
    row: &'a Row,
}

/// Rows of a request share its place on the axis, so that two replays of one trace stand above each other.
fn steps(report: &Report) -> Vec<Step<'_>> {
    let mut out = Vec::with_capacity(report.requests.len());
    for rows in report.requests.chunk_by(|a, b| a.request == b.request) {
        let share = 1.0 / rows.len() as f64;
        let start = f64::from(rows[0].request);
        out.extend(rows.iter().enumerate().map(|(i, row)| Step {
            x0: start + share * i as f64,
            x1: if i + 1 == rows.len() { start + 1.0 } else { start + share * (i + 1) as f64 },
            row,
        }));
    }
    out
}

pub(super) fn draw(view: &ContextView) -> Canvas {
    // The config of interest may be `none`: then one line is all there is to draw.
    let twice = view.config.is_some_and(|(knobs, report)| knobs.is_none() && !report.requests.is_empty());
    let none = view.none.filter(|_| !twice).map(steps).filter(|s| !s.is_empty());
    let config = view.config.map(|(_, report)| steps(report)).filter(|s| !s.is_empty());
    let oracle = view.oracle.map(steps).filter(|s| !s.is_empty());
    let all = || none.iter().chain(&config).chain(&oracle).flatten();
    let Some(most) = all().map(|s| s.row.prompt_tokens).max() else {
        return empty_page(HEADING, view.title, "There is no request: nothing was sent.");
    };
    let knobs = view.config.map(|(knobs, _)| knobs);
    let trigger = knobs.and_then(crate::sweep::Knobs::trigger);

    // Lines of reference, if they do not squeeze the data.
    let mut levels: Vec<(u64, String, Rgb)> = Vec::new();
    let mut beyond: Vec<String> = Vec::new();
    let mut level = |name: &str, value: u64, colour: Rgb| {
        let words = format!("{name} {}", short(value as f64, 4));
        if value as f64 <= most as f64 * 1.3 {
            levels.push((value, words, colour));
        } else {
            beyond.push(format!("{words} tokens lies above the picture"));
        }
    };
    if let Some(Trigger::InputTokens(n)) = trigger {
        level("trigger", n, CLEAR);
    }
    if let Some(window) = view.window {
        level("window", window, INK);
    }
    if let Some(Trigger::ToolUses(n)) = trigger {
        beyond.push(format!("trigger {} tool uses", short(n as f64, 4)));
    }

    let mut lines = vec![view.title.to_owned()];
    let mut summary: Vec<String> = Vec::new();
    if let (Some(report), Some(_)) = (view.none, &none) {
        summary.push(format!("none: {}", sums(report)));
    }
    if let (Some((knobs, report)), Some(_)) = (view.config, &config) {
        let name = if knobs.is_none() { "none" } else { "with clearing" };
        summary.push(format!("{name}: {}", sums(report)));
    }
    lines.push(summary.join("; "));
    let oracle_sums = view.oracle.filter(|_| oracle.is_some()).map(|report| format!("oracle: {}", sums(report)));
    let bound = view.bound.map(|bound| format!("bound: {}", dollars(bound, 0.0)));
    lines.push(oracle_sums.into_iter().chain(bound).collect::<Vec<_>>().join("; "));
    lines.push(beyond.join("; "));

    let mut canvas = Canvas::new(WIDTH, 1000);
    let y = heading(&mut canvas, HEADING, &lines);
    let clearing = config.as_deref().filter(|_| knobs.is_some_and(|k| !k.is_none()));
    let lanes = clearing.map(lanes).unwrap_or_default();
    let mut items = Vec::new();
    if none.is_some() {
        items.push((Key::Line(5.0, NONE), NO_CLEARING.to_owned()));
    }
    if let (Some(knobs), Some(_)) = (knobs, &config) {
        items.push((Key::Line(3.0, CONFIG), if knobs.is_none() { NO_CLEARING.to_owned() } else { config_words(knobs).join(" \u{b7} ") }));
    }
    if oracle.is_some() {
        items.push((Key::Line(2.5, ORACLE), "oracle: knows what follows".to_owned()));
    }
    for lane in lanes.iter().filter(|l| l.marked()) {
        items.push((Key::Mark(lane.mark, 9.0, lane.colour, lane.edge()), lane.name.to_owned()));
    }
    let top = legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 24.0;

    let foot = 1000.0 - 92.0;
    let bottom = foot - if lanes.is_empty() { 0.0 } else { LANE * lanes.len() as f64 + 10.0 };
    let sizes = all().map(|s| s.row.prompt_tokens as f64).chain(levels.iter().map(|l| l.0 as f64));
    let y_scale = Scale::over(sizes, Spread::Linear, 0.06, bottom, top);
    let y_ticks = numeric_ticks(&y_scale, false, true, count_words);
    let names = lanes.iter().map(|l| SMALL.width(l.name)).fold(0.0, f64::max);
    let left = MARGIN + (48.0 + widest(&y_ticks)).max(names + 16.0);
    let right =
        RIGHT - 40.0 - lanes.iter().map(|l| SMALL.width(&l.count)).chain(levels.iter().map(|l| SMALL.width(&l.1))).fold(0.0, f64::max);
    let plot = Rect::new(left, top, right, bottom);
    let end = all().map(|s| s.x1).fold(1.0, f64::max);
    let x_scale = Scale::over([end].into_iter(), Spread::Linear, 0.0, left, right);
    // The last place is that of the last request, not the end of its step.
    let x_ticks = numeric_ticks(&x_scale, true, true, count_words).into_iter().filter(|t| t.0 < end).collect();
    y_axis(&mut canvas, plot, &y_scale, &y_ticks, "prompt (tokens)", MARGIN + 12.0);
    let below = Rect::new(left, top, right, foot);
    x_axis(&mut canvas, below, &x_scale, &x_ticks, "request (0 is the first; a re-fetch shares the place of its request)", false);
    canvas.line((plot.x0, plot.y1), (plot.x1, plot.y1), 1.5, AXIS);

    let wanted: Vec<f64> = levels.iter().map(|l| y_scale.at(l.0 as f64)).collect();
    let places = spread_out(&wanted, SMALL.height() + 2.0, plot.y0 - 12.0, plot.y1);
    for ((value, words, colour), y) in levels.iter().zip(places) {
        let at = y_scale.at(*value as f64);
        canvas.dashes(plot.x0, plot.x1, at, 2.0, *colour);
        canvas.line((plot.x1, at), (plot.x1 + 14.0, y), 1.5, *colour);
        canvas.text(words, (plot.x1 + 20.0, y), Align::Start, SMALL, *colour);
    }
    if let Some(steps) = &none {
        draw_steps(&mut canvas, steps, &x_scale, &y_scale, 5.0, NONE);
    }
    if let Some(steps) = &oracle {
        draw_steps(&mut canvas, steps, &x_scale, &y_scale, 2.5, ORACLE);
    }
    if let Some(steps) = &config {
        draw_steps(&mut canvas, steps, &x_scale, &y_scale, 3.0, CONFIG);
    }
    for (i, lane) in lanes.iter().enumerate() {
        draw_lane(
            &mut canvas,
            lane,
            Rect::new(left, bottom + 10.0 + LANE * i as f64, right, bottom + 10.0 + LANE * (i + 1) as f64),
            &x_scale,
        );
        if lane.marked() {
            for step in &lane.at {
                let x = x_scale.at(f64::midpoint(step.x0, step.x1));
                let lift = if lane.mark == Mark::TriangleDown { 12.0 } else { 0.0 };
                let y = (y_scale.at(step.row.prompt_tokens as f64) - lift).max(top);
                canvas.mark(lane.mark, x, y, 9.0, lane.colour, lane.edge());
            }
        }
    }
    canvas
}

fn sums(report: &Report) -> String {
    let peak = report.requests.iter().map(|r| r.prompt_tokens).max().unwrap_or(0);
    let n = report.requests.len();
    let refetching = report.requests.iter().filter(|r| r.kind == RowKind::Refetch).count();
    let extra = if refetching > 0 { format!(" ({} for re-fetches)", thousands(refetching)) } else { String::new() };
    let requests = if n == 1 { "request" } else { "requests" };
    let cost: f64 = report.requests.iter().map(|r| r.cost_usd).sum();
    format!("{} {requests}{extra}, peak {}, {}", thousands(n), short(peak as f64, 3), dollars(cost, 0.0))
}

/// One kind of event, in a strip of its own below the plot.
struct Lane<'a> {
    name: &'static str,
    count: String,
    colour: Rgb,
    mark: Mark,
    at: Vec<&'a Step<'a>>,
}

impl Lane<'_> {
    /// Whether its events are marked on the line too.
    fn marked(&self) -> bool {
        (1..=MOST_MARKS).contains(&self.at.len())
    }

    fn edge(&self) -> Option<(f64, Rgb)> {
        (self.mark != Mark::Cross).then_some((1.5, WHITE))
    }
}

fn lanes<'a>(steps: &'a [Step<'a>]) -> Vec<Lane<'a>> {
    let those = |which: fn(&Row) -> bool| steps.iter().filter(|s| which(s.row)).collect::<Vec<_>>();
    let clears = those(|r| r.newly_cleared > 0);
    let refetches = those(|r| r.refetched > 0);
    let missed = those(|r| r.lost + r.unmet > 0);
    let sum = |of: fn(&Row) -> u64| steps.iter().map(|s| of(s.row)).sum::<u64>() as usize;
    let counted = |n: usize, one: &str, many: &str| format!("{} {}", thousands(n), if n == 1 { one } else { many });
    vec![
        Lane {
            name: "clear",
            count: counted(clears.len(), "clear event", "clear events"),
            colour: CLEAR,
            mark: Mark::TriangleDown,
            at: clears,
        },
        Lane {
            name: "re-fetch",
            count: counted(sum(|r| r.refetched), "use re-fetched", "uses re-fetched"),
            colour: REFETCH,
            mark: Mark::Disc,
            at: refetches,
        },
        Lane {
            name: "miss",
            count: format!("{} lost, {} unmet", thousands(sum(|r| r.lost)), thousands(sum(|r| r.unmet))),
            colour: MISS,
            mark: Mark::Cross,
            at: missed,
        },
    ]
}

fn draw_lane(canvas: &mut Canvas, lane: &Lane, strip: Rect, x_scale: &Scale) {
    let y = f64::midpoint(strip.y0, strip.y1);
    canvas.line((strip.x0, y), (strip.x1, y), 1.0, GRID);
    for step in &lane.at {
        let x = x_scale.at(f64::midpoint(step.x0, step.x1));
        canvas.line((x, strip.y0 + 7.0), (x, strip.y1 - 7.0), 3.0, lane.colour);
    }
    let ink = if lane.at.is_empty() { MUTED } else { lane.colour };
    canvas.text(lane.name, (strip.x0 - 12.0, y), Align::End, SMALL, ink);
    let room = RIGHT - strip.x1 - 20.0;
    canvas.text(&fit(&lane.count, SMALL, room), (strip.x1 + 20.0, y), Align::Start, SMALL, ink);
}

/// `width` differs between the lines, so that both show where they coincide.
fn draw_steps(canvas: &mut Canvas, steps: &[Step], x_scale: &Scale, y_scale: &Scale, width: f64, colour: Rgb) {
    let mut last: Option<(f64, f64)> = None;
    for step in steps {
        let (x0, x1, y) = (x_scale.at(step.x0), x_scale.at(step.x1), y_scale.at(step.row.prompt_tokens as f64));
        if let Some((_, before)) = last {
            // Half a width more, so that the corners close.
            canvas.line((x0, before.min(y) - width / 2.0), (x0, before.max(y) + width / 2.0), width, colour);
        }
        canvas.line((x0, y), (x1, y), width, colour);
        last = Some((x1, y));
    }
}
