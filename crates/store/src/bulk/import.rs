//! The import as a whole: workers, turns, the sort, the new environment, the swap.
//!
//! Each worker takes a chunk, prepares it, waits for its turn to give out ids, makes records and keys, and waits for
//! its turn to hand them over. Both turns follow the file, so the result does not depend on which worker was quick.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::assign::Assigner;
use super::counts::Counts;
use super::error::BulkError;
use super::finish::{Finished, Finisher, Slots};
use super::input::{Chunk, Chunks, Input, LdifSource};
use super::kept::OldDatabase;
use super::options::{ImportOptions, ImportSummary, Phase, Progress};
use super::plan::Plan;
use super::postings::{BuiltPostings, PostingsBuilder};
use super::prepare::Preparer;
use super::prepared_batch::PreparedBatch;
use super::sort::{Sorted, Sorter};
use super::swap;
use super::turns::Turns;
use super::writer::{PostingRows, Writer};
use crate::backend::{database_path, new_uuid};
use crate::env::{self, Env, MetaRows, meta};
use crate::index::{ConfiguredIndexes, IndexSet, IndexStates, Indexer, SchemaTypes};
use crate::instance_lock::InstanceLock;
use crate::tables::Tables;
use crate::{EntryId, StoreError};

/// Default memory of the sort: three or four runs for a million entries.
const SORT_BYTES: usize = 512 << 20;

/// How often progress is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Imports `sources` as `options` say. Whatever fails, the old data stays in place and serves on.
///
/// # Errors
/// See [`BulkError`]: an input or entry is not valid, no room, no permission, interrupted.
pub fn import(
    sources: Vec<LdifSource>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ImportSummary, BulkError> {
    let _lock = InstanceLock::take(&options.directory)?;
    let place = database_path(&options.directory);
    let directory = swap::prepare(&place).map_err(BulkError::Swap)?;
    let result = Import::new(options, &directory).and_then(|import| import.run(sources, progress));
    if result.is_err() {
        // What was built is useless. If it cannot be removed now, the next import or start removes it.
        let _ = std::fs::remove_dir_all(&directory);
    }
    result
}

/// One import under way.
struct Import<'o> {
    options: &'o ImportOptions,
    directory: &'o Path,
    plan: Plan<'o>,
    indexer: Indexer,
    states: IndexStates,
    configured: ConfiguredIndexes,
    slots: Slots,
    counts: Counts,
    started: Instant,
    threads: usize,
    /// What the rules keep, if entries stay.
    rules_rows: MetaRows,
}

/// What workers share.
struct Pool<'s> {
    chunks: Mutex<(Chunks, u64)>,
    assigning: Turns,
    handing: Turns,
    assigner: Mutex<Assigner<'s>>,
    sorter: Mutex<Sorter>,
    tables: &'s Mutex<Tables>,
    writer: &'s Writer,
    failure: Mutex<Option<BulkError>>,
}

impl<'o> Import<'o> {
    fn new(options: &'o ImportOptions, directory: &'o Path) -> Result<Self, BulkError> {
        let mut states = IndexStates::default();
        let set = std::sync::Arc::new(IndexSet::new(&options.schema, &options.indexes, &mut states)?);
        let configured = ConfiguredIndexes::new(&options.schema, options.indexes.clone())?;
        let slots = Slots::new(&set);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            options,
            directory,
            plan: Plan::new(options)?,
            indexer: Indexer::new(std::sync::Arc::clone(&options.schema), set),
            states,
            configured,
            slots,
            counts: Counts::new(options.counted_attributes.len()),
            started: Instant::now(),
            threads: if options.threads == 0 { cores } else { options.threads },
            rules_rows: Vec::new(),
        })
    }

    fn run(
        mut self,
        sources: Vec<LdifSource>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<ImportSummary, BulkError> {
        let old = OldDatabase::open(&self.plan)?;
        let built = match old {
            None => self.build(sources.into_iter().map(Input::Ldif).collect(), progress),
            Some(mut old) => {
                self.rules_rows = old.rules_rows()?;
                let sources = old.around(sources, &self.plan, self.temporary());
                let built = sources.and_then(|sources| self.build(sources, progress));
                let closed = old.close();
                built.and_then(|built| closed.map(|()| built))
            }
        };
        let summary = built?;
        if self.options.cancel.is_cancelled() {
            return Err(BulkError::Cancelled);
        }
        if summary.imported + summary.migrated == 0 && !self.options.may_be_empty {
            let ImportSummary { processed, rejected, skipped, .. } = summary;
            return Err(BulkError::NothingLeft { processed, rejected, skipped });
        }
        swap::swap(&database_path(&self.options.directory)).map_err(BulkError::Swap)?;
        Ok(ImportSummary { elapsed: self.started.elapsed(), ..summary })
    }

    /// Makes the new database, whole and synced, beside the old one.
    fn build(&mut self, sources: Vec<Input>, progress: &mut dyn FnMut(&Progress)) -> Result<ImportSummary, BulkError> {
        let env = Env::open(self.directory, new_uuid())?;
        let writer = Writer::start(env.clone())?;
        let tables = Mutex::new(Tables::new(SchemaTypes::shared(&self.options.schema)));
        let read = self.read_entries(sources, &tables, &writer, progress);
        let built = read.and_then(|(sorted, next)| {
            let phase_one = self.started.elapsed();
            Ok((self.write_postings(&sorted, &writer, progress)?, next, phase_one))
        });
        // The error of the writer says more than that it has ended.
        let written = writer.finish();
        let (built, next_entry, phase_one) = match (built, written) {
            (Err(BulkError::WriterGone), Err(error)) | (Ok(_), Err(error)) => return Err(error),
            (built, _) => built?,
        };
        progress(&self.progress(Phase::Syncing, 0, None));
        self.states.set_all_trusted();
        let tables = tables.into_inner().map_err(|_| BulkError::WriterGone)?;
        self.write_meta(&env, &tables, next_entry, built)?;
        env.sync()?;
        let database_bytes = env.bytes().0;
        env.close();
        Ok(self.summary(built, database_bytes, phase_one))
    }

    /// Phase one: entries into the new environment, keys into the sorter. Gives the sorted keys and the next free id.
    fn read_entries(
        &self,
        sources: Vec<Input>,
        tables: &Mutex<Tables>,
        writer: &Writer,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(Sorted, EntryId), BulkError> {
        let memory = if self.options.memory_bytes == 0 { SORT_BYTES } else { self.options.memory_bytes };
        let shared = Pool {
            chunks: Mutex::new((Chunks::new(sources), 0)),
            assigning: Turns::default(),
            handing: Turns::default(),
            assigner: Mutex::new(Assigner::new(self.options, &self.counts)?),
            sorter: Mutex::new(Sorter::new(self.temporary(), self.slots.len(), memory, self.threads)?),
            tables,
            writer,
            failure: Mutex::new(None),
        };
        std::thread::scope(|scope| {
            let (alive, ended) = bounded::<()>(0);
            for _ in 0..self.threads {
                let (alive, shared) = (alive.clone(), &shared);
                scope.spawn(move || {
                    if let Err(error) = self.work(shared) {
                        shared.stop(error);
                    }
                    drop(alive);
                });
            }
            drop(alive);
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PROGRESS_EVERY) {
                if self.options.cancel.is_cancelled() {
                    shared.stop(BulkError::Cancelled);
                }
                let bytes = shared.chunks.lock().map_or((0, None), |chunks| chunks.0.progress());
                progress(&self.progress(Phase::Entries, bytes.0, bytes.1));
            }
        });
        let gone = |_| BulkError::WriterGone;
        if let Some(error) = shared.failure.into_inner().map_err(|_| BulkError::WriterGone)? {
            return Err(error);
        }
        let next_entry = shared.assigner.into_inner().map_err(|_| BulkError::WriterGone)?.finish()?;
        let bytes = shared.chunks.into_inner().map_err(gone)?.0.progress();
        progress(&self.progress(Phase::Entries, bytes.0, bytes.1));
        let sorted = shared.sorter.into_inner().map_err(|_| BulkError::WriterGone)?.finish()?;
        Ok((sorted, next_entry))
    }

    /// Where temporary files go.
    fn temporary(&self) -> &Path {
        self.options.temporary_directory.as_deref().unwrap_or(self.directory)
    }

    /// What each worker does.
    fn work(&self, shared: &Pool<'_>) -> Result<(), BulkError> {
        let mut preparer = Preparer::new(&self.plan, shared.tables);
        let mut finisher = Finisher::new(&self.indexer, &self.slots);
        let mut batch = PreparedBatch::default();
        while let Some((turn, chunk)) = shared.take_chunk()? {
            preparer.prepare(&chunk, &mut batch);
            if !shared.assigning.wait(turn) {
                return Ok(());
            }
            let assigned = match shared.assigner.lock() {
                Ok(mut assigner) => assigner.assign(&chunk, &mut batch),
                Err(_) => Err(BulkError::WriterGone),
            };
            let first_id = assigned?;
            self.counts.count_attributes(&batch, &preparer.names);
            shared.assigning.pass();
            let finished = finisher.finish(&batch, &mut preparer.names, first_id)?;
            if !shared.handing.wait(turn) {
                return Ok(());
            }
            shared.hand_over(finished, first_id)?;
            shared.handing.pass();
        }
        Ok(())
    }

    /// Phase two: the postings of all indexes, in order.
    fn write_postings(
        &self,
        sorted: &Sorted,
        writer: &Writer,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<BuiltPostings, BulkError> {
        let total = sorted.bytes();
        let mut rows = PostingRows::new(writer);
        let mut builder = PostingsBuilder::new(&mut rows, 1);
        let mut merged = 0;
        for (slot, index) in self.slots.iter() {
            if self.options.cancel.is_cancelled() {
                return Err(BulkError::Cancelled);
            }
            progress(&self.progress(Phase::Indexes, merged, Some(total)));
            builder.index(sorted, slot, index)?;
            merged += sorted.slot_bytes(slot);
        }
        let built = builder.finish()?;
        rows.finish()?;
        progress(&self.progress(Phase::Indexes, total, Some(total)));
        Ok(built)
    }

    fn write_meta(
        &self,
        env: &Env,
        tables: &Tables,
        next_entry: EntryId,
        built: BuiltPostings,
    ) -> Result<(), BulkError> {
        let mut txn = env.write()?;
        let dbs = env.dbs();
        env::write_tables(dbs, &mut txn, tables)?;
        env::write_index_states(dbs, &mut txn, &self.states)?;
        env::write_configured_indexes(dbs, &mut txn, &self.configured)?;
        for (key, value) in &self.rules_rows {
            dbs.meta.put(&mut txn, key, value).map_err(StoreError::from)?;
        }
        for (key, number) in [(meta::NEXT_ENTRY, next_entry.0), (meta::NEXT_LIST, built.next_list), (meta::FOLDED, 0)] {
            dbs.meta.put(&mut txn, key, &number.to_be_bytes()).map_err(StoreError::from)?;
        }
        Ok(txn.commit().map_err(StoreError::from)?)
    }

    fn progress(&self, phase: Phase, bytes_read: u64, bytes_total: Option<u64>) -> Progress {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            phase,
            processed: count(&self.counts.processed),
            imported: count(&self.counts.imported),
            skipped: self.counts.skips().total(),
            rejected: count(&self.counts.rejected),
            migrated: count(&self.counts.migrated),
            bytes_read,
            bytes_total,
            elapsed: self.started.elapsed(),
        }
    }

    fn summary(&self, built: BuiltPostings, database_bytes: u64, phase_one: Duration) -> ImportSummary {
        let now = self.progress(Phase::Syncing, 0, None);
        let counted = self.options.counted_attributes.iter().zip(self.counts.counted());
        ImportSummary {
            counted: counted.map(|(name, count)| (name.clone(), count)).collect(),
            processed: now.processed,
            imported: now.imported,
            skipped: self.counts.skips(),
            rejected: now.rejected,
            migrated: now.migrated,
            index_keys: built.keys,
            index_ids: built.ids,
            database_bytes,
            elapsed: now.elapsed,
            phase_one,
            phase_two: now.elapsed.saturating_sub(phase_one),
        }
    }
}

impl Pool<'_> {
    /// The next chunk and its turn.
    fn take_chunk(&self) -> Result<Option<(u64, Chunk)>, BulkError> {
        let mut chunks = self.chunks.lock().map_err(|_| BulkError::WriterGone)?;
        let (source, next) = &mut *chunks;
        let Some(chunk) = source.next()? else { return Ok(None) };
        *next += 1;
        Ok(Some((*next - 1, chunk)))
    }

    fn hand_over(&self, finished: &mut Finished, first_id: EntryId) -> Result<(), BulkError> {
        if finished.rows > 0 {
            let mut sorter = self.sorter.lock().map_err(|_| BulkError::WriterGone)?;
            sorter.append(&finished.keys, first_id.0, finished.rows)?;
        }
        self.writer.send(finished.entries.take())?;
        self.writer.send(finished.values.take())
    }

    /// Keeps the first error and ends all workers.
    fn stop(&self, error: BulkError) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
        self.assigning.stop();
        self.handing.stop();
    }
}
