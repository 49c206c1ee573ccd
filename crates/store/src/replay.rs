//! Applying a record of the log again, onto a state in memory.

use crate::env::{Dbs, ReadTxn};
use crate::error::StoreError;
use crate::log::LogRecord;
use crate::rules::Rules;
use crate::txn::{Txn, TxnState};

/// Applies the record and compares the outcome with the logged one.
pub(crate) fn replay_record(
    rules: &mut dyn Rules,
    base: &ReadTxn,
    dbs: &Dbs,
    state: &mut TxnState,
    record: LogRecord<'_>,
) -> Result<(), StoreError> {
    let mut txn = Txn::begin(base, dbs, None, state);
    let outcome = rules.apply(&mut txn, record.proposal)?;
    if !outcome.accepted || outcome.code != record.code {
        return Err(StoreError::ReplayMismatch { seq: record.seq, then: record.code, now: outcome.code });
    }
    Ok(())
}
