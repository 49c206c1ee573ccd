//! What the thread of the watches and everybody else share.
//!
//! Knows no directory.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ldap::LdapResult;

use super::output::Wake;
use super::permit::WatchCounts;
use super::told::Watch;

/// See the module.
#[derive(Debug)]
pub(super) struct Shared {
    pub counts: Arc<WatchCounts>,
    /// Held for moments only, because writers take it.
    pub state: Mutex<State>,
    pub changed: Condvar,
    /// For `cn=monitor`: what each watch is.
    pub named: Mutex<BTreeMap<u64, String>>,
    pub thread: Mutex<Option<JoinHandle<()>>>,
}

/// What is news to the thread.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Not known to the thread yet.
    pub arrived: Vec<Watch>,
    /// Their clients may have taken something, or do not want more.
    pub woken: Vec<u64>,
    /// Something may have been changed.
    pub has_changes: bool,
    /// Why all have to end, and those that come.
    pub ending: Option<LdapResult>,
    pub next_id: u64,
}

impl Shared {
    /// No watch yet. `most`: `max-psearches`.
    pub fn new(most: Option<u64>) -> Shared {
        Shared {
            counts: Arc::new(WatchCounts::new(most)),
            state: Mutex::default(),
            changed: Condvar::new(),
            named: Mutex::default(),
            thread: Mutex::default(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Something may have been changed. Called by writers: two moves and no wait.
    pub fn note_changes(&self) {
        let was_known = std::mem::replace(&mut self.lock().has_changes, true);
        if !was_known {
            self.changed.notify_all();
        }
    }
}

impl Wake for Shared {
    fn wake(&self, id: u64) {
        self.lock().woken.push(id);
        self.changed.notify_all();
    }
}

/// What is under these locks is whole at every moment, so a panic elsewhere does not matter.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
