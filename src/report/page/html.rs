//! Text made safe: names of tools and sessions come from logs and may hold anything.

use serde::Serialize;

/// Text as HTML, in an element or a quoted attribute.
pub(super) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No control character belongs into a page; the browser would drop or misread it.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Sentences as HTML: a number and its `%` stay on one line.
pub(super) fn words(raw: &str) -> String {
    text(raw).replace(" %", "\u{a0}%")
}

/// JSON that can stand in a script element: nothing in it ends the element or opens a comment.
pub(super) fn island(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("keys are strings");
    // Outside of strings JSON has none of these characters, and within them an escape means the same.
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// A name cut to `most` characters, for places where only so much can be shown.
pub(super) fn cut(name: &str, most: usize) -> String {
    let mut chars = name.chars();
    let head: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() { format!("{head}…") } else { head }
}
