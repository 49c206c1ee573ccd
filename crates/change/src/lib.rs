//! What an update does to a backend: proposals, `apply`, plugins, the history of changes, undoing them, the audit log's
//! records.
//!
//! Refuses to know sessions and clients: who stands behind an update is part of its proposal.

pub mod apply;
pub mod audit;
pub mod csn;
pub mod history;
pub mod index_proposal;
pub mod judged;
mod judged_content;
pub mod judged_tree;
pub mod parts;
pub mod password_change;
pub mod proposal;
mod refusal;
pub mod state_changes;
mod tried_changes;
pub mod undo;

pub use refusal::Refusal;
pub use tried_changes::TriedChanges;
