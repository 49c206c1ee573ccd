//! Proving that backups can be restored, without restoring them: every part is read, its hash and seal are checked, it
//! is decompressed, and the records follow on one another.

use std::time::Instant;

use jobs::{Progress, Unit, Watch};

use crate::chain::Chain;
use crate::error::BackupError;
use crate::key::Key;
use crate::manifest::Stream;
use crate::reading::Opened;
use crate::storage::Storage;

/// First bytes of a page of LMDB that says what the file is: page number 0 or 1, flags, then the magic number.
const META_MAGIC: (usize, [u8; 4]) = (16, [0xde, 0xc0, 0xef, 0xbe]);

/// What was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Backups of the chain.
    pub backups: u64,
    /// Bytes as stored.
    pub stored: u64,
    /// Bytes that a restore would write.
    pub bytes: u64,
    /// Changes that it would apply.
    pub changes: u64,
}

/// Verifies all backups of a chain.
///
/// # Errors
/// What would keep them from being restored.
pub fn verify(
    storage: &dyn Storage,
    chain: &Chain<'_>,
    key: Option<&Key>,
    watch: &mut dyn Watch,
) -> Result<Verified, BackupError> {
    let started = Instant::now();
    let mut found = Verified::default();
    for sealed in chain.all() {
        let opened = Opened::open(storage, sealed, key)?;
        opened.files()?;
        let mut tell = |found: &Verified| {
            watch.progress(&Progress {
                phase: "verifying",
                unit: Unit::Bytes,
                done: found.bytes,
                total: None,
                entries: 0,
                rejected: 0,
                elapsed: started.elapsed(),
            });
            if watch.cancel().is_cancelled() { Err(BackupError::Cancelled) } else { Ok(()) }
        };
        let mut is_first = true;
        opened.pieces(Stream::Database, &mut |piece| {
            let (at, magic) = META_MAGIC;
            if std::mem::take(&mut is_first) && piece.get(at..at + magic.len()) != Some(&magic) {
                return Err(BackupError::damaged(&sealed.manifest.id, "its database is none"));
            }
            found.bytes += piece.len() as u64;
            tell(&found)
        })?;
        opened.records(&mut |_| {
            found.changes += 1;
            Ok(())
        })?;
        tell(&found)?;
        found.backups += 1;
        found.stored += sealed.manifest.stored_bytes();
    }
    Ok(found)
}
