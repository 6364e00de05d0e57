//! From a grid of numbers to an answer.

mod choose;
mod pareto;
mod spread;

pub use choose::{Choice, PLATEAU, Verdict, choose};
pub use pareto::{front, freed_against_refetches};
pub use spread::Spread;
