//! `rebuild-index`: rebuilds indexes from the entries in one transaction, so that an index is either as it was or
//! right.
//!
//! The backend must be closed (its log folded): what is rebuilt is what LMDB has. Keys come from the same code and the
//! same sort as an import's.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heed::RwTxn;
use schema::Schema;

use super::error::BulkError;
use super::finish::Slots;
use super::index_names::{index_name, named_indexes};
use super::options::PROGRESS_ENTRIES;
use super::options::{Cancel, Phase, Progress};
use super::postings::{PostingsBuilder, RowSink};
use super::rekey::{Settings, Watcher, rekey};
use crate::backend::database_path;
use crate::env::{self, Dbs, Env, meta};
use crate::fold::remove_rows;
use crate::index::{ConfiguredIndexes, IndexConfigs, IndexSet, Indexer, SchemaTypes};
use crate::instance_lock::InstanceLock;
use crate::record::{LargeStub, RecordView};
use crate::view::View;
use crate::{DescId, EntryId, IndexId, StoreError};

/// Which indexes are rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebuildWhich {
    /// All, those of the tree included (`--rebuildAll`).
    All,
    /// Those that may not answer searches as they are (`--rebuildDegraded`).
    Degraded,
    /// These: OpenDJ index ids, attribute names, `dn2id`, `id2children`, `id2entry`.
    Named(Vec<String>),
}

/// What to rebuild, and how.
#[derive(Debug, Clone)]
pub struct RebuildOptions {
    /// The backend's folder.
    pub directory: PathBuf,
    /// The schema.
    pub schema: Arc<Schema>,
    /// All indexes of the backend.
    pub indexes: IndexConfigs,
    /// Which of them.
    pub which: RebuildWhich,
    /// They are only marked as complete (`--clearDegradedState`), which is right if no entry ever had the attribute.
    pub clear_degraded_state: bool,
    /// Worker threads; 0: one for each core.
    pub threads: usize,
    /// Memory for sorting; 0: the default.
    pub memory_bytes: usize,
    /// Where the sort keeps its temporary file; none: the backend's folder.
    pub temporary_directory: Option<PathBuf>,
    /// Stops the work.
    pub cancel: Cancel,
}

/// What was rebuilt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RebuildSummary {
    /// Names of the indexes.
    pub indexes: Vec<String>,
    /// Entries read.
    pub entries: u64,
    /// Keys written.
    pub keys: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Rebuilds indexes.
///
/// # Errors
/// When the backend is in use or damaged, an index is not known, there is no room, or the work was interrupted. Nothing
/// is changed then.
pub fn rebuild(options: &RebuildOptions, progress: &mut dyn FnMut(&Progress)) -> Result<RebuildSummary, BulkError> {
    let started = Instant::now();
    let _lock = InstanceLock::take(&options.directory)?;
    let directory = database_path(&options.directory);
    super::swap::recover(&directory).map_err(BulkError::Swap)?;
    let env = Env::open(&directory, crate::backend::new_uuid())?;
    let result = rebuild_in(&env, options, started, progress);
    env.close();
    result
}

fn rebuild_in(
    env: &Env,
    options: &RebuildOptions,
    started: Instant,
    progress: &mut dyn FnMut(&Progress),
) -> Result<RebuildSummary, BulkError> {
    let dbs = env.dbs();
    let read = env.read()?;
    let mut states = env::read_index_states(dbs, &read)?;
    let configured = ConfiguredIndexes::new(&options.schema, options.indexes.clone())?;
    states.set_names(&configured.names)?;
    let set = Arc::new(IndexSet::bound(&options.schema, &configured.configs, &states));
    let indexer = Indexer::new(Arc::clone(&options.schema), set);
    let chosen = match &options.which {
        RebuildWhich::All => named_indexes(&indexer, &[])?,
        RebuildWhich::Named(names) => named_indexes(&indexer, names)?,
        RebuildWhich::Degraded => {
            indexer.indexes().iter().map(|index| index.id).filter(|index| !states.is_trusted(*index)).collect()
        }
    };
    let mut summary = RebuildSummary {
        indexes: chosen.iter().map(|index| index_name(&indexer, *index)).collect(),
        ..RebuildSummary::default()
    };
    let mut txn = env.write()?;
    if !options.clear_degraded_state && !chosen.is_empty() {
        let tables = env::read_tables(dbs, &read, SchemaTypes::shared(&options.schema))?;
        let view = View::of_base(&read, dbs, &tables);
        let mut watcher = Counter { entries: 0, total: view.entry_count()?, started, progress };
        let temporary = options.temporary_directory.as_deref().unwrap_or(&options.directory);
        let settings = Settings::new(options.threads, options.memory_bytes, temporary, &options.cancel);
        let slots = Slots::of(chosen.clone());
        let sorted = rekey(view, &indexer, &slots, &settings, &mut watcher)?;
        summary.entries = watcher.entries;
        let mut merged = 0;
        for index in &chosen {
            remove_rows(&mut txn, dbs, *index, usize::MAX)?;
        }
        let next_list = env::read_u64(dbs, &txn, meta::NEXT_LIST)?.unwrap_or(1);
        let mut rows = TxnRows { dbs, txn: &mut txn };
        let mut builder = PostingsBuilder::new(&mut rows, next_list);
        for (slot, index) in slots.iter() {
            if options.cancel.is_cancelled() {
                return Err(BulkError::Cancelled);
            }
            let now = Progress::at(Phase::Indexes, started);
            let processed = summary.entries;
            progress(&Progress { processed, bytes_read: merged, bytes_total: Some(sorted.bytes()), ..now });
            builder.index(&sorted, slot, index)?;
            merged += sorted.slot_bytes(slot);
        }
        progress(&Progress::at(Phase::Syncing, started));
        let built = builder.finish()?;
        summary.keys = built.keys;
        dbs.meta.put(&mut txn, meta::NEXT_LIST, &built.next_list.to_be_bytes()).map_err(StoreError::from)?;
    }
    for index in chosen {
        states.set_trusted(index, true);
    }
    let retired: Vec<IndexId> = states.retired().collect();
    for index in &retired {
        remove_rows(&mut txn, dbs, *index, usize::MAX)?;
    }
    states.forget(&retired);
    env::write_index_states(dbs, &mut txn, &states)?;
    env::write_configured_indexes(dbs, &mut txn, &configured)?;
    drop(read);
    txn.commit().map_err(StoreError::from)?;
    summary.elapsed = started.elapsed();
    Ok(summary)
}

/// Writes rows into a transaction.
struct TxnRows<'t, 'e> {
    dbs: &'t Dbs,
    txn: &'t mut RwTxn<'e>,
}

impl RowSink for TxnRows<'_, '_> {
    fn block(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError> {
        Ok(self.dbs.postings.put(self.txn, key, data).map_err(StoreError::from)?)
    }

    fn container(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError> {
        Ok(self.dbs.chunks.put(self.txn, key, data).map_err(StoreError::from)?)
    }
}

/// Counts entries for progress; damage ends a rebuild.
struct Counter<'p> {
    entries: u64,
    total: u64,
    started: Instant,
    progress: &'p mut dyn FnMut(&Progress),
}

impl Watcher for Counter<'_> {
    fn entry(&mut self, _: EntryId, _: &RecordView<'_>) {
        self.entries += 1;
        if self.entries.is_multiple_of(PROGRESS_ENTRIES) {
            let now = Progress::at(Phase::Entries, self.started);
            (self.progress)(&Progress {
                processed: self.entries,
                bytes_read: self.entries,
                bytes_total: Some(self.total),
                ..now
            });
        }
    }

    fn large(&mut self, _: EntryId, _: DescId, _: LargeStub, _: LargeStub) {}

    fn damaged(&mut self, id: EntryId, error: StoreError) -> Result<(), BulkError> {
        Err(StoreError::Damaged(format!("entry {id}: {error}")).into())
    }
}
