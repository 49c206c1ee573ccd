//! Rewriting packed blocks in key order: each touched row is read, merged and written once, and split like a B-tree
//! page.

use std::iter::Peekable;
use std::ops::Range;

use heed::RwTxn;
use imbl::OrdMap;

use super::lists::{Folded, ListFolder};
use super::pace::Pace;
use crate::env::Dbs;
use crate::error::StoreError;
use crate::overlay::PostingDelta;
use crate::posting::block::index_range;
use crate::posting::key::index_of;
use crate::posting::{BlockIter, BlockView, BlockWriter, IndexKey, InlineList, List, ROW_BYTES_MAX};
use crate::{IndexId, ListId};

/// A split row leaves this much room above its even share, so that the last part is not tiny.
const SPLIT_SLACK_BYTES: usize = 48;

pub(super) struct BlockFolder<'d> {
    dbs: &'d Dbs,
    lists: ListFolder<'d>,
    merged: Merged,
    writer: BlockWriter,
    row_key: Vec<u8>,
    row_data: Vec<u8>,
}

/// The content of a row after merging, until it is cut into rows again.
#[derive(Default)]
struct Merged {
    bytes: Vec<u8>,
    items: Vec<Item>,
}

struct Item {
    key: Range<usize>,
    list: Stored,
}

enum Stored {
    Inline(Range<usize>),
    Long { count: u64, list: ListId },
}

type Deltas<'a> = Peekable<imbl::ordmap::Iter<'a, IndexKey, PostingDelta, imbl::shared_ptr::DefaultSharedPtr>>;

impl<'d> BlockFolder<'d> {
    pub fn new(dbs: &'d Dbs, next_list: ListId) -> BlockFolder<'d> {
        BlockFolder {
            dbs,
            lists: ListFolder::new(dbs, next_list),
            merged: Merged::default(),
            writer: BlockWriter::new(),
            row_key: Vec::new(),
            row_data: Vec::new(),
        }
    }

    pub fn next_list(&self) -> ListId {
        self.lists.next_list
    }

    pub fn fold(
        &mut self,
        txn: &mut RwTxn<'_>,
        postings: &OrdMap<IndexKey, PostingDelta>,
        pace: Pace<'_>,
    ) -> Result<(), StoreError> {
        let mut deltas = postings.iter().peekable();
        while let Some((key, _)) = deltas.peek() {
            let end = self.load_row(txn, key)?;
            self.merge(txn, &mut deltas, &end)?;
            self.write_rows(txn, &end)?;
            pace();
        }
        Ok(())
    }

    /// Copies the row that `key` belongs to and returns the first key that belongs to a later one. Keys before the
    /// first row of their index belong to that one.
    fn load_row(&mut self, txn: &RwTxn<'_>, key: &IndexKey) -> Result<RowEnd, StoreError> {
        self.row_key.clear();
        self.row_data.clear();
        let index = key.index();
        let own = |(row_key, _): &(&[u8], &[u8])| index_of(row_key) == index;
        let before = self.dbs.postings.get_lower_than_or_equal_to(txn, key.as_bytes())?.filter(own);
        let row = match before {
            Some(row) => Some(row),
            None => self.dbs.postings.get_greater_than_or_equal_to(txn, key.as_bytes())?.filter(own),
        };
        let Some((row_key, data)) = row else {
            return Ok(RowEnd { key: end_of(index), is_last: true });
        };
        self.row_key.extend_from_slice(row_key);
        self.row_data.extend_from_slice(data);
        Ok(match self.dbs.postings.get_greater_than(txn, row_key)?.filter(own) {
            Some((next, _)) => RowEnd { key: IndexKey::from_bytes(next), is_last: false },
            None => RowEnd { key: end_of(index), is_last: true },
        })
    }

    /// Puts the row and all deltas before `end` into `merged`.
    fn merge(&mut self, txn: &mut RwTxn<'_>, deltas: &mut Deltas<'_>, end: &RowEnd) -> Result<(), StoreError> {
        self.merged.bytes.clear();
        self.merged.items.clear();
        let row_data = std::mem::take(&mut self.row_data);
        let mut block = BlockView::new(&self.row_key, &row_data).iter();
        let mut base = next_of(&mut block)?;
        loop {
            let delta = deltas.peek().filter(|(key, _)| *key < &end.key);
            let order = match (&base, delta) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(_), Some((key, _))) => block.key().cmp(key.as_bytes()),
            };
            if order.is_lt() {
                if let Some(list) = base {
                    self.merged.keep(block.key(), list);
                }
                base = next_of(&mut block)?;
                continue;
            }
            let own_base = if order.is_eq() { base } else { None };
            if let Some((key, delta)) = deltas.next() {
                let mark = self.merged.put_key(key.as_bytes());
                let start = self.merged.bytes.len();
                let folded = self.lists.fold(txn, own_base, delta, &mut self.merged.bytes)?;
                self.merged.put_list(mark, start, folded);
            }
            if order.is_eq() {
                base = next_of(&mut block)?;
            }
        }
        self.row_data = row_data;
        Ok(())
    }

    /// Cuts `merged` into rows and stores them in the place of the row that was loaded.
    fn write_rows(&mut self, txn: &mut RwTxn<'_>, end: &RowEnd) -> Result<(), StoreError> {
        let first_key = self.merged.items.first().and_then(|item| self.merged.bytes.get(item.key.clone()));
        if !self.row_key.is_empty() && first_key != Some(&self.row_key) {
            self.dbs.postings.delete(txn, &self.row_key)?;
        }
        let row_bytes_max = self.share(end);
        self.writer.clear();
        for item in &self.merged.items {
            let key = self.merged.bytes.get(item.key.clone()).unwrap_or_default();
            let list = match &item.list {
                Stored::Inline(body) => {
                    List::Inline(InlineList::new(self.merged.bytes.get(body.clone()).unwrap_or_default()))
                }
                Stored::Long { count, list } => List::Long { count: *count, list: *list },
            };
            if !self.writer.push_within(key, list, row_bytes_max) {
                put_row(self.dbs, txn, &self.writer)?;
                self.writer.clear();
                self.writer.push_within(key, list, row_bytes_max);
            }
        }
        if !self.writer.is_empty() {
            put_row(self.dbs, txn, &self.writer)?;
        }
        Ok(())
    }

    /// How large the parts are to be: the whole row if it fits; full rows where keys come in order at the end; else
    /// even parts with room to grow.
    fn share(&mut self, end: &RowEnd) -> usize {
        let size = self.packed_size();
        let was = self.row_key.len() + self.row_data.len();
        let grew_at_end = end.is_last && self.last_old_key_is_early();
        if size <= ROW_BYTES_MAX || (grew_at_end && was > 0) || size > 8 * ROW_BYTES_MAX {
            return ROW_BYTES_MAX;
        }
        let parts = size.div_ceil(ROW_BYTES_MAX);
        (size / parts + SPLIT_SLACK_BYTES).min(ROW_BYTES_MAX)
    }

    /// Bytes of all of `merged` as one row.
    fn packed_size(&self) -> usize {
        let mut size = 0;
        let mut before: &[u8] = b"";
        for item in &self.merged.items {
            let key = self.merged.bytes.get(item.key.clone()).unwrap_or_default();
            let shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
            let list = match &item.list {
                Stored::Inline(body) => body.len() + 1 + usize::from(body.len() > 127),
                Stored::Long { count, list } => 1 + crate::varint::size(*count) + crate::varint::size(list.0),
            };
            size += 1 + key.len() - shared + list;
            before = key;
        }
        size
    }

    /// Whether everything new in the last row of an index came behind its old keys.
    fn last_old_key_is_early(&self) -> bool {
        let old = BlockView::new(&self.row_key, &self.row_data);
        let mut block = old.iter();
        let mut count = 0;
        while let Ok(Some(_)) = block.next() {
            count += 1;
        }
        let at = self.merged.items.get(count.max(1) - 1);
        at.and_then(|item| self.merged.bytes.get(item.key.clone())) == Some(block.key())
    }
}

/// Where the keys of a later row begin.
struct RowEnd {
    key: IndexKey,
    /// Whether there is no later row in the index.
    is_last: bool,
}

fn end_of(index: IndexId) -> IndexKey {
    index_range(index).1
}

fn next_of<'a>(block: &mut BlockIter<'a>) -> Result<Option<List<'a>>, StoreError> {
    Ok(block.next()?.map(|(_, list)| list))
}

fn put_row(dbs: &Dbs, txn: &mut RwTxn<'_>, writer: &BlockWriter) -> Result<(), StoreError> {
    let (key, data) = writer.row();
    Ok(dbs.postings.put(txn, key, data)?)
}

impl Merged {
    fn put_key(&mut self, key: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        start..self.bytes.len()
    }

    fn keep(&mut self, key: &[u8], list: List<'_>) {
        let key = self.put_key(key);
        let list = match list {
            List::Inline(ids) => Stored::Inline(self.put_key(ids.bytes())),
            List::Long { count, list } => Stored::Long { count, list },
        };
        self.items.push(Item { key, list });
    }

    fn put_list(&mut self, key: Range<usize>, start: usize, folded: Folded) {
        let list = match folded {
            Folded::Empty => return self.bytes.truncate(key.start),
            Folded::Inline => Stored::Inline(start..self.bytes.len()),
            Folded::Long { count, list } => Stored::Long { count, list },
        };
        self.items.push(Item { key, list });
    }
}
