//! What `apply` reads and changes: reads see earlier proposals of the batch, and changes keep entries, tree and
//! postings consistent.
//!
//! Invariants:
//! (1) Tree, `All` and every index agree with the entries after each method that returns `Ok`.
//! (2) [`Txn::undo`] brings back exactly what was there when the proposal began: numbers, tables, rows and postings.
//! (3) A posting is added only if it is not there, removed only if it is.

use std::borrow::Cow;
use std::sync::Arc;

use crate::env::{Dbs, ReadTxn, meta};
use crate::error::StoreError;
use crate::extract::{IndexBinder, KeyExtractor};
use crate::index::BackendIndexes;
use crate::marks::Marks;
use crate::overlay::{Overlay, Row, RowKey};
use crate::posting::IndexKey;
use crate::record::{Content, RecordView, Values};
use crate::rows;
use crate::tables::{Interner, Tables};
use crate::view::View;
use crate::{ClassSetId, DescId, EntryId, IndexId, NameId};

/// A larger buffer for traces is freed.
const TRACE_BYTES_KEPT: usize = 256 << 10;

/// The state that the writer keeps from batch to batch.
pub(crate) struct TxnState {
    pub overlay: Overlay,
    pub tables: Arc<Tables>,
    pub next_entry: EntryId,
    pub undo: Vec<Undo>,
    /// The trace of the proposal that is being applied.
    pub trace: Vec<u8>,
    /// See [`Snapshot::tree_generation`](crate::Snapshot::tree_generation). Not undone: it only has to differ.
    pub tree_generation: u64,
    /// Not undone either: a mark without a change costs readers a look, no more.
    pub marks: Marks,
    /// Entries that the proposals of this batch wrote or deleted, some more than once.
    pub written: Vec<EntryId>,
    pub indexes: Arc<BackendIndexes>,
    pub binder: Arc<dyn IndexBinder>,
    /// Makes the keys of the indexes that are being built; a cache.
    pub builder: Option<(Vec<IndexId>, Arc<dyn KeyExtractor>)>,
}

/// How to undo one change.
pub(crate) enum Undo {
    Posting(IndexKey, EntryId, bool),
    Entry(EntryId, Option<Row>),
    Value(RowKey, Option<Row>),
    Meta(RowKey, Option<Option<Arc<[u8]>>>),
    Tables(Arc<Tables>),
    Indexes(Arc<BackendIndexes>),
}

/// The access of a proposal to the directory.
pub struct Txn<'a> {
    pub(crate) txn: &'a ReadTxn,
    pub(crate) dbs: &'a Dbs,
    pub(crate) frozen: Option<&'a Overlay>,
    pub(crate) state: &'a mut TxnState,
    /// When the proposal began.
    pub(crate) next_entry_before: EntryId,
    written_before: usize,
}

impl<'a> Txn<'a> {
    pub(crate) fn begin(
        txn: &'a ReadTxn,
        dbs: &'a Dbs,
        frozen: Option<&'a Overlay>,
        state: &'a mut TxnState,
    ) -> Txn<'a> {
        state.undo.clear();
        state.trace.clear();
        state.trace.shrink_to(TRACE_BYTES_KEPT);
        let next_entry_before = state.next_entry;
        let written_before = state.written.len();
        Txn { txn, dbs, frozen, state, next_entry_before, written_before }
    }

    /// The present state, the changes of this proposal included.
    pub fn view(&self) -> View<'_> {
        let layers = [Some(&self.state.overlay), self.frozen];
        View {
            txn: self.txn,
            dbs: self.dbs,
            layers,
            tables: &self.state.tables,
            indexes: &self.state.indexes,
            seq: None,
            marks: &self.state.marks,
        }
    }

    /// The number tables.
    pub fn tables(&self) -> &Arc<Tables> {
        &self.state.tables
    }

    /// A number for a new entry.
    pub fn allocate_id(&mut self) -> EntryId {
        let id = self.state.next_entry;
        self.state.next_entry = EntryId(id.0 + 1);
        id
    }

    /// Stores an entry that is new, changed, renamed or moved, and updates the indexes and the tree by what differs
    /// from the stored entry. Its children stay its children.
    pub fn put_entry(&mut self, id: EntryId, record: Vec<u8>) -> Result<(), StoreError> {
        let old = self.entry_bytes(id)?;
        self.reindex(id, old.as_deref(), Some(&record))?;
        let in_lower = self.entry_in_lower(id)?;
        self.set_entry(id, Some(Row { bytes: Some(record.into()), in_lower }));
        Ok(())
    }

    /// Removes an entry without children, its large values included.
    pub fn delete_entry(&mut self, id: EntryId) -> Result<(), StoreError> {
        let Some(old) = self.entry_bytes(id)? else { return Err(StoreError::Misuse("entry to delete does not exist")) };
        if !self.view().children(id)?.is_empty() {
            return Err(StoreError::Misuse("entry to delete has children"));
        }
        let tables = self.state.tables.clone();
        for attribute in RecordView::parse(&old, &tables)?.attributes() {
            if let Content::Large(_) = attribute.content {
                self.remove_large_values(id, attribute.desc)?;
            }
        }
        self.reindex(id, Some(&old), None)?;
        let in_lower = self.entry_in_lower(id)?;
        self.set_entry(id, in_lower.then_some(Row { bytes: None, in_lower }));
        Ok(())
    }

    /// Adds one value to a large attribute; `false` if it is there already. The caller changes the stub in the record.
    pub fn add_large_value(
        &mut self,
        id: EntryId,
        desc: DescId,
        normalized: &[u8],
        value: &[u8],
    ) -> Result<bool, StoreError> {
        let key: RowKey = rows::value_key(id, desc, normalized).into();
        if self.view().value_row(&key)?.is_some() {
            return Ok(false);
        }
        let in_lower = self.value_in_lower(&key)?;
        self.set_value(&key, Some(Row { bytes: Some(value.into()), in_lower }));
        for (index_key, _) in self.value_keys(id, desc, value) {
            if !self.view().postings(&index_key)?.contains(id)? {
                self.change_posting(index_key, id, true);
            }
        }
        Ok(true)
    }

    /// Removes one value of a large attribute; `false` if it is not there.
    pub fn remove_large_value(&mut self, id: EntryId, desc: DescId, normalized: &[u8]) -> Result<bool, StoreError> {
        let key: RowKey = rows::value_key(id, desc, normalized).into();
        let Some(value) = self.view().value_row(&key)?.map(Cow::into_owned) else { return Ok(false) };
        let in_lower = self.value_in_lower(&key)?;
        self.set_value(&key, in_lower.then_some(Row { bytes: None, in_lower }));
        for (index_key, is_unique) in self.value_keys(id, desc, &value) {
            if !self.is_key_of_rest(id, desc, &index_key, is_unique)? && self.is_there(&index_key, id)? {
                self.change_posting(index_key, id, false);
            }
        }
        Ok(true)
    }

    /// Removes all values of a large attribute.
    pub fn remove_large_values(&mut self, id: EntryId, desc: DescId) -> Result<(), StoreError> {
        let mut keys = Vec::new();
        for found in self.view().large_values(id, desc)? {
            let (key, value) = found?;
            keys.push((RowKey::from(key), value.into_owned()));
        }
        for (key, value) in keys {
            let in_lower = self.value_in_lower(&key)?;
            self.set_value(&key, in_lower.then_some(Row { bytes: None, in_lower }));
            for (index_key, is_unique) in self.value_keys(id, desc, &value) {
                let is_there = self.view().postings(&index_key)?.contains(id)?;
                if is_there && !self.is_key_of_rest(id, desc, &index_key, is_unique)? {
                    self.change_posting(index_key, id, false);
                }
            }
        }
        Ok(())
    }

    /// Keeps something for the rules under `key`; `None` removes it.
    pub fn set_meta(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.set_meta_row(&meta::rules(key), value);
    }

    /// The access control instructions of an entry are others now, or the entry that has some is gone or elsewhere.
    pub fn mark_access(&mut self, id: EntryId) {
        self.state.marks.mark_access(id);
    }

    /// A group, or an entry that says what other entries get, is another one now.
    pub fn mark_membership(&mut self) {
        self.state.marks.mark_membership();
    }

    /// The trace of this proposal, which the log keeps with it if it is accepted: opaque to the store, without effect
    /// on the outcome, and neither compared nor made again by a replay. Empty at first.
    pub fn trace(&mut self) -> &mut Vec<u8> {
        &mut self.state.trace
    }

    /// Undoes everything since [`Txn::begin`].
    pub(crate) fn undo(&mut self) {
        while let Some(step) = self.state.undo.pop() {
            match step {
                Undo::Posting(key, id, added) => self.state.overlay.change_posting(&key, id, !added),
                Undo::Entry(id, row) => drop(self.state.overlay.set_entry(id, row)),
                Undo::Value(key, row) => drop(self.state.overlay.set_value(&key, row)),
                Undo::Meta(key, value) => drop(self.state.overlay.set_meta(&key, value)),
                Undo::Tables(tables) => self.state.tables = tables,
                Undo::Indexes(indexes) => self.state.indexes = indexes,
            }
        }
        self.state.next_entry = self.next_entry_before;
        self.state.written.truncate(self.written_before);
        self.state.trace.clear();
    }

    fn entry_bytes(&self, id: EntryId) -> Result<Option<Arc<[u8]>>, StoreError> {
        for overlay in [Some(&self.state.overlay), self.frozen].into_iter().flatten() {
            if let Some(row) = overlay.entries.get(&id.0) {
                return Ok(row.bytes.clone());
            }
        }
        Ok(self.view().base_entry(id)?.map(|bytes| bytes.as_ref().into()))
    }

    fn entry_in_lower(&self, id: EntryId) -> Result<bool, StoreError> {
        match self.state.overlay.entries.get(&id.0) {
            Some(row) => Ok(row.in_lower),
            None => self.view().lower_has_entry(id),
        }
    }

    fn value_in_lower(&self, key: &[u8]) -> Result<bool, StoreError> {
        match self.state.overlay.values.get(key) {
            Some(row) => Ok(row.in_lower),
            None => self.view().lower_has_value(key),
        }
    }

    /// Updates indexes and tree when `old` is replaced by `new`.
    fn reindex(&mut self, id: EntryId, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<(), StoreError> {
        let tables = self.state.tables.clone();
        let old = old.map(|bytes| RecordView::parse(bytes, &tables)).transpose()?;
        let new = new.map(|bytes| RecordView::parse(bytes, &tables)).transpose()?;
        let place = |view: &RecordView<'_>| (view.parent(), view.rdn().to_vec());
        if old.as_ref().map(place) != new.as_ref().map(place) {
            if old.is_some() && new.is_some() {
                self.state.tree_generation += 1;
            }
            self.move_in_tree(id, old.as_ref(), new.as_ref())?;
        }
        if old.is_some() != new.is_some() {
            self.change_posting(IndexKey::all(), id, new.is_some());
        }
        let mut changes = Vec::new();
        let indexes = &self.state.indexes;
        indexes.extractor().changes(old.as_ref(), new.as_ref(), &mut |added, index, key| {
            if indexes.keeps(index, id) {
                changes.push((IndexKey::new(index, key), added));
            }
        });
        let large: Vec<DescId> = old.iter().chain(&new).flat_map(large_descs).collect();
        for (key, added) in changes {
            // A large value of the entry may make the same key.
            let is_settled = match added {
                _ if large.is_empty() => false,
                true => self.view().postings(&key)?.contains(id)?,
                false => self.is_key_of_large(id, &large, &key)? || !self.is_there(&key, id)?,
            };
            if !is_settled {
                self.change_posting(key, id, added);
            }
        }
        Ok(())
    }

    fn move_in_tree(
        &mut self,
        id: EntryId,
        old: Option<&RecordView<'_>>,
        new: Option<&RecordView<'_>>,
    ) -> Result<(), StoreError> {
        let key_of = |view: &RecordView<'_>| {
            let mut normalized = Vec::new();
            let is_base = view.parent() == EntryId::ROOT;
            let known = self.state.indexes.extractor().normalize_rdn(view.rdn(), is_base, &mut normalized);
            known.then(|| IndexKey::dn(view.parent(), &normalized)).ok_or(StoreError::Misuse("name has no normal form"))
        };
        let old_key = old.map(key_of).transpose()?;
        let new_key = new.map(key_of).transpose()?;
        let (old_parent, new_parent) = (old.map(RecordView::parent), new.map(RecordView::parent));
        if old_key != new_key {
            if let Some(key) = &new_key
                && !self.view().postings(key)?.is_empty()
            {
                return Err(StoreError::Misuse("name is taken"));
            }
            self.change_postings([(old_key, false), (new_key, true)], id);
        }
        if old_parent != new_parent {
            self.change_postings(
                [(old_parent.map(IndexKey::children), false), (new_parent.map(IndexKey::children), true)],
                id,
            );
        }
        Ok(())
    }

    fn change_postings(&mut self, changes: [(Option<IndexKey>, bool); 2], id: EntryId) {
        for (key, added) in changes {
            if let Some(key) = key {
                self.change_posting(key, id, added);
            }
        }
    }

    /// The keys of a large value, each once, and whether no other value of the attribute makes it.
    fn value_keys(&self, id: EntryId, desc: DescId, value: &[u8]) -> Vec<(IndexKey, bool)> {
        let mut keys = Vec::new();
        self.state.indexes.extractor().value_keys(&self.state.tables, desc, value, &mut |index, key, is_unique| {
            if self.state.indexes.keeps(index, id) {
                keys.push((IndexKey::new(index, key), is_unique));
            }
        });
        keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        keys.dedup_by(|(a, _), (b, _)| a == b);
        keys
    }

    /// Whether anything else of the entry than the removed value makes this key.
    fn is_key_of_rest(&self, id: EntryId, desc: DescId, key: &IndexKey, is_unique: bool) -> Result<bool, StoreError> {
        let Some(bytes) = self.entry_bytes(id)? else { return Ok(false) };
        let record = RecordView::parse(&bytes, &self.state.tables)?;
        let extractor = self.state.indexes.extractor();
        let feeds = |own: DescId| own != desc && extractor.feeds(&self.state.tables, own, key.index());
        if record.attributes().any(|own| matches!(own.content, Content::Inline(_)) && feeds(own.desc)) {
            let mut found = false;
            extractor.changes(None, Some(&record), &mut |_, index, own| {
                found |= index == key.index() && IndexKey::new(index, own) == *key;
            });
            if found {
                return Ok(true);
            }
        }
        let mut large: Vec<DescId> = large_descs(&record).filter(|own| *own != desc).collect();
        if !is_unique {
            large.push(desc);
        }
        self.is_key_of_large(id, &large, key)
    }

    /// Whether a value of one of these large attributes makes this key. Reads only those that feed the index.
    fn is_key_of_large(&self, id: EntryId, large: &[DescId], key: &IndexKey) -> Result<bool, StoreError> {
        for desc in large {
            if !self.state.indexes.extractor().feeds(&self.state.tables, *desc, key.index()) {
                continue;
            }
            for found in self.view().large_values(id, *desc)? {
                let (_, value) = found?;
                if self.value_keys(id, *desc, &value).iter().any(|(made, _)| made == key) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether the entry is in the list of a key that it makes. It is, unless the index is being built and only part of
    /// the entry is in it.
    fn is_there(&self, key: &IndexKey, id: EntryId) -> Result<bool, StoreError> {
        Ok(!self.state.indexes.has_part_of(key.index(), id) || self.view().postings(key)?.contains(id)?)
    }

    pub(crate) fn change_posting(&mut self, key: IndexKey, id: EntryId, added: bool) {
        self.state.overlay.change_posting(&key, id, added);
        self.state.undo.push(Undo::Posting(key, id, added));
    }

    fn set_entry(&mut self, id: EntryId, row: Option<Row>) {
        let old = self.state.overlay.set_entry(id, row);
        self.state.undo.push(Undo::Entry(id, old));
        self.state.written.push(id);
    }

    fn set_value(&mut self, key: &RowKey, row: Option<Row>) {
        let old = self.state.overlay.set_value(key, row);
        self.state.undo.push(Undo::Value(key.clone(), old));
    }

    pub(crate) fn set_meta_row(&mut self, key: &[u8], value: Option<&[u8]>) {
        let key: RowKey = key.into();
        let old = self.state.overlay.set_meta(&key, Some(value.map(Arc::from)));
        self.state.undo.push(Undo::Meta(key, old));
    }

    /// The tables for a change; their old state is kept for `undo`.
    fn tables_mut(&mut self) -> &mut Tables {
        self.state.undo.push(Undo::Tables(self.state.tables.clone()));
        Arc::make_mut(&mut self.state.tables)
    }
}

pub(crate) fn large_descs<'a>(record: &RecordView<'a>) -> impl Iterator<Item = DescId> + use<'a> {
    record.attributes().filter(|own| matches!(own.content, Content::Large(_))).map(|own| own.desc)
}

impl Interner for Txn<'_> {
    fn description(&mut self, description: &str) -> Result<DescId, StoreError> {
        if let Some(id) = self.state.tables.description_id(description) {
            return Ok(id);
        }
        let id = Interner::description(self.tables_mut(), description)?;
        self.set_meta_row(&meta::description(id), Some(description.as_bytes()));
        Ok(id)
    }

    fn name(&mut self, name: &[u8]) -> Option<NameId> {
        if let Some(id) = self.state.tables.name_id(name) {
            return Some(id);
        }
        if !self.state.tables.takes_name(name) {
            return None;
        }
        let id = Interner::name(self.tables_mut(), name)?;
        self.set_meta_row(&meta::name(id), Some(name));
        Some(id)
    }

    fn class_set(&mut self, values: Values<'_>) -> Option<ClassSetId> {
        if let Some(id) = self.state.tables.class_set_id(values) {
            return Some(id);
        }
        if !self.state.tables.takes_class_set(values) {
            return None;
        }
        let id = Interner::class_set(self.tables_mut(), values)?;
        self.set_meta_row(&meta::class_set(id), Some(values.body()));
        Some(id)
    }
}
