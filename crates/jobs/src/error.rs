//! Why a job failed.

use std::io;
use std::path::PathBuf;

use query::configured::ConfiguredError;
use store::StoreError;
use store::bulk::BulkError;

/// Why a job failed. Whatever it is, the data that was there is untouched.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// What the configuration says of the backend is not usable.
    #[error(transparent)]
    Configured(#[from] ConfiguredError),
    /// The work itself.
    #[error(transparent)]
    Bulk(#[from] BulkError),
    /// A filter is not one.
    #[error("\"{filter}\" is not a filter: {problem}")]
    Filter {
        /// As it was written.
        filter: String,
        /// Why.
        problem: String,
    },
    /// A branch is no name.
    #[error("\"{dn}\" is not a DN: {problem}")]
    Branch {
        /// As it was written.
        dn: String,
        /// Why.
        problem: String,
    },
    /// An attribute that is not there.
    #[error("the schema has no attribute \"{0}\"")]
    Attribute(String),
    /// A file cannot be written.
    #[error("{file}: {error}")]
    File {
        /// Which.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A backend cannot be opened or read.
    #[error("backend \"{backend}\": {error}")]
    Store {
        /// Which.
        backend: String,
        /// Why.
        error: StoreError,
    },
    /// Nothing was ever imported into the backend, and no server ran on it.
    #[error("the backend \"{backend}\" has no data yet: import some, or start the server once")]
    NoData {
        /// Which.
        backend: String,
    },
}
