//! Figure 7: how prompts grow, request by request.

use super::ProfileView;
use super::canvas::Canvas;
use super::frame::{Key, MARGIN, RIGHT, WIDTH, count_words, empty_page, heading, legend, numeric_ticks, widest, x_axis, y_axis};
use super::labels::Rect;
use super::profile::{Line, lines, pale, subject};
use super::scale::{Scale, Spread, pick, thousands};

const HEADING: &str = "Growth: prompt size without clearing, request by request";
/// More transcripts than this are a block of colour.
const MOST_PATHS: usize = 120;
const HEIGHT: u32 = 900;

pub(super) fn draw(view: &ProfileView) -> Canvas {
    let sources = lines(view, false);
    let most = MOST_PATHS / sources.len().max(1);
    let paths = |line: &Line| line.profile.paths.iter().filter(|p| !p.is_empty()).count();
    if sources.iter().all(|line| paths(line) == 0) {
        return empty_page(HEADING, &subject(view), "There is no request: nothing was sent.");
    }
    let mut sub = vec![subject(view), "bold: the median of those still running, while at least half of the transcripts are".to_owned()];
    if sources.iter().any(|line| paths(line) > most) {
        sub.push(format!("{} transcripts a source are drawn, evenly picked; the median is of all", thousands(most)));
    }
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let y = heading(&mut canvas, HEADING, &sub);
    let items: Vec<(Key, String)> = sources.iter().map(|line| (Key::Line(5.0, line.colour), line.name.to_owned())).collect();
    let top = if sources.len() > 1 { legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 16.0 } else { y + 16.0 };
    let bottom = f64::from(HEIGHT) - 92.0;
    let sizes = sources.iter().flat_map(|line| line.profile.paths.iter().filter_map(|p| p.last()).map(|&n| n as f64));
    let y_scale = Scale::over(sizes, Spread::Linear, 0.04, bottom, top);
    let y_ticks = numeric_ticks(&y_scale, false, true, count_words);
    let plot = Rect::new(MARGIN + 48.0 + widest(&y_ticks), top, RIGHT - 20.0, bottom);
    let longest = sources.iter().flat_map(|line| line.profile.paths.iter().map(Vec::len)).max().unwrap_or(1);
    let x_scale = Scale::over([longest as f64].into_iter(), Spread::Linear, 0.0, plot.x0, plot.x1);
    let x_ticks = numeric_ticks(&x_scale, true, true, count_words).into_iter().filter(|t| t.0 < longest as f64).collect();
    x_axis(&mut canvas, plot, &x_scale, &x_ticks, "request (0 is the first)", false);
    y_axis(&mut canvas, plot, &y_scale, &y_ticks, "prompt (tokens)", MARGIN + 12.0);
    let at = |i: usize, size: u64| (x_scale.at(i as f64 + 0.5), y_scale.at(size as f64));
    let mut stroke = |path: &[u64], width: f64, colour| match path {
        [one] => canvas.disc(at(0, *one).0, at(0, *one).1, width, colour),
        path => canvas.path(&path.iter().enumerate().map(|(i, &size)| at(i, size)).collect::<Vec<_>>(), width, colour),
    };
    for line in &sources {
        let all: Vec<&Vec<u64>> = line.profile.paths.iter().filter(|p| !p.is_empty()).collect();
        for i in pick(all.len(), most, None) {
            stroke(all[i], 1.5, pale(line.colour, if all.len() > 20 { 0.25 } else { 0.45 }));
        }
    }
    for line in &sources {
        stroke(&median(&line.profile.paths), 5.0, line.colour);
    }
    canvas
}

/// The median prompt of those transcripts that have such a request, as long as at least half of them do.
fn median(paths: &[Vec<u64>]) -> Vec<u64> {
    let all = paths.iter().filter(|p| !p.is_empty()).count();
    (0..)
        .map_while(|i| {
            let mut sizes: Vec<u64> = paths.iter().filter_map(|p| p.get(i).copied()).collect();
            sizes.sort_unstable();
            (!sizes.is_empty() && sizes.len() * 2 >= all).then(|| sizes[(sizes.len() - 1) / 2])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ends_where_fewer_than_half_are_left() {
        let paths = vec![vec![1, 5, 9, 10], vec![2, 6, 8], vec![3, 7], vec![4], Vec::new()];
        assert_eq!(median(&paths), [2, 6, 8]);
        assert_eq!(median(&[]), [0; 0]);
    }
}
