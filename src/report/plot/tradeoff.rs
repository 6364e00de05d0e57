//! Figure 1: what clearing frees against what it makes the agent fetch again.

use super::SweepView;
use super::canvas::{Align, Canvas, Font, Mark};
use super::colour::{BLACK, CostScale, INK, MUTED, Rgb, UNDEFINED, WHITE};
use super::frame::{
    Key, MARGIN, RIGHT, SMALL, STRONG, WIDTH, axis_name, colour_bar, config_words, count_words, empty_page, heading, legend, numeric_ticks,
    ratio, widest, x_axis, y_axis,
};
use super::labels::{Anchor, Rect, fit, place};
use super::scale::{Scale, short, spread_for, thousands};
use crate::sweep::ConfigRow;

const HEADING: &str = "What clearing frees, and what it makes the agent fetch again";
const EDGE: Rgb = (95, 95, 95);

pub(super) fn draw(view: &SweepView) -> Canvas {
    if view.rows.is_empty() {
        return empty_page(HEADING, view.title, "The sweep has no rows: there is nothing to show.");
    }
    let rows = view.rows;
    let xs: Vec<f64> = rows.iter().map(|r| r.totals.freed_tokens as f64).collect();
    let ys: Vec<f64> = rows.iter().map(|r| r.totals.refetches as f64).collect();
    let scale = CostScale::new(rows.iter().map(|r| r.derived.cost_vs_none));
    let radius = match rows.len() {
        0..=60 => 10.0,
        61..=300 => 8.0,
        301..=1000 => 6.5,
        _ => 5.0,
    };

    let mut canvas = Canvas::new(WIDTH, 1040);
    let configs = if rows.len() == 1 { "1 config".to_owned() } else { format!("{} configs", thousands(rows.len())) };
    let mut sub = vec![view.title.to_owned(), format!("{configs}, one point each; better is right and down")];
    sub.extend(view.costs_around());
    let y = heading(&mut canvas, HEADING, &sub);
    let front: Vec<usize> = view.front.iter().copied().filter(|&i| i < rows.len()).collect();
    let edge = edge_of(&front, &xs, &ys);
    let items = legend_items(view, (front.len(), edge.len()), radius);
    let top = legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 14.0;

    let bottom = 1040.0 - 96.0;
    let y_scale = Scale::over(ys.iter().copied(), spread_for(&ys), 0.06, bottom, top).set_off(26.0);
    let y_ticks = numeric_ticks(&y_scale, false, true, count_words);
    let left = MARGIN + 48.0 + widest(&y_ticks);
    let plot = Rect::new(left, top, RIGHT - 200.0, bottom);
    let x_scale = Scale::over(xs.iter().copied(), spread_for(&xs), 0.04, plot.x0, plot.x1).set_off(26.0);
    let x_ticks = numeric_ticks(&x_scale, true, true, count_words);
    x_axis(&mut canvas, plot, &x_scale, &x_ticks, &axis_name("freed tokens (sum over all transcripts)", x_scale.spread), true);
    y_axis(&mut canvas, plot, &y_scale, &y_ticks, &axis_name("re-fetches (tool uses, sum)", y_scale.spread), MARGIN + 12.0);
    colour_bar(&mut canvas, RIGHT - 158.0, top + 74.0, bottom - 10.0, &scale);

    let at = |i: usize| (x_scale.at(xs[i]), y_scale.at(ys[i]));
    let edge: Vec<(f64, f64)> = edge.into_iter().map(at).collect();

    // Dear ones first, so that the cheap ones, which one looks for, lie on top; the front above all.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let cost = |i: usize| rows[i].derived.cost_vs_none.filter(|c| c.is_finite()).unwrap_or(f64::MAX);
    order.sort_by(|&a, &b| cost(b).total_cmp(&cost(a)).then(a.cmp(&b)));
    let mut on_front = vec![false; rows.len()];
    for &i in &front {
        on_front[i] = true;
    }
    // On small points a thick rim would leave no colour.
    let front_rim = if radius < 7.0 { 2.0 } else { 3.0 };
    let draw_point = |canvas: &mut Canvas, i: usize| {
        let (x, y) = at(i);
        let (grown, rim) = if on_front[i] { (radius + 2.0, (front_rim, BLACK)) } else { (radius, (1.0, EDGE)) };
        canvas.mark(mark_of(&rows[i]), x, y, grown, scale.colour(rows[i].derived.cost_vs_none), Some(rim));
    };
    for &i in order.iter().filter(|&&i| !on_front[i]) {
        draw_point(&mut canvas, i);
    }
    canvas.path(&edge, 6.0, WHITE);
    canvas.path(&edge, 3.0, BLACK);
    for &i in order.iter().filter(|&&i| on_front[i]) {
        draw_point(&mut canvas, i);
    }

    let points: Vec<(f64, f64)> = (0..rows.len()).map(at).collect();
    // Labels keep off the line too.
    let beads = edge.windows(2).flat_map(|w| (0..=24).map(|i| along(w[0], w[1], f64::from(i) / 24.0)));
    let busy: Vec<(f64, f64)> = points.iter().copied().chain(beads).collect();
    name_points(&mut canvas, view, plot, (&points, &busy), radius, &scale);
    canvas
}

/// `front` and `edge`: how many configs lie on them.
fn legend_items(view: &SweepView, (front, edge): (usize, usize), radius: f64) -> Vec<(Key, String)> {
    let rows = view.rows;
    let mut items = vec![(Key::Mark(Mark::Disc, radius.max(7.0), WHITE, Some((1.5, INK))), "no need lost or unmet".to_owned())];
    if rows.iter().any(misses) {
        items.push((Key::Mark(Mark::Triangle, radius.max(7.0), WHITE, Some((1.5, INK))), "some needs lost or unmet".to_owned()));
    }
    if front > 0 {
        items.push((Key::Mark(Mark::Disc, radius.max(7.0) + 2.0, WHITE, Some((3.0, BLACK))), "on the Pareto front".to_owned()));
        // A front on these two axes alone is its own edge.
        let line = if edge == front { "Pareto front" } else { "its edge in freed tokens and re-fetches" };
        if edge > 1 {
            items.push((Key::Line(3.0, BLACK), line.to_owned()));
        }
    }
    if view.chosen().is_some() {
        items.push((Key::Ring(14.0, 2.5, BLACK), "chosen".to_owned()));
    }
    if rows.iter().any(|r| r.derived.cost_vs_none.is_none_or(|c| !c.is_finite())) {
        items.push((Key::Swatch(UNDEFINED), "cost ratio not defined".to_owned()));
    }
    items
}

fn misses(row: &ConfigRow) -> bool {
    row.totals.lost_needs + row.totals.unmet_needs > 0
}

fn mark_of(row: &ConfigRow) -> Mark {
    if row.knobs.is_none() {
        Mark::Square
    } else if misses(row) {
        Mark::Triangle
    } else {
        Mark::Disc
    }
}

/// Those of the front that none of it beats in freed tokens and re-fetches alone, by freed tokens: a front on more objectives would zigzag
/// in this plane.
fn edge_of(front: &[usize], xs: &[f64], ys: &[f64]) -> Vec<usize> {
    let mut order = front.to_vec();
    order.sort_by(|&a, &b| xs[b].total_cmp(&xs[a]).then(ys[a].total_cmp(&ys[b])).then(a.cmp(&b)));
    let mut least = f64::INFINITY;
    let mut edge: Vec<usize> = Vec::new();
    for i in order {
        if ys[i] < least {
            least = ys[i];
            edge.push(i);
        }
    }
    edge.reverse();
    edge
}

/// The point at a share of the way.
fn along(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
}

type Points<'a> = &'a [(f64, f64)];

/// Draws the marks and labels of the chosen config and of `none`; labels cover as little of `busy` as they can.
fn name_points(canvas: &mut Canvas, view: &SweepView, plot: Rect, (points, busy): (Points, Points), radius: f64, scale: &CostScale) {
    let none = view.rows.iter().position(|r| r.knobs.is_none());
    let chosen = view.chosen();
    let mut named: Vec<(usize, String)> = Vec::new();
    if let Some(i) = chosen {
        let both = if none == Some(i) { "chosen: none (clearing does not pay here)" } else { "chosen" };
        named.push((i, both.to_owned()));
    }
    if let Some(i) = none.filter(|i| chosen != Some(*i)) {
        named.push((i, "none (no clearing)".to_owned()));
    }

    let most = plot.width() * 0.6;
    let mut labels: Vec<Vec<(String, Font, Rgb)>> = Vec::new();
    for (i, head) in &named {
        let row = &view.rows[*i];
        let mut lines = vec![(fit(head, STRONG, most), STRONG, INK)];
        if !row.knobs.is_none() {
            lines.extend(config_words(&row.knobs).into_iter().map(|l| (fit(&l, SMALL, most), SMALL, INK)));
            let cost = row.derived.cost_vs_none.filter(|c| c.is_finite());
            let words = format!(
                "cost vs none {} \u{b7} frees {} \u{b7} re-fetches {}",
                cost.map_or_else(|| "n/a".to_owned(), ratio),
                short(row.totals.freed_tokens as f64, 3),
                short(row.totals.refetches as f64, 3)
            );
            lines.push((fit(&words, SMALL, most), SMALL, MUTED));
        }
        labels.push(lines);
    }
    let anchors: Vec<Anchor> = named
        .iter()
        .zip(&labels)
        .map(|((i, _), lines)| {
            let width = lines.iter().map(|(text, font, _)| font.width(text)).fold(0.0, f64::max);
            Anchor { at: points[*i], clear: radius + 14.0, size: (width + 24.0, 28.0 * lines.len() as f64 + 14.0) }
        })
        .collect();
    let placed = place(plot.grow(-4.0), &anchors, busy, radius);

    for (i, _) in &named {
        let ((x, y), row) = (points[*i], &view.rows[*i]);
        canvas.mark(mark_of(row), x, y, radius + 2.0, scale.colour(row.derived.cost_vs_none), Some((2.0, BLACK)));
        if chosen == Some(*i) {
            canvas.ring(x, y, radius + 9.0, 6.0, WHITE);
            canvas.ring(x, y, radius + 8.0, 3.0, BLACK);
        }
    }
    for (((anchor, rect), lines), (i, _)) in anchors.iter().zip(&placed).zip(&labels).zip(&named) {
        let Some(rect) = *rect else { continue };
        let end = rect.nearest(anchor.at);
        let (dx, dy) = (end.0 - anchor.at.0, end.1 - anchor.at.1);
        let far = (dx * dx + dy * dy).sqrt();
        // From the edge of the mark, not from its middle.
        let skip = if chosen == Some(*i) { radius + 10.0 } else { radius + 2.0 };
        if far > skip {
            let start = (anchor.at.0 + dx / far * skip, anchor.at.1 + dy / far * skip);
            canvas.line(start, end, 5.0, WHITE);
            canvas.line(start, end, 2.0, INK);
        }
        canvas.fill(rect, WHITE);
        canvas.frame(rect, 1.5, INK);
        for (j, (text, font, colour)) in lines.iter().enumerate() {
            canvas.text(text, (rect.x0 + 12.0, rect.y0 + 21.0 + 28.0 * j as f64), Align::Start, *font, *colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_rises_with_freed_tokens() {
        // Point 2 frees less than point 1 at more re-fetches; point 3 is `none`.
        let (xs, ys) = ([100.0, 50.0, 40.0, 0.0, 100.0], [10.0, 2.0, 5.0, 0.0, 12.0]);
        assert_eq!(edge_of(&[0, 1, 2, 3, 4], &xs, &ys), [3, 1, 0]);
        assert_eq!(edge_of(&[], &xs, &ys), Vec::<usize>::new());
    }
}
