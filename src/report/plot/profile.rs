//! What the figures of a profile share: lines of sources or tools, shares on an axis, and how values are stepped.

use super::ProfileView;
use super::canvas::Canvas;
use super::colour::{INK, LINES, Rgb};
use super::scale::Scale;
use crate::profile::{KeepCurve, Profile};

/// At most so many coloured lines in a figure.
pub(super) const MOST_LINES: usize = 6;

/// A source with its colour.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a Profile,
    pub(super) colour: Rgb,
}

/// The sources that are drawn, the first six. One alone is drawn in ink where `ink` is set.
pub(super) fn lines<'a>(view: &ProfileView<'a>, ink: bool) -> Vec<Line<'a>> {
    let alone = ink && view.sources.len() == 1;
    let colour = |i: usize| if alone { INK } else { LINES[i] };
    view.sources.iter().take(MOST_LINES).enumerate().map(|(i, &(name, profile))| Line { name, profile, colour: colour(i) }).collect()
}

/// What was looked at, for the line below the heading.
pub(super) fn subject(view: &ProfileView) -> String {
    let words = |(name, p): &(&str, &Profile)| {
        format!("{name} ({} {})", p.transcripts, if p.transcripts == 1 { "transcript" } else { "transcripts" })
    };
    let shown: Vec<String> = view.sources.iter().take(MOST_LINES).map(words).collect();
    let rest = view.sources.len().saturating_sub(MOST_LINES);
    let more = if rest > 0 { format!("; {rest} further sources are not drawn") } else { String::new() };
    format!("{}{more}", shown.join(" \u{b7} "))
}

/// A share as a percentage; `step` is the distance to the next one shown.
pub(super) fn share_words(value: f64, step: f64) -> String {
    let decimals = usize::from(step > 0.0 && step < 0.0099);
    format!("{:.decimals$} %", value * 100.0)
}

/// The tools of a profile that are drawn: those asked for, else those with the most needs; at most six, the most needs first.
pub(super) fn needed_tools<'a>(view: &ProfileView, profile: &'a Profile) -> Vec<(&'a str, &'a KeepCurve)> {
    let mut tools: Vec<(&str, &KeepCurve)> =
        profile.tools.iter().filter(|t| t.keep_curve.needs() > 0 && view.has(&t.name)).map(|t| (t.name.as_str(), &t.keep_curve)).collect();
    tools.sort_by_key(|(_, curve)| std::cmp::Reverse(curve.needs()));
    tools.truncate(MOST_LINES);
    tools
}

/// A line that keeps each value until the next: `points` as (x, y) with x ascending; the last value goes on to `end`.
pub(super) fn steps(canvas: &mut Canvas, points: &[(f64, f64)], end: f64, scales: (&Scale, &Scale), width: f64, colour: Rgb) {
    let mut path: Vec<(f64, f64)> = Vec::with_capacity(points.len() * 2 + 1);
    for &(x, y) in points {
        let (x, y) = (scales.0.at(x), scales.1.at(y));
        if let Some(&(_, before)) = path.last() {
            path.push((x, before));
        }
        path.push((x, y));
    }
    if let Some(&(_, last)) = path.last() {
        path.push((scales.0.at(end), last));
    }
    // Straight pieces without length draw nothing.
    path.dedup();
    canvas.path(&path, width, colour);
}

/// A colour thinned with white; `share` of the colour is left.
pub(super) fn pale(colour: Rgb, share: f64) -> Rgb {
    let mix = |c: u8| (255.0 - (255.0 - f64::from(c)) * share).round() as u8;
    (mix(colour.0), mix(colour.1), mix(colour.2))
}
