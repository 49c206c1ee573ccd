//! The thread that removes dynamic entries whose time is over: slice after slice, each a proposal, other updates
//! between them.
//!
//! What is over stands in the entries and is found by the index of `entryExpireTimestamp`, so this thread remembers
//! nothing: after a crash the next one goes on. An entry with others below it goes after them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use config::{DynamicEntries, Writability};
use ldap::LdapResult;
use schema::Schema;
use store::EntryId;

use super::decided::{Decided, snapshot};
use super::done::report_of;
use super::intake::{Cause, Intake};
use super::references::{ReferenceKeeper, now_us};
use change::apply::{ExpirySlice, expired};
use change::proposal::Kind;
use query::backend::{Backend, BackendIndex, numbered};
use query::error::store_failure;
use query::monitor_entry::MonitorEntry;
use query::notices::{NoticeKind, Notices};

/// Pause after a slice while updates of clients wait.
const YIELD: Duration = Duration::from_millis(2);

/// What was done.
#[derive(Debug, Default)]
pub(super) struct ExpiryCounts {
    removed: AtomicU64,
    slices: AtomicU64,
    /// Of the last look, over all backends.
    held: AtomicU64,
}

impl ExpiryCounts {
    pub(super) fn monitor_entry(&self) -> MonitorEntry {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MonitorEntry::new("Dynamic Entries")
            .with("entries-removed", count(&self.removed))
            .with("slices", count(&self.slices))
            .with("entries-held-by-others-below", count(&self.held))
    }
}

/// The thread; dropped, it ends.
#[derive(Debug)]
pub(super) struct ExpiryThread {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Bell {
    is_over: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    fn is_over(&self) -> bool {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, time: Duration) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.rung.wait_timeout_while(is_over, time, |is_over| !*is_over));
    }
}

impl ExpiryThread {
    pub(super) fn start(worker: Worker) -> std::io::Result<Self> {
        let bell = Arc::new(Bell::default());
        let own = Arc::clone(&bell);
        let run = move || {
            while !own.is_over() {
                worker.look(&own);
                own.wait(worker.settings.check_interval);
            }
        };
        let thread = std::thread::Builder::new().name("expiry".to_owned()).spawn(run)?;
        Ok(Self { bell, thread: Some(thread) })
    }
}

impl Drop for ExpiryThread {
    fn drop(&mut self) {
        *self.bell.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.rung.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// What the thread needs.
pub(super) struct Worker {
    pub(super) backends: Arc<[Backend]>,
    pub(super) intake: Arc<Intake>,
    pub(super) references: Arc<ReferenceKeeper>,
    pub(super) schema: Arc<Schema>,
    pub(super) notices: Arc<Notices>,
    pub(super) counts: Arc<ExpiryCounts>,
    pub(super) settings: Arc<DynamicEntries>,
}

/// What became of the entries that were looked at.
#[derive(Clone, Copy, Default)]
struct Tally {
    removed: u64,
    held: u64,
}

impl Worker {
    /// Removes what is over now, in every backend that may change.
    fn look(&self, bell: &Bell) {
        let mut held = 0;
        for (at, backend) in numbered(&self.backends) {
            if backend.writability == Writability::Disabled {
                continue;
            }
            match self.work_off(at, backend, bell) {
                Ok(left) => held += left,
                Err(result) => self.notices.warn_once_of(NoticeKind::Expiry, format!(
                    "Dynamic entries of the backend \"{}\" whose time is over cannot be removed: {}; it is tried again",
                    backend.id, result.message
                )),
            }
        }
        self.counts.held.store(held, Ordering::Relaxed);
    }

    /// Goes through what is over until nothing more can be removed; gives how many entries are held by others below
    /// them.
    fn work_off(&self, at: BackendIndex, backend: &Backend, bell: &Bell) -> Result<u64, LdapResult> {
        let deadline_us =
            now_us().saturating_sub(u64::try_from(self.settings.tolerance.as_micros()).unwrap_or(u64::MAX));
        loop {
            let round = self.round(at, backend, deadline_us, bell)?;
            if round.removed == 0 || round.held == 0 || bell.is_over() {
                return Ok(round.held);
            }
        }
    }

    fn round(&self, at: BackendIndex, backend: &Backend, deadline_us: u64, bell: &Bell) -> Result<Tally, LdapResult> {
        let mut tally = Tally::default();
        let mut after = None;
        loop {
            let found = expired(&self.schema, &snapshot(backend)?.view(), deadline_us, after.as_ref());
            let (entries, next) = found.map_err(|error| store_failure(&error))?;
            if entries.is_empty() {
                return Ok(tally);
            }
            let done = self.propose(at, backend, ExpirySlice { deadline_us, entries })?;
            tally.removed += done.removed;
            tally.held += done.held;
            after = next;
            if after.is_none() || bell.is_over() {
                return Ok(tally);
            }
            if backend.store.stats().queue_length > 0 {
                std::thread::sleep(YIELD);
            }
        }
    }

    fn propose(&self, at: BackendIndex, backend: &Backend, slice: ExpirySlice) -> Result<Tally, LdapResult> {
        let decided = Decided::by_server(at, Kind::ExpireEntries, slice.encode());
        let (csn, proposal) = self.intake.encode(&decided, [0; 16]);
        let report = report_of(self.intake.submit_and_wait(backend, Cause::Expiry, proposal))?;
        self.references.note(&report, csn, 0, 0);
        if !report.result.is_success() {
            return Err(report.result);
        }
        let snapshot = snapshot(backend)?;
        let view = snapshot.view();
        let is_there =
            |id: &EntryId| view.entry(*id).map(|found| found.is_some()).map_err(|error| store_failure(&error));
        let mut tally = Tally::default();
        for id in &slice.entries {
            match is_there(id)? {
                true => tally.held += 1,
                false => tally.removed += 1,
            }
        }
        self.counts.removed.fetch_add(tally.removed, Ordering::Relaxed);
        self.counts.slices.fetch_add(1, Ordering::Relaxed);
        Ok(tally)
    }
}
