//! Who has a value of an attribute: by the equality index.
//!
//! What is found is a function of the entries alone: where the index is missing (a replay after it was taken out of the
//! configuration), all entries are read and the same is found. Keys of more than 239 bytes are shared with other
//! values, so there the entry decides.

use std::collections::BTreeSet;
use std::ops::Bound;

use schema::{MatchingRule, Schema, TypeIndex};
use store::index::{BackendIndexes, Index};
use store::posting::key::{KEY_BYTES_MAX, KEY_PREFIX_BYTES};
use store::{Content, DescId, EntryId, IndexId, IndexKey, RecordView, StoreError, View};

use crate::apply::draft::stored_type;
use crate::apply::value_set::normal_form;

/// One attribute whose values are looked up.
pub(super) struct Lookup {
    /// The attribute; its subtypes count too.
    pub(super) attribute: TypeIndex,
    /// Its name.
    pub(super) name: String,
    pub(super) rule: &'static MatchingRule,
    index_name: String,
}

/// A key with an entry that has it.
pub(super) type Pair = (Box<[u8]>, EntryId);

impl Lookup {
    /// None when the schema has no such attribute, or it has no equality rule.
    pub(super) fn new(schema: &Schema, name: &str) -> Option<Self> {
        let attribute = schema.attribute_type(name.as_bytes())?;
        let rule = attribute.equality?;
        let index_name = format!("{}.{}", attribute.name(), rule.name());
        Some(Self { attribute: attribute.index, name: attribute.name().to_owned(), rule, index_name })
    }

    /// The index to be trusted. By name: numbers of types may be those of another schema during a replay.
    fn index<'v>(&self, view: &View<'v>) -> Option<&'v Index> {
        let indexes = view.indexes();
        self.index_of(indexes).filter(|index| indexes.is_trusted(index.id))
    }

    fn index_of<'v>(&self, indexes: &'v BackendIndexes) -> Option<&'v Index> {
        let set = indexes.set();
        set.by_name(&self.index_name).or_else(|| set.by_name(&format!("{}:hash", self.index_name)))
    }

    /// Whether the attribute has an index that can be used now.
    pub(super) fn is_indexed(&self, view: &View<'_>) -> bool {
        self.index(view).is_some()
    }

    /// Entries from number `from` on with a value of that normal form, ascending, `limit` at most.
    pub(super) fn holders(
        &self,
        schema: &Schema,
        view: &View<'_>,
        normal: &[u8],
        from: EntryId,
        limit: usize,
    ) -> Result<Vec<EntryId>, StoreError> {
        let mut found = Vec::new();
        let Some(index) = self.index(view) else {
            for entry in view.entries(from)? {
                let (id, record) = entry?;
                if found.len() < limit && self.has(schema, view, id, &record.view()?, normal)? {
                    found.push(id);
                }
            }
            return Ok(found);
        };
        let is_certain = index.is_ordered() && normal.len() <= KEY_PREFIX_BYTES;
        for id in view.postings(&IndexKey::new(index.id, &index.key(normal)))?.checked(from) {
            let id = id?;
            if found.len() >= limit {
                break;
            }
            if is_certain || self.entry_has(schema, view, id, normal)? {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// How many entries have a value of that normal form; where the index does not count them, they are counted up to
    /// `enough`.
    pub(super) fn count(
        &self,
        schema: &Schema,
        view: &View<'_>,
        normal: &[u8],
        enough: u64,
    ) -> Result<u64, StoreError> {
        if let Some(index) = self.index(view).filter(|index| index.is_ordered() && normal.len() <= KEY_PREFIX_BYTES) {
            return Ok(view.postings(&IndexKey::new(index.id, &index.key(normal)))?.count());
        }
        let limit = usize::try_from(enough).unwrap_or(usize::MAX);
        Ok(self.holders(schema, view, normal, EntryId(0), limit)?.len() as u64)
    }

    /// Pairs after `after` whose key begins with `prefix`, by key and then entry, `limit` at most. Where `prefix` or a
    /// key is too long to be kept whole, pairs of other values are among them.
    pub(super) fn pairs(
        &self,
        schema: &Schema,
        view: &View<'_>,
        prefix: &[u8],
        after: Option<&Pair>,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let prefix = prefix.get(..KEY_PREFIX_BYTES).unwrap_or(prefix);
        let Some(index) = self.index(view).filter(|index| index.is_ordered()) else {
            return self.pairs_of_all(schema, view, prefix, after, limit);
        };
        let end = after_prefix(prefix);
        let from = after.map_or(prefix, |(key, _)| key);
        let mut scan = view.scan(index.id, Bound::Included(from), Bound::Excluded(&end))?;
        let mut found = Vec::new();
        while let Some((key, postings)) = scan.next()? {
            let next = after.filter(|(known, _)| **known == *key).map_or(EntryId(0), |(_, id)| EntryId(id.0 + 1));
            for id in postings.checked(next) {
                let id = id?;
                if found.len() >= limit {
                    return Ok(found);
                }
                found.push((key.into(), id));
            }
        }
        Ok(found)
    }

    fn pairs_of_all(
        &self,
        schema: &Schema,
        view: &View<'_>,
        prefix: &[u8],
        after: Option<&Pair>,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let mut found: BTreeSet<Pair> = BTreeSet::new();
        for entry in view.entries(EntryId(1))? {
            let (id, record) = entry?;
            let record = record.view()?;
            for desc in self.descriptions(schema, &record) {
                for normal in normals_below(schema, view, id, &record, desc, prefix)? {
                    let pair: Pair = (IndexKey::new(IndexId::FIRST_CONFIGURED, &normal).key().into(), id);
                    if after.is_none_or(|after| pair > *after) {
                        found.insert(pair);
                    }
                }
            }
            while found.len() > limit {
                found.pop_last();
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Whether a key found by [`Lookup::pairs`] is the normal form itself.
    pub(super) fn is_whole(key: &[u8]) -> bool {
        key.len() < KEY_BYTES_MAX
    }

    /// The descriptions of the attribute and its subtypes, with whatever options, that a record has.
    pub(super) fn descriptions(&self, schema: &Schema, record: &RecordView<'_>) -> Vec<DescId> {
        let tables = record.tables();
        let is_own =
            |desc: &DescId| stored_type(schema, tables, *desc).is_some_and(|own| own.is_subtype_of(self.attribute));
        record.attributes().map(|attribute| attribute.desc).filter(is_own).collect()
    }

    /// Whether a stored entry has a value of that normal form.
    pub(super) fn entry_has(
        &self,
        schema: &Schema,
        view: &View<'_>,
        id: EntryId,
        normal: &[u8],
    ) -> Result<bool, StoreError> {
        match view.entry(id)? {
            Some(record) => self.has(schema, view, id, &record.view()?, normal),
            None => Ok(false),
        }
    }

    fn has(
        &self,
        schema: &Schema,
        view: &View<'_>,
        id: EntryId,
        record: &RecordView<'_>,
        normal: &[u8],
    ) -> Result<bool, StoreError> {
        let mut scratch = Vec::new();
        for desc in self.descriptions(schema, record) {
            let found = match record.attribute(desc, &mut scratch).map(|attribute| attribute.content) {
                Some(Content::Inline(values)) => {
                    values.iter().any(|value| *normal_form(Some(self.rule), schema, value) == *normal)
                }
                Some(Content::Large(_)) => view.large_value(id, desc, normal)?.is_some(),
                None => false,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether an attribute of a backend can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The schema has no such attribute, or its values cannot be compared.
    Unknown,
    /// There is no equality index.
    Missing,
    /// Its keys are hashed: names below a name are not found.
    Confidential,
    /// It has to be built.
    Untrusted,
    /// It can be used.
    Ready,
}

/// How an attribute stands among the indexes of a backend.
pub fn standing(schema: &Schema, indexes: &BackendIndexes, attribute: &str) -> Standing {
    let Some(lookup) = Lookup::new(schema, attribute) else { return Standing::Unknown };
    match lookup.index_of(indexes) {
        None => Standing::Missing,
        Some(index) if !indexes.is_trusted(index.id) => Standing::Untrusted,
        Some(index) if !index.is_ordered() => Standing::Confidential,
        Some(_) => Standing::Ready,
    }
}

/// The normal forms of one attribute's values that begin with `prefix`.
pub(super) fn normals_below(
    schema: &Schema,
    view: &View<'_>,
    id: EntryId,
    record: &RecordView<'_>,
    desc: DescId,
    prefix: &[u8],
) -> Result<Vec<Box<[u8]>>, StoreError> {
    let rule = stored_type(schema, record.tables(), desc).and_then(|own| own.equality);
    let mut found = Vec::new();
    let mut take = |value: &[u8]| {
        let normal = normal_form(rule, schema, value);
        if normal.starts_with(prefix) {
            found.push(normal);
        }
    };
    let mut scratch = Vec::new();
    match record.attribute(desc, &mut scratch).map(|attribute| attribute.content) {
        Some(Content::Inline(values)) => values.iter().for_each(&mut take),
        Some(Content::Large(_)) => {
            for value in view.large_values(id, desc)? {
                take(&value?.1);
            }
        }
        None => {}
    }
    Ok(found)
}

/// The least bytes after everything that begins with `prefix`.
fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // Nothing is after everything: no key is as long as this.
    vec![u8::MAX; KEY_BYTES_MAX]
}
