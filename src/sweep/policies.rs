//! Rows of named policies in a sweep: the values of their knobs, and the configs that these make.

use std::sync::Arc;

use serde_json::Value;

use crate::hindsight::Reach;

use super::{Auto, Axes, Axis, Knobs, Point};
use crate::policy::named::{Named, spelled};
use crate::policy::{ClearToolUses, ConfigError, Policy, Trigger};

/// A policy that is asked for, with the values of its knobs that are stated.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyAsk {
    /// The policy.
    pub named: Named,
    /// Values by knob.
    pub values: Vec<(String, Vec<Value>)>,
}

/// More configs than this of one policy are taken for a slip of the pen.
const MOST_CONFIGS: usize = 100_000;

/// Why a policy cannot be asked for: what is wrong and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AskError(pub String);

impl PolicyAsk {
    /// A policy and its stated knobs, `keep=3|5|9` or `high=80k..160k:20k`; the parts after the name.
    ///
    /// # Errors
    /// A part is no `key=value`, or the policy has no such knob, or the value does not fit it.
    pub fn new(named: &Named, stated: &[&str]) -> Result<Self, AskError> {
        let name = &named.name;
        let known: Vec<&str> = named.knobs.iter().map(|knob| knob.name.as_str()).collect();
        let choices = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        let mut values: Vec<(String, Vec<Value>)> = Vec::new();
        for part in stated {
            let Some((key, text)) = part.split_once('=') else {
                return Err(AskError(format!("{part:?} is no KEY=VALUE; {name} takes knobs such as keep=5 ({choices})")));
            };
            let (key, text) = (key.trim(), text.trim());
            let knob = named.knobs.iter().find(|knob| knob.name == key);
            let knob = knob.ok_or_else(|| AskError(format!("{name} has no knob {key}: {choices}")))?;
            if values.iter().any(|(k, _)| k == key) {
                return Err(AskError(format!("{name}: {key} stands twice; join its values with |")));
            }
            let read = if knob.default.is_u64() {
                match Axis::parse(&text.replace('|', ","), true).map_err(|error| AskError(format!("{name}: {key}: {error}")))? {
                    Axis::Values(values) => values.into_iter().map(Value::from).collect(),
                    Axis::Auto => return Err(AskError(format!("{name}: {key}: auto is for the axes of the grid; write numbers, 3|5|9"))),
                }
            } else if knob.default.is_array() {
                vec![knob.read(text).map_err(|error| AskError(format!("{name}: {key}: {error}")))?]
            } else {
                let each: Result<Vec<Value>, String> = text.split('|').map(|one| knob.read(one)).collect();
                each.map_err(|error| AskError(format!("{name}: {key}: {error}")))?
            };
            values.push((key.to_owned(), read));
        }
        Ok(Self { named: named.clone(), values })
    }

    /// A policy over the grid of a sweep: its knobs that the grid has axes for take their values, those stated or those from the data.
    ///
    /// Where the data decides, `clear_at_least` is tried only where it is a size of batches: `langchain_py` stops for ever at the same
    /// results with it, in `langchain_js` it is deprecated. Messages to keep are two for each use to keep, a call and its result; what
    /// an agent's own history forgets stays forgotten.
    pub fn on_grid(named: &Named, axes: &Axes, auto: &Auto) -> Self {
        let numbers = |axis: &Axis, auto: &[u64]| match axis {
            Axis::Auto => auto.to_vec(),
            Axis::Values(values) => values.clone(),
        };
        let batches = if named.name == "litellm" { auto.clear_at_least.as_slice() } else { &[0] };
        let keeps = || numbers(&axes.keep, &auto.keep);
        let sets = || axes.exclude_tools.as_ref().unwrap_or(&auto.exclude_tools).iter().map(|set| Value::from(set.clone())).collect();
        let of = |values: Vec<u64>| values.into_iter().map(Value::from).collect();
        let values = named.knobs.iter().filter_map(|knob| {
            let values: Vec<Value> = match knob.name.as_str() {
                "trigger" if axes.trigger_counts_uses => of(auto.trigger.clone()),
                "trigger" => of(numbers(&axes.trigger, &auto.trigger)),
                "keep" => of(keeps()),
                "clear_at_least" => of(numbers(&axes.clear_at_least, batches)),
                "exclude_tools" => sets(),
                "messages" => of(keeps().into_iter().map(|keep| keep.saturating_mul(2)).collect()),
                "memory" => vec![Value::from("remembered")],
                _ => return None,
            };
            Some((knob.name.clone(), values))
        });
        Self { named: named.clone(), values: values.collect() }
    }

    /// Takes the values of an axis of the grid for the knob of that name, unless the knob's own are stated. Whether there is such a knob.
    pub fn take_axis(&mut self, knob: &str, values: &[Value]) -> bool {
        let has = self.named.knobs.iter().any(|k| k.name == knob);
        if has && !self.values.iter().any(|(name, _)| name == knob) {
            self.values.push((knob.to_owned(), values.to_vec()));
        }
        has
    }

    /// Every combination of the values.
    ///
    /// # Errors
    /// A value does not fit where it stands; there are too many.
    pub fn configs(&self) -> Result<Vec<Knobs>, AskError> {
        let combinations = self.values.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()));
        if combinations.is_none_or(|n| n > MOST_CONFIGS) {
            return Err(AskError(format!("{}: more than {MOST_CONFIGS} configs; write fewer values", self.named.name)));
        }
        let mut all: Vec<Vec<(String, Value)>> = vec![Vec::new()];
        for (name, values) in &self.values {
            let with = |one: &Vec<(String, Value)>, value: &Value| one.iter().cloned().chain([(name.clone(), value.clone())]).collect();
            all = all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect();
        }
        all.iter()
            .map(|values| config(&self.named, values))
            .collect::<Result<_, _>>()
            .map_err(|e| AskError(format!("{}: {e}", self.named.name)))
    }
}

/// Knobs that have columns of their own.
const COLUMNS: [&str; 4] = ["trigger", "keep", "clear_at_least", "exclude_tools"];

/// The config of a named policy with these values of its knobs.
///
/// # Errors
/// A value does not fit where it stands.
pub fn config(named: &Named, values: &[(String, Value)]) -> Result<Knobs, ConfigError> {
    let of = |name: &str| named.value(name, values);
    let number = |name: &str| of(name).and_then(Value::as_u64);
    let small = |name: &str| number(name).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let tools = || -> Vec<String> {
        let list = of("exclude_tools").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|tool| tool.as_str().map(str::to_owned)).collect()
    };
    if named.name == "none" {
        return Ok(Knobs::none());
    }
    if named.name == "clear_tool_uses_20250919" {
        return Ok(Knobs::api(ClearToolUses {
            trigger: Trigger::InputTokens(number("trigger").unwrap_or(0)),
            keep: small("keep").unwrap_or(0),
            clear_at_least: number("clear_at_least").unwrap_or(0),
            exclude_tools: tools(),
            ..ClearToolUses::default()
        }));
    }
    let policy: Policy = named.policy(values)?;
    let params = named.knobs.iter().filter(|knob| !COLUMNS.contains(&knob.name.as_str()));
    let params: Vec<String> = params.map(|knob| format!("{}={}", knob.name, spelled(of(&knob.name).unwrap_or(&knob.default)))).collect();
    let point = Point {
        policy: Some(Arc::new(policy)),
        trigger: number("trigger"),
        keep: small("keep"),
        clear_at_least: number("clear_at_least"),
        exclude_tools: tools(),
        params: params.join(";"),
        hindsight: None,
    };
    Ok(Knobs { policy: named.name.clone(), edit: None, point: Some(point) })
}

/// The config that these cells of a result name; without rules where the policy is not known here.
pub fn read_back(policy: &str, mut point: Point) -> Knobs {
    match policy {
        "oracle" => return Knobs::oracle(),
        "bound" => return Knobs::bound(Reach::from_words(&point.params).unwrap_or(Reach::ALL)),
        _ => {}
    }
    let rebuilt = crate::policy::named::find(policy).and_then(|named| {
        let mut values: Vec<(String, Value)> = Vec::new();
        for knob in &named.knobs {
            let param = point.params.split(';').find_map(|p| p.split_once('=').filter(|(key, _)| *key == knob.name));
            let value = match knob.name.as_str() {
                "trigger" => point.trigger.map(Value::from),
                "keep" => point.keep.map(Value::from),
                "clear_at_least" => point.clear_at_least.map(Value::from),
                "exclude_tools" => Some(Value::from(point.exclude_tools.clone())),
                _ => param.and_then(|(_, text)| knob.read(text).ok()),
            };
            values.push((knob.name.clone(), value?));
        }
        config(named, &values).ok()?.point?.policy
    });
    point.policy = rebuilt;
    Knobs { policy: policy.to_owned(), edit: None, point: Some(point) }
}
