//! One test binary; a module a subject.

// Figures that are copied through a computation have to come out the same to the bit; cases are easier to read by value.
#![allow(clippy::float_cmp, clippy::needless_pass_by_value)]

mod bill;
mod bill_prefix;
mod cli;
mod closed_forms;
mod compare;
mod config;
mod conformance;
mod damage;
mod event;
mod formats_doc;
mod fuzz_corpus;
mod golden;
mod guide;
mod hindsight;
mod ingest_agents;
mod ingest_broken;
mod ingest_claude_code;
mod ingest_linear;
mod ingest_managed_agents;
mod ingest_messages;
mod ingest_real;
mod ingest_requests;
mod ingest_rows;
mod inspect;
mod lint;
mod models;
mod natural;
mod needs_truth;
mod policies;
mod prices;
mod profile_doc;
mod random;
mod recorded_clearing;
mod replay;
mod replay_rules;
mod scale;
mod scrub;
mod shared;
mod sweep;
mod trace;
mod workload;
