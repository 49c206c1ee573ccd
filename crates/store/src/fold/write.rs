//! Moving a frozen overlay into LMDB: one transaction, keys in order.
//!
//! Invariants:
//! (1) A fold either commits everything of its overlay, `meta.folded` included, or nothing; a failed one is tried again
//!     with the same overlay.
//! (2) Rows end up as if the changes had been made one by one: lists inline or long by size, containers never empty,
//!     further pieces of shortened records removed.

use heed::RwTxn;

use super::blocks::BlockFolder;
use super::pace::Pace;
use super::sweep::sweep;
use crate::env::{Dbs, meta, write_log_held};
use crate::error::StoreError;
use crate::log::LogHeld;
use crate::overlay::Row;
use crate::record::packed;
use crate::rows::{
    ENTRY_PIECE_BYTES_MAX, PIECE_BYTES_MAX, cut, entry_key, entry_part_key, split_first_piece, value_part_key,
};
use crate::version::Frozen;
use crate::{EntryId, ListId};

/// Writes all of `frozen` with `txn`, which the caller commits. `held` is what the log holds by then.
pub(crate) fn fold(
    txn: &mut RwTxn<'_>,
    dbs: &Dbs,
    frozen: &Frozen,
    held: LogHeld,
    pace: Pace<'_>,
) -> Result<(), StoreError> {
    let overlay = &frozen.overlay;
    for (id, row) in &overlay.entries {
        fold_entry(txn, dbs, EntryId(*id), row)?;
        pace();
    }
    let next_list = crate::env::read_u64(dbs, txn, meta::NEXT_LIST)?.unwrap_or(1);
    let mut folder = BlockFolder::new(dbs, ListId(next_list));
    folder.fold(txn, &overlay.postings, pace)?;
    let next_list = folder.next_list();
    // After the last changes of a former index, which are in this overlay at the latest.
    sweep(txn, dbs, frozen.indexes.states().retired(), pace)?;
    for (key, row) in &overlay.values {
        fold_value(txn, dbs, key, row)?;
        pace();
    }
    for (key, value) in &overlay.meta {
        match value {
            Some(value) => dbs.meta.put(txn, key, value)?,
            None => drop(dbs.meta.delete(txn, key)?),
        }
    }
    dbs.meta.put(txn, meta::NEXT_LIST, &next_list.0.to_be_bytes())?;
    dbs.meta.put(txn, meta::NEXT_ENTRY, &frozen.next_entry.0.to_be_bytes())?;
    dbs.meta.put(txn, meta::FOLDED, &overlay.last_seq.to_be_bytes())?;
    write_log_held(dbs, txn, held)?;
    Ok(())
}

fn fold_entry(txn: &mut RwTxn<'_>, dbs: &Dbs, id: EntryId, row: &Row) -> Result<(), StoreError> {
    let old_further = match row.in_lower {
        true => dbs.entries.get(txn, &entry_key(id))?.map(split_first_piece).transpose()?.map_or(0, |(count, _)| count),
        false => 0,
    };
    let mut further = 0;
    match &row.bytes {
        None => drop(dbs.entries.delete(txn, &entry_key(id))?),
        Some(record) => cut::<StoreError>(&packed(record), ENTRY_PIECE_BYTES_MAX, |part, piece| {
            further = part;
            match part {
                0 => dbs.entries.put(txn, &entry_key(id), piece)?,
                part => dbs.entries.put(txn, &entry_part_key(id, part), piece)?,
            }
            Ok(())
        })?,
    }
    for part in further + 1..=old_further {
        dbs.entries.delete(txn, &entry_part_key(id, part))?;
    }
    Ok(())
}

fn fold_value(txn: &mut RwTxn<'_>, dbs: &Dbs, key: &[u8], row: &Row) -> Result<(), StoreError> {
    let first_key = value_part_key(key, 0);
    let old_further = match row.in_lower {
        true => dbs.values.get(txn, &first_key)?.map(split_first_piece).transpose()?.map_or(0, |(count, _)| count),
        false => 0,
    };
    let mut further = 0;
    match &row.bytes {
        None => drop(dbs.values.delete(txn, &first_key)?),
        Some(bytes) => cut::<StoreError>(bytes, PIECE_BYTES_MAX, |part, piece| {
            further = part;
            Ok(dbs.values.put(txn, &value_part_key(key, part), piece)?)
        })?,
    }
    for part in further + 1..=old_further {
        dbs.values.delete(txn, &value_part_key(key, part))?;
    }
    Ok(())
}
