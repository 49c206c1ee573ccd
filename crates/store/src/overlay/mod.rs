//! The changes that are in the log and not yet in LMDB: entries, posting deltas, large values and meta, as persistent
//! ordered maps.
//!
//! A clone costs a few reference counts; a change copies the path to it, unless it is not shared. So the writer changes
//! its own clone in place, while readers keep theirs.
//!
//! Invariants:
//! (1) Every posting change is true against the layers below (see [`delta`]); an id that was added and removed is in no
//!     delta.
//! (2) What was added and removed within one overlay is not in it: a removal is kept only of what a lower layer has.

pub mod delta;

use std::sync::Arc;

use imbl::OrdMap;

pub use delta::{Change, PostingDelta};

use crate::EntryId;
use crate::posting::IndexKey;

/// Rough cost of a key and its place in a map; entries of 16-slot nodes that are about two thirds full.
const SLOT_BYTES: usize = 100;

/// A changed entry or value: its new bytes, or `None` when it was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// New content.
    pub bytes: Option<Arc<[u8]>>,
    /// Whether a lower layer has something here (then a removal must be kept).
    pub in_lower: bool,
}

/// Row key of a large value (without part), or a key of meta.
pub type RowKey = Arc<[u8]>;

/// Changes not yet in LMDB.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    pub(crate) entries: OrdMap<u64, Row>,
    pub(crate) postings: OrdMap<IndexKey, PostingDelta>,
    pub(crate) values: OrdMap<RowKey, Row>,
    pub(crate) meta: OrdMap<RowKey, Option<Arc<[u8]>>>,
    /// Sequence numbers of the first and the last change; 0 and 0 when empty.
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    /// How many changes there are.
    pub(crate) ops: u64,
    /// Memory, roughly.
    pub(crate) bytes: usize,
    /// Bytes of their proposals in the log.
    pub(crate) log_bytes: u64,
    /// Time it took to apply them, and so roughly to replay them.
    pub(crate) apply_ns: u64,
}

impl Overlay {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// Memory, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes (accepted proposals) in here.
    pub fn ops(&self) -> u64 {
        self.ops
    }

    /// Rows that a fold has to write.
    pub(crate) fn rows(&self) -> usize {
        self.entries.len() + self.postings.len() + self.values.len()
    }

    /// Adds one posting change.
    pub(crate) fn change_posting(&mut self, key: &IndexKey, id: EntryId, added: bool) {
        let change = Change::new(id, added);
        match self.postings.get_mut(key) {
            Some(delta) => {
                let before = delta.len();
                if delta.apply(change) {
                    let after = delta.len();
                    self.bytes = (self.bytes + after * 16).saturating_sub(before * 16);
                } else {
                    self.postings.remove(key);
                    self.bytes = self.bytes.saturating_sub(SLOT_BYTES + key.heap_bytes());
                }
            }
            None => {
                self.bytes += SLOT_BYTES + key.heap_bytes();
                self.postings.insert(key.clone(), PostingDelta::One(change));
            }
        }
    }

    /// Replaces the row of an entry and returns the old one.
    pub(crate) fn set_entry(&mut self, id: EntryId, row: Option<Row>) -> Option<Row> {
        let size = |row: &Option<Row>| row.as_ref().map_or(0, |row| SLOT_BYTES + row.len());
        let added = size(&row);
        let old = match row {
            Some(row) => self.entries.insert(id.0, row),
            None => self.entries.remove(&id.0),
        };
        self.bytes = (self.bytes + added).saturating_sub(size(&old));
        old
    }

    /// The same for a large value.
    pub(crate) fn set_value(&mut self, key: &RowKey, row: Option<Row>) -> Option<Row> {
        let size = |row: &Option<Row>| row.as_ref().map_or(0, |row| SLOT_BYTES + key.len() + row.len());
        let added = size(&row);
        let old = match row {
            Some(row) => self.values.insert(key.clone(), row),
            None => self.values.remove(key),
        };
        self.bytes = (self.bytes + added).saturating_sub(size(&old));
        old
    }

    /// The same for meta; the outer `None` means: as in the layer below.
    pub(crate) fn set_meta(&mut self, key: &RowKey, value: Option<Option<Arc<[u8]>>>) -> Option<Option<Arc<[u8]>>> {
        match value {
            Some(value) => {
                self.bytes += SLOT_BYTES + key.len() + value.as_ref().map_or(0, |value| value.len());
                self.meta.insert(key.clone(), value)
            }
            None => self.meta.remove(key),
        }
    }
}

impl Row {
    fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }
}
