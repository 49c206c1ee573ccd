//! Reads ranges of a snapshot in order: keys of an index, entries, large values. LMDB and the overlays are merged by
//! key.

use std::borrow::Cow;
use std::ops::Bound;

use heed::RoRange;
use heed::types::Bytes;

use crate::error::StoreError;
use crate::overlay::{PostingDelta, Row, RowKey};
use crate::posting::block::key_bounds;
use crate::posting::{BlockIter, BlockView, Damaged, IndexKey, List};
use crate::postings::Postings;
use crate::record::unpacked;
use crate::rows::{self, entry_key, parse_entry_key, parse_value_key, split_first_piece};
use crate::view::{RecordRef, View};
use crate::{DescId, EntryId, IndexId};

type Rows<'s> = RoRange<'s, Bytes, Bytes>;
type MapRange<'s, K, V> = std::iter::Peekable<imbl::ordmap::RangedIter<'s, K, V, imbl::shared_ptr::DefaultSharedPtr>>;

impl<'s> View<'s> {
    /// All keys of `index` in the range (without index id) with their lists, ascending.
    pub fn scan(&self, index: IndexId, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<PostingScan<'s>, StoreError> {
        PostingScan::new(*self, index, from, to)
    }

    /// All entries from number `from` on, ascending.
    pub fn entries(&self, from: EntryId) -> Result<EntryScan<'s>, StoreError> {
        EntryScan::new(*self, from)
    }

    /// All values of a large attribute, in the order of their keys.
    pub fn large_values(&self, id: EntryId, desc: DescId) -> Result<ValueScan<'s>, StoreError> {
        ValueScan::new(*self, rows::value_prefix(id, desc).to_vec())
    }

    /// The values of a large attribute whose rows come after `row`.
    pub fn large_values_after(
        &self,
        id: EntryId,
        desc: DescId,
        row: &[u8],
    ) -> Result<impl Iterator<Item = Result<KeyedValue<'s>, StoreError>> + use<'s>, StoreError> {
        let prefix = rows::value_prefix(id, desc).to_vec();
        let row = row.to_vec();
        let scan = ValueScan::from_row(*self, prefix, &row)?;
        Ok(scan.filter(move |found| !found.as_ref().is_ok_and(|(key, _)| *key <= row)))
    }

    /// All large values of all entries; for `verify`.
    pub fn all_large_values(&self) -> Result<ValueScan<'s>, StoreError> {
        ValueScan::new(*self, Vec::new())
    }
}

/// Keys of one index with their lists. Lends its key, hence not an `Iterator`.
pub struct PostingScan<'s> {
    view: View<'s>,
    rows: Rows<'s>,
    block: BlockIter<'s>,
    /// List of the key in `block`, not yet given.
    base: Option<List<'s>>,
    /// Newest first.
    overlays: [Option<MapRange<'s, IndexKey, PostingDelta>>; 2],
    key: Vec<u8>,
    from: Bound<IndexKey>,
    to: Bound<IndexKey>,
}

impl<'s> PostingScan<'s> {
    pub(crate) fn new(
        view: View<'s>,
        index: IndexId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<PostingScan<'s>, StoreError> {
        let (from, to) = key_bounds(index, from, to);
        let start = match &from {
            Bound::Included(key) | Bound::Excluded(key) => key.clone(),
            Bound::Unbounded => IndexKey::from_bytes(b""),
        };
        // The row before `start` may hold keys from `start` on.
        let row = view.dbs.postings.get_lower_than_or_equal_to(view.txn, start.as_bytes())?;
        let row_key = row.map_or(start.as_bytes(), |(row_key, _)| row_key);
        let rows = view.dbs.postings.range(view.txn, &(Bound::Included(row_key), Bound::<&[u8]>::Unbounded))?;
        let is_sane = range_is_sane(&from, &to);
        let overlays = view.layers.map(|layer| {
            layer
                .filter(|overlay| is_sane && !overlay.postings.is_empty())
                .map(|overlay| overlay.postings.range((from.clone(), to.clone())).peekable())
        });
        let block = BlockView::new(b"", b"").iter();
        let mut scan = PostingScan { view, rows, block, base: None, overlays, key: Vec::new(), from, to };
        scan.advance_base()?;
        Ok(scan)
    }

    /// The next key (without index id) and its list; keys whose list became empty are left out.
    #[allow(clippy::should_implement_trait)] // lends its buffer
    pub fn next(&mut self) -> Result<Option<(&[u8], Postings<'s>)>, StoreError> {
        loop {
            let mut least: Option<&[u8]> = self.base.is_some().then(|| self.block.key());
            for overlay in self.overlays.iter_mut().flatten() {
                if let Some((key, _)) = overlay.peek()
                    && least.is_none_or(|least| key.as_bytes() < least)
                {
                    least = Some(key.as_bytes());
                }
            }
            let Some(least) = least else { return Ok(None) };
            self.key.clear();
            self.key.extend_from_slice(least);
            let mut deltas = [None, None];
            for (delta, overlay) in deltas.iter_mut().zip(&mut self.overlays) {
                if let Some(overlay) = overlay {
                    *delta = overlay.next_if(|(key, _)| key.as_bytes() == self.key).map(|(_, delta)| delta);
                }
            }
            let mut base = None;
            if self.base.is_some() && self.block.key() == self.key {
                base = self.base.take();
                self.advance_base()?;
            }
            let postings = Postings::new(base, deltas, self.view.txn, self.view.dbs);
            if !postings.is_empty() {
                return Ok(Some((self.key.get(2..).unwrap_or_default(), postings)));
            }
        }
    }

    fn advance_base(&mut self) -> Result<(), StoreError> {
        self.base = None;
        loop {
            let Some((key, list)) = self.block.next()? else {
                match self.rows.next() {
                    None => return Ok(()),
                    Some(row) => {
                        let (row_key, data) = row?;
                        self.block.restart(row_key, data);
                    }
                }
                continue;
            };
            let is_before = match &self.from {
                Bound::Included(from) => key < from.as_bytes(),
                Bound::Excluded(from) => key <= from.as_bytes(),
                Bound::Unbounded => false,
            };
            let is_after = match &self.to {
                Bound::Included(to) => key > to.as_bytes(),
                Bound::Excluded(to) => key >= to.as_bytes(),
                Bound::Unbounded => false,
            };
            if is_after {
                return Ok(());
            }
            if !is_before {
                self.base = Some(list);
                return Ok(());
            }
        }
    }
}

/// `imbl` and `BTreeMap` alike refuse ranges whose start is after their end.
pub(crate) fn range_is_sane(from: &Bound<IndexKey>, to: &Bound<IndexKey>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from <= to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from < to,
        _ => true,
    }
}

/// Entries by ascending id.
pub struct EntryScan<'s> {
    view: View<'s>,
    rows: Rows<'s>,
    base: Option<(EntryId, Cow<'s, [u8]>)>,
    overlays: [Option<MapRange<'s, u64, Row>>; 2],
}

impl<'s> EntryScan<'s> {
    pub(crate) fn new(view: View<'s>, from: EntryId) -> Result<EntryScan<'s>, StoreError> {
        let from_key = entry_key(from);
        let range = (Bound::Included(&from_key[..]), Bound::<&[u8]>::Unbounded);
        let rows = view.dbs.entries.range(view.txn, &range)?;
        let overlays = view.layers.map(|layer| layer.map(|overlay| overlay.entries.range(from.0..).peekable()));
        let mut scan = EntryScan { view, rows, base: None, overlays };
        scan.advance_base()?;
        Ok(scan)
    }

    fn next_entry(&mut self) -> Result<Option<(EntryId, RecordRef<'s>)>, StoreError> {
        loop {
            let mut least = self.base.as_ref().map(|(id, _)| *id);
            for overlay in self.overlays.iter_mut().flatten() {
                if let Some((id, _)) = overlay.peek()
                    && least.is_none_or(|least| EntryId(**id) < least)
                {
                    least = Some(EntryId(**id));
                }
            }
            let Some(least) = least else { return Ok(None) };
            let mut found: Option<Option<Cow<'s, [u8]>>> = None;
            for overlay in self.overlays.iter_mut().flatten() {
                if let Some((_, row)) = overlay.next_if(|(id, _)| **id == least.0) {
                    found.get_or_insert(row.bytes.as_deref().map(Cow::Borrowed));
                }
            }
            if self.base.as_ref().is_some_and(|(id, _)| *id == least) {
                let base = self.base.take();
                found.get_or_insert(base.map(|(_, bytes)| bytes));
                self.advance_base()?;
            }
            if let Some(Some(bytes)) = found {
                return Ok(Some((least, RecordRef::new(bytes, self.view.tables))));
            }
        }
    }

    fn advance_base(&mut self) -> Result<(), StoreError> {
        let Some((key, row)) = self.rows.next().transpose()? else { return Ok(()) };
        let (id, part) = parse_entry_key(key)?;
        if part != 0 {
            return Err(Damaged("piece of an entry without its first").into());
        }
        let (further, head) = split_first_piece(row)?;
        let mut bytes = Cow::Borrowed(head);
        for expected in 1..=further {
            let (key, piece) = self.rows.next().transpose()?.ok_or(Damaged("piece of an entry is missing"))?;
            if parse_entry_key(key)? != (id, expected) {
                return Err(Damaged("piece of an entry is missing").into());
            }
            bytes.to_mut().extend_from_slice(piece);
        }
        self.base = Some((id, unpacked(bytes)));
        Ok(())
    }
}

impl<'s> Iterator for EntryScan<'s> {
    type Item = Result<(EntryId, RecordRef<'s>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().transpose()
    }
}

/// A large value with its row key (without part).
pub type KeyedValue<'s> = (Vec<u8>, Cow<'s, [u8]>);

/// Large values below a key prefix.
pub struct ValueScan<'s> {
    rows: Rows<'s>,
    base: Option<KeyedValue<'s>>,
    overlays: [Option<MapRange<'s, RowKey, Row>>; 2],
    prefix: Vec<u8>,
}

impl<'s> ValueScan<'s> {
    pub(crate) fn new(view: View<'s>, prefix: Vec<u8>) -> Result<ValueScan<'s>, StoreError> {
        ValueScan::from_row(view, prefix, &[])
    }

    /// From that row on, if it is behind the prefix.
    pub(crate) fn from_row(view: View<'s>, prefix: Vec<u8>, row: &[u8]) -> Result<ValueScan<'s>, StoreError> {
        let first = prefix.as_slice().max(row);
        // LMDB refuses to look for an empty key.
        let from = if first.is_empty() { Bound::Unbounded } else { Bound::Included(first) };
        let rows = view.dbs.values.range(view.txn, &(from, Bound::<&[u8]>::Unbounded))?;
        let overlays = view.layers.map(|layer| {
            let range = (Bound::Included(first), Bound::Unbounded);
            layer
                .filter(|overlay| !overlay.values.is_empty())
                .map(|overlay| overlay.values.range::<_, [u8]>(range).peekable())
        });
        let mut scan = ValueScan { rows, base: None, overlays, prefix };
        scan.advance_base()?;
        Ok(scan)
    }

    fn next_value(&mut self) -> Result<Option<KeyedValue<'s>>, StoreError> {
        loop {
            let mut least: Option<&[u8]> = self.base.as_ref().map(|(key, _)| &key[..]);
            for overlay in self.overlays.iter_mut().flatten() {
                if let Some((key, _)) = overlay.peek()
                    && key.starts_with(&self.prefix)
                    && least.is_none_or(|least| key[..] < *least)
                {
                    least = Some(key);
                }
            }
            let Some(least) = least.map(<[u8]>::to_vec) else { return Ok(None) };
            let mut found: Option<Option<Cow<'s, [u8]>>> = None;
            for overlay in self.overlays.iter_mut().flatten() {
                if let Some((_, row)) = overlay.next_if(|(key, _)| key[..] == *least) {
                    found.get_or_insert(row.bytes.as_deref().map(Cow::Borrowed));
                }
            }
            if self.base.as_ref().is_some_and(|(key, _)| *key == least) {
                let base = self.base.take();
                found.get_or_insert(base.map(|(_, bytes)| bytes));
                self.advance_base()?;
            }
            if let Some(Some(bytes)) = found {
                return Ok(Some((least, bytes)));
            }
        }
    }

    fn advance_base(&mut self) -> Result<(), StoreError> {
        let Some((key, row)) = self.rows.next().transpose()? else { return Ok(()) };
        if !key.starts_with(&self.prefix) {
            return Ok(());
        }
        let (_, _, value_key, part) = parse_value_key(key)?;
        if part != 0 {
            return Err(Damaged("piece of a large value without its first").into());
        }
        let (further, head) = split_first_piece(row)?;
        let mut bytes = Cow::Borrowed(head);
        for expected in 1..=further {
            let (key, piece) = self.rows.next().transpose()?.ok_or(Damaged("piece of a large value is missing"))?;
            let (_, _, own, part) = parse_value_key(key)?;
            if (own, part) != (value_key, expected) {
                return Err(Damaged("piece of a large value is missing").into());
            }
            bytes.to_mut().extend_from_slice(piece);
        }
        self.base = Some((value_key.to_vec(), bytes));
        Ok(())
    }
}

impl<'s> Iterator for ValueScan<'s> {
    type Item = Result<KeyedValue<'s>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_value().transpose()
    }
}
