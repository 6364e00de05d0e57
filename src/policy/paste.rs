//! The edit as the object that goes into a request to the API.

use super::{ClearToolInputs, ClearToolUses};

impl ClearToolUses {
    /// The `context_management` object of the API, pretty JSON to paste into a request or a config file.
    ///
    /// Keys stand in the API's order. `trigger` and `keep` are always written, the other three only where they differ
    /// from the API's defaults.
    pub fn to_json(&self) -> String {
        let mut lines = vec![
            r#""type": "clear_tool_uses_20250919""#.to_owned(),
            format!(r#""trigger": {{"type": "{}", "value": {}}}"#, self.trigger.type_name(), self.trigger.value()),
            format!(r#""keep": {{"type": "tool_uses", "value": {}}}"#, self.keep),
        ];
        if self.clear_at_least > 0 {
            lines.push(format!(r#""clear_at_least": {{"type": "input_tokens", "value": {}}}"#, self.clear_at_least));
        }
        if !self.exclude_tools.is_empty() {
            lines.push(format!(r#""exclude_tools": {}"#, list(&self.exclude_tools)));
        }
        match &self.clear_tool_inputs {
            ClearToolInputs::No => {}
            ClearToolInputs::Yes => lines.push(r#""clear_tool_inputs": true"#.to_owned()),
            ClearToolInputs::Tools(tools) => lines.push(format!(r#""clear_tool_inputs": {}"#, list(tools))),
        }
        let edit = lines.join(",\n        ");
        format!("{{\n  \"context_management\": {{\n    \"edits\": [\n      {{\n        {edit}\n      }}\n    ]\n  }}\n}}")
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| serde_json::Value::from(name.as_str()).to_string()).collect();
    format!("[{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Config, Trigger, from_json};
    use super::*;

    #[test]
    fn defaults_leave_the_optional_keys_out() {
        let expected = r#"{
  "context_management": {
    "edits": [
      {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 100000},
        "keep": {"type": "tool_uses", "value": 3}
      }
    ]
  }
}"#;
        assert_eq!(ClearToolUses::default().to_json(), expected);
    }

    #[test]
    fn every_key_in_the_order_of_the_api() {
        let edit = ClearToolUses {
            trigger: Trigger::ToolUses(30),
            keep: 4,
            clear_at_least: 10_000,
            exclude_tools: vec!["memory".to_owned(), "a\"b".to_owned()],
            clear_tool_inputs: ClearToolInputs::Tools(vec!["bash".to_owned()]),
        };
        let json = edit.to_json();
        let at = |key: &str| json.find(&format!("\"{key}\":")).unwrap();
        let order = ["type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"].map(at);
        assert!(order.is_sorted(), "{json}");
        assert_eq!(from_json(&json).unwrap().edit, Some(edit));
    }

    prop_compose! {
        fn edits()(
            tokens in any::<bool>(), value in any::<u64>(), keep in any::<u32>(), clear_at_least in any::<u64>(),
            exclude_tools in prop::collection::vec(".{1,8}", 0..4), inputs in 0..3, tools in prop::collection::vec("\\PC{1,8}", 1..3),
        ) -> ClearToolUses {
            ClearToolUses {
                trigger: if tokens { Trigger::InputTokens(value) } else { Trigger::ToolUses(value) },
                keep, clear_at_least, exclude_tools,
                clear_tool_inputs: match inputs {
                    0 => ClearToolInputs::No,
                    1 => ClearToolInputs::Yes,
                    _ => ClearToolInputs::Tools(tools),
                },
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_pasted_is_what_is_read(edit in edits()) {
            let expected = Config { edit: Some(edit.clone()), ..Config::default() };
            prop_assert_eq!(from_json(&edit.to_json()).unwrap(), expected);
        }
    }
}
