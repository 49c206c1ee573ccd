//! What `cn=monitor` shows of verified binds.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedCounts {
    /// Binds that are remembered now, counting those that are too old and have not been removed yet.
    pub entries: u64,
    /// Binds that were answered from memory.
    pub hits: u64,
    /// Binds that were not.
    pub misses: u64,
    /// Binds that waited for the verification of the same password by another connection; they are among the misses.
    pub shared: u64,
    /// Full verifications that found the password right.
    pub right: u64,
    /// Full verifications that found it wrong.
    pub wrong: u64,
    /// Binds that were forgotten before their time, because there were too many.
    pub evicted: u64,
}

/// The counters behind it.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) shared: AtomicU64,
    pub(super) right: AtomicU64,
    pub(super) wrong: AtomicU64,
    pub(super) evicted: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self, entries: u64) -> VerifiedCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        VerifiedCounts {
            entries,
            hits: read(&self.hits),
            misses: read(&self.misses),
            shared: read(&self.shared),
            right: read(&self.right),
            wrong: read(&self.wrong),
            evicted: read(&self.evicted),
        }
    }
}
