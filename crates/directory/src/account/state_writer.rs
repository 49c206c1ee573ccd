//! What binds change in accounts, on its way to the writers of the backends.
//!
//! 1. A backend has at most one such proposal under way. What comes meanwhile waits and is proposed together: a storm
//!    of wrong passwords is one record of the log a batch.
//! 2. A guess stays counted until its failure can be seen, so that none is forgotten between the two.
//! 3. What could not be written (the disk is full) waits for the next bind after a pause; its guesses stay counted.
//!    Nobody waits for it any more.
//! 4. Bounded: accounts and changes that wait, and those that wait after a failure.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::unknown_names::UnknownNames;
use change::csn::Csn;
use change::proposal::{Authority, Flags, Kind, Proposal};
use change::state_changes::encode;
use config::Writability;
use ldap::LdapResult;
use query::backend::{Backend, BackendIndex};
use query::entry_place::EntryPlace;
use query::error::store_failure;
use query::monitor_entry::MonitorEntry;
use store::Submitter;

use super::pending::{Batch, StateOf, StateWrite, Waiting, Written};
use crate::refusal::Refusal;
use crate::root_accounts::{RootAccounts, RootStateWritten};
use crate::server_name::SERVER_NAME;

/// How long nothing is tried after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Accounts that wait after a failure at most: failures of others are let go, so that a full disk does not fill memory.
const KEPT_MAX: usize = 1 << 14;

/// The change sequence numbers of this server.
pub(crate) type NextCsn = Box<dyn Fn() -> Csn + Send + Sync>;

/// See the module.
#[derive(Clone)]
pub(crate) struct StateWriter {
    shared: Arc<Shared>,
}

struct Shared {
    backends: Arc<[Backend]>,
    roots: Arc<RootAccounts>,
    unknown_names: Arc<UnknownNames>,
    lanes: Box<[Lane]>,
    next_csn: NextCsn,
    batches: AtomicU64,
    accounts: AtomicU64,
    failures: AtomicU64,
    lost: AtomicU64,
}

/// Of one backend.
#[derive(Default)]
struct Lane {
    queue: Mutex<Queue>,
    is_failing: AtomicBool,
}

#[derive(Default)]
struct Queue {
    waiting: Waiting,
    is_under_way: bool,
    /// Nothing is proposed before.
    retry_at: Option<Instant>,
}

impl StateWriter {
    pub(crate) fn new(
        backends: Arc<[Backend]>,
        roots: Arc<RootAccounts>,
        unknown_names: Arc<UnknownNames>,
        next_csn: NextCsn,
    ) -> StateWriter {
        let lanes = backends.iter().map(|_| Lane::default()).collect();
        let count = AtomicU64::default;
        let (batches, accounts, failures, lost) = (count(), count(), count(), count());
        let shared = Shared { backends, roots, unknown_names, lanes, next_csn, batches, accounts, failures, lost };
        StateWriter { shared: Arc::new(shared) }
    }

    /// Has something written; never waits.
    pub(crate) fn write(&self, wanted: StateWrite) {
        self.shared.write(wanted);
    }

    /// Whether nothing can be written where a state is kept now, as far as is known.
    pub(crate) fn is_failing(&self, of: &StateOf) -> bool {
        match of {
            StateOf::Entry(EntryPlace { backend, .. }, _) | StateOf::Nobody(backend, _) => {
                let lane = self.shared.lanes.get(backend.0);
                !self.shared.is_writable(*backend) || lane.is_none_or(|lane| lane.is_failing.load(Ordering::Acquire))
            }
            StateOf::Root(_) => self.shared.roots.is_failing(),
        }
    }

    /// Batches that were written.
    #[cfg(test)]
    pub(crate) fn batches(&self) -> u64 {
        self.shared.batches.load(Ordering::Relaxed)
    }

    pub(crate) fn monitor_entry(&self) -> MonitorEntry {
        let shared = &self.shared;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let waiting: usize = shared.lanes.iter().map(|lane| lane.lock().waiting.len()).sum();
        MonitorEntry::new("Account States")
            .with("batches", get(&shared.batches))
            .with("accounts-changed", get(&shared.accounts))
            .with("accounts-waiting", waiting)
            .with("batches-failed", get(&shared.failures))
            .with("changes-lost", get(&shared.lost))
    }
}

impl Lane {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// What is to be proposed now, if anything.
    fn next(&mut self) -> Option<Batch> {
        let must_pause = self.retry_at.is_some_and(|at| Instant::now() < at);
        if self.is_under_way || must_pause || self.waiting.is_empty() {
            return None;
        }
        self.is_under_way = true;
        Some(self.waiting.take())
    }
}

impl Shared {
    fn is_writable(&self, at: BackendIndex) -> bool {
        self.backends.get(at.0).is_some_and(|backend| backend.writability != Writability::Disabled)
    }

    fn write(self: &Arc<Self>, mut wanted: StateWrite) {
        let at = match &wanted.of {
            StateOf::Entry(EntryPlace { backend, .. }, _) | StateOf::Nobody(backend, _) => *backend,
            // Who changes nothing waits as long as nobody does.
            StateOf::Root(_) if wanted.changes.is_empty() => BackendIndex(0),
            StateOf::Root(name) => {
                let done = wanted.done.take().map(|done| -> RootStateWritten {
                    Box::new(move |written| done(written.map_err(|_| Refusal::StateNotWritten.into())))
                });
                return self.roots.change(name, &wanted.changes, done);
            }
        };
        let refused = || LdapResult::from(Refusal::StateNotWritten);
        let Some(lane) = self.lanes.get(at.0).filter(|_| self.is_writable(at)) else {
            return tell(wanted.done, &Err(refused()));
        };
        let mut queue = lane.lock();
        let must_pause = queue.retry_at.is_some_and(|at| Instant::now() < at);
        // Nobody waits for a disk that is full.
        let early = if must_pause { wanted.done.take() } else { None };
        let left = queue.waiting.add(wanted).err();
        let has_lost = left.is_some();
        let late = left.and_then(|wanted| wanted.done);
        let batch = queue.next();
        drop(queue);
        if has_lost {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        tell(early.into_iter().chain(late), &Err(refused()));
        if let Some(batch) = batch {
            self.submit(at, batch);
        }
    }

    fn submit(self: &Arc<Self>, at: BackendIndex, batch: Batch) {
        let Some(backend) = self.backends.get(at.0) else { return };
        let Batch { accounts: pending, others } = batch;
        let proposal = Proposal {
            kind: Kind::AccountState,
            flags: Flags::default(),
            csn: (self.next_csn)(),
            entry_uuid: [0; 16],
            connection: 0,
            operation: 0,
            authority: Authority::Root { dn: SERVER_NAME },
            assertion: b"",
            pre_read: b"",
            post_read: b"",
            password: b"",
            operation_bytes: &encode(pending.iter().map(|pending| &pending.account)),
        };
        let proposal = proposal.encode();
        let own = Arc::clone(self);
        let then = move |outcome: Result<store::Outcome, store::StoreError>| {
            let written = match outcome {
                Ok(outcome) if outcome.accepted => Ok(()),
                Ok(_) => Err(LdapResult::from(Refusal::StateNotWritten)),
                Err(error) => Err(store_failure(&error)),
            };
            own.finished(at, Batch { accounts: pending, others }, &written);
        };
        backend.store.submit(Submitter::SERVER, proposal, Box::new(then));
    }

    /// A batch is written, or cannot be. Those who wait are told after the next one is on its way.
    fn finished(self: &Arc<Self>, at: BackendIndex, mut batch: Batch, written: &Result<(), LdapResult>) {
        let Some(lane) = self.lanes.get(at.0) else { return };
        let mut done: Vec<Written> = batch.others.iter_mut().filter_map(|other| other.done.take()).collect();
        for (number, change) in batch.others.iter().flat_map(|other| &other.changes) {
            self.unknown_names.change(*number, change);
        }
        batch.accounts.iter_mut().for_each(|pending| done.append(&mut pending.done));
        let count = batch.accounts.len() as u64;
        let mut queue = lane.lock();
        queue.is_under_way = false;
        lane.is_failing.store(written.is_err(), Ordering::Release);
        if written.is_ok() {
            queue.retry_at = None;
        } else {
            queue.retry_at = Some(Instant::now() + RETRY);
            let lost = queue.waiting.put_back(std::mem::take(&mut batch.accounts), KEPT_MAX);
            self.lost.fetch_add(lost as u64, Ordering::Relaxed);
        }
        let next = queue.next();
        drop(queue);
        if written.is_ok() {
            self.batches.fetch_add(1, Ordering::Relaxed);
            self.accounts.fetch_add(count, Ordering::Relaxed);
        } else {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(next) = next {
            self.submit(at, next);
        }
        // The guesses of what was written go with it: the failures can be seen.
        drop(batch);
        tell(done, written);
    }
}

fn tell(all: impl IntoIterator<Item = Written>, written: &Result<(), LdapResult>) {
    all.into_iter().for_each(|done| done(written.clone()));
}
