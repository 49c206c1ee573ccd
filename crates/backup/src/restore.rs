//! Restoring: a backend's data made anew from a chain of backups, in the place of what is there.

use std::io::Write;
use std::time::Instant;

use jobs::files::Target;
use jobs::{Progress, Unit, Watch};
use store::env::FORMAT as DATABASE_FORMAT;
use store::{RestoreFolder, Restoring, StoreError};

use crate::chain::{Chain, End};
use crate::contained::ContainedFile;
use crate::error::BackupError;
use crate::key::{Key, unhex};
use crate::manifest::{Manifest, Sealed, Stream};
use crate::part::write_all;
use crate::reading::Opened;
use crate::records;
use crate::storage::Storage;

/// Records between two looks at the switch that ends the work.
const RECORDS_A_LOOK: u64 = 1_000;
/// Bytes of the database between two requests that the disk begins to write.
const WRITE_OUT_BYTES: usize = 4 << 20;

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The last change that is there.
    pub last_change: u64,
    /// Changes that were applied on the copy.
    pub applied: u64,
    /// Bytes of the copy.
    pub bytes: u64,
}

/// Looks whether a chain can be restored into a backend: it belongs there, its format is known, the key fits.
///
/// # Errors
/// When not.
pub fn check(
    storage: &dyn Storage,
    chain: &Chain<'_>,
    key: Option<&Key>,
    target: Target<'_>,
) -> Result<(), BackupError> {
    for sealed in chain.all() {
        let manifest = &sealed.manifest;
        Opened::open(storage, sealed, key)?;
        let backup = || manifest.id.clone();
        if manifest.database_format > DATABASE_FORMAT {
            let (found, ours) = (manifest.database_format, DATABASE_FORMAT);
            return Err(BackupError::Newer { backup: backup(), found, ours });
        }
        if !same_names(&manifest.base_dns, &target.backend.base_dns) {
            return Err(BackupError::Foreign {
                backup: backup(),
                found: manifest.base_dns.join(", "),
                backend: target.backend.id.clone(),
                ours: target.backend.base_dns.join(", "),
            });
        }
        let ours = target.rules_version();
        if manifest.rules != ours && manifest.last_change >= manifest.first_change {
            let (found, program) = (manifest.rules, manifest.program.clone());
            return Err(BackupError::Rules { backup: backup(), found, ours, program });
        }
    }
    Ok(())
}

fn same_names(one: &[String], other: &[String]) -> bool {
    let folded = |names: &[String]| {
        let mut names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase().replace(", ", ",")).collect();
        names.sort();
        names
    };
    folded(one) == folded(other)
}

/// Restores a chain into the backend's folder. Until the end, the data there stays as it is.
///
/// # Errors
/// Whatever it is, the old data is there.
pub fn restore(
    storage: &dyn Storage,
    chain: &Chain<'_>,
    key: Option<&Key>,
    target: Target<'_>,
    watch: &mut dyn Watch,
) -> Result<Restored, BackupError> {
    check(storage, chain, key, target)?;
    let started = Instant::now();
    let folder = RestoreFolder::make(&target.backend.directory)?;
    let full = Opened::open(storage, chain.full, key)?;
    let bytes = copy(&full, &folder, started, watch)?;
    let mut restoring = folder.open(target.options()?, target.rules()?)?;
    check_copy(full.manifest, &restoring)?;
    let began = restoring.last();
    let mut looked = 0;
    for sealed in chain.all() {
        let opened = Opened::open(storage, sealed, key)?;
        let applied = apply(&opened, chain.end, &mut restoring, &mut |now| {
            looked += 1;
            if looked % RECORDS_A_LOOK == 0 {
                tell(watch, "changes", Unit::Entries, now - began, started)?;
            }
            Ok(())
        });
        match applied {
            Err(BackupError::Store(StoreError::Closed)) => break,
            applied => applied?,
        }
    }
    if let End::Change(number) = chain.end
        && restoring.last() != number
    {
        let ends = format!("it ends with change {} instead of {number}", restoring.last());
        return Err(BackupError::damaged(&chain.full.manifest.id, ends));
    }
    let last_change = restoring.last();
    tell(watch, "syncing", Unit::Entries, last_change - began, started)?;
    restoring.finish()?;
    Ok(Restored { last_change, applied: last_change - began, bytes })
}

/// Writes the copy of the database.
fn copy(
    full: &Opened<'_>,
    folder: &RestoreFolder,
    started: Instant,
    watch: &mut dyn Watch,
) -> Result<u64, BackupError> {
    let mut file = folder.data_file()?;
    let mut bytes = 0;
    full.pieces(Stream::Database, &mut |piece| {
        for piece in piece.chunks(WRITE_OUT_BYTES) {
            write_all(&mut file, piece)?;
            store::write_out::begin(&file, bytes..bytes + piece.len() as u64);
            bytes += piece.len() as u64;
        }
        tell(watch, "copying", Unit::Bytes, bytes, started)
    })?;
    file.flush().map_err(|error| StoreError::io("restored database", &error))?;
    Ok(bytes)
}

/// Whether the copy is what the manifest says.
fn check_copy(manifest: &Manifest, restoring: &Restoring) -> Result<(), BackupError> {
    let is_same = unhex(&manifest.data) == Some(restoring.data());
    if is_same && restoring.last() + 1 == manifest.first_change {
        return Ok(());
    }
    Err(BackupError::damaged(&manifest.id, "its copy of the database is not the one that its manifest names"))
}

/// Applies the records of a backup; [`StoreError::Closed`] when the end was reached within it.
fn apply(
    opened: &Opened<'_>,
    end: End,
    restoring: &mut Restoring,
    each: &mut dyn FnMut(u64) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    opened.records(&mut |record| {
        if record.seq <= restoring.last() {
            return Ok(());
        }
        let is_behind = match end {
            End::Change(number) => record.seq > number,
            End::Time(time_us) => records::time_us(record).is_some_and(|made| made > time_us),
        };
        if is_behind {
            return Err(StoreError::Closed.into());
        }
        restoring.apply(record)?;
        each(record.seq)
    })
}

fn tell(
    watch: &mut dyn Watch,
    phase: &'static str,
    unit: Unit,
    done: u64,
    started: Instant,
) -> Result<(), BackupError> {
    let entries = if unit == Unit::Entries { done } else { 0 };
    watch.progress(&Progress { phase, unit, done, total: None, entries, rejected: 0, elapsed: started.elapsed() });
    if watch.cancel().is_cancelled() { Err(BackupError::Cancelled) } else { Ok(()) }
}

/// The files of the instance that a backup holds.
///
/// # Errors
/// When they cannot be read.
pub fn files(storage: &dyn Storage, sealed: &Sealed, key: Option<&Key>) -> Result<Vec<ContainedFile>, BackupError> {
    Opened::open(storage, sealed, key)?.files()
}
