//! The `context_management` object of the API.

use serde_json::Value;

use super::field::{self, Field, Object};
use super::{ClearToolInputs, ClearToolUses, ConfigError, Trigger};

const CLEAR_TOOL_USES: &str = "clear_tool_uses_20250919";
const CLEAR_THINKING: &str = "clear_thinking_20251015";
const COMPACT: &str = "compact_20260112";
const TYPES: &[&str] = &[CLEAR_TOOL_USES, CLEAR_THINKING, COMPACT];

const EDITS_EXAMPLE: &str = r#"a list of edits, [{"type": "clear_tool_uses_20250919"}]"#;
const INPUT_TOKENS_EXAMPLE: &str = r#"{"type": "input_tokens", "value": 30000}"#;
const KEEP_EXAMPLE: &str = r#"{"type": "tool_uses", "value": 3}"#;
const THINKING_KEEP_EXAMPLE: &str = r#"{"type": "thinking_turns", "value": 1} or "all""#;

/// The API's lower limit for the trigger of `compact_20260112`, in tokens.
const COMPACT_LEAST: u64 = 50_000;

/// Reads `context_management`: the clearing edit, and a note for each edit that is not replayed.
pub(super) fn context_management(at: &Field, notes: &mut Vec<String>) -> Result<Option<ClearToolUses>, ConfigError> {
    if at.value.is_null() {
        return Ok(None);
    }
    if at.value.is_array() {
        return Err(at.error(r#"expected an object, got a list: write {"edits": [...]} around it"#));
    }
    let object = at.object(field::MANAGEMENT_KEYS, r#"{"edits": [...]}"#)?;
    let Some(edits) = object.get("edits") else { return Ok(None) };
    if edits.value.is_object() {
        return Err(edits.error("expected a list, got an object: write [ ] around the edit"));
    }

    let mut clearing = None;
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for (index, edit) in edits.array(EDITS_EXAMPLE)?.iter().enumerate() {
        let name = edit_type(edit)?;
        if let Some((_, first)) = seen.iter().find(|(earlier, _)| *earlier == name) {
            return Err(edit.error(format!("a second {name}, the first is edits[{first}]: each type may stand once, remove one of them")));
        }
        seen.push((name, index));
        match name {
            CLEAR_THINKING => {
                if index > 0 {
                    return Err(edit.error(format!("{CLEAR_THINKING} must be the first edit: move it before edits[0]")));
                }
                clear_thinking(edit)?;
            }
            COMPACT => compact(edit)?,
            _ => clearing = Some(clear_tool_uses(edit)?),
        }
        if name != CLEAR_TOOL_USES {
            notes.push(format!("{}: {name} is accepted, but this version does not replay it.", edit.path));
        }
    }
    Ok(clearing)
}

/// The known type of an edit.
fn edit_type(edit: &Field) -> Result<&'static str, ConfigError> {
    let map = edit.map(r#"an edit, {"type": "clear_tool_uses_20250919"}"#)?;
    let choices = field::alternatives(TYPES);
    let Some(value) = map.get("type") else {
        return Err(ConfigError::new(&field::join(&edit.path, "type"), format!("missing: write {choices}")));
    };
    let at = Field { path: field::join(&edit.path, "type"), value };
    let given = at.string(&choices)?;
    TYPES.iter().find(|name| **name == given).copied().ok_or_else(|| {
        let near = field::nearest(given, TYPES).map_or_else(String::new, |near| format!("\"{near}\"; the choices are "));
        at.error(format!("{} is not an edit type: write {near}{choices}", field::quoted(given)))
    })
}

fn clear_tool_uses(edit: &Field) -> Result<ClearToolUses, ConfigError> {
    let object = edit.object(field::TOOL_USES_KEYS, "an edit")?;
    let defaults = ClearToolUses::default();
    Ok(ClearToolUses {
        trigger: object.get("trigger").map_or(Ok(defaults.trigger), |at| trigger(&at))?,
        keep: object.get("keep").map_or(Ok(defaults.keep), |at| keep(&at))?,
        clear_at_least: object.get_not_null("clear_at_least").map_or(Ok(0), |at| clear_at_least(&at))?,
        exclude_tools: object.get_not_null("exclude_tools").map_or(Ok(Vec::new()), |at| at.tool_names())?,
        clear_tool_inputs: object.get_not_null("clear_tool_inputs").map_or(Ok(ClearToolInputs::No), |at| clear_tool_inputs(&at))?,
    })
}

fn trigger(at: &Field) -> Result<Trigger, ConfigError> {
    if at.value.is_number() {
        let tokens = at.count("input tokens", 0, u64::MAX)?;
        return Err(at.error(format!(r#"expected an object, got a number: write {{"type": "input_tokens", "value": {tokens}}}"#)));
    }
    let object = typed_value(at, INPUT_TOKENS_EXAMPLE)?;
    let make = object.type_of(&[("input_tokens", Trigger::InputTokens as fn(u64) -> Trigger), ("tool_uses", Trigger::ToolUses)])?;
    let unit = if make(0).type_name() == "tool_uses" { "tool uses" } else { "input tokens" };
    Ok(make(object.value(unit, 0, u64::MAX)?))
}

fn keep(at: &Field) -> Result<u32, ConfigError> {
    if at.value.is_number() {
        let uses = at.count("tool uses", 0, u32::MAX.into())?;
        return Err(at.error(format!(r#"expected an object, got a number: write {{"type": "tool_uses", "value": {uses}}}"#)));
    }
    let object = typed_value(at, KEEP_EXAMPLE)?;
    object.type_of(&[("tool_uses", ())])?;
    object.value("tool uses", 0, u32::MAX.into()).map(|n| n as u32)
}

/// Tokens; 0 means the same as an absent key, also as a bare number.
fn clear_at_least(at: &Field) -> Result<u64, ConfigError> {
    if at.value.is_number() {
        return match at.count("input tokens", 0, u64::MAX)? {
            0 => Ok(0),
            n => Err(at.error(format!(r#"expected an object, got a number: write {{"type": "input_tokens", "value": {n}}}"#))),
        };
    }
    let object = typed_value(at, INPUT_TOKENS_EXAMPLE)?;
    object.type_of(&[("input_tokens", ())])?;
    object.value("input tokens", 0, u64::MAX)
}

pub(super) fn clear_tool_inputs(at: &Field) -> Result<ClearToolInputs, ConfigError> {
    match at.value {
        Value::Bool(true) => Ok(ClearToolInputs::Yes),
        Value::Bool(false) => Ok(ClearToolInputs::No),
        Value::Array(_) => {
            let tools = at.tool_names()?;
            Ok(if tools.is_empty() { ClearToolInputs::No } else { ClearToolInputs::Tools(tools) })
        }
        Value::String(s) if !matches!(s.as_str(), "true" | "false") => {
            Err(at.error(r#"expected true, false or a list of tool names, got a string: write [ ] around it, ["bash"]"#))
        }
        _ => Err(at.wrong_kind("true, false or a list of tool names", r#"true, false or ["bash"]"#)),
    }
}

/// Checked, not kept: this edit is not replayed.
fn clear_thinking(edit: &Field) -> Result<(), ConfigError> {
    let object = edit.object(&["type", "keep"], "an edit")?;
    let Some(keep) = object.get("keep") else { return Ok(()) };
    match keep.value {
        Value::String(s) if s == "all" => return Ok(()),
        Value::Object(map) if map.get("type") == Some(&Value::from("all")) => {
            return keep.object(&["type"], r#""all""#).map(|_| ());
        }
        Value::Object(_) => {}
        _ => return Err(keep.wrong_kind("an object or \"all\"", THINKING_KEEP_EXAMPLE)),
    }
    let object = typed_value(&keep, THINKING_KEEP_EXAMPLE)?;
    object.type_of(&[("thinking_turns", ()), ("all", ())])?;
    object.value("thinking turns", 1, u64::MAX).map(|_| ())
}

/// Checked, not kept: this edit is not replayed.
fn compact(edit: &Field) -> Result<(), ConfigError> {
    let object = edit.object(&["type", "trigger", "pause_after_compaction", "instructions"], "an edit")?;
    if let Some(at) = object.get_not_null("trigger") {
        let trigger = typed_value(&at, r#"{"type": "input_tokens", "value": 150000}"#)?;
        trigger.type_of(&[("input_tokens", ())])?;
        trigger.value("input tokens", COMPACT_LEAST, u64::MAX)?;
    }
    if let Some(at) = object.get("pause_after_compaction") {
        at.bool()?;
    }
    if let Some(at) = object.get_not_null("instructions") {
        at.string("a string")?;
    }
    Ok(())
}

/// An object of `type` and `value`.
struct TypedValue<'a> {
    object: Object<'a>,
    example: &'static str,
}

fn typed_value<'a>(at: &Field<'a>, example: &'static str) -> Result<TypedValue<'a>, ConfigError> {
    Ok(TypedValue { object: at.object(&["type", "value"], example)?, example })
}

impl TypedValue<'_> {
    fn type_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ConfigError> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        self.object.require("type", &field::alternatives(&names))?.word(words)
    }

    fn value(&self, unit: &str, least: u64, most: u64) -> Result<u64, ConfigError> {
        self.object.require("value", &format!("a whole number of {unit}, as in {}", self.example))?.count(unit, least, most)
    }
}
