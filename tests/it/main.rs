//! One test binary; a module a subject.

mod config;
mod golden;
mod ingest_broken;
mod ingest_claude_code;
mod ingest_real;
mod models;
mod prices;
mod random;
mod replay;
mod shared;
mod workload;
