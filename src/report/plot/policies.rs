//! Policies side by side: on one set of transcripts, and on several workloads.

use super::canvas::{Align, Canvas, Mark};
use super::colour::{ABSENT, BLUE, CostScale, GREEN, GRID, INK, MUTED, PURPLE, VERMILLION, WHITE, text_on};
use super::frame::{Key, MARGIN, RIGHT, SMALL, STRONG, WIDTH, colour_bar, empty_page, heading, legend, numeric_ticks, ratio, x_axis};
use super::labels::{Rect, fit};
use super::scale::{Scale, Spread, short};
use super::{MatrixView, PoliciesView};
use crate::hindsight::is_comparable;
use crate::sweep::{Hindsight, Trap};

const HEADING: &str = "What each policy costs against not clearing";
const PITCH: f64 = 38.0;

pub(super) fn draw(view: &PoliciesView) -> Canvas {
    let outcome = view.rows;
    let shown: Vec<(usize, f64)> = {
        let ratio = |i: &usize| outcome.get(*i).and_then(|row| row.derived.cost_vs_none).filter(|r| r.is_finite() && *r > 0.0);
        let is_policy = |i: &usize| outcome.get(*i).is_some_and(|row| row.knobs.hindsight().is_none());
        let mut shown: Vec<(usize, f64)> =
            view.best.iter().enumerate().filter(|(_, i)| is_policy(i)).filter_map(|(at, i)| Some((at, ratio(i)?))).collect();
        shown.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        shown
    };
    if shown.is_empty() {
        return empty_page(HEADING, view.title, "No policy has a cost that can be compared: there is nothing to show.");
    }
    let height = 330.0 + PITCH * shown.len() as f64;
    let mut canvas = Canvas::new(WIDTH, height as u32);
    let sub = [view.title.to_owned(), "each policy at the cheapest of its configs; cheapest above".to_owned()];
    let y = heading(&mut canvas, HEADING, &sub);
    let known = |bound: bool| {
        let is = |h: Hindsight| if bound { matches!(h, Hindsight::Bound(_)) } else { h == Hindsight::Oracle };
        outcome.iter().rfind(|row| row.knobs.hindsight().is_some_and(is)).and_then(|row| row.derived.cost_vs_none)
    };
    let lines = [("oracle: knows what follows", known(false), GREEN), ("bound: of policies that take results", known(true), PURPLE)];
    let mut items = vec![
        (Key::Mark(Mark::Disc, 9.0, BLUE, None), "loses nothing".to_owned()),
        (Key::Mark(Mark::Triangle, 9.0, VERMILLION, None), "needs lost or unmet, which are not priced".to_owned()),
    ];
    if shown.iter().any(|(at, _)| {
        let t = &outcome[view.best[*at]].totals;
        t.lost_needs + t.unmet_needs == 0 && !is_comparable(t)
    }) {
        let words = "compacts, shows results in part only, or gives back: beyond the bound";
        items.push((Key::Mark(Mark::Diamond, 9.0, BLUE, None), words.to_owned()));
    }
    items.extend(lines.iter().filter(|line| line.1.is_some()).map(|(words, _, colour)| (Key::Line(3.0, *colour), (*words).to_owned())));
    let top = legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 44.0;
    let bottom = top + PITCH * shown.len() as f64;
    let left = MARGIN + 330.0;
    let plot = Rect::new(left, top, RIGHT - 470.0, bottom);
    let values = || shown.iter().map(|(_, r)| *r).chain(lines.iter().filter_map(|line| line.1)).chain([1.0]);
    let (low, high) = values().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let scale = if high / low > 6.0 {
        Scale::over(values(), Spread::Log { unit: 0.5 }, 0.03, plot.x0, plot.x1)
    } else {
        Scale::near(values(), 0.06, plot.x0, plot.x1)
    };
    x_axis(&mut canvas, plot, &scale, &numeric_ticks(&scale, true, false, |v, _| ratio(v)), "cost against not clearing", true);
    canvas.line((scale.at(1.0), plot.y0), (scale.at(1.0), plot.y1), 2.5, INK);
    for (_, value, colour) in lines {
        if let Some(value) = value {
            canvas.line((scale.at(value), plot.y0), (scale.at(value), plot.y1), 3.0, colour);
        }
    }
    let column = |i: usize| plot.x1 + [90.0, 190.0, 290.0, 320.0][i];
    for (i, words) in ["re-fetches", "lost", "clears", "trap"].iter().enumerate() {
        canvas.text(words, (column(i), top - 20.0), if i == 3 { Align::Start } else { Align::End }, SMALL, MUTED);
    }
    for (place, (at, value)) in shown.iter().enumerate() {
        let row = &outcome[view.best[*at]];
        let y = top + PITCH * (place as f64 + 0.5);
        let t = &row.totals;
        let lost = t.lost_needs + t.unmet_needs;
        canvas.line((plot.x0, y), (plot.x1, y), 1.0, GRID);
        canvas.line((scale.at(1.0), y), (scale.at(*value), y), 3.0, if lost > 0 { VERMILLION } else { BLUE });
        let (mark, colour) = match lost {
            0 if is_comparable(t) => (Mark::Disc, BLUE),
            0 => (Mark::Diamond, BLUE),
            _ => (Mark::Triangle, VERMILLION),
        };
        canvas.mark(mark, scale.at(*value), y, 9.0, colour, Some((1.5, WHITE)));
        canvas.text(&fit(&row.knobs.policy, SMALL, 310.0), (plot.x0 - 14.0, y), Align::End, SMALL, INK);
        for (i, n) in [t.refetches, lost, t.clear_events].into_iter().enumerate() {
            canvas.text(&short(n as f64, 3), (column(i), y), Align::End, SMALL, INK);
        }
        let trap = view.traps.get(*at).copied().flatten().map_or("", Trap::name);
        canvas.text(trap, (column(3), y), Align::Start, SMALL, VERMILLION);
    }
    canvas
}

const MATRIX: &str = "Which policy for which workload";

pub(super) fn draw_matrix(view: &MatrixView) -> Canvas {
    if view.policies.is_empty() || view.workloads.is_empty() {
        return empty_page(MATRIX, view.title, "There is nothing to show.");
    }
    let scale = CostScale::new(view.cells.iter().flatten().map(|cell| cell.map(|(ratio, _)| ratio)));
    let cell_height = 40.0;
    let height = 270.0 + cell_height * view.policies.len() as f64;
    let mut canvas = Canvas::new(WIDTH, height as u32);
    let sub = [
        view.title.to_owned(),
        "cost against not clearing, each policy at its defaults; a star: needs lost or unmet, which are not priced".to_owned(),
    ];
    let y = heading(&mut canvas, MATRIX, &sub);
    let left = MARGIN + 330.0;
    let right = RIGHT - 190.0;
    let cell_width = (right - left) / view.workloads.len() as f64;
    let top = y + 60.0;
    for (i, name) in view.workloads.iter().enumerate() {
        let (first, second) = name.split_once('_').map_or((*name, ""), |(a, b)| (a, b));
        let x = left + cell_width * (i as f64 + 0.5);
        canvas.text(&fit(first, SMALL, cell_width - 6.0), (x, top - 38.0), Align::Middle, SMALL, INK);
        canvas.text(&fit(second, SMALL, cell_width - 6.0), (x, top - 14.0), Align::Middle, SMALL, INK);
    }
    for (row, (policy, cells)) in view.policies.iter().zip(view.cells).enumerate() {
        let y = top + cell_height * row as f64;
        let strong = matches!(policy.split(' ').next(), Some("none" | "oracle" | "bound"));
        let font = if strong { STRONG } else { SMALL };
        canvas.text(&fit(policy, font, 310.0), (left - 14.0, y + cell_height / 2.0), Align::End, font, INK);
        for (i, cell) in cells.iter().enumerate() {
            let field = Rect::new(left + cell_width * i as f64, y, left + cell_width * (i + 1) as f64 - 2.0, y + cell_height - 2.0);
            let ground = cell.map_or(ABSENT, |(ratio, _)| scale.colour(Some(ratio)));
            canvas.fill(field, ground);
            if let Some((value, lossless)) = cell {
                let words = format!("{}{}", ratio(*value), if *lossless { "" } else { " *" });
                let middle = (f64::midpoint(field.x0, field.x1), f64::midpoint(field.y0, field.y1));
                canvas.text(&words, middle, Align::Middle, SMALL, text_on(ground));
            }
        }
    }
    colour_bar(&mut canvas, RIGHT - 140.0, top + 60.0, (top + cell_height * view.policies.len() as f64).min(top + 700.0), &scale);
    canvas
}
