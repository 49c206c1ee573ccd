//! Changes of the indexes of a backend that proposals make: another set of indexes, a slice of building, forgetting
//! numbers without rows.
//!
//! Invariants:
//! (1) An index that is being built has exactly the keys of the entries up to its point (and of the entry that it is
//!     within: those of the record and of the large values up to the row noted). Updates keep these up to date; later
//!     entries are added by the builder.
//! (2) What is built has a new number, so that no old row interferes. Rows of former numbers are neither read nor
//!     changed; the fold removes them.
//! (3) A slice depends only on the state and on how much work it may do, so a replay does the same.

use std::ops::Bound;
use std::sync::Arc;

use crate::env::meta;
use crate::error::StoreError;
use crate::extract::KeyExtractor;
use crate::index::{BackendIndexes, Build, BuildPoint, ConfiguredIndexes, IndexStates};
use crate::posting::IndexKey;
use crate::posting::block::index_range;
use crate::record::RecordView;
use crate::tables::Tables;
use crate::txn::{Txn, Undo, large_descs};
use crate::view::View;
use crate::{DescId, EntryId, IndexId};

/// Indexes that are built together, because they have come equally far.
struct BuildJob {
    ids: Vec<IndexId>,
    point: BuildPoint,
    /// Where other indexes have come: from there on all are built together.
    joins_at: Option<EntryId>,
}

/// A part of building: which keys are made, and how many at most, about.
struct BuildSlice<'b> {
    extractor: &'b dyn KeyExtractor,
    ids: &'b [IndexId],
    work_max: u64,
}

impl BuildJob {
    /// The indexes that have come least far.
    fn next(states: &IndexStates) -> Option<BuildJob> {
        let building = || {
            states.iter().filter(|(_, state)| state.is_current()).filter_map(|(_, state)| match &state.build {
                Build::UpTo(point) => Some((state.id, point)),
                Build::Complete | Build::Unknown => None,
            })
        };
        let place = |point: &BuildPoint| (point.through, point.within.clone());
        let (_, point) = building().min_by_key(|(_, point)| place(point))?;
        let ids = building().filter(|(_, other)| place(other) == place(point)).map(|(id, _)| id).collect();
        let joins_at = building().map(|(_, other)| other.through).filter(|through| *through > point.through).min();
        Some(BuildJob { ids, point: point.clone(), joins_at })
    }
}

impl Txn<'_> {
    /// The indexes as they are now.
    pub fn indexes(&self) -> &Arc<BackendIndexes> {
        &self.state.indexes
    }

    /// Makes `configured` the indexes of the backend. New ones, and those named in `anew`, are built from the
    /// beginning; those that are no longer configured are removed at once. In a backend without entries there is
    /// nothing to build.
    pub fn set_indexes(&mut self, configured: ConfiguredIndexes, anew: &[String]) -> Result<(), StoreError> {
        let mut states = self.state.indexes.states().clone();
        anew.iter().for_each(|name| states.retire(name));
        states.set_names(&configured.names)?;
        if self.view().all()?.is_empty() {
            states.set_all_trusted();
        }
        self.set_meta_row(meta::CONFIGURED, Some(&configured.to_bytes()));
        let extractor = self.state.binder.bind(&configured, &states);
        self.put_indexes(BackendIndexes::new(Arc::new(configured), states, extractor));
        Ok(())
    }

    /// Continues to build the indexes that have come least far, by about `work_max` keys or entries (whichever are
    /// more). Does nothing when no index is to be built.
    pub fn build_indexes(&mut self, work_max: u64) -> Result<(), StoreError> {
        let indexes = Arc::clone(&self.state.indexes);
        let Some(BuildJob { ids, mut point, joins_at }) = BuildJob::next(indexes.states()) else { return Ok(()) };
        let extractor = self.builder(&indexes, &ids);
        let (entries_before, mut work, mut is_complete) = (point.entries, 0, false);
        while work < work_max {
            let next = match &point.within {
                Some((id, _)) => self.view().entry(*id)?.map(|record| (*id, record.into_bytes().into_owned())),
                None => {
                    let found = self.view().entries(EntryId(point.through.0.saturating_add(1)))?.next().transpose()?;
                    found.map(|(id, record)| (id, record.into_bytes().into_owned()))
                }
            };
            match (next, &point.within) {
                // The entry and its last values were removed meanwhile.
                (None, Some((id, _))) => point = BuildPoint { through: *id, within: None, ..point },
                (None, None) => {
                    is_complete = true;
                    break;
                }
                (Some((id, _)), None) if joins_at.is_some_and(|join| id > join) => {
                    point.through = joins_at.unwrap_or(id);
                    break;
                }
                (Some((id, bytes)), _) => {
                    let slice = BuildSlice { extractor: &*extractor, ids: &ids, work_max: work_max - work };
                    work += self.build_entry(&slice, id, &bytes, &mut point)?;
                }
            }
        }
        let done = point.entries - entries_before;
        let mut states = indexes.states().clone();
        for id in ids {
            let own_before = match states.get(id).map(|state| &state.build) {
                Some(Build::UpTo(own)) => own.entries,
                _ => 0,
            };
            let build = match is_complete {
                true => Build::Complete,
                false => Build::UpTo(BuildPoint { entries: own_before + done, ..point.clone() }),
            };
            states.set_build(id, build);
        }
        self.put_indexes(indexes.with_states(states));
        Ok(())
    }

    /// Forgets numbers of former indexes of which no row is left.
    pub fn forget_indexes(&mut self, numbers: &[IndexId]) {
        let mut states = self.state.indexes.states().clone();
        states.forget(numbers);
        let indexes = self.state.indexes.with_states(states);
        self.put_indexes(indexes);
    }

    /// Adds the keys of an entry, or a part of them, and moves the point. Returns how much work that was.
    fn build_entry(
        &mut self,
        slice: &BuildSlice<'_>,
        id: EntryId,
        bytes: &[u8],
        point: &mut BuildPoint,
    ) -> Result<u64, StoreError> {
        let BuildSlice { extractor, ids, work_max } = *slice;
        let tables = self.state.tables.clone();
        let record = RecordView::parse(bytes, &tables)?;
        let feeds = |desc: &DescId| ids.iter().any(|index| extractor.feeds(&tables, *desc, *index));
        let mut large: Vec<DescId> = large_descs(&record).filter(feeds).collect();
        large.sort_unstable();
        let mut work = 0;
        let after = match point.within.take() {
            Some((_, after)) => after,
            None => {
                let mut keys = Vec::new();
                extractor.changes(None, Some(&record), &mut |_, index, key| keys.push(IndexKey::new(index, key)));
                work += 1 + keys.len() as u64;
                keys.into_iter().for_each(|key| self.change_posting(key, id, true));
                Vec::new()
            }
        };
        for desc in large {
            // At most so many values are read: each makes at least one key.
            let wanted = usize::try_from(work_max.saturating_sub(work)).unwrap_or(usize::MAX).max(1);
            let values = self.view().large_values_after(id, desc, &after)?.take(wanted);
            let values: Vec<(Vec<u8>, Vec<u8>)> = values
                .map(|found| found.map(|(row, value)| (row, value.into_owned())))
                .collect::<Result<_, StoreError>>()?;
            for (row, value) in values {
                work += 1;
                for key in value_keys(extractor, &tables, desc, &value) {
                    work += 1;
                    if !self.view().postings(&key)?.contains(id)? {
                        self.change_posting(key, id, true);
                    }
                }
                point.within = Some((id, row));
                if work >= work_max {
                    return Ok(work);
                }
            }
        }
        *point = BuildPoint { through: id, entries: point.entries + 1, within: None };
        Ok(work)
    }

    /// Makes the keys of the indexes that are being built, and of no other.
    fn builder(&mut self, indexes: &BackendIndexes, ids: &[IndexId]) -> Arc<dyn KeyExtractor> {
        match &self.state.builder {
            Some((known, extractor)) if known == ids => Arc::clone(extractor),
            _ => {
                let extractor = self.state.binder.bind(indexes.configured(), &indexes.states().only(ids));
                self.state.builder = Some((ids.to_vec(), Arc::clone(&extractor)));
                extractor
            }
        }
    }

    fn put_indexes(&mut self, indexes: BackendIndexes) {
        self.set_meta_row(meta::INDEXES, Some(&indexes.states().to_bytes()));
        let old = std::mem::replace(&mut self.state.indexes, Arc::new(indexes));
        self.state.undo.push(Undo::Indexes(old));
    }
}

impl View<'_> {
    /// Whether the index has no row and no change left.
    pub fn is_blank(&self, index: IndexId) -> Result<bool, StoreError> {
        let (first, end) = index_range(index);
        for overlay in self.layers.into_iter().flatten() {
            if overlay.postings.range(first.clone()..end.clone()).next().is_some() {
                return Ok(false);
            }
        }
        Ok(self
            .dbs
            .postings
            .range(self.txn, &(Bound::Included(first.as_bytes()), Bound::Excluded(end.as_bytes())))?
            .next()
            .is_none())
    }
}

/// The keys of a large value, each once.
fn value_keys(extractor: &dyn KeyExtractor, tables: &Tables, desc: DescId, value: &[u8]) -> Vec<IndexKey> {
    let mut keys = Vec::new();
    extractor.value_keys(tables, desc, value, &mut |index, key, _| keys.push(IndexKey::new(index, key)));
    keys.sort_unstable();
    keys.dedup();
    keys
}
