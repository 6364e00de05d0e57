//! Figure 3: what `clear_at_least` does to cache invalidations and cost, a line a keep.

use super::SweepView;
use super::canvas::{Canvas, Mark};
use super::colour::{INK, LINES, MUTED, Rgb, WHITE};
use super::frame::{
    Key, MARGIN, RIGHT, SMALL, WIDTH, axis_name, config_words, count_words, empty_page, heading, legend, numeric_ticks, thinned, widest,
    x_axis, y_axis,
};
use super::labels::Rect;
use super::scale::{Scale, Spread, dollars, pick, short, short_all};
use super::slice::{Slice, slice, unit};
use crate::sweep::ConfigRow;

const HEADING: &str = "Cache invalidations and cost over clear_at_least";
const ORACLE: Rgb = (0, 125, 90);
const BOUND: Rgb = (170, 60, 140);
const MOST_LINES: usize = 6;
const MARKS: [Mark; 6] = [Mark::Disc, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::TriangleDown, Mark::Cross];

/// One keep: its values by position of `clear_at_least`.
struct Line {
    keep: u32,
    colour: Rgb,
    mark: Mark,
    /// Larger for those drawn first, so that lines that coincide still show all their marks.
    radius: f64,
    values: Vec<Option<(f64, f64)>>,
}

pub(super) fn draw(view: &SweepView) -> Canvas {
    let found = slice(view).and_then(|s| s.focus().map(|f| (s, f)));
    let Some((s, (_, focus_keep, trigger))) = found else {
        return empty_page(HEADING, view.title, "No config of this sweep clears anything: there is nothing to draw over clear_at_least.");
    };
    let lines = lines(&s, focus_keep, trigger);
    let none = view.rows.iter().find(|r| r.knobs.is_none()).map(|r| r.totals.cost_usd).filter(|c| c.is_finite());

    let mut sub = vec![view.title.to_owned()];
    if let Some(chosen) = view.chosen() {
        sub.push(format!("chosen: {}", config_words(&view.rows[chosen].knobs).join(" \u{b7} ")));
    }
    let which = if s.chosen.is_some() { "the chosen one" } else { "that of the cheapest config that clears" };
    let kept = if lines.len() < s.keeps.len() {
        format!("; {} of {} values of keep, evenly picked; all are in sweep.csv", lines.len(), s.keeps.len())
    } else {
        String::new()
    };
    sub.push(format!("at trigger {} {}, {which}{kept}", short(trigger as f64, 4), unit(s.trigger_type)));
    sub.push(s.note.clone());

    let mut canvas = Canvas::new(WIDTH, 1120);
    let top = heading(&mut canvas, HEADING, &sub) + 20.0;
    let bottom = 1120.0 - 96.0;
    let middle = f64::midpoint(top, bottom);
    let counts = || lines.iter().flat_map(|l| l.values.iter().flatten().map(|v| v.0));
    let costs = || {
        lines
            .iter()
            .flat_map(|l| l.values.iter().flatten().map(|v| v.1))
            .chain(none)
            .chain(view.hindsight.into_iter().flat_map(|known| [known.oracle, known.bound]))
    };
    let upper_scale = Scale::over(counts(), Spread::Linear, 0.08, middle - 24.0, top);
    let lower_scale = Scale::near(costs(), 0.12, bottom, middle + 24.0);
    let upper_ticks = numeric_ticks(&upper_scale, false, true, count_words);
    let lower_ticks = numeric_ticks(&lower_scale, false, false, dollars);
    let left = MARGIN + 48.0 + widest(&upper_ticks).max(widest(&lower_ticks));
    let right = RIGHT - 270.0;
    let upper = Rect::new(left, top, right, middle - 24.0);
    let lower = Rect::new(left, middle + 24.0, right, bottom);

    // One step a value: the values that are swept grow by factors, and 0 is among them.
    let names = short_all(&s.clear_at_leasts);
    let steps = names.len();
    let (ends, pitch) = {
        let pitch = (right - left) / steps as f64;
        ((left + pitch / 2.0, right - pitch / 2.0), pitch)
    };
    let x_of = |i: usize| if steps > 1 { ends.0 + (ends.1 - ends.0) * i as f64 / (steps - 1) as f64 } else { ends.0 };
    // A scale over positions, for the axis alone.
    let x_scale = Scale::over([steps as f64].into_iter(), Spread::Linear, 0.0, left, right);
    let wide = names.iter().map(|n| SMALL.width(n)).fold(0.0, f64::max);
    let x_ticks = thinned(steps, wide, pitch, 16.0).map(|i| (i as f64 + 0.5, names[i].clone())).collect();
    x_axis(&mut canvas, lower, &x_scale, &x_ticks, "clear_at_least (tokens; one step for each value swept)", false);
    canvas.line((upper.x0, upper.y1), (upper.x1, upper.y1), 1.5, MUTED);
    y_axis(&mut canvas, upper, &upper_scale, &upper_ticks, &axis_name("cache invalidations (count)", upper_scale.spread), MARGIN + 12.0);
    y_axis(&mut canvas, lower, &lower_scale, &lower_ticks, "cost (USD, all transcripts)", MARGIN + 12.0);
    if let Some(cost) = none {
        canvas.dashes(lower.x0, lower.x1, lower_scale.at(cost), 2.5, INK);
    }
    if let Some(known) = view.hindsight {
        canvas.dashes(lower.x0, lower.x1, lower_scale.at(known.oracle), 2.5, ORACLE);
        canvas.dashes(lower.x0, lower.x1, lower_scale.at(known.bound), 2.5, BOUND);
    }
    for line in &lines {
        for (panel, scale) in [(0, &upper_scale), (1, &lower_scale)] {
            let points: Vec<Option<(f64, f64)>> =
                line.values.iter().enumerate().map(|(i, v)| v.map(|v| (x_of(i), scale.at(if panel == 0 { v.0 } else { v.1 })))).collect();
            for run in points.split(Option::is_none) {
                let run: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
                canvas.path(&run, 3.5, line.colour);
            }
            // Marks run into each other where there are very many values.
            if pitch >= 2.5 * line.radius || steps == 1 {
                for (x, y) in points.into_iter().flatten() {
                    canvas.mark(line.mark, x, y, line.radius, line.colour, edge(line.mark));
                }
            }
        }
    }

    let mut y = top;
    for line in &lines {
        let mine = if s.chosen.is_some() && line.keep == focus_keep { " (chosen)" } else { "" };
        let words = format!("keep {}{mine}", line.keep);
        y = legend(&mut canvas, (right + 30.0, RIGHT), y, &[(Key::LineMark(3.5, line.colour, line.mark, 9.0), words)]) + 10.0;
    }
    if none.is_some() {
        let words = format!("none: {}", dollars(none.unwrap_or(0.0), 0.0));
        let mut y = legend(&mut canvas, (right + 30.0, RIGHT), lower.y0, &[(Key::Dashes(2.5, INK), words)]);
        for (name, cost, colour) in
            view.hindsight.into_iter().flat_map(|known| [("oracle", known.oracle, ORACLE), ("bound", known.bound, BOUND)])
        {
            let words = format!("{name}: {}", dollars(cost, 0.0));
            y = legend(&mut canvas, (right + 30.0, RIGHT), y + 10.0, &[(Key::Dashes(2.5, colour), words)]);
        }
    }
    canvas
}

fn edge(mark: Mark) -> Option<(f64, Rgb)> {
    (mark != Mark::Cross).then_some((1.5, WHITE))
}

fn lines(s: &Slice, focus_keep: u32, trigger: u64) -> Vec<Line> {
    let must = s.keeps.iter().position(|k| *k == focus_keep);
    pick(s.keeps.len(), MOST_LINES, must)
        .into_iter()
        .enumerate()
        .map(|(i, k)| {
            let keep = s.keeps[k];
            let value = |row: &&ConfigRow| {
                let cost = row.totals.cost_usd;
                cost.is_finite().then_some((row.totals.cache_invalidations as f64, cost))
            };
            Line {
                keep,
                colour: LINES[i % LINES.len()],
                mark: MARKS[i % MARKS.len()],
                radius: 12.0 - i as f64,
                values: s.clear_at_leasts.iter().map(|c| s.cells.get(&(*c, keep, trigger)).and_then(value)).collect(),
            }
        })
        .collect()
}
