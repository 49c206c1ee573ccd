//! The store: entries, their tree and their postings, on disk and never lost.
//!
//! What holds it together is told in `README.md` beside this crate: the log is the truth, the overlay is what LMDB does not
//! have yet, the fold moves it there, a snapshot is both at one moment.
//!
//! It refuses to know users, policies, protocols and operations: a proposal is opaque bytes, which [`Rules`] apply.

mod error;
mod ids;
pub mod posting;
pub mod record;
pub mod rows;
mod tables;
pub mod varint;

pub use error::{StoreError, is_disk_full};
pub use ids::{ClassSetId, DescId, EntryId, IndexId, ListId, NameId};
pub use posting::IndexKey;
pub use record::{Attribute, Content, LargeStub, RecordBuilder, RecordView, Values};
pub use tables::{ClassSet, Interner, NoTypes, Tables, TypeResolver};
