//! The number of an index in a sort.

/// A slot of the sort: the keys of one index. Slots count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub usize);

impl std::fmt::Display for Slot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}
