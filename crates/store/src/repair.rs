//! Repairs a backend whose log does not have every acknowledged change: it continues with the changes that can be read.
//!
//! Invariants:
//! (1) Nothing is changed unless the loss is accepted, or when nothing is missing.
//! (2) The data gets a new identity, as with an import, so that later changes are not taken for the lost ones.
//! (3) The files of the log are moved to another folder, not removed.

use std::path::{Path, PathBuf};

use crate::backend::{database_path, log_path, new_uuid, read_base};
use crate::backend_options::BackendOptions;
use crate::env::{self, Env, meta};
use crate::error::StoreError;
use crate::fold::fold;
use crate::instance_lock::InstanceLock;
use crate::log::{FolderDisk, LogHeld, LogOptions, salvage};
use crate::replay::replay_record;
use crate::rules::Rules;
use crate::version::Frozen;

/// What was found and done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRepair {
    /// The last change that can be read.
    pub last: u64,
    /// Which later changes cannot be read, and why; none when nothing is missing.
    pub missing: Option<String>,
    /// Where the files of the log are now, if the loss was accepted.
    pub put_aside: Option<PathBuf>,
}

/// Looks for changes that are missing in the log. If there are some and the loss is accepted, the backend continues
/// without them.
///
/// # Errors
/// When the backend is in use, the disk refuses, or what can be read of the log cannot be applied.
pub fn repair_log(
    options: BackendOptions,
    mut rules: Box<dyn Rules>,
    accepts_loss: bool,
) -> Result<LogRepair, StoreError> {
    let _lock = InstanceLock::take(&options.path)?;
    let database = database_path(&options.path);
    crate::bulk::recover(&database).map_err(|error| StoreError::io("database folder", &error))?;
    let env = Env::open(&database, new_uuid())?;
    let base = env.read()?;
    let (mut state, _, folded, uuid) = read_base(&env, &base, options.resolver, options.binder, &options.indexes)?;
    let log_options = LogOptions {
        uuid,
        rules: rules.version(),
        segment_bytes: options.segment_bytes,
        keep_from: u64::MAX,
        held: env::read_log_held(env.dbs(), &base)?,
        read_only: true,
    };
    let log = log_path(&options.path);
    let disk = FolderDisk::open_read_only(&log);
    let salvaged = salvage(&disk, &log_options, folded, &mut |record| {
        replay_record(&mut *rules, &base, env.dbs(), &mut state, record)
    })?;
    let mut repair = LogRepair { last: salvaged.last, missing: salvaged.missing, put_aside: None };
    if repair.missing.is_none() || !accepts_loss {
        return Ok(repair);
    }
    state.overlay.last_seq = salvaged.last;
    let frozen = Frozen::new(state.overlay, state.next_entry, state.indexes);
    let dbs = *env.dbs();
    let mut txn = env.write()?;
    fold(&mut txn, &dbs, &frozen, LogHeld::default(), &mut || ())?;
    dbs.meta.put(&mut txn, meta::UUID, &new_uuid())?;
    dbs.meta.delete(&mut txn, meta::LOG_HELD)?;
    txn.commit()?;
    drop(base);
    env.close();
    // The files belong to other data now: after a crash here they are free for use.
    if log.exists() {
        repair.put_aside = Some(put_aside(&log).map_err(|error| StoreError::io("log folder", &error))?);
    }
    Ok(repair)
}

/// Renames the folder to a name that is free.
fn put_aside(log: &Path) -> std::io::Result<PathBuf> {
    let named = |number: u32| durable::beside(log, format!(".given-up-{number}"));
    let aside = (1..).map(named).find(|name| !name.exists()).unwrap_or_else(|| named(0));
    durable::rename(log, &aside)?;
    Ok(aside)
}
