//! Why work on a whole database fails.

use super::options::Skips;
use super::sort::SortError;
use crate::error::StoreError;
use crate::index::IndexError;

/// Why work on a whole database failed. Whatever it is, the data that was there is untouched.
#[derive(Debug, thiserror::Error)]
pub enum BulkError {
    /// A source cannot be read.
    #[error("cannot read {name}: {source}")]
    Source {
        /// The file.
        name: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A record that would take all memory.
    #[error("{name}:{line}: the record that begins here is larger than 1 GiB")]
    RecordTooLarge {
        /// The file.
        name: String,
        /// First line of the record.
        line: u64,
    },
    /// A bad entry, and rejects were not asked for.
    #[error("{name}:{line}: {reason}")]
    Entry {
        /// The file.
        name: String,
        /// First line of the entry, or the line at fault.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// An index that the schema does not carry.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A base DN, branch or attribute name of the options.
    #[error("{0}")]
    Option(String),
    /// A reject, skip or LDIF file cannot be written.
    #[error("cannot write {name}: {source}")]
    Output {
        /// The file.
        name: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The sort failed.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// The database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The new directory could not be made or put in place.
    #[error("cannot put the new database in place: {0}")]
    Swap(std::io::Error),
    /// Old entries are to stay, but the newest of their changes are only in the log.
    #[error("the log has changes that the database does not have yet; start the server once, stop it, and import then")]
    NotFolded,
    /// Nothing would be left, and nobody said that this is wanted.
    #[error(
        "the backend would be empty afterwards: of {processed} entries {rejected} were rejected and {} skipped{}; \
         nothing was changed (--clearBackend empties the backend)",
        skipped.total(),
        if skipped.total() > 0 { format!(" ({skipped})") } else { String::new() }
    )]
    NothingLeft {
        /// Entries read.
        processed: u64,
        /// Bad entries.
        rejected: u64,
        /// Entries left out.
        skipped: Skips,
    },
    /// The caller asked to stop.
    #[error("interrupted; the data is as it was")]
    Cancelled,
    /// A thread ended without a result: a defect, told by its own message.
    #[error("a thread ended early")]
    WriterGone,
}
