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
    /// A record is too large to be held in memory.
    #[error("{name}:{line}: the record that begins here is larger than 1 GiB")]
    RecordTooLarge {
        /// The file.
        name: String,
        /// First line of the record.
        line: u64,
    },
    /// An entry is not valid, and the import is not to continue then.
    #[error("{name}:{line}: {reason}")]
    Entry {
        /// The file.
        name: String,
        /// First line of the entry, or the line at fault.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A configured index is not valid under the schema.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A base DN, branch or attribute name of the options is not valid.
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
    /// The backend would be empty, and the options do not allow that.
    #[error(
        "the backend would be empty afterwards: of {processed} entries {rejected} were rejected and {} skipped{}; \
         nothing was changed (--clearBackend empties the backend)",
        skipped.total(),
        if skipped.total() > 0 { format!(" ({skipped})") } else { String::new() }
    )]
    NothingLeft {
        /// Entries read.
        processed: u64,
        /// Entries that are not valid.
        rejected: u64,
        /// Entries left out.
        skipped: Skips,
    },
    /// The caller asked to stop.
    #[error("interrupted; the data is as it was")]
    Cancelled,
    /// A thread ended without a result: a defect.
    #[error("internal error: a thread of the work ended early")]
    WriterGone,
}
