//! The persistent searches of a directory: how many there may be, what `cn=monitor` says of them, and their end.
//!
//! Knows neither who starts them nor how they are told of changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ldap::LdapResult;

use super::permit::Permit;
use super::shared::{Shared, lock};
use crate::search::SearchRefusal;
use query::monitor_entry::MonitorEntry;

/// Watches that `cn=monitor` names one by one; the others are only counted.
const NAMED_MAX: usize = 1_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Watches {
    pub(super) shared: Arc<Shared>,
}

impl Watches {
    /// None yet. `most`: `max-psearches`.
    pub fn new(most: Option<u64>) -> Watches {
        Watches { shared: Arc::new(Shared::new(most)) }
    }

    /// Makes room for one more.
    ///
    /// # Errors
    /// `adminLimitExceeded`, as in OpenDJ.
    pub fn admit(&self) -> Result<Permit, LdapResult> {
        Permit::of(&self.shared.counts)
    }

    /// Ends all, those that are still to come, too: the server stops.
    pub fn end(&self) {
        let result = SearchRefusal::Stopping.into();
        self.shared.lock().ending.get_or_insert(result);
        self.shared.changed.notify_all();
    }

    /// Ends all and waits for the thread. Not to be called by it.
    pub fn stop(&self) {
        self.end();
        let thread = lock(&self.shared.thread).take();
        if let Some(thread) = thread {
            // A panic was told by the thread itself.
            let _ = thread.join();
        }
    }

    /// What there is to tell of them.
    pub fn monitor_entry(&self) -> MonitorEntry {
        let (shared, counts) = (&self.shared, &self.shared.counts);
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut entry = MonitorEntry::new("Persistent Searches")
            .with("currentPersistentSearches", count(&counts.admitted))
            .with("maxPersistentSearches", count(&counts.admitted_peak))
            .with("persistentSearchEntries", count(&counts.told))
            .with("persistentSearchesDropped", count(&counts.dropped));
        let named: Vec<String> = lock(&shared.named).values().take(NAMED_MAX).cloned().collect();
        if !named.is_empty() {
            entry.attributes.push(("persistentSearch".to_owned(), named));
        }
        entry
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        // The thread may be the one that drops the directory: it is not waited for.
        self.end();
    }
}
