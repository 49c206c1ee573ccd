//! Which names an import has seen, and their ids: a hash table of fingerprints, 16 bytes a slot.
//!
//! A million entries take 32 MiB, whatever their names look like. Names are not kept: two names whose 88-bit
//! fingerprints agree count as one (the second would be rejected as a duplicate), which is to be expected once in 10^14
//! imports of a million entries. Knows nothing of where names come from.

use crate::EntryId;

/// Ids take the lower 40 bits of a slot's second word.
const ID_BITS: u32 = 40;

/// A fingerprint of a normalised name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u64, u64);

impl Fingerprint {
    pub fn of(name: &[u8]) -> Self {
        let hash = xxhash_rust::xxh3::xxh3_128(name);
        Self(hash as u64, (hash >> 64) as u64 >> ID_BITS << ID_BITS)
    }
}

/// Names to ids.
#[derive(Debug)]
pub(super) struct DnMap {
    /// Fingerprint, and its rest with the id; id 0 is an empty slot. The length is a power of two.
    slots: Vec<(u64, u64)>,
    used: usize,
}

impl DnMap {
    pub fn new() -> Self {
        Self { slots: vec![(0, 0); 1024], used: 0 }
    }

    pub fn get(&self, name: Fingerprint) -> Option<EntryId> {
        let (_, rest) = *self.slots.get(self.find(name))?;
        (rest != 0).then_some(EntryId(rest & ((1 << ID_BITS) - 1)))
    }

    /// Adds a name; false when it is there already, or the id is too large.
    pub fn insert(&mut self, name: Fingerprint, id: EntryId) -> bool {
        if id.0 == 0 || id.0 >> ID_BITS != 0 {
            return false;
        }
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let at = self.find(name);
        match self.slots.get_mut(at) {
            Some(slot) if slot.1 == 0 => *slot = (name.0, name.1 | id.0),
            _ => return false,
        }
        self.used += 1;
        true
    }

    /// The slot of that name, or the empty one where it belongs. At least a quarter of the slots is empty.
    fn find(&self, name: Fingerprint) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = name.0 as usize & mask;
        while let Some((first, rest)) = self.slots.get(at) {
            if *rest == 0 || (*first == name.0 && rest >> ID_BITS == name.1 >> ID_BITS) {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let doubled = vec![(0, 0); self.slots.len() * 2];
        for (first, rest) in std::mem::replace(&mut self.slots, doubled) {
            if rest != 0 {
                let at = self.find(Fingerprint(first, rest >> ID_BITS << ID_BITS));
                if let Some(slot) = self.slots.get_mut(at) {
                    *slot = (first, rest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let mut map = DnMap::new();
        for id in 1..=10_000u64 {
            assert!(map.insert(Fingerprint::of(&id.to_le_bytes()), EntryId(id)));
        }
        for id in 1..=10_000u64 {
            assert_eq!(map.get(Fingerprint::of(&id.to_le_bytes())), Some(EntryId(id)));
            assert!(!map.insert(Fingerprint::of(&id.to_le_bytes()), EntryId(7)), "a name comes once");
        }
        assert_eq!(map.get(Fingerprint::of(b"other")), None);
        assert!(!map.insert(Fingerprint::of(b"other"), EntryId(1 << ID_BITS)));
    }

    #[test]
    fn collisions_of_the_first_word_are_distinguished() {
        let mut map = DnMap::new();
        let (a, b) = (Fingerprint(5, 1 << ID_BITS), Fingerprint(5, 2 << ID_BITS));
        assert!(map.insert(a, EntryId(1)) && map.insert(b, EntryId(2)));
        assert_eq!((map.get(a), map.get(b)), (Some(EntryId(1)), Some(EntryId(2))));
        assert_eq!(map.get(Fingerprint(5, 0)), None);
    }
}
