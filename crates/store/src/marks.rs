//! What has changed that rights depend on: marks of versions, and counters of entries.
//!
//! Whoever keeps something that was worked out from entries keeps with it the marks of the snapshot that it was read
//! from, and the counters that were loaded *before* that snapshot was taken. It is good for another snapshot when the
//! marks of that one, and the counters loaded *after* that one was taken, are the same.
//!
//! Invariants:
//! (1) Numbers only grow while a backend is open, and those of two openings never meet.
//! (2) A counter moves after the version with the change is published and before anyone is answered.
//!
//! Marks belong to the process: no proposal, log or database has them, and a replay makes others. Does not know what
//! access control is: the rules say which entries matter to it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use imbl::Vector;

use crate::EntryId;

/// So many entries that [`Marks::holders_since`] can name. Whoever is further behind reads all of them.
const CHANGED_MAX: usize = 4_096;
/// Counters of entries; entries with the same counter look changed together.
const COUNTERS: usize = 1 << 16;

/// What has changed up to a version, for rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Grows by one for each entry whose access control instructions changed.
    pub access: u64,
    /// Grows when a group, a password policy, or an entry that says what other entries get, changed.
    pub membership: u64,
    /// The entries that `access` counted last, the newest at the end.
    changed: Vector<EntryId>,
}

impl Marks {
    /// The first marks of an opening.
    pub(crate) fn first(number: u64) -> Marks {
        Marks { access: number, membership: number, changed: Vector::new() }
    }

    pub(crate) fn mark_access(&mut self, id: EntryId) {
        self.access += 1;
        self.changed.push_back(id);
        if self.changed.len() > CHANGED_MAX {
            self.changed.pop_front();
        }
    }

    pub(crate) fn mark_membership(&mut self) {
        self.membership += 1;
    }

    /// The entries whose access control instructions changed since `access` was the mark, some maybe more than once;
    /// none when that is not known any more, or was the mark of another opening.
    pub fn holders_since(&self, access: u64) -> Option<impl Iterator<Item = EntryId> + '_> {
        let count = usize::try_from(self.access.checked_sub(access)?).ok()?;
        let known = self.changed.len().checked_sub(count)?;
        Some(self.changed.iter().skip(known).copied())
    }
}

/// The numbers of the published version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedMarks {
    /// See [`Marks::access`].
    pub access: u64,
    /// See [`Marks::membership`].
    pub membership: u64,
    /// See [`Snapshot::tree_generation`](crate::Snapshot::tree_generation).
    pub tree_generation: u64,
}

/// The numbers of the published version, and the counters, for whoever has no snapshot.
pub(crate) struct SharedMarks {
    access: AtomicU64,
    membership: AtomicU64,
    tree_generation: AtomicU64,
    counters: Box<[AtomicU32]>,
}

impl SharedMarks {
    pub fn new(marks: &Marks, tree_generation: u64) -> SharedMarks {
        SharedMarks {
            access: AtomicU64::new(marks.access),
            membership: AtomicU64::new(marks.membership),
            tree_generation: AtomicU64::new(tree_generation),
            counters: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Called right after a version was published.
    pub fn publish(&self, marks: &Marks, tree_generation: u64) {
        self.access.store(marks.access, Ordering::Release);
        self.membership.store(marks.membership, Ordering::Release);
        self.tree_generation.store(tree_generation, Ordering::Release);
    }

    #[inline]
    pub fn load(&self) -> PublishedMarks {
        PublishedMarks {
            access: self.access.load(Ordering::Acquire),
            membership: self.membership.load(Ordering::Acquire),
            tree_generation: self.tree_generation.load(Ordering::Acquire),
        }
    }

    /// Called after the version in which the entry is different was published.
    pub fn count(&self, id: EntryId) {
        if let Some(counter) = self.counters.get(place(id)) {
            counter.fetch_add(1, Ordering::Release);
        }
    }

    #[inline]
    pub fn counter(&self, id: EntryId) -> u32 {
        self.counters.get(place(id)).map_or(0, |counter| counter.load(Ordering::Acquire))
    }
}

/// Numbers are dense, so neighbours have counters of their own.
#[inline]
fn place(id: EntryId) -> usize {
    id.0 as usize % COUNTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_named_as_far_back_as_they_are_kept() {
        let mut marks = Marks::first(7 << 40);
        let begin = marks.access;
        assert_eq!(marks.holders_since(begin).unwrap().count(), 0);
        (1..=3).for_each(|id| marks.mark_access(EntryId(id)));
        let since = |marks: &Marks, mark| marks.holders_since(mark).map(|ids| ids.map(|id| id.0).collect::<Vec<_>>());
        assert_eq!(since(&marks, begin), Some(vec![1, 2, 3]));
        assert_eq!(since(&marks, begin + 2), Some(vec![3]));
        assert_eq!(since(&marks, begin - 1), None, "the mark of another opening");
        assert_eq!(since(&marks, begin + 4), None, "a mark that is not there yet");
        (4..=CHANGED_MAX as u64 + 1).for_each(|id| marks.mark_access(EntryId(id)));
        assert_eq!(since(&marks, begin), None, "the first one is not kept any more");
        assert_eq!(since(&marks, begin + 1).unwrap().len(), CHANGED_MAX);
    }
}
