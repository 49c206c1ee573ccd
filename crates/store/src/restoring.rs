//! A backend's data made anew from a copy of its database and records of its log, beside the data that is there, which
//! it replaces in one step at the very end.
//!
//! Invariants:
//! (1) Until [`Restoring::finish`] the old data is untouched; what a crash leaves is removed by the next opening.
//! (2) The restored data has an identity of its own, as after an import: the files of the old log, and changes that
//!     came after the restored moment, are not taken for its own.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::backend::{database_path, new_uuid, read_base};
use crate::backend_options::BackendOptions;
use crate::bulk::{prepare_folder, swap_folder};
use crate::env::{DATA_FILE, Env, ReadTxn, meta};
use crate::error::StoreError;
use crate::fold::fold;
use crate::instance_lock::InstanceLock;
use crate::log::{LogHeld, LogRecord};
use crate::overlay::Overlay;
use crate::replay::replay_record;
use crate::rules::Rules;
use crate::txn::TxnState;
use crate::version::Frozen;

/// Records that are applied before they are moved into the database.
const OPS_MAX: u64 = 50_000;
/// Memory that they may take.
const OVERLAY_BYTES_MAX: usize = 128 << 20;

/// The place where a database is put before it is opened; holds the backend for this process.
pub struct RestoreFolder {
    lock: InstanceLock,
    database: PathBuf,
    new: PathBuf,
}

impl RestoreFolder {
    /// Makes an empty one beside the database of the backend in `path`.
    ///
    /// # Errors
    /// When another process has the backend open, or the disk refuses.
    pub fn make(path: &Path) -> Result<RestoreFolder, StoreError> {
        let lock = InstanceLock::take(path)?;
        let database = database_path(path);
        let new = prepare_folder(&database).map_err(|error| StoreError::io("database folder", &error))?;
        Ok(RestoreFolder { lock, database, new })
    }

    /// The file that takes the copy of the database.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn data_file(&self) -> Result<File, StoreError> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.new.join(DATA_FILE));
        made.map_err(|error| StoreError::io("database", &error))
    }

    /// Opens the copy that was written.
    ///
    /// # Errors
    /// When it is no database of a known format.
    pub fn open(self, options: BackendOptions, rules: Box<dyn Rules>) -> Result<Restoring, StoreError> {
        let env = Env::open(&self.new, new_uuid())?;
        env.defer_sync()?;
        let base = env.read()?;
        let (state, _, folded, data) =
            read_base(&env, &base, options.resolver.clone(), options.binder.clone(), &options.indexes)?;
        Ok(Restoring { folder: self, env, options, rules, base: Some(base), state, last: folded, data })
    }
}

/// See the module.
pub struct Restoring {
    folder: RestoreFolder,
    env: Env,
    options: BackendOptions,
    rules: Box<dyn Rules>,
    /// What `state` stands on; none only while it is taken anew.
    base: Option<ReadTxn>,
    state: TxnState,
    last: u64,
    data: [u8; 16],
}

impl Restoring {
    /// Identity of the data that the copy was made of.
    pub fn data(&self) -> [u8; 16] {
        self.data
    }

    /// The last change that is there.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Applies a record; one that is there already is passed over.
    ///
    /// # Errors
    /// When one before it is missing, it has another outcome than when it was first applied, or the disk refuses.
    pub fn apply(&mut self, record: LogRecord<'_>) -> Result<(), StoreError> {
        if record.seq <= self.last {
            return Ok(());
        }
        if record.seq != self.last + 1 {
            let missing = format!("changes {} to {} are missing", self.last + 1, record.seq - 1);
            return Err(StoreError::LogDamaged(missing));
        }
        let base = self.base.as_ref().ok_or(StoreError::Closed)?;
        replay_record(&mut *self.rules, base, self.env.dbs(), &mut self.state, record)?;
        self.state.undo.clear();
        self.state.written.clear();
        self.last = record.seq;
        self.state.overlay.last_seq = record.seq;
        self.state.overlay.ops += 1;
        if self.state.overlay.ops >= OPS_MAX || self.state.overlay.bytes >= OVERLAY_BYTES_MAX {
            self.fold(None)?;
        }
        Ok(())
    }

    /// Moves what was applied into the database; with an identity, that becomes the data's.
    fn fold(&mut self, identity: Option<[u8; 16]>) -> Result<(), StoreError> {
        let overlay = std::mem::take(&mut self.state.overlay);
        let frozen =
            Frozen::new(Overlay { last_seq: self.last, ..overlay }, self.state.next_entry, self.state.indexes.clone());
        self.rules.forget();
        drop(self.base.take());
        let dbs = *self.env.dbs();
        let mut txn = self.env.write()?;
        fold(&mut txn, &dbs, &frozen, LogHeld::default(), &mut || ())?;
        if let Some(identity) = identity {
            dbs.meta.put(&mut txn, meta::UUID, &identity)?;
            dbs.meta.delete(&mut txn, meta::LOG_HELD)?;
        }
        txn.commit()?;
        let base = self.env.read()?;
        let BackendOptions { resolver, binder, indexes, .. } = &self.options;
        (self.state, ..) = read_base(&self.env, &base, resolver.clone(), binder.clone(), indexes)?;
        self.base = Some(base);
        Ok(())
    }

    /// Puts the restored data, synced, in the place of the old one.
    ///
    /// # Errors
    /// When the disk refuses; the old data is there then.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.fold(Some(new_uuid()))?;
        self.env.sync()?;
        let Restoring { folder: RestoreFolder { lock, database, .. }, env, base, state, rules, .. } = self;
        drop((base, state, rules));
        env.close();
        swap_folder(&database).map_err(|error| StoreError::io("database folder", &error))?;
        drop(lock);
        Ok(())
    }
}
