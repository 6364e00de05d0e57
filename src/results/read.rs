//! Files of a result set, told apart by content.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::cells::{self, CellError};
use crate::replay::Totals;
use crate::report::json::SWEEP_SCHEMA;
use crate::sweep::{ConfigRow, Derived, Knobs, Outcome};

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", place(*.line, .field))]
pub struct ResultsError {
    /// Line of the file, from 1, where one is to blame.
    pub line: Option<u64>,
    /// Column or field; empty where none is to blame.
    pub field: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

fn place(line: Option<u64>, field: &str) -> String {
    let line = line.map_or_else(String::new, |n| format!("line {n}: "));
    let field = if field.is_empty() { String::new() } else { format!("{field} ") };
    line + &field
}

impl ResultsError {
    fn new(line: Option<u64>, field: &str, problem: impl Into<String>) -> Self {
        Self { line, field: field.to_owned(), problem: problem.into() }
    }

    fn cell(line: u64, error: CellError) -> Self {
        Self { line: Some(line), field: error.field, problem: error.problem }
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `sweep.csv`.
    SweepCsv,
    /// `per_transcript.csv`.
    PerTranscriptCsv,
    /// `sweep.json`.
    SweepJson,
    /// `manifest.json`.
    Manifest,
    /// `replay --format json`: one report a line.
    Replay,
}

/// Outcomes by transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PerTranscript {
    /// Id of each transcript.
    pub ids: Vec<String>,
    /// The session that each belongs to.
    pub sessions: Vec<String>,
    /// Totals of each transcript under each row, in the order of the rows.
    pub totals: Vec<Vec<Totals>>,
}

/// What is known of a result set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// One row a config.
    pub rows: Vec<ConfigRow>,
    /// The `answer` of `sweep.json`.
    pub answer: Option<Value>,
    /// The `findings` of `sweep.json`, one value a config.
    pub findings: Vec<Value>,
    /// `manifest.json`.
    pub manifest: Option<Value>,
    /// Outcomes by transcript.
    pub transcripts: Option<PerTranscript>,
}

/// What the file is by its first bytes; `None` where it is nothing that cleartune writes.
pub fn sniff_kind(bytes: &[u8]) -> Option<Kind> {
    let head = bytes.trim_ascii_start();
    let first_line = head.split(|&b| b == b'\n').next()?.trim_ascii_end();
    if first_line.starts_with(b"transcript,session,policy,") {
        return Some(Kind::PerTranscriptCsv);
    }
    if first_line.starts_with(b"policy,") {
        return Some(Kind::SweepCsv);
    }
    if !head.starts_with(b"{") {
        return None;
    }
    // A report stands on one line; the others are indented.
    if serde_json::from_slice::<Value>(first_line).is_ok_and(|v| v.get("totals").is_some() && v.get("requests").is_some()) {
        return Some(Kind::Replay);
    }
    let start = String::from_utf8_lossy(&head[..head.len().min(400)]).into_owned();
    if start.contains("\"cleartune.sweep/") {
        Some(Kind::SweepJson)
    } else if start.contains("\"cleartune.manifest/") || start.contains("\"asked\"") {
        Some(Kind::Manifest)
    } else {
        None
    }
}

/// Reads one file into the set; what it holds of rows replaces what another file held only where that had none.
///
/// # Errors
/// It is none of the known files, or a line or field is not what cleartune writes.
pub fn parse(bytes: &[u8], set: &mut ResultSet) -> Result<Kind, ResultsError> {
    // Spreadsheets write a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let kind = sniff_kind(bytes).ok_or_else(|| {
        ResultsError::new(
            None,
            "",
            "is no result of cleartune; give a folder that sweep wrote, or its sweep.csv, sweep.json or per_transcript.csv, or the output of replay --format json",
        )
    })?;
    match kind {
        Kind::SweepCsv => {
            let rows = sweep_csv(bytes)?;
            if set.rows.is_empty() || set.transcripts.is_some() {
                set.rows = rows;
            }
        }
        Kind::SweepJson => {
            let (rows, answer, findings) = sweep_json(bytes)?;
            if set.rows.is_empty() {
                set.rows = rows;
            } else if !same_configs(&set.rows, rows.iter().map(|row| &row.knobs)) {
                // The answer names rows by their place.
                return Err(ResultsError::new(None, "", "holds other configs than the sweep.csv beside it; sweep again"));
            }
            (set.answer, set.findings) = (answer, findings);
        }
        Kind::PerTranscriptCsv => {
            let (configs, transcripts) = per_transcript_csv(bytes)?;
            if set.rows.is_empty() {
                set.rows = summed(configs, &transcripts);
            } else if !same_configs(&set.rows, configs.iter()) {
                return Err(ResultsError::new(None, "", "holds other configs than the sweep.csv beside it; sweep again"));
            }
            set.transcripts = Some(transcripts);
        }
        Kind::Manifest => {
            let manifest = serde_json::from_slice(bytes).map_err(|e| json_error(&e))?;
            check_schema(&manifest, "cleartune.manifest/1")?;
            set.manifest = Some(manifest);
        }
        Kind::Replay => {
            let transcripts = replay_lines(bytes)?;
            set.rows = summed(vec![Knobs { policy: "replay".to_owned(), ..Knobs::none() }], &transcripts);
            set.transcripts = Some(transcripts);
        }
    }
    Ok(kind)
}

fn same_configs<'a>(rows: &[ConfigRow], configs: impl ExactSizeIterator<Item = &'a Knobs>) -> bool {
    rows.len() == configs.len() && rows.iter().zip(configs).all(|(row, knobs)| row.knobs == *knobs)
}

/// Each config stands once: rows are found by it. `place` names a row by its index.
fn each_once<'a>(configs: impl Iterator<Item = &'a Knobs>, place: impl Fn(usize) -> (Option<u64>, String)) -> Result<(), ResultsError> {
    let mut seen: HashMap<&Knobs, usize> = HashMap::new();
    for (i, knobs) in configs.enumerate() {
        if seen.insert(knobs, i).is_some() {
            let (line, field) = place(i);
            return Err(ResultsError::new(
                line,
                &field,
                "is a config that stands further up already; was the file edited, or written by a newer version?",
            ));
        }
    }
    Ok(())
}

fn json_error(e: &serde_json::Error) -> ResultsError {
    let problem = if e.is_eof() { "the JSON ends too early; was the file cut?" } else { "is not valid JSON" };
    ResultsError::new(Some(e.line() as u64), "", problem)
}

fn check_schema(value: &Value, known: &str) -> Result<(), ResultsError> {
    match value.get("schema").and_then(Value::as_str) {
        Some(schema) if schema == known => Ok(()),
        _ => Err(ResultsError::new(
            None,
            "schema",
            format!("is not {known}; the file was written by another version, so sweep again with this one"),
        )),
    }
}

fn csv_rows<T>(
    bytes: &[u8],
    mut each: impl FnMut(&HashMap<String, usize>, &csv::StringRecord, u64) -> Result<T, ResultsError>,
) -> Result<Vec<T>, ResultsError> {
    let mut reader = csv::ReaderBuilder::new().from_reader(bytes);
    let broken = |e: &csv::Error| {
        let line = e.position().map(csv::Position::line);
        let problem = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("has {len} cells and the head {expected_len}; was the file cut?")
            }
            _ => "is no UTF-8 CSV".to_owned(),
        };
        ResultsError::new(line, "", problem)
    };
    let head = reader.headers().map_err(|e| broken(&e))?.iter().enumerate().map(|(i, name)| (name.to_owned(), i)).collect();
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| broken(&e))? {
        // After CRLF the position is that of the LF.
        let line = record.position().map_or(0, |at| at.line() + u64::from(bytes.get(at.byte() as usize) == Some(&b'\n')));
        rows.push(each(&head, &record, line)?);
    }
    Ok(rows)
}

fn sweep_csv(bytes: &[u8]) -> Result<Vec<ConfigRow>, ResultsError> {
    let rows = csv_rows(bytes, |head, record, line| {
        let get = |name: &str| head.get(name).and_then(|&i| record.get(i)).map(str::to_owned);
        cells::row(&get).map_err(|e| ResultsError::cell(line, e)).map(|row| (line, row))
    })?;
    each_once(rows.iter().map(|(_, row)| &row.knobs), |i| (Some(rows[i].0), String::new()))?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn per_transcript_csv(bytes: &[u8]) -> Result<(Vec<Knobs>, PerTranscript), ResultsError> {
    let mut found = PerTranscript::default();
    let mut configs: Vec<Knobs> = Vec::new();
    // The cells of each config's knobs: the same in every transcript, so that they are read once.
    let mut known: Vec<Vec<String>> = Vec::new();
    let mut ids: HashSet<String> = HashSet::new();
    csv_rows(bytes, |head, record, line| {
        let get = |name: &str| head.get(name).and_then(|&i| record.get(i)).map(str::to_owned);
        let id = get("transcript").filter(|id| !id.is_empty()).ok_or_else(|| ResultsError::new(Some(line), "transcript", "is missing"))?;
        if found.ids.last() != Some(&id) {
            if found.totals.last().is_some_and(|last| last.len() != configs.len()) {
                return Err(ResultsError::new(
                    Some(line),
                    "",
                    "starts a transcript before the one above has all configs; was the file cut?",
                ));
            }
            if !ids.insert(id.clone()) {
                return Err(ResultsError::new(Some(line), "transcript", "is one that stands further up already; were two files joined?"));
            }
            let session = get("session").filter(|session| !session.is_empty()).unwrap_or_else(|| id.clone());
            found.ids.push(id);
            found.sessions.push(session);
            found.totals.push(Vec::with_capacity(configs.len()));
        }
        let first = found.ids.len() == 1;
        let totals = found.totals.last_mut().expect("one was just begun");
        // The columns between the session and the totals are the knobs.
        let until = head.get("requests").copied().unwrap_or(0);
        let cells = || record.iter().take(until).skip(2).map(str::to_owned).collect::<Vec<_>>();
        if first {
            configs.push(cells::knobs(&get).map_err(|e| ResultsError::cell(line, e))?);
            known.push(cells());
        } else if known.get(totals.len()).is_none_or(|known| known.iter().map(String::as_str).ne(record.iter().take(until).skip(2))) {
            return Err(ResultsError::new(
                Some(line),
                "",
                "is another config than the first transcript has in this place; was the file edited?",
            ));
        }
        totals.push(cells::totals(&get).map_err(|e| ResultsError::cell(line, e))?);
        Ok(())
    })?;
    if found.totals.last().is_some_and(|last| last.len() != configs.len()) {
        return Err(ResultsError::new(None, "", "ends before its last transcript has all configs; was the file cut?"));
    }
    // Two transcripts of one id look like one with every config twice.
    each_once(configs.iter(), |i| (Some(i as u64 + 2), String::new()))?;
    Ok((configs, found))
}

/// Rows, answer and findings.
type SweepJson = (Vec<ConfigRow>, Option<Value>, Vec<Value>);

fn sweep_json(bytes: &[u8]) -> Result<SweepJson, ResultsError> {
    let mut all: Value = serde_json::from_slice(bytes).map_err(|e| json_error(&e))?;
    check_schema(&all, SWEEP_SCHEMA)?;
    let rows = all["rows"].as_array().ok_or_else(|| ResultsError::new(None, "rows", "is missing"))?;
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        other => other.to_string(),
    };
    let rows = rows
        .iter()
        .enumerate()
        .map(|(i, row)| {
            // `none` leaves these null, where CSV has an empty cell; `exclude_tools` and such are absent for other policies.
            let get = |name: &str| row.get(name).map(cell);
            cells::row(&get).map_err(|e| ResultsError::new(None, &format!("rows[{i}].{}", e.field), e.problem))
        })
        .collect::<Result<Vec<_>, _>>()?;
    each_once(rows.iter().map(|row| &row.knobs), |i| (None, format!("rows[{i}]")))?;
    let answer = all["answer"].take();
    if answer["row"].as_u64().is_some_and(|row| row >= rows.len() as u64) {
        return Err(ResultsError::new(None, "answer.row", "names a row that is not there; was the file edited or cut?"));
    }
    let findings = if let Value::Array(all) = all["findings"].take() { all } else { Vec::new() };
    Ok((rows, (!answer.is_null()).then_some(answer), findings))
}

fn replay_lines(bytes: &[u8]) -> Result<PerTranscript, ResultsError> {
    let mut found = PerTranscript::default();
    let mut ids: HashSet<String> = HashSet::new();
    for (i, line) in bytes.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let number = i as u64 + 1;
        let report: Value = serde_json::from_slice(line).map_err(|e| ResultsError { line: Some(number), ..json_error(&e) })?;
        let id = report["id"].as_str().ok_or_else(|| ResultsError::new(Some(number), "id", "is missing"))?;
        if !ids.insert(id.to_owned()) {
            return Err(ResultsError::new(Some(number), "id", "is one that stands further up already; give the reports of one replay"));
        }
        let get = |name: &str| report["totals"].get(name).map(|v| if v.is_null() { String::new() } else { v.to_string() });
        let totals =
            cells::totals(&get).map_err(|e| ResultsError { field: format!("totals.{}", e.field), ..ResultsError::cell(number, e) })?;
        found.ids.push(id.to_owned());
        let session = report["session"].as_str().unwrap_or(id);
        found.sessions.push(session.to_owned());
        found.totals.push(vec![totals]);
    }
    Ok(found)
}

/// Rows from the totals of each transcript.
fn summed(configs: Vec<Knobs>, found: &PerTranscript) -> Vec<ConfigRow> {
    let none = configs.iter().position(Knobs::is_none);
    let sums: Vec<(Totals, u64, u64)> = (0..configs.len())
        .map(|c| {
            let mut sum = (Totals::default(), 0, 0);
            for totals in found.totals.iter().map(|t| &t[c]) {
                sum.0.merge(totals);
                sum.1 += totals.peak_prompt_tokens;
                sum.2 += u64::from(totals.first_overflow.is_some());
            }
            sum
        })
        .collect();
    let cost = none.map_or(0.0, |c| sums[c].0.cost_usd);
    configs
        .into_iter()
        .zip(sums)
        .map(|(knobs, (totals, peaks, overflowed_transcripts))| ConfigRow {
            knobs,
            transcripts: found.ids.len() as u64,
            derived: Derived::new(&totals, peaks, cost),
            totals,
            overflowed_transcripts,
        })
        .collect()
}

impl ResultSet {
    /// The set as the outcome of its sweep; `value` is what a choice minimises. `None` without outcomes by transcript.
    pub fn outcome(&self, value: impl Fn(&Totals) -> f64) -> Option<Outcome> {
        let found = self.transcripts.as_ref()?;
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut session_names = Vec::new();
        let mut sessions = Vec::with_capacity(found.ids.len());
        for session in &found.sessions {
            sessions.push(*numbers.entry(session).or_insert_with(|| {
                session_names.push(session.clone());
                session_names.len() - 1
            }));
        }
        Some(Outcome {
            rows: self.rows.clone(),
            costs: found.totals.iter().map(|t| t.iter().map(|t| t.cost_usd).collect()).collect(),
            other_values: Some(found.totals.iter().map(|t| t.iter().map(&value).collect()).collect()),
            sessions,
            session_names,
            transcripts_done: found.ids.len(),
        })
    }
}
