//! The state of accounts as binds change it.
//!
//! `state_writer` gathers what binds want to be written, and proposes it: one proposal for all that comes while the one
//! before is being written. `reencoder` makes other forms of passwords. What a change does is decided by
//! `change::apply`; what a bind changes, by `accounts`. `expiry_warnings` finds whose password will expire soon.

mod expiry_warnings;
mod pending;
mod reencoder;
mod state_writer;

pub use expiry_warnings::{WalkPlace, WarnedSlice};
pub(crate) use pending::{StateOf, StateWrite};
pub(crate) use reencoder::{Reencoder, Reencoding, has_deprecated};
pub(crate) use state_writer::StateWriter;
