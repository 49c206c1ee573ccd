//! The keys of one batch of entries, collected by one worker without locks.
//!
//! A key of at most seven bytes, which is nearly every substring key, becomes one `u64` ([`word`]) whose
//! numeric order is the order of the keys. Longer keys lie in an arena. Knows nothing of what a key means.

use super::error::{KEY_BYTES_MAX, SortError};
use super::slot::Slot;

/// Longest key that fits a word: seven bytes, the eighth holds the length.
pub(super) const WORD_KEY_BYTES_MAX: usize = 7;

/// Keys of consecutive entries, by slot (one slot per index).
#[derive(Debug)]
pub struct KeyBatch {
    pub(super) slots: Vec<SlotKeys>,
}

/// The keys of one slot: short ones as words, long ones in an arena. Both in the order they were pushed.
#[derive(Debug, Default)]
pub(super) struct SlotKeys {
    pub words: Vec<u64>,
    /// The entry of `words[i]`, counted from the first id of the batch or run.
    pub word_ids: Vec<u32>,
    pub longs: Vec<LongKey>,
    pub arena: Vec<u8>,
}

/// A key of more than seven bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongKey {
    /// The eight bytes at the depth being sorted, big-endian, padded with zeros.
    pub cache: u64,
    pub offset: u32,
    pub length: u32,
    /// The entry, counted from the first id of the batch or run.
    pub id: u32,
}

impl KeyBatch {
    /// An empty batch for `slots` indexes.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self { slots: std::iter::repeat_with(SlotKeys::default).take(slots).collect() }
    }

    /// Adds a key of the entry `row` (counted from the batch's first id). Rows must come in ascending order.
    ///
    /// # Errors
    /// Refuses keys longer than [`KEY_BYTES_MAX`], an unknown slot and a batch of more than 4 GiB of keys.
    #[inline]
    pub fn push(&mut self, slot: Slot, key: &[u8], row: u32) -> Result<(), SortError> {
        let keys = self.slots.get_mut(slot.0).ok_or(SortError::UnknownSlot { slot })?;
        if key.len() <= WORD_KEY_BYTES_MAX {
            keys.words.push(word(key));
            keys.word_ids.push(row);
            return Ok(());
        }
        if key.len() > KEY_BYTES_MAX {
            return Err(SortError::KeyTooLong { length: key.len() });
        }
        let offset = u32::try_from(keys.arena.len()).map_err(|_| SortError::BatchTooLarge)?;
        keys.arena.extend_from_slice(key);
        keys.longs.push(LongKey { cache: 0, offset, length: key.len() as u32, id: row });
        Ok(())
    }

    /// Forgets all keys, keeps the memory.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(SlotKeys::clear);
    }
}

impl SlotKeys {
    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.words.len() * 12 + self.longs.len() * size_of::<LongKey>() + self.arena.len()
    }

    /// What sorting the short keys needs beside them.
    pub fn scratch_bytes(&self) -> usize {
        self.words.len() * 12
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.longs.is_empty()
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.word_ids.clear();
        self.longs.clear();
        self.arena.clear();
    }

    /// Appends a batch whose first id is `shift` above the run's first id.
    pub fn append(&mut self, other: &Self, shift: u32) -> Result<(), SortError> {
        self.words.extend_from_slice(&other.words);
        self.word_ids.extend(other.word_ids.iter().map(|id| id + shift));
        let base = u32::try_from(self.arena.len()).map_err(|_| SortError::BatchTooLarge)?;
        u32::try_from(self.arena.len() + other.arena.len()).map_err(|_| SortError::BatchTooLarge)?;
        self.arena.extend_from_slice(&other.arena);
        self.longs.extend(other.longs.iter().map(|key| LongKey {
            offset: key.offset + base,
            id: key.id + shift,
            ..*key
        }));
        Ok(())
    }

    /// Bytes of the long key `key`.
    pub fn long(&self, key: &LongKey) -> &[u8] {
        long_bytes(&self.arena, key)
    }
}

/// The bytes of `key` in `arena`.
#[inline]
pub(super) fn long_bytes<'a>(arena: &'a [u8], key: &LongKey) -> &'a [u8] {
    let start = key.offset as usize;
    arena.get(start..start + key.length as usize).unwrap_or_default()
}

/// A short key as a number: its bytes in front, zeros, its length last. The order of words is the order of
/// keys: where two keys differ only in trailing zero bytes, the length decides.
#[inline]
pub(super) fn word(key: &[u8]) -> u64 {
    let mut bytes = [0u8; 8];
    for (to, from) in bytes.iter_mut().zip(key.iter().take(WORD_KEY_BYTES_MAX)) {
        *to = *from;
    }
    bytes[7] = key.len().min(WORD_KEY_BYTES_MAX) as u8;
    u64::from_be_bytes(bytes)
}

/// The key of a word: bytes and length.
#[inline]
pub(super) fn word_key(word: u64) -> ([u8; 8], usize) {
    let bytes = word.to_be_bytes();
    (bytes, usize::from(bytes[7]).min(WORD_KEY_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_ordered_as_their_keys(
            a in prop::collection::vec(0u8..3, 0..8),
            b in prop::collection::vec(0u8..3, 0..8),
        ) {
            prop_assert_eq!(word(&a).cmp(&word(&b)), a.cmp(&b));
            let (bytes, len) = word_key(word(&a));
            prop_assert_eq!(&bytes[..len], a.as_slice());
        }
    }
}
