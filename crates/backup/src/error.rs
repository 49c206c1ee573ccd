//! Why a backup is not made, verified or restored.

use jobs::JobError;
use store::StoreError;

use crate::storage::StorageError;

/// Why. Whatever it is, the data that was there is untouched, and no incomplete backup counts.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The backend cannot be read or written.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The data cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something in the backup is not what was written.
    #[error("the backup \"{backup}\" is damaged: {what}; restore another one, and make a new full backup")]
    Damaged {
        /// Its name.
        backup: String,
        /// What is wrong.
        what: String,
    },
    /// It was made by a later version.
    #[error(
        "the backup \"{backup}\" has format {found}, this program knows {ours}: use a newer version of the program"
    )]
    Newer {
        /// Its name.
        backup: String,
        /// The format found.
        found: u32,
        /// The format known.
        ours: u32,
    },
    /// Its records were made by other rules.
    #[error(
        "the changes in the backup \"{backup}\" were made by rules version {found}, this program has {ours}: restore \
         with the version that made it ({program}), stop that cleanly, and start this one"
    )]
    Rules {
        /// Its name.
        backup: String,
        /// Version found.
        found: u32,
        /// Version of this program.
        ours: u32,
        /// The version of the program that made it.
        program: String,
    },
    /// A key is needed.
    #[error("the backup \"{backup}\" is sealed: give the key with {option}")]
    KeyNeeded {
        /// Its name.
        backup: String,
        /// Which option.
        option: &'static str,
    },
    /// Another key.
    #[error("the key does not fit the backup \"{backup}\", or its manifest was changed")]
    WrongKey {
        /// Its name.
        backup: String,
    },
    /// A key is given for what none protects.
    #[error(
        "the backup \"{backup}\" is not sealed, but a key was given: nothing proves that it is yours. Leave the \
         key out if you trust it"
    )]
    NotSealed {
        /// Its name.
        backup: String,
    },
    /// The key cannot be used.
    #[error("{0}")]
    Key(String),
    /// Nothing of that name.
    #[error("there is no backup \"{backup}\" of backend \"{backend}\" in {place}")]
    NotThere {
        /// Its name.
        backup: String,
        /// Whose.
        backend: String,
        /// Where it was looked for.
        place: String,
    },
    /// Nothing at all.
    #[error("there is no full backup of backend \"{backend}\" in {place}")]
    NoFull {
        /// Whose.
        backend: String,
        /// Where it was looked for.
        place: String,
    },
    /// The name is taken.
    #[error("there is a backup \"{backup}\" of backend \"{backend}\" in {place} already: give another --backupID")]
    Exists {
        /// Its name.
        backup: String,
        /// Whose.
        backend: String,
        /// Where.
        place: String,
    },
    /// A name that cannot be one.
    #[error(
        "\"{0}\" cannot be the name of a backup: take 1 to 64 of the characters a-z A-Z 0-9 . _ -, not a dot first"
    )]
    BadId(String),
    /// The log does not have what an incremental backup would need.
    #[error("{0}: make a full backup")]
    LogGone(String),
    /// A backup of the chain is missing.
    #[error("{0}")]
    Chain(String),
    /// It belongs to another backend.
    #[error(
        "the backup \"{backup}\" has the base DNs {found}, backend \"{backend}\" has {ours}: restore it into a backend \
         with the same base DNs"
    )]
    Foreign {
        /// Its name.
        backup: String,
        /// Base DNs in it.
        found: String,
        /// Whose.
        backend: String,
        /// Its base DNs.
        ours: String,
    },
    /// The caller asked to stop.
    #[error("interrupted; everything is as it was")]
    Cancelled,
    /// The random source or a cipher of the system refuses.
    #[error("internal error: {0}")]
    Internal(&'static str),
}

impl BackupError {
    pub(crate) fn damaged(backup: &str, what: impl Into<String>) -> BackupError {
        BackupError::Damaged { backup: backup.to_owned(), what: what.into() }
    }
}
