//! One asker, wherever entries are: makes the answers about entries that one operation needs.

use std::sync::Arc;

use store::{Snapshot, StoreError};

pub use crate::answers::Answers;
use crate::backend::BackendIndex;

/// Which entries an operation looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those of the backends.
    Stored,
    /// The server's own: root DSE, schema, monitor, changelog.
    Own,
}

/// The snapshots that an operation reads from, each with its backend.
pub type Snapshots<'s> = &'s [(BackendIndex, &'s Snapshot)];

/// The rights of one asker. Kept with a search, which may go on on another thread.
pub trait AskerRights: Send + Sync {
    /// The answers for one operation, about entries of all backends (where one is stored says
    /// [`EntrySource::stored`](crate::entry::EntrySource::stored)), or about the server's own. They are for the moment
    /// of these rights: see [`AskerRights::are_of`].
    ///
    /// # Errors
    /// When something cannot be read.
    fn answers(self: Arc<Self>, which: Which) -> Result<Answers, StoreError>;

    /// Whether instructions, names and groups are in a snapshot what they were when these rights were made. If not,
    /// the rights have to be [renewed](AskerRights::renewed) before an entry of the snapshot is judged: it may hold
    /// what only newer instructions hide.
    fn are_of(&self, backend: BackendIndex, snapshot: &Snapshot) -> bool;

    /// The rights that the asker has now, by the instructions that `snapshots` have; none where these are still right.
    ///
    /// # Errors
    /// When something cannot be read.
    fn renewed(
        &self,
        snapshots: Snapshots<'_>,
        now_unix_seconds: i64,
    ) -> Result<Option<Arc<dyn AskerRights>>, StoreError>;
}
