//! What a client has not taken yet of a long answer that another thread makes, and whether anybody still wants the
//! rest.
//!
//! Shared by the loop, which sends, and the job, which sleeps while too much waits. Knows numbers of bytes, not the
//! bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of one operation that may wait for the client before its job sleeps.
pub const UNSENT_BYTES_MAX: usize = 1024 * 1024;

/// Bytes beyond which a job sleeps even where it would rather not. Large entries come quickly.
const UNSENT_BYTES_LIMIT: usize = 8 * UNSENT_BYTES_MAX;

/// Who wants to be told of changes because it does not sleep here.
pub trait Wake: Send + Sync {
    /// The client took something.
    fn has_room(&self);

    /// The client does not want the rest.
    fn cancelled(&self);
}

/// See the module.
#[derive(Default)]
pub struct Backlog {
    is_cancelled: AtomicBool,
    unsent_bytes: Mutex<usize>,
    changed: Condvar,
    waker: OnceLock<Box<dyn Wake>>,
}

impl Backlog {
    /// Tells `waker` from now on when there is room again, or the rest is not wanted. Once.
    pub fn wake_by(&self, waker: Box<dyn Wake>) {
        let _ = self.waker.set(waker);
        if self.is_cancelled()
            && let Some(waker) = self.waker.get()
        {
            waker.cancelled();
        }
    }

    /// The answer is not wanted any more.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        // Under the lock, so that a job between its look and its sleep does not miss it.
        drop(self.lock());
        self.changed.notify_all();
        if let Some(waker) = self.waker.get() {
            waker.cancelled();
        }
    }

    /// Whether the answer is not wanted any more.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// More bytes wait for the client.
    pub fn add(&self, bytes: usize) {
        *self.lock() += bytes;
    }

    /// The client took `bytes`.
    pub fn sent(&self, bytes: usize) {
        let mut unsent = self.lock();
        *unsent = unsent.saturating_sub(bytes);
        drop(unsent);
        self.changed.notify_all();
        if let Some(waker) = self.waker.get() {
            waker.has_room();
        }
    }

    /// Bytes that the client has not taken.
    pub fn unsent(&self) -> usize {
        *self.lock()
    }

    /// Whether a job that can wait should.
    pub fn is_full(&self) -> bool {
        *self.lock() >= UNSENT_BYTES_MAX
    }

    /// Whether every job must wait.
    pub fn is_overfull(&self) -> bool {
        *self.lock() >= UNSENT_BYTES_LIMIT
    }

    /// Sleeps until the client has taken half of what waits, or the rest is not wanted, or `time_max` is over.
    pub fn wait_for_room(&self, time_max: Duration) {
        let until = Instant::now() + time_max;
        let mut unsent = self.lock();
        while *unsent > UNSENT_BYTES_MAX / 2 && !self.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            unsent = self.changed.wait_timeout(unsent, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The number under the lock is right at every moment, so a panic elsewhere does not matter.
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.unsent_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Backlog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (unsent, is_cancelled) = (self.unsent(), self.is_cancelled());
        f.debug_struct("Backlog").field("unsent", &unsent).field("is_cancelled", &is_cancelled).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_sleeps_when_full_and_wakes_when_read_or_cancelled() {
        let backlog = Backlog::default();
        backlog.add(UNSENT_BYTES_MAX - 1);
        assert!(!backlog.is_full());
        backlog.add(1);
        assert!(backlog.is_full());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| backlog.wait_for_room(Duration::from_secs(60)));
            backlog.sent(UNSENT_BYTES_MAX / 2);
            waiter.join().unwrap();
            backlog.add(UNSENT_BYTES_MAX);
            let waiter = scope.spawn(|| backlog.wait_for_room(Duration::from_secs(60)));
            backlog.cancel();
            waiter.join().unwrap();
        });
        assert!(backlog.is_cancelled());
    }
}
