//! Lines of a trace file.

use super::{Document, Trace, TraceError};

/// Why a line of a trace file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or a field of another type.
    #[error("{field}: {problem}")]
    Json {
        /// Path of the field, or `line` where the JSON itself is broken.
        field: String,
        /// What is wrong. Never holds text of the line.
        problem: String,
    },
    /// JSON of the right shape that is no valid transcript.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// What is looked at before anything else, as a later version may have another shape.
#[derive(serde::Deserialize)]
struct Head {
    schema: Option<String>,
}

/// Parses one line of a trace file and checks it.
///
/// # Errors
/// See [`LineError`]; the message names the field and what to write.
pub fn parse_line(line: &[u8]) -> Result<(Document, Trace), LineError> {
    let mut json = serde_json::Deserializer::from_slice(line);
    if let Ok(Head { schema: Some(schema) }) = serde_json::from_slice::<Head>(line)
        && schema != super::SCHEMA
    {
        let doc = Document { schema, ..Document::default() };
        return Err(Trace::from_document(&doc).expect_err("another schema is refused").into());
    }
    let doc: Document = serde_path_to_error::deserialize(&mut json).map_err(|e| {
        let path = e.path().to_string();
        let field = if path == "." || path == "?" { "line".to_owned() } else { path };
        LineError::Json { field, problem: describe(e.inner()) }
    })?;
    json.end().map_err(|e| LineError::Json { field: "line".to_owned(), problem: describe(&e) })?;
    let trace = Trace::from_document(&doc)?;
    Ok((doc, trace))
}

/// Serialises one transcript as a line without its line end.
pub fn to_line(doc: &Document) -> String {
    serde_json::to_string(doc).expect("a document has string keys only")
}

/// serde's own message, less strings of the input and less the line number, which is always 1 here.
fn describe(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the JSON ends too early; was the line cut?".to_owned();
    }
    if error.is_syntax() {
        return format!("is not valid JSON at column {}; write one JSON object a line", error.column());
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or("has the wrong type");
    // Whatever stands in the file may be quoted: a variant in backticks, a string in double quotes.
    if text.starts_with("unknown variant") {
        let known = text.rfind(", expected").map_or("", |at| &text[at + 2..]);
        return format!("is none of its values; {known}");
    }
    match (text.find('"'), text.rfind('"')) {
        (Some(a), Some(b)) if b > a => format!("{}…{}", &text[..=a], &text[b..]),
        _ => text.to_owned(),
    }
}
