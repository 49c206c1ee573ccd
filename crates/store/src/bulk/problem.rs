//! The problems that `verify-index` finds, as messages.

use crate::EntryId;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A record that cannot be read.
    #[error("entry {id}: {reason}")]
    Record {
        /// The entry.
        id: EntryId,
        /// What is wrong with it.
        reason: String,
    },
    /// The entry above is missing.
    #[error("entry {id}: its parent, entry {parent}, does not exist")]
    NoParent {
        /// The entry.
        id: EntryId,
        /// The parent that it names.
        parent: EntryId,
    },
    /// The chain of parents has no end.
    #[error("entry {id}: is below itself")]
    Cycle {
        /// An entry of the cycle or below it.
        id: EntryId,
    },
    /// The name of an entry belongs to another backend, so the entry is not found by its name.
    #[error(
        "entry {id}: its name \"{dn}\" belongs to another backend: searches find the entry, requests that name it do \
         not; export this backend, rename the entry in the LDIF and import it again"
    )]
    ForeignName {
        /// The entry.
        id: EntryId,
        /// Its name.
        dn: String,
    },
    /// Two entries of the same name.
    #[error("entry {id}: has the same name as entry {other}")]
    SameName {
        /// The entry.
        id: EntryId,
        /// The other one.
        other: EntryId,
    },
    /// An entry is not found by an index.
    #[error("index {index}: entry {id} is missing under key {key}")]
    Missing {
        /// The index.
        index: String,
        /// The key, made readable.
        key: String,
        /// The entry.
        id: EntryId,
    },
    /// An index names an entry that does not have the key.
    #[error("index {index}: key {key} names entry {id}, which does not have it")]
    Extra {
        /// The index.
        index: String,
        /// The key, made readable.
        key: String,
        /// The entry.
        id: EntryId,
    },
    /// The counter of a key is wrong.
    #[error("index {index}: key {key} is counted as {stored}, but has {found} entries")]
    Count {
        /// The index.
        index: String,
        /// The key, made readable.
        key: String,
        /// The counter.
        stored: u64,
        /// What is there.
        found: u64,
    },
    /// A list that cannot be read to its end.
    #[error("index {index}: {reason}")]
    Index {
        /// The index.
        index: String,
        /// What is wrong.
        reason: String,
    },
    /// The index is marked as not to be used.
    #[error("index {index}: needs to be rebuilt")]
    Untrusted {
        /// The index.
        index: String,
    },
    /// The index is being built: this is no damage, and no search uses it before it is complete.
    #[error("index {index}: invalid (being built: {entries} of {total} entries)")]
    Building {
        /// The index.
        index: String,
        /// Entries that are in it.
        entries: u64,
        /// Entries that there are.
        total: u64,
    },
    /// A container that no key refers to, or that is malformed.
    #[error("long list {list}: {reason}")]
    List {
        /// Its number.
        list: u64,
        /// What is wrong.
        reason: String,
    },
    /// Large values and their record disagree.
    #[error("entry {id}: attribute {attribute}: {reason}")]
    LargeValues {
        /// The entry.
        id: EntryId,
        /// The attribute.
        attribute: String,
        /// What is wrong.
        reason: String,
    },
    /// The next number in `meta` is already in use.
    #[error("{what}: the next one would be {next}, but {used} is in use")]
    Counter {
        /// Which numbers.
        what: &'static str,
        /// The next to be given.
        next: u64,
        /// The highest in use.
        used: u64,
    },
}
