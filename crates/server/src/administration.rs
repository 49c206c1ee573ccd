//! What administrators have a running server do: read its configuration again, build indexes anew.
//!
//! Done for whoever asks, by a signal or over a connection, and told in the error log either way. Knows the directory
//! and the error log; how indexes are built is the directory's business.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use directory::{Directory, IndexBuild, OpenError};
use ldap::administration::{IndexChoice, JobProgress, RebuildIndexes, ReloadResponse};
use runtime::log::error::ErrorLog;
use runtime::pool::{Admission, Pool, PoolLimits, TURN, Turn};
use store::StoreError;
use store::bulk::RebuildWhich;

use crate::changed_by::ChangedBy;
use crate::messages;
use crate::reload::{LiveParts, reload};

/// Requests that are worked on at once; those that wait for a job do not count.
const RUNNING_MAX: usize = 2;
/// Requests that wait to begin.
const QUEUE_MAX: usize = 64;
/// Requests that wait for jobs.
const THREADS_MAX: usize = 64;
/// As whoever logs in: before long searches.
const NICENESS: i32 = 5;

/// Between two looks how far a job is, and so between two reports to who waits for it.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// See the module.
pub(crate) struct Administration {
    directory: Arc<Directory>,
    errors: ErrorLog,
    parts: OnceLock<LiveParts>,
    /// Held while the file is read and taken: the last one to read it is the last one to be taken.
    reloading: Mutex<()>,
    pool: Pool,
    is_stopping: AtomicBool,
}

/// Why indexes were not rebuilt, or nobody could wait for it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RebuildError {
    /// The directory refuses.
    #[error(transparent)]
    Refused(#[from] OpenError),
    /// How far it is cannot be read.
    #[error("how far the indexes are cannot be read: {0}")]
    Store(#[from] StoreError),
    /// The builder failed.
    #[error("the indexes are not complete: {0}")]
    Failed(String),
    /// The configuration dropped one meanwhile.
    #[error("the index \"{0}\" was dropped while it was built")]
    Dropped(String),
    /// The server stops.
    #[error("the server stops; it goes on building the indexes at its next start")]
    Stopping,
    /// Nobody wants the answer.
    #[error("the client waits no more; the indexes are built all the same")]
    Cancelled,
}

impl Administration {
    pub(crate) fn new(directory: Arc<Directory>, errors: ErrorLog) -> Self {
        let limits = PoolLimits {
            running_max: RUNNING_MAX,
            queue_max: QUEUE_MAX,
            wait_max: None,
            threads_max: THREADS_MAX,
            turn: TURN,
            niceness: NICENESS,
        };
        Self {
            directory,
            errors,
            parts: OnceLock::new(),
            reloading: Mutex::default(),
            pool: Pool::new("administration", limits),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// Where requests are worked on: they wait for disks, and some for jobs.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The server is complete: what was asked for meanwhile goes on.
    pub(crate) fn begin(self: &Arc<Self>, parts: LiveParts) {
        let _ = self.parts.set(parts);
        let own = Arc::clone(self);
        self.pool.submit(move |admission| {
            if let Admission::Running(turn) = admission {
                own.tell_of_not_obeyed(turn);
            }
        });
    }

    /// Tells of attributes in the backends that other servers obey and this one does not yet.
    fn tell_of_not_obeyed(&self, turn: &mut Turn) {
        let goes_on = &mut || {
            if turn.is_over() {
                turn.give_way();
            }
            !self.is_stopping.load(Ordering::Acquire)
        };
        match self.directory.tell_of_not_obeyed(goes_on) {
            Ok(()) | Err(StoreError::Closed) => {}
            Err(error) => {
                let message = format_args!("Attributes that are not obeyed cannot be counted: {error}");
                self.errors.report(messages::NOT_OBEYED_UNCOUNTED, message);
            }
        }
    }

    /// Nobody waits for jobs any more.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.pool.stop();
    }

    /// What it is about.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Takes the configuration as the file has it now; `Err` says why it was not taken.
    pub(crate) fn reload(&self, by: &ChangedBy) -> Result<ReloadResponse, String> {
        let parts = self.parts.wait();
        let _only_one = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        reload(&self.directory, parts, &self.errors, by)
    }

    /// Sets the clock by which accounts are judged so many milliseconds ahead of the system's.
    pub(crate) fn set_account_clock(&self, ahead_ms: i64) {
        self.directory.account_clock().set_ahead(ahead_ms);
        let message = format_args!(
            "The clock by which accounts are judged is {ahead_ms} ms ahead of the system's until the server ends"
        );
        self.errors.report(messages::ACCOUNT_CLOCK_SET, message);
    }

    /// Begins to build indexes anew; gives back their names.
    pub(crate) fn rebuild(&self, request: &RebuildIndexes) -> Result<Vec<String>, RebuildError> {
        let which = match &request.which {
            IndexChoice::All => RebuildWhich::All,
            IndexChoice::Degraded => RebuildWhich::Degraded,
            IndexChoice::Named(names) => RebuildWhich::Named(names.clone()),
        };
        // Before it, the builders do not run.
        self.parts.wait();
        let backend = &request.backend;
        let begun = self.directory.rebuild_indexes(backend, &which);
        match &begun {
            Ok(names) if names.is_empty() => {
                let message = format_args!("No index of the backend \"{backend}\" needs to be rebuilt");
                self.errors.report(messages::REBUILD_NOT_NEEDED, message);
            }
            Ok(names) => {
                let message =
                    format_args!("Asked to rebuild indexes of the backend \"{backend}\": {}", names.join(", "));
                self.errors.report(messages::REBUILD_ASKED, message);
            }
            Err(error) => {
                self.errors.report(messages::REBUILD_REFUSED, format_args!("No index is rebuilt: {error}"));
            }
        }
        Ok(begun?)
    }

    /// Waits until indexes are complete, and reports how far they are.
    pub(crate) fn wait_for(
        &self,
        backend: &str,
        names: &[String],
        turn: &mut Turn,
        is_cancelled: &dyn Fn() -> bool,
        report: &mut dyn FnMut(&JobProgress),
    ) -> Result<(), RebuildError> {
        loop {
            match self.directory.index_build(backend, names)? {
                IndexBuild::Complete => return Ok(()),
                IndexBuild::Building { entries, total } => {
                    report(&JobProgress { phase: "entries".to_owned(), done: entries, total: Some(total) });
                }
                IndexBuild::Failed { reason } => return Err(RebuildError::Failed(reason)),
                IndexBuild::Dropped { index } => return Err(RebuildError::Dropped(index)),
            }
            turn.wait(|| std::thread::sleep(LOOK_EVERY));
            if is_cancelled() {
                return Err(RebuildError::Cancelled);
            }
            if self.is_stopping.load(Ordering::Acquire) {
                return Err(RebuildError::Stopping);
            }
        }
    }
}
