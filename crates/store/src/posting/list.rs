//! One posting list in a block: its ids, or a stub that points to containers.
//!
//! Inline body: first id, then differences, each a varint, ascending, no repeats. Why inline up to 480 bytes: the block
//! row is rewritten whole by any change anyway, while a medium list spread over containers pays ~22 bytes of row per
//! handful of ids.

use super::Damaged;
use crate::varint;
use crate::{EntryId, ListId};

/// Longest body of an inline list. Two such lists and their keys still split into two rows.
pub const INLINE_BYTES_MAX: usize = 480;

/// A list as a block holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List<'a> {
    /// The ids themselves.
    Inline(InlineList<'a>),
    /// The ids are in `chunks` under `list`; `count` is exact.
    Long {
        /// How many ids the list has.
        count: u64,
        /// Prefix of its rows.
        list: ListId,
    },
}

impl<'a> List<'a> {
    /// Exact number of ids.
    #[inline]
    pub fn count(&self) -> u64 {
        match self {
            List::Inline(ids) => ids.count(),
            List::Long { count, .. } => *count,
        }
    }

    /// Bytes that [`List::put`] appends.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            List::Inline(ids) => varint::size(ids.0.len() as u64) + ids.0.len(),
            List::Long { count, list } => 1 + varint::size(*count) + varint::size(list.0),
        }
    }

    /// Appends the stored form: length and body, or 0, count and list number.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            List::Inline(ids) => {
                varint::put(out, ids.0.len() as u64);
                out.extend_from_slice(ids.0);
            }
            List::Long { count, list } => {
                out.push(0);
                varint::put(out, *count);
                varint::put(out, list.0);
            }
        }
    }

    /// Takes one list off the front of `bytes`.
    #[inline]
    pub fn take(bytes: &mut &'a [u8]) -> Result<List<'a>, Damaged> {
        const DAMAGED: Damaged = Damaged("posting list");
        let len = varint::take(bytes).ok_or(DAMAGED)?;
        if len == 0 {
            let count = varint::take(bytes).ok_or(DAMAGED)?;
            let list = ListId(varint::take(bytes).ok_or(DAMAGED)?);
            return Ok(List::Long { count, list });
        }
        let body = varint::take_bytes(bytes, usize::try_from(len).map_err(|_| DAMAGED)?).ok_or(DAMAGED)?;
        Ok(List::Inline(InlineList(body)))
    }
}

/// The body of an inline list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InlineList<'a>(&'a [u8]);

impl<'a> InlineList<'a> {
    /// Wraps a body made by [`encode_inline`].
    pub fn new(body: &'a [u8]) -> InlineList<'a> {
        InlineList(body)
    }

    /// Number of ids: every id ends in exactly one byte without the high bit.
    #[inline]
    pub fn count(&self) -> u64 {
        self.0.iter().filter(|&&byte| byte < 0x80).count() as u64
    }

    /// The body.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Ascending ids. A damaged tail ends the iteration; `verify` reports it.
    #[inline]
    pub fn iter(&self) -> InlineIter<'a> {
        InlineIter { rest: self.0, last: 0 }
    }

    /// Whether `id` is in the list.
    #[inline]
    pub fn contains(&self, id: EntryId) -> bool {
        self.iter().take_while(|found| *found <= id).last() == Some(id)
    }
}

impl<'a> IntoIterator for InlineList<'a> {
    type Item = EntryId;
    type IntoIter = InlineIter<'a>;

    fn into_iter(self) -> InlineIter<'a> {
        self.iter()
    }
}

/// Iterator of [`InlineList`].
#[derive(Clone, Debug)]
pub struct InlineIter<'a> {
    rest: &'a [u8],
    last: u64,
}

impl InlineIter<'_> {
    /// After the last id: whether bytes are left that are no number.
    #[inline]
    pub fn is_cut(&self) -> bool {
        !self.rest.is_empty()
    }
}

impl Iterator for InlineIter<'_> {
    type Item = EntryId;

    #[inline]
    fn next(&mut self) -> Option<EntryId> {
        let step = varint::take(&mut self.rest)?;
        self.last = self.last.wrapping_add(step);
        Some(EntryId(self.last))
    }
}

/// Appends the body for ascending `ids`; `false`, and `out` as it was, when it would be over [`INLINE_BYTES_MAX`] (or
/// empty).
pub fn encode_inline(ids: impl IntoIterator<Item = EntryId>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut last = 0;
    for id in ids {
        varint::put(out, id.0 - last);
        last = id.0;
        if out.len() - start > INLINE_BYTES_MAX {
            out.truncate(start);
            return false;
        }
    }
    out.len() > start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inline_lists_come_back(
            ids in proptest::collection::btree_set(1u64..5_000_000, 1..100),
            probe in 1u64..5_000_000,
        ) {
            let mut body = Vec::new();
            prop_assert!(encode_inline(ids.iter().map(|&id| EntryId(id)), &mut body));
            let list = InlineList::new(&body);
            prop_assert_eq!(list.count(), ids.len() as u64);
            prop_assert!(list.iter().map(|id| id.0).eq(ids.iter().copied()));
            prop_assert_eq!(list.contains(EntryId(probe)), ids.contains(&probe));
            for &id in &ids {
                prop_assert!(list.contains(EntryId(id)));
            }
            let mut stored = Vec::new();
            List::Inline(list).put(&mut stored);
            prop_assert_eq!(stored.len(), List::Inline(list).size());
            prop_assert_eq!(List::take(&mut &stored[..]), Ok(List::Inline(list)));
        }
    }

    #[test]
    fn a_list_over_the_limit_is_refused_and_leaves_nothing() {
        let mut body = vec![7];
        assert!(!encode_inline((1..=481).map(EntryId), &mut body));
        assert_eq!(body, [7]);
        assert!(encode_inline((1..=480).map(EntryId), &mut body));
        assert!(!encode_inline(std::iter::empty(), &mut Vec::new()));
    }

    #[test]
    fn stubs_come_back_and_damage_is_seen() {
        let stub = List::Long { count: 70_000, list: ListId(300) };
        let mut stored = Vec::new();
        stub.put(&mut stored);
        assert_eq!(stored.len(), stub.size());
        assert_eq!(List::take(&mut &stored[..]), Ok(stub));
        assert!(List::take(&mut &stored[..2]).is_err());
        assert!(List::take(&mut &[5u8, 1][..]).is_err());
    }
}
