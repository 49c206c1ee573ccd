//! The parts of a backup: pieces of its streams, compressed, sealed and stored one by one.

use std::io::{self, Write};

use crate::error::BackupError;
use crate::key::SealKeys;
use crate::manifest::{PartEntry, Stream, sha256};
use crate::names;
use crate::storage::Storage;

/// Bytes of a stream in one part: what is held in memory, twice.
pub(crate) const PART_BYTES: usize = 16 << 20;
/// What a part may have as stored: bytes that do not compress, with the frame and the tag around them.
const STORED_BYTES_MAX: u64 = PART_BYTES as u64 + (1 << 20);
/// Parts of a backup: 16 TiB.
const PARTS_MAX: usize = 1 << 20;
/// The level that keeps up with a disk.
const ZSTD_LEVEL: i32 = 1;

/// Stores the parts of one backup.
pub(crate) struct PartWriter<'a> {
    pub storage: &'a dyn Storage,
    pub backend: &'a str,
    pub id: &'a str,
    pub keys: Option<&'a SealKeys>,
    pub parts: Vec<PartEntry>,
    /// Calls with the bytes of a part before compression; its error ends the work.
    pub each: &'a mut dyn FnMut(u64) -> Result<(), BackupError>,
}

impl PartWriter<'_> {
    /// Stores one part.
    pub fn put(&mut self, stream: Stream, plain: &[u8]) -> Result<(), BackupError> {
        if plain.is_empty() {
            return Ok(());
        }
        let number = u32::try_from(self.parts.len() + 1).unwrap_or(u32::MAX);
        if self.parts.len() >= PARTS_MAX {
            return Err(BackupError::Internal("the backend is larger than a backup can be"));
        }
        let mut bytes = zstd::bulk::compress(plain, ZSTD_LEVEL)
            .map_err(|_| BackupError::Internal("a part cannot be compressed"))?;
        if let Some(keys) = self.keys {
            keys.seal(number, &mut bytes)?;
        }
        self.storage.put(&names::part(self.backend, self.id, number), &bytes)?;
        let (plain, stored) = (plain.len() as u64, bytes.len() as u64);
        self.parts.push(PartEntry { stream, plain, stored, sha256: sha256(&bytes) });
        (self.each)(plain)
    }
}

/// Gathers a stream in parts.
#[derive(Default)]
pub(crate) struct Gathered(Vec<u8>);

impl Gathered {
    /// Adds bytes; what fills parts is stored.
    pub fn add(&mut self, writer: &mut PartWriter<'_>, stream: Stream, mut bytes: &[u8]) -> Result<(), BackupError> {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(PART_BYTES - self.0.len()));
            self.0.extend_from_slice(now);
            bytes = rest;
            if self.0.len() == PART_BYTES {
                writer.put(stream, &self.0)?;
                self.0.clear();
            }
        }
        Ok(())
    }

    /// Stores the rest.
    pub fn finish(self, writer: &mut PartWriter<'_>, stream: Stream) -> Result<(), BackupError> {
        writer.put(stream, &self.0)
    }
}

/// Reads a part and proves that it is what was stored.
pub(crate) fn read(
    storage: &dyn Storage,
    backend: &str,
    id: &str,
    keys: Option<&SealKeys>,
    number: u32,
    entry: &PartEntry,
) -> Result<Vec<u8>, BackupError> {
    let name = names::part(backend, id, number);
    let damaged = |what: &str| BackupError::damaged(id, format!("{name} {what}"));
    let stored = storage.get(&name, STORED_BYTES_MAX)?;
    if stored.len() as u64 != entry.stored || sha256(&stored) != entry.sha256 {
        return Err(damaged("is not what was stored"));
    }
    let bytes = match keys {
        Some(keys) => keys.open(number, stored).ok_or_else(|| damaged("cannot be decrypted"))?,
        None => stored,
    };
    let plain = usize::try_from(entry.plain).ok().filter(|plain| *plain <= PART_BYTES);
    let plain = plain.ok_or_else(|| damaged("has a size that no part has"))?;
    let bytes = zstd::bulk::decompress(&bytes, plain).map_err(|_| damaged("cannot be decompressed"))?;
    if bytes.len() == plain { Ok(bytes) } else { Err(damaged("has another size than was stored")) }
}

/// Counts what is written.
pub(crate) fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<(), BackupError> {
    let failed = |error: io::Error| store::StoreError::io("restored database", &error);
    Ok(out.write_all(bytes).map_err(failed)?)
}
