//! Applies changes to one posting list: a short list is stored inline, a long one in containers.

use heed::RwTxn;

use crate::env::Dbs;
use crate::error::StoreError;
use crate::overlay::PostingDelta;
use crate::overlay::delta::Change;
use crate::posting::container::{CHUNK_KEY_BYTES, CONTAINER_BYTES_MAX, id_at, parse_chunk_key};
use crate::posting::{Container, ContainerBuf, InlineList, List, chunk_key, chunk_of, encode_inline, low_of};
use crate::{EntryId, ListId};

/// A long list with at most this many ids is tried inline again. Well below what fits inline, so that a list near the
/// limit does not change its form again and again.
const DEMOTE_COUNT_MAX: u64 = 100;

/// Changes lists; owns the buffers.
pub(super) struct ListFolder<'d> {
    dbs: &'d Dbs,
    pub next_list: ListId,
    ids: Vec<EntryId>,
    container: ContainerBuf,
    bytes: Vec<u8>,
}

/// What a list became.
pub(super) enum Folded {
    /// No id is left.
    Empty,
    /// Its inline body was appended to the output.
    Inline,
    /// It is in `chunks`.
    Long { count: u64, list: ListId },
}

impl<'d> ListFolder<'d> {
    pub fn new(dbs: &'d Dbs, next_list: ListId) -> ListFolder<'d> {
        ListFolder {
            dbs,
            next_list,
            ids: Vec::new(),
            container: ContainerBuf::new(),
            bytes: Vec::with_capacity(CONTAINER_BYTES_MAX),
        }
    }

    /// Applies `delta` to `base`. An inline body is appended to `out`.
    pub fn fold(
        &mut self,
        txn: &mut RwTxn<'_>,
        base: Option<List<'_>>,
        delta: &PostingDelta,
        out: &mut Vec<u8>,
    ) -> Result<Folded, StoreError> {
        match base {
            Some(List::Long { count, list }) => self.fold_long(txn, count, list, delta, out),
            Some(List::Inline(ids)) => self.fold_inline(txn, ids, delta, out),
            None => self.fold_inline(txn, InlineList::default(), delta, out),
        }
    }

    fn fold_inline(
        &mut self,
        txn: &mut RwTxn<'_>,
        base: InlineList<'_>,
        delta: &PostingDelta,
        out: &mut Vec<u8>,
    ) -> Result<Folded, StoreError> {
        self.ids.clear();
        let mut base = base.iter().peekable();
        for change in delta.iter() {
            while let Some(id) = base.next_if(|id| *id < change.id()) {
                self.ids.push(id);
            }
            base.next_if(|id| *id == change.id());
            if change.is_added() {
                self.ids.push(change.id());
            }
        }
        self.ids.extend(base);
        if self.ids.is_empty() {
            return Ok(Folded::Empty);
        }
        if encode_inline(self.ids.iter().copied(), out) {
            return Ok(Folded::Inline);
        }
        let list = self.next_list;
        self.next_list = ListId(list.0 + 1);
        for chunk in self.ids.chunk_by(|a, b| chunk_of(*a) == chunk_of(*b)) {
            let Some(first) = chunk.first() else { continue };
            self.container.clear();
            for id in chunk {
                self.container.insert(low_of(*id));
            }
            self.bytes.clear();
            self.container.encode(&mut self.bytes);
            self.dbs.chunks.put(txn, &chunk_key(list, chunk_of(*first)), &self.bytes)?;
        }
        Ok(Folded::Long { count: self.ids.len() as u64, list })
    }

    fn fold_long(
        &mut self,
        txn: &mut RwTxn<'_>,
        count: u64,
        list: ListId,
        delta: &PostingDelta,
        out: &mut Vec<u8>,
    ) -> Result<Folded, StoreError> {
        let mut changes = delta.iter().peekable();
        while let Some(first) = changes.next() {
            let chunk = chunk_of(first.id());
            let key = chunk_key(list, chunk);
            self.container.clear();
            if let Some(stored) = self.dbs.chunks.get(txn, &key)? {
                self.container.or(&Container::parse(stored)?);
            }
            apply(&mut self.container, first);
            while let Some(change) = changes.next_if(|change| chunk_of(change.id()) == chunk) {
                apply(&mut self.container, change);
            }
            self.bytes.clear();
            if self.container.encode(&mut self.bytes) {
                self.dbs.chunks.put(txn, &key, &self.bytes)?;
            } else {
                self.dbs.chunks.delete(txn, &key)?;
            }
        }
        let count = count.saturating_add_signed(delta.net());
        if count > DEMOTE_COUNT_MAX {
            return Ok(Folded::Long { count, list });
        }
        self.demote(txn, count, list, out)
    }

    fn demote(
        &mut self,
        txn: &mut RwTxn<'_>,
        count: u64,
        list: ListId,
        out: &mut Vec<u8>,
    ) -> Result<Folded, StoreError> {
        self.ids.clear();
        let mut keys: Vec<[u8; CHUNK_KEY_BYTES]> = Vec::new();
        for row in self.dbs.chunks.prefix_iter(txn, &chunk_key(list, 0)[..6])? {
            let (key, bytes) = row?;
            let (_, chunk) = parse_chunk_key(key)?;
            self.ids.extend(Container::parse(bytes)?.iter().map(|low| id_at(chunk, low)));
            keys.push(chunk_key(list, chunk));
        }
        let is_inline = encode_inline(self.ids.iter().copied(), out);
        if !is_inline && !self.ids.is_empty() {
            return Ok(Folded::Long { count, list });
        }
        for key in keys {
            self.dbs.chunks.delete(txn, &key)?;
        }
        Ok(if is_inline { Folded::Inline } else { Folded::Empty })
    }
}

fn apply(container: &mut ContainerBuf, change: Change) {
    if change.is_added() {
        container.insert(low_of(change.id()))
    } else {
        container.remove(low_of(change.id()))
    };
}
