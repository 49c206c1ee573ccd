//! The counts of an import: workers add, progress and summary read.

use std::sync::atomic::{AtomicU64, Ordering};

use super::names::Names;
use super::options::{SkipReason, Skips};
use super::prepared_batch::{Outcome, PreparedBatch};

/// Counts, written by the workers and read for progress.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub processed: AtomicU64,
    pub imported: AtomicU64,
    skipped: [AtomicU64; SkipReason::ALL.len()],
    pub rejected: AtomicU64,
    pub migrated: AtomicU64,
    /// Entries with each of the attributes that are to be counted.
    counted: Vec<AtomicU64>,
}

impl Counts {
    /// The entries of so many attributes are counted.
    pub fn new(counted: usize) -> Self {
        Self { counted: std::iter::repeat_with(AtomicU64::default).take(counted).collect(), ..Self::default() }
    }

    /// How many entries have each attribute that is counted.
    pub fn counted(&self) -> impl Iterator<Item = u64> {
        self.counted.iter().map(|count| count.load(Ordering::Relaxed))
    }

    pub fn skipped(&self, reason: SkipReason) -> &AtomicU64 {
        let [other_backend, branch, filter] = &self.skipped;
        match reason {
            SkipReason::OtherBackend => other_backend,
            SkipReason::Branch => branch,
            SkipReason::Filter => filter,
        }
    }

    pub fn skips(&self) -> Skips {
        Skips::of(|reason| self.skipped(reason).load(Ordering::Relaxed))
    }

    /// Counts those attributes of imported entries that are to be counted.
    pub fn count_attributes(&self, batch: &PreparedBatch, names: &Names<'_>) {
        if !names.has_counted() {
            return;
        }
        for prepared in &batch.entries {
            let Outcome::Entry(entry) = &prepared.outcome else { continue };
            let counted = batch.attributes_of(entry).iter().filter_map(|it| names.get(it.described)?.counted);
            for place in counted {
                if let Some(count) = self.counted.get(place) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}
