//! What the store tells `cn=monitor`: queue, batches, sync times, overlay, fold, readers, and the longest wait with its reason.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::log::LogHealth;

/// Figures of one backend at one moment. Counters are since the start.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Entries.
    pub entries: u64,
    /// Proposals waiting for the writer.
    pub queue_length: u64,
    /// Proposals applied (accepted or refused).
    pub proposals: u64,
    /// Proposals accepted.
    pub accepted: u64,
    /// Batches written to the log.
    pub batches: u64,
    /// Largest batch so far, in proposals.
    pub batch_max: u64,
    /// All log writes together, sync included.
    pub sync_total: Duration,
    /// Slowest log write.
    pub sync_max: Duration,
    /// Time spent applying.
    pub apply_total: Duration,
    /// Longest that any proposal waited from submission to its answer, and why.
    pub wait_max: Duration,
    /// What it waited for.
    pub wait_max_reason: WaitReason,
    /// Changes not yet in LMDB: those being added to.
    pub overlay_ops: u64,
    /// Memory they take.
    pub overlay_bytes: u64,
    /// Changes being folded.
    pub frozen_ops: u64,
    /// Memory they take.
    pub frozen_bytes: u64,
    /// Folds done.
    pub folds: u64,
    /// Changes folded.
    pub folded_ops: u64,
    /// The last fold: all of it, and its commit.
    pub fold_last: Duration,
    /// Commit of the last fold.
    pub fold_commit_last: Duration,
    /// Rows done and to do of the fold under way.
    pub fold_progress: (u64, u64),
    /// Times the writer was slowed because folds were behind, and by how much in all.
    pub slowed: u64,
    /// Sum of those delays.
    pub slowed_total: Duration,
    /// Why the last fold failed, while it is being tried again.
    pub fold_trouble: Option<StoreError>,
    /// The log.
    pub log: LogHealth,
    /// Snapshots open.
    pub readers: usize,
    /// Age of the oldest.
    pub oldest_reader: Duration,
    /// Bytes of the database file in use.
    pub database_bytes: u64,
    /// Address space it may grow to.
    pub database_bytes_max: u64,
    /// Last change applied.
    pub seq: u64,
    /// Changes replayed at the start, and how long that took.
    pub replayed: u64,
    /// Time the replay took.
    pub replay: Duration,
}

/// What a proposal waited for longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    /// Nothing yet.
    #[default]
    None,
    /// For its turn.
    Queue,
    /// For itself and its batch to be applied.
    Apply,
    /// For the disk.
    Sync,
    /// Folds were behind.
    Fold,
}

/// The counters behind [`Stats`].
#[derive(Default)]
pub(crate) struct Meters {
    pub queue_length: AtomicU64,
    pub queue_bytes: AtomicU64,
    pub proposals: AtomicU64,
    pub accepted: AtomicU64,
    pub batches: AtomicU64,
    pub batch_max: AtomicU64,
    pub sync_total_ns: AtomicU64,
    pub sync_max_ns: AtomicU64,
    pub apply_total_ns: AtomicU64,
    pub folds: AtomicU64,
    pub folded_ops: AtomicU64,
    pub fold_last_ns: AtomicU64,
    pub fold_commit_last_ns: AtomicU64,
    pub fold_done: AtomicU64,
    pub fold_total: AtomicU64,
    pub slowed: AtomicU64,
    pub slowed_total_ns: AtomicU64,
    pub replayed: AtomicU64,
    pub replay_ns: AtomicU64,
    /// The writer waits for the fold: it should not take breaths.
    pub is_behind: AtomicBool,
    /// How full the overlay was after the last batch: 100 is due.
    pub fill_percent: AtomicU64,
    wait_max: Mutex<(Duration, WaitReason)>,
    fold_trouble: Mutex<Option<StoreError>>,
}

impl Meters {
    pub fn add_ns(counter: &AtomicU64, time: Duration) {
        counter.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn synced(&self, time: Duration, proposals: u64) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.batch_max.fetch_max(proposals, Ordering::Relaxed);
        Meters::add_ns(&self.sync_total_ns, time);
        self.sync_max_ns.fetch_max(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn fold_ended(&self, start: Instant, committing: Instant, ops: u64) {
        self.folds.fetch_add(1, Ordering::Relaxed);
        self.folded_ops.fetch_add(ops, Ordering::Relaxed);
        self.fold_last_ns.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.fold_commit_last_ns.store(committing.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.fold_done.store(0, Ordering::Relaxed);
        self.fold_total.store(0, Ordering::Relaxed);
    }

    pub fn waited(&self, time: Duration, reason: WaitReason) {
        let mut longest = self.wait_max.lock().unwrap_or_else(PoisonError::into_inner);
        if time > longest.0 {
            *longest = (time, reason);
        }
    }

    pub fn set_fold_trouble(&self, error: Option<StoreError>) {
        *self.fold_trouble.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    pub fn fold_trouble(&self) -> Option<StoreError> {
        self.fold_trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The part of [`Stats`] that is kept here.
    pub fn look(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Ordering::Relaxed));
        let (wait_max, wait_max_reason) = *self.wait_max.lock().unwrap_or_else(PoisonError::into_inner);
        Stats {
            queue_length: get(&self.queue_length),
            proposals: get(&self.proposals),
            accepted: get(&self.accepted),
            batches: get(&self.batches),
            batch_max: get(&self.batch_max),
            sync_total: time(&self.sync_total_ns),
            sync_max: time(&self.sync_max_ns),
            apply_total: time(&self.apply_total_ns),
            wait_max,
            wait_max_reason,
            folds: get(&self.folds),
            folded_ops: get(&self.folded_ops),
            fold_last: time(&self.fold_last_ns),
            fold_commit_last: time(&self.fold_commit_last_ns),
            fold_progress: (get(&self.fold_done), get(&self.fold_total)),
            slowed: get(&self.slowed),
            slowed_total: time(&self.slowed_total_ns),
            fold_trouble: self.fold_trouble(),
            replayed: get(&self.replayed),
            replay: time(&self.replay_ns),
            ..Stats::default()
        }
    }
}
