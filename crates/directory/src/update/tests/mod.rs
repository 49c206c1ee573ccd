//! Binds and updates as requests against a whole directory in a temporary folder.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod account_states;
pub(crate) mod bed;
mod binds;
mod consequences;
mod judgements;
mod password_policies;
mod passwords;
mod privileges;
mod requests;
mod schema_changes;
mod subtree_deletes;
mod transactions;
