//! What generated transcripts look like, measured as the public sessions were.

use std::collections::BTreeMap;

use cleartune::trace::Document;
use cleartune::workload::{Plan, Spec};

/// How many uses back the table asks for, after "at all".
pub const BACK: [usize; 6] = [1, 3, 5, 10, 20, 50];

/// The figures of one class of tools.
#[derive(Default)]
pub struct ClassFigures {
    pub bytes: Vec<f64>,
    pub errors: usize,
    /// Per result: how many uses back it was last needed; none: never.
    pub last: Vec<Option<usize>>,
}

/// The figures of a set of transcripts.
#[derive(Default)]
pub struct Figures {
    pub uses: Vec<f64>,
    pub first_prompt: Vec<f64>,
    /// Largest prompt of each session, and of those with 100 uses or more.
    pub peak: Vec<f64>,
    pub peak_long: Vec<f64>,
    pub growth: Vec<f64>,
    pub batch: Vec<f64>,
    pub gap_s: Vec<f64>,
    pub long_gaps: Vec<f64>,
    /// Natural invalidations of each session of 90 uses or more.
    pub invalidations_long: Vec<f64>,
    pub warm: usize,
    pub thinking: usize,
    pub requests: usize,
    pub classes: BTreeMap<String, ClassFigures>,
}

/// Sizes and times come from the trace, classes and failures from the plan behind it.
pub fn measure(spec: &Spec, transcripts: usize) -> Figures {
    let mut figures = Figures::default();
    for index in 0..transcripts {
        let plan = spec.plan(index);
        figures.add(&plan, &plan.document());
    }
    figures
}

impl Figures {
    fn add(&mut self, plan: &Plan, doc: &Document) {
        let uses = plan.uses.len();
        self.uses.push(uses as f64);
        let mut prompt = f64::from(doc.base_tokens);
        let mut before: Option<f64> = None;
        let (mut issued, mut long_gaps, mut invalidations) = (0, 0, 0);
        let mut last: Vec<Option<usize>> = vec![None; uses];
        let mut at_ms = 0;
        for (i, request) in doc.requests.iter().enumerate() {
            prompt += request.input.iter().map(|b| f64::from(b.tokens)).sum::<f64>();
            match before {
                None => self.first_prompt.push(prompt),
                Some(before) => self.growth.push(prompt - before),
            }
            before = Some(prompt);
            prompt += request.output.iter().map(|b| f64::from(b.tokens)).sum::<f64>();
            for need in &request.needs {
                last[*need as usize] = Some(issued - *need as usize);
            }
            let batch = request.output.iter().filter(|b| b.kind == "use").count();
            issued += batch;
            if batch > 0 {
                self.batch.push(batch as f64);
            }
            if i == 0 {
                self.warm += usize::from(request.flush_above.is_some());
            } else {
                let gap = (request.at_ms - at_ms) as f64 / 1000.0;
                long_gaps += usize::from(gap > 300.0);
                self.gap_s.push(gap);
                invalidations += usize::from(request.flush_above.is_some());
            }
            at_ms = request.at_ms;
            self.thinking += usize::from(request.output.iter().any(|b| b.kind == "thinking"));
            self.requests += 1;
        }
        self.long_gaps.push(f64::from(long_gaps as u32));
        let peak = before.expect("a transcript has a request");
        self.peak.push(peak);
        if uses >= 100 {
            self.peak_long.push(peak);
        }
        if uses >= 90 {
            self.invalidations_long.push(f64::from(invalidations as u32));
        }
        for (planned, last) in plan.uses.iter().zip(last) {
            let class = self.classes.entry(planned.class.clone()).or_default();
            class.bytes.push(planned.result_bytes as f64);
            class.errors += usize::from(planned.error);
            class.last.push(last);
        }
    }

    pub fn all_bytes(&self) -> Vec<f64> {
        self.classes.values().flat_map(|c| c.bytes.iter().copied()).collect()
    }

    /// Share of all characters that the largest tenth of the results holds.
    pub fn largest_tenth(&self) -> f64 {
        let mut bytes = self.all_bytes();
        bytes.sort_by(|a, b| b.total_cmp(a));
        bytes[..bytes.len() / 10].iter().sum::<f64>() / bytes.iter().sum::<f64>()
    }

    /// Share of a class's results, or of all (`None`), last needed more than `back` uses back; 0: needed at all.
    pub fn reuse(&self, class: Option<&str>, back: usize) -> f64 {
        let last: Vec<Option<usize>> =
            self.classes.iter().filter(|(name, _)| class.is_none_or(|c| c == *name)).flat_map(|(_, c)| c.last.iter().copied()).collect();
        last.iter().filter(|l| l.is_some_and(|l| l > back)).count() as f64 / last.len() as f64
    }

    pub fn mix(&self, class: &str) -> f64 {
        self.classes.get(class).map_or(0, |c| c.bytes.len()) as f64 / self.all_bytes().len() as f64
    }
}

/// The value that a share `q` of the values stays below.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
