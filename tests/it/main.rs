//! One test binary; a module a subject.

mod golden;
mod shared;
