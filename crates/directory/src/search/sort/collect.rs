//! Collecting places of entries in a sort order: all of them, or the first so many.
//!
//! Memory is bounded by [`SORT_BYTES_MAX`] for one search and by [`Budget`] for all, whatever is searched. Knows no
//! entry.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::search::paged::Position;
use crate::search::refusal::SearchRefusal;
use crate::search::stop::Stop;

/// Memory for the places of one search. Some 700,000 entries with keys of 30 bytes.
pub(in crate::search) const SORT_BYTES_MAX: usize = 64 << 20;

/// Memory is taken from the budget in pieces of this size, so that sorts do not meet there at every entry.
const BUDGET_STEP: usize = 64 << 10;

/// What all searches of the process share: any number of them may be between two turns, with what they have collected.
static ALL: Budget = Budget::new(4 * SORT_BYTES_MAX);

/// What a place takes beside its key: the place itself, and what the allocator adds.
const POSITION_BYTES: usize = size_of::<Position>() + 16;

/// Takes places in any order, gives them back in theirs.
#[derive(Debug)]
pub(in crate::search) struct Collector {
    /// The greatest on top, which goes when there are too many.
    kept: BinaryHeap<Position>,
    keep: Option<usize>,
    /// Places up to here are not taken.
    after: Option<Position>,
    /// Entries up to here, by the values that are stored, were sent.
    walked: Option<Position>,
    bytes: usize,
    reserved: Reserved,
}

/// The keys do not fit.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::search) enum TooMuch {
    /// Into what one search may take.
    ForOne,
    /// Beside those of other searches.
    ForAll,
}

/// Memory that several collectors share.
#[derive(Debug)]
pub(in crate::search) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    const fn new(bytes: usize) -> Budget {
        Budget { left: AtomicUsize::new(bytes) }
    }
}

/// A part of a budget, given back when dropped.
#[derive(Debug)]
pub(in crate::search) struct Reserved {
    budget: &'static Budget,
    bytes: usize,
}

impl Reserved {
    /// Makes sure that it is at least `bytes`.
    #[inline]
    fn cover(&mut self, bytes: usize) -> Result<(), TooMuch> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let more = (bytes - self.bytes).next_multiple_of(BUDGET_STEP);
        let less = |left: usize| left.checked_sub(more);
        match self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(_) => {
                self.bytes += more;
                Ok(())
            }
            Err(_) => Err(TooMuch::ForAll),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

impl Collector {
    /// Keeps the least `keep` places, or all, behind `after`.
    pub(in crate::search) fn new(keep: Option<usize>, after: Option<Position>) -> Collector {
        Collector::within(&ALL, keep, after)
    }

    /// Keeps the least `keep` entries, or all, of those that the walk of an index has not sent before it came to
    /// `walked`. Their keys may be others now: of values that may not be searched any more.
    pub(in crate::search) fn of_the_rest(keep: Option<usize>, walked: Option<Position>) -> Collector {
        Collector { walked, ..Collector::new(keep, None) }
    }

    /// The place up to which entries were sent, by the values that are stored.
    pub(in crate::search) fn walked(&self) -> Option<&Position> {
        self.walked.as_ref()
    }

    fn within(budget: &'static Budget, keep: Option<usize>, after: Option<Position>) -> Collector {
        Collector {
            kept: BinaryHeap::new(),
            keep,
            after,
            walked: None,
            bytes: 0,
            reserved: Reserved { budget, bytes: 0 },
        }
    }

    /// Takes a place; `key` is only kept if the place is.
    pub(in crate::search) fn offer(&mut self, key: &[u8], place: Position) -> Result<(), TooMuch> {
        let rank = |other: &Position| {
            (key, place.backend, place.base, place.id).cmp(&(&other.key, other.backend, other.base, other.id))
        };
        if self.after.as_ref().is_some_and(|after| rank(after).is_le()) {
            return Ok(());
        }
        if self.keep.is_some_and(|keep| self.kept.len() >= keep) {
            if self.kept.peek().is_none_or(|last| rank(last).is_ge()) {
                return Ok(());
            }
            let gone = self.kept.pop().map_or(0, |gone| gone.key.capacity() + POSITION_BYTES);
            self.bytes = self.bytes.saturating_sub(gone);
        }
        let position = Position { key: key.to_vec(), ..place };
        self.bytes += position.key.capacity() + POSITION_BYTES;
        if self.bytes > SORT_BYTES_MAX {
            return Err(TooMuch::ForOne);
        }
        self.reserved.cover(self.bytes)?;
        self.kept.push(position);
        Ok(())
    }

    /// All that was kept, in order, each once; and the memory that it is in, to be kept as long.
    pub(in crate::search) fn into_sorted(self) -> (Vec<Position>, Reserved) {
        let mut sorted = self.kept.into_sorted_vec();
        sorted.dedup();
        (sorted, self.reserved)
    }
}

pub(in crate::search) fn too_much(what: TooMuch) -> Stop {
    match what {
        TooMuch::ForOne => SearchRefusal::SortTooLarge { mib: SORT_BYTES_MAX >> 20 }.into(),
        TooMuch::ForAll => SearchRefusal::TooManySorts.into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use query::backend::BackendIndex;
    use store::EntryId;

    use super::*;

    proptest! {
        #[test]
        fn the_least_are_kept_in_order(
            offered in prop::collection::btree_set((prop::collection::vec(0u8..3, 0..3), 0usize..2, 1u64..40), 0..60),
            keep in prop::option::of(0usize..20), after: Option<prop::sample::Index>,
        ) {
            let mut all: Vec<Position> = offered.iter()
                .map(|(key, backend, id)| {
                    Position { key: key.clone(), backend: BackendIndex(*backend), base: EntryId(1), id: EntryId(*id) }
                })
                .collect();
            all.sort();
            let after = after.filter(|_| !all.is_empty()).map(|at| at.get(&all).clone());
            let mut collector = Collector::new(keep, after.clone());
            for position in all.iter().rev() {
                let place = Position { key: Vec::new(), ..position.clone() };
                collector.offer(&position.key, place).unwrap();
            }
            all.retain(|position| after.as_ref().is_none_or(|after| position > after));
            all.truncate(keep.unwrap_or(usize::MAX));
            prop_assert_eq!(collector.into_sorted().0, all);
        }
    }

    #[test]
    fn memory_is_bounded_unless_little_is_kept() {
        let key = vec![7; 1 << 20];
        let place = |id| Position { id: EntryId(id), ..Position::default() };
        let mut all = Collector::new(None, None);
        let taken = (0..100).take_while(|id| all.offer(&key, place(*id)).is_ok()).count();
        assert_eq!(taken, 63);
        let mut few = Collector::new(Some(10), None);
        assert!((0..100).rev().all(|id| few.offer(&key, place(id)).is_ok()));
        assert_eq!(few.into_sorted().0.len(), 10);
    }

    #[test]
    fn memory_of_all_together_is_bounded_and_comes_back() {
        static SMALL: Budget = Budget::new(3 * BUDGET_STEP);
        let key = vec![7; BUDGET_STEP / 2];
        let place = |id| Position { id: EntryId(id), ..Position::default() };
        let fill = |collector: &mut Collector, count| (0..count).try_for_each(|id| collector.offer(&key, place(id)));
        let mut first = Collector::within(&SMALL, None, None);
        assert_eq!(fill(&mut first, 3), Ok(()));
        let mut second = Collector::within(&SMALL, None, None);
        assert_eq!(fill(&mut second, 3), Err(TooMuch::ForAll));
        let (sorted, reserved) = first.into_sorted();
        drop(second);
        assert_eq!((sorted.len(), SMALL.left.load(Ordering::Relaxed)), (3, BUDGET_STEP), "kept as long as the list");
        drop(reserved);
        assert_eq!(SMALL.left.load(Ordering::Relaxed), 3 * BUDGET_STEP);
        let mut third = Collector::within(&SMALL, None, None);
        assert_eq!(fill(&mut third, 5), Ok(()));
    }
}
