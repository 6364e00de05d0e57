//! One test binary; a module a subject.

mod config;
mod golden;
mod models;
mod prices;
mod random;
mod replay;
mod shared;
mod workload;
