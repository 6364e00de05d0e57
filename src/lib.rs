//! cleartune finds the `trigger`, `keep` and `clear_at_least` of tool-result clearing that suit one team's own agent.
//!
//! Data flows one way: source → [`trace`] → [`replay`] → [`sweep`] → [`decide`] → [`report`].
//! Everything here is pure: no files, clock, environment, global randomness or printing. The binary does those.
//!
//! | module | owns |
//! |---|---|
//! | [`trace`] | the transcript model and its file format `cleartune.trace/1` |
//! | [`ingest`] | readers of agents' logs: bytes in, traces and a report of what was read out |
//! | [`scrub`] | a log with every word replaced, to be shown to others |
//! | [`workload`] | the generator of synthetic transcripts |
//! | [`policy`] | the config: which results are cleared, under which reading of the public record |
//! | [`price`] | models, prices, windows |
//! | [`replay`] | one trace under one config: history, cache, bill, report |
//! | [`sweep`] | a grid of configs over many transcripts, on all cores |
//! | [`profile`] | what a workload looks like: sizes, growth, reuse, pauses, recorded usage |
//! | [`decide`] | Pareto front, the choice, its spread |
//! | [`report`] | CSV, JSON, terminal answer and pictures as bytes |

pub mod compare;
pub mod decide;
pub mod findings;
pub mod hindsight;
pub mod ingest;
pub mod policy;
pub mod price;
pub mod profile;
pub mod replay;
pub mod report;
pub mod results;
pub mod scrub;
pub mod sweep;
pub mod trace;
pub mod workload;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
