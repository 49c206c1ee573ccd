//! Keys of posting indexes: `[IndexId u16 BE][key]`, bounded so that a key and its list fit a row.
//!
//! Invariants:
//! (1) A key is at most [`KEY_BYTES_MAX`] bytes after the index id.
//! (2) Two derivations of the same bytes give the same key. Longer originals are cut to [`KEY_PREFIX_BYTES`] and end in
//!     a 128-bit hash, so different originals *may* have the same key: an id of a list is a candidate, and the entry
//!     decides.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::varint;
use crate::{EntryId, IndexId};

/// Longest key after the index id; LMDB takes 511 bytes, and four rows share a page.
pub const KEY_BYTES_MAX: usize = 255;
/// So many bytes of a longer key are kept as they are; the order of long keys is exact up to here.
pub const KEY_PREFIX_BYTES: usize = KEY_BYTES_MAX - HASH_BYTES;
const HASH_BYTES: usize = 16;
/// Keys up to this length (index id included) need no allocation.
const INLINE_BYTES: usize = 30;

/// Key of one posting list, index id included. Compares as its bytes do; a clone never copies more than a cache line.
#[derive(Clone)]
pub struct IndexKey(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE_BYTES] },
    Shared(Arc<[u8]>),
}

impl IndexKey {
    /// The key for `key` in `index`; cut and hashed when over [`KEY_BYTES_MAX`].
    pub fn new(index: IndexId, key: &[u8]) -> IndexKey {
        let len = 2 + key.len();
        if len <= INLINE_BYTES {
            let mut bytes = [0; INLINE_BYTES];
            bytes[..2].copy_from_slice(&index.0.to_be_bytes());
            bytes[2..len].copy_from_slice(key);
            return IndexKey(Repr::Inline { len: len as u8, bytes });
        }
        let mut bytes = Vec::with_capacity(2 + key.len().min(KEY_BYTES_MAX));
        write_key(index, key, &mut bytes);
        IndexKey(Repr::Shared(bytes.into()))
    }

    /// Wraps bytes that already are a key (index id first, bounded).
    pub fn from_bytes(bytes: &[u8]) -> IndexKey {
        if bytes.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes.len()].copy_from_slice(bytes);
            return IndexKey(Repr::Inline { len: bytes.len() as u8, bytes: inline });
        }
        IndexKey(Repr::Shared(bytes.into()))
    }

    /// Key of the child named `normalized_rdn` below `parent` in the `DN` index.
    pub fn dn(parent: EntryId, normalized_rdn: &[u8]) -> IndexKey {
        let mut key = Vec::with_capacity(9 + normalized_rdn.len());
        varint::put_ordered(&mut key, parent.0);
        key.extend_from_slice(normalized_rdn);
        IndexKey::new(IndexId::DN, &key)
    }

    /// Key of the list of children of `parent`.
    pub fn children(parent: EntryId) -> IndexKey {
        let mut key = Vec::with_capacity(9);
        varint::put_ordered(&mut key, parent.0);
        IndexKey::new(IndexId::CHILDREN, &key)
    }

    /// Key of the list of all entries.
    pub fn all() -> IndexKey {
        IndexKey::new(IndexId::ALL, b"")
    }

    /// Index id and key, as stored.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Repr::Shared(bytes) => bytes,
        }
    }

    /// The index this key belongs to.
    pub fn index(&self) -> IndexId {
        index_of(self.as_bytes())
    }

    /// The key without its index id.
    pub fn key(&self) -> &[u8] {
        self.as_bytes().get(2..).unwrap_or_default()
    }

    /// Bytes held outside the value itself; for memory accounting.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Shared(bytes) => bytes.len() + 16,
        }
    }
}

/// Appends the stored form of `key` in `index` to `out`.
pub fn write_key(index: IndexId, key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&index.0.to_be_bytes());
    if key.len() <= KEY_BYTES_MAX {
        out.extend_from_slice(key);
        return;
    }
    out.extend_from_slice(&key[..KEY_PREFIX_BYTES]);
    out.extend_from_slice(&xxhash_rust::xxh3::xxh3_128(key).to_be_bytes());
}

/// Index id at the head of stored key bytes (`u16::MAX`, which no index has, when there are not two).
#[inline]
pub fn index_of(bytes: &[u8]) -> IndexId {
    match bytes {
        [high, low, ..] => IndexId(u16::from_be_bytes([*high, *low])),
        _ => IndexId(u16::MAX),
    }
}

impl PartialEq for IndexKey {
    fn eq(&self, other: &IndexKey) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for IndexKey {}

impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &IndexKey) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for IndexKey {
    #[inline]
    fn cmp(&self, other: &IndexKey) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Borrow<[u8]> for IndexKey {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl std::hash::Hash for IndexKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl std::fmt::Debug for IndexKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.index().0, self.key().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invariant_1_long_keys_are_bounded_and_distinct() {
        let long = vec![b'x'; 400];
        let mut other = long.clone();
        other[399] = b'y';
        let (a, b) = (IndexKey::new(IndexId(20), &long), IndexKey::new(IndexId(20), &other));
        assert_eq!(a.key().len(), KEY_BYTES_MAX);
        assert_ne!(a, b);
        assert_eq!(a, IndexKey::new(IndexId(20), &long));
        assert_eq!(IndexKey::new(IndexId(20), &long[..255]).key(), &long[..255]);
    }

    #[test]
    fn keys_compare_as_bytes_whatever_their_form() {
        let short = IndexKey::new(IndexId(1), b"abc");
        let long = IndexKey::new(IndexId(1), &[b'a'; 60]);
        assert!(long < short);
        assert!(IndexKey::new(IndexId(2), b"") > short);
        assert_eq!(IndexKey::from_bytes(long.as_bytes()), long);
        assert_eq!(short.index(), IndexId(1));
        assert_eq!(size_of::<IndexKey>(), 32);
    }

    #[test]
    fn children_of_different_parents_do_not_mix() {
        assert!(IndexKey::dn(EntryId(239), b"\xff") < IndexKey::dn(EntryId(240), b""));
        assert!(IndexKey::dn(EntryId(65_535), b"\xff") < IndexKey::dn(EntryId(65_536), b""));
    }
}
