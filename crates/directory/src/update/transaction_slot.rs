//! What a connection keeps of its transaction (RFC 5805): the decided updates that wait for its end.
//!
//! Knows no request; what may be put in is said by `transaction`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::decided::Decided;
use query::backend::BackendIndex;

/// Updates of one transaction.
pub const TRANSACTION_UPDATES_MAX: usize = 1_000;

/// Bytes of their requests, controls included. Half of the largest proposal.
pub const TRANSACTION_BYTES_MAX: usize = 4 << 20;

/// A connection's transaction, if there is one. Clones of a session share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransactionSlot(pub(super) Option<Arc<Mutex<Transaction>>>);

/// Updates that wait for their end.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) identifier: String,
    /// All updates are of one backend: another one has another log.
    pub(super) backend: Option<BackendIndex>,
    pub(super) updates: Vec<Waiting>,
    pub(super) bytes: usize,
    /// The transaction has ended; an update that arrives later is refused.
    pub(super) is_over: bool,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) message_id: i32,
    pub(super) decided: Decided<'static>,
}

impl TransactionSlot {
    pub(super) fn lock(&self) -> Option<MutexGuard<'_, Transaction>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the transaction, if there is one, without its updates.
    pub(crate) fn abort(&mut self) {
        if let Some(mut open) = self.lock() {
            open.is_over = true;
            open.updates = Vec::new();
        }
        self.0 = None;
    }

    pub(super) fn is_open(&self) -> bool {
        self.lock().is_some_and(|open| !open.is_over)
    }
}
