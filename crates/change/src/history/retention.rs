//! What of the history is kept: changes go by age, and by the room that all logs take together, a segment at a time.
//!
//! Invariants:
//! (1) Before a segment may go, the file of [`Kept`] says that its changes cannot be read any more, and from where on
//!     the log is kept.
//! (2) What recovery needs is the log's own business: here only what is kept beyond that is given up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use config::ChangelogConfig;

use super::error::HistoryOpenError;
use super::kept::Kept;

/// The settings, the file and the thread that looks.
pub(super) struct Retention {
    /// Read without waiting while something is removed.
    pub(super) config: ArcSwap<ChangelogConfig>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    /// Where [`Kept`] is written; nowhere in tests of other things.
    pub(super) path: Option<PathBuf>,
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) is_stopping: bool,
    /// What was found out about segments that are written no more: backend, generation → number and time of the first
    /// change, if there is one.
    pub(super) known: Known,
    pub(super) written: Option<Kept>,
}

pub(super) type Known = BTreeMap<(usize, u64), Option<(u64, u64)>>;

/// A segment that may go.
pub(super) struct Doomed {
    /// All its changes were proposed before.
    pub(super) before_us: u64,
    /// It cannot be read, or stands before one that cannot.
    pub(super) is_damaged: bool,
    pub(super) lane: usize,
    pub(super) bytes: u64,
    /// Everything in the backend before this number goes with it; none when nothing of it has one.
    pub(super) next_number: u64,
    /// The record that is kept first.
    pub(super) next_seq: u64,
}

impl Retention {
    pub(super) fn new(config: ChangelogConfig, path: Option<PathBuf>) -> Self {
        let config = ArcSwap::from_pointee(config);
        Self { config, state: Mutex::default(), changed: Condvar::new(), path, thread: Mutex::default() }
    }

    /// Of logs that are only read.
    pub(super) fn none() -> Self {
        let (max_age, max_bytes) = (Duration::MAX, u64::MAX);
        Self::new(ChangelogConfig { enabled: true, max_age, max_bytes, account_state: true }, None)
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.config.load().enabled
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was remembered when the server ran last.
    pub(super) fn read(&self) -> Result<Option<Kept>, HistoryOpenError> {
        self.path.as_deref().map_or(Ok(None), Kept::read)
    }
}
