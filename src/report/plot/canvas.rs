//! The page: shapes and text on an RGB buffer, and its PNG bytes.
//!
//! Coordinates are page pixels as `f64`, y downwards. Everything is drawn at twice the size and averaged, which smooths
//! every edge in the same way; the page remembers the box of each text, so that a test can say that none is clipped or covers another.

use std::sync::OnceLock;

use ab_glyph::{Font as _, FontRef, PxScale, ScaleFont as _, point};
use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::{RGBColor, ShapeStyle};

use super::PlotError;
use super::colour::Rgb;
use super::labels::Rect;

/// Pixels drawn for one pixel of the page, in each direction.
const FINE: u32 = 2;
/// From the baseline up to the top of the highest letter, and down to the lowest, in em (Latin with accents).
const ABOVE: f64 = 0.93;
const BELOW: f64 = 0.25;
/// Half the height of a capital letter, in em: text is centred on its capitals.
const HALF_CAPITAL: f64 = 0.357;

/// Weight of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// A font at one size, in pixels an em.
#[derive(Debug, Clone, Copy)]
pub(super) struct Font {
    pub(super) em: f64,
    pub(super) weight: Weight,
}

impl Font {
    pub(super) const fn regular(em: f64) -> Self {
        Self { em, weight: Weight::Regular }
    }

    pub(super) const fn bold(em: f64) -> Self {
        Self { em, weight: Weight::Bold }
    }

    /// The bundled font's outlines; `None`: it cannot be read.
    fn face(self) -> Option<&'static FontRef<'static>> {
        static FACES: OnceLock<Option<[FontRef<'static>; 2]>> = OnceLock::new();
        let faces = FACES.get_or_init(|| {
            let regular: &'static [u8] = include_bytes!("../../../assets/fonts/NotoSans-Regular.subset.ttf");
            let bold: &'static [u8] = include_bytes!("../../../assets/fonts/NotoSans-Bold.subset.ttf");
            Some([FontRef::try_from_slice(regular).ok()?, FontRef::try_from_slice(bold).ok()?])
        });
        faces.as_ref().map(|f| &f[usize::from(self.weight == Weight::Bold)])
    }

    /// Width of `text` in pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        let Some(face) = self.face() else { return 0.0 };
        let units = face.units_per_em().unwrap_or(1000.0);
        text.chars().map(|c| f64::from(face.h_advance_unscaled(face.glyph_id(c)) / units) * self.em).sum()
    }

    /// Height of a line of text in pixels.
    pub(super) fn height(self) -> f64 {
        self.em * (ABOVE + BELOW)
    }
}

/// Which end of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Start,
    Middle,
    End,
}

/// The form of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Disc,
    Square,
    Triangle,
    TriangleDown,
    Diamond,
    Cross,
}

/// A white page.
pub(super) struct Canvas {
    width: u32,
    height: u32,
    fine: Vec<u8>,
    /// Box of each text drawn.
    pub(super) texts: Vec<Rect>,
    failed: bool,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32) -> Self {
        let fine = vec![255; (width * FINE * height * FINE * 3) as usize];
        Self { width, height, fine, texts: Vec::new(), failed: false }
    }

    pub(super) fn bounds(&self) -> Rect {
        Rect::new(0.0, 0.0, f64::from(self.width), f64::from(self.height))
    }

    fn on(&mut self, draw: impl FnOnce(&mut BitMapBackend) -> bool) {
        let size = (self.width * FINE, self.height * FINE);
        let mut backend = BitMapBackend::with_buffer(&mut self.fine, size);
        if !draw(&mut backend) {
            self.failed = true;
        }
    }

    /// A filled rectangle.
    pub(super) fn fill(&mut self, rect: Rect, colour: Rgb) {
        let rect = rect.clip(self.bounds());
        let (x0, y0, x1, y1) = (fine(rect.x0), fine(rect.y0), fine(rect.x1), fine(rect.y1));
        if x0 < x1 && y0 < y1 {
            let stride = (self.width * FINE) as usize * 3;
            let row: Vec<u8> = [colour.0, colour.1, colour.2].repeat((x1 - x0) as usize);
            for y in y0..y1 {
                let start = y as usize * stride + x0 as usize * 3;
                self.fine[start..start + row.len()].copy_from_slice(&row);
            }
        }
    }

    /// The edge of a rectangle, `width` pixels wide, inside it.
    pub(super) fn frame(&mut self, r: Rect, width: f64, colour: Rgb) {
        for side in [
            Rect::new(r.x0, r.y0, r.x1, r.y0 + width),
            Rect::new(r.x0, r.y1 - width, r.x1, r.y1),
            Rect::new(r.x0, r.y0, r.x0 + width, r.y1),
            Rect::new(r.x1 - width, r.y0, r.x1, r.y1),
        ] {
            self.fill(side, colour);
        }
    }

    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Rgb) {
        let half = width / 2.0;
        if (from.1 - to.1).abs() < 1e-9 || (from.0 - to.0).abs() < 1e-9 {
            let flat = (from.1 - to.1).abs() < 1e-9;
            let (dx, dy) = if flat { (0.0, half) } else { (half, 0.0) };
            let (x0, x1) = (from.0.min(to.0), from.0.max(to.0));
            let (y0, y1) = (from.1.min(to.1), from.1.max(to.1));
            self.fill(Rect::new(x0 - dx, y0 - dy, x1 + dx, y1 + dy), colour);
            return;
        }
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = (dx * dx + dy * dy).sqrt();
        let (nx, ny) = (-dy / length * half, dx / length * half);
        self.polygon(&[(from.0 + nx, from.1 + ny), (to.0 + nx, to.1 + ny), (to.0 - nx, to.1 - ny), (from.0 - nx, from.1 - ny)], colour);
    }

    /// A line through points, with round joins.
    pub(super) fn path(&mut self, points: &[(f64, f64)], width: f64, colour: Rgb) {
        for pair in points.windows(2) {
            self.line(pair[0], pair[1], width, colour);
        }
        if points.len() > 2 && width > 2.0 {
            for &(x, y) in &points[1..points.len() - 1] {
                self.disc(x, y, width / 2.0, colour);
            }
        }
    }

    /// A dashed line from left to right.
    pub(super) fn dashes(&mut self, x0: f64, x1: f64, y: f64, width: f64, colour: Rgb) {
        let mut x = x0;
        while x < x1 {
            self.line((x, y), ((x + 12.0).min(x1), y), width, colour);
            x += 20.0;
        }
    }

    /// A filled polygon without crossings.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], colour: Rgb) {
        let points: Vec<(i32, i32)> = points.iter().map(|p| (fine(p.0), fine(p.1))).collect();
        self.on(|b| b.fill_polygon(points, &style(colour)).is_ok());
    }

    /// A filled circle.
    pub(super) fn disc(&mut self, x: f64, y: f64, radius: f64, colour: Rgb) {
        let radius = fine(radius).max(1);
        self.on(|b| b.draw_circle((fine(x), fine(y)), radius as u32, &style(colour), true).is_ok());
    }

    /// A ring, `width` pixels wide.
    pub(super) fn ring(&mut self, x: f64, y: f64, radius: f64, width: f64, colour: Rgb) {
        let stroke = fine(width).max(1) as u32;
        let style = ShapeStyle { color: RGBColor(colour.0, colour.1, colour.2).into(), filled: false, stroke_width: stroke };
        self.on(|b| b.draw_circle((fine(x), fine(y)), fine(radius) as u32, &style, false).is_ok());
    }

    /// A mark of a given radius with an edge.
    pub(super) fn mark(&mut self, mark: Mark, x: f64, y: f64, radius: f64, colour: Rgb, edge: Option<(f64, Rgb)>) {
        if let Some((width, edge)) = edge {
            self.shape(mark, x, y, radius, edge);
            // A triangle's edge is as wide as a disc's only if it shrinks by more.
            let inner = radius - width * if matches!(mark, Mark::Triangle | Mark::TriangleDown) { 1.7 } else { 1.0 };
            self.shape(mark, x, y, inner.max(0.5), colour);
        } else {
            self.shape(mark, x, y, radius, colour);
        }
    }

    fn shape(&mut self, mark: Mark, x: f64, y: f64, r: f64, colour: Rgb) {
        match mark {
            Mark::Disc => self.disc(x, y, r, colour),
            Mark::Square => self.fill(Rect::new(x - r * 0.9, y - r * 0.9, x + r * 0.9, y + r * 0.9), colour),
            Mark::Triangle => self.polygon(&[(x, y - r * 1.2), (x + r * 1.1, y + r * 0.75), (x - r * 1.1, y + r * 0.75)], colour),
            Mark::TriangleDown => self.polygon(&[(x, y + r * 1.2), (x + r * 1.1, y - r * 0.75), (x - r * 1.1, y - r * 0.75)], colour),
            Mark::Diamond => self.polygon(&[(x, y - r * 1.2), (x + r * 1.2, y), (x, y + r * 1.2), (x - r * 1.2, y)], colour),
            Mark::Cross => {
                let d = r * 0.9;
                self.line((x - d, y - d), (x + d, y + d), r * 0.5, colour);
                self.line((x - d, y + d), (x + d, y - d), r * 0.5, colour);
            }
        }
    }

    /// A line of text whose start, middle or end stands at `x`, its capitals centred on `y`. Its box is returned.
    pub(super) fn text(&mut self, text: &str, (x, y): (f64, f64), align: Align, font: Font, colour: Rgb) -> Rect {
        let (width, em) = (font.width(text), font.em);
        let left = match align {
            Align::Start => x,
            Align::Middle => x - width / 2.0,
            Align::End => x - width,
        };
        let baseline = y + HALF_CAPITAL * em;
        self.write(text, (left, baseline), font, false, colour);
        let rect = Rect::new(left, baseline - ABOVE * em, left + width, baseline + BELOW * em);
        self.texts.push(rect);
        rect
    }

    /// A line of text that runs upwards, its middle at (x, y). Its box is returned.
    pub(super) fn text_up(&mut self, text: &str, (x, y): (f64, f64), font: Font, colour: Rgb) -> Rect {
        let (width, em) = (font.width(text), font.em);
        let (start, baseline) = (y + width / 2.0, x + HALF_CAPITAL * em);
        self.write(text, (baseline, start), font, true, colour);
        let rect = Rect::new(baseline - ABOVE * em, start - width, baseline + BELOW * em, start);
        self.texts.push(rect);
        rect
    }

    /// Draws `text` from its start on the baseline, running right or upwards.
    ///
    /// plotters' own text leaves out the space before each glyph, which makes words uneven; here each stands where the font wants it.
    fn write(&mut self, text: &str, (x, y): (f64, f64), font: Font, up: bool, colour: Rgb) {
        let Some(face) = font.face() else {
            self.failed = true;
            return;
        };
        let size = PxScale::from((font.em * f64::from(FINE)) as f32 * face.height_unscaled() / face.units_per_em().unwrap_or(1000.0));
        let scaled = face.as_scaled(size);
        let (left, base) = (fine(x), fine(y));
        let (width, height) = ((self.width * FINE) as i32, (self.height * FINE) as i32);
        let mut along = 0.0;
        for c in text.chars() {
            let id = face.glyph_id(c);
            if let Some(outline) = face.outline_glyph(id.with_scale_and_position(size, point(along, 0.0))) {
                let bounds = outline.px_bounds();
                let (dx, dy) = (bounds.min.x as i32, bounds.min.y as i32);
                outline.draw(|px, py, cover| {
                    let (px, py) = (px as i32 + dx, py as i32 + dy);
                    let (px, py) = if up { (left + py, base - px) } else { (left + px, base + py) };
                    if cover > 0.0 && (0..width).contains(&px) && (0..height).contains(&py) {
                        let at = (py as usize * width as usize + px as usize) * 3;
                        for (old, new) in self.fine[at..at + 3].iter_mut().zip([colour.0, colour.1, colour.2]) {
                            let mixed = f32::from(*old) + (f32::from(new) - f32::from(*old)) * cover.min(1.0);
                            *old = mixed.round() as u8;
                        }
                    }
                });
            }
            along += scaled.h_advance(id);
        }
    }

    /// The page as pixels: rows of red, green, blue.
    pub(super) fn pixels(&self) -> Vec<u8> {
        let (width, stride) = (self.width as usize, (self.width * FINE) as usize * 3);
        let mut out = Vec::with_capacity(width * self.height as usize * 3);
        for rows in self.fine.chunks_exact(stride * 2) {
            let (upper, lower) = rows.split_at(stride);
            for (a, b) in upper.chunks_exact(6).zip(lower.chunks_exact(6)) {
                for i in 0..3 {
                    let sum = u16::from(a[i]) + u16::from(a[i + 3]) + u16::from(b[i]) + u16::from(b[i + 3]);
                    out.push(((sum + 2) / 4) as u8);
                }
            }
        }
        out
    }

    /// The page as the bytes of a PNG file (8-bit RGB).
    pub(super) fn png(&self) -> Result<Vec<u8>, PlotError> {
        if self.failed {
            return Err(PlotError::Draw);
        }
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels())?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// Page pixels to drawn ones.
fn fine(v: f64) -> i32 {
    (v * f64::from(FINE)).round() as i32
}

fn style(colour: Rgb) -> ShapeStyle {
    ShapeStyle { color: RGBColor(colour.0, colour.1, colour.2).into(), filled: true, stroke_width: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::colour::{INK, WHITE};

    /// Smallest box around everything that is not white.
    fn ink(canvas: &Canvas) -> Rect {
        let width = canvas.width as usize;
        let mut found = Rect::new(f64::MAX, f64::MAX, 0.0, 0.0);
        for (i, p) in canvas.pixels().chunks_exact(3).enumerate() {
            if p != [255, 255, 255] {
                let (x, y) = ((i % width) as f64, (i / width) as f64);
                found = Rect::new(found.x0.min(x), found.y0.min(y), found.x1.max(x + 1.0), found.y1.max(y + 1.0));
            }
        }
        found
    }

    #[test]
    fn the_box_of_a_text_holds_its_ink_and_little_more() {
        for text in ["jÅgy|(Q40k$", "clear_at_least", "M", "–1.2M"] {
            for font in [Font::regular(22.0), Font::bold(34.0), Font::regular(15.0)] {
                let mut canvas = Canvas::new(600, 200);
                let rect = canvas.text(text, (300.0, 100.0), Align::Middle, font, INK);
                let ink = ink(&canvas);
                // A j reaches a little to the left of where it stands.
                assert!(rect.grow(1.0 + 0.08 * font.em).holds(ink), "{text}: {rect:?} {ink:?}");
                assert!(rect.width() - ink.width() < 0.35 * font.em, "{text}: {rect:?} {ink:?}");
                let mut canvas = Canvas::new(200, 600);
                let rect = canvas.text_up(text, (100.0, 300.0), font, INK);
                let ink = self::ink(&canvas);
                assert!(rect.grow(1.0 + 0.08 * font.em).holds(ink), "{text} upwards: {rect:?} {ink:?}");
            }
        }
    }

    #[test]
    fn digits_are_equally_wide() {
        let font = Font::regular(20.0);
        assert!((font.width("11111") - font.width("08888")).abs() < 1.0);
        assert!(font.width("wide") > font.width("l"));
    }

    #[test]
    fn shapes_beyond_the_page_are_cut() {
        let mut canvas = Canvas::new(50, 50);
        canvas.fill(Rect::new(-10.0, -10.0, 10.0, 10.0), INK);
        canvas.line((40.0, 40.0), (90.0, 95.0), 3.0, INK);
        canvas.disc(50.0, 0.0, 8.0, INK);
        canvas.polygon(&[(45.0, 45.0), (70.0, 45.0), (45.0, 70.0)], INK);
        assert!(canvas.png().is_ok());
    }

    #[test]
    fn white_is_the_page() {
        assert!(Canvas::new(8, 8).pixels().iter().all(|v| *v == WHITE.0));
    }
}
