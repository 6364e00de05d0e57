//! One test binary; a module a subject.

mod golden;
mod random;
mod replay;
mod shared;
mod workload;
