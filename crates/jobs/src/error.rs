//! Why a job failed.

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
