//! Bounded pools of threads for what must not hold up an event loop: long searches and slow password hashes.
//!
//! 1. At most `running_max` jobs use the processor at once; more wait, at most `queue_max` of them; beyond that, the
//!    caller is told at once.
//! 2. A job that waits for a slow client gives its place to another (`waiting`), so slow readers do not use up the pool.
//! 3. Threads are made when needed, at most `threads_max`, and go when idle.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long an idle thread stays.
const IDLE_TIME_MAX: Duration = Duration::from_secs(10);

/// Sizes of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// Jobs that compute at the same time.
    pub running_max: usize,
    /// Jobs that wait for their turn.
    pub queue_max: usize,
    /// Threads, counting those whose job waits for a client.
    pub threads_max: usize,
}

/// What a job is told when it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It runs on a thread of the pool.
    Running,
    /// The queue is full, or the pool has stopped: it is called at once, where it was submitted, only to say so.
    Refused,
}

type Job = Box<dyn FnOnce(Place) + Send>;

/// A pool; clones share it.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    limits: PoolLimits,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    running: usize,
    threads: usize,
    /// Threads that sleep for lack of work, or for lack of a place to run.
    sleeping: usize,
    stopped: bool,
}

impl Pool {
    /// A pool without threads yet.
    pub fn new(name: &'static str, limits: PoolLimits) -> Self {
        Self { shared: Arc::new(Shared { name, limits, state: Mutex::default(), work: Condvar::new() }) }
    }

    /// Queues a job, or refuses it at once. A job must not panic; if it does, only its result is lost.
    pub fn submit(&self, job: impl FnOnce(Place) + Send + 'static) {
        let mut state = self.shared.lock();
        if state.stopped || state.queue.len() >= self.shared.limits.queue_max {
            drop(state);
            job(Place::Refused);
            return;
        }
        state.queue.push_back(Box::new(job));
        self.wake_or_spawn(state);
    }

    /// Runs `wait` (which sleeps) while another job may use this job's place. Call it from within a job.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let mut state = self.shared.lock();
        state.running = state.running.saturating_sub(1);
        self.wake_or_spawn(state);
        let result = wait();
        let mut state = self.shared.lock();
        while state.running >= self.shared.limits.running_max && !state.stopped {
            state.sleeping += 1;
            state = self.shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
        state.running += 1;
        result
    }

    /// Jobs that wait for their turn.
    pub fn backlog(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Takes no more jobs and forgets those that have not begun.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        let forgotten = std::mem::take(&mut state.queue);
        drop(state);
        forgotten.into_iter().for_each(|job| job(Place::Refused));
        self.shared.work.notify_all();
    }

    fn wake_or_spawn(&self, mut state: MutexGuard<'_, State>) {
        if state.queue.is_empty() || state.running >= self.shared.limits.running_max {
            return;
        }
        if state.sleeping > 0 || state.threads >= self.shared.limits.threads_max {
            drop(state);
            // All are woken, because a sleeper may be one that waits for a place and not for a job.
            self.shared.work.notify_all();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.shared);
        let spawned = std::thread::Builder::new().name(self.shared.name.into()).spawn(move || shared.run());
        if spawned.is_err() {
            let mut state = self.shared.lock();
            state.threads -= 1;
            if state.threads == 0 {
                // Nobody would ever run them.
                let refused = std::mem::take(&mut state.queue);
                drop(state);
                refused.into_iter().for_each(|job| job(Place::Refused));
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            let has_place = state.running < self.limits.running_max;
            if let Some(job) = if has_place { state.queue.pop_front() } else { None } {
                state.running += 1;
                drop(state);
                // The job reports its own panics; here it matters only that the pool keeps its count.
                let _ = catch_unwind(AssertUnwindSafe(|| job(Place::Running)));
                state = self.lock();
                state.running -= 1;
                if state.sleeping > 0 {
                    self.work.notify_all();
                }
                continue;
            }
            if state.stopped {
                break;
            }
            state.sleeping += 1;
            let (woken, timeout) = self.work.wait_timeout(state, IDLE_TIME_MAX).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.sleeping -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("name", &self.shared.name).field("limits", &self.shared.limits).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn pool(running_max: usize, queue_max: usize, threads_max: usize) -> Pool {
        Pool::new("test", PoolLimits { running_max, queue_max, threads_max })
    }

    #[test]
    fn all_jobs_run_and_a_panic_harms_nobody() {
        let pool = pool(2, 1000, 2);
        let (sender, receiver) = mpsc::channel();
        for number in 0..100 {
            let sender = sender.clone();
            pool.submit(move |_| {
                if number % 10 == 0 {
                    // Without the noise of the panic hook.
                    std::panic::resume_unwind(Box::new("expected in this test"));
                }
                sender.send(number).unwrap();
            });
        }
        drop(sender);
        let mut done: Vec<i32> = receiver.iter().collect();
        done.sort_unstable();
        assert_eq!(done.len(), 90);
    }

    #[test]
    fn full_queue_is_told_at_once() {
        let pool = pool(1, 1, 1);
        let (start, started) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        pool.submit(move |_| {
            start.send(()).unwrap();
            gate.recv().unwrap();
        });
        started.recv().unwrap();
        let (sender, places) = mpsc::channel();
        let submit = || {
            let sender = sender.clone();
            pool.submit(move |place| sender.send(place).unwrap());
        };
        submit();
        submit();
        assert_eq!(places.recv(), Ok(Place::Refused));
        assert_eq!(pool.backlog(), 1);
        release.send(()).unwrap();
        assert_eq!(places.recv(), Ok(Place::Running));
        pool.stop();
        submit();
        assert_eq!(places.recv(), Ok(Place::Refused));
    }

    #[test]
    fn a_waiting_job_gives_its_place_away() {
        let pool = pool(1, 10, 2);
        let (release, gate) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let (first_pool, first_sender) = (pool.clone(), sender.clone());
        pool.submit(move |_| {
            first_pool.waiting(|| gate.recv().unwrap());
            first_sender.send("first").unwrap();
        });
        pool.submit(move |_| sender.send("second").unwrap());
        // With one place, the second can only end while the first waits.
        assert_eq!(receiver.recv(), Ok("second"));
        release.send(()).unwrap();
        assert_eq!(receiver.recv(), Ok("first"));
    }
}
