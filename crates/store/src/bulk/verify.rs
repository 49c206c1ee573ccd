//! `verify-index`: checks that entries, tree, postings and large values agree, and reports where they do not.
//!
//! The keys of all entries are made and sorted as in an import, then compared with the indexes key by key and id by id:
//! one pass finds missing and superfluous ids. It reads one snapshot, so LMDB, overlay and the log behind the overlay
//! are checked as one state. It changes nothing.

use std::collections::HashMap;
use std::ops::Bound;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use schema::NormalizedDn;

use super::entry_by_name::entry_by_name;
use super::error::BulkError;
use super::finish::Slots;
use super::index_names::{index_name, named_indexes};
use super::options::{Cancel, PROGRESS_ENTRIES, Phase, Progress};
use super::problem::Problem;
use super::rekey::{Settings, Watcher, rekey};
use super::sort::{Merge, Slot, Sorted};
use crate::env::{self, Dbs, ReadTxn, meta};
use crate::extract::KeyExtractor;
use crate::index::{Build, IndexState, IndexStates, Indexer};
use crate::posting::container::parse_chunk_key;
use crate::posting::{Container, List};
use crate::postings::Postings;
use crate::record::{LargeStub, RecordView};
use crate::rows::parse_value_key;
use crate::version::Snapshot;
use crate::view::View;
use crate::{DescId, EntryId, IndexId, ListId, StoreError};

/// What to verify, and how.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// Only these indexes (OpenDJ index ids, or `dn2id`, `id2children`, `id2entry`); none: everything.
    pub indexes: Vec<String>,
    /// Worker threads; 0: one for each core.
    pub threads: usize,
    /// Memory for sorting; 0: the default.
    pub memory_bytes: usize,
    /// Base DNs of other backends: no entry here may have such a name.
    pub other_base_dns: Vec<NormalizedDn>,
    /// Where the sort keeps its temporary file.
    pub temporary_directory: PathBuf,
    /// Stops the work.
    pub cancel: Cancel,
}

impl VerifyOptions {
    /// Everything, with as many threads and as much memory as is usual, beside no other backend.
    #[must_use]
    pub fn everything(temporary_directory: PathBuf) -> Self {
        Self {
            indexes: Vec::new(),
            threads: 0,
            memory_bytes: 0,
            other_base_dns: Vec::new(),
            temporary_directory,
            cancel: Cancel::default(),
        }
    }
}

/// What was verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifySummary {
    /// Entries read.
    pub entries: u64,
    /// Index keys compared.
    pub keys: u64,
    /// Problems found.
    pub problems: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Verifies what `snapshot` sees; each problem is given to `report`.
///
/// # Errors
/// When the database cannot be read at all, an index is not known, or the work was interrupted. Problems are no errors.
pub fn verify(
    snapshot: &Snapshot,
    indexer: &Indexer,
    options: &VerifyOptions,
    report: &mut dyn FnMut(&Problem),
) -> Result<VerifySummary, BulkError> {
    verify_with_progress(snapshot, indexer, options, &mut |_| {}, report)
}

/// [`verify`] with progress.
///
/// # Errors
/// As there.
pub fn verify_with_progress(
    snapshot: &Snapshot,
    indexer: &Indexer,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(&Progress),
    report: &mut dyn FnMut(&Problem),
) -> Result<VerifySummary, BulkError> {
    let (dbs, txn) = snapshot.base();
    let state = State { dbs, txn, next_entry: snapshot.next_entry(), index_states: snapshot.indexes().states() };
    verify_view(snapshot.view(), &state, indexer, options, progress, report)
}

/// What verifying needs beside the view.
pub(super) struct State<'s> {
    pub dbs: &'s Dbs,
    pub txn: &'s ReadTxn,
    pub next_entry: EntryId,
    pub index_states: &'s IndexStates,
}

pub(super) fn verify_view(
    view: View<'_>,
    state: &State<'_>,
    indexer: &Indexer,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(&Progress),
    report: &mut dyn FnMut(&Problem),
) -> Result<VerifySummary, BulkError> {
    let started = Instant::now();
    let chosen = named_indexes(indexer, &options.indexes)?;
    let is_whole = options.indexes.is_empty();
    let (mut trusted, mut untrusted) = (Vec::new(), Vec::new());
    for index in chosen {
        let is_system = index < IndexId::FIRST_CONFIGURED;
        if is_system || state.index_states.is_trusted(index) { trusted.push(index) } else { untrusted.push(index) }
    }
    let slots = Slots::of(trusted);
    let mut check = Check {
        view,
        indexer,
        progress,
        started,
        total: view.entry_count()?,
        report,
        summary: VerifySummary::default(),
        parents: Vec::new(),
        large: HashMap::new(),
    };
    for index in untrusted {
        let name = index_name(indexer, index);
        match state.index_states.get(index) {
            // No search uses it, so it is not compared.
            Some(IndexState { build: Build::UpTo(point), .. }) => {
                let (entries, total) = (point.entries, view.entry_count()?);
                (check.report)(&Problem::Building { index: name, entries, total });
            }
            _ => check.problem(&Problem::Untrusted { index: name }),
        }
    }
    let temporary = &options.temporary_directory;
    let settings = Settings::new(options.threads, options.memory_bytes, temporary, &options.cancel);
    let sorted = rekey(view, indexer, &slots, &settings, &mut check)?;
    let mut compared = 0;
    for (slot, index) in slots.iter() {
        if options.cancel.is_cancelled() {
            return Err(BulkError::Cancelled);
        }
        check.tell(Phase::Indexes, compared, sorted.bytes());
        check.index(&sorted, slot, index)?;
        compared += sorted.slot_bytes(slot);
    }
    if is_whole {
        check.foreign_names(&options.other_base_dns)?;
        check.tree();
        check.large_values()?;
        check.lists(state)?;
        check.counters(state)?;
    }
    check.summary.elapsed = started.elapsed();
    Ok(check.summary)
}

struct Check<'c> {
    view: View<'c>,
    indexer: &'c Indexer,
    progress: &'c mut dyn FnMut(&Progress),
    started: Instant,
    /// The entries that exist.
    total: u64,
    report: &'c mut dyn FnMut(&Problem),
    summary: VerifySummary,
    /// Entries and their parents, by id.
    parents: Vec<(EntryId, EntryId)>,
    /// Large attributes that records have a stub for.
    large: HashMap<(EntryId, DescId), LargeStub>,
}

impl Watcher for Check<'_> {
    fn entry(&mut self, id: EntryId, record: &RecordView<'_>) {
        self.summary.entries += 1;
        if self.summary.entries.is_multiple_of(PROGRESS_ENTRIES) {
            self.tell(Phase::Entries, self.summary.entries, self.total);
        }
        self.parents.push((id, record.parent()));
        if record.check().is_err() {
            self.problem(&Problem::Record { id, reason: "its record is damaged".to_owned() });
        }
        let mut name = Vec::new();
        if !self.indexer.normalize_rdn(record.rdn(), record.parent() == EntryId::ROOT, &mut name) {
            let rdn = String::from_utf8_lossy(record.rdn()).into_owned();
            self.problem(&Problem::Record { id, reason: format!("\"{rdn}\" is no RDN") });
        }
    }

    fn large(&mut self, id: EntryId, desc: DescId, stub: LargeStub, found: LargeStub) {
        if stub != found {
            let reason = format!(
                "the record counts {} values of {} bytes, there are {} of {}",
                stub.count, stub.bytes, found.count, found.bytes
            );
            self.problem(&Problem::LargeValues { id, attribute: self.attribute(desc), reason });
        }
        self.large.insert((id, desc), found);
    }

    fn damaged(&mut self, id: EntryId, error: StoreError) -> Result<(), BulkError> {
        self.problem(&Problem::Record { id, reason: error.to_string() });
        Ok(())
    }
}

impl Check<'_> {
    fn problem(&mut self, problem: &Problem) {
        self.summary.problems += 1;
        (self.report)(problem);
    }

    fn tell(&mut self, phase: Phase, done: u64, total: u64) {
        let now = Progress::at(phase, self.started);
        let processed = self.summary.entries;
        (self.progress)(&Progress { processed, bytes_read: done, bytes_total: Some(total), ..now });
    }

    /// A name belongs to one backend, the one with the longest base DN above it.
    fn foreign_names(&mut self, others: &[NormalizedDn]) -> Result<(), BulkError> {
        for base in others {
            if let Some(id) = entry_by_name(self.view, base)? {
                let dn = self.view.dn_of(id)?.unwrap_or_default();
                self.problem(&Problem::ForeignName { id, dn });
            }
        }
        Ok(())
    }

    fn attribute(&self, desc: DescId) -> String {
        self.view.tables().description(desc).map_or_else(|| format!("number {}", desc.0), str::to_owned)
    }

    /// Compares an index with the keys of the entries.
    fn index(&mut self, sorted: &Sorted, slot: Slot, index: IndexId) -> Result<(), BulkError> {
        let name = index_name(self.indexer, index);
        let mut expected = sorted.merge(slot)?;
        let mut wanted = expected.next()?;
        let mut scan = self.view.scan(index, Bound::Unbounded, Bound::Unbounded)?;
        loop {
            let (key, postings) = match scan.next() {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(error) => {
                    self.problem(&Problem::Index { index: name.clone(), reason: error.to_string() });
                    break;
                }
            };
            let key = key.to_vec();
            while wanted.is_some() && expected.key() < key.as_slice() {
                self.compare(&name, &mut expected, None)?;
                wanted = expected.next()?;
            }
            if wanted.is_some() && expected.key() == key.as_slice() {
                self.compare(&name, &mut expected, Some(postings))?;
                wanted = expected.next()?;
            } else {
                for id in postings.iter() {
                    self.problem(&Problem::Extra { index: name.clone(), key: shown(&key), id });
                }
            }
            self.summary.keys += 1;
            if index == IndexId::DN {
                self.one_name(postings);
            }
        }
        while wanted.is_some() {
            self.compare(&name, &mut expected, None)?;
            wanted = expected.next()?;
        }
        Ok(())
    }

    /// Compares the ids of one key.
    fn compare(&mut self, name: &str, expected: &mut Merge<'_>, actual: Option<Postings<'_>>) -> Result<(), BulkError> {
        let key = expected.key().to_vec();
        let mut found = 0;
        let mut ids = actual.map(|postings| postings.iter());
        let mut next = ids.as_mut().and_then(Iterator::next);
        let mut problems = Vec::new();
        expected.ids::<BulkError>(|id| {
            let id = EntryId(id);
            while let Some(extra) = next.filter(|have| *have < id) {
                problems.push(Problem::Extra { index: name.to_owned(), key: shown(&key), id: extra });
                found += 1;
                next = ids.as_mut().and_then(Iterator::next);
            }
            if next == Some(id) {
                found += 1;
                next = ids.as_mut().and_then(Iterator::next);
            } else {
                problems.push(Problem::Missing { index: name.to_owned(), key: shown(&key), id });
            }
            Ok(())
        })?;
        while let Some(extra) = next {
            problems.push(Problem::Extra { index: name.to_owned(), key: shown(&key), id: extra });
            found += 1;
            next = ids.as_mut().and_then(Iterator::next);
        }
        if let (Some(ids), true) = (&ids, actual.is_some()) {
            if ids.is_damaged() {
                let reason = format!("the list of key {} is damaged", shown(&key));
                problems.push(Problem::Index { index: name.to_owned(), reason });
            }
            let stored = actual.map_or(0, |postings| postings.count());
            if stored != found {
                problems.push(Problem::Count { index: name.to_owned(), key: shown(&key), stored, found });
            }
        }
        problems.iter().for_each(|problem| self.problem(problem));
        Ok(())
    }

    /// A name belongs to one entry.
    fn one_name(&mut self, postings: Postings<'_>) {
        let mut ids = postings.iter();
        if let Some(other) = ids.next() {
            for id in ids {
                self.problem(&Problem::SameName { id, other });
            }
        }
    }

    /// Every way up ends at the root.
    fn tree(&mut self) {
        let parents = std::mem::take(&mut self.parents);
        let position = |id: EntryId| parents.binary_search_by_key(&id, |(own, _)| *own).ok();
        // 0: not seen, 1: on the way being followed, 2: ends at the root or is reported.
        let mut seen = vec![0u8; parents.len()];
        let mut way = Vec::new();
        for start in 0..parents.len() {
            let mut at = Some(start);
            while let Some(here) = at {
                match seen.get(here) {
                    Some(0) => {}
                    Some(1) => {
                        if let Some((id, _)) = parents.get(here) {
                            self.problem(&Problem::Cycle { id: *id });
                        }
                        break;
                    }
                    _ => break,
                }
                if let Some(mark) = seen.get_mut(here) {
                    *mark = 1;
                }
                way.push(here);
                let Some((id, parent)) = parents.get(here).copied() else { break };
                at = if parent == EntryId::ROOT { None } else { position(parent) };
                if at.is_none() && parent != EntryId::ROOT {
                    self.problem(&Problem::NoParent { id, parent });
                }
            }
            for here in way.drain(..) {
                if let Some(mark) = seen.get_mut(here) {
                    *mark = 2;
                }
            }
        }
    }

    /// Every large value belongs to a record, under the right key.
    fn large_values(&mut self) -> Result<(), BulkError> {
        let schema = self.indexer.schema().clone();
        let mut normal = Vec::new();
        let mut last_orphan = None;
        for row in self.view.all_large_values()? {
            let (key, value) = match row {
                Ok(row) => row,
                Err(error) => {
                    self.problem(&Problem::Record { id: EntryId::ROOT, reason: error.to_string() });
                    break;
                }
            };
            let with_part = [key.as_slice(), &[0, 0]].concat();
            let Ok((id, desc, _, _)) = parse_value_key(&with_part) else { continue };
            if !self.large.contains_key(&(id, desc)) {
                if last_orphan.replace((id, desc)) != Some((id, desc)) {
                    let reason = "has large values, but its record does not say so".to_owned();
                    self.problem(&Problem::LargeValues { id, attribute: self.attribute(desc), reason });
                }
                continue;
            }
            let of_type = self.view.tables().type_of(desc).map(schema::TypeIndex);
            let rule = of_type.and_then(|t| schema.attribute_by_index(t)).and_then(|t| t.equality);
            normal.clear();
            if rule.is_none_or(|rule| rule.normalize(&schema, &value, &mut normal).is_err()) {
                normal.extend_from_slice(&value);
            }
            if crate::rows::value_key(id, desc, &normal) != key {
                let reason = format!("value \"{}\" is stored under a wrong key", shown(&value));
                self.problem(&Problem::LargeValues { id, attribute: self.attribute(desc), reason });
            }
        }
        Ok(())
    }

    /// Every container belongs to a key, and their counts agree. Looks at LMDB alone: overlays have no containers.
    fn lists(&mut self, state: &State<'_>) -> Result<(), BulkError> {
        let mut counts: HashMap<ListId, u64> = HashMap::new();
        let mut highest = 0;
        for row in state.dbs.postings.iter(state.txn).map_err(StoreError::from)? {
            let (key, data) = row.map_err(StoreError::from)?;
            let mut block = crate::posting::BlockView::new(key, data).iter();
            loop {
                match block.next() {
                    Ok(None) => break,
                    Ok(Some((_, List::Inline(_)))) => {}
                    Ok(Some((key, List::Long { count, list }))) => {
                        highest = highest.max(list.0);
                        if counts.insert(list, count).is_some() {
                            let reason = format!("two keys refer to it, one is {}", shown(key));
                            self.problem(&Problem::List { list: list.0, reason });
                        }
                    }
                    Err(damaged) => {
                        let reason = format!("the block at {} is damaged: {damaged}", shown(key));
                        self.problem(&Problem::Index { index: format!("number {}", key_index(key)), reason });
                        break;
                    }
                }
            }
        }
        let mut found: HashMap<ListId, u64> = HashMap::new();
        for row in state.dbs.chunks.iter(state.txn).map_err(StoreError::from)? {
            let (key, data) = row.map_err(StoreError::from)?;
            let Ok((list, _)) = parse_chunk_key(key) else { continue };
            highest = highest.max(list.0);
            match Container::parse(data).and_then(|container| container.check().map(|()| container.len())) {
                Ok(len) => *found.entry(list).or_default() += len,
                Err(damaged) => self.problem(&Problem::List { list: list.0, reason: damaged.to_string() }),
            }
            if !counts.contains_key(&list) && found.contains_key(&list) {
                found.insert(list, 0);
            }
        }
        let mut all: Vec<(ListId, u64)> = found.into_iter().collect();
        all.sort_unstable();
        for (list, ids) in all {
            match counts.remove(&list) {
                None => self.problem(&Problem::List { list: list.0, reason: "no key refers to it".to_owned() }),
                Some(count) if count != ids => {
                    let reason = format!("its key counts {count} ids, there are {ids}");
                    self.problem(&Problem::List { list: list.0, reason });
                }
                Some(_) => {}
            }
        }
        for (list, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            self.problem(&Problem::List { list: list.0, reason: format!("its key counts {count} ids, there is none") });
        }
        let next = env::read_u64(state.dbs, state.txn, meta::NEXT_LIST)?.unwrap_or(1);
        if highest >= next {
            self.problem(&Problem::Counter { what: "long lists", next, used: highest });
        }
        Ok(())
    }

    fn counters(&mut self, state: &State<'_>) -> Result<(), BulkError> {
        let mut highest = EntryId::ROOT;
        for id in self.view.all()?.iter() {
            highest = id;
        }
        if highest >= state.next_entry {
            self.problem(&Problem::Counter { what: "entry ids", next: state.next_entry.0, used: highest.0 });
        }
        Ok(())
    }
}

fn key_index(key: &[u8]) -> u16 {
    crate::posting::key::index_of(key).0
}

/// A key for people: text as it is, the rest escaped.
fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => format!("\"{text}\""),
        _ => format!("\"{}\"", key.escape_ascii()),
    }
}
