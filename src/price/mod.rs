//! Models by name, their prices, smallest cacheable prefix and window.

mod prices;

pub use prices::{PricePatch, Prices, Tier};
