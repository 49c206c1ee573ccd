//! Which indexes a backend has, and the keys of an entry in them.
//!
//! [`IndexConfigs`] is what an operator asks for, [`IndexSet`] what that means under a schema (one [`Index`] per OpenDJ
//! index id), [`Indexer`] turns an entry, or an old and a new state of it, into keys. It knows nothing of how postings
//! are stored, and nothing of the tree: the system indexes are the store's own.

mod backend_indexes;
mod config;
mod configured;
mod error;
mod filter;
mod indexed_entry;
mod indexer;
mod kind;
mod schema_types;
mod secret;
mod set;
pub mod sort_key;
mod state;
mod vlv;

#[cfg(test)]
mod tests;

pub use backend_indexes::{BackendIndexes, Distrust, UntrustedIndex};
pub use config::{
    DEFAULT_ENTRY_LIMIT, DEFAULT_SUBSTRING_LENGTH, IndexConfig, IndexConfigs, VlvConfig, default_indexes,
};
pub use configured::ConfiguredIndexes;
pub use error::IndexError;
pub use filter::{CompileFilter, IndexFilter};
pub use indexed_entry::IndexedEntry;
pub use indexer::{Indexer, KeyChanges, KeySink, PRESENCE_KEY, substring_keys};
pub use kind::{IndexKind, SUBSTRING_LENGTH_MIN};
pub use schema_types::SchemaTypes;
pub use secret::{HASHED_KEY_BYTES, IndexSecret, SECRET_BYTES};
pub use set::{Index, IndexSet, Method};
pub use sort_key::{SortKey, SortOrder, SortOrderError};
pub use state::{Build, BuildPoint, IndexState, IndexStates, key_derivation};
pub use vlv::VlvIndex;
