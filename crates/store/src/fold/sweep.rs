//! Removes all rows of an index, its long lists included: of a former index some rows with each fold, of an index that
//! is rebuilt offline all at once.
//!
//! Invariant: a row and the containers of its lists go in the same transaction.

use std::ops::Bound;

use heed::RwTxn;

use super::pace::Pace;
use crate::env::Dbs;
use crate::error::StoreError;
use crate::posting::block::index_range;
use crate::posting::{BlockView, List, chunk_key};
use crate::{IndexId, ListId};

/// Rows that one fold removes of former indexes: some 10 MiB.
const ROWS_OF_A_FOLD_MAX: usize = 10_000;
/// Rows removed between two pauses.
const ROWS_AT_A_TIME: usize = 256;

/// Removes some rows of former indexes.
pub(super) fn sweep(
    txn: &mut RwTxn<'_>,
    dbs: &Dbs,
    retired: impl Iterator<Item = IndexId>,
    pace: Pace<'_>,
) -> Result<(), StoreError> {
    let mut left = ROWS_OF_A_FOLD_MAX;
    for index in retired {
        while left > 0 {
            let removed = remove_rows(txn, dbs, index, ROWS_AT_A_TIME.min(left))?;
            if removed == 0 {
                break;
            }
            left -= removed;
            pace();
        }
    }
    Ok(())
}

/// Removes the first rows of an index, at most `rows_max`, and says how many.
pub(crate) fn remove_rows(
    txn: &mut RwTxn<'_>,
    dbs: &Dbs,
    index: IndexId,
    rows_max: usize,
) -> Result<usize, StoreError> {
    let (first, end) = index_range(index);
    let range = (Bound::Included(first.as_bytes()), Bound::Excluded(end.as_bytes()));
    let (mut lists, mut last, mut rows) = (Vec::new(), Vec::new(), 0);
    for row in dbs.postings.range(txn, &range)?.take(rows_max) {
        let (key, data) = row?;
        let mut block = BlockView::new(key, data).iter();
        // A block that cannot be read ends here; `verify` reports lists that nobody refers to.
        while let Ok(Some((_, list))) = block.next() {
            if let List::Long { list, .. } = list {
                lists.push(list);
            }
        }
        last.clear();
        last.extend_from_slice(key);
        rows += 1;
    }
    if rows > 0 {
        dbs.postings.delete_range(txn, &(Bound::Included(first.as_bytes()), Bound::Included(&last[..])))?;
    }
    for list in lists {
        let (first, end) = (chunk_key(list, 0), chunk_key(ListId(list.0 + 1), 0));
        dbs.chunks.delete_range(txn, &(Bound::Included(&first[..]), Bound::Excluded(&end[..])))?;
    }
    Ok(rows)
}
