//! Models by name, their prices, smallest cacheable prefix, lifetimes and window; and what a replay costs by them.

mod catalogue;
mod extract;
mod names;
mod overrides;
mod patch;
mod prices;
mod resolve;

pub use catalogue::{Catalogue, Model, Ttl};
pub(crate) use patch::MOST_USD;
pub use patch::{Window, parse_ttl};
pub use prices::{PricePatch, Prices, Tier, UnitPrices};
pub use resolve::{ModelNote, Origin, Overrides, PriceError, resolve, resolve_trace};
