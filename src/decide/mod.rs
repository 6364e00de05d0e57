//! From a grid of numbers to an answer.

mod advice;
pub mod bootstrap;
mod choose;
mod importance;
mod kinds;
mod objective;
mod pareto;
mod plateau;
pub mod sensitivity;
mod split;
mod spread;

pub use advice::{Advice, DAYS_A_MONTH};
pub use choose::{Against, Ask, Decision, Other, Turn, Verdict, decide};
pub use importance::{Share, importance};
pub use kinds::{ByKind, by_kind};
pub use objective::{Constraints, Latency, Metric, Objective};
pub use pareto::{freed_against_refetches, front, front_of_three, knee, missing};
pub use plateau::{PLATEAU, Plateau};
pub use split::chosen_on;
pub use spread::Spread;
