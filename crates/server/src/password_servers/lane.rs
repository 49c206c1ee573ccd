//! The way to one server or group of equal servers: its pool of threads, and what is asked there.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use directory::{RemotePasswords, RemoteQuestion, RemoteVerdict};
use query::monitor_entry::MonitorEntry;
use runtime::pool::{Admission, Pool, PoolLimits, TURN, Turn};

/// Questions that are asked at the same time.
const THREADS_MAX: usize = 64;
/// Binds that hash at the same time what is kept of their passwords.
const PLACES: usize = 2;
/// Binds that wait for a thread at most …
const QUEUE_MAX: usize = 256;
/// … and for how long: what is found out after that is wasted, because clients give up.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// As much as the threads that check passwords here.
const NICENESS: i32 = 5;

/// See the module; clones share it.
#[derive(Clone)]
pub(super) struct Lane {
    pool: Pool,
    end: Arc<dyn RemotePasswords + Send + Sync>,
    counts: Arc<Counts>,
}

/// What was asked, by what came of it.
#[derive(Default)]
struct Counts {
    right: AtomicU64,
    wrong: AtomicU64,
    unavailable: AtomicU64,
}

/// Nobody to ask.
struct Nobody(RemoteVerdict);

/// Asks without holding a place while the answer is on its way.
struct Asking<'t> {
    end: Arc<dyn RemotePasswords + Send + Sync>,
    counts: Arc<Counts>,
    turn: RefCell<&'t mut Turn>,
}

impl Lane {
    pub(super) fn new(end: Arc<dyn RemotePasswords + Send + Sync>) -> Lane {
        let limits = PoolLimits {
            running_max: PLACES,
            queue_max: QUEUE_MAX,
            wait_max: Some(WAIT_MAX),
            threads_max: THREADS_MAX,
            turn: TURN,
            niceness: NICENESS,
        };
        Lane { pool: Pool::new("password server", limits), end, counts: Arc::default() }
    }

    /// Of a policy that was removed while a bind was under way.
    pub(super) fn unknown() -> Lane {
        let reason = "The servers of the policy are not configured any more".to_owned();
        Lane::new(Arc::new(Nobody(RemoteVerdict::Unavailable(reason))))
    }

    /// Of `{SASL}` values where saslauthd is not used.
    pub(super) fn without_saslauthd() -> Lane {
        let reason = "The password is a {SASL} value, and no saslauthd is configured".to_owned();
        Lane::new(Arc::new(Nobody(RemoteVerdict::Wrong(reason))))
    }

    /// Runs a job on a thread of this lane; it gets none when too many wait.
    pub(super) fn submit(&self, job: impl FnOnce(Option<&dyn RemotePasswords>) + Send + 'static) {
        let (end, counts) = (Arc::clone(&self.end), Arc::clone(&self.counts));
        self.pool.submit(move |admission| match admission {
            Admission::Refused => job(None),
            Admission::Running(turn) => job(Some(&Asking { end, counts, turn: RefCell::new(turn) })),
        });
    }
}

impl Lane {
    /// Runs something that waits for the network; on this thread when too many wait.
    pub(super) fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.pool.submit(move |admission| match admission {
            Admission::Running(turn) => turn.wait(work),
            Admission::Refused => work(),
        });
    }

    /// Adds what was asked.
    pub(super) fn counts(&self, entry: MonitorEntry) -> MonitorEntry {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        entry
            .with("answers-right", get(&self.counts.right))
            .with("answers-wrong", get(&self.counts.wrong))
            .with("unavailable", get(&self.counts.unavailable))
            .with("refused-busy", self.pool.counts().refused)
            .with("waiting", self.pool.backlog())
    }

    /// Takes no more jobs.
    pub(super) fn stop(&self) {
        self.pool.stop();
    }
}

impl RemotePasswords for Nobody {
    fn check(&self, _question: &RemoteQuestion<'_>) -> RemoteVerdict {
        self.0.clone()
    }
}

impl RemotePasswords for Asking<'_> {
    fn check(&self, question: &RemoteQuestion<'_>) -> RemoteVerdict {
        let verdict = self.turn.borrow_mut().wait(|| self.end.check(question));
        let counter = match &verdict {
            RemoteVerdict::Right => &self.counts.right,
            RemoteVerdict::Wrong(_) => &self.counts.wrong,
            RemoteVerdict::Unavailable(_) => &self.counts.unavailable,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        verdict
    }
}
