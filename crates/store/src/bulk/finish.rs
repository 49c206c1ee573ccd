//! Makes rows and keys of prepared entries with ids: the last step that a worker does alone.

use std::borrow::Cow;

use schema::TypeIndex;

use super::error::BulkError;
use super::names::Names;
use super::prepared_batch::{Entry, Outcome, PreparedAttribute, PreparedBatch};
use super::sort::{KeyBatch, Slot};
use super::writer::{Rows, Target};
use crate::index::{IndexSet, IndexedEntry, Indexer, KeySink};
use crate::posting::key::{KEY_BYTES_MAX, write_key};
use crate::record::{LargeStub, RecordBuilder, packed};
use crate::rows::{ENTRY_PIECE_BYTES_MAX, PIECE_BYTES_MAX, cut, entry_key, entry_part_key, value_key, value_part_key};
use crate::{EntryId, IndexId, StoreError, varint};

/// In place of a slot, for indexes without one.
const NO_SLOT: Slot = Slot(usize::MAX);

/// The slots of the sort: one for each index, in the order of their ids.
#[derive(Debug)]
pub(super) struct Slots {
    indexes: Vec<IndexId>,
    /// Slot by index id; [`NO_SLOT`] for none.
    by_index: Vec<Slot>,
}

impl Slots {
    /// The tree and the configured indexes.
    pub fn new(set: &IndexSet) -> Self {
        let system = [IndexId::DN, IndexId::CHILDREN, IndexId::ALL];
        Self::of(system.into_iter().chain(set.iter().map(|index| index.id)).collect())
    }

    /// Only these indexes, which must ascend.
    pub fn of(indexes: Vec<IndexId>) -> Self {
        let mut by_index = vec![NO_SLOT; indexes.last().map_or(0, |last| usize::from(last.0) + 1)];
        for (slot, index) in indexes.iter().enumerate() {
            if let Some(place) = by_index.get_mut(usize::from(index.0)) {
                *place = Slot(slot);
            }
        }
        Self { indexes, by_index }
    }

    pub fn len(&self) -> usize {
        self.indexes.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, IndexId)> {
        self.indexes.iter().copied().enumerate().map(|(slot, index)| (Slot(slot), index))
    }

    #[inline]
    fn of_index(&self, index: IndexId) -> Option<Slot> {
        self.by_index.get(usize::from(index.0)).copied().filter(|slot| *slot != NO_SLOT)
    }
}

/// Keys of one entry on their way into a batch.
pub(super) struct BatchSink<'b> {
    keys: &'b mut KeyBatch,
    slots: &'b Slots,
    row: u32,
    room: Vec<u8>,
    error: Option<BulkError>,
}

impl<'b> BatchSink<'b> {
    pub fn new(keys: &'b mut KeyBatch, slots: &'b Slots) -> Self {
        Self { keys, slots, row: 0, room: Vec::new(), error: None }
    }

    /// The keys that follow belong to this row.
    pub fn set_row(&mut self, row: u32) {
        self.row = row;
    }

    /// The keys of the tree.
    pub fn tree(&mut self, parent: EntryId, id_key: &[u8]) {
        let mut key = Vec::with_capacity(9 + id_key.len());
        varint::put_ordered(&mut key, parent.0);
        self.key(IndexId::CHILDREN, &key);
        key.extend_from_slice(id_key);
        self.key(IndexId::DN, &key);
        self.key(IndexId::ALL, b"");
    }

    pub fn finish(self) -> Result<(), BulkError> {
        self.error.map_or(Ok(()), Err)
    }
}

impl KeySink for BatchSink<'_> {
    #[inline]
    fn key(&mut self, index: IndexId, key: &[u8]) {
        let Some(slot) = self.slots.of_index(index) else { return };
        let pushed = if key.len() <= KEY_BYTES_MAX {
            self.keys.push(slot, key, self.row)
        } else {
            self.room.clear();
            write_key(index, key, &mut self.room);
            self.keys.push(slot, self.room.get(2..).unwrap_or_default(), self.row)
        };
        if let Err(error) = pushed {
            self.error.get_or_insert(error.into());
        }
    }
}

/// A prepared entry as the indexer reads it.
struct PreparedView<'w, 'n> {
    batch: &'w PreparedBatch,
    names: &'w Names<'n>,
    entry: &'w Entry,
}

impl<'w> PreparedView<'w, '_> {
    fn attributes(&self) -> impl Iterator<Item = (TypeIndex, &'w PreparedAttribute)> {
        let typed =
            |attribute: &'w PreparedAttribute| Some((self.names.get(attribute.described)?.attribute?, attribute));
        self.batch.attributes_of(self.entry).iter().filter_map(typed)
    }
}

fn is_large(attribute: &PreparedAttribute) -> bool {
    RecordBuilder::is_large(attribute.count as usize, attribute.longest as usize)
}

impl IndexedEntry for PreparedView<'_, '_> {
    fn each_attribute<'s>(
        &'s self,
        wanted: &dyn Fn(TypeIndex) -> bool,
        visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
    ) {
        for (of_type, attribute) in self.attributes().filter(|(of_type, it)| wanted(*of_type) && !is_large(it)) {
            visit(of_type, Cow::Borrowed(self.batch.bytes(&attribute.body)));
        }
    }

    fn each_large(&self, visit: &mut dyn FnMut(TypeIndex)) {
        self.attributes().filter(|(_, attribute)| is_large(attribute)).for_each(|(of_type, _)| visit(of_type));
    }
}

/// The rows and keys of a chunk.
pub(super) struct Finished {
    pub keys: KeyBatch,
    /// How many ids the chunk got.
    pub rows: u32,
    pub entries: Rows,
    pub values: Rows,
}

/// Makes rows and keys for one worker.
pub(super) struct Finisher<'f> {
    indexer: &'f Indexer,
    slots: &'f Slots,
    finished: Finished,
    builder: RecordBuilder,
    record: Vec<u8>,
    room: Vec<u8>,
    large: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'f> Finisher<'f> {
    pub fn new(indexer: &'f Indexer, slots: &'f Slots) -> Self {
        let finished = Finished {
            keys: KeyBatch::new(slots.len()),
            rows: 0,
            entries: Rows::new(Target::Entries),
            values: Rows::new(Target::Values),
        };
        let (builder, record, room) = (RecordBuilder::default(), Vec::new(), Vec::new());
        Self { indexer, slots, finished, builder, record, room, large: Vec::new() }
    }

    /// Makes rows and keys of the entries of a batch, whose ids count from `first_id`.
    pub fn finish(
        &mut self,
        batch: &PreparedBatch,
        names: &mut Names<'_>,
        first_id: EntryId,
    ) -> Result<&mut Finished, BulkError> {
        self.finished.keys.clear();
        self.finished.rows = 0;
        let entries = batch.entries.iter().filter_map(|prepared| match &prepared.outcome {
            Outcome::Entry(entry) => Some(entry),
            _ => None,
        });
        for entry in entries {
            self.keys(batch, names, entry, (entry.id.0 - first_id.0) as u32)?;
            self.record(batch, names, entry)?;
            self.finished.rows = (entry.id.0 - first_id.0) as u32 + 1;
        }
        Ok(&mut self.finished)
    }

    fn keys(&mut self, batch: &PreparedBatch, names: &Names<'_>, entry: &Entry, row: u32) -> Result<(), BulkError> {
        let mut sink = BatchSink::new(&mut self.finished.keys, self.slots);
        sink.set_row(row);
        sink.tree(entry.parent_id, batch.bytes(&entry.rdn_key));
        for attribute in batch.attributes_of(entry) {
            if let Some(of_type) = names.get(attribute.described).and_then(|described| described.attribute) {
                self.indexer.attribute_keys(of_type, batch.bytes(&attribute.body), &mut self.room, &mut sink);
            }
        }
        self.indexer.entry_keys(&PreparedView { batch, names, entry }, &mut self.room, &mut sink);
        sink.finish()
    }

    fn record(&mut self, batch: &PreparedBatch, names: &mut Names<'_>, entry: &Entry) -> Result<(), BulkError> {
        self.builder.restart(entry.parent_id, batch.bytes(&entry.rdn));
        self.large.clear();
        for attribute in batch.attributes_of(entry) {
            let Some(desc) = names.get(attribute.described).map(|described| described.desc) else { continue };
            if is_large(attribute) {
                let stub = self.large_values(batch, names, entry.id, attribute)?;
                self.builder.push_large(desc, stub)?;
            } else {
                self.builder.push_values(desc, batch.values(attribute), names)?;
            }
        }
        self.builder.finish_into(&mut self.record)?;
        put_record(entry.id, &self.record, &mut self.finished.entries)?;
        self.large.sort_unstable();
        for (key, data) in &self.large {
            self.finished.values.push(key, data);
        }
        Ok(())
    }

    /// Rows of the values of an attribute that is too large for the record.
    fn large_values(
        &mut self,
        batch: &PreparedBatch,
        names: &Names<'_>,
        id: EntryId,
        attribute: &PreparedAttribute,
    ) -> Result<LargeStub, BulkError> {
        let Some(described) = names.get(attribute.described) else { return Ok(LargeStub::default()) };
        let schema = self.indexer.schema();
        let rule = described.attribute.and_then(|t| schema.attribute_by_index(t)).and_then(|t| t.equality);
        let mut stub = LargeStub::default();
        for value in batch.values(attribute).iter() {
            self.room.clear();
            if rule.is_none_or(|rule| rule.normalize(schema, value, &mut self.room).is_err()) {
                self.room.extend_from_slice(value);
            }
            let key = value_key(id, described.desc, &self.room);
            cut::<StoreError>(value, PIECE_BYTES_MAX, |part, piece| {
                self.large.push((value_part_key(&key, part), piece.to_vec()));
                Ok(())
            })?;
            stub.count += 1;
            stub.bytes += value.len() as u64;
        }
        Ok(stub)
    }
}

/// Adds the row of a record, or its rows when it is large.
pub(super) fn put_record(id: EntryId, record: &[u8], rows: &mut Rows) -> Result<(), BulkError> {
    cut::<StoreError>(&packed(record), ENTRY_PIECE_BYTES_MAX, |part, piece| {
        if part == 0 {
            rows.push(&entry_key(id), piece);
        } else {
            rows.push(&entry_part_key(id, part), piece);
        }
        Ok(())
    })?;
    Ok(())
}
