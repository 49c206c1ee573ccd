//! Persistent searches (draft-ietf-ldapext-psearch-03): changes told as they come, served from the history of changes.
//!
//! A search that has shown what there is becomes a `Watch`: a prepared filter, a selection of attributes, and for each backend
//! the last change that it knows of. One thread follows the changes for all of them; it is started with the first and sleeps while
//! nothing is changed. Nothing is queued for a client that does not read: its watch stays behind in the history and goes on
//! from there, or ends when the history does not go back that far any more. So memory is bounded by the number of watches, and no
//! update waits for anybody.
//!
//! | file | what |
//! |---|---|
//! | `output` | what is seen of a client |
//! | `event` | changes, with the entries before and after each |
//! | `state` | an entry to which changes are done, or taken back |
//! | `told` | one watch: which changes it is told, and how |
//! | `follow` | the thread |
//!
//! Knows no sockets.

mod event;
mod follow;
mod output;
mod state;
mod told;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ldap::{LdapResult, ResultCode};

pub use output::{WatchOutput, WatchWaker};

use crate::directory::Directory;
use crate::search::{SearchDone, SearchPlan};
use query::monitor_entry::MonitorEntry;
use told::Watch;

/// Watches that `cn=monitor` names one by one; the others are only counted.
const NAMED_MAX: usize = 1_000;

/// The persistent searches of a directory.
#[derive(Debug)]
pub(crate) struct Watches {
    shared: Arc<Shared>,
}

/// The right to be one of `max-psearches`; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Shared>);

/// What the thread and everybody else share.
#[derive(Debug)]
struct Shared {
    /// `max-psearches`
    most: Option<u64>,
    admitted: AtomicU64,
    /// The most that there were at once.
    admitted_peak: AtomicU64,
    /// Entries sent because of changes.
    told: AtomicU64,
    /// Ended because the history did not go back far enough.
    dropped: AtomicU64,
    /// Held for moments only, because writers take it.
    state: Mutex<State>,
    changed: Condvar,
    /// For `cn=monitor`: what each watch is.
    named: Mutex<BTreeMap<u64, String>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Not known to the thread yet.
    arrived: Vec<Watch>,
    /// Their clients may have taken something, or do not want more.
    woken: Vec<u64>,
    /// Something may have been changed.
    has_changes: bool,
    /// Why all have to end, and those that come.
    ending: Option<LdapResult>,
    next_id: u64,
}

impl Watches {
    /// None yet. `most`: `max-psearches`.
    pub fn new(most: Option<u64>) -> Watches {
        Watches {
            shared: Arc::new(Shared {
                most,
                admitted: AtomicU64::new(0),
                admitted_peak: AtomicU64::new(0),
                told: AtomicU64::new(0),
                dropped: AtomicU64::new(0),
                state: Mutex::default(),
                changed: Condvar::new(),
                named: Mutex::default(),
                thread: Mutex::default(),
            }),
        }
    }

    /// Makes room for one more.
    ///
    /// # Errors
    /// `adminLimitExceeded`, as in OpenDJ.
    pub fn admit(&self) -> Result<Permit, LdapResult> {
        let shared = &self.shared;
        let most = shared.most.unwrap_or(u64::MAX);
        let admitted = shared.admitted.fetch_add(1, Ordering::Relaxed) + 1;
        let permit = Permit(Arc::clone(shared));
        if admitted > most {
            let message = format!(
                "There are as many persistent searches as max-psearches ({most}) allows: end one, or ask for the limit to be raised"
            );
            return Err(LdapResult::new(ResultCode::ADMIN_LIMIT_EXCEEDED, message));
        }
        shared.admitted_peak.fetch_max(admitted, Ordering::Relaxed);
        Ok(permit)
    }

    /// Ends all, those that are still to come, too.
    pub fn end(&self, result: LdapResult) {
        self.shared.lock().ending.get_or_insert(result);
        self.shared.changed.notify_all();
    }

    /// Ends all and waits for the thread. Not to be called by it.
    pub fn stop(&self) {
        self.end(LdapResult::new(ResultCode::UNAVAILABLE, STOPPING));
        let thread = lock(&self.shared.thread).take();
        if let Some(thread) = thread {
            // A panic was told by the thread itself.
            let _ = thread.join();
        }
    }

    /// What there is to tell of them.
    pub fn monitor_entry(&self) -> MonitorEntry {
        let shared = &self.shared;
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut entry = MonitorEntry::new("Persistent Searches")
            .with("currentPersistentSearches", count(&shared.admitted))
            .with("maxPersistentSearches", count(&shared.admitted_peak))
            .with("persistentSearchEntries", count(&shared.told))
            .with("persistentSearchesDropped", count(&shared.dropped));
        let named: Vec<String> = lock(&shared.named).values().take(NAMED_MAX).cloned().collect();
        if !named.is_empty() {
            entry.attributes.push(("persistentSearch".to_owned(), named));
        }
        entry
    }
}

const STOPPING: &str = "The server is stopping";

impl Drop for Watches {
    fn drop(&mut self) {
        // The thread may be the one that drops the directory: it is not waited for.
        self.end(LdapResult::new(ResultCode::UNAVAILABLE, STOPPING));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.admitted.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A client has room, or does not want more.
    fn wake(&self, id: u64) {
        self.lock().woken.push(id);
        self.changed.notify_all();
    }

    /// Something may have been changed. Called by writers: two moves and no wait.
    fn note_changes(&self) {
        let was_known = std::mem::replace(&mut self.lock().has_changes, true);
        if !was_known {
            self.changed.notify_all();
        }
    }
}

/// What is under these locks is whole at every moment, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Directory {
    /// Tells changes to a persistent search whose first part is over, until it ends: `done` is how far it came.
    pub fn watch(self: &Arc<Self>, mut plan: Box<SearchPlan>, done: SearchDone, mut output: Box<dyn WatchOutput>) {
        plan.end_first_part();
        let Some(persistent) = plan.take_persistent() else { return output.finish(done) };
        let shared = &self.watches.shared;
        let mut state = shared.lock();
        if let Some(result) = state.ending.clone() {
            drop(state);
            return output.finish(SearchDone { result, ..done });
        }
        let id = state.next_id;
        state.next_id += 1;
        drop(state);
        // Not under the lock: who is cancelled already calls at once.
        let waker = WatchWaker::new(Arc::clone(shared), id);
        output.wake_by(waker.clone());
        let watch = Watch::new(id, plan, persistent, done, output, waker);
        lock(&shared.named).insert(id, watch.to_string());
        shared.lock().arrived.push(watch);
        if let Err(error) = self.start_watches() {
            let message = format!("The server has no thread to follow changes with: {error}");
            let arrived = std::mem::take(&mut shared.lock().arrived);
            for watch in arrived {
                lock(&shared.named).remove(&watch.id);
                watch.end(LdapResult::new(ResultCode::UNAVAILABLE, message.clone()));
            }
        }
        shared.changed.notify_all();
    }

    /// Starts the thread unless it runs.
    fn start_watches(self: &Arc<Self>) -> std::io::Result<()> {
        let shared = &self.watches.shared;
        let mut thread = lock(&shared.thread);
        if thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let (shared, directory) = (Arc::clone(shared), Arc::downgrade(self));
            let follow = move || follow::follow(&shared, &directory);
            *thread = Some(std::thread::Builder::new().name("watches".to_owned()).spawn(follow)?);
        }
        Ok(())
    }

    /// Ends all persistent searches, because the server stops.
    pub fn end_watches(&self) {
        self.watches.end(LdapResult::new(ResultCode::UNAVAILABLE, STOPPING));
    }
}
