//! How other threads speak to an event loop: a list under a lock, and one wake-up for all that is in it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mio::Waker;

use crate::connection::{Accepted, ConnectionAddress};

/// What a loop is told.
pub(crate) enum Mail<M> {
    /// A connection that another loop accepted.
    Accepted(Box<Accepted>),
    /// Something for one connection, which may be gone.
    Connection(ConnectionAddress, M),
    /// Look at the connections, for whoever watches.
    Survey,
    /// Stop: finish what runs, until the given moment at the latest.
    Stop(Instant),
}

/// One loop's mailbox.
pub struct Mailbox<M> {
    mails: Mutex<Vec<Mail<M>>>,
    waker: Waker,
}

impl<M> Mailbox<M> {
    /// An empty one; `waker` wakes its loop.
    pub fn new(waker: Waker) -> Self {
        Self { mails: Mutex::default(), waker }
    }

    /// Tells something to a connection, unless it is gone by then.
    pub fn send(&self, to: ConnectionAddress, mail: M) {
        self.post(Mail::Connection(to, mail));
    }

    pub(crate) fn post(&self, mail: Mail<M>) {
        let mut mails = self.lock();
        let was_empty = mails.is_empty();
        mails.push(mail);
        drop(mails);
        if was_empty {
            // Fails only when the loop is gone, and then no one waits for it.
            let _ = self.waker.wake();
        }
    }

    /// Takes everything, leaving `empty` in its place so that its memory is used again.
    pub(crate) fn take(&self, empty: &mut Vec<Mail<M>>) {
        std::mem::swap(&mut *self.lock(), empty);
    }

    /// What was told to connections and not read yet. For tests, which have no loop.
    pub fn take_sent(&self) -> Vec<(ConnectionAddress, M)> {
        let sent = |mail| if let Mail::Connection(to, mail) = mail { Some((to, mail)) } else { None };
        std::mem::take(&mut *self.lock()).into_iter().filter_map(sent).collect()
    }

    /// The data under the lock is whole at every moment, so a panic elsewhere does not matter.
    fn lock(&self) -> MutexGuard<'_, Vec<Mail<M>>> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> std::fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
