//! Every config over every transcript.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::share::{Engines, Task, replay_alike, tasks};
use super::{ConfigRow, Derived, Hindsight, Knobs, Sharing, Work};
use crate::hindsight::{bound, oracle};
use crate::policy::Settings;
use crate::replay::Totals;
use crate::replay::event::Prepared;
use crate::trace::Trace;

/// One transcript with what it is replayed under, less the edit.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// The transcript.
    pub trace: Trace,
    /// Readings, cache, prices and window; its `edit` and `policy` are not looked at.
    pub settings: Settings,
}

/// The outcomes of one transcript, config by config.
#[derive(Debug)]
pub struct Block<'a> {
    /// Index of the transcript.
    pub transcript: usize,
    /// One a config, in the grid's order.
    pub totals: &'a [Totals],
}

/// What a sweep found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One row a config, in the grid's order.
    pub rows: Vec<ConfigRow>,
    /// USD by transcript and config: `costs[transcript][config]`.
    pub costs: Vec<Vec<f64>>,
    /// What is minimised, by transcript and config, where it is not the cost; see [`Outcome::values`].
    pub other_values: Option<Vec<Vec<f64>>>,
    /// Number of the session that each transcript belongs to, from 0 in the order of their first transcripts.
    pub sessions: Vec<usize>,
    /// Ids of the sessions, by number.
    pub session_names: Vec<String>,
    /// How many transcripts were done; fewer than asked when the sweep was interrupted.
    pub transcripts_done: usize,
}

impl Outcome {
    /// What is minimised, one value a config, of one transcript.
    pub fn values(&self, transcript: usize) -> &[f64] {
        &self.other_values.as_ref().unwrap_or(&self.costs)[transcript]
    }
}

impl Outcome {
    /// The rows among which a choice is made: all before the first of another policy, which stand behind them.
    #[must_use]
    pub fn ours(&self) -> Self {
        let ours = self.rows.iter().position(|row| !row.knobs.is_ours()).unwrap_or(self.rows.len());
        let cut = |values: &Vec<Vec<f64>>| values.iter().map(|of| of[..ours].to_vec()).collect();
        Self {
            rows: self.rows[..ours].to_vec(),
            costs: cut(&self.costs),
            other_values: self.other_values.as_ref().map(cut),
            ..self.clone()
        }
    }

    /// The rows of one policy behind those of `none`, for a choice among them.
    #[must_use]
    pub fn of_policy(&self, policy: &str) -> Self {
        let is_of = |row: &ConfigRow| row.knobs.is_none() || row.knobs.policy == policy;
        let rows: Vec<usize> = (0..self.rows.len()).filter(|&i| is_of(&self.rows[i])).collect();
        let pick = |values: &Vec<Vec<f64>>| values.iter().map(|of| rows.iter().map(|&i| of[i]).collect()).collect();
        Self {
            rows: rows.iter().map(|&i| self.rows[i].clone()).collect(),
            costs: pick(&self.costs),
            other_values: self.other_values.as_ref().map(pick),
            ..self.clone()
        }
    }

    /// Adds the configs of another outcome on the same transcripts, which has `none` for its first row, after those of this one.
    pub fn extend(&mut self, other: Self) {
        let tail = |mine: &mut Vec<Vec<f64>>, theirs: &[Vec<f64>]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.extend(&theirs[1..]));
        };
        tail(&mut self.costs, &other.costs);
        if let (Some(mine), Some(theirs)) = (&mut self.other_values, &other.other_values) {
            tail(mine, theirs);
        }
        self.rows.extend(other.rows.into_iter().skip(1));
    }
}

/// What is minimised, of one transcript under one config.
pub type Value<'a> = &'a (dyn Fn(&Totals) -> f64 + Sync);

/// Transcripts whose outcomes are held at a time, for each thread: enough that all threads have work.
const TASKS_A_THREAD: usize = 8;

/// Runs `configs` (the first is `none`) over `transcripts` on all threads of the current rayon pool.
///
/// `value` is what a choice among them minimises; without one it is the cost in USD. `sink` gets each transcript's outcomes, in order. `progress` is told of every so many finished replays. When `stop`
/// turns true, the transcripts done so far make the outcome. Sums are taken in the order of the transcripts, so the
/// outcome is the same, to the bit, at any number of threads.
///
/// # Errors
/// Whatever `sink` returns.
pub fn run<E>(
    transcripts: &[Transcript],
    configs: &[Knobs],
    value: Option<Value<'_>>,
    stop: &AtomicBool,
    progress: &(dyn Fn(u64) + Sync),
    sink: impl FnMut(Block<'_>) -> Result<(), E>,
) -> Result<Outcome, E> {
    run_shared(transcripts, configs, Sharing::default(), value, stop, progress, sink).map(|(outcome, _)| outcome)
}

/// As [`run`], saying how much of the work configs share, and how much there was to do. The outcome is the same.
///
/// # Errors
/// Whatever `sink` returns.
pub fn run_shared<E>(
    transcripts: &[Transcript],
    configs: &[Knobs],
    sharing: Sharing,
    value: Option<Value<'_>>,
    stop: &AtomicBool,
    progress: &(dyn Fn(u64) + Sync),
    mut sink: impl FnMut(Block<'_>) -> Result<(), E>,
) -> Result<(Outcome, Work), E> {
    let mut sums = vec![Sum::default(); configs.len()];
    let mut costs = Vec::with_capacity(transcripts.len());
    let mut values = value.map(|_| Vec::with_capacity(transcripts.len()));
    let mut work = Work::default();
    let tasks = tasks(configs);
    // Enough transcripts at a time that all threads have work, few enough that outcomes held in memory stay few.
    let at_a_time = (rayon::current_num_threads() * TASKS_A_THREAD).div_ceil(tasks.len()).max(1);
    for (first, chunk) in transcripts.chunks(at_a_time).enumerate().map(|(i, c)| (i * at_a_time, c)) {
        let parts: Vec<(usize, usize)> = (0..chunk.len()).flat_map(|t| (0..tasks.len()).map(move |task| (t, task))).collect();
        let outcomes: Vec<(Vec<Totals>, Work)> = parts
            .par_iter()
            .map_init(Engines::default, |engines, &(t, task)| {
                let done = replay_task(engines, &chunk[t], configs, &tasks[task], sharing, stop);
                progress(done.0.len() as u64);
                done
            })
            .collect();
        // In the order of the configs, each transcript whole or not at all.
        let whole = outcomes
            .chunks(tasks.len())
            .take_while(|parts| parts.iter().zip(&tasks).all(|((totals, _), task)| totals.len() == task.configs.len()));
        let whole: Vec<Vec<Totals>> = whole.map(|parts| in_order(parts, &tasks, configs.len(), &mut work)).collect();
        sums.par_chunks_mut(CONFIGS_A_SUM).enumerate().for_each(|(part, sums)| {
            for totals in &whole {
                sums.iter_mut().zip(&totals[part * CONFIGS_A_SUM..]).for_each(|(sum, totals)| sum.add(totals));
            }
        });
        for (t, totals) in whole.iter().enumerate() {
            costs.push(totals.iter().map(|t| t.cost_usd).collect());
            if let (Some(value), Some(values)) = (value, &mut values) {
                values.push(totals.iter().map(value).collect());
            }
            sink(Block { transcript: first + t, totals })?;
        }
        if whole.len() < chunk.len() {
            break;
        }
    }
    Ok((finish(transcripts, configs, sums, costs, values), work))
}

/// Configs whose sums one task takes.
const CONFIGS_A_SUM: usize = 512;

/// The outcomes of one transcript, config by config.
fn in_order(parts: &[(Vec<Totals>, Work)], tasks: &[Task], configs: usize, work: &mut Work) -> Vec<Totals> {
    let mut totals = vec![Totals::default(); configs];
    for ((part, done), task) in parts.iter().zip(tasks) {
        work.add(*done);
        task.configs.iter().zip(part).for_each(|(&config, of)| totals[config].clone_from(of));
    }
    totals
}

/// Replays each config of a task; fewer outcomes than configs when it was stopped.
fn replay_task(
    engines: &mut Engines,
    transcript: &Transcript,
    configs: &[Knobs],
    task: &Task,
    sharing: Sharing,
    stop: &AtomicBool,
) -> (Vec<Totals>, Work) {
    let stopped = || stop.load(Ordering::Relaxed);
    let mut settings = transcript.settings.clone();
    let asked = |totals: Vec<Totals>, replayed, by_reference| {
        let work = Work { asked: totals.len() as u64, replayed, by_reference };
        (totals, work)
    };
    if task.alike && !stopped() {
        let edits: Vec<_> = task.configs.iter().map(|&i| configs[i].edit.as_ref()).collect();
        settings.policy = None;
        settings.edit = edits.iter().copied().flatten().next().cloned();
        if let Ok(prepared) = Prepared::new(&transcript.trace, &settings) {
            let (totals, replayed) = replay_alike(engines, &prepared, &edits, sharing, &stopped);
            return asked(totals, replayed, 0);
        }
    }
    let mut totals = Vec::with_capacity(task.configs.len());
    for &config in task.configs.iter().take_while(|_| !stopped()) {
        let (trace, engine) = (&transcript.trace, &mut engines.plain);
        totals.push(match configs[config].hindsight() {
            Some(Hindsight::Oracle) => oracle(engine, trace, &transcript.settings).totals,
            Some(Hindsight::Bound(reach)) => Totals { cost_usd: bound(trace, &transcript.settings, reach), ..Totals::default() },
            None => {
                configs[config].apply(&mut settings);
                engine.run(trace, &settings, |_| {})
            }
        });
    }
    let replayed = totals.len() as u64;
    asked(totals, replayed, replayed)
}

/// Totals over transcripts.
#[derive(Debug, Clone, Default)]
struct Sum {
    transcripts: u64,
    totals: Totals,
    peaks: u64,
    overflowed: u64,
}

impl Sum {
    fn add(&mut self, t: &Totals) {
        self.transcripts += 1;
        self.peaks += t.peak_prompt_tokens;
        self.overflowed += u64::from(t.first_overflow.is_some());
        self.totals.merge(t);
    }
}

fn finish(
    transcripts: &[Transcript],
    configs: &[Knobs],
    sums: Vec<Sum>,
    costs: Vec<Vec<f64>>,
    other_values: Option<Vec<Vec<f64>>>,
) -> Outcome {
    let none = sums.first().map_or(0.0, |sum| sum.totals.cost_usd);
    let rows = configs
        .iter()
        .zip(sums)
        .map(|(knobs, sum)| ConfigRow {
            knobs: knobs.clone(),
            transcripts: sum.transcripts,
            derived: Derived::new(&sum.totals, sum.peaks, none),
            overflowed_transcripts: sum.overflowed,
            totals: sum.totals,
        })
        .collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut session_names = Vec::new();
    let mut sessions = Vec::with_capacity(costs.len());
    for t in &transcripts[..costs.len()] {
        let session = t.trace.session.as_str();
        sessions.push(*numbers.entry(session).or_insert_with(|| {
            session_names.push(session.to_owned());
            session_names.len() - 1
        }));
    }
    Outcome { rows, transcripts_done: costs.len(), sessions, session_names, costs, other_values }
}
