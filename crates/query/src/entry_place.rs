//! An entry of some backend, by numbers.

use store::EntryId;

use crate::backend::BackendIndex;

/// An entry of some backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryPlace {
    /// Which backend holds it.
    pub backend: BackendIndex,
    /// The entry.
    pub id: EntryId,
}
