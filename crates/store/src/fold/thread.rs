//! The thread that folds: takes frozen overlays, commits them, publishes, trims the log, and does maintenance in
//! between.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::write::fold;
use crate::env::DATA_FILE;
use crate::error::StoreError;
use crate::log::{Log, LogHeld};
use crate::overlay::Overlay;
use crate::stats::Meters;
use crate::version::{Frozen, Shared, Version};
use crate::write_out;

/// Work between two pauses. Shorter than a time slice of the scheduler, so that no thread on this core waits for a
/// fold.
const WORK_SLICE: Duration = Duration::from_millis(2);
/// A pause, while the writer does not wait for the fold.
const PAUSE: Duration = Duration::from_micros(500);
/// After so many rows (about as many pages) the disk is told to write what LMDB wrote. A sync of the log waits for
/// everything that the disk still has to write.
const ROWS_WRITTEN_OUT: u64 = 512;
/// Maintenance is done this often when nothing happens.
const MAINTENANCE_EVERY: Duration = Duration::from_millis(500);
/// Readers of dead processes are looked for this often.
const STALE_READERS_EVERY: Duration = Duration::from_secs(60);
/// A failed fold (disk full) is tried again after this.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// What the fold thread is asked to do.
pub(crate) enum FoldJob {
    /// Fold this; it is the `frozen` of the current version.
    Fold(Arc<Frozen>),
    /// Finish and end.
    Stop,
}

/// The running thread.
pub(crate) struct FoldThread {
    pub jobs: Sender<FoldJob>,
    pub handle: JoinHandle<Result<(), StoreError>>,
}

impl FoldThread {
    pub fn start(shared: Arc<Shared>, log: Arc<dyn Log>, meters: Arc<Meters>) -> Result<FoldThread, StoreError> {
        let (jobs, receiver) = crossbeam_channel::unbounded();
        let data =
            File::open(shared.env.path().join(DATA_FILE)).map_err(|error| StoreError::io("database file", &error))?;
        let mut folder =
            FoldWorker { shared, log, meters, receiver, data, retired: Vec::new(), stale_looked: Instant::now() };
        let handle = std::thread::Builder::new()
            .name("fold".to_owned())
            .spawn(move || folder.run())
            .map_err(|error| StoreError::io("thread", &error))?;
        Ok(FoldThread { jobs, handle })
    }
}

struct FoldWorker {
    shared: Arc<Shared>,
    log: Arc<dyn Log>,
    meters: Arc<Meters>,
    receiver: Receiver<FoldJob>,
    /// LMDB's file.
    data: File,
    /// Folded overlays that readers may still hold. They are dropped here: freeing a million nodes takes a while, which
    /// must not happen on an event loop.
    retired: Vec<Arc<Frozen>>,
    stale_looked: Instant,
}

impl FoldWorker {
    fn run(&mut self) -> Result<(), StoreError> {
        loop {
            match self.receiver.recv_timeout(MAINTENANCE_EVERY) {
                Ok(FoldJob::Fold(frozen)) => self.fold_until_done(frozen)?,
                Ok(FoldJob::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.note_closed();
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.maintain();
        }
    }

    /// Folds, and tries again after an error; gives up only when it is stopped (the log has everything).
    fn fold_until_done(&mut self, frozen: Arc<Frozen>) -> Result<(), StoreError> {
        loop {
            match self.fold_once(&frozen, false) {
                Ok(()) => {
                    self.meters.set_fold_trouble(None);
                    self.retired.push(frozen);
                    return Ok(());
                }
                // Changes that are not folded yet need the room more than history that is only kept.
                Err(error) if error.is_file_system_full() && self.log.relieve() => {}
                Err(error) => {
                    self.meters.set_fold_trouble(Some(error.clone()));
                    if let Ok(FoldJob::Stop) | Err(RecvTimeoutError::Disconnected) =
                        self.receiver.recv_timeout(RETRY_AFTER)
                    {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Notes that the backend is closed: the database has everything, so the files of the log may be removed
    /// afterwards. Without this note (a full disk) the next start requires log files that it does not need.
    fn note_closed(&mut self) {
        let version = self.shared.version.load_full();
        if version.frozen.is_some() || !version.active.is_empty() {
            return;
        }
        let overlay = Overlay { last_seq: version.seq, ..Overlay::default() };
        let frozen = Arc::new(Frozen::new(overlay, version.next_entry, version.indexes.clone()));
        let published = frozen.clone();
        self.shared.publish(|current| Version { frozen: Some(published), ..current.clone() });
        let _ = self.fold_once(&frozen, true);
    }

    fn fold_once(&mut self, frozen: &Arc<Frozen>, is_closed: bool) -> Result<(), StoreError> {
        let start = Instant::now();
        let env = self.shared.env.clone();
        let mut txn = env.write()?;
        let fold_txn = txn.id();
        frozen.set_fold_txn(fold_txn);
        let mut pacer = Pacer { meters: &self.meters, data: &self.data, slice: start, done: 0 };
        self.meters.fold_total.store(frozen.overlay.rows() as u64, Ordering::Relaxed);
        // Read before the commit, so that the note never claims more than the log holds.
        let held = LogHeld { is_closed, ..self.log.held() };
        fold(&mut txn, env.dbs(), frozen, held, &mut || pacer.row_done())?;
        let committing = Instant::now();
        txn.commit()?;
        self.shared.publish(|current| Version { frozen: None, base_txn: fold_txn, ..current.clone() });
        self.meters.fold_ended(start, committing, frozen.overlay.ops());
        // What is not trimmed now is trimmed after the next fold.
        if let Err(error) = self.log.trim(frozen.overlay.last_seq) {
            self.meters.set_fold_trouble(Some(error));
        }
        Ok(())
    }

    fn maintain(&mut self) {
        self.retired.retain(|frozen| Arc::strong_count(frozen) > 1);
        // Without a spare segment the writer makes one itself, which is slower; a lasting error is reported there.
        let _ = self.log.prepare();
        if self.stale_looked.elapsed() >= STALE_READERS_EVERY {
            self.stale_looked = Instant::now();
            let _ = self.shared.env.clear_stale_readers();
        }
    }
}

/// Makes pauses in a fold as long as the writer does not wait for it.
struct Pacer<'f> {
    meters: &'f Meters,
    data: &'f File,
    /// When the last pause ended.
    slice: Instant,
    done: u64,
}

impl Pacer<'_> {
    fn row_done(&mut self) {
        self.done += 1;
        if !self.done.is_multiple_of(16) {
            return;
        }
        let is_awaited = self.meters.is_behind.load(Ordering::Relaxed);
        if self.done.is_multiple_of(ROWS_WRITTEN_OUT) && !is_awaited {
            write_out::wait(self.data);
        }
        if self.slice.elapsed() >= WORK_SLICE {
            self.meters.fold_done.store(self.done, Ordering::Relaxed);
            if !is_awaited {
                std::thread::sleep(PAUSE);
            }
            self.slice = Instant::now();
        }
    }
}
