//! Why the history of changes cannot be opened.

use std::path::PathBuf;

use store::StoreError;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum HistoryOpenError {
    /// What is remembered of change numbers cannot be read.
    #[error(
        "{} has the change numbers that were given, and is not readable: {reason}; put a copy of it in place, or write \
         the one line \"next NUMBER\" into it, with a number above all that any client has seen: the changelog then \
         begins there",
        path.display()
    )]
    ChangeNumbers {
        /// Its file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The store refuses.
    #[error("backend \"changelog\": {error}")]
    Store {
        /// Why.
        error: StoreError,
    },
}
