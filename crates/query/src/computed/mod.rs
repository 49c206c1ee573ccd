//! Computed attributes: values that entries show without having them (OpenDJ: virtual attributes; Sun: Class of
//! Service; X.501: collective attributes). One mechanism for all of them (own design).
//!
//! A [`Definition`] says which attribute, for which entries ([`Reach`]), what becomes of stored values, and where the
//! values come from (a [`ValueSource`]). Definitions are made of tables of the configuration and of entries of certain
//! classes ([`kinds`]); the entries of a backend define for its own entries. What is shown is what filters, compares
//! and the planner go by.
//!
//! * [`ComputedAt`]: what an entry shows at one moment. It comes with the entry's source, see
//!   [`crate::entry::EntrySource::computed`].
//! * [`Program`]: a filter on such attributes, rewritten to those that they come from, so that it can be planned.
//! * [`ComputedService`]: definitions are prepared once and kept; what is kept is always that of the asker's own
//!   moment.
//!
//! # Adding a source
//! Write a type with [`ValueSource`] in a file of its own and something that makes a [`Definition`] with it: from
//! entries, a kind with its class in [`crate::definition_types`] and who reads it in `kinds`; from tables, a row in
//! `tables`. Nothing else knows the sources one by one. [`ValueSource::supply`] gives the values of one entry, with
//! [`Shows::template`] and [`Shows::values_of`] for what is elsewhere. [`ValueSource::narrow`] says, for one assertion,
//! by what entries may match that get their values there: as components put into an [`Alternatives`]. Too many are
//! right, too few are not: each entry that is found is checked.
//!
//! Refuses to know who asks: who may read an attribute is decided before anything is computed.

mod alternatives;
mod collective;
mod cos;
mod definition;
mod definitions;
mod distinct;
mod entries_at;
mod fixed;
mod from_entries;
mod holders;
mod inherited;
mod invert;
mod kinds;
mod lists;
mod memberships;
mod program;
mod reach;
mod reading;
mod roles;
mod service;
mod shown_values;
mod tables;
mod template;
mod template_part;

pub use alternatives::{Alternatives, Narrowing};
pub use collective::reach_of;
pub use definition::{ComputedAssertion, Definition, Priority, Shows, Template, ValueSource};
pub use definitions::Definitions;
pub use entries_at::EntriesAt;
pub use kinds::read;
pub use program::Program;
pub use reach::Reach;
pub use roles::LISTED_MAX as ROLES_LISTED_MAX;
pub use service::{ComputedService, Kept};
pub use shown_values::{ComputedAt, GivenCache};
pub use tables::{TableError, check_tables};
