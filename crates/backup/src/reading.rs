//! Reading a backup back, part by part, each proven.

use store::log::LogRecord;

use crate::contained::{self, ContainedFile};
use crate::error::BackupError;
use crate::key::{Key, SealKeys};
use crate::manifest::{Manifest, Sealed, Stream};
use crate::part;
use crate::records::{self, Records};
use crate::storage::Storage;

/// A backup whose manifest is proven.
pub(crate) struct Opened<'a> {
    pub storage: &'a dyn Storage,
    pub manifest: &'a Manifest,
    keys: Option<SealKeys>,
}

impl<'a> Opened<'a> {
    pub fn open(storage: &'a dyn Storage, sealed: &'a Sealed, key: Option<&Key>) -> Result<Opened<'a>, BackupError> {
        Ok(Opened { storage, manifest: &sealed.manifest, keys: sealed.keys(key)? })
    }

    /// Gives the pieces of a stream in order.
    pub fn pieces(
        &self,
        stream: Stream,
        each: &mut dyn FnMut(&[u8]) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        let Manifest { backend, id, parts, .. } = self.manifest;
        for (number, entry) in (1..).zip(parts).filter(|(_, entry)| entry.stream == stream) {
            each(&part::read(self.storage, backend, id, self.keys.as_ref(), number, entry)?)?;
        }
        Ok(())
    }

    /// Gives the records in order: all that the manifest names, without gap.
    pub fn records(&self, each: &mut dyn FnMut(LogRecord<'_>) -> Result<(), BackupError>) -> Result<(), BackupError> {
        let Manifest { id, first_change, last_change, digest, .. } = self.manifest;
        let mut records = Records::default();
        let (mut next, mut last_digest) = (*first_change, None);
        self.pieces(Stream::Records, &mut |piece| {
            records.add(piece);
            while let Some(record) = records.next().map_err(|what| BackupError::damaged(id, what))? {
                if record.seq != next {
                    return Err(BackupError::damaged(id, format!("change {next} is not where it belongs")));
                }
                next += 1;
                if record.seq == *last_change {
                    last_digest = Some(records::digest(record));
                }
                each(record)?;
            }
            Ok(())
        })?;
        if !records.is_empty() || next != last_change + 1 || last_digest != *digest {
            return Err(BackupError::damaged(id, "its changes are not those that its manifest names"));
        }
        Ok(())
    }

    /// The files of the instance.
    pub fn files(&self) -> Result<Vec<ContainedFile>, BackupError> {
        let mut bytes = Vec::new();
        self.pieces(Stream::Files, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let damaged = || BackupError::damaged(&self.manifest.id, "its files of the instance cannot be read");
        contained::decode(&bytes).ok_or_else(damaged)
    }
}
