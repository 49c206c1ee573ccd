//! A backend opened for reading beside a server that writes it: LMDB as it is, and the tail of the log replayed in
//! memory.
//!
//! Nothing is written but LMDB's reader slot. Each snapshot shows the state of the moment at which it is taken.
//!
//! Invariant: a snapshot is LMDB at one transaction plus exactly the log records after the `meta.folded` of that
//! transaction.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{Backend, database_path, log_path, read_base};
use crate::backend_options::BackendOptions;
use crate::env::{self, Env, ReadTxn};
use crate::error::StoreError;
use crate::extract::IndexBinder;
use crate::image::Image;
use crate::index::{BackendIndexes, ConfiguredIndexes};
use crate::log::{Disk, FileLog, FolderDisk, Log, LogOptions};
use crate::replay::replay_record;
use crate::rules::{Outcome, Rules};
use crate::tables::TypeResolver;
use crate::txn::{Txn, TxnState};
use crate::version::{Renew, Shared, Snapshot, Version};
use crate::view::View;

/// How often it is tried again when the server folds or reuses segments meanwhile.
const ATTEMPTS: u32 = 20;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A backend for reading.
pub struct ReadOnlyBackend {
    env: Env,
    disk: Arc<dyn Disk>,
    rules: Box<dyn Rules>,
    resolver: Arc<dyn TypeResolver>,
    binder: Arc<dyn IndexBinder>,
    indexes: ConfiguredIndexes,
    segment_bytes: u64,
    /// Whether the indexes are those of the configuration.
    shows_configured: bool,
}

impl ReadOnlyBackend {
    /// Opens an existing backend. The rules replay the log in memory.
    pub fn open(options: BackendOptions, rules: Box<dyn Rules>) -> Result<ReadOnlyBackend, StoreError> {
        let env = Env::open_read_only(&database_path(&options.path))?;
        let disk = options.log_disk.unwrap_or_else(|| Arc::new(FolderDisk::open_read_only(&log_path(&options.path))));
        let BackendOptions { resolver, binder, indexes, segment_bytes, .. } = options;
        Ok(ReadOnlyBackend { env, disk, rules, resolver, binder, indexes, segment_bytes, shows_configured: false })
    }

    /// Shows the indexes that the options name, as a server would when it starts: new ones are not built yet, others
    /// are removed. For a backend that no server has open and whose configuration was changed.
    #[must_use]
    pub fn with_configured_indexes(mut self) -> ReadOnlyBackend {
        self.shows_configured = true;
        self
    }

    /// Everything as it is now. Replays up to two seconds' worth of log; take a new one now and then in long work,
    /// because LMDB cannot reuse pages that it still sees.
    pub fn snapshot(&mut self) -> Result<Snapshot, StoreError> {
        let taken = Instant::now();
        let (version, txn) = self.version(&[])?;
        let shared = Arc::new(Shared::new(self.env.clone(), version));
        Ok(Snapshot::of(shared, txn, taken))
    }

    /// The same as backends without a writer, for code that reads backends in service: one for each list of proposals
    /// whose changes it shows besides. Their snapshots follow the files: they show what was there when the server last
    /// folded, or later.
    ///
    /// # Errors
    /// As [`ReadOnlyBackend::snapshot`]; when a proposal is refused.
    pub fn into_backends<const N: usize>(self, tried: [Vec<Vec<u8>>; N]) -> Result<[Backend; N], StoreError> {
        let (log, env) = (self.log()?, self.env.clone());
        let own = Arc::new(Mutex::new(self));
        let follow = |tried| -> Result<Backend, StoreError> {
            let follower = Follower { backend: Arc::clone(&own), tried };
            let (version, txn) = follower.renew()?;
            let uuid = env::read_uuid(env.dbs(), &txn)?;
            drop(txn);
            let shared = Shared::following(env.clone(), version, Box::new(follower));
            Ok(Backend::only_read(Arc::new(shared), Arc::clone(&log), uuid))
        };
        let mut backends = Vec::new();
        for tried in tried {
            backends.push(follow(tried)?);
        }
        backends.try_into().map_err(|_| StoreError::Misuse("a backend is missing"))
    }

    fn version(&mut self, tried: &[Vec<u8>]) -> Result<(Version, ReadTxn), StoreError> {
        let Replayed { txn, mut state, mut version } = self.replayed()?;
        for proposal in tried {
            let mut trial = Txn::begin(&txn, self.env.dbs(), None, &mut state);
            let outcome = self.rules.apply(&mut trial, proposal);
            if !outcome.as_ref().is_ok_and(|outcome| outcome.accepted) {
                trial.undo();
                self.rules.forget();
                outcome?;
                return Err(StoreError::Misuse("a change that was tried is refused by now"));
            }
        }
        if !tried.is_empty() {
            self.rules.forget();
        }
        state.overlay.ops += tried.len() as u64;
        version.active = state.overlay;
        version.tables = state.tables;
        version.next_entry = state.next_entry;
        version.tree_generation = state.tree_generation;
        version.marks = state.marks;
        version.indexes = state.indexes;
        if self.shows_configured && **version.indexes.configured() != self.indexes {
            let mut states = version.indexes.states().clone();
            states.set_names(&self.indexes.names)?;
            let extractor = self.binder.bind(&self.indexes, &states);
            version.indexes = Arc::new(BackendIndexes::new(Arc::new(self.indexes.clone()), states, extractor));
        }
        Ok((version, txn))
    }

    /// The state of this moment, to try proposals on: their changes are seen by later proposals of the trial only, and
    /// dropped with it.
    ///
    /// # Errors
    /// As [`ReadOnlyBackend::snapshot`].
    pub fn trial(&mut self) -> Result<Trial<'_>, StoreError> {
        let Replayed { txn, state, .. } = self.replayed()?;
        Ok(Trial { backend: self, txn, state })
    }

    /// The log as the files have it now, with everything that is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log(&self) -> Result<Arc<dyn Log>, StoreError> {
        let txn = self.env.read()?;
        let (.., folded, uuid) = read_base(&self.env, &txn, self.resolver.clone(), self.binder.clone(), &self.indexes)?;
        Ok(Arc::new(patiently(|| self.open_log(&txn, uuid, folded, 0))?))
    }

    /// Identity of the data.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn data(&self) -> Result<[u8; 16], StoreError> {
        let txn = self.env.read()?;
        env::read_uuid(self.env.dbs(), &txn)
    }

    /// A copy of the database with the log behind it, of this moment.
    ///
    /// # Errors
    /// As [`ReadOnlyBackend::snapshot`].
    pub fn image(&self) -> Result<Image, StoreError> {
        let (rules, env) = (self.rules.version(), &self.env);
        patiently(|| {
            Image::begin(env, rules, |txn| {
                let folded = env::read_u64(env.dbs(), txn, env::meta::FOLDED)?.unwrap_or_default();
                let uuid = env::read_uuid(env.dbs(), txn)?;
                Ok(Arc::new(self.open_log(txn, uuid, folded, 0)?))
            })
        })
    }

    fn open_log(&self, txn: &ReadTxn, uuid: [u8; 16], folded: u64, keep_from: u64) -> Result<FileLog, StoreError> {
        let (rules, segment_bytes) = (self.rules.version(), self.segment_bytes);
        let held = env::read_log_held(self.env.dbs(), txn)?;
        let options = LogOptions { uuid, rules, segment_bytes, keep_from, held, read_only: true };
        FileLog::open(self.disk.clone(), options, folded)
    }

    fn replayed(&mut self) -> Result<Replayed, StoreError> {
        patiently(|| self.try_replay())
    }

    fn try_replay(&mut self) -> Result<Replayed, StoreError> {
        let txn = self.env.read()?;
        let (mut state, mut version, folded, uuid) =
            read_base(&self.env, &txn, self.resolver.clone(), self.binder.clone(), &self.indexes)?;
        let log = self.open_log(&txn, uuid, folded, u64::MAX)?;
        self.rules.forget();
        let mut seq = folded;
        log.tail_from(folded + 1, &mut |record| {
            replay_record(&mut *self.rules, &txn, self.env.dbs(), &mut state, record)?;
            seq = record.seq;
            Ok(())
        })?;
        self.rules.forget();
        state.overlay.ops = seq - folded;
        version.seq = seq;
        Ok(Replayed { txn, state, version })
    }
}

/// Tries again what a running server may have disturbed.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(StoreError::LogDamaged(_) | StoreError::ChangesMissing(_) | StoreError::Io { .. }) => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
    attempt()
}

/// LMDB and the records of the log that it does not have, not merged yet.
struct Replayed {
    txn: ReadTxn,
    state: TxnState,
    version: Version,
}

/// A backend whose snapshots follow its files.
struct Follower {
    backend: Arc<Mutex<ReadOnlyBackend>>,
    tried: Vec<Vec<u8>>,
}

impl Renew for Follower {
    fn renew(&self) -> Result<(Version, ReadTxn), StoreError> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner).version(&self.tried)
    }
}

/// A state of the directory on which proposals are tried in memory. Keep it as short as a snapshot.
pub struct Trial<'b> {
    backend: &'b mut ReadOnlyBackend,
    txn: ReadTxn,
    state: TxnState,
}

impl Trial<'_> {
    /// Applies a proposal as the server would. A refused one changes nothing.
    ///
    /// # Errors
    /// When the data cannot be read.
    pub fn apply(&mut self, proposal: &[u8]) -> Result<Outcome, StoreError> {
        let mut txn = Txn::begin(&self.txn, self.backend.env.dbs(), None, &mut self.state);
        let outcome = self.backend.rules.apply(&mut txn, proposal);
        if !outcome.as_ref().is_ok_and(|outcome| outcome.accepted) {
            txn.undo();
        }
        outcome
    }

    /// Calls `read` with the present state, the changes tried included.
    pub fn look<T>(&mut self, read: impl FnOnce(&View<'_>) -> T) -> T {
        read(&Txn::begin(&self.txn, self.backend.env.dbs(), None, &mut self.state).view())
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        // They hold entries and numbers that never existed.
        self.backend.rules.forget();
    }
}
