//! Makes the rows of `postings` and `chunks` of sorted keys, in the order in which they are appended to LMDB.
//!
//! Short lists go inline into packed blocks, long ones into containers numbered in the order of their keys, so that
//! both tables are written from front to back at the same time. Knows the posting formats, not the environment.

use super::error::BulkError;
use super::sort::{Merge, Slot, Sorted};
use crate::posting::container::CONTAINER_BYTES_MAX;
use crate::posting::{BlockWriter, ContainerBuf, INLINE_BYTES_MAX, InlineList, List, chunk_key, chunk_of, low_of};
use crate::{EntryId, IndexId, ListId, varint};

/// Receives finished rows.
pub(super) trait RowSink {
    /// A row of `postings`; keys ascend.
    fn block(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError>;
    /// A row of `chunks`; keys ascend.
    fn container(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError>;
}

/// What was built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BuiltPostings {
    /// Keys of all indexes.
    pub keys: u64,
    /// Ids of all keys.
    pub ids: u64,
    /// The number for the next long list.
    pub next_list: u64,
}

/// Packs the lists of ascending keys into rows.
pub(super) struct PostingsBuilder<'s, S> {
    sink: &'s mut S,
    block: BlockWriter,
    key: Vec<u8>,
    inline: Vec<u8>,
    container: ContainerBuf,
    encoded: Vec<u8>,
    built: BuiltPostings,
}

impl<'s, S: RowSink> PostingsBuilder<'s, S> {
    /// Long lists are numbered from `next_list`.
    pub fn new(sink: &'s mut S, next_list: u64) -> Self {
        Self {
            sink,
            block: BlockWriter::new(),
            key: Vec::new(),
            inline: Vec::with_capacity(INLINE_BYTES_MAX + varint::VARINT_BYTES_MAX),
            container: ContainerBuf::new(),
            encoded: Vec::with_capacity(CONTAINER_BYTES_MAX),
            built: BuiltPostings { next_list, ..BuiltPostings::default() },
        }
    }

    /// Writes all keys of `slot`, which is the index `index`. Indexes must come in ascending order.
    pub fn index(&mut self, sorted: &Sorted, slot: Slot, index: IndexId) -> Result<(), BulkError> {
        let mut merge = sorted.merge(slot)?;
        while let Some(count) = merge.next()? {
            self.key.clear();
            self.key.extend_from_slice(&index.0.to_be_bytes());
            self.key.extend_from_slice(merge.key());
            self.list(&mut merge, count)?;
            self.built.keys += 1;
            self.built.ids += count;
        }
        Ok(())
    }

    /// Writes the last row.
    pub fn finish(mut self) -> Result<BuiltPostings, BulkError> {
        self.flush_block()?;
        Ok(self.built)
    }

    fn list(&mut self, merge: &mut Merge<'_>, count: u64) -> Result<(), BulkError> {
        // Every id takes a byte at least.
        if count > INLINE_BYTES_MAX as u64 {
            return self.long(count, |take| merge.ids(take));
        }
        self.inline.clear();
        let mut last = 0;
        let inline = &mut self.inline;
        merge.ids::<BulkError>(|id| {
            varint::put(inline, id - last);
            last = id;
            Ok(())
        })?;
        if self.inline.len() > INLINE_BYTES_MAX {
            let body = std::mem::take(&mut self.inline);
            let result = self.long(count, |take| InlineList::new(&body).iter().try_for_each(|id| take(id.0)));
            self.inline = body;
            return result;
        }
        let body = std::mem::take(&mut self.inline);
        let result = self.push(List::Inline(InlineList::new(&body)));
        self.inline = body;
        result
    }

    /// Writes a long list, whose ids `feed` gives, and its stub.
    fn long(
        &mut self,
        count: u64,
        feed: impl FnOnce(&mut dyn FnMut(u64) -> Result<(), BulkError>) -> Result<(), BulkError>,
    ) -> Result<(), BulkError> {
        let list = ListId(self.built.next_list);
        self.built.next_list += 1;
        let mut chunk = None;
        self.container.clear();
        feed(&mut |id| {
            let id = EntryId(id);
            if chunk != Some(chunk_of(id))
                && let Some(full) = chunk.replace(chunk_of(id))
            {
                self.flush_container(list, full)?;
            }
            self.container.insert(low_of(id));
            Ok(())
        })?;
        if let Some(last) = chunk {
            self.flush_container(list, last)?;
        }
        self.push(List::Long { count, list })
    }

    fn flush_container(&mut self, list: ListId, chunk: u64) -> Result<(), BulkError> {
        self.encoded.clear();
        self.container.encode(&mut self.encoded);
        self.container.clear();
        self.sink.container(&chunk_key(list, chunk), &self.encoded)
    }

    fn push(&mut self, list: List<'_>) -> Result<(), BulkError> {
        if self.block.push(&self.key, list) {
            return Ok(());
        }
        self.flush_block()?;
        // Invariant: an empty row takes any one key with its list.
        self.block.push(&self.key, list);
        Ok(())
    }

    fn flush_block(&mut self) -> Result<(), BulkError> {
        if !self.block.is_empty() {
            let (key, data) = self.block.row();
            self.sink.block(key, data)?;
            self.block.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::bulk::sort::{KeyBatch, Sorter};
    use crate::posting::container::{id_at, parse_chunk_key};
    use crate::posting::{BlockView, Container, ROW_BYTES_MAX};

    #[derive(Default)]
    struct Rows {
        blocks: Vec<(Vec<u8>, Vec<u8>)>,
        containers: Vec<(Vec<u8>, Vec<u8>)>,
    }

    impl RowSink for Rows {
        fn block(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError> {
            self.blocks.push((key.to_vec(), data.to_vec()));
            Ok(())
        }
        fn container(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError> {
            self.containers.push((key.to_vec(), data.to_vec()));
            Ok(())
        }
    }

    /// Reads the rows back with nothing but the formats.
    fn read(rows: &Rows) -> BTreeMap<Vec<u8>, Vec<u64>> {
        let mut out = BTreeMap::new();
        assert!(rows.blocks.is_sorted_by(|a, b| a.0 < b.0) && rows.containers.is_sorted_by(|a, b| a.0 < b.0));
        for (row_key, data) in &rows.blocks {
            assert!(row_key.len() + data.len() <= ROW_BYTES_MAX);
            let mut iter = BlockView::new(row_key, data).iter();
            while let Some((key, list)) = iter.next().unwrap() {
                let ids: Vec<u64> = match list {
                    List::Inline(ids) => ids.iter().map(|id| id.0).collect(),
                    List::Long { list, .. } => {
                        let own = rows.containers.iter().map(|(key, data)| (parse_chunk_key(key).unwrap(), data));
                        own.filter(|((of, _), _)| *of == list)
                            .flat_map(|((_, chunk), data)| {
                                let container = Container::parse(data).unwrap();
                                container.check().unwrap();
                                container.iter().map(move |low| id_at(chunk, low).0)
                            })
                            .collect()
                    }
                };
                assert_eq!(list.count(), ids.len() as u64);
                out.insert(key.to_vec(), ids);
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_list_comes_back(
            steps in prop::collection::vec(1u64..30_000, 1..700),
            keys in prop::collection::vec("[ab]{0,9}", 1..40),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(directory.path(), 2, 0, 1).unwrap();
            let mut expected: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
            let mut id = 0;
            for (at, step) in steps.iter().enumerate() {
                id += step;
                let mut batch = KeyBatch::new(2);
                let own = [(0, "all"), (1, keys[at % keys.len()].as_str())];
                for (slot, key) in own {
                    batch.push(Slot(slot), key.as_bytes(), 0).unwrap();
                    let full = [&[0, 16 + slot as u8], key.as_bytes()].concat();
                    expected.entry(full).or_default().push(id);
                }
                sorter.append(&batch, id, 1).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            let mut rows = Rows::default();
            let mut builder = PostingsBuilder::new(&mut rows, 7);
            for slot in 0..2 {
                builder.index(&sorted, Slot(slot), IndexId(16 + slot as u16)).unwrap();
            }
            let built = builder.finish().unwrap();
            prop_assert_eq!(built.ids, 2 * steps.len() as u64);
            prop_assert_eq!(built.keys, expected.len() as u64);
            prop_assert_eq!(read(&rows), expected);
        }
    }
}
