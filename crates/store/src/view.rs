//! Reads the directory at one moment: LMDB, the frozen overlay above it, the active one above both.
//!
//! Point reads ask the top layer first; lists and ranges merge. With empty overlays nothing but LMDB is touched.
//!
//! Invariants:
//! (1) The layers belong together: each was made on exactly those below (see `version`).
//! (2) Counts are exact: count in LMDB plus the net of each delta.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::env::{Dbs, ReadTxn};
use crate::error::StoreError;
use crate::index::BackendIndexes;
use crate::marks::Marks;
use crate::overlay::Overlay;
use crate::posting::{BlockView, Damaged, IndexKey, List};
use crate::postings::Postings;
use crate::record::{RecordView, packed, unpacked};
use crate::rows::{self, entry_key, entry_part_key, split_first_piece, value_part_key};
use crate::tables::Tables;
use crate::{DescId, EntryId};

/// Deepest tree that [`View::dn_of`] follows: no end is found in a damaged (circular) tree.
pub const DEPTH_MAX: usize = 4_096;

/// The directory at one moment, borrowed from a [`Snapshot`](crate::Snapshot) or a [`Txn`](crate::Txn).
#[derive(Clone, Copy)]
pub struct View<'s> {
    pub(crate) txn: &'s ReadTxn,
    pub(crate) dbs: &'s Dbs,
    /// Newest first.
    pub(crate) layers: [Option<&'s Overlay>; 2],
    pub(crate) tables: &'s Tables,
    pub(crate) indexes: &'s BackendIndexes,
    pub(crate) seq: Option<u64>,
    pub(crate) marks: &'s Marks,
}

/// A row with its further pieces.
fn joined<'t>(
    head: &[u8],
    further: u16,
    piece: impl Fn(u16) -> Result<Option<&'t [u8]>, heed::Error>,
    missing: &'static str,
) -> Result<Vec<u8>, StoreError> {
    let mut whole = head.to_vec();
    for part in 1..=further {
        whole.extend_from_slice(piece(part)?.ok_or(Damaged(missing))?);
    }
    Ok(whole)
}

/// The bytes of an entry: in the map, shared with the overlay, or restored from several rows or packed times.
#[derive(Clone, Debug)]
pub struct RecordRef<'s> {
    bytes: Cow<'s, [u8]>,
    tables: &'s Tables,
}

impl<'s> RecordRef<'s> {
    pub(crate) fn new(bytes: Cow<'s, [u8]>, tables: &'s Tables) -> RecordRef<'s> {
        RecordRef { bytes, tables }
    }

    /// The record, header read.
    #[inline]
    pub fn view(&self) -> Result<RecordView<'_>, StoreError> {
        Ok(RecordView::parse(&self.bytes, self.tables)?)
    }

    /// The bytes of the record, as [`RecordView::parse`] reads them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the database keeps of it, which may be shorter.
    pub fn stored_bytes(&self) -> Cow<'_, [u8]> {
        packed(&self.bytes)
    }

    /// The bytes of the record, owned.
    pub fn into_bytes(self) -> Cow<'s, [u8]> {
        self.bytes
    }
}

impl<'s> View<'s> {
    /// LMDB alone, without overlays: a closed backend, in which no index is searched.
    pub(crate) fn of_base(txn: &'s ReadTxn, dbs: &'s Dbs, tables: &'s Tables) -> View<'s> {
        static NO_INDEXES: LazyLock<BackendIndexes> = LazyLock::new(BackendIndexes::default);
        static NO_MARKS: LazyLock<Marks> = LazyLock::new(Marks::default);
        View { txn, dbs, layers: [None, None], tables, indexes: &NO_INDEXES, seq: None, marks: &NO_MARKS }
    }

    /// The indexes at this moment, and which of them may be used.
    #[inline]
    pub fn indexes(&self) -> &'s BackendIndexes {
        self.indexes
    }

    /// The last change that it sees; views with the same number see the same. None in a transaction, whose changes have
    /// no number yet.
    #[inline]
    pub fn seq(&self) -> Option<u64> {
        self.seq
    }

    /// What has changed up to this moment, for rights.
    #[inline]
    pub fn marks(&self) -> &'s Marks {
        self.marks
    }

    /// The number tables.
    pub fn tables(&self) -> &'s Tables {
        self.tables
    }

    fn overlays(&self) -> impl Iterator<Item = &'s Overlay> + use<'s> {
        self.layers.into_iter().flatten()
    }

    /// The entry, if there is one of that number.
    #[inline]
    pub fn entry(&self, id: EntryId) -> Result<Option<RecordRef<'s>>, StoreError> {
        for overlay in self.overlays() {
            if let Some(row) = overlay.entries.get(&id.0) {
                return Ok(row.bytes.as_deref().map(|bytes| RecordRef::new(Cow::Borrowed(bytes), self.tables)));
            }
        }
        Ok(self.base_entry(id)?.map(|bytes| RecordRef::new(bytes, self.tables)))
    }

    /// The entry in LMDB.
    pub(crate) fn base_entry(&self, id: EntryId) -> Result<Option<Cow<'s, [u8]>>, StoreError> {
        let Some(row) = self.dbs.entries.get(self.txn, &entry_key(id))? else { return Ok(None) };
        let (further, head) = split_first_piece(row)?;
        if further == 0 {
            return Ok(Some(unpacked(Cow::Borrowed(head))));
        }
        let piece = |part| self.dbs.entries.get(self.txn, &entry_part_key(id, part));
        Ok(Some(unpacked(Cow::Owned(joined(head, further, piece, "piece of an entry is missing")?))))
    }

    /// The posting list of `key`; empty when nothing has that key.
    #[inline]
    pub fn postings(&self, key: &IndexKey) -> Result<Postings<'s>, StoreError> {
        let mut deltas = [None, None];
        for (delta, layer) in deltas.iter_mut().zip(self.layers) {
            *delta = layer.filter(|overlay| !overlay.postings.is_empty()).and_then(|overlay| overlay.postings.get(key));
        }
        Ok(Postings::new(self.base_list(key.as_bytes())?, deltas, self.txn, self.dbs))
    }

    /// The list of `key` in LMDB.
    pub(crate) fn base_list(&self, key: &[u8]) -> Result<Option<List<'s>>, StoreError> {
        match self.dbs.postings.get_lower_than_or_equal_to(self.txn, key)? {
            None => Ok(None),
            Some((row_key, data)) => Ok(BlockView::new(row_key, data).find(key)?),
        }
    }

    /// The child of `parent` with that normalized RDN (whole normalized DN below [`EntryId::ROOT`]).
    #[inline]
    pub fn child(&self, parent: EntryId, normalized_rdn: &[u8]) -> Result<Option<EntryId>, StoreError> {
        let mut ids = self.postings(&IndexKey::dn(parent, normalized_rdn))?.iter();
        match ids.next() {
            None if ids.is_damaged() => Err(Damaged("posting list").into()),
            child => Ok(child),
        }
    }

    /// The child with the next number after `after`.
    pub fn child_after(&self, parent: EntryId, after: EntryId) -> Result<Option<EntryId>, StoreError> {
        self.children(parent)?.checked(EntryId(after.0 + 1)).next().transpose()
    }

    /// The children of an entry; their count is `numSubordinates`.
    pub fn children(&self, parent: EntryId) -> Result<Postings<'s>, StoreError> {
        self.postings(&IndexKey::children(parent))
    }

    /// All entries.
    pub fn all(&self) -> Result<Postings<'s>, StoreError> {
        self.postings(&IndexKey::all())
    }

    /// How many entries there are.
    pub fn entry_count(&self) -> Result<u64, StoreError> {
        Ok(self.all()?.count())
    }

    /// The name of an entry in user form, leaf first.
    pub fn dn_of(&self, id: EntryId) -> Result<Option<String>, StoreError> {
        let mut dn = Vec::new();
        let mut at = id;
        for _ in 0..DEPTH_MAX {
            let Some(record) = self.entry(at)? else {
                return if at == id { Ok(None) } else { Err(Damaged("parent of an entry is missing").into()) };
            };
            let view = record.view()?;
            if !dn.is_empty() {
                dn.push(b',');
            }
            dn.extend_from_slice(view.rdn());
            at = view.parent();
            if at == EntryId::ROOT {
                return Ok(Some(String::from_utf8_lossy(&dn).into_owned()));
            }
        }
        Err(StoreError::TooDeep { limit: DEPTH_MAX })
    }

    /// One large value by its normal form.
    pub fn large_value(
        &self,
        id: EntryId,
        desc: DescId,
        normalized: &[u8],
    ) -> Result<Option<Cow<'s, [u8]>>, StoreError> {
        self.value_row(&rows::value_key(id, desc, normalized))
    }

    pub(crate) fn value_row(&self, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>, StoreError> {
        for overlay in self.overlays() {
            if let Some(row) = overlay.values.get(key) {
                return Ok(row.bytes.as_deref().map(Cow::Borrowed));
            }
        }
        self.base_value(key)
    }

    pub(crate) fn base_value(&self, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>, StoreError> {
        let Some(row) = self.dbs.values.get(self.txn, &value_part_key(key, 0))? else { return Ok(None) };
        let (further, head) = split_first_piece(row)?;
        if further == 0 {
            return Ok(Some(Cow::Borrowed(head)));
        }
        let piece = |part| self.dbs.values.get(self.txn, &value_part_key(key, part));
        Ok(Some(Cow::Owned(joined(head, further, piece, "piece of a large value is missing")?)))
    }

    /// What the rules keep under `key`.
    pub fn meta(&self, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>, StoreError> {
        self.meta_row(&crate::env::meta::rules(key))
    }

    pub(crate) fn meta_row(&self, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>, StoreError> {
        for overlay in self.overlays() {
            if let Some(value) = overlay.meta.get(key) {
                return Ok(value.as_deref().map(Cow::Borrowed));
            }
        }
        Ok(self.dbs.meta.get(self.txn, key)?.map(Cow::Borrowed))
    }

    /// Whether a layer below the newest has this entry.
    pub(crate) fn lower_has_entry(&self, id: EntryId) -> Result<bool, StoreError> {
        match self.layers[1].and_then(|overlay| overlay.entries.get(&id.0)) {
            Some(row) => Ok(row.bytes.is_some()),
            None => Ok(self.dbs.entries.get(self.txn, &entry_key(id))?.is_some()),
        }
    }

    pub(crate) fn lower_has_value(&self, key: &[u8]) -> Result<bool, StoreError> {
        match self.layers[1].and_then(|overlay| overlay.values.get(key)) {
            Some(row) => Ok(row.bytes.is_some()),
            None => Ok(self.dbs.values.get(self.txn, &value_part_key(key, 0))?.is_some()),
        }
    }
}
