//! Keys and pieces of rows in `entries` and `values`: how larger data is cut into rows, and how it is found.
//!
//! `entries`: id `u64` BE [‖ part `u16` BE, from 1] → piece. `values`: entry id `u64` BE ‖ description `u32` BE ‖
//! length byte and normalized value (longer than [`VALUE_NORM_BYTES_MAX`]: 255, its head and a 128-bit hash) ‖ part
//! `u16` BE → piece.
//!
//! The first piece of both begins with a varint: the number of further pieces (0 for nearly all).
//!
//! Invariants:
//! (1) A row's key and data are at most [`ROW_LMDB_BYTES_MAX`], so LMDB never needs an overflow page.
//! (2) Every piece but the last is full: two encodings of the same bytes are the same rows.

use crate::error::StoreError;
use crate::posting::Damaged;
use crate::varint;
use crate::{DescId, EntryId};

/// Largest key + data that LMDB keeps inside a 4 KiB page (half of it, less headers).
pub const ROW_LMDB_BYTES_MAX: usize = 2_028;
/// Largest piece of a record or value; with the longest key of `values` still within a row.
pub const PIECE_BYTES_MAX: usize = 1_776;
/// Largest piece of a record: its key is short.
pub const ENTRY_PIECE_BYTES_MAX: usize = 1_944;
/// Normalized values up to this length are in the key as they are.
pub const VALUE_NORM_BYTES_MAX: usize = 200;
/// Most pieces of one value or record; bounds what is read because of a damaged count.
const PIECES_MAX: u64 = 1 << 16;
const HASHED: u8 = 255;
const HASH_BYTES: usize = 16;

/// Key of the first piece of a record.
#[inline]
pub fn entry_key(id: EntryId) -> [u8; 8] {
    id.0.to_be_bytes()
}

/// Key of a further piece (from 1).
pub fn entry_part_key(id: EntryId, part: u16) -> [u8; 10] {
    let mut key = [0; 10];
    key[..8].copy_from_slice(&id.0.to_be_bytes());
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

/// Id and part of a key of `entries`.
pub fn parse_entry_key(key: &[u8]) -> Result<(EntryId, u16), Damaged> {
    const DAMAGED: Damaged = Damaged("key of an entry row");
    let (id, rest) = key.split_first_chunk::<8>().ok_or(DAMAGED)?;
    let part = match rest {
        [] => 0,
        [high, low] => u16::from_be_bytes([*high, *low]),
        _ => return Err(DAMAGED),
    };
    Ok((EntryId(u64::from_be_bytes(*id)), part))
}

/// Bytes common to the keys of all large values of one attribute of one entry.
pub fn value_prefix(id: EntryId, desc: DescId) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.0.to_be_bytes());
    key[8..].copy_from_slice(&desc.0.to_be_bytes());
    key
}

/// Key of one large value, without the part.
pub fn value_key(id: EntryId, desc: DescId, normalized: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(15 + normalized.len().min(VALUE_NORM_BYTES_MAX));
    key.extend_from_slice(&value_prefix(id, desc));
    if normalized.len() <= VALUE_NORM_BYTES_MAX {
        key.push(normalized.len() as u8);
        key.extend_from_slice(normalized);
    } else {
        key.push(HASHED);
        key.extend_from_slice(normalized.get(..VALUE_NORM_BYTES_MAX - HASH_BYTES).unwrap_or_default());
        key.extend_from_slice(&xxhash_rust::xxh3::xxh3_128(normalized).to_be_bytes());
    }
    key
}

/// Entry, attribute, and the key split before its part.
pub fn parse_value_key(row_key: &[u8]) -> Result<(EntryId, DescId, &[u8], u16), Damaged> {
    const DAMAGED: Damaged = Damaged("key of a large value");
    let (key, part) = row_key.split_last_chunk::<2>().ok_or(DAMAGED)?;
    let (id, rest) = key.split_first_chunk::<8>().ok_or(DAMAGED)?;
    let (desc, _) = rest.split_first_chunk::<4>().ok_or(DAMAGED)?;
    Ok((EntryId(u64::from_be_bytes(*id)), DescId(u32::from_be_bytes(*desc)), key, u16::from_be_bytes(*part)))
}

/// Key of the piece `part` of the large value with `value_key`.
pub fn value_part_key(value_key: &[u8], part: u16) -> Vec<u8> {
    let mut key = Vec::with_capacity(value_key.len() + 2);
    key.extend_from_slice(value_key);
    key.extend_from_slice(&part.to_be_bytes());
    key
}

/// Cuts `bytes` and gives each piece with its part number, the first with its count, to `each`.
pub fn cut<E>(bytes: &[u8], piece_bytes_max: usize, mut each: impl FnMut(u16, &[u8]) -> Result<(), E>) -> Result<(), E>
where
    E: From<StoreError>,
{
    let first_max = piece_bytes_max - 3;
    let (head, tail) = bytes.split_at(bytes.len().min(first_max));
    let further = tail.len().div_ceil(piece_bytes_max);
    if further as u64 >= PIECES_MAX {
        return Err(StoreError::RecordTooLarge { bytes: bytes.len(), limit: piece_bytes_max << 16 }.into());
    }
    let mut first = Vec::with_capacity(head.len() + 3);
    varint::put(&mut first, further as u64);
    first.extend_from_slice(head);
    each(0, &first)?;
    for (at, piece) in tail.chunks(piece_bytes_max).enumerate() {
        each(at as u16 + 1, piece)?;
    }
    Ok(())
}

/// Splits a first piece into the number of further ones and its bytes.
#[inline]
pub fn split_first_piece(row: &[u8]) -> Result<(u16, &[u8]), Damaged> {
    let mut rest = row;
    let further = varint::take(&mut rest).filter(|count| *count < PIECES_MAX).ok_or(Damaged("first piece of a row"))?;
    Ok((further as u16, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cut_bytes_come_back(len in 0usize..20_000) {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut joined = Vec::new();
            let mut count = 0;
            cut::<StoreError>(&bytes, ENTRY_PIECE_BYTES_MAX, |part, piece| {
                assert!(piece.len() + 10 <= ROW_LMDB_BYTES_MAX);
                if part == 0 {
                    let (further, head) = split_first_piece(piece).unwrap();
                    count = further;
                    joined.extend_from_slice(head);
                } else {
                    joined.extend_from_slice(piece);
                }
                assert!(part <= count);
                Ok(())
            }).unwrap();
            prop_assert_eq!(joined, bytes);
        }
    }

    #[test]
    fn invariant_1_the_longest_key_and_piece_fit() {
        let key = value_part_key(&value_key(EntryId(1), DescId(2), &[7; 1000]), 9);
        assert!(key.len() + PIECE_BYTES_MAX <= ROW_LMDB_BYTES_MAX, "{}", key.len());
        assert_eq!(parse_value_key(&key), Ok((EntryId(1), DescId(2), &key[..key.len() - 2], 9)));
        assert_eq!(parse_entry_key(&entry_part_key(EntryId(5), 3)), Ok((EntryId(5), 3)));
        assert_eq!(parse_entry_key(&entry_key(EntryId(5))), Ok((EntryId(5), 0)));
        assert!(parse_entry_key(b"short").is_err());
    }

    #[test]
    fn keys_of_different_values_differ() {
        let key = |norm: &[u8]| value_key(EntryId(1), DescId(2), norm);
        assert_ne!(key(&[7; 300]), key(&[7; 301]));
        assert_ne!(key(b"a"), key(b"a\0"));
        assert!(key(b"x").starts_with(&value_prefix(EntryId(1), DescId(2))));
    }
}
