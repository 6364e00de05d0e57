//! What the figures share: heading, legend, axes, colour bar, and how a config is named.

use super::canvas::{Align, Canvas, Font, Mark};
use super::colour::{AXIS, CostScale, GRID, INK, MUTED, Rgb, WHITE, diverging};
use super::labels::{Rect, fit, wrap};
use super::scale::{Scale, Spread, every, short};
use crate::policy::Trigger;
use crate::sweep::Knobs;

/// Width of every page in pixels.
pub(super) const WIDTH: u32 = 1600;
/// Left out on each side of the page.
pub(super) const MARGIN: f64 = 40.0;
pub(super) const RIGHT: f64 = WIDTH as f64 - MARGIN;

pub(super) const TITLE: Font = Font::bold(34.0);
pub(super) const TEXT: Font = Font::regular(22.0);
pub(super) const STRONG: Font = Font::bold(22.0);
pub(super) const SMALL: Font = Font::regular(20.0);

/// The heading: what the figure shows, then lines that say of what. Returns where it ends.
pub(super) fn heading(canvas: &mut Canvas, title: &str, lines: &[String]) -> f64 {
    let width = RIGHT - MARGIN;
    let mut y = 46.0;
    canvas.text(&fit(title, TITLE, width), (MARGIN, y), Align::Start, TITLE, INK);
    y += 44.0;
    for line in lines.iter().filter(|l| !l.trim().is_empty()) {
        for part in wrap(line, TEXT, width, 2) {
            canvas.text(&part, (MARGIN, y), Align::Start, TEXT, MUTED);
            y += 30.0;
        }
    }
    y
}

/// A page that says why there is no figure.
pub(super) fn empty_page(title: &str, subject: &str, why: &str) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, 400);
    let y = heading(&mut canvas, title, &[subject.to_owned()]);
    for (i, line) in wrap(why, STRONG, RIGHT - MARGIN, 3).iter().enumerate() {
        canvas.text(line, (MARGIN, y + 40.0 + 32.0 * i as f64), Align::Start, STRONG, INK);
    }
    canvas
}

/// What stands before a legend's word.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    /// A mark with an edge.
    Mark(Mark, f64, Rgb, Option<(f64, Rgb)>),
    /// A circle.
    Ring(f64, f64, Rgb),
    /// A line.
    Line(f64, Rgb),
    /// A line with a mark on it.
    LineMark(f64, Rgb, Mark, f64),
    /// A dashed line.
    Dashes(f64, Rgb),
    /// A field of colour.
    Swatch(Rgb),
    /// An outlined field.
    Outline(f64, Rgb),
}

const KEY_WIDTH: f64 = 44.0;

fn key(canvas: &mut Canvas, key: Key, x: f64, y: f64) {
    let middle = x + KEY_WIDTH / 2.0;
    match key {
        Key::Mark(mark, radius, colour, edge) => canvas.mark(mark, middle, y, radius, colour, edge),
        Key::Ring(radius, width, colour) => canvas.ring(middle, y, radius, width, colour),
        Key::Line(width, colour) => canvas.line((x, y), (x + KEY_WIDTH, y), width, colour),
        Key::LineMark(width, colour, mark, radius) => {
            canvas.line((x, y), (x + KEY_WIDTH, y), width, colour);
            canvas.mark(mark, middle, y, radius, colour, Some((2.0, WHITE)));
        }
        Key::Dashes(width, colour) => canvas.dashes(x, x + KEY_WIDTH, y, width, colour),
        Key::Swatch(colour) => {
            let field = Rect::new(middle - 14.0, y - 11.0, middle + 14.0, y + 11.0);
            canvas.fill(field, colour);
            canvas.frame(field, 1.0, AXIS);
        }
        Key::Outline(width, colour) => canvas.frame(Rect::new(middle - 14.0, y - 11.0, middle + 14.0, y + 11.0), width, colour),
    }
}

/// A legend in rows between `x0` and `x1` from `y` on; returns where it ends.
pub(super) fn legend(canvas: &mut Canvas, (x0, x1): (f64, f64), y: f64, items: &[(Key, String)]) -> f64 {
    let (mut x, mut y) = (x0, y + 8.0);
    for (mark, words) in items {
        let words = fit(words, SMALL, x1 - x0 - KEY_WIDTH - 10.0);
        let width = KEY_WIDTH + 10.0 + SMALL.width(&words);
        if x > x0 && x + width > x1 {
            (x, y) = (x0, y + 32.0);
        }
        key(canvas, *mark, x, y);
        canvas.text(&words, (x + KEY_WIDTH + 10.0, y), Align::Start, SMALL, INK);
        x += width + 34.0;
    }
    y + 22.0
}

/// Labels of one axis: value, words.
pub(super) type Ticks = Vec<(f64, String)>;

/// A vertical axis on the left of `plot` with lines across it; its name runs upwards at `name_x`.
pub(super) fn y_axis(canvas: &mut Canvas, plot: Rect, scale: &Scale, ticks: &Ticks, name: &str, name_x: f64) {
    for (value, words) in ticks {
        let y = scale.at(*value);
        canvas.line((plot.x0, y), (plot.x1, y), 1.0, GRID);
        canvas.text(words, (plot.x0 - 12.0, y), Align::End, SMALL, INK);
    }
    canvas.line((plot.x0, plot.y0), (plot.x0, plot.y1), 1.5, AXIS);
    let name = fit(name, TEXT, plot.height().max(60.0));
    canvas.text_up(&name, (name_x, f64::midpoint(plot.y0, plot.y1)), TEXT, INK);
}

/// A horizontal axis below `plot`; `grid` draws lines across it.
pub(super) fn x_axis(canvas: &mut Canvas, plot: Rect, scale: &Scale, ticks: &Ticks, name: &str, grid: bool) {
    for (value, words) in ticks {
        let x = scale.at(*value);
        if grid {
            canvas.line((x, plot.y0), (x, plot.y1), 1.0, GRID);
        }
        canvas.line((x, plot.y1), (x, plot.y1 + 6.0), 1.5, AXIS);
        // Never beyond the page: a label at the end of the axis moves in.
        let half = SMALL.width(words) / 2.0;
        let x = x.clamp(half + 2.0, f64::from(WIDTH) - half - 2.0);
        canvas.text(words, (x, plot.y1 + 26.0), Align::Middle, SMALL, INK);
    }
    canvas.line((plot.x0, plot.y1), (plot.x1, plot.y1), 1.5, AXIS);
    let name = fit(name, TEXT, plot.width());
    canvas.text(&name, (f64::midpoint(plot.x0, plot.x1), plot.y1 + 60.0), Align::Middle, TEXT, INK);
}

/// Ticks of a numeric axis with their words, thinned so that none touches another. `across`: the words stand side by side.
pub(super) fn numeric_ticks(scale: &Scale, across: bool, whole: bool, words: impl Fn(f64, f64) -> String) -> Ticks {
    let named = |gap: f64| -> Ticks {
        let values = scale.ticks(gap, whole);
        let step = if values.len() > 1 { values[1] - values[0] } else { 0.0 };
        values.iter().map(|&v| (v, words(v, step))).collect()
    };
    if !across {
        return named(62.0);
    }
    let mut gap = 110.0;
    loop {
        let ticks = named(gap);
        let widest = ticks.iter().map(|(_, w)| SMALL.width(w)).fold(0.0, f64::max);
        if widest + 24.0 <= gap || ticks.len() <= 1 {
            return ticks;
        }
        gap = (widest + 24.0).max(gap * 1.3);
    }
}

/// Widest of some words.
pub(super) fn widest(ticks: &Ticks) -> f64 {
    ticks.iter().map(|(_, words)| SMALL.width(words)).fold(0.0, f64::max)
}

/// Words of a numeric axis in short.
pub(super) fn count_words(value: f64, _step: f64) -> String {
    short(value, 4)
}

/// Names an axis that is logarithmic as such.
pub(super) fn axis_name(name: &str, spread: Spread) -> String {
    match spread {
        Spread::Linear => name.to_owned(),
        Spread::Log { .. } => format!("{name}, log scale"),
    }
}

/// Indices of labels shown out of `len` at an even `pitch`, so that neighbours of at most `extent` do not touch.
pub(super) fn thinned(len: usize, extent: f64, pitch: f64, space: f64) -> impl Iterator<Item = usize> {
    (0..len).step_by(every(extent, pitch, space))
}

/// A vertical colour bar at the right of the page, beside `plot`; needs 150 pixels from `x` on.
pub(super) fn colour_bar(canvas: &mut Canvas, x: f64, y0: f64, y1: f64, scale: &CostScale) {
    canvas.text("cost vs none", (x, y0 - 52.0), Align::Start, STRONG, INK);
    canvas.text("1 = same cost", (x, y0 - 26.0), Align::Start, SMALL, MUTED);
    let steps = ((y1 - y0) as usize).max(2);
    for i in 0..steps {
        let t = 1.0 - 2.0 * (i as f64 + 0.5) / steps as f64;
        let y = y0 + (y1 - y0) * i as f64 / steps as f64;
        canvas.fill(Rect::new(x, y, x + 30.0, y + (y1 - y0) / steps as f64 + 0.5), diverging(t));
    }
    canvas.frame(Rect::new(x, y0, x + 30.0, y1), 1.0, AXIS);
    let at = |ratio: f64| f64::midpoint(y0, y1) - (y1 - y0) / 2.0 * scale.position(Some(ratio)).unwrap_or(0.0);
    let (low, high) = scale.ends();
    let mut marks: Vec<(f64, String)> = vec![(1.0, "1".to_owned())];
    let mut add = |ratio: f64, words: String| {
        if marks.iter().all(|(r, _)| (at(*r) - at(ratio)).abs() >= 34.0) {
            marks.push((ratio, words));
        }
    };
    let (less, more) = (if scale.beyond.0 { "< " } else { "" }, if scale.beyond.1 { "> " } else { "" });
    add(high, format!("{more}{}", ratio(high)));
    add(low, format!("{less}{}", ratio(low)));
    for r in [0.1, 0.2, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 0.8, 1.25, 0.9, 1.1, 0.95, 1.05, 0.7, 1.5, 0.6, 3.0, 0.98, 1.02] {
        if r > low && r < high {
            add(r, ratio(r));
        }
    }
    for (ratio, words) in marks {
        let y = at(ratio);
        canvas.line((x + 30.0, y), (x + 37.0, y), 1.5, AXIS);
        canvas.text(&words, (x + 44.0, y), Align::Start, SMALL, INK);
    }
}

/// A cost ratio: two decimals, fewer for large ones.
pub(super) fn ratio(r: f64) -> String {
    if !r.is_finite() {
        return "n/a".to_owned();
    }
    if r >= 99.5 {
        short(r, 3)
    } else if r >= 9.995 {
        format!("{r:.1}")
    } else {
        format!("{r:.2}")
    }
}

/// A trigger with its unit where it is not the usual one: `30k`, `12 tool uses`.
pub(super) fn trigger_words(trigger: Trigger) -> String {
    match trigger {
        Trigger::InputTokens(n) => short(n as f64, 4),
        Trigger::ToolUses(n) => format!("{} tool uses", short(n as f64, 4)),
    }
}

/// A config's name: its three numbers, then what else differs from the API's defaults.
pub(super) fn config_words(knobs: &Knobs) -> Vec<String> {
    let Some(edit) = &knobs.edit else {
        if knobs.is_none() {
            return vec!["no clearing".to_owned()];
        }
        let words = crate::report::knob_words(knobs).replace(';', " \u{b7} ").replace('=', " ");
        return [knobs.policy.clone(), words].into_iter().filter(|line| !line.is_empty()).collect();
    };
    let mut lines = vec![format!(
        "trigger {} \u{b7} keep {} \u{b7} clear_at_least {}",
        trigger_words(edit.trigger),
        edit.keep,
        short(edit.clear_at_least as f64, 4)
    )];
    if !edit.exclude_tools.is_empty() {
        lines.push(format!("exclude_tools {}", knobs.exclude_tools()));
    }
    if knobs.clear_tool_inputs() != "false" {
        lines.push(format!("clear_tool_inputs {}", knobs.clear_tool_inputs()));
    }
    lines
}
