//! Sets of entry ids, as the planner combines them: a few in place, many as a roaring bitmap.
//!
//! Knows no index and no entry.
//!
//! Invariants:
//! (1) `Few` is ascending, without repeats, at most [`FEW_MAX`] long.
//! (2) Every operation gives the same set whichever form its operands have.

use roaring::RoaringTreemap;
use smallvec::SmallVec;
use store::EntryId;

/// Ids kept in place: most searches have one candidate, and a sorted array of this size beats a bitmap.
pub const FEW_MAX: usize = 64;

/// A set of entry ids.
#[derive(Clone, Debug)]
pub enum IdSet {
    /// Ascending ids, in place up to 16 of them.
    Few(SmallVec<[EntryId; 16]>),
    /// Any number of ids.
    Many(RoaringTreemap),
}

impl Default for IdSet {
    fn default() -> Self {
        IdSet::Few(SmallVec::new())
    }
}

impl IdSet {
    /// The set of one id.
    #[must_use]
    pub fn one(id: EntryId) -> IdSet {
        IdSet::Few(SmallVec::from_slice(&[id]))
    }

    /// A set of ascending ids; an id that is not greater than the one before it is put where it belongs.
    pub fn from_ascending(ids: impl IntoIterator<Item = EntryId>) -> IdSet {
        let mut set = IdSet::default();
        set.extend(ids);
        set
    }

    /// Adds ids, best in ascending order.
    pub fn extend(&mut self, ids: impl IntoIterator<Item = EntryId>) {
        for id in ids {
            self.insert(id);
        }
    }

    /// Adds one id.
    #[inline]
    pub fn insert(&mut self, id: EntryId) {
        match self {
            IdSet::Few(few) => {
                let Err(at) =
                    (if few.last().is_none_or(|last| *last < id) { Err(few.len()) } else { few.binary_search(&id) })
                else {
                    return;
                };
                if few.len() < FEW_MAX {
                    few.insert(at, id);
                    return;
                }
                let mut many: RoaringTreemap = few.iter().map(|id| id.0).collect();
                many.insert(id.0);
                *self = IdSet::Many(many);
            }
            IdSet::Many(many) => {
                many.insert(id.0);
            }
        }
    }

    /// Exact number of ids.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            IdSet::Few(few) => few.len() as u64,
            IdSet::Many(many) => many.len(),
        }
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            IdSet::Few(few) => few.is_empty(),
            IdSet::Many(many) => many.is_empty(),
        }
    }

    /// Whether `id` is one of them.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: EntryId) -> bool {
        match self {
            IdSet::Few(few) => few.binary_search(&id).is_ok(),
            IdSet::Many(many) => many.contains(id.0),
        }
    }

    /// Keeps the ids that are in both.
    pub fn and(&mut self, other: &IdSet) {
        match (&mut *self, other) {
            (IdSet::Few(few), _) => few.retain(|id| other.contains(*id)),
            (IdSet::Many(many), IdSet::Few(few)) => {
                let kept = few.iter().copied().filter(|id| many.contains(id.0)).collect();
                *self = IdSet::Few(kept);
            }
            (IdSet::Many(many), IdSet::Many(other)) => {
                *many &= other;
                self.shrink();
            }
        }
    }

    /// Adds all ids of `other`.
    pub fn or(&mut self, other: &IdSet) {
        match (&mut *self, other) {
            (_, IdSet::Few(few)) => self.extend(few.iter().copied()),
            (IdSet::Many(many), IdSet::Many(other)) => *many |= other,
            (IdSet::Few(few), IdSet::Many(other)) => {
                let mut many = other.clone();
                many.extend(few.iter().map(|id| id.0));
                *self = IdSet::Many(many);
            }
        }
    }

    /// Removes the ids of `other`.
    pub fn and_not(&mut self, other: &IdSet) {
        match (&mut *self, other) {
            (IdSet::Few(few), _) => few.retain(|id| !other.contains(*id)),
            (IdSet::Many(many), IdSet::Few(few)) => {
                for id in few {
                    many.remove(id.0);
                }
                self.shrink();
            }
            (IdSet::Many(many), IdSet::Many(other)) => {
                *many -= other;
                self.shrink();
            }
        }
    }

    /// Keeps the ids for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(EntryId) -> bool) {
        match self {
            IdSet::Few(few) => few.retain(|id| keep(*id)),
            IdSet::Many(many) => {
                let kept = many.iter().filter(|id| keep(EntryId(*id))).map(EntryId);
                *self = IdSet::from_ascending(kept);
            }
        }
    }

    /// All ids, ascending.
    pub fn iter(&self) -> IdIter<'_> {
        match self {
            IdSet::Few(few) => IdIter::Few(few.iter()),
            IdSet::Many(many) => IdIter::Many(Box::new(many.iter())),
        }
    }

    /// Appends to `out` at most `count` ids greater than `after`, ascending: how a long search takes its candidates in
    /// pieces.
    pub fn next_after(&self, after: EntryId, count: usize, out: &mut Vec<EntryId>) {
        match self {
            IdSet::Few(few) => {
                let from = few.partition_point(|id| *id <= after);
                out.extend(few.iter().skip(from).take(count));
            }
            IdSet::Many(many) => {
                let mut iter = many.iter();
                iter.advance_to(after.0.saturating_add(1));
                out.extend(iter.take(count).map(EntryId));
            }
        }
    }

    /// Goes back to the small form when few are left.
    fn shrink(&mut self) {
        if let IdSet::Many(many) = self
            && many.len() <= FEW_MAX as u64
        {
            *self = IdSet::Few(many.iter().map(EntryId).collect());
        }
    }
}

/// Iterator of [`IdSet::iter`].
pub enum IdIter<'a> {
    /// Of a few.
    Few(std::slice::Iter<'a, EntryId>),
    /// Of many.
    Many(Box<roaring::treemap::Iter<'a>>),
}

impl Iterator for IdIter<'_> {
    type Item = EntryId;

    fn next(&mut self) -> Option<EntryId> {
        match self {
            IdIter::Few(iter) => iter.next().copied(),
            IdIter::Many(iter) => iter.next().map(EntryId),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(ids: &BTreeSet<u64>) -> IdSet {
        IdSet::from_ascending(ids.iter().map(|id| EntryId(*id)))
    }

    fn ids(set: &IdSet) -> Vec<u64> {
        set.iter().map(|id| id.0).collect()
    }

    fn some_ids() -> impl Strategy<Value = BTreeSet<u64>> {
        prop_oneof![
            proptest::collection::btree_set(1u64..40, 0..20),
            proptest::collection::btree_set(1u64..300, 0..250),
        ]
    }

    proptest! {
        #[test]
        fn invariant_2_operations_are_those_of_sets(
            a in some_ids(), b in some_ids(), after in 0u64..300, count in 0usize..100,
        ) {
            let mut and = set(&a);
            and.and(&set(&b));
            prop_assert_eq!(ids(&and), a.intersection(&b).copied().collect::<Vec<_>>());
            let mut or = set(&a);
            or.or(&set(&b));
            prop_assert_eq!(ids(&or), a.union(&b).copied().collect::<Vec<_>>());
            let mut minus = set(&a);
            minus.and_not(&set(&b));
            prop_assert_eq!(ids(&minus), a.difference(&b).copied().collect::<Vec<_>>());
            prop_assert_eq!(and.len(), a.intersection(&b).count() as u64);
            let mut even = set(&a);
            even.retain(|id| id.0 % 2 == 0);
            prop_assert_eq!(ids(&even), a.iter().copied().filter(|id| id % 2 == 0).collect::<Vec<_>>());
            let mut next = Vec::new();
            set(&a).next_after(EntryId(after), count, &mut next);
            prop_assert!(next.iter().map(|id| id.0).eq(a.iter().copied().filter(|id| *id > after).take(count)));
            for probe in 0..300 {
                prop_assert_eq!(set(&a).contains(EntryId(probe)), a.contains(&probe));
            }
        }
    }

    #[test]
    fn ids_out_of_order_are_put_in_order() {
        let set = IdSet::from_ascending([5, 3, 5, 9, 1].map(EntryId));
        assert_eq!(ids(&set), [1, 3, 5, 9]);
        assert!(matches!(set, IdSet::Few(_)));
    }
}
