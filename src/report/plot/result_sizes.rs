//! Figure 6: how large the results of each tool are.

use super::ProfileView;
use super::canvas::{Align, Canvas, Mark};
use super::colour::{BLUE, GRID, INK, MUTED, VERMILLION, WHITE};
use super::frame::{Key, MARGIN, RIGHT, SMALL, WIDTH, count_words, empty_page, heading, legend, numeric_ticks, x_axis};
use super::labels::{Rect, fit};
use super::profile::{lines, pale, share_words, subject};
use super::scale::{Scale, Spread, short};
use crate::profile::ToolProfile;

const HEADING: &str = "Result sizes, tool by tool";
const MOST_ROWS: usize = 16;
const PITCH: f64 = 46.0;

pub(super) fn draw(view: &ProfileView) -> Canvas {
    let sources = lines(view, false);
    let several = sources.len() > 1;
    let each = MOST_ROWS / sources.len().max(1);
    let mut rows: Vec<(String, &ToolProfile)> = Vec::new();
    let mut left_out = 0;
    for line in &sources {
        let tools: Vec<&ToolProfile> = line.profile.tools.iter().filter(|t| t.results.count > 0 && view.has(&t.name)).collect();
        left_out += tools.len().saturating_sub(each);
        let name = |t: &ToolProfile| if several { format!("{} \u{b7} {}", t.name, line.name) } else { t.name.clone() };
        rows.extend(tools.into_iter().take(each).map(|t| (name(t), t)));
    }
    if rows.is_empty() {
        return empty_page(HEADING, &subject(view), "There are no tool results.");
    }
    let mut sub = vec![subject(view)];
    if left_out > 0 {
        sub.push(format!("{left_out} further tools with the fewest result tokens are left out"));
    }
    let height = 300.0 + PITCH * rows.len() as f64;
    let mut canvas = Canvas::new(WIDTH, height as u32);
    let y = heading(&mut canvas, HEADING, &sub);
    let items = [
        (Key::Swatch(pale(BLUE, 0.45)), "p10 to p90".to_owned()),
        (Key::Mark(Mark::Disc, 8.0, BLUE, Some((2.0, WHITE))), "median".to_owned()),
        (Key::Mark(Mark::Diamond, 7.0, VERMILLION, None), "largest".to_owned()),
    ];
    let top = legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 40.0;
    let bottom = top + PITCH * rows.len() as f64;
    let names: Vec<String> = rows.iter().map(|(name, _)| fit(name, SMALL, 380.0)).collect();
    let left = MARGIN + 16.0 + names.iter().map(|n| SMALL.width(n)).fold(60.0, f64::max);
    let plot = Rect::new(left, top, RIGHT - 260.0, bottom);
    let sizes = rows.iter().map(|(_, t)| t.results.max as f64);
    let scale = Scale::over(sizes, Spread::Log { unit: 10.0 }, 0.03, plot.x0, plot.x1);
    x_axis(&mut canvas, plot, &scale, &numeric_ticks(&scale, true, true, count_words), "tokens of a result, log scale", true);
    let column = |i: usize| plot.x1 + 100.0 + 155.0 * i as f64;
    for (i, words) in ["results", "of all tokens"].iter().enumerate() {
        canvas.text(words, (column(i), top - 18.0), Align::End, SMALL, MUTED);
    }
    for (i, ((_, tool), name)) in rows.iter().zip(&names).enumerate() {
        let y = top + PITCH * (i as f64 + 0.5);
        let r = &tool.results;
        canvas.line((plot.x0, y), (plot.x1, y), 1.0, GRID);
        canvas.line((scale.at(r.p90 as f64), y), (scale.at(r.max as f64), y), 2.0, MUTED);
        let (from, to) = (scale.at(r.p10 as f64), scale.at(r.p90 as f64).max(scale.at(r.p10 as f64) + 2.0));
        canvas.fill(Rect::new(from, y - 12.0, to, y + 12.0), pale(BLUE, 0.45));
        canvas.mark(Mark::Diamond, scale.at(r.max as f64), y, 7.0, VERMILLION, None);
        canvas.mark(Mark::Disc, scale.at(r.p50 as f64), y, 8.0, BLUE, Some((2.0, WHITE)));
        canvas.text(name, (plot.x0 - 12.0, y), Align::End, SMALL, INK);
        canvas.text(&short(r.count as f64, 3), (column(0), y), Align::End, SMALL, INK);
        canvas.text(&share_words(tool.result_share, 0.0), (column(1), y), Align::End, SMALL, INK);
    }
    canvas
}
