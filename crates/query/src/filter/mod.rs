//! Filters, prepared once per request and tried on entries (RFC 4511 §4.5.1.7): three-valued, every filter kind.
//!
//! [`Matcher::compile`] prepares assertion values under their matching rules, [`Matcher::matches`] (in `evaluate`)
//! compares bytes. Neither knows indexes: what the planner reads it reads off the same prepared nodes.

mod build;
mod evaluate;
mod index_filter;
mod item_rights;
mod matcher;
mod one_value;

#[cfg(test)]
mod tests;

pub use evaluate::{FilterScratch, Truth};
pub use index_filter::IndexFilters;
pub use item_rights::{Asker, ItemRights};
pub use matcher::{Item, Matcher, Node, NodeIndex, Target, Test};
