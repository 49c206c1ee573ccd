//! Makes the index keys of an entry, and the keys that a change of it removes and adds.
//!
//! One pass over the entry's attributes: each attribute type knows the indexes that it feeds, so attributes without
//! an index cost one table look-up. A value that has no normal form under a rule (possible when syntax checking is off)
//! has no key in that index. It knows nothing of ids and postings.

use std::borrow::Cow;
use std::sync::Arc;

use schema::{AttributeType, MatchingRule, Schema, TypeIndex};

use super::indexed_entry::IndexedEntry;
use super::set::{Index, IndexSet, Method};
use crate::IndexId;
use crate::record::Values;

/// The only key of a presence index, as in OpenDJ.
pub const PRESENCE_KEY: &[u8] = b"+";

/// Receives keys.
pub trait KeySink {
    /// A key of the entry in `index`. Within one entry the same key may come more than once.
    fn key(&mut self, index: IndexId, key: &[u8]);
}

impl<F: FnMut(IndexId, &[u8])> KeySink for F {
    fn key(&mut self, index: IndexId, key: &[u8]) {
        self(index, key);
    }
}

/// Makes the keys of entries in the indexes of one [`IndexSet`].
#[derive(Debug, Clone)]
pub struct Indexer {
    schema: Arc<Schema>,
    set: Arc<IndexSet>,
    /// By attribute type: positions in the set of the indexes that it feeds, those of its supertypes included.
    fed: Vec<Box<[u16]>>,
}

/// The keys that a change removes and adds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeyChanges {
    /// Keys that the entry had before and does not have afterwards.
    pub removed: Vec<(IndexId, Vec<u8>)>,
    /// Keys that it has only afterwards.
    pub added: Vec<(IndexId, Vec<u8>)>,
}

/// The attributes of an entry that any index uses.
#[derive(Default)]
struct Attributes<'a> {
    /// By type.
    inline: Vec<(TypeIndex, Cow<'a, [u8]>)>,
    large: Vec<TypeIndex>,
}

impl IndexedEntry for Attributes<'_> {
    fn each_attribute<'s>(
        &'s self,
        wanted: &dyn Fn(TypeIndex) -> bool,
        visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
    ) {
        for (of_type, body) in self.inline.iter().filter(|(of_type, _)| wanted(*of_type)) {
            visit(*of_type, Cow::Borrowed(body));
        }
    }

    fn each_large(&self, visit: &mut dyn FnMut(TypeIndex)) {
        self.large.iter().for_each(|of_type| visit(*of_type));
    }
}

impl Indexer {
    /// An indexer for `set` under `schema`.
    #[must_use]
    pub fn new(schema: Arc<Schema>, set: Arc<IndexSet>) -> Self {
        let positions = |own: &AttributeType| {
            let feeds = |index: &Index| match set.vlv(index.id) {
                None => own.is_subtype_of(index.attribute),
                Some(vlv) => vlv.is_about(&schema, own.index),
            };
            (0u16..).zip(set.iter()).filter(|(_, index)| feeds(index)).map(|(at, _)| at).collect()
        };
        let fed = schema.attribute_types().iter().map(positions).collect();
        Self { schema, set, fed }
    }

    /// The indexes.
    #[must_use]
    pub fn indexes(&self) -> &Arc<IndexSet> {
        &self.set
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Whether values of that attribute type have keys in any index.
    #[must_use]
    pub fn is_indexed(&self, attribute: TypeIndex) -> bool {
        !self.fed_by(attribute).is_empty()
    }

    /// Positions in the set of the indexes that values of `attribute` go to.
    fn fed_by(&self, attribute: TypeIndex) -> &[u16] {
        self.fed.get(attribute.0 as usize).map(|positions| &**positions).unwrap_or_default()
    }

    /// All keys of an entry, large attributes left out; within one entry a key may come more than once.
    pub fn keys(&self, entry: &impl IndexedEntry, sink: &mut impl KeySink) {
        let mut room = Vec::new();
        entry.each_attribute(&|attribute| self.is_indexed(attribute), &mut |attribute, body| {
            self.attribute_keys(attribute, &body, &mut room, sink);
        });
        self.entry_keys(entry, &mut room, sink);
    }

    /// The keys that are made of an entry as a whole: those of VLV indexes. `room` is scratch space.
    pub fn entry_keys(&self, entry: &dyn IndexedEntry, room: &mut Vec<u8>, sink: &mut impl KeySink) {
        for vlv in self.set.vlv_indexes() {
            if vlv.key_of(&self.schema, entry, room) {
                sink.key(vlv.id, room);
            }
        }
    }

    /// The keys of single values of an attribute, in BER, in the indexes of attributes. `room` is scratch space.
    pub fn attribute_keys(&self, attribute: TypeIndex, body: &[u8], room: &mut Vec<u8>, sink: &mut impl KeySink) {
        let fed = self.fed_by(attribute);
        if !fed.is_empty() {
            Values::new(0, body).iter().for_each(|value| self.value_keys(fed, value, room, sink));
        }
    }

    /// The keys of one value. The equality and the substring index of an attribute share one normal form.
    #[inline]
    fn value_keys(&self, fed: &[u16], value: &[u8], room: &mut Vec<u8>, sink: &mut impl KeySink) {
        let mut normal: Option<&MatchingRule> = None;
        for index in fed.iter().filter_map(|at| self.set.at(usize::from(*at))) {
            let (rule, window) = match index.method {
                Method::Presence => {
                    sink.key(index.id, PRESENCE_KEY);
                    continue;
                }
                Method::Vlv => continue,
                Method::Normal(rule) => (rule, None),
                Method::Substrings { rule, length } => (rule, Some(length)),
            };
            if !normal.is_some_and(|have| have.shares_form_with(rule)) {
                room.clear();
                normal = rule.normalize(&self.schema, value, room).is_ok().then_some(rule);
                if normal.is_none() {
                    continue;
                }
            }
            match window {
                None => sink.key(index.id, &index.key(room)),
                Some(length) => {
                    let form = rule.substring_form(room);
                    substring_keys(&form, length, |key| sink.key(index.id, &index.key(key)));
                }
            }
        }
    }

    /// The keys that are removed and added when `old` is replaced by `new`. `None` stands for no entry. Only indexes
    /// fed by an attribute that differs are looked at.
    #[must_use]
    pub fn changes<E: IndexedEntry>(&self, old: Option<&E>, new: Option<&E>) -> KeyChanges {
        let before = self.indexed_attributes(old);
        let after = self.indexed_attributes(new);
        let mut affected = self.affected(&before, &after);
        if old.is_none() || new.is_none() {
            // An entry may belong to a list because it lacks an attribute.
            self.set.vlv_indexes().iter().filter_map(|vlv| self.set.position(vlv.id)).for_each(|at| {
                if let Some(flag) = affected.get_mut(at) {
                    *flag = true;
                }
            });
        }
        let keys =
            |entry: Option<&Attributes<'_>>| entry.map(|entry| self.keys_in(entry, &affected)).unwrap_or_default();
        difference(keys(old.and(Some(&before))), keys(new.and(Some(&after))))
    }

    /// The attributes of `entry` that have an index, by type.
    fn indexed_attributes<'s, E: IndexedEntry>(&self, entry: Option<&'s E>) -> Attributes<'s> {
        let mut attributes = Attributes::default();
        if let Some(entry) = entry {
            let wanted = |attribute| self.is_indexed(attribute);
            entry.each_attribute(&wanted, &mut |attribute, body| attributes.inline.push((attribute, body)));
            if !self.set.vlv_indexes().is_empty() {
                entry.each_large(&mut |attribute| attributes.large.push(attribute));
            }
        }
        attributes.inline.sort_by_key(|(attribute, _)| *attribute);
        attributes
    }

    /// By position in the set: whether an attribute that feeds the index differs.
    fn affected(&self, before: &Attributes<'_>, after: &Attributes<'_>) -> Vec<bool> {
        let mut affected = vec![false; self.set.len()];
        let mut differs = |attribute: TypeIndex| {
            for at in self.fed_by(attribute) {
                if let Some(flag) = affected.get_mut(usize::from(*at)) {
                    *flag = true;
                }
            }
        };
        for (these, others) in [(before, after), (after, before)] {
            for group in these.inline.chunk_by(|a, b| a.0 == b.0) {
                let Some((attribute, _)) = group.first() else { continue };
                if !others.inline.iter().filter(|(other, _)| other == attribute).eq(group) {
                    differs(*attribute);
                }
            }
            these.large.iter().filter(|attribute| !others.large.contains(attribute)).for_each(|it| differs(*it));
        }
        affected
    }

    /// The keys in the affected indexes: sorted, each once.
    fn keys_in(&self, entry: &Attributes<'_>, affected: &[bool]) -> Vec<(IndexId, Vec<u8>)> {
        let mut keys: Vec<(IndexId, Vec<u8>)> = Vec::new();
        let mut room = Vec::new();
        let mut fed = Vec::new();
        let is_affected = |at: usize| affected.get(at).copied().unwrap_or(false);
        for (attribute, body) in &entry.inline {
            fed.clear();
            fed.extend(self.fed_by(*attribute).iter().filter(|at| is_affected(usize::from(**at))));
            let mut collect = |index: IndexId, key: &[u8]| keys.push((index, key.to_vec()));
            if !fed.is_empty() {
                Values::new(0, body).iter().for_each(|value| self.value_keys(&fed, value, &mut room, &mut collect));
            }
        }
        for vlv in self.set.vlv_indexes() {
            let is_due = self.set.position(vlv.id).is_some_and(is_affected);
            if is_due && vlv.key_of(&self.schema, entry, &mut room) {
                keys.push((vlv.id, room.clone()));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// OpenDJ's rule: at each position of the normalised value the next `length` bytes, or what is left of them.
#[inline]
pub fn substring_keys(normal: &[u8], length: usize, mut take: impl FnMut(&[u8])) {
    for start in 0..normal.len() {
        take(normal.get(start..normal.len().min(start + length)).unwrap_or_default());
    }
}

/// What is only in the first and what is only in the second of two sorted lists.
fn difference(before: Vec<(IndexId, Vec<u8>)>, after: Vec<(IndexId, Vec<u8>)>) -> KeyChanges {
    let mut changes = KeyChanges::default();
    let mut after = after.into_iter().peekable();
    for key in before {
        while let Some(added) = after.next_if(|other| *other < key) {
            changes.added.push(added);
        }
        if after.next_if_eq(&key).is_none() {
            changes.removed.push(key);
        }
    }
    changes.added.extend(after);
    changes
}
