//! Gives ids to entries in the order of the file, if the name is free and the parent is there; writes the others to the
//! reject and skip files.

use std::sync::atomic::Ordering::Relaxed;

use super::counts::Counts;
use super::dn_map::DnMap;
use super::error::BulkError;
use super::input::Chunk;
use super::options::ImportOptions;
use super::prepared_batch::{Outcome, Prepared, PreparedBatch};
use super::rejects::RecordFile;
use crate::EntryId;

/// Gives out ids; one worker at a time holds it.
pub(super) struct Assigner<'a> {
    map: DnMap,
    next: EntryId,
    rejects: RecordFile,
    skips: RecordFile,
    /// Bad entries do not stop the import.
    goes_on: bool,
    counts: &'a Counts,
}

impl<'a> Assigner<'a> {
    pub fn new(options: &ImportOptions, counts: &'a Counts) -> Result<Self, BulkError> {
        Ok(Self {
            map: DnMap::new(),
            next: EntryId(1),
            rejects: RecordFile::open(options.reject_file.as_deref(), options.overwrite)?,
            skips: RecordFile::open(options.skip_file.as_deref(), options.overwrite)?,
            goes_on: options.continue_on_error || options.reject_file.is_some(),
            counts,
        })
    }

    /// Decides on each record of a batch; gives the first id that its entries got.
    pub fn assign(&mut self, chunk: &Chunk, batch: &mut PreparedBatch) -> Result<EntryId, BulkError> {
        let first = self.next;
        let mut entries = std::mem::take(&mut batch.entries);
        let result = entries.iter_mut().try_for_each(|prepared| self.record(chunk, batch, prepared));
        batch.entries = entries;
        result.map(|()| first)
    }

    /// Closes the files; gives the next free id.
    pub fn finish(self) -> Result<EntryId, BulkError> {
        self.rejects.finish()?;
        self.skips.finish()?;
        Ok(self.next)
    }

    fn record(&mut self, chunk: &Chunk, batch: &PreparedBatch, prepared: &mut Prepared) -> Result<(), BulkError> {
        let text = chunk.bytes.get(prepared.text.clone()).unwrap_or_default();
        let refused = match &mut prepared.outcome {
            Outcome::Nothing => return Ok(()),
            Outcome::Skipped(reason) => {
                self.counts.processed.fetch_add(1, Relaxed);
                self.counts.skipped(*reason).fetch_add(1, Relaxed);
                return self.skips.write(None, text);
            }
            Outcome::Rejected { line, reason } => (*line, std::mem::take(reason)),
            Outcome::Entry(entry) => {
                let dn = || String::from_utf8_lossy(batch.bytes(&entry.dn)).into_owned();
                let parent = entry.parent.map_or(Some(EntryId::ROOT), |name| self.map.get(name));
                match parent {
                    None => (prepared.line, missing_parent(&dn())),
                    Some(_) if !self.map.insert(entry.name, self.next) => (prepared.line, duplicate(&dn())),
                    Some(parent) => {
                        entry.id = self.next;
                        entry.parent_id = parent;
                        self.next = EntryId(self.next.0 + 1);
                        if chunk.is_kept {
                            self.counts.migrated.fetch_add(1, Relaxed);
                        } else {
                            self.counts.processed.fetch_add(1, Relaxed);
                            self.counts.imported.fetch_add(1, Relaxed);
                        }
                        return Ok(());
                    }
                }
            }
        };
        self.counts.processed.fetch_add(1, Relaxed);
        self.counts.rejected.fetch_add(1, Relaxed);
        let (line, reason) = refused;
        if !self.goes_on {
            return Err(BulkError::Entry { name: chunk.source.to_string(), line, reason: reason.into() });
        }
        self.rejects.write(Some(&format!("{}:{line}: {reason}", chunk.source)), text)?;
        prepared.outcome = Outcome::Nothing;
        Ok(())
    }
}

fn missing_parent(dn: &str) -> Box<str> {
    format!("entry \"{dn}\" has no parent: the entry above it must stand before it").into()
}

fn duplicate(dn: &str) -> Box<str> {
    format!("entry \"{dn}\" is there already: two entries have the same name").into()
}
