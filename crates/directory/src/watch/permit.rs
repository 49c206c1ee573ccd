//! How many persistent searches there are, and the right to be one of them.
//!
//! Knows nothing of what they search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ldap::LdapResult;

use crate::search::SearchRefusal;

/// What is counted of the persistent searches.
#[derive(Debug, Default)]
pub(crate) struct WatchCounts {
    /// `max-psearches`
    most: Option<u64>,
    pub(super) admitted: AtomicU64,
    /// The most that there were at once.
    pub(super) admitted_peak: AtomicU64,
    /// Entries sent because of changes.
    pub(super) told: AtomicU64,
    /// Ended because the history did not go back far enough.
    pub(super) dropped: AtomicU64,
}

/// The right to be one of `max-psearches`; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<WatchCounts>);

impl WatchCounts {
    /// None yet. `most`: `max-psearches`.
    pub(super) fn new(most: Option<u64>) -> WatchCounts {
        WatchCounts { most, ..WatchCounts::default() }
    }
}

impl Permit {
    /// Makes room for one more.
    ///
    /// # Errors
    /// `adminLimitExceeded`, as in OpenDJ.
    pub(super) fn of(counts: &Arc<WatchCounts>) -> Result<Permit, LdapResult> {
        let most = counts.most.unwrap_or(u64::MAX);
        let admitted = counts.admitted.fetch_add(1, Ordering::Relaxed) + 1;
        let permit = Permit(Arc::clone(counts));
        if admitted > most {
            return Err(SearchRefusal::TooManyPersistent { most }.into());
        }
        counts.admitted_peak.fetch_max(admitted, Ordering::Relaxed);
        Ok(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.admitted.fetch_sub(1, Ordering::Relaxed);
    }
}
