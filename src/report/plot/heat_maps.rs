//! Figure 2: cost against `none` over trigger and keep, one panel a `clear_at_least`.

use super::SweepView;
use super::canvas::{Align, Canvas, Font, Mark};
use super::colour::{ABSENT, AXIS, BLACK, CostScale, INK, UNDEFINED, WHITE, text_on};
use super::frame::{Key, MARGIN, RIGHT, SMALL, STRONG, TEXT, WIDTH, colour_bar, config_words, empty_page, heading, legend, ratio, thinned};
use super::labels::{Rect, fit};
use super::scale::{pick, short, short_all};
use super::slice::{Slice, slice, unit};
use crate::sweep::ConfigRow;

const HEADING: &str = "Cost over trigger and keep, one panel for each clear_at_least";
/// More panels than this would be too small to read.
const MOST_PANELS: usize = 12;
/// More numbers than this are a wall.
const MOST_NUMBERS: usize = 260;

/// Where panels and cells lie.
struct Layout {
    columns: usize,
    left: f64,
    top: f64,
    /// From one panel to the next.
    pitch: (f64, f64),
    cell: (f64, f64),
    panel: (f64, f64),
}

impl Layout {
    fn panel(&self, i: usize) -> Rect {
        let (x, y) = (self.left + self.pitch.0 * (i % self.columns) as f64, self.top + self.pitch.1 * (i / self.columns) as f64);
        Rect::new(x, y, x + self.panel.0, y + self.panel.1)
    }

    /// Edges are rounded to whole pixels, so that no gap shows between cells.
    fn cell(&self, panel: Rect, column: usize, row: usize) -> Rect {
        let (w, h) = self.cell;
        let x = |i: usize| (panel.x0 + w * i as f64).round();
        let y = |i: usize| (panel.y1 - h * i as f64).round();
        Rect::new(x(column), y(row + 1), x(column + 1), y(row))
    }
}

pub(super) fn draw(view: &SweepView) -> Canvas {
    let Some(s) = slice(view) else {
        return empty_page(HEADING, view.title, "No config of this sweep clears anything: there is no cost map to show.");
    };
    let must = s.chosen.and_then(|c| s.clear_at_leasts.iter().position(|v| *v == c.0));
    let shown = pick(s.clear_at_leasts.len(), MOST_PANELS, must);
    let scale = CostScale::new(s.cells.values().map(|r| r.derived.cost_vs_none));

    let mut lines = vec![view.title.to_owned()];
    if let Some(chosen) = view.chosen() {
        lines.push(format!("chosen: {}", config_words(&view.rows[chosen].knobs).join(" \u{b7} ")));
    }
    lines.push(s.note.clone());
    if shown.len() < s.clear_at_leasts.len() {
        lines.push(format!("{} of {} values of clear_at_least, evenly picked; all are in sweep.csv", shown.len(), s.clear_at_leasts.len()));
    }
    lines.extend(view.costs_around());

    let columns = match shown.len() {
        n @ 0..=3 => n.max(1),
        4 => 2,
        5 | 6 | 9 => 3,
        _ => 4,
    };
    let panel_rows = shown.len().div_ceil(columns);
    let most_height = [620.0, 400.0, 300.0][panel_rows.min(3) - 1];
    let triggers = short_all(&s.triggers);
    let keeps: Vec<String> = s.keeps.iter().map(u32::to_string).collect();
    let wide = |names: &[String]| names.iter().map(|n| SMALL.width(n)).fold(0.0, f64::max);
    let left = MARGIN + 44.0 + wide(&keeps) + 12.0;
    // Labels of neighbouring panels hang over their edges by half their width at most.
    let gap = wide(&triggers).max(24.0) + 20.0;
    let room = (RIGHT - 200.0 - left - gap * (columns - 1) as f64) / columns as f64;
    let cell =
        ((room / s.triggers.len() as f64).min(if columns == 1 { 150.0 } else { room }), (most_height / s.keeps.len() as f64).min(100.0));
    let panel = (cell.0 * s.triggers.len() as f64, cell.1 * s.keeps.len() as f64);
    let pitch = (room + gap, panel.1 + 44.0 + 56.0);

    // The heading's height decides the page's: measured on a page that is thrown away.
    let above = |canvas: &mut Canvas| {
        let y = heading(canvas, HEADING, &lines);
        legend(canvas, (MARGIN, RIGHT), y, &legend_items(&s, cell)) + 56.0
    };
    let top = above(&mut Canvas::new(WIDTH, 1));
    // The colour bar needs its height, however few the cells are.
    let below = (top + pitch.1 * panel_rows as f64 + 50.0).max(top + 460.0);
    let mut canvas = Canvas::new(WIDTH, below.ceil() as u32);
    above(&mut canvas);

    let layout = Layout { columns, left, top, pitch, cell, panel };
    let numbers = number_font(&s, cell, shown.len());
    let titles = titles(&s, &shown, pitch.0 - 16.0);
    for (i, &value) in shown.iter().enumerate() {
        let panel = layout.panel(i);
        canvas.text(&titles[i], (panel.x0, panel.y0 - 22.0), Align::Start, STRONG, INK);
        draw_panel(&mut canvas, &s, &layout, i, s.clear_at_leasts[value], &scale, numbers);
        axis_labels(&mut canvas, &layout, i, &triggers, &keeps);
    }
    let last = layout.panel((panel_rows - 1) * columns);
    let used = if columns == 1 { panel.0 } else { pitch.0 * (columns - 1) as f64 + panel.0 };
    let name = fit(&format!("trigger ({})", unit(s.trigger_type)), TEXT, RIGHT - left);
    let half = TEXT.width(&name) / 2.0;
    canvas.text(&name, ((left + used / 2.0).max(MARGIN + half), last.y1 + 62.0), Align::Middle, TEXT, INK);
    let height = pitch.1 * (panel_rows - 1) as f64 + panel.1;
    let name = "keep (tool uses)";
    let half = TEXT.width(name) / 2.0;
    canvas.text_up(name, (MARGIN + 12.0, (top + height / 2.0).max(top - 40.0 + half)), TEXT, INK);
    colour_bar(&mut canvas, RIGHT - 158.0, top + 30.0, (top + height.clamp(400.0, 640.0)).min(below - 30.0), &scale);
    canvas
}

fn legend_items(s: &Slice, cell: (f64, f64)) -> Vec<(Key, String)> {
    let mut items = Vec::new();
    if s.chosen.is_some() {
        items.push((Key::Outline(4.0, BLACK), "chosen".to_owned()));
    }
    if s.cells.values().any(|r| misses(r)) && corner(cell).is_some() {
        items.push((Key::Mark(Mark::Triangle, 7.0, BLACK, None), "some needs lost or unmet".to_owned()));
    }
    if s.cells.values().any(|r| r.derived.cost_vs_none.is_none_or(|c| !c.is_finite())) {
        items.push((Key::Swatch(UNDEFINED), "cost ratio not defined".to_owned()));
    }
    if s.cells.len() < s.triggers.len() * s.keeps.len() * s.clear_at_leasts.len() {
        items.push((Key::Swatch(ABSENT), "not in the sweep".to_owned()));
    }
    items
}

fn misses(row: &ConfigRow) -> bool {
    row.totals.lost_needs + row.totals.unmet_needs > 0
}

/// Radius of the triangle in a cell's corner; `None`: the cell is too small for one.
fn corner(cell: (f64, f64)) -> Option<f64> {
    let least = cell.0.min(cell.1);
    (least >= 12.0).then(|| (least * 0.12).clamp(2.5, 6.0))
}

/// The font of the numbers in the cells, if they fit and are no wall.
fn number_font(s: &Slice, cell: (f64, f64), panels: usize) -> Option<Font> {
    if panels * s.triggers.len() * s.keeps.len() > MOST_NUMBERS {
        return None;
    }
    [20.0, 18.0, 16.0].into_iter().map(Font::regular).find(|font| {
        let widest = s.cells.values().map(|r| font.width(&number(r))).fold(0.0, f64::max);
        widest + 12.0 <= cell.0 && font.height() + 12.0 <= cell.1
    })
}

fn number(row: &ConfigRow) -> String {
    row.derived.cost_vs_none.map_or_else(|| "n/a".to_owned(), ratio)
}

fn draw_panel(canvas: &mut Canvas, s: &Slice, layout: &Layout, i: usize, value: u64, scale: &CostScale, numbers: Option<Font>) {
    let panel = layout.panel(i);
    canvas.fill(panel, ABSENT);
    for (column, &trigger) in s.triggers.iter().enumerate() {
        for (row, &keep) in s.keeps.iter().enumerate() {
            let Some(config) = s.cells.get(&(value, keep, trigger)) else { continue };
            let cell = layout.cell(panel, column, row);
            let cost = config.derived.cost_vs_none.filter(|c| c.is_finite());
            let colour = scale.colour(cost);
            canvas.fill(cell, colour);
            if let Some(font) = numbers {
                let middle = (f64::midpoint(cell.x0, cell.x1), f64::midpoint(cell.y0, cell.y1));
                canvas.text(&number(config), middle, Align::Middle, font, text_on(colour));
            }
            if let Some(r) = corner(layout.cell).filter(|_| misses(config)) {
                let inset = r + (layout.cell.0.min(layout.cell.1) * 0.07).max(2.0);
                canvas.mark(Mark::Triangle, cell.x1 - inset, cell.y0 + inset + 1.0, r, text_on(colour), None);
            }
        }
    }
    canvas.frame(panel.grow(1.0), 1.0, AXIS);
    if let Some((_, keep, trigger)) = s.chosen.filter(|c| c.0 == value) {
        let at = |v: Option<usize>| v.unwrap_or(0);
        let (column, row) = (at(s.triggers.iter().position(|t| *t == trigger)), at(s.keeps.iter().position(|k| *k == keep)));
        let cell = layout.cell(panel, column, row);
        // A cell of a pixel or two is framed from outside.
        let outer = cell.grow(if layout.cell.0.min(layout.cell.1) < 16.0 { 6.0 } else { 2.0 });
        canvas.frame(outer.grow(1.5), 1.5, WHITE);
        canvas.frame(outer, 3.5, BLACK);
        canvas.frame(outer.grow(-3.5), 1.0, WHITE);
    }
}

/// What stands above each panel: its `clear_at_least` and, where there is room in all of them, the lowest cost.
fn titles(s: &Slice, shown: &[usize], room: f64) -> Vec<String> {
    let name = |i: usize| format!("clear_at_least {}", short(s.clear_at_leasts[i] as f64, 4));
    let full = |i: usize| {
        let value = s.clear_at_leasts[i];
        let costs = s.cells.range((value, 0, 0)..=(value, u32::MAX, u64::MAX)).filter_map(|(_, r)| r.derived.cost_vs_none);
        let lowest = costs.filter(|c| c.is_finite()).fold(f64::INFINITY, f64::min);
        if lowest.is_finite() { format!("{} \u{b7} lowest {}", name(i), ratio(lowest)) } else { name(i) }
    };
    let long: Vec<String> = shown.iter().map(|&i| full(i)).collect();
    if long.iter().all(|t| STRONG.width(t) <= room) { long } else { shown.iter().map(|&i| fit(&name(i), STRONG, room)).collect() }
}

fn axis_labels(canvas: &mut Canvas, layout: &Layout, i: usize, triggers: &[String], keeps: &[String]) {
    let panel = layout.panel(i);
    let extent = triggers.iter().map(|n| SMALL.width(n)).fold(0.0, f64::max);
    for column in thinned(triggers.len(), extent, layout.cell.0, 14.0) {
        let x = panel.x0 + layout.cell.0 * (column as f64 + 0.5);
        canvas.text(&triggers[column], (x, panel.y1 + 24.0), Align::Middle, SMALL, INK);
    }
    if i.is_multiple_of(layout.columns) {
        for row in thinned(keeps.len(), SMALL.height(), layout.cell.1, 2.0) {
            let y = panel.y1 - layout.cell.1 * (row as f64 + 0.5);
            canvas.text(&keeps[row], (panel.x0 - 10.0, y), Align::End, SMALL, INK);
        }
    }
}
