//! An entry of some backend, by numbers.

use store::EntryId;

/// An entry of some backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryPlace {
    /// The backend's place in the directory's list.
    pub backend: usize,
    /// The entry.
    pub id: EntryId,
}
