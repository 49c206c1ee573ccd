//! One asker, wherever entries are: makes the answers about entries that one operation needs.

use std::sync::Arc;

use store::StoreError;

pub use crate::answers::Answers;
use crate::facts::Facts;
use crate::read_moment::ReadContext;

/// Which entries an operation looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those of the backends.
    Stored,
    /// The server's own: root DSE, schema, monitor, changelog.
    Own,
}

/// What an operation knows when it begins to look at entries.
#[derive(Clone, Copy)]
pub struct LookingAt<'l> {
    /// The schema.
    pub facts: &'l Arc<Facts>,
    /// The backends.
    pub reading: &'l ReadContext,
    /// Which entries will be asked about.
    pub which: Which,
    /// The time of the operation.
    pub now_unix_seconds: i64,
}

/// The rights of one asker. Kept with a search, which may go on on another thread.
pub trait AskerRights: Send + Sync {
    /// The answers for one operation, about entries of all backends (where one is stored says
    /// [`EntrySource::stored`](crate::entry::EntrySource::stored)), or about the server's own. They are those of now: a
    /// search that goes on at another moment asks for others.
    ///
    /// # Errors
    /// When something cannot be read.
    fn answers(self: Arc<Self>, at: LookingAt<'_>) -> Result<Answers, StoreError>;
}
