//! The errors of the store. `query` maps them to result codes.

use std::io;
use std::path::PathBuf;

use crate::posting::Damaged;

/// Why the store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No room on the disk (or no quota). Reads go on; writes resume by themselves when there is room.
    #[error("the disk is full ({what})")]
    DiskFull {
        /// What was being written.
        what: &'static str,
    },
    /// The disk refused a read or a write.
    #[error("{what}: {detail}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// The message of the system.
        detail: String,
    },
    /// LMDB refused.
    #[error("database: {0}")]
    Database(String),
    /// The stored bytes have a form that no version of this program writes.
    #[error("database is damaged: {0}; run verify-index, then restore or re-import")]
    Damaged(String),
    /// The log has a hole or a damaged record before its end.
    #[error("log is damaged: {0}")]
    LogDamaged(String),
    /// The log does not have every change that was acknowledged.
    #[error(
        "{0}. Acknowledged changes would be lost: restore the folders \"db\" and \"log\" of the backend together from \
         one backup, or run \"pando repair-log\" to go on without these changes"
    )]
    ChangesMissing(String),
    /// A replayed proposal had another outcome than when it was first applied.
    #[error(
        "the replay of change {seq} gave result {now}, but the log has {then}: the rules or the data are not the same"
    )]
    ReplayMismatch {
        /// Sequence number of the change.
        seq: u64,
        /// Outcome code in the log.
        then: i32,
        /// Outcome code now.
        now: i32,
    },
    /// The log was written by another version of the rules.
    #[error(
        "the log was written by rules version {found}, this program has {ours}; start the older version once and stop \
         it cleanly"
    )]
    RulesVersion {
        /// Version in the log.
        found: u32,
        /// Version of this program.
        ours: u32,
    },
    /// The files have a format that this program does not know.
    #[error("{what} has format {found}, this program knows {ours}")]
    Format {
        /// Which files.
        what: &'static str,
        /// Format found.
        found: u32,
        /// Format known.
        ours: u32,
    },
    /// Another process has the backend open for writing.
    #[error("{path} is in use by process {holder}")]
    InUse {
        /// The lock file.
        path: PathBuf,
        /// Process id in it, or `unknown`.
        holder: String,
    },
    /// The write queue or the overlay is at its limit.
    #[error("too many changes are waiting; try again")]
    Busy,
    /// The backend was closed.
    #[error("the backend is closed")]
    Closed,
    /// A proposal is larger than the log takes.
    #[error("the change has {bytes} bytes; the limit is {limit}")]
    ProposalTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A record is too large.
    #[error("the entry has {bytes} bytes; the limit is {limit}")]
    RecordTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// No number is left for a new attribute description.
    #[error("the database already has {limit} attribute descriptions, the most that are possible")]
    TooManyDescriptions {
        /// The limit.
        limit: usize,
    },
    /// A configured index is not valid under the schema.
    #[error(transparent)]
    Index(#[from] crate::index::IndexError),
    /// An entry lies so deep that its name cannot be made. Moves of subtrees can bring that about.
    #[error("the entry lies deeper in the tree than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The request of the caller contradicts the stored data: a defect of the caller, found before anything was
    /// changed.
    #[error("internal error: the request contradicts the stored data: {0}")]
    Misuse(&'static str),
    /// The backend applies no further proposals until it is opened anew.
    #[error(
        "this backend takes no more updates, because {}: {reason}; searches go on. {}", cause.text(), cause.advice()
    )]
    UpdatesStopped {
        /// What failed.
        cause: StopCause,
        /// How it failed.
        reason: Box<StoreError>,
    },
    /// The order of proposals gave a position twice or left one out.
    #[error("the order of updates goes from position {last} to {next}")]
    OutOfOrder {
        /// The position applied last.
        last: u64,
        /// The one given after it.
        next: u64,
    },
    /// The backend was closed, or updates stopped, before the proposal came back from the order.
    #[error("the server stopped before the outcome of this update was known; look whether it was made")]
    OutcomeUnknown,
    /// Applying a proposal panicked; nothing of it was kept.
    #[error("internal error while applying a change")]
    Panicked,
}

/// What failed when a backend stopped applying proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// Reading the data while a proposal was applied: what it would have done is unknown.
    Apply,
    /// The order of proposals.
    Order,
    /// Writing a proposal to the log, although its position in the order holds.
    Log,
}

impl StopCause {
    fn text(self) -> &'static str {
        match self {
            StopCause::Apply => "its data could not be read while one was applied",
            StopCause::Order => "their order is not known any more",
            StopCause::Log => "one that has its place in the order could not be written to the log",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            StopCause::Apply => "Check the disk, run verify-index, then restart the server",
            StopCause::Order => "Restart the server",
            StopCause::Log => "Check the disk, then restart the server",
        }
    }
}

impl StoreError {
    /// Wraps an I/O error; a full disk is a variant of its own.
    pub fn io(what: &'static str, error: &io::Error) -> StoreError {
        if is_disk_full(error) {
            StoreError::DiskFull { what }
        } else {
            StoreError::Io { what, detail: error.to_string() }
        }
    }

    /// Whether it is a limit that depends on the proposal and the data alone, and so is the same on every machine and
    /// in every replay.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            StoreError::ProposalTooLarge { .. }
                | StoreError::RecordTooLarge { .. }
                | StoreError::TooManyDescriptions { .. }
                | StoreError::TooDeep { .. }
        )
    }

    /// Whether removing files would help.
    pub(crate) fn is_file_system_full(&self) -> bool {
        matches!(self, StoreError::DiskFull { what } if *what != MAP)
    }
}

/// What is full when the database has reached its largest size. Removing other files does not help then.
const MAP: &str = "database map";

/// Whether an I/O error says that there is no room.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

impl From<Damaged> for StoreError {
    fn from(damaged: Damaged) -> StoreError {
        StoreError::Damaged(damaged.0.to_owned())
    }
}

impl From<heed::Error> for StoreError {
    fn from(error: heed::Error) -> StoreError {
        match error {
            heed::Error::Io(error) => StoreError::io("database", &error),
            heed::Error::Mdb(heed::MdbError::MapFull) => StoreError::DiskFull { what: MAP },
            other => StoreError::Database(other.to_string()),
        }
    }
}
