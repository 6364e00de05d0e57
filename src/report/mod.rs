//! (to come)

pub mod plot;
