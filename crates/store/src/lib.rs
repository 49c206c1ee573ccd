//! The store: entries, their tree and their posting lists, durable on disk.
//!
//! `README.md` of this crate explains how it works: the log is the truth, the overlay is what LMDB does not have yet,
//! the fold moves it there, and a snapshot is both at one moment.
//!
//! It does not know users, policies, protocols and operations: a proposal is opaque bytes, which [`Rules`] apply.

mod backend;
mod backend_options;
pub mod bulk;
pub mod env;
mod error;
mod extract;
mod fold;
mod fold_limits;
mod ids;
mod image;
pub mod index;
mod index_work;
mod instance_lock;
mod job;
pub mod log;
mod marks;
pub mod order;
mod ordered_queue;
pub mod overlay;
pub mod posting;
mod postings;
mod proposed;
mod queue;
mod read_only;
mod readers;
pub mod record;
mod repair;
mod replay;
mod restoring;
pub mod rows;
mod rules;
mod scan;
mod scan_back;
mod stats;
mod submitter;
mod tables;
#[cfg(test)]
mod tests;
mod txn;
pub mod varint;
mod version;
mod view;
mod waits;
pub mod write_out;
mod writer;

pub use backend::{Backend, Rebound, database_path, log_path, new_uuid};
pub use backend_options::BackendOptions;
pub use error::{StopCause, StoreError, is_disk_full};
pub use extract::{IndexBinder, KeyExtractor};
pub use fold_limits::FoldLimits;
pub use ids::{ClassSetId, DescId, EntryId, IndexId, ListId, NameId};
pub use image::{Image, ImageFacts};
pub use instance_lock::InstanceLock;
pub use job::Waker;
pub use marks::{Marks, PublishedMarks};
pub use order::{LocalOrder, Order, OrderHealth, Ordered, Position};
pub use posting::IndexKey;
pub use postings::{CheckedIter, PostingIter, Postings};
pub use proposed::{Proposed, Ticket};
pub use read_only::{ReadOnlyBackend, Trial};
pub use record::{Attribute, Content, LargeStub, RecordBuilder, RecordView, Values};
pub use repair::{LogRepair, repair_log};
pub use restoring::{RestoreFolder, Restoring};
pub use rules::{Done, Outcome, Rules};
pub use scan::{EntryScan, KeyedValue, PostingScan, ValueScan};
pub use scan_back::PostingScanBack;
pub use stats::{DiskTrouble, Doing, Minute, Stats};
pub use submitter::Submitter;
pub use tables::{CLASS_SETS_MAX, ClassSet, Interner, NoTypes, Tables, TypeResolver};
pub use txn::Txn;
pub use version::Snapshot;
pub use view::{RecordRef, View};
pub use waits::{Behind, Phases, WaitReason};
