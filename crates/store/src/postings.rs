//! One posting list at one moment: what LMDB has, with the changes of the overlays above it.

use std::ops::Bound;

use roaring::RoaringTreemap;

use crate::env::{Dbs, ReadTxn, Table};
use crate::error::StoreError;
use crate::overlay::PostingDelta;
use crate::overlay::delta::{Change, DeltaIter};
use crate::posting::container::{ContainerIter, id_at, parse_chunk_key};
use crate::posting::list::{InlineIter, InlineList};
use crate::posting::{Container, Damaged, List, chunk_key, chunk_of, low_of};
use crate::{EntryId, ListId};

/// A posting list. Until its ids are asked for, only its count is read.
#[derive(Clone, Copy)]
pub struct Postings<'s> {
    base: Option<List<'s>>,
    /// Newest first.
    deltas: [Option<&'s PostingDelta>; 2],
    txn: &'s ReadTxn,
    dbs: &'s Dbs,
}

impl<'s> Postings<'s> {
    #[inline]
    pub(crate) fn new(
        base: Option<List<'s>>,
        deltas: [Option<&'s PostingDelta>; 2],
        txn: &'s ReadTxn,
        dbs: &'s Dbs,
    ) -> Postings<'s> {
        Postings { base, deltas, txn, dbs }
    }

    /// Exact number of ids.
    #[inline]
    pub fn count(&self) -> u64 {
        let base = self.base.map_or(0, |list| list.count());
        let net: i64 = self.deltas.iter().flatten().map(|delta| delta.net()).sum();
        base.saturating_add_signed(net)
    }

    /// Whether there is no id.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Whether `id` is in the list.
    pub fn contains(&self, id: EntryId) -> Result<bool, StoreError> {
        for delta in self.deltas.iter().flatten() {
            if let Some(added) = delta.of(id) {
                return Ok(added);
            }
        }
        match self.base {
            None => Ok(false),
            Some(List::Inline(ids)) => Ok(ids.contains(id)),
            Some(List::Long { list, .. }) => match self.dbs.chunks.get(self.txn, &chunk_key(list, chunk_of(id)))? {
                None => Ok(false),
                Some(bytes) => Ok(Container::parse(bytes)?.contains(low_of(id))),
            },
        }
    }

    /// Ascending ids. Damage (which `verify` reports) ends the iteration; [`PostingIter::is_damaged`] says so. Whoever
    /// changes something by what is missing takes [`Postings::checked`].
    #[inline]
    pub fn iter(&self) -> PostingIter<'s> {
        self.iter_from(EntryId(0))
    }

    /// Ascending ids, from `from` on.
    pub fn iter_from(&self, from: EntryId) -> PostingIter<'s> {
        let base = match self.base {
            None => BaseIter::None,
            Some(List::Inline(ids)) => BaseIter::Inline(ids.iter()),
            Some(List::Long { list, .. }) => BaseIter::long(self.txn, self.dbs.chunks, list, chunk_of(from)),
        };
        let [newer, older] = self.deltas;
        let changes = (newer.is_some() || older.is_some()).then(|| Changes::new(newer, older));
        PostingIter { base, changes, next_base: None, from }
    }

    /// Ascending ids from `from` on; damage is an error.
    pub fn checked(&self, from: EntryId) -> CheckedIter<'s> {
        let all = (from.0 <= 1).then_some(*self);
        CheckedIter { ids: self.iter_from(from), given: 0, all }
    }

    /// All ids as a set.
    pub fn to_set(&self) -> Result<RoaringTreemap, StoreError> {
        let mut set = RoaringTreemap::new();
        match self.base {
            None => {}
            Some(List::Inline(ids)) => {
                set.append(ids.iter().map(|id| id.0)).map_err(|_| Damaged("order of a posting list"))?;
            }
            Some(List::Long { list, .. }) => {
                for row in self.dbs.chunks.prefix_iter(self.txn, &chunk_key(list, 0)[..6])? {
                    let (key, bytes) = row?;
                    let (_, chunk) = parse_chunk_key(key)?;
                    set.append(Container::parse(bytes)?.iter().map(|low| id_at(chunk, low).0))
                        .map_err(|_| Damaged("order of a posting list"))?;
                }
            }
        }
        for delta in self.deltas.iter().rev().flatten() {
            for change in delta.iter() {
                if change.is_added() {
                    set.insert(change.id().0)
                } else {
                    set.remove(change.id().0)
                };
            }
        }
        Ok(set)
    }

    /// Visits the bytes of the list as they are stored, piece by piece: the body of an inline list, or the containers
    /// of a long one, at most a few KiB each; then each change that is not folded yet as its id in 8 bytes. Used by
    /// tools that measure and dump.
    pub fn each_stored(&self, visit: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
        match self.base {
            None => {}
            Some(List::Inline(ids)) => visit(ids.bytes()),
            Some(List::Long { list, .. }) => {
                for row in self.dbs.chunks.prefix_iter(self.txn, &chunk_key(list, 0)[..6])? {
                    visit(row?.1);
                }
            }
        }
        for change in self.deltas.iter().rev().flatten().flat_map(|delta| delta.iter()) {
            visit(&change.id().0.to_be_bytes());
        }
        Ok(())
    }

    /// The ids among the ascending `ids` that are in the list. However long the list is, a container is read at most
    /// once, and only where one of the ids would be.
    pub fn common(
        &self,
        ids: impl IntoIterator<Item = EntryId>,
        mut each: impl FnMut(EntryId),
    ) -> Result<(), StoreError> {
        let mut inline = match self.base {
            Some(List::Inline(list)) => list.iter(),
            _ => InlineList::default().iter(),
        };
        let mut next_inline = inline.next();
        let mut chunk: Option<(u64, Option<Container<'s>>)> = None;
        for id in ids {
            let changed = self.deltas.iter().flatten().find_map(|delta| delta.of(id));
            let is_in = match (changed, self.base) {
                (Some(added), _) => added,
                (None, None) => false,
                (None, Some(List::Inline(_))) => {
                    while next_inline.is_some_and(|next| next < id) {
                        next_inline = inline.next();
                    }
                    next_inline == Some(id)
                }
                (None, Some(List::Long { list, .. })) => {
                    let number = chunk_of(id);
                    let container = match chunk {
                        Some((known, container)) if known == number => container,
                        _ => {
                            let row = self.dbs.chunks.get(self.txn, &chunk_key(list, number))?;
                            row.map(Container::parse).transpose()?
                        }
                    };
                    chunk = Some((number, container));
                    container.is_some_and(|container| container.contains(low_of(id)))
                }
            };
            if is_in {
                each(id);
            }
        }
        Ok(())
    }

    /// The list in LMDB; for `verify` and `dump`.
    pub fn base(&self) -> Option<List<'s>> {
        self.base
    }
}

/// Iterator of [`Postings`].
pub struct PostingIter<'s> {
    base: BaseIter<'s>,
    changes: Option<Changes<'s>>,
    next_base: Option<EntryId>,
    from: EntryId,
}

impl PostingIter<'_> {
    /// After the last id: whether the iteration ended because of damage.
    pub fn is_damaged(&self) -> bool {
        match &self.base {
            BaseIter::Damaged => true,
            BaseIter::Inline(ids) => ids.is_cut(),
            BaseIter::None | BaseIter::Long { .. } => false,
        }
    }

    fn next_from_base(&mut self) -> Option<EntryId> {
        loop {
            let id = self.base.next()?;
            if id >= self.from {
                return Some(id);
            }
        }
    }

    fn next_merged(&mut self) -> Option<EntryId> {
        loop {
            if self.next_base.is_none() {
                self.next_base = self.next_from_base();
            }
            let changes = self.changes.as_mut()?;
            match (self.next_base, changes.peek()) {
                (None, None) => return None,
                (Some(id), None) => {
                    self.next_base = None;
                    return Some(id);
                }
                (base, Some(change)) if base.is_none_or(|id| change.id() <= id) => {
                    changes.skip();
                    let is_same = base == Some(change.id());
                    if is_same {
                        self.next_base = None;
                    }
                    if change.is_added() && change.id() >= self.from {
                        return Some(change.id());
                    }
                }
                (base, Some(_)) => {
                    self.next_base = None;
                    return base;
                }
            }
        }
    }
}

impl Iterator for PostingIter<'_> {
    type Item = EntryId;

    #[inline]
    fn next(&mut self) -> Option<EntryId> {
        if self.changes.is_none() { self.next_from_base() } else { self.next_merged() }
    }
}

/// Iterator of [`Postings::checked`]: after an error it gives nothing more.
pub struct CheckedIter<'s> {
    ids: PostingIter<'s>,
    given: u64,
    /// The list, when all of it is given; gone after the end.
    all: Option<Postings<'s>>,
}

impl Iterator for CheckedIter<'_> {
    type Item = Result<EntryId, StoreError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.ids.next() {
            Some(id) => {
                self.given += 1;
                Some(Ok(id))
            }
            None => self.end(),
        }
    }
}

impl CheckedIter<'_> {
    #[cold]
    fn end(&mut self) -> Option<Result<EntryId, StoreError>> {
        let is_short = self.all.take().is_some_and(|all| all.count() != self.given);
        let is_damaged = is_short || self.ids.is_damaged();
        if is_damaged {
            (self.ids.base, self.ids.changes) = (BaseIter::None, None);
        }
        is_damaged.then(|| Err(Damaged("posting list").into()))
    }
}

enum BaseIter<'s> {
    None,
    Damaged,
    Inline(InlineIter<'s>),
    Long {
        rows: heed::RoRange<'s, heed::types::Bytes, heed::types::Bytes>,
        chunk: u64,
        container: Option<ContainerIter<'s>>,
    },
}

impl<'s> BaseIter<'s> {
    fn long(txn: &'s ReadTxn, chunks: Table, list: ListId, from_chunk: u64) -> BaseIter<'s> {
        let (first, end) = (chunk_key(list, from_chunk), chunk_key(ListId(list.0 + 1), 0));
        match chunks.range(txn, &(Bound::Included(&first[..]), Bound::Excluded(&end[..]))) {
            Ok(rows) => BaseIter::Long { rows, chunk: 0, container: None },
            Err(_) => BaseIter::Damaged,
        }
    }

    #[inline]
    fn next(&mut self) -> Option<EntryId> {
        match self {
            BaseIter::None | BaseIter::Damaged => None,
            BaseIter::Inline(ids) => ids.next(),
            BaseIter::Long { rows, chunk, container } => loop {
                if let Some(low) = container.as_mut().and_then(Iterator::next) {
                    return Some(id_at(*chunk, low));
                }
                let row = rows.next()?;
                let parsed = row
                    .ok()
                    .and_then(|(key, bytes)| Some((parse_chunk_key(key).ok()?.1, Container::parse(bytes).ok()?)));
                match parsed {
                    Some((number, bytes)) => {
                        *chunk = number;
                        *container = Some(bytes.iter());
                    }
                    None => {
                        *self = BaseIter::Damaged;
                        return None;
                    }
                }
            },
        }
    }
}

/// The changes of two layers merged. An id that both change is as it is below both.
struct Changes<'s> {
    newer: PeekedChanges<'s>,
    older: PeekedChanges<'s>,
    next: Option<Change>,
}

struct PeekedChanges<'s> {
    iter: Option<DeltaIter<'s>>,
    next: Option<Change>,
}

impl<'s> PeekedChanges<'s> {
    fn new(delta: Option<&'s PostingDelta>) -> PeekedChanges<'s> {
        let mut source = PeekedChanges { iter: delta.map(|delta| delta.iter()), next: None };
        source.advance();
        source
    }

    fn advance(&mut self) {
        self.next = self.iter.as_mut().and_then(Iterator::next);
    }
}

impl<'s> Changes<'s> {
    fn new(newer: Option<&'s PostingDelta>, older: Option<&'s PostingDelta>) -> Changes<'s> {
        let mut changes = Changes { newer: PeekedChanges::new(newer), older: PeekedChanges::new(older), next: None };
        changes.skip();
        changes
    }

    fn peek(&self) -> Option<Change> {
        self.next
    }

    fn skip(&mut self) {
        loop {
            let source = match (self.newer.next, self.older.next) {
                (Some(a), Some(b)) if a.id() == b.id() => {
                    self.newer.advance();
                    self.older.advance();
                    continue;
                }
                (Some(a), Some(b)) if b < a => &mut self.older,
                (Some(_), _) => &mut self.newer,
                (None, _) => &mut self.older,
            };
            self.next = source.next;
            source.advance();
            return;
        }
    }
}
