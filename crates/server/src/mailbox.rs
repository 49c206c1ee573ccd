//! How other threads speak to an event loop: a list under a lock, and one wake-up for all that is in it.
//!
//! Also the stream of a long search: its chunks, how much of them the client has not taken yet, and whether anybody still
//! wants the rest. Does not know what an operation is.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use directory::WatchWaker;
use mio::Waker;

use crate::{answer::Answer, connection::Accepted};

/// Writes a response into a connection's output; runs on the loop that owns the connection.
pub(crate) type Encode = Box<dyn FnOnce(&mut Vec<u8>) -> Answer + Send>;

/// What a loop is told.
pub(crate) enum Mail {
    /// A connection that another loop accepted.
    Accepted(Box<Accepted>),
    /// Part of the answer to an operation, and where it ends.
    Chunk(Address, Vec<u8>, ChunkEnd),
    /// An operation ended.
    Finished(Address, Encode),
    /// Stop: finish what runs, until the given moment at the latest.
    Stop(Instant),
}

/// Which operation of which connection mail is for. Slots are used again, connection numbers are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) slot: usize,
    pub(crate) connection: u64,
    pub(crate) operation: u64,
}

/// Where a chunk ends. Messages of one connection must not be mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkEnd {
    /// With a message.
    Whole,
    /// Within one: nothing else may be sent before the next chunk of the same operation.
    Within,
}

/// One loop's mailbox.
pub(crate) struct Mailbox {
    mails: Mutex<Vec<Mail>>,
    waker: Waker,
}

impl Mailbox {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { mails: Mutex::default(), waker }
    }

    pub(crate) fn post(&self, mail: Mail) {
        let mut mails = lock(&self.mails);
        let was_empty = mails.is_empty();
        mails.push(mail);
        drop(mails);
        if was_empty {
            // Fails only when the loop is gone, and then nobody waits.
            let _ = self.waker.wake();
        }
    }

    /// Takes everything, leaving `empty` in its place so that its memory is used again.
    pub(crate) fn take(&self, empty: &mut Vec<Mail>) {
        std::mem::swap(&mut *lock(&self.mails), empty);
    }
}

/// A job's way back to the client. Dropped without `finish`, it answers that the operation failed.
pub(crate) struct Remote {
    mailbox: Arc<Mailbox>,
    address: Address,
    stream: Arc<Stream>,
    on_loss: Option<Encode>,
}

impl Remote {
    pub(crate) fn new(mailbox: Arc<Mailbox>, address: Address, stream: Arc<Stream>, on_loss: Encode) -> Self {
        Self { mailbox, address, stream, on_loss: Some(on_loss) }
    }

    /// Sends part of the answer.
    pub(crate) fn chunk(&self, bytes: Vec<u8>, end: ChunkEnd) {
        self.stream.add_unsent(bytes.len());
        self.mailbox.post(Mail::Chunk(self.address, bytes, end));
    }

    /// Ends the operation.
    pub(crate) fn finish(mut self, encode: impl FnOnce(&mut Vec<u8>) -> Answer + Send + 'static) {
        self.on_loss = None;
        self.mailbox.post(Mail::Finished(self.address, Box::new(encode)));
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(encode) = self.on_loss.take() {
            self.mailbox.post(Mail::Finished(self.address, encode));
        }
    }
}

/// Bytes of one operation that may wait for the client before its job sleeps.
const UNSENT_BYTES_MAX: usize = 1024 * 1024;

/// Bytes beyond which a job sleeps even where it would rather not. Large entries come quickly.
const UNSENT_BYTES_LIMIT: usize = 8 * UNSENT_BYTES_MAX;

/// What the loop and the job of a long operation share.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    is_cancelled: AtomicBool,
    unsent_bytes: Mutex<usize>,
    changed: Condvar,
    /// Who wants to be told of changes because it does not sleep here.
    waker: OnceLock<WatchWaker>,
}

impl Stream {
    /// Tells `waker` from now on when there is room again, or nobody wants the rest. Once.
    pub(crate) fn wake_by(&self, waker: WatchWaker) {
        let _ = self.waker.set(waker);
        if self.is_cancelled()
            && let Some(waker) = self.waker.get()
        {
            waker.cancelled();
        }
    }

    /// Nobody wants the answer any more.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        // Under the lock, so that a job between its look and its sleep does not miss it.
        drop(lock(&self.unsent_bytes));
        self.changed.notify_all();
        if let Some(waker) = self.waker.get() {
            waker.cancelled();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// The client took `bytes`.
    pub(crate) fn sent(&self, bytes: usize) {
        let mut unsent = lock(&self.unsent_bytes);
        *unsent = unsent.saturating_sub(bytes);
        drop(unsent);
        self.changed.notify_all();
        if let Some(waker) = self.waker.get() {
            waker.has_room();
        }
    }

    /// Bytes that the client has not taken.
    pub(crate) fn unsent(&self) -> usize {
        *lock(&self.unsent_bytes)
    }

    pub(crate) fn is_full(&self) -> bool {
        *lock(&self.unsent_bytes) >= UNSENT_BYTES_MAX
    }

    pub(crate) fn is_overfull(&self) -> bool {
        *lock(&self.unsent_bytes) >= UNSENT_BYTES_LIMIT
    }

    /// Sleeps until the client has taken half of what waits, or nobody wants the rest, or `time_max` is over.
    pub(crate) fn wait_for_room(&self, time_max: Duration) {
        let until = Instant::now() + time_max;
        let mut unsent = lock(&self.unsent_bytes);
        while *unsent > UNSENT_BYTES_MAX / 2 && !self.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            unsent = self.changed.wait_timeout(unsent, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn add_unsent(&self, bytes: usize) {
        *lock(&self.unsent_bytes) += bytes;
    }
}

/// The data under these locks is whole at every moment, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox() -> (mio::Poll, Arc<Mailbox>) {
        let poll = mio::Poll::new().unwrap();
        let waker = Waker::new(poll.registry(), mio::Token(0)).unwrap();
        (poll, Arc::new(Mailbox::new(waker)))
    }

    const ADDRESS: Address = Address { slot: 1, connection: 2, operation: 3 };

    #[test]
    fn a_lost_job_is_answered() {
        let (_poll, mailbox) = mailbox();
        let failed = |out: &mut Vec<u8>| {
            out.push(80);
            Answer::default()
        };
        drop(Remote::new(Arc::clone(&mailbox), ADDRESS, Arc::default(), Box::new(failed)));
        let kept = Remote::new(Arc::clone(&mailbox), ADDRESS, Arc::default(), Box::new(failed));
        kept.finish(|out| {
            out.push(0);
            Answer::default()
        });
        let mut mails = Vec::new();
        mailbox.take(&mut mails);
        let mut out = Vec::new();
        for mail in mails {
            let Mail::Finished(ADDRESS, encode) = mail else { panic!("unexpected mail") };
            encode(&mut out);
        }
        assert_eq!(out, [80, 0]);
    }

    #[test]
    fn a_stream_sleeps_when_full_and_wakes_when_read_or_cancelled() {
        let (_poll, mailbox) = mailbox();
        let stream = Arc::new(Stream::default());
        let remote = Remote::new(mailbox, ADDRESS, Arc::clone(&stream), Box::new(|_| Answer::default()));
        remote.chunk(vec![0; UNSENT_BYTES_MAX - 1], ChunkEnd::Whole);
        assert!(!stream.is_full());
        remote.chunk(vec![0; 1], ChunkEnd::Whole);
        assert!(stream.is_full());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| stream.wait_for_room(Duration::from_secs(60)));
            stream.sent(UNSENT_BYTES_MAX / 2);
            waiter.join().unwrap();
            remote.chunk(vec![0; UNSENT_BYTES_MAX], ChunkEnd::Whole);
            let waiter = scope.spawn(|| stream.wait_for_room(Duration::from_secs(60)));
            stream.cancel();
            waiter.join().unwrap();
        });
        assert!(stream.is_cancelled());
    }
}
