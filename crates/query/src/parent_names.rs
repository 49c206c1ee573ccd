//! Names of entries from the tree without looking anything up twice: the DNs of parents, kept as long as no entry was
//! renamed.
//!
//! An entry's record has its RDN and its parent's number. Parents are few and come again and again, so a thread keeps
//! what it found out about them, per backend. It knows nothing of searches.
//!
//! Invariant: what is kept is true for one generation of the tree; ids are never used twice, so only a rename or a move
//! ends it.

use std::collections::HashMap;

use store::{EntryId, StoreError, View};

/// Parents that one thread remembers; some MiB at most. More are found, but not kept.
const PARENTS_MAX: usize = 8_192;

/// Deepest tree; more is damage, and the walk must end.
const DEPTH_MAX: usize = 4_096;

/// What is known of parents in one backend.
#[derive(Debug, Default)]
pub struct ParentNames {
    generation: u64,
    places: HashMap<EntryId, usize>,
    parents: Vec<Parent>,
    /// The last one asked for: consecutive candidates mostly have the same.
    last: usize,
}

#[derive(Debug)]
struct Parent {
    id: EntryId,
    above: EntryId,
    dn: Vec<u8>,
}

impl ParentNames {
    /// Forgets everything unless it was found out in this generation of the tree.
    pub fn keep_if(&mut self, generation: u64) {
        if self.generation != generation || self.parents.len() > PARENTS_MAX {
            self.clear();
            self.generation = generation;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.places.clear();
        self.parents.clear();
        self.last = 0;
    }

    /// The DN of `id`, in user form; empty for the root. An entry that is not there has none.
    #[inline]
    pub fn dn(&mut self, view: &View<'_>, id: EntryId) -> Result<Option<&[u8]>, StoreError> {
        if id == EntryId::ROOT {
            return Ok(Some(b""));
        }
        let place = self.place(view, id)?;
        Ok(place.and_then(|place| self.parents.get(place)).map(|parent| parent.dn.as_slice()))
    }

    /// Whether `id` is `base` or below it.
    #[inline]
    pub fn is_within(&mut self, view: &View<'_>, id: EntryId, base: EntryId) -> Result<bool, StoreError> {
        self.any_above(view, id, |at| at == base)
    }

    /// Whether `id` or something above it is such.
    #[inline]
    pub fn any_above(
        &mut self,
        view: &View<'_>,
        id: EntryId,
        is_such: impl Fn(EntryId) -> bool,
    ) -> Result<bool, StoreError> {
        let mut at = id;
        for _ in 0..DEPTH_MAX {
            if is_such(at) {
                return Ok(true);
            }
            if at == EntryId::ROOT {
                return Ok(false);
            }
            let Some(place) = self.place(view, at)? else { return Ok(false) };
            at = self.parents.get(place).map_or(EntryId::ROOT, |parent| parent.above);
        }
        Ok(false)
    }

    #[inline]
    fn place(&mut self, view: &View<'_>, id: EntryId) -> Result<Option<usize>, StoreError> {
        if self.parents.get(self.last).is_some_and(|parent| parent.id == id) {
            return Ok(Some(self.last));
        }
        if let Some(place) = self.places.get(&id) {
            self.last = *place;
            return Ok(Some(*place));
        }
        self.find(view, id)
    }

    /// Walks up to the first parent that is known, then takes in what was met on the way.
    #[cold]
    fn find(&mut self, view: &View<'_>, id: EntryId) -> Result<Option<usize>, StoreError> {
        let mut chain: Vec<(EntryId, EntryId, Vec<u8>)> = Vec::new();
        let mut at = id;
        while at != EntryId::ROOT && !self.places.contains_key(&at) {
            let Some(record) = view.entry(at)? else { return Ok(None) };
            let record = record.view()?;
            chain.push((at, record.parent(), record.rdn().to_vec()));
            at = record.parent();
            if chain.len() > DEPTH_MAX {
                return Ok(None);
            }
        }
        while let Some((id, above, rdn)) = chain.pop() {
            let mut dn = rdn;
            if let Some(parent) = self.places.get(&above).and_then(|place| self.parents.get(*place)) {
                dn.push(b',');
                dn.extend_from_slice(&parent.dn);
            }
            self.places.insert(id, self.parents.len());
            self.last = self.parents.len();
            self.parents.push(Parent { id, above, dn });
        }
        Ok(self.places.get(&id).copied())
    }
}
