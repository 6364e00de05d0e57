//! Where text may stand: boxes, line breaking, and labels of points that cover neither each other nor the marks.

use super::canvas::Font;

/// A box on the page: left, top, right, bottom in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) x0: f64,
    pub(super) y0: f64,
    pub(super) x1: f64,
    pub(super) y1: f64,
}

impl Rect {
    pub(super) const fn new(x0: f64, y0: f64, x1: f64, y1: f64) -> Self {
        Self { x0, y0, x1, y1 }
    }

    pub(super) fn width(self) -> f64 {
        self.x1 - self.x0
    }

    pub(super) fn height(self) -> f64 {
        self.y1 - self.y0
    }

    /// With a margin on each side.
    pub(super) fn grow(self, by: f64) -> Self {
        Self::new(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)
    }

    /// The part inside `other`.
    pub(super) fn clip(self, other: Self) -> Self {
        Self::new(self.x0.max(other.x0), self.y0.max(other.y0), self.x1.min(other.x1), self.y1.min(other.y1))
    }

    /// Whether `other` lies inside.
    pub(super) fn holds(self, other: Self) -> bool {
        other.x0 >= self.x0 && other.y0 >= self.y0 && other.x1 <= self.x1 && other.y1 <= self.y1
    }

    /// Whether the insides overlap.
    pub(super) fn meets(self, other: Self) -> bool {
        self.x0 < other.x1 && other.x0 < self.x1 && self.y0 < other.y1 && other.y0 < self.y1
    }

    pub(super) fn has(self, (x, y): (f64, f64)) -> bool {
        x >= self.x0 && x <= self.x1 && y >= self.y0 && y <= self.y1
    }

    /// The point of the box that is nearest to a point.
    pub(super) fn nearest(self, (x, y): (f64, f64)) -> (f64, f64) {
        (x.clamp(self.x0, self.x1), y.clamp(self.y0, self.y1))
    }

    /// Whether a straight line touches the box (Liang and Barsky's clipping).
    pub(super) fn crossed_by(self, from: (f64, f64), to: (f64, f64)) -> bool {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (p, q) in [(-dx, from.0 - self.x0), (dx, self.x1 - from.0), (-dy, from.1 - self.y0), (dy, self.y1 - from.1)] {
            if p == 0.0 {
                if q < 0.0 {
                    return false;
                }
            } else if p < 0.0 {
                enter = enter.max(q / p);
            } else {
                leave = leave.min(q / p);
            }
        }
        enter <= leave
    }
}

/// A point that gets a label.
pub(super) struct Anchor {
    pub(super) at: (f64, f64),
    /// Keep this far from the point: the radius of its mark and a gap.
    pub(super) clear: f64,
    /// Width and height of the label.
    pub(super) size: (f64, f64),
}

/// Boxes of labels, one an anchor, in order; `None`: there is no room for it.
///
/// Labels lie inside `area`, meet neither each other nor any anchor's mark, no leader line (from the anchor to the nearest point of its label)
/// passes through a label or another anchor's mark, and no two of them cross. Among such places the one that covers the fewest `points` (discs of a `radius`) wins,
/// then the nearest.
pub(super) fn place(area: Rect, anchors: &[Anchor], points: &[(f64, f64)], radius: f64) -> Vec<Option<Rect>> {
    let choices: Vec<Vec<Rect>> = (0..anchors.len()).map(|i| choices(area, anchors, i, points, radius)).collect();
    let mut search = Search { anchors, choices: &choices, budget: 100_000, placed: Vec::new(), best: Vec::new() };
    search.place_next();
    search.best
}

/// The boxes that anchor `i` might have if it were alone, best first.
fn choices(area: Rect, anchors: &[Anchor], i: usize, points: &[(f64, f64)], radius: f64) -> Vec<Rect> {
    let mark = |a: &Anchor| Rect::new(a.at.0, a.at.1, a.at.0, a.at.1).grow(a.clear);
    let anchor = &anchors[i];
    let mut found: Vec<(usize, Rect)> = Vec::new();
    for corner in candidates(area, anchor) {
        let rect = Rect::new(corner.0, corner.1, corner.0 + anchor.size.0, corner.1 + anchor.size.1);
        let leader = rect.nearest(anchor.at);
        // Marks of anchors at the same place are one mark.
        let mut others = anchors.iter().filter(|a| a.at != anchor.at);
        if !area.holds(rect)
            || anchors.iter().any(|a| mark(a).meets(rect))
            || others.any(|a| mark(a).crossed_by(anchor.at, leader) && !mark(a).has(anchor.at))
        {
            continue;
        }
        let (dx, dy) = (leader.0 - anchor.at.0, leader.1 - anchor.at.1);
        let ground = rect.grow(radius + 2.0);
        let covered = points.iter().filter(|p| ground.has(**p)).count();
        // A short walk is worth taking to cover less; a long one only for much.
        found.push((covered * 120 + (dx * dx + dy * dy).sqrt() as usize, rect));
    }
    found.sort_by_key(|(score, _)| *score);
    found.into_iter().map(|(_, rect)| rect).collect()
}

/// Tries boxes in their order, anchor by anchor, and takes one back where it leaves no room for a later label.
struct Search<'a> {
    anchors: &'a [Anchor],
    choices: &'a [Vec<Rect>],
    /// Boxes still to be tried, so that a hopeless page ends too.
    budget: usize,
    placed: Vec<Option<Rect>>,
    /// The placement with the most labels so far.
    best: Vec<Option<Rect>>,
}

impl Search<'_> {
    /// Places the next label and those after it; whether all of them found room.
    fn place_next(&mut self) -> bool {
        let i = self.placed.len();
        let labels = |placed: &[Option<Rect>]| placed.iter().flatten().count();
        if i == self.anchors.len() {
            if self.best.is_empty() || labels(&self.placed) > labels(&self.best) {
                self.best.clone_from(&self.placed);
            }
            return labels(&self.placed) == i;
        }
        let choices = self.choices;
        for &rect in &choices[i] {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            if self.free(i, rect) {
                self.placed.push(Some(rect));
                if self.place_next() {
                    return true;
                }
                self.placed.pop();
            }
        }
        self.placed.push(None);
        self.place_next();
        self.placed.pop();
        false
    }

    /// Whether a box and its leader line keep out of the way of those already placed.
    fn free(&self, i: usize, rect: Rect) -> bool {
        let at = self.anchors[i].at;
        let leader = rect.nearest(at);
        self.placed.iter().zip(self.anchors).all(|(other, anchor)| {
            other.is_none_or(|other| {
                let end = other.nearest(anchor.at);
                !other.grow(4.0).meets(rect)
                    && !other.crossed_by(at, leader)
                    && !rect.crossed_by(anchor.at, end)
                    && !cross(at, leader, anchor.at, end)
            })
        })
    }
}

/// Left upper corners to try: around the anchor at growing distances, then a grid over the whole area.
fn candidates(area: Rect, anchor: &Anchor) -> Vec<(f64, f64)> {
    let ((x, y), (width, height)) = (anchor.at, anchor.size);
    let mut out = Vec::new();
    for step in 0..10 {
        let off = anchor.clear + 2.0 + 22.0 * f64::from(step);
        let lefts = [x + off, x - off - width, x - width / 2.0, x, x - width];
        let tops = [y - off - height, y + off, y - height / 2.0, y, y - height];
        out.extend(lefts.iter().flat_map(|&left| tops.iter().map(move |&top| (left, top))));
        // Beside the edge of the area a label may slide along it.
        out.extend(tops.iter().flat_map(|&top| [(area.x0, top), (area.x1 - width, top)]));
        out.extend(lefts.iter().flat_map(|&left| [(left, area.y0), (left, area.y1 - height)]));
    }
    let (across, down) = ((area.width() - width).max(0.0), (area.height() - height).max(0.0));
    for i in 0..=20 {
        out.extend((0..=20).map(|j| (area.x0 + across * f64::from(i) / 20.0, area.y0 + down * f64::from(j) / 20.0)));
    }
    out
}

/// Whether two straight lines cross.
fn cross(a: (f64, f64), b: (f64, f64), c: (f64, f64), d: (f64, f64)) -> bool {
    let side = |p: (f64, f64), q: (f64, f64), r: (f64, f64)| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// `text` on one line of at most `width` pixels, its end replaced by an ellipsis if it is longer. Control characters become spaces.
pub(super) fn fit(text: &str, font: Font, width: f64) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if font.width(&text) <= width {
        return text;
    }
    let ends: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
    let shown = |i: usize| format!("{}\u{2026}", text[..i].trim_end());
    // Widths grow with the text, so the longest that fits can be found by halving.
    let fits = ends.partition_point(|&i| font.width(&shown(i)) <= width);
    if fits == 0 { String::new() } else { shown(ends[fits - 1]) }
}

/// `text` broken at spaces into at most `lines` lines of `width` pixels; what does not fit ends in an ellipsis.
pub(super) fn wrap(text: &str, font: Font, width: f64, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut i = 0;
    while i < words.len() {
        let mut line = words[i].to_owned();
        i += 1;
        if out.len() + 1 == lines {
            line = std::iter::once(line.as_str()).chain(words[i..].iter().copied()).collect::<Vec<_>>().join(" ");
            i = words.len();
        }
        while i < words.len() && font.width(&format!("{line} {}", words[i])) <= width {
            line = format!("{line} {}", words[i]);
            i += 1;
        }
        out.push(fit(&line, font, width));
    }
    out
}

/// Centres moved as little as it takes for boxes of one `height` to lie apart and within `low..high`; the order stays.
pub(super) fn spread_out(centres: &[f64], height: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..centres.len()).collect();
    order.sort_by(|&a, &b| centres[a].total_cmp(&centres[b]));
    let mut at: Vec<f64> = order.iter().map(|&i| centres[i].clamp(low + height / 2.0, high - height / 2.0)).collect();
    for i in 1..at.len() {
        at[i] = at[i].max(at[i - 1] + height);
    }
    let mut limit = high - height / 2.0;
    for y in at.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - height;
    }
    let mut out = vec![0.0; centres.len()];
    for (&i, &y) in order.iter().zip(&at) {
        out[i] = y;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AREA: Rect = Rect::new(100.0, 50.0, 1300.0, 850.0);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn labels_stay_inside_and_apart_wherever_the_points_are(
            spots in prop::collection::vec(((100.0..=1300.0_f64), (50.0..=850.0_f64), (40.0..620.0_f64), (20.0..90.0_f64)), 1..4),
            same in any::<bool>(),
            corner in prop::option::of((any::<bool>(), any::<bool>())),
            cloud in prop::collection::vec(((100.0..=1300.0_f64), (50.0..=850.0_f64)), 0..200),
        ) {
            let anchors: Vec<Anchor> = spots
                .iter()
                .map(|&(x, y, w, h)| {
                    let at = if same { (spots[0].0, spots[0].1) } else { (x, y) };
                    let at = corner.map_or(at, |(right, low)| (if right { 1300.0 } else { 100.0 }, if low { 850.0 } else { 50.0 }));
                    Anchor { at, clear: 16.0, size: (w, h) }
                })
                .collect();
            let placed = place(AREA, &anchors, &cloud, 5.0);
            prop_assert_eq!(placed.len(), anchors.len());
            if anchors.len() <= 2 {
                prop_assert!(placed.iter().all(Option::is_some), "two labels always have room");
            }
            let rects: Vec<Rect> = placed.iter().flatten().copied().collect();
            for (i, a) in rects.iter().enumerate() {
                prop_assert!(AREA.holds(*a));
                prop_assert!(rects[i + 1..].iter().all(|b| !a.meets(*b)));
                prop_assert!(anchors.iter().all(|p| !a.has(p.at)));
            }
            for (anchor, rect) in anchors.iter().zip(&placed) {
                let Some(rect) = rect else { continue };
                let end = rect.nearest(anchor.at);
                for other in rects.iter().filter(|r| *r != rect) {
                    prop_assert!(!other.crossed_by(anchor.at, end));
                }
            }
        }

        #[test]
        fn text_is_cut_to_the_width(text in ".{0,120}", width in 10.0..700.0_f64, lines in 1_usize..4) {
            let font = Font::regular(20.0);
            prop_assert!(font.width(&fit(&text, font, width)) <= width);
            let wrapped = wrap(&text, font, width, lines);
            prop_assert!(wrapped.len() <= lines);
            for line in wrapped {
                prop_assert!(font.width(&line) <= width);
            }
        }

        #[test]
        fn spread_centres_lie_apart_and_inside(centres in prop::collection::vec(-50.0..900.0_f64, 0..8)) {
            let out = spread_out(&centres, 30.0, 0.0, 800.0);
            let mut sorted = out.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted.windows(2).all(|w| w[1] - w[0] >= 30.0 - 1e-6));
            prop_assert!(sorted.iter().all(|y| (14.99..=785.01).contains(y)));
        }
    }

    #[test]
    fn a_point_alone_has_its_label_beside_it_and_one_in_a_crowd_does_not_cover_it() {
        let anchor = || Anchor { at: (600.0, 400.0), clear: 12.0, size: (200.0, 40.0) };
        let alone = place(AREA, &[anchor()], &[], 5.0)[0].unwrap();
        let end = alone.nearest((600.0, 400.0));
        assert!((end.0 - 600.0).hypot(end.1 - 400.0) < 25.0, "{alone:?}");
        let crowd: Vec<(f64, f64)> = (0..400).map(|i| (560.0 + f64::from(i % 20) * 4.0, 370.0 + f64::from(i / 20) * 3.0)).collect();
        let rect = place(AREA, &[anchor()], &crowd, 5.0)[0].unwrap();
        assert!(!crowd.iter().any(|p| rect.has(*p)), "{rect:?}");
    }

    #[test]
    fn the_first_label_gives_way_where_it_would_leave_no_room_for_the_second() {
        let anchor = |width| Anchor { at: (531.228_216_743_426_7, 53.690_458_751_036_98), clear: 16.0, size: (width, 20.0) };
        let placed = place(AREA, &[anchor(506.202_607_326_499_2), anchor(606.184_674_039_550_1)], &[], 5.0);
        assert!(placed.iter().all(Option::is_some), "{placed:?}");
    }

    #[test]
    fn a_label_larger_than_the_area_is_left_out_and_the_others_stay() {
        let anchor = |x, width| Anchor { at: (x, 400.0), clear: 16.0, size: (width, 20.0) };
        let placed = place(AREA, &[anchor(300.0, 5_000.0), anchor(600.0, 200.0)], &[], 5.0);
        assert!(placed[0].is_none() && placed[1].is_some(), "{placed:?}");
    }

    #[test]
    fn a_line_through_a_box_is_seen() {
        let r = Rect::new(10.0, 10.0, 20.0, 20.0);
        assert!(r.crossed_by((0.0, 15.0), (30.0, 15.0)));
        assert!(!r.crossed_by((0.0, 25.0), (30.0, 25.0)));
        assert!(!r.crossed_by((0.0, 0.0), (9.0, 9.0)));
    }
}
