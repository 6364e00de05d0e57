//! What a workload must hold beyond its shape: names that exist, shares that fit, sizes within bounds.

use std::collections::BTreeMap;

use super::dist::LARGEST;
use super::spec::{Errors, File, Kind, Script, Simulation, Spec, WorkloadError, error, nearest};

impl File {
    pub(super) fn check(self) -> Result<Spec, WorkloadError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(error("name", "must be made of letters, digits, `_` and `-`; write for example \"research_agent\""));
        }
        if self.transcripts == 0 || self.transcripts > 1_000_000 {
            return Err(error("transcripts", format!("is {}; write a number from 1 to 1000000", self.transcripts)));
        }
        let head = (self.name.clone(), self.seed, self.transcripts, self.model.clone());
        let kind = if self.script.is_some() { self.into_script()? } else { self.into_simulation()? };
        let (name, seed, transcripts, model) = head;
        Ok(Spec { name, seed, transcripts, model, kind })
    }

    fn into_script(self) -> Result<Kind, WorkloadError> {
        let others = [
            ("session", self.session.is_some()),
            ("output", self.output.is_some()),
            ("gaps", self.gaps.is_some()),
            ("cache", self.cache.is_some()),
            ("phases", self.phases.is_some()),
            ("synthesis", self.synthesis.is_some()),
            ("reuse", self.reuse.is_some()),
            ("paging", self.paging.is_some()),
            ("notes", self.notes.is_some()),
            ("comparison", self.comparison.is_some()),
            ("classes", self.classes.is_some()),
            ("bytes_per_token", self.bytes_per_token.is_some()),
        ];
        if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
            return Err(error(*key, "does not go with [script], whose sizes are given; leave one of the two out"));
        }
        let script = self.script.ok_or_else(|| error("script", "is missing; write a [script] table"))?;
        script.check()?;
        Ok(Kind::Script(script))
    }

    fn into_simulation(self) -> Result<Kind, WorkloadError> {
        fn section<T>(key: &str, value: Option<T>) -> Result<T, WorkloadError> {
            value.ok_or_else(|| error(key, "is missing; write it as the shipped workloads do (or a [script] of given sizes)"))
        }
        let simulation = Simulation {
            bytes_per_token: section("bytes_per_token", self.bytes_per_token)?,
            session: section("session", self.session)?,
            output: section("output", self.output)?,
            gaps: section("gaps", self.gaps)?,
            cache: section("cache", self.cache)?,
            phases: section("phases", self.phases)?,
            synthesis: section("synthesis", self.synthesis)?,
            reuse: section("reuse", self.reuse)?,
            paging: self.paging,
            notes: self.notes,
            comparison: self.comparison,
            classes: section("classes", self.classes)?,
        };
        simulation.check()?;
        Ok(Kind::Simulated(Box::new(simulation)))
    }
}

impl Script {
    fn check(&self) -> Result<(), WorkloadError> {
        if self.requests.is_empty() {
            return Err(error("script.requests", "is empty; write at least one [[script.requests]]"));
        }
        let tools: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        let mut arrived = 0;
        let mut issued = 0;
        for (i, request) in self.requests.iter().enumerate() {
            let field = |key: &str| format!("script.requests[{i}].{key}");
            if !(0.0..=LARGEST).contains(&request.gap_seconds) {
                return Err(error(field("gap_seconds"), format!("is {}; write seconds, 0 or more", request.gap_seconds)));
            }
            if let Some(need) = request.needs.iter().find(|&&need| need >= arrived) {
                return Err(error(field("needs"), format!("names use {need}; write uses whose results an earlier request brought")));
            }
            for (j, one) in request.uses.iter().enumerate() {
                let field = |key: &str| format!("script.requests[{i}].uses[{j}].{key}");
                known(&field("tool"), &one.tool, &tools, "script.tools")?;
                let sizes = [("tokens", one.tokens), ("result_tokens", one.result_tokens)];
                if let Some((key, size)) = sizes.iter().find(|(_, size)| f64::from(*size) > LARGEST) {
                    return Err(error(field(key), format!("is {size}; write at most {LARGEST}")));
                }
            }
            arrived = issued;
            issued += request.uses.len();
        }
        Ok(())
    }
}

/// Errors unless `name` is one of `all`.
fn known(field: &str, name: &str, all: &[&str], table: &str) -> Result<(), WorkloadError> {
    if all.contains(&name) {
        return Ok(());
    }
    let hint = nearest(name, all).map_or_else(|| format!("write one of {}", all.join(", ")), |near| format!("did you mean `{near}`?"));
    Err(error(field, format!("`{name}` does not stand in [{table}]; {hint}")))
}

impl Simulation {
    fn check(&self) -> Result<(), WorkloadError> {
        if !(0.5..=20.0).contains(&self.bytes_per_token) {
            return Err(error("bytes_per_token", format!("is {}; write a number from 0.5 to 20, for example 3.4", self.bytes_per_token)));
        }
        if self.session.uses.largest() > 100_000.0 {
            return Err(error("session.uses", "can reach more than 100000 uses; write a smaller `max`"));
        }
        if !(1..=1000).contains(&self.session.parallel_max) {
            return Err(error("session.parallel_max", format!("is {}; write a number from 1 to 1000", self.session.parallel_max)));
        }
        if self.session.direct_answers.0 > 0.99 {
            let problem =
                format!("is {}, and such a session never makes a call; write a share of at most 0.99", self.session.direct_answers.0);
            return Err(error("session.direct_answers", problem));
        }
        let ends = 1.0 - f64::EPSILON..=1.0 + f64::EPSILON;
        if self.phases.windows(2).any(|w| w[1].until <= w[0].until)
            || self.phases.first().is_none_or(|p| p.until <= 0.0)
            || !self.phases.last().is_some_and(|p| ends.contains(&p.until))
        {
            return Err(error(
                "phases",
                "`until` must rise from above 0 to 1; write the share of the time before the synthesis, the last one 1.0",
            ));
        }
        let (low, high) = self.synthesis.share;
        if !(0.0 <= low && low <= high && high < 1.0) {
            return Err(error("synthesis.share", format!("is [{low}, {high}]; write [least, most], both from 0 to below 1")));
        }
        let classes: Vec<&str> = self.classes.keys().map(String::as_str).collect();
        for (i, phase) in self.phases.iter().enumerate() {
            check_mix(&format!("phases[{i}].mix"), &phase.mix, &classes)?;
        }
        check_mix("synthesis.mix", &self.synthesis.mix, &classes)?;
        if let Some(paging) = &self.paging {
            known("paging.class", &paging.class, &classes, "classes")?;
        }
        if let Some(notes) = &self.notes {
            known("notes.class", &notes.class, &classes, "classes")?;
            let tools: Vec<&str> = self.classes[&notes.class].tools.keys().map(String::as_str).collect();
            known("notes.tool", &notes.tool, &tools, &format!("classes.{}.tools", notes.class))?;
            for (i, source) in notes.sources.iter().enumerate() {
                known(&format!("notes.sources[{i}]"), source, &classes, "classes")?;
            }
        }
        if let Some(comparison) = &self.comparison {
            for (i, class) in comparison.classes.iter().enumerate() {
                known(&format!("comparison.classes[{i}]"), class, &classes, "classes")?;
            }
        }
        self.check_classes()
    }

    fn check_classes(&self) -> Result<(), WorkloadError> {
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, class) in &self.classes {
            if let Some(Errors { share, from, to }) = class.errors
                && from.0 + share.0 > to.0 + 1e-9
            {
                let problem =
                    format!("a share of {} does not fit between {} and {}; write `from` + `share` at most `to`", share.0, from.0, to.0);
                return Err(error(format!("classes.{name}.errors"), problem));
            }
            for (tool, detail) in &class.tools {
                if !(0.0..=LARGEST).contains(&detail.weight) {
                    return Err(error(format!("classes.{name}.tools.{tool}.weight"), format!("is {}; write 0 or more", detail.weight)));
                }
                if let Some(other) = owners.insert(tool, name) {
                    let problem = format!("is a tool of `{other}` too; write it in one class only");
                    return Err(error(format!("classes.{name}.tools.{tool}"), problem));
                }
            }
            if class.tools.values().map(|t| t.weight).sum::<f64>() <= 0.0 {
                return Err(error(format!("classes.{name}.tools"), "has no tool with a weight above 0; write one"));
            }
        }
        Ok(())
    }
}

fn check_mix(field: &str, mix: &BTreeMap<String, f64>, classes: &[&str]) -> Result<(), WorkloadError> {
    for (class, weight) in mix {
        known(&format!("{field}.{class}"), class, classes, "classes")?;
        if !(0.0..=LARGEST).contains(weight) {
            return Err(error(format!("{field}.{class}"), format!("is {weight}; write 0 or more")));
        }
    }
    if mix.values().sum::<f64>() <= 0.0 {
        return Err(error(field, "has no class with a weight above 0; write one"));
    }
    Ok(())
}
