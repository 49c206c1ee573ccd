//! The external sort of an import: (slot, key, id) in, per slot (key → ascending ids) out.
//!
//! Ids come in ascending order. So a run's ids of a key need no comparison, runs cover disjoint ranges of ids, and the
//! merge concatenates. Keys are gathered per slot in memory up to a budget ([`Sorter::append`]), sorted slot by slot on
//! all cores, aggregated and front-coded into a run, and at the end merged slot by slot ([`Sorted::merge`]).
//! Invariants:
//!
//! 1. Within a slot of a run keys ascend strictly; within a key ids ascend strictly.
//! 2. Every id of a run is above every id of the runs before it.
//! 3. Memory stays within the budget plus one batch.
//!
//! It does not know what a key or an id means. Measured against `grenad` in docs/decisions/003-import-sort.md.

mod batch;
mod error;
mod merge;
mod radix;
mod run;
mod slot;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use batch::KeyBatch;
pub use error::SortError;
pub use merge::Merge;
pub use slot::Slot;

use batch::SlotKeys;
use radix::Scratch;
use run::{Cursor, RunFile, Section, encode_section};

/// The smallest budget that makes sense: less would make runs of a few entries.
const BUDGET_BYTES_MIN: usize = 64 << 10;

/// Gathers keys and sorts them run by run.
#[derive(Debug)]
pub struct Sorter {
    slots: Vec<SlotKeys>,
    file: RunFile,
    runs: Vec<Run>,
    threads: usize,
    budget_bytes: usize,
    /// First id of the run being gathered; set by its first batch.
    first_id: Option<u64>,
    last_id: u64,
}

#[derive(Debug)]
struct Run {
    first_id: u64,
    /// By slot; empty ones have length 0.
    sections: Vec<Section>,
}

impl Sorter {
    /// A sorter of `slots` indexes with its temporary file in `directory`, at most about `budget_bytes` of memory.
    ///
    /// # Errors
    /// When the temporary file cannot be made.
    pub fn new(directory: &Path, slots: usize, budget_bytes: usize, threads: usize) -> Result<Self, SortError> {
        Ok(Self {
            slots: std::iter::repeat_with(SlotKeys::default).take(slots).collect(),
            file: RunFile::create(directory)?,
            runs: Vec::new(),
            threads: threads.max(1),
            budget_bytes: budget_bytes.max(BUDGET_BYTES_MIN),
            first_id: None,
            last_id: 0,
        })
    }

    /// Takes the keys of a batch whose rows count from `first_id`; `rows` is how many rows it has.
    ///
    /// # Errors
    /// When ids do not ascend, or a full run cannot be written.
    pub fn append(&mut self, batch: &KeyBatch, first_id: u64, rows: u32) -> Result<(), SortError> {
        if first_id <= self.last_id && self.last_id > 0 {
            return Err(SortError::IdsDescend { first_id, last_id: self.last_id });
        }
        // Ids of a run are 32 bits from its first.
        let reach = (first_id + u64::from(rows)).saturating_sub(self.first_id.unwrap_or(first_id));
        if self.bytes_used() > self.budget_bytes || reach > u64::from(u32::MAX) {
            self.spill()?;
        }
        let base = *self.first_id.get_or_insert(first_id);
        let shift = u32::try_from(first_id - base).map_err(|_| SortError::BatchTooLarge)?;
        for (slot, keys) in self.slots.iter_mut().zip(&batch.slots) {
            slot.append(keys, shift)?;
        }
        self.last_id = first_id + u64::from(rows.max(1)) - 1;
        Ok(())
    }

    /// Sorts what is left and hands out the runs for merging. Frees the memory of gathering.
    ///
    /// # Errors
    /// When the last run cannot be written.
    pub fn finish(mut self) -> Result<Sorted, SortError> {
        self.spill()?;
        Ok(Sorted { file: self.file, runs: self.runs, slots: self.slots.len() })
    }

    /// Memory in use, with what sorting the largest slots at the same time will need.
    fn bytes_used(&self) -> usize {
        let keys: usize = self.slots.iter().map(SlotKeys::bytes).sum();
        let largest = self.slots.iter().map(SlotKeys::scratch_bytes).max().unwrap_or(0);
        keys + largest * self.threads.min(2)
    }

    fn spill(&mut self) -> Result<(), SortError> {
        let Some(first_id) = self.first_id.take() else { return Ok(()) };
        let mut tasks: Vec<(usize, &mut SlotKeys)> =
            self.slots.iter_mut().enumerate().filter(|(_, keys)| !keys.is_empty()).collect();
        tasks.sort_by_key(|(_, keys)| std::cmp::Reverse(keys.bytes()));
        let threads = self.threads.min(tasks.len()).max(1);
        let tasks: Vec<Mutex<Option<(usize, &mut SlotKeys)>>> =
            tasks.into_iter().map(|t| Mutex::new(Some(t))).collect();
        let next = AtomicUsize::new(0);
        let file = &self.file;
        // Each thread takes the largest slot left, so that they end at about the same time.
        let work = || -> Result<Vec<(usize, Section)>, SortError> {
            let (mut scratch, mut out, mut done) = (Scratch::default(), Vec::new(), Vec::new());
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let taken = task.lock().map_or(None, |mut task| task.take());
                let Some((slot, keys)) = taken else { continue };
                encode_section(keys, &mut scratch, &mut out);
                done.push((slot, file.write(&out)?));
            }
            Ok(done)
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            std::iter::once(mine)
                .chain(others.into_iter().map(|t| t.join().unwrap_or(Err(SortError::RunDamaged))))
                .collect()
        });
        drop(tasks);
        let mut sections = vec![Section::default(); self.slots.len()];
        for (slot, section) in results.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
            if let Some(place) = sections.get_mut(slot) {
                *place = section;
            }
        }
        self.runs.push(Run { first_id, sections });
        Ok(())
    }
}

/// The sorted runs.
#[derive(Debug)]
pub struct Sorted {
    file: RunFile,
    runs: Vec<Run>,
    slots: usize,
}

impl Sorted {
    /// The keys of a slot in order. Several slots may be merged at the same time.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn merge(&self, slot: Slot) -> Result<Merge<'_>, SortError> {
        if slot.0 >= self.slots {
            return Err(SortError::UnknownSlot { slot });
        }
        let sections = self.runs.iter().filter_map(|run| Some((run.first_id, *run.sections.get(slot.0)?)));
        let filled = sections.filter(|(_, section)| section.length > 0);
        Merge::new(filled.map(|(first_id, section)| Cursor::new(&self.file, section, first_id)).collect())
    }

    /// Bytes of the runs of a slot: how much work merging it is.
    #[must_use]
    pub fn slot_bytes(&self, slot: Slot) -> u64 {
        self.runs.iter().filter_map(|run| run.sections.get(slot.0)).map(|section| section.length).sum()
    }

    /// How many runs there are.
    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Bytes of the temporary file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }
}
