//! The changes of one posting list against the layer below: ids added and removed.
//!
//! Invariants:
//! (1) Every change is true: an id is added only where the layers below do not have it, removed only where they do. So
//!     the count of a list is the count below plus [`PostingDelta::net`], exactly.
//! (2) Adding and removing the same id leaves no change.

use std::sync::Arc;

use imbl::OrdMap;

use crate::EntryId;

/// Changes up to this many are a sorted vector, copied when shared; more are a persistent map.
const FEW_MAX: usize = 48;

/// Changes of one list.
#[derive(Clone, Debug)]
pub enum PostingDelta {
    /// The usual case.
    One(Change),
    /// Sorted by id.
    Few(Arc<Vec<Change>>),
    /// Behind a pointer, so that a slot of the overlay is no larger than the usual case needs.
    Many(Arc<Many>),
}

/// Very many changes.
#[derive(Clone, Debug, Default)]
pub struct Many {
    /// Whether the id was added.
    changes: OrdMap<u64, bool>,
    /// Ids added minus ids removed.
    net: i64,
}

/// One id added or removed: id × 2, plus 1 for added, so that changes sort by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change(u64);

impl Change {
    /// `id` added or removed.
    pub fn new(id: EntryId, added: bool) -> Change {
        Change((id.0 << 1) | u64::from(added))
    }

    /// Which id.
    #[inline]
    pub fn id(self) -> EntryId {
        EntryId(self.0 >> 1)
    }

    /// Whether it was added.
    #[inline]
    pub fn is_added(self) -> bool {
        self.0 & 1 == 1
    }

    fn net(self) -> i64 {
        if self.is_added() { 1 } else { -1 }
    }
}

impl PostingDelta {
    /// Adds a change. `false` when no change is left: the delta is to be dropped.
    pub fn apply(&mut self, change: Change) -> bool {
        match self {
            PostingDelta::One(own) if own.id() == change.id() => {
                debug_assert_ne!(*own, change, "invariant 1");
                return false;
            }
            PostingDelta::One(own) => {
                let pair = if *own < change { vec![*own, change] } else { vec![change, *own] };
                *self = PostingDelta::Few(Arc::new(pair));
            }
            PostingDelta::Few(list) => {
                let list = std::mem::take(list);
                return self.apply_to_few(list, change);
            }
            PostingDelta::Many(many) => {
                let many = Arc::make_mut(many);
                many.net += change.net();
                if let Some(was) = many.changes.remove(&change.id().0) {
                    debug_assert_ne!(was, change.is_added(), "invariant 1");
                } else {
                    many.changes.insert(change.id().0, change.is_added());
                }
                return !many.changes.is_empty();
            }
        }
        true
    }

    /// `shared` was taken out of `self`, so a vector that no reader has is changed in place.
    fn apply_to_few(&mut self, mut shared: Arc<Vec<Change>>, change: Change) -> bool {
        let list = Arc::make_mut(&mut shared);
        match list.binary_search_by_key(&change.id(), |own| own.id()) {
            Ok(at) => {
                debug_assert_ne!(list.get(at), Some(&change), "invariant 1");
                list.remove(at);
                if let [last] = list[..] {
                    *self = PostingDelta::One(last);
                    return true;
                }
            }
            Err(at) => list.insert(at, change),
        }
        *self = if list.len() > FEW_MAX {
            PostingDelta::Many(Arc::new(Many {
                net: list.iter().map(|own| own.net()).sum(),
                changes: list.iter().map(|own| (own.id().0, own.is_added())).collect(),
            }))
        } else {
            PostingDelta::Few(shared)
        };
        true
    }

    /// Added less taken away.
    #[inline]
    pub fn net(&self) -> i64 {
        match self {
            PostingDelta::One(change) => change.net(),
            PostingDelta::Few(list) => list.iter().map(|change| change.net()).sum(),
            PostingDelta::Many(many) => many.net,
        }
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        match self {
            PostingDelta::One(_) => 1,
            PostingDelta::Few(list) => list.len(),
            PostingDelta::Many(many) => many.changes.len(),
        }
    }

    /// A delta in an overlay is never empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The change of `id`, if there is one.
    #[inline]
    pub fn of(&self, id: EntryId) -> Option<bool> {
        match self {
            PostingDelta::One(change) => (change.id() == id).then(|| change.is_added()),
            PostingDelta::Few(list) => {
                let at = list.binary_search_by_key(&id, |change| change.id()).ok()?;
                list.get(at).map(|change| change.is_added())
            }
            PostingDelta::Many(many) => many.changes.get(&id.0).copied(),
        }
    }

    /// The changes by ascending id.
    pub fn iter(&self) -> DeltaIter<'_> {
        match self {
            PostingDelta::One(change) => DeltaIter::Few(std::slice::from_ref(change).iter()),
            PostingDelta::Few(list) => DeltaIter::Few(list.iter()),
            PostingDelta::Many(many) => DeltaIter::Many(Box::new(many.changes.iter())),
        }
    }
}

/// Iterator of [`PostingDelta`].
pub enum DeltaIter<'a> {
    /// Over a slice.
    Few(std::slice::Iter<'a, Change>),
    /// Over a map; boxed because the map's iterator is large and rare.
    Many(Box<imbl::ordmap::Iter<'a, u64, bool, imbl::shared_ptr::DefaultSharedPtr>>),
}

impl Iterator for DeltaIter<'_> {
    type Item = Change;

    #[inline]
    fn next(&mut self) -> Option<Change> {
        match self {
            DeltaIter::Few(list) => list.next().copied(),
            DeltaIter::Many(map) => map.next().map(|(id, added)| Change::new(EntryId(*id), *added)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn deltas_agree_with_a_map(toggles in proptest::collection::vec(1u64..120, 1..300)) {
            // The list below has all even ids: a toggle of one takes it away first.
            let mut delta: Option<PostingDelta> = None;
            let mut model: BTreeMap<u64, bool> = BTreeMap::new();
            for id in toggles {
                let added = match model.remove(&id) {
                    Some(was) => !was,
                    None => {
                        model.insert(id, id % 2 == 1);
                        id % 2 == 1
                    }
                };
                let change = Change::new(EntryId(id), added);
                let shared = delta.clone();
                match &mut delta {
                    None => delta = Some(PostingDelta::One(change)),
                    Some(own) => {
                        if !own.apply(change) {
                            delta = None;
                        }
                    }
                }
                if let (Some(shared), Some(own)) = (shared, &delta) {
                    prop_assert_ne!(shared.len(), own.len());
                }
                let changes = delta.iter().flat_map(|delta| delta.iter());
                let seen: Vec<_> = changes.map(|change| (change.id().0, change.is_added())).collect();
                prop_assert_eq!(&seen, &model.iter().map(|(id, added)| (*id, *added)).collect::<Vec<_>>());
                let net: i64 = model.values().map(|added| if *added { 1 } else { -1 }).sum();
                prop_assert_eq!(delta.as_ref().map_or(0, PostingDelta::net), net);
                prop_assert_eq!(delta.as_ref().and_then(|delta| delta.of(EntryId(id))), model.get(&id).copied());
            }
        }
    }
}
