//! From a grid of numbers to an answer.

pub mod bootstrap;
mod choose;
pub mod held_out;
mod pareto;
mod spread;

pub use choose::{Choice, PLATEAU, Verdict, choose};
pub use pareto::{freed_against_refetches, front};
pub use spread::Spread;
