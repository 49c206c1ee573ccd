//! A row of packed posting lists: neighbouring keys of one index, front-coded.
//!
//! The LMDB key of a row is its first key. The data is a sequence of `(shared ‖ suffix length, suffix, list)`, where
//! `shared` is the number of leading bytes taken over from the key before (for the first: from the row key, so it costs
//! one byte).
//!
//! Invariants:
//! (1) Row key + data ≤ [`ROW_BYTES_MAX`]: four rows fill a 4 KiB page of LMDB exactly (16 header + 4 × (2 + 8 +
//!     1,010)).
//! (2) Keys ascend strictly, and all belong to one index.
//! (3) `shared` is the longest common prefix with the key before. [`BlockView::find`] depends on it.

use std::ops::Bound;

use super::key::index_of;
use super::list::List;
use super::{Damaged, IndexKey};
use crate::varint;

/// Row key and data together; see invariant 1.
pub const ROW_BYTES_MAX: usize = 1_010;

/// A half-byte of this value says that the rest of the number follows as a varint.
const NIBBLE_MAX: usize = 15;
const DAMAGED: Damaged = Damaged("posting block");

/// One row, read in place.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    row_key: &'a [u8],
    data: &'a [u8],
}

impl<'a> BlockView<'a> {
    /// The row stored under `row_key`.
    #[inline]
    pub fn new(row_key: &'a [u8], data: &'a [u8]) -> BlockView<'a> {
        BlockView { row_key, data }
    }

    /// The list of `key`. No key is decoded for it.
    ///
    /// `matched` is how many bytes `key` has in common with the current one. An entry that shares more than `matched`
    /// with its predecessor differs from `key` where that one did; one that shares less has passed `key`.
    pub fn find(&self, key: &[u8]) -> Result<Option<List<'a>>, Damaged> {
        let mut rest = self.data;
        let mut matched = common_prefix(self.row_key, key);
        if matched == self.row_key.len() && matched == key.len() {
            take_head(&mut rest)?;
            return List::take(&mut rest).map(Some);
        }
        if matched < self.row_key.len() && self.row_key.get(matched) > key.get(matched) {
            return Ok(None);
        }
        let mut first = true;
        while !rest.is_empty() {
            if let Some(after) = skip_plain(rest, matched).filter(|_| !first) {
                rest = after;
                continue;
            }
            let (shared, suffix) = take_head(&mut rest)?;
            if first || shared > matched {
                first = false;
                skip_list(&mut rest)?;
                continue;
            }
            if shared < matched {
                return Ok(None);
            }
            let wanted = key.get(matched..).unwrap_or_default();
            let more = common_prefix(suffix, wanted);
            if more == suffix.len() && more == wanted.len() {
                return List::take(&mut rest).map(Some);
            }
            if suffix.get(more) > wanted.get(more) {
                return Ok(None);
            }
            matched += more;
            skip_list(&mut rest)?;
        }
        Ok(None)
    }

    /// All keys with their lists, in order.
    pub fn iter(&self) -> BlockIter<'a> {
        BlockIter { rest: self.data, key: self.row_key.to_vec() }
    }
}

/// Walks a row. The current key is rebuilt in a buffer, hence not an `Iterator`.
#[derive(Clone, Debug)]
pub struct BlockIter<'a> {
    rest: &'a [u8],
    key: Vec<u8>,
}

impl<'a> BlockIter<'a> {
    /// Starts on another row, keeping the buffer.
    pub fn restart(&mut self, row_key: &[u8], data: &'a [u8]) {
        self.key.clear();
        self.key.extend_from_slice(row_key);
        self.rest = data;
    }

    /// The next key (index id included) and its list.
    #[allow(clippy::should_implement_trait)] // lends its buffer
    pub fn next(&mut self) -> Result<Option<(&[u8], List<'a>)>, Damaged> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (shared, suffix) = take_head(&mut self.rest)?;
        if shared > self.key.len() {
            return Err(DAMAGED);
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(suffix);
        let list = List::take(&mut self.rest)?;
        Ok(Some((&self.key, list)))
    }

    /// The key that [`BlockIter::next`] gave last.
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

/// Fills rows with ascending keys. `push` says `false` when the row is full: write [`BlockWriter::row`], `clear`, push
/// again.
#[derive(Clone, Debug, Default)]
pub struct BlockWriter {
    row_key: Vec<u8>,
    last_key: Vec<u8>,
    data: Vec<u8>,
}

impl BlockWriter {
    /// An empty row.
    pub fn new() -> BlockWriter {
        BlockWriter::default()
    }

    /// Appends a key (index id included) greater than all before. `false`: it does not fit, or is of another index.
    pub fn push(&mut self, key: &[u8], list: List<'_>) -> bool {
        self.push_within(key, list, ROW_BYTES_MAX)
    }

    /// As [`BlockWriter::push`], with a row limit below the largest (to split a row into even parts).
    pub fn push_within(&mut self, key: &[u8], list: List<'_>, row_bytes_max: usize) -> bool {
        if self.is_empty() {
            self.row_key.extend_from_slice(key);
            self.last_key.extend_from_slice(key);
            put_head(&mut self.data, key.len(), b"");
            list.put(&mut self.data);
            return true;
        }
        if index_of(key) != index_of(&self.row_key) {
            return false;
        }
        let shared = common_prefix(&self.last_key, key);
        debug_assert!(self.last_key[..] < *key, "block keys must ascend");
        let suffix = &key[shared..];
        let size = head_size(shared, suffix.len()) + suffix.len() + list.size();
        if self.row_key.len() + self.data.len() + size > row_bytes_max {
            return false;
        }
        put_head(&mut self.data, shared, suffix);
        list.put(&mut self.data);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
        true
    }

    /// Whether nothing was pushed since the start or the last `clear`.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Row key and data together.
    pub fn row_bytes(&self) -> usize {
        self.row_key.len() + self.data.len()
    }

    /// LMDB key and data of the row.
    pub fn row(&self) -> (&[u8], &[u8]) {
        (&self.row_key, &self.data)
    }

    /// Makes room for the next row; keeps the buffers.
    pub fn clear(&mut self) {
        self.row_key.clear();
        self.last_key.clear();
        self.data.clear();
    }
}

/// First key of the rows of `index` and of the index after it: the range its rows lie in.
pub fn index_range(index: crate::IndexId) -> (IndexKey, IndexKey) {
    (IndexKey::new(index, b""), IndexKey::new(crate::IndexId(index.0.saturating_add(1)), b""))
}

/// Bounds in one index as bounds among the keys of all.
pub fn key_bounds(index: crate::IndexId, from: Bound<&[u8]>, to: Bound<&[u8]>) -> (Bound<IndexKey>, Bound<IndexKey>) {
    let (first, end) = index_range(index);
    let key = |bound: Bound<&[u8]>, unbounded| match bound {
        Bound::Unbounded => unbounded,
        bound => bound.map(|key| IndexKey::new(index, key)),
    };
    (key(from, Bound::Included(first)), key(to, Bound::Excluded(end)))
}

#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn head_size(shared: usize, suffix: usize) -> usize {
    let more = |n: usize| if n < NIBBLE_MAX { 0 } else { varint::size((n - NIBBLE_MAX) as u64) };
    1 + more(shared) + more(suffix)
}

fn put_head(out: &mut Vec<u8>, shared: usize, suffix: &[u8]) {
    let nibble = |n: usize| n.min(NIBBLE_MAX) as u8;
    out.push(nibble(shared) << 4 | nibble(suffix.len()));
    for n in [shared, suffix.len()] {
        if n >= NIBBLE_MAX {
            varint::put(out, (n - NIBBLE_MAX) as u64);
        }
    }
    out.extend_from_slice(suffix);
}

#[inline]
fn take_head<'a>(rest: &mut &'a [u8]) -> Result<(usize, &'a [u8]), Damaged> {
    let (&head, tail) = rest.split_first().ok_or(DAMAGED)?;
    *rest = tail;
    let mut shared = usize::from(head >> 4);
    if shared == NIBBLE_MAX {
        shared += take_small(rest)?;
    }
    let mut suffix = usize::from(head & 15);
    if suffix == NIBBLE_MAX {
        suffix += take_small(rest)?;
    }
    Ok((shared, varint::take_bytes(rest, suffix).ok_or(DAMAGED)?))
}

fn take_small(rest: &mut &[u8]) -> Result<usize, Damaged> {
    let value = varint::take(rest).ok_or(DAMAGED)?;
    if value > 0xffff { Err(DAMAGED) } else { Ok(value as usize) }
}

/// What follows an entry that shares more than `matched` bytes and has the simplest form: all its numbers are one byte,
/// its list is inline. Nearly all entries of a row have it, and a search skips half a row of them.
#[inline]
fn skip_plain(rest: &[u8], matched: usize) -> Option<&[u8]> {
    let head = *rest.first()?;
    let (shared, suffix) = (usize::from(head >> 4), usize::from(head & 15));
    let list = usize::from(*rest.get(1 + suffix)?);
    let is_plain = shared > matched && shared < NIBBLE_MAX && suffix < NIBBLE_MAX && (1..0x80).contains(&list);
    if is_plain { rest.get(2 + suffix + list..) } else { None }
}

#[inline]
fn skip_list(rest: &mut &[u8]) -> Result<(), Damaged> {
    List::take(rest).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posting::{InlineList, encode_inline};
    use crate::{EntryId, IndexId, ListId};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn body(ids: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(encode_inline(ids.iter().map(|&id| EntryId(id)), &mut out));
        out
    }

    fn key_strategy() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), any::<u8>()], 0..40)
    }

    proptest! {
        #[test]
        fn rows_give_back_every_key_and_no_other(
            map in proptest::collection::btree_map(
                key_strategy(),
                proptest::collection::btree_set(1u64..1_000_000, 1..20),
                1..60,
            ),
            probes in proptest::collection::vec(key_strategy(), 20),
        ) {
            let map: BTreeMap<Vec<u8>, Vec<u8>> = map.into_iter().map(|(key, ids)| {
                (IndexKey::new(IndexId(17), &key).as_bytes().to_vec(), body(&ids.into_iter().collect::<Vec<_>>()))
            }).collect();
            let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let mut writer = BlockWriter::new();
            for (key, body) in &map {
                let list = List::Inline(InlineList::new(body));
                if !writer.push(key, list) {
                    let (row_key, data) = writer.row();
                    rows.push((row_key.to_vec(), data.to_vec()));
                    writer.clear();
                    prop_assert!(writer.push(key, list));
                }
                prop_assert!(writer.row_bytes() <= ROW_BYTES_MAX);
            }
            let (row_key, data) = writer.row();
            rows.push((row_key.to_vec(), data.to_vec()));
            let mut seen = Vec::new();
            for (row_key, data) in &rows {
                let mut iter = BlockView::new(row_key, data).iter();
                while let Some((key, list)) = iter.next().unwrap() {
                    let List::Inline(ids) = list else { panic!("inline expected") };
                    seen.push((key.to_vec(), ids.bytes().to_vec()));
                }
            }
            prop_assert!(seen.iter().map(|(k, v)| (k, v)).eq(map.iter()));
            let probes = probes.iter().map(|key| IndexKey::new(IndexId(17), key).as_bytes().to_vec());
            for probe in probes.chain(map.keys().cloned()) {
                let at = rows.partition_point(|(row_key, _)| *row_key <= probe);
                let found = match at {
                    0 => None,
                    at => BlockView::new(&rows[at - 1].0, &rows[at - 1].1).find(&probe).unwrap(),
                };
                let expected = map.get(&probe).map(|body| List::Inline(InlineList::new(body)));
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn damage_never_panics(
            row_key in key_strategy(),
            data in proptest::collection::vec(any::<u8>(), 0..200),
            key in key_strategy(),
        ) {
            let view = BlockView::new(&row_key, &data);
            let _ = view.find(&key);
            let mut iter = view.iter();
            while let Ok(Some(_)) = iter.next() {}
        }
    }

    #[test]
    fn invariant_2_a_row_is_of_one_index() {
        let mut writer = BlockWriter::new();
        let list = List::Long { count: 9, list: ListId(1) };
        assert!(writer.push(IndexKey::new(IndexId(1), b"zz").as_bytes(), list));
        assert!(!writer.push(IndexKey::new(IndexId(2), b"a").as_bytes(), list));
    }

    #[test]
    fn the_largest_key_with_the_largest_list_fits_a_row() {
        let key = IndexKey::new(IndexId(1), &[7; 300]);
        let body = body(&(1..=480).collect::<Vec<_>>());
        let mut writer = BlockWriter::new();
        assert!(writer.push(key.as_bytes(), List::Inline(InlineList::new(&body))));
        assert!(writer.row_bytes() <= ROW_BYTES_MAX);
        let (row_key, data) = writer.row();
        assert_eq!(BlockView::new(row_key, data).find(key.as_bytes()).unwrap().map(|list| list.count()), Some(480));
    }
}
