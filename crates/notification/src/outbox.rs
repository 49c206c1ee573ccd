//! Messages that wait to be sent, and the thread that sends them.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::message::Message;

/// Messages that wait at most; further ones are dropped and counted.
pub const QUEUE_MAX: usize = 10_000;

/// A way to send messages.
pub trait Sender: Send + 'static {
    /// Sends one; blocks for as long as that takes.
    ///
    /// # Errors
    /// When it is not sent.
    fn send(&self, message: &Message) -> Result<(), SendFault>;
}

/// Why a message is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SendFault {
    /// What is wrong.
    pub problem: String,
    /// Whether another try may succeed.
    pub may_pass: bool,
}

/// What became of the messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent.
    pub sent: u64,
    /// Given up after all tries.
    pub failed: u64,
    /// Not taken, because the queue was full or the server stopped.
    pub dropped: u64,
    /// Waiting.
    pub waiting: usize,
}

/// See the module.
pub struct Outbox {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    is_stopping: bool,
}

impl Outbox {
    /// Starts the thread. A message that is not sent is tried again after each of `pauses`; `report` is told of one
    /// that is given up.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        name: &str,
        sender: impl Sender,
        pauses: &'static [Duration],
        report: impl Fn(&Message, &SendFault) + Send + 'static,
    ) -> io::Result<Outbox> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(message) = own.next() {
                match own.send(&sender, &message, pauses) {
                    Ok(()) => own.sent.fetch_add(1, Ordering::Relaxed),
                    Err(fault) => {
                        report(&message, &fault);
                        own.failed.fetch_add(1, Ordering::Relaxed)
                    }
                };
            }
        })?;
        Ok(Outbox { shared, thread: Some(thread) })
    }

    /// Takes a message; false when too many wait already.
    pub fn offer(&self, message: Message) -> bool {
        let mut queue = self.shared.queue();
        let has_room = queue.messages.len() < QUEUE_MAX;
        if has_room {
            queue.messages.push_back(message);
            self.shared.changed.notify_all();
        } else {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// What became of the messages so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let shared = &self.shared;
        let waiting = shared.queue().messages.len();
        Counts { sent: of(&shared.sent), failed: of(&shared.failed), dropped: of(&shared.dropped), waiting }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message; none when it is time to stop.
    fn next(&self) -> Option<Message> {
        let queue = self.queue();
        let waits = |queue: &mut Queue| queue.messages.is_empty() && !queue.is_stopping;
        let mut queue = self.changed.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner);
        if queue.is_stopping { None } else { queue.messages.pop_front() }
    }

    fn send(&self, sender: &impl Sender, message: &Message, pauses: &[Duration]) -> Result<(), SendFault> {
        let mut pauses = pauses.iter();
        loop {
            match sender.send(message) {
                Err(fault) if fault.may_pass => match pauses.next() {
                    Some(pause) if !self.stops_within(*pause) => {}
                    _ => return Err(fault),
                },
                other => return other,
            }
        }
    }

    /// Waits so long; true at once when it is time to stop.
    fn stops_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut queue = self.queue();
        while !queue.is_stopping {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Outbox {
    /// Ends the thread after the message that is being sent. Those that wait are dropped.
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.is_stopping = true;
        let waiting = queue.messages.len() as u64;
        drop(queue);
        self.shared.dropped.fetch_add(waiting, Ordering::Relaxed);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}
