//! Calls at a given time, on a thread of its own.
//!
//! Knows times and calls; not what they are for. A call must be quick.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// What is done when it is time.
pub(crate) type Call = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Default)]
pub(crate) struct Timer {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Another call is the first one, or it ends.
    wake: Condvar,
}

#[derive(Default)]
struct Waiting {
    calls: BinaryHeap<Reverse<Due>>,
    numbers: u64,
    thread: Option<JoinHandle<()>>,
    ends: bool,
}

struct Due {
    at: Instant,
    /// Of two at the same time, the one that came first is called first.
    number: u64,
    call: Call,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl Timer {
    /// Has something done at that time; here and now when that has come, or no thread can be started.
    pub(crate) fn at(&self, at: Instant, call: Call) {
        if at <= Instant::now() {
            return call();
        }
        self.push(at, call);
    }

    /// Has something done soon, on the timer's thread.
    pub(crate) fn soon(&self, call: Call) {
        self.push(Instant::now(), call);
    }

    fn push(&self, at: Instant, call: Call) {
        let mut waiting = self.shared.lock();
        if !waiting.ends && waiting.thread.is_none() {
            let own = Arc::clone(&self.shared);
            waiting.thread = std::thread::Builder::new().name("timer".to_owned()).spawn(move || own.run()).ok();
        }
        if waiting.ends || waiting.thread.is_none() {
            drop(waiting);
            return call();
        }
        let number = waiting.numbers;
        waiting.numbers += 1;
        waiting.calls.push(Reverse(Due { at, number, call }));
        let is_first = waiting.calls.peek().is_some_and(|Reverse(first)| first.number == number);
        drop(waiting);
        if is_first {
            self.shared.wake.notify_one();
        }
    }

    /// Does at once what waits, and ends the thread.
    pub(crate) fn close(&self) {
        let thread = {
            let mut waiting = self.shared.lock();
            waiting.ends = true;
            waiting.thread.take()
        };
        self.shared.wake.notify_one();
        // A call may be what drops the owner of the timer.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            let next = waiting.calls.peek().map(|Reverse(due)| due.at);
            match next {
                Some(at) if at <= now || waiting.ends => {
                    let due = waiting.calls.pop();
                    drop(waiting);
                    if let Some(Reverse(due)) = due {
                        // A call that panics must not end the others.
                        let _ = catch_unwind(AssertUnwindSafe(due.call));
                    }
                    waiting = self.lock();
                }
                None if waiting.ends => return,
                Some(at) => {
                    let time = at.saturating_duration_since(now);
                    waiting = self.wake.wait_timeout(waiting, time).unwrap_or_else(PoisonError::into_inner).0;
                }
                None => waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_come_in_the_order_of_their_times() {
        let (timer, (sender, called)) = (Timer::default(), channel());
        let begun = Instant::now();
        for (name, ms) in [("third", 60), ("first", 20), ("second", 40), ("at once", 0)] {
            let sender = sender.clone();
            timer.at(begun + Duration::from_millis(ms), Box::new(move || sender.send(name).unwrap()));
        }
        drop(sender);
        assert_eq!(called.iter().collect::<Vec<_>>(), ["at once", "first", "second", "third"]);
        assert!(begun.elapsed() >= Duration::from_millis(60));
    }

    #[test]
    fn what_waits_is_done_at_the_end() {
        let (timer, (sender, called)) = (Timer::default(), channel());
        let later = Instant::now() + Duration::from_secs(3_600);
        timer.at(later, Box::new(|| panic!("its caller's fault")));
        timer.at(later, Box::new(move || sender.send(()).unwrap()));
        drop(timer);
        assert_eq!(called.recv(), Ok(()));
    }
}
