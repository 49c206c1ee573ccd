//! From a prepared filter to candidates: which index keys are read, in which order, and when reading more is not worth
//! it.
//!
//! The rules are OpenDJ's (a key over `index-entry-limit` counts as not indexed, And ignores what is not indexed, Or
//! needs all of it, Not never is), with exact counts where OpenDJ guesses. A candidate is only that: the entry decides,
//! unless [`Found::is_exact`].
//!
//! Invariants: (1) Every entry that matches the filter is among the candidates. (2) When the plan is exact, every
//! candidate matches the filter, at the moment of the view.

mod and;
pub mod candidates;
pub mod cost;
mod item;
mod planner;
mod range;
mod reads;
pub mod remedy;
pub mod scope;
pub mod trace;

pub use candidates::{Candidates, FEW_CANDIDATES, Found, RANGE_IDS_MAX, common, whole};
pub use item::successor;
pub use planner::Planner;
pub use scope::{Branch, Narrowed, covers, scoped_candidates, subtree};
