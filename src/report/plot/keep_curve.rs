//! Figure 5: what every `keep` would cut off, by needs and by results.

use super::ProfileView;
use super::canvas::{Align, Canvas, Mark};
use super::colour::{INK, LINES, MUTED, Rgb, WHITE};
use super::frame::{Key, MARGIN, RIGHT, STRONG, WIDTH, count_words, empty_page, heading, legend, numeric_ticks, x_axis, y_axis};
use super::labels::{Rect, fit};
use super::profile::{lines, needed_tools, share_words, steps, subject};
use super::scale::{Scale, Spread};
use crate::profile::KeepCurve;

const HEADING: &str = "Keep curve: what every keep would cut off";
const HEIGHT: u32 = 920;
const MEASURED_AT: [f64; 7] = [0.0, 1.0, 3.0, 5.0, 10.0, 20.0, 50.0];
/// Share of results last quoted more than so many uses back, measured on 5 public research sessions and on 11 of coding agents.
const MEASURED: [(&str, Mark, [f64; 7]); 2] = [
    ("measured: 5 public research sessions", Mark::Diamond, [0.18, 0.17, 0.17, 0.16, 0.14, 0.13, 0.08]),
    ("measured: 11 public coding sessions", Mark::Square, [0.22, 0.17, 0.13, 0.12, 0.08, 0.05, 0.01]),
];

/// From and to which pixel, heading, name of the axis, points of a curve.
type Panel<'p> = (f64, f64, &'p str, &'p str, &'p dyn Fn(&Curve) -> Vec<(f64, f64)>);

struct Curve<'a> {
    name: String,
    of: &'a KeepCurve,
    width: f64,
    colour: Rgb,
}

pub(super) fn draw(view: &ProfileView) -> Canvas {
    let sources = lines(view, true);
    let mut curves: Vec<Curve> = Vec::new();
    if let [one] = sources.as_slice() {
        for (i, (name, curve)) in needed_tools(view, one.profile).into_iter().enumerate() {
            curves.push(Curve { name: name.to_owned(), of: curve, width: 3.0, colour: LINES[i] });
        }
    }
    // Last, so that it lies on top.
    for line in &sources {
        let name = if sources.len() == 1 { "all tools".to_owned() } else { line.name.to_owned() };
        curves.push(Curve { name, of: &line.profile.keep_curve, width: if sources.len() == 1 { 6.0 } else { 5.0 }, colour: line.colour });
    }
    if curves.iter().all(|c| c.of.needs() == 0) {
        return empty_page(HEADING, &subject(view), "No result is needed again, so no keep cuts anything off.");
    }
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let note = "uses back: 1 is the newest tool use of the prompt; keep = k holds the newest k";
    let y = heading(&mut canvas, HEADING, &[subject(view), note.to_owned()]);
    let mut items: Vec<(Key, String)> = curves.iter().rev().map(|c| (Key::Line(c.width, c.colour), c.name.clone())).collect();
    items.extend(MEASURED.iter().map(|(name, mark, _)| (Key::Mark(*mark, 8.0, WHITE, Some((2.5, MUTED))), (*name).to_owned())));
    let top = legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 54.0;
    let bottom = f64::from(HEIGHT) - 92.0;

    let reach = curves.iter().map(|c| c.of.reach() as f64).fold(50.0, f64::max);
    let middle = f64::from(WIDTH) / 2.0;
    let results = |c: &Curve| c.of.steps().iter().map(|s| (s.keep as f64, s.results_cut_off)).collect::<Vec<_>>();
    let needs = |c: &Curve| c.of.steps().iter().map(|s| (s.keep as f64, s.needs_cut_off)).collect::<Vec<_>>();
    let panels: [Panel; 2] = [
        (MARGIN, middle - 20.0, "Results last needed more than k uses back", "share of results", &results),
        (middle + 20.0, RIGHT, "Needs more than k uses back", "share of needs", &needs),
    ];
    for (i, (from, to, title, name, points)) in panels.into_iter().enumerate() {
        let plot = Rect::new(from + 122.0, top, to - 12.0, bottom);
        let measured = MEASURED.iter().flat_map(|m| m.2).filter(|_| i == 0);
        let values = curves.iter().flat_map(|c| points(c).into_iter().map(|p| p.1)).chain(measured);
        let y_scale = Scale::over(values, Spread::Linear, 0.04, bottom, top);
        let x_scale = Scale::over([reach].into_iter(), Spread::Log { unit: 1.0 }, 0.02, plot.x0, plot.x1);
        canvas.text(&fit(title, STRONG, to - from), (from, top - 26.0), Align::Start, STRONG, INK);
        x_axis(&mut canvas, plot, &x_scale, &numeric_ticks(&x_scale, true, true, count_words), "keep = k (tool uses, log scale)", true);
        y_axis(&mut canvas, plot, &y_scale, &numeric_ticks(&y_scale, false, false, share_words), name, from + 12.0);
        for curve in curves.iter().filter(|c| c.of.needs() > 0) {
            steps(&mut canvas, &points(curve), reach, (&x_scale, &y_scale), curve.width, curve.colour);
        }
        if i == 0 {
            for (_, mark, shares) in &MEASURED {
                for (k, share) in MEASURED_AT.iter().zip(shares) {
                    canvas.mark(*mark, x_scale.at(*k), y_scale.at(*share), 8.0, WHITE, Some((2.5, MUTED)));
                }
            }
        }
    }
    canvas
}
