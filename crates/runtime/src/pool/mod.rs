//! Bounded pools of threads for what must not hold up an event loop: long searches and slow password hashes.
//!
//! 1. At most `running_max` jobs use the processor at once; more wait, at most `queue_max` of them; beyond that, the
//!    caller is told at once.
//! 2. A job that takes long gives its place to others after each turn ([`Turn::is_over`]); in which order, `turns`
//!    says. One that waits for a slow client has no place ([`Turn::wait`]), so slow readers do not use up the pool.
//! 3. Threads are made when needed, at most `threads_max`, and go when idle. A begun job keeps its thread while it
//!    waits: when all threads have one, new jobs wait for an end.
//! 4. A pool whose jobs take long may say instead how long a job waits at most ([`PoolLimits::wait_max`]): how many may
//!    wait follows from how long jobs took of late. Reserved jobs have a queue of their own.
//! 5. The threads yield to event loops: they run with a higher nice value, and let others have the processor many times
//!    in a turn.

mod load;
mod turns;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use load::Load;
pub use load::PoolCounts;
use turns::{Next, PlaceKind, Turns};

/// How long an idle thread stays.
const IDLE_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a job keeps its place while others wait. A switch costs some 20 µs; a person waits for ten turns without
/// noticing.
pub const TURN: Duration = Duration::from_millis(5);

/// Sizes of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// Jobs that compute at the same time.
    pub running_max: usize,
    /// Jobs that wait to begin.
    pub queue_max: usize,
    /// How long a job may have to wait to begin, reckoned from how long jobs took of late; fewer than `queue_max` may
    /// wait for that.
    pub wait_max: Option<Duration>,
    /// Threads, counting those whose job waits for a client or for its next turn.
    pub threads_max: usize,
    /// How long a turn is.
    pub turn: Duration,
    /// By how much the threads' nice value is above that of the event loops; the greater, the more they yield.
    pub niceness: i32,
}

/// What a job is told when it is called.
#[derive(Debug)]
pub enum Admission<'t> {
    /// It runs on a thread of the pool.
    Running(&'t mut Turn),
    /// The queue is full, or the pool has stopped: it is called at once, where it was submitted, only to say so.
    Refused,
}

/// Reserved jobs that wait, for each place; further ones wait with the others. Whoever can pretend to be somebody for
/// whom there is a reserve must not get all places.
const RESERVED_PER_PLACE: usize = 32;

type Job = Box<dyn FnOnce(Admission<'_>) + Send>;

/// A pool; clones share it.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

/// A job's right to use the processor.
pub struct Turn {
    shared: Arc<Shared>,
    kind: PlaceKind,
    until: Instant,
    /// Time without a place while it wanted one.
    waited: Duration,
}

struct Shared {
    name: &'static str,
    limits: PoolLimits,
    state: Mutex<State>,
    /// Something is in `assigned`, or the pool stops.
    work: Condvar,
}

struct State {
    turns: Turns<Queued, Arc<Ticket>>,
    load: Load,
    /// New jobs that have a place, for whichever thread takes them.
    assigned: VecDeque<Queued>,
    threads: usize,
    /// Threads without a job, counting those that are being made.
    idle: usize,
    stopped: bool,
}

/// A job and since when it waits.
struct Queued {
    job: Job,
    since: Instant,
}

/// A begun job that waits for its place.
struct Ticket {
    thread: Thread,
    is_granted: AtomicBool,
}

impl Pool {
    /// A pool without threads yet.
    pub fn new(name: &'static str, limits: PoolLimits) -> Self {
        let state = State {
            turns: Turns::new(limits.running_max),
            load: Load::default(),
            assigned: VecDeque::new(),
            threads: 0,
            idle: 0,
            stopped: false,
        };
        Self { shared: Arc::new(Shared { name, limits, state: Mutex::new(state), work: Condvar::new() }) }
    }

    /// Queues a job, or refuses it at once. A job must not panic; if it does, only its result is lost.
    pub fn submit(&self, job: impl FnOnce(Admission<'_>) + Send + 'static) {
        self.queue(Box::new(job), false);
    }

    /// Queues a job that is not refused because of others that wait: [`submit`](Pool::submit) otherwise. For those who
    /// mend a server that is overwhelmed.
    pub fn submit_reserved(&self, job: impl FnOnce(Admission<'_>) + Send + 'static) {
        self.queue(Box::new(job), true);
    }

    fn queue(&self, job: Job, is_reserved: bool) {
        let shared = &self.shared;
        let mut state = shared.lock();
        let mut job = Queued { job, since: Instant::now() };
        let (places, limits) = (shared.limits.running_max.max(1), &shared.limits);
        let refused = 'queued: {
            if state.stopped {
                break 'queued Some(job);
            }
            if is_reserved {
                match state.turns.push_reserved(job, places * RESERVED_PER_PLACE) {
                    Ok(()) => break 'queued None,
                    Err(given_back) => job = given_back,
                }
            }
            let queue_max = limits.wait_max.map_or(limits.queue_max, |wait| {
                state.load.jobs_in(wait, places).map_or(limits.queue_max, |jobs| jobs.min(limits.queue_max))
            });
            state.turns.push_new(job, queue_max).err()
        };
        match refused {
            None => shared.give_places(state),
            Some(refused) => {
                state.load.refused();
                drop(state);
                (refused.job)(Admission::Refused);
            }
        }
    }

    /// What the pool did, for `cn=monitor`.
    pub fn counts(&self) -> PoolCounts {
        self.shared.lock().load.counts(Instant::now())
    }

    /// Jobs that wait to begin.
    pub fn backlog(&self) -> usize {
        self.shared.lock().turns.waiting_new()
    }

    /// Jobs that have begun and wait for their next turn. Those that wait for a client are not among them.
    pub fn between_turns(&self) -> usize {
        self.shared.lock().turns.waiting_begun()
    }

    /// Takes no more jobs and forgets those that have not begun. The others may run to their end, all at once.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        let (mut forgotten, begun) = state.turns.take_all();
        forgotten.extend(std::mem::take(&mut state.assigned));
        drop(state);
        begun.iter().for_each(|ticket| ticket.grant());
        forgotten.into_iter().for_each(|queued| (queued.job)(Admission::Refused));
        self.shared.work.notify_all();
    }
}

impl Turn {
    /// Whether the job should [`give_way`](Turn::give_way) now. Meant to be asked often: it also lets an event loop
    /// that waits for this core go first.
    pub fn is_over(&mut self) -> bool {
        std::thread::yield_now();
        let now = Instant::now();
        if now < self.until {
            return false;
        }
        let mut state = self.shared.lock();
        if !state.stopped && !state.turns.may_go_on(self.kind) {
            return true;
        }
        if !state.stopped {
            self.kind = PlaceKind::Begun;
        }
        self.until = now + self.shared.limits.turn;
        false
    }

    /// Lets others have the place, and comes back when it is this job's turn again.
    pub fn give_way(&mut self) {
        self.wait(|| ());
    }

    /// Runs `wait`, which sleeps, without keeping the place; comes back when it is this job's turn again.
    pub fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let mut state = self.shared.lock();
        state.turns.end(self.kind);
        self.shared.give_places(state);
        let result = wait();
        let ticket = Arc::new(Ticket { thread: std::thread::current(), is_granted: AtomicBool::new(false) });
        let mut state = self.shared.lock();
        if !state.stopped {
            state.turns.push_begun(Arc::clone(&ticket));
            self.shared.give_places(state);
            let since = Instant::now();
            ticket.wait();
            self.waited += since.elapsed();
        }
        self.kind = PlaceKind::Begun;
        self.until = Instant::now() + self.shared.limits.turn;
        result
    }

    /// How long the job has waited for its place, not counting what it waited for by itself.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl Ticket {
    fn grant(&self) {
        self.is_granted.store(true, Ordering::Release);
        self.thread.unpark();
    }

    fn wait(&self) {
        while !self.is_granted.load(Ordering::Acquire) {
            std::thread::park();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives all free places to those who wait, and makes the threads that are needed for it.
    fn give_places(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let threads_needed = self.assign(&mut state);
        drop(state);
        for _ in 0..threads_needed {
            self.make_thread();
        }
    }

    /// Gives all free places to those who wait; returns how many threads have to be made.
    fn assign(&self, state: &mut State) -> usize {
        let mut threads_needed = 0;
        loop {
            let has_idle = state.idle > state.assigned.len();
            match state.turns.next(has_idle || state.threads < self.limits.threads_max) {
                None => return threads_needed,
                Some(Next::Begun(ticket)) => ticket.grant(),
                Some(Next::New(job)) => {
                    state.assigned.push_back(job);
                    if has_idle {
                        self.work.notify_one();
                    } else {
                        state.threads += 1;
                        state.idle += 1;
                        threads_needed += 1;
                    }
                }
            }
        }
    }

    fn make_thread(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let spawned = std::thread::Builder::new().name(self.name.into()).spawn(move || {
            // Without it the pool is less polite, and works all the same.
            let _ = crate::sys::lower_thread_priority(shared.limits.niceness);
            shared.run();
        });
        if spawned.is_ok() {
            return;
        }
        let mut state = self.lock();
        state.threads -= 1;
        state.idle -= 1;
        let mut refused = VecDeque::new();
        if state.assigned.len() > state.idle {
            refused.extend(state.assigned.pop_back());
            state.turns.end(PlaceKind::New);
        }
        if state.threads == 0 {
            // Nobody would ever run them; without threads, nobody has begun.
            refused.extend(state.turns.take_all().0);
        }
        drop(state);
        refused.into_iter().for_each(|queued| (queued.job)(Admission::Refused));
    }

    fn run(self: Arc<Self>) {
        let mut state = self.lock();
        loop {
            if let Some(Queued { job, since }) = state.assigned.pop_front() {
                state.idle -= 1;
                drop(state);
                let begun = Instant::now();
                let until = begun + self.limits.turn;
                let (shared, waited) = (Arc::clone(&self), Duration::ZERO);
                let mut turn = Turn { shared, kind: PlaceKind::New, until, waited };
                // The job reports its own panics; here it matters only that the pool keeps its count.
                let _ = catch_unwind(AssertUnwindSafe(|| job(Admission::Running(&mut turn))));
                let ended = Instant::now();
                state = self.lock();
                state.load.ended(begun - since, ended - begun, ended);
                state.turns.end(turn.kind);
                state.idle += 1;
                let threads_needed = self.assign(&mut state);
                if threads_needed > 0 {
                    drop(state);
                    (0..threads_needed).for_each(|_| self.make_thread());
                    state = self.lock();
                }
                continue;
            }
            if state.stopped {
                break;
            }
            let (woken, timeout) = self.work.wait_timeout(state, IDLE_TIME_MAX).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.assigned.is_empty() {
                break;
            }
        }
        state.idle -= 1;
        state.threads -= 1;
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("name", &self.shared.name).field("limits", &self.shared.limits).finish()
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("pool", &self.shared.name).field("kind", &self.kind).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn pool(running_max: usize, queue_max: usize, threads_max: usize) -> Pool {
        // Turns are over at once, so that only the order counts and not the time.
        let turn = Duration::ZERO;
        Pool::new("test", PoolLimits { running_max, queue_max, wait_max: None, threads_max, turn, niceness: 0 })
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
            pool.submit(move |admission| sender.send(matches!(admission, Admission::Refused)).unwrap());
        };
        submit();
        submit();
        assert_eq!(places.recv(), Ok(true));
        assert_eq!(pool.backlog(), 1);
        release.send(()).unwrap();
        assert_eq!(places.recv(), Ok(false));
        pool.stop();
        submit();
        assert_eq!(places.recv(), Ok(true));
    }

    #[test]
    fn a_waiting_job_gives_its_place_away() {
        let pool = pool(1, 10, 2);
        let (release, gate) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let first_sender = sender.clone();
        pool.submit(move |admission| {
            let Admission::Running(turn) = admission else { return };
            turn.wait(|| gate.recv().unwrap());
            first_sender.send("first").unwrap();
        });
        pool.submit(move |_| sender.send("second").unwrap());
        // With one place, the second can only end while the first waits.
        assert_eq!(receiver.recv(), Ok("second"));
        release.send(()).unwrap();
        assert_eq!(receiver.recv(), Ok("first"));
    }

    /// Twenty jobs that would never end, and a short one: it ends, because they give way.
    #[test]
    fn short_jobs_end_beside_endless_ones() {
        for places in [1, 2, 3] {
            let pool = pool(places, 100, 64);
            let is_enough = Arc::new(AtomicBool::new(false));
            let (sender, receiver) = mpsc::channel();
            for _ in 0..20 {
                let (is_enough, sender) = (Arc::clone(&is_enough), sender.clone());
                pool.submit(move |admission| {
                    let Admission::Running(turn) = admission else { return };
                    sender.send("begun").unwrap();
                    while !is_enough.load(Ordering::Acquire) {
                        if turn.is_over() {
                            turn.give_way();
                        }
                    }
                    sender.send("ended").unwrap();
                });
            }
            // All of them have begun, though there are fewer places.
            assert!((0..20).all(|_| receiver.recv() == Ok("begun")));
            for _ in 0..10 {
                let sender = sender.clone();
                pool.submit(move |_| sender.send("short").unwrap());
                assert_eq!(receiver.recv(), Ok("short"));
            }
            is_enough.store(true, Ordering::Release);
            drop(sender);
            assert_eq!(receiver.iter().filter(|word| *word == "ended").count(), 20);
        }
    }

    /// Takes the only place of a pool until something is sent.
    fn occupy(pool: &Pool) -> mpsc::Sender<()> {
        let (go_on, wait) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        pool.submit(move |_| {
            begun.send(()).unwrap();
            let _ = wait.recv();
        });
        has_begun.recv().unwrap();
        go_on
    }

    fn wait_for_end(pool: &Pool, jobs: u64) {
        while pool.counts().ended < jobs {
            std::thread::yield_now();
        }
    }

    #[test]
    fn reserved_jobs_are_not_refused_because_of_others() {
        let limits = PoolLimits {
            running_max: 1,
            queue_max: 2,
            wait_max: None,
            threads_max: 1,
            turn: Duration::ZERO,
            niceness: 0,
        };
        let pool = Pool::new("test", limits);
        let go_on = occupy(&pool);
        let (sender, receiver) = mpsc::channel();
        let job = |name: &'static str| {
            let sender = sender.clone();
            move |admission: Admission<'_>| {
                sender.send((name, matches!(admission, Admission::Running(_)))).unwrap();
            }
        };
        for name in ["one", "two", "three"] {
            pool.submit(job(name));
        }
        assert_eq!(receiver.try_recv(), Ok(("three", false)));
        pool.submit_reserved(job("administrator"));
        assert!(receiver.try_recv().is_err(), "it waits");
        go_on.send(()).unwrap();
        let order: Vec<_> = (0..3).map(|_| receiver.recv().unwrap()).collect();
        assert_eq!(order, [("administrator", true), ("one", true), ("two", true)]);
        assert_eq!(pool.counts().refused, 1);
    }

    #[test]
    fn slow_jobs_make_the_queue_short() {
        let limits = PoolLimits {
            running_max: 1,
            queue_max: 100,
            wait_max: Some(Duration::from_millis(1)),
            threads_max: 1,
            turn: Duration::ZERO,
            niceness: 0,
        };
        let pool = Pool::new("test", limits);
        let go_on = occupy(&pool);
        let refused = Arc::new(Mutex::new(0));
        let job = || {
            let refused = Arc::clone(&refused);
            move |admission: Admission<'_>| {
                *refused.lock().unwrap() += u32::from(matches!(admission, Admission::Refused))
            }
        };
        (0..101).for_each(|_| pool.submit(job()));
        assert_eq!(*refused.lock().unwrap(), 1, "nothing is known of the jobs: the bound is that of the limits");
        drop(go_on);
        wait_for_end(&pool, 101);
        let go_on = occupy(&pool);
        std::thread::sleep(Duration::from_millis(100));
        drop(go_on);
        wait_for_end(&pool, 102);
        let go_on = occupy(&pool);
        (0..10).for_each(|_| pool.submit(job()));
        assert_eq!(*refused.lock().unwrap(), 7, "four may always wait");
        drop(go_on);
    }

    #[test]
    fn stopping_lets_begun_jobs_come_to_their_end() {
        let pool = pool(1, 10, 8);
        let is_enough = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        for _ in 0..4 {
            let (is_enough, sender) = (Arc::clone(&is_enough), sender.clone());
            pool.submit(move |admission| {
                let Admission::Running(turn) = admission else { return };
                sender.send("begun").unwrap();
                while !is_enough.load(Ordering::Acquire) {
                    turn.give_way();
                }
                sender.send("ended").unwrap();
            });
        }
        drop(sender);
        assert!((0..4).all(|_| receiver.recv() == Ok("begun")));
        pool.stop();
        is_enough.store(true, Ordering::Release);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["ended"; 4]);
    }
}
