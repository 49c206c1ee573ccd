//! One backend: its folder, its writer and fold threads, opening (which is recovery) and closing.
//!
//! ```text
//! FOLDER/lock   the locked file of the process that has it open for writing
//! FOLDER/db/    the LMDB environment
//! FOLDER/log/   segments
//! ```
//! Invariants:
//! (1) At most one process has a backend open for writing.
//! (2) After `open`, the state is: LMDB plus the log from `meta.folded` + 1 on, each outcome as logged.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::EntryId;
use crate::backend_options::BackendOptions;
use crate::env::{self, Env, ReadTxn};
use crate::error::StoreError;
use crate::extract::IndexBinder;
use crate::fold::{FoldJob, FoldThread};
use crate::image::Image;
use crate::index::{BackendIndexes, ConfiguredIndexes};
use crate::instance_lock::InstanceLock;
use crate::job::{Job, Waker};
use crate::log::{Batch, Disk, FileLog, FolderDisk, Log, LogOptions, PROPOSAL_BYTES_MAX};
use crate::marks::{Marks, PublishedMarks};
use crate::order::{LocalOrder, Order};
use crate::ordered_queue::OrderedQueue;
use crate::overlay::Overlay;
use crate::proposed::{Proposed, Ticket};
use crate::rules::{Done, Rules};
use crate::stats::{DiskTrouble, Doing, Meters, Stats};
use crate::submitter::Submitter;
use crate::tables::TypeResolver;
use crate::txn::TxnState;
use crate::version::{Shared, Snapshot, Version};
use crate::waits::Timeline;
use crate::writer::Writer;

/// Proposals that may wait; more are refused at once.
const QUEUE_LENGTH_MAX: u64 = 65_536;
/// Bytes of proposals that may wait.
const QUEUE_BYTES_MAX: u64 = 64 << 20;

/// Folder of the LMDB environment in a backend's folder.
pub fn database_path(backend: &Path) -> PathBuf {
    backend.join("db")
}

/// Folder of the log in a backend's folder.
pub fn log_path(backend: &Path) -> PathBuf {
    backend.join("log")
}

/// A backend open for reading and writing.
pub struct Backend {
    shared: Arc<Shared>,
    log: Arc<dyn Log>,
    meters: Arc<Meters>,
    jobs: Sender<Job>,
    uuid: [u8; 16],
    rules_version: u32,
    threads: Mutex<Option<Threads>>,
}

/// A new schema on its way to the readers.
#[derive(Debug)]
pub struct Rebound(Receiver<()>);

impl Rebound {
    /// Waits until readers have it. Never on an event loop.
    pub fn wait(self) {
        // Nothing is ever sent: the other end is dropped.
        let _ = self.0.recv();
    }
}

struct Threads {
    writer: JoinHandle<()>,
    fold: FoldThread,
    lock: InstanceLock,
}

impl Backend {
    /// Opens the backend, making an empty one if there is none, and replays the part of the log that LMDB does not
    /// have.
    pub fn open(options: BackendOptions, rules: Box<dyn Rules>) -> Result<Backend, StoreError> {
        Backend::open_in_order(options, rules, |_| LocalOrder::default())
    }

    /// Opens the backend as [`Backend::open`] does; its proposals are applied in the order that `order` makes, which
    /// may wake the writer.
    pub fn open_in_order<O: Order + 'static>(
        options: BackendOptions,
        rules: Box<dyn Rules>,
        order: impl FnOnce(Waker) -> O,
    ) -> Result<Backend, StoreError> {
        let lock = InstanceLock::take(&options.path)?;
        crate::bulk::recover(&database_path(&options.path))
            .map_err(|error| StoreError::io("database folder", &error))?;
        let env = Env::open(&database_path(&options.path), new_uuid())?;
        note_indexes(&env, &options.indexes)?;
        let disk = match options.log_disk {
            Some(disk) => disk,
            None => Arc::new(
                FolderDisk::open(&log_path(&options.path)).map_err(|error| StoreError::io("log folder", &error))?,
            ),
        };
        let keep_from = options.keep_log_from.unwrap_or(u64::MAX);
        let rules_version = rules.version();
        let log = open_log(&env, disk, rules_version, options.segment_bytes, keep_from)?;
        let log: Arc<dyn Log> = Arc::new(log);
        sync_folders(&options.path)?;
        let txn = env.read()?;
        let (state, version, folded, uuid) = read_base(&env, &txn, options.resolver, options.binder, &options.indexes)?;
        drop(txn);
        let shared = Arc::new(Shared::new(env, version));
        let meters = Arc::new(Meters::default());
        let fold = FoldThread::start(shared.clone(), log.clone(), meters.clone())?;
        let (jobs, receiver) = crossbeam_channel::unbounded();
        let mut writer = Writer {
            shared: shared.clone(),
            rules,
            log: log.clone(),
            meters: meters.clone(),
            limits: options.fold,
            jobs: receiver,
            fold: fold.jobs.clone(),
            state,
            batch: Batch::default(),
            queue: OrderedQueue::new(order(Waker::new(jobs.clone())), meters.clone()),
            held: VecDeque::new(),
            is_fold_asked: false,
            timeline: Timeline::default(),
        };
        replay(&mut writer, folded)?;
        let writer = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::io("thread", &error))?;
        let threads = Mutex::new(Some(Threads { writer, fold, lock }));
        Ok(Backend { shared, log, meters, jobs, uuid, rules_version, threads })
    }

    /// A backend that is only read: it has no writer, so that every proposal is answered with [`StoreError::Closed`].
    pub(crate) fn only_read(shared: Arc<Shared>, log: Arc<dyn Log>, uuid: [u8; 16]) -> Backend {
        let (jobs, _) = crossbeam_channel::unbounded();
        // What is only read is copied from where it is read from.
        Backend { shared, log, meters: Arc::default(), jobs, uuid, rules_version: 0, threads: Mutex::new(None) }
    }

    /// Hands a proposal to the writer; submitters take turns. `done` is called once, on the writer's thread, when the
    /// proposal is durable and visible, or when it is refused or has failed; it must be quick.
    pub fn submit(&self, submitter: Submitter, proposal: Vec<u8>, done: Done) {
        self.send(Proposed { proposal, ticket: Ticket::new(submitter, done) }, Job::Propose);
    }

    /// [`Backend::submit`], then [`Backend::rebind`]: after all that was submitted before, and with nothing in between.
    pub fn submit_and_rebind(
        &self,
        proposal: Vec<u8>,
        done: Done,
        resolver: Arc<dyn TypeResolver>,
        binder: Arc<dyn IndexBinder>,
    ) -> Rebound {
        let (bound, waiting) = crossbeam_channel::bounded(0);
        let proposed = Proposed { proposal, ticket: Ticket::new(Submitter::SERVER, done) };
        self.send(proposed, |first| Job::Rebind { first: Some(first), resolver, binder, bound });
        Rebound(waiting)
    }

    fn send(&self, proposed: Proposed, job: impl FnOnce(Proposed) -> Job) {
        if proposed.proposal.len() > PROPOSAL_BYTES_MAX {
            let (bytes, limit) = (proposed.proposal.len(), PROPOSAL_BYTES_MAX);
            return proposed.ticket.answer(Err(StoreError::ProposalTooLarge { bytes, limit }));
        }
        let bytes = proposed.proposal.len() as u64;
        let queued = self.meters.queue_length.fetch_add(1, Ordering::Relaxed);
        let queued_bytes = self.meters.queue_bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_full = queued >= QUEUE_LENGTH_MAX || queued_bytes >= QUEUE_BYTES_MAX;
        let refused = if is_full {
            Some((proposed, StoreError::Busy))
        } else {
            let closed = self.jobs.send(job(proposed)).err();
            closed.and_then(|error| Some((error.0.into_proposed()?, StoreError::Closed)))
        };
        if let Some((proposed, error)) = refused {
            self.meters.queue_length.fetch_sub(1, Ordering::Relaxed);
            self.meters.queue_bytes.fetch_sub(bytes, Ordering::Relaxed);
            proposed.ticket.answer(Err(error));
        }
    }

    /// Hands a proposal to the writer and waits. For tools and tests, never for an event loop.
    pub fn submit_and_wait(&self, proposal: Vec<u8>) -> Result<crate::Outcome, StoreError> {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        self.submit(Submitter::SERVER, proposal, Box::new(move |result| drop(sender.send(result))));
        receiver.recv().map_err(|_| StoreError::Closed)?
    }

    /// Everything as it is now.
    #[inline]
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Snapshot::take(&self.shared)
    }

    /// The number of the last change that snapshots taken from now on see.
    #[inline]
    pub fn last_change(&self) -> u64 {
        self.shared.version.load().seq
    }

    /// The marks of the published version. Whoever has a snapshot takes [`Snapshot::marks`], which belong to what it
    /// sees.
    #[inline]
    pub fn marks(&self) -> PublishedMarks {
        self.shared.marks.load()
    }

    /// A number that changes whenever the entry is written or deleted, before that is answered; sometimes without that.
    #[inline]
    pub fn entry_counter(&self, id: EntryId) -> u32 {
        self.shared.marks.counter(id)
    }

    /// A copy of the database with the log behind it, of this moment.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn image(&self) -> Result<Image, StoreError> {
        Image::begin(&self.shared.env, self.rules_version, |_| Ok(Arc::clone(&self.log)))
    }

    /// Asks for a fold of what is there; does not wait.
    pub fn fold_soon(&self) {
        let _ = self.jobs.send(Job::Fold);
    }

    /// Takes a new schema: later proposals see descriptions bound to its types, and keys made by what `binder` makes.
    /// The keys of stored entries stay as they are, so an index whose keys change has to be rebuilt. The answer comes
    /// when readers have the new schema.
    pub fn rebind(&self, resolver: Arc<dyn TypeResolver>, binder: Arc<dyn IndexBinder>) -> Rebound {
        let (bound, done) = crossbeam_channel::bounded(0);
        let _ = self.jobs.send(Job::Rebind { first: None, resolver, binder, bound });
        Rebound(done)
    }

    /// The log, for callers that follow it.
    pub fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }

    /// Keeps records from `seq` on in the log, folded or not, as long as there is room; `None` keeps only what recovery
    /// needs.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn keep_log_from(&self, seq: Option<u64>) -> Result<(), StoreError> {
        self.log.keep_from(seq.unwrap_or(u64::MAX))
    }

    /// The identity of this data: another backend has another one, and an import gives a new one.
    pub fn data_uuid(&self) -> [u8; 16] {
        self.uuid
    }

    /// The indexes as they are now, and which of them may be used.
    pub fn indexes(&self) -> Arc<BackendIndexes> {
        self.shared.version.load().indexes.clone()
    }

    /// Whether proposals wait.
    pub fn is_busy(&self) -> bool {
        self.meters.queue_length.load(Ordering::Relaxed) > 0
    }

    /// Why no update is taken any more, if so ([`StoreError::UpdatesStopped`]).
    pub fn updates_stopped(&self) -> Option<&StoreError> {
        self.meters.updates_stopped()
    }

    /// What the writer does at this moment, for how long already, and how many proposals wait. Cheap: it only reads
    /// counters.
    pub fn doing(&self) -> (Doing, Duration, u64) {
        let (doing, time) = self.meters.doing_now();
        (doing, time, self.meters.queue_length.load(Ordering::Relaxed))
    }

    /// The last write that the disk refused, until a write succeeds. Cheap, and never waits for the disk.
    pub fn trouble(&self) -> Option<DiskTrouble> {
        let database = || self.meters.fold_trouble().map(DiskTrouble::Database);
        self.log.health().trouble.map(DiskTrouble::Log).or_else(database)
    }

    /// Whether the overlay fills up while the one before it is still being folded. Work that can wait should wait then.
    pub fn is_pressed(&self) -> bool {
        self.meters.fill_percent.load(Ordering::Relaxed) >= 50 && self.shared.version.load().frozen.is_some()
    }

    /// The figures of this moment.
    pub fn stats(&self) -> Stats {
        let version = self.shared.version.load();
        let frozen = version.frozen.as_ref();
        let (readers, oldest_reader) = self.shared.readers.look();
        let (database_bytes, database_bytes_max) = self.shared.env.bytes();
        Stats {
            entries: self.snapshot().and_then(|snapshot| snapshot.entry_count()).unwrap_or_default(),
            overlay_ops: version.active.ops(),
            overlay_bytes: version.active.bytes() as u64,
            frozen_ops: frozen.map_or(0, |frozen| frozen.overlay.ops()),
            frozen_bytes: frozen.map_or(0, |frozen| frozen.overlay.bytes() as u64),
            log: self.log.health(),
            readers,
            oldest_reader,
            database_bytes,
            database_bytes_max,
            seq: version.seq,
            ..self.meters.look()
        }
    }

    /// Ends as `kill -9` does: no further fold is begun.
    #[cfg(test)]
    pub fn crash(self) {
        if let Some(Threads { writer, fold, .. }) = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = self.jobs.send(Job::Crash);
            let _ = writer.join();
            let _ = fold.jobs.send(FoldJob::Stop);
            let _ = fold.handle.join();
        }
    }

    /// Answers what waits, folds everything, and lets go of the files. Snapshots still open stay good.
    pub fn close(&self) -> Result<(), StoreError> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Threads { writer, fold, lock }) = threads else { return Ok(()) };
        let _ = self.jobs.send(Job::Stop);
        let writer = writer.join().map_err(|_| StoreError::Panicked);
        let _ = fold.jobs.send(FoldJob::Stop);
        let folded = fold.handle.join().map_err(|_| StoreError::Panicked).flatten();
        drop(lock);
        writer.and(folded)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        // An error is reported by `close` only; everything acknowledged is in the log in any case.
        let _ = self.close();
    }
}

/// Opens the log for writing, and notes in the database that it is in use, so that the next start knows which files
/// must be there.
fn open_log(
    env: &Env,
    disk: Arc<dyn Disk>,
    rules: u32,
    segment_bytes: u64,
    keep_from: u64,
) -> Result<FileLog, StoreError> {
    let txn = env.read()?;
    let folded = env::read_u64(env.dbs(), &txn, env::meta::FOLDED)?.unwrap_or_default();
    let uuid = env::read_uuid(env.dbs(), &txn)?;
    let held = env::read_log_held(env.dbs(), &txn)?;
    drop(txn);
    let options = LogOptions { uuid, rules, segment_bytes, keep_from, held, read_only: false };
    let log = FileLog::open(disk, options, folded)?;
    let begun = log.begin().and_then(|held| {
        let mut txn = env.write()?;
        env::write_log_held(env.dbs(), &mut txn, held)?;
        Ok(txn.commit()?)
    });
    match begun {
        // Reads are served on a full disk too. The first fold writes the note then.
        Ok(()) | Err(StoreError::DiskFull { .. }) => Ok(log),
        Err(error) => Err(error),
    }
}

/// The empty working state above what LMDB has: state, version, last folded change, identity.
pub(crate) fn read_base(
    env: &Env,
    txn: &ReadTxn,
    resolver: Arc<dyn TypeResolver>,
    binder: Arc<dyn IndexBinder>,
    configured: &ConfiguredIndexes,
) -> Result<(TxnState, Version, u64, [u8; 16]), StoreError> {
    let dbs = env.dbs();
    let folded = env::read_u64(dbs, txn, env::meta::FOLDED)?.unwrap_or_default();
    let uuid = env::read_uuid(dbs, txn)?;
    let tables = Arc::new(env::read_tables(dbs, txn, resolver)?);
    let configured = match env::read_configured_indexes(dbs, txn)? {
        Some(own) => own,
        // Opened for reading beside an older version of the program, which does not note them.
        None => configured.clone(),
    };
    let states = env::read_index_states(dbs, txn)?;
    let extractor = binder.bind(&configured, &states);
    let indexes = Arc::new(BackendIndexes::new(Arc::new(configured), states, extractor));
    let next_entry = env::read_next_entry(dbs, txn)?;
    let generation = first_generation();
    let version = Version {
        active: Overlay::default(),
        frozen: None,
        base_txn: txn.id(),
        tables: tables.clone(),
        next_entry,
        seq: folded,
        tree_generation: generation,
        marks: Marks::first(generation),
        indexes: indexes.clone(),
    };
    let state = TxnState {
        overlay: Overlay::default(),
        tables,
        next_entry,
        undo: Vec::new(),
        trace: Vec::new(),
        tree_generation: generation,
        marks: version.marks.clone(),
        written: Vec::new(),
        indexes,
        binder,
        builder: None,
    };
    Ok((state, version, folded, uuid))
}

/// Where the generations of the tree, and the marks, begin: so far from those of every other opening in this process
/// that they never meet.
fn first_generation() -> u64 {
    static OPENINGS: AtomicU64 = AtomicU64::new(1);
    OPENINGS.fetch_add(1, Ordering::Relaxed) << 40
}

/// Notes the indexes of a backend that has not noted any: one that is new, or was last opened by an older version. From
/// there on they change by proposals alone.
fn note_indexes(env: &Env, configured: &ConfiguredIndexes) -> Result<(), StoreError> {
    let dbs = env.dbs();
    let mut txn = env.write()?;
    if env::read_configured_indexes(dbs, &txn)?.is_some() {
        txn.abort();
        return Ok(());
    }
    let mut states = env::read_index_states(dbs, &txn)?;
    states.set_names(&configured.names)?;
    if dbs.entries.is_empty(&txn)? && env::read_u64(dbs, &txn, env::meta::FOLDED)?.is_none() {
        states.set_all_trusted();
    }
    env::write_index_states(dbs, &mut txn, &states)?;
    env::write_configured_indexes(dbs, &mut txn, configured)?;
    Ok(txn.commit()?)
}

/// Applies the log from `folded` + 1 on, publishes, and compares every outcome.
fn replay<O: Order>(writer: &mut Writer<O>, folded: u64) -> Result<(), StoreError> {
    let started = Instant::now();
    let log = writer.log.clone();
    let (_, txn, _) = writer.shared.pair()?;
    let mut replayed = 0;
    log.tail_from(folded + 1, &mut |record| {
        let applying = Instant::now();
        let outcome = writer.apply(&txn, None, record.proposal)?;
        if !outcome.accepted || outcome.code != record.code {
            return Err(StoreError::ReplayMismatch { seq: record.seq, then: record.code, now: outcome.code });
        }
        writer.count(record.seq, record.proposal.len(), applying.elapsed());
        replayed += 1;
        Ok(())
    })?;
    let overlay = writer.state.overlay.clone();
    let (tables, next_entry) = (writer.state.tables.clone(), writer.state.next_entry);
    let (tree_generation, indexes) = (writer.state.tree_generation, writer.state.indexes.clone());
    let marks = writer.state.marks.clone();
    writer.state.written.clear();
    writer.shared.publish(|current| Version {
        active: overlay,
        frozen: None,
        base_txn: current.base_txn,
        tables,
        next_entry,
        seq: current.seq + replayed,
        tree_generation,
        marks,
        indexes,
    });
    writer.meters.replayed.store(replayed, Ordering::Relaxed);
    Meters::add_ns(&writer.meters.replay_ns, started.elapsed());
    Ok(())
}

/// Makes the names of new files durable: LMDB syncs what it writes, but not the folders its files are in.
fn sync_folders(path: &Path) -> Result<(), StoreError> {
    for folder in [&database_path(path), path] {
        durable::sync_folder(folder).map_err(|error| StoreError::io("backend folder", &error))?;
    }
    Ok(())
}

/// An identity for new data. It has to be unique, not secret: the hasher's keys come from the system's random source.
pub fn new_uuid() -> [u8; 16] {
    let mut uuid = [0; 16];
    let (low, high) = uuid.split_at_mut(8);
    low.copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
    high.copy_from_slice(&RandomState::new().hash_one(std::process::id()).to_le_bytes());
    uuid
}
