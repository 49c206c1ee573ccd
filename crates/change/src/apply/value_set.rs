//! The values of one attribute while a request changes them: a set by the attribute's equality rule, in the order of
//! arrival.
//!
//! Knows rules and bytes; not which attribute it is, nor where the values come from. Values without a normal form
//! (which lenient settings let in) and values of attributes without an equality rule are compared byte by byte.

use std::collections::BTreeMap;

use schema::{MatchingRule, Schema};

/// See the module.
#[derive(Debug)]
pub(super) struct ValueSet {
    rule: Option<&'static MatchingRule>,
    /// Values one after the other; taken-out ones stay until the set goes.
    arena: Vec<u8>,
    /// Start and length in the arena; `None` where a value was taken out.
    slots: Vec<Option<(usize, usize)>>,
    /// Normal form → slot. Made when the first value has to be found.
    by_normal: Option<BTreeMap<Box<[u8]>, usize>>,
    live: usize,
}

impl ValueSet {
    /// A set without values.
    pub(super) fn new(rule: Option<&'static MatchingRule>) -> Self {
        Self { rule, arena: Vec::new(), slots: Vec::new(), by_normal: Some(BTreeMap::new()), live: 0 }
    }

    /// The values that an entry has: distinct already.
    pub(super) fn of<'v>(rule: Option<&'static MatchingRule>, values: impl Iterator<Item = &'v [u8]>) -> Self {
        let mut set = Self { by_normal: None, ..Self::new(rule) };
        for value in values {
            set.push(value);
        }
        set
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// The values in the order of their arrival.
    pub(super) fn iter(&self) -> SetIter<'_> {
        SetIter { arena: &self.arena, slots: self.slots.iter() }
    }

    /// Adds a value; `false` when it is there.
    pub(super) fn insert(&mut self, schema: &Schema, value: &[u8]) -> bool {
        let normal = normal_form(self.rule, schema, value);
        let slot = self.slots.len();
        match self.index(schema).entry(normal) {
            std::collections::btree_map::Entry::Occupied(_) => return false,
            std::collections::btree_map::Entry::Vacant(place) => place.insert(slot),
        };
        self.push(value);
        true
    }

    /// Takes a value out; `false` when it is not there.
    pub(super) fn remove(&mut self, schema: &Schema, value: &[u8]) -> bool {
        let normal = normal_form(self.rule, schema, value);
        self.take(schema, &normal).is_some()
    }

    /// Takes the value with that normal form out and gives it.
    pub(super) fn take(&mut self, schema: &Schema, normal: &[u8]) -> Option<&[u8]> {
        let slot = self.index(schema).remove(normal)?;
        let (start, length) = self.slots.get_mut(slot)?.take()?;
        self.live -= 1;
        self.arena.get(start..start + length)
    }

    /// Whether a value is there.
    pub(super) fn contains(&mut self, schema: &Schema, value: &[u8]) -> bool {
        let normal = normal_form(self.rule, schema, value);
        self.index(schema).contains_key(&normal)
    }

    fn push(&mut self, value: &[u8]) {
        self.slots.push(Some((self.arena.len(), value.len())));
        self.arena.extend_from_slice(value);
        self.live += 1;
    }

    fn index(&mut self, schema: &Schema) -> &mut BTreeMap<Box<[u8]>, usize> {
        let (rule, arena, slots) = (self.rule, &self.arena, &self.slots);
        self.by_normal.get_or_insert_with(|| {
            let value = |&(start, length): &(usize, usize)| arena.get(start..start + length).unwrap_or_default();
            let normals = slots.iter().enumerate().filter_map(|(slot, place)| {
                place.as_ref().map(|range| (normal_form(rule, schema, value(range)), slot))
            });
            normals.collect()
        })
    }
}

/// Iterator of [`ValueSet::iter`]; the default one has nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct SetIter<'s> {
    arena: &'s [u8],
    slots: std::slice::Iter<'s, Option<(usize, usize)>>,
}

impl<'s> Iterator for SetIter<'s> {
    type Item = &'s [u8];

    fn next(&mut self) -> Option<&'s [u8]> {
        let (start, length) = self.slots.by_ref().find_map(|slot| *slot)?;
        self.arena.get(start..start + length)
    }
}

/// What values are compared by.
pub fn normal_form(rule: Option<&'static MatchingRule>, schema: &Schema, value: &[u8]) -> Box<[u8]> {
    let mut normal = Vec::with_capacity(value.len());
    match rule {
        Some(rule) if rule.normalize(schema, value, &mut normal).is_ok() => normal.into(),
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_a_set_by_the_rule_and_keep_their_order() {
        let schema = Schema::standard();
        let rule = schema.matching_rule(b"caseIgnoreMatch");
        let mut set = ValueSet::of(rule, [&b"Ann"[..], b"Ben"].into_iter());
        assert!(!set.insert(&schema, b"  aNN "));
        assert!(set.insert(&schema, b"Cid"));
        assert!(set.remove(&schema, b"ann"));
        assert!(!set.remove(&schema, b"ann"));
        assert!(set.insert(&schema, b"ANN"));
        assert!(set.contains(&schema, b"ben") && !set.contains(&schema, b"dan"));
        assert_eq!(set.iter().collect::<Vec<_>>(), [&b"Ben"[..], b"Cid", b"ANN"]);
        assert_eq!(set.len(), 3);
    }

    #[test]
    fn without_a_rule_bytes_decide() {
        let schema = Schema::standard();
        let mut set = ValueSet::new(None);
        assert!(set.insert(&schema, b"a") && set.insert(&schema, b"A") && !set.insert(&schema, b"a"));
        assert_eq!(set.len(), 2);
    }
}
