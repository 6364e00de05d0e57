//! Figure 8: pauses between requests, against the lifetimes of cache entries.

use super::ProfileView;
use super::canvas::{Align, Canvas};
use super::colour::MUTED;
use super::frame::{Key, MARGIN, RIGHT, SMALL, Ticks, WIDTH, empty_page, heading, legend, numeric_ticks, widest, x_axis, y_axis};
use super::labels::Rect;
use super::profile::{lines, share_words, steps, subject};
use super::scale::{Scale, Spread};

const HEADING: &str = "Pauses between requests";
const HEIGHT: u32 = 820;
/// Lifetimes that are sold, in seconds.
const LIFETIMES: [(f64, &str); 2] = [(300.0, "5 min"), (3600.0, "1 h")];

pub(super) fn draw(view: &ProfileView) -> Canvas {
    let sources = lines(view, false);
    if sources.iter().all(|line| line.profile.gap_ms.is_empty()) {
        return empty_page(HEADING, &subject(view), "No time between two requests is known.");
    }
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let note = "dashed: lifetimes of cache entries; a longer pause finds nothing in the cache";
    let y = heading(&mut canvas, HEADING, &[subject(view), note.to_owned()]);
    let items: Vec<(Key, String)> = sources.iter().map(|line| (Key::Line(4.0, line.colour), line.name.to_owned())).collect();
    let top = if sources.len() > 1 { legend(&mut canvas, (MARGIN, RIGHT), y, &items) + 44.0 } else { y + 44.0 };
    let bottom = f64::from(HEIGHT) - 92.0;
    let y_scale = Scale::over([1.0].into_iter(), Spread::Log { unit: 0.001 }, 0.02, bottom, top);
    let y_ticks =
        numeric_ticks(&y_scale, false, false, |v, _| if v > 0.0 && v < 0.01 { share_words(v, 0.001) } else { share_words(v, 0.0) });
    let plot = Rect::new(MARGIN + 48.0 + widest(&y_ticks), top, RIGHT - 20.0, bottom);
    let longest = sources.iter().filter_map(|line| line.profile.gap_ms.last()).max().copied().unwrap_or(0) as f64 / 1000.0;
    let end = longest.max(4_000.0);
    let x_scale = Scale::over([end].into_iter(), Spread::Log { unit: 1.0 }, 0.01, plot.x0, plot.x1);
    x_axis(&mut canvas, plot, &x_scale, &pause_ticks(&x_scale, end), "pause, log scale", true);
    y_axis(&mut canvas, plot, &y_scale, &y_ticks, "share of pauses that are longer, log scale", MARGIN + 12.0);
    for (lifetime, words) in LIFETIMES {
        let x = x_scale.at(lifetime);
        let mut y = top;
        while y < bottom {
            canvas.line((x, y), (x, (y + 12.0).min(bottom)), 2.0, MUTED);
            y += 20.0;
        }
        canvas.text(words, (x, top - 18.0), Align::Middle, SMALL, MUTED);
    }
    for line in sources.iter().filter(|line| !line.profile.gap_ms.is_empty()) {
        let gaps = &line.profile.gap_ms;
        let mut points = vec![(0.0, 1.0 - gaps.partition_point(|&g| g == 0) as f64 / gaps.len() as f64)];
        for run in gaps.chunk_by(|a, b| a == b).filter(|run| run[0] > 0) {
            let beyond = gaps.len() - gaps.partition_point(|&g| g <= run[0]);
            points.push((run[0] as f64 / 1000.0, beyond as f64 / gaps.len() as f64));
        }
        let last = gaps.last().map_or(0.0, |&g| g as f64 / 1000.0);
        steps(&mut canvas, &points, last, (&x_scale, &y_scale), 4.0, line.colour);
    }
    canvas
}

/// Pauses as people count them, those that stand apart.
fn pause_ticks(scale: &Scale, end: f64) -> Ticks {
    const NAMED: [(f64, &str); 14] = [
        (0.0, "0"),
        (1.0, "1 s"),
        (3.0, "3 s"),
        (10.0, "10 s"),
        (30.0, "30 s"),
        (60.0, "1 min"),
        (180.0, "3 min"),
        (600.0, "10 min"),
        (1_800.0, "30 min"),
        (3_600.0, "1 h"),
        (21_600.0, "6 h"),
        (86_400.0, "1 day"),
        (864_000.0, "10 days"),
        (8_640_000.0, "100 days"),
    ];
    let mut ticks: Ticks = Vec::new();
    for (value, words) in NAMED.iter().filter(|t| t.0 <= end) {
        if ticks.last().is_none_or(|last| scale.at(*value) - scale.at(last.0) > 100.0) {
            ticks.push((*value, (*words).to_owned()));
        }
    }
    ticks
}
