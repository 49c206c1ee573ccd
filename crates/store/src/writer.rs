//! The one writer: batches, group commit, freezing. Its loop is the life of every update.
//!
//! ```text
//! take all waiting → apply onto the unpublished overlay → one log write, one sync → publish → answer → freeze if due
//! ```
//! Invariants:
//! (1) Nobody is told of success before the sync of the log returned, nor reads a change before.
//! (2) If the log refuses a batch, the working state goes back to the published version, and every proposal of the batch
//!     (refused ones too: they may have been refused because of an earlier one) gets the error.
//! (3) There is at most one frozen overlay. Only the writer freezes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::env::ReadTxn;
use crate::error::StoreError;
use crate::extract::IndexBinder;
use crate::fold::FoldJob;
use crate::index::BackendIndexes;
use crate::log::{Batch, Log};
use crate::overlay::Overlay;
use crate::rules::{Outcome, Rules};
use crate::stats::{Meters, WaitReason};
use crate::tables::TypeResolver;
use crate::txn::{Txn, TxnState};
use crate::version::{Frozen, Shared, Version};

/// Proposals in one batch.
const BATCH_OPS_MAX: usize = 1_024;
/// Bytes of proposals and their traces in one batch, except that one proposal is always taken.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// A batch is closed after this much applying, so that the first in it do not wait for many expensive ones.
const BATCH_APPLY_MAX: Duration = Duration::from_millis(10);
/// Longest delay of a batch while folds are behind.
const SLOW_MAX: Duration = Duration::from_millis(50);
/// Overlay memory at which proposals are refused: folding has failed for long.
const OVERLAY_BYTES_MAX: usize = 1 << 30;

/// Who waits for an outcome.
pub type Done = Box<dyn FnOnce(Result<Outcome, StoreError>) + Send>;

/// When an overlay is frozen and folded.
#[derive(Clone, Copy, Debug)]
pub struct FoldLimits {
    /// Memory of the overlay.
    pub bytes: usize,
    /// Changes in it.
    pub ops: u64,
    /// Bytes of their log records.
    pub log_bytes: u64,
    /// Time it took to apply them: a replay after a crash takes as long, for this overlay and for the frozen one.
    pub apply: Duration,
    /// Quiet time after which whatever is there is folded.
    pub idle: Duration,
}

impl Default for FoldLimits {
    fn default() -> FoldLimits {
        FoldLimits {
            bytes: 128 << 20,
            ops: 50_000,
            log_bytes: 64 << 20,
            apply: Duration::from_millis(700),
            idle: Duration::from_secs(1),
        }
    }
}

impl FoldLimits {
    /// How full the overlay is: 1 and more is due.
    fn fill(&self, overlay: &Overlay) -> f64 {
        let part = |have: f64, limit: f64| have / limit.max(1.0);
        part(overlay.bytes as f64, self.bytes as f64)
            .max(part(overlay.ops as f64, self.ops as f64))
            .max(part(overlay.log_bytes as f64, self.log_bytes as f64))
            .max(part(overlay.apply_ns as f64, self.apply.as_nanos() as f64))
    }
}

/// What the writer is told.
pub(crate) enum Job {
    Propose {
        proposal: Vec<u8>,
        done: Done,
        submitted: Instant,
    },
    /// A new schema: descriptions are bound to types anew.
    Rebind {
        resolver: Arc<dyn TypeResolver>,
        binder: Arc<dyn IndexBinder>,
        /// Dropped when readers have it.
        bound: Sender<()>,
    },
    /// Freeze now; told when the overlay of this moment is in LMDB.
    Fold,
    Stop,
    #[cfg(test)]
    Crash,
}

pub(crate) struct Writer {
    pub shared: Arc<Shared>,
    pub rules: Box<dyn Rules>,
    pub log: Arc<dyn Log>,
    pub meters: Arc<Meters>,
    pub limits: FoldLimits,
    pub jobs: Receiver<Job>,
    pub fold: Sender<FoldJob>,
    pub state: TxnState,
    pub batch: Batch,
}

struct Pending {
    done: Done,
    submitted: Instant,
    outcome: Result<Outcome, StoreError>,
}

impl Writer {
    /// Applies one proposal onto the working state; a refusal or a panic leaves the state as it was.
    pub fn apply(&mut self, txn: &ReadTxn, frozen: Option<&Overlay>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        let dbs = *self.shared.env.dbs();
        let mut txn = Txn::begin(txn, &dbs, frozen, &mut self.state);
        let rules = &mut self.rules;
        let result = catch_unwind(AssertUnwindSafe(|| rules.apply(&mut txn, proposal)));
        match result {
            Ok(outcome) if outcome.accepted => Ok(outcome),
            Ok(outcome) => {
                txn.undo();
                Ok(outcome)
            }
            Err(_) => {
                txn.undo();
                self.rules.forget();
                Err(StoreError::Panicked)
            }
        }
    }

    /// Notes an applied proposal in the working overlay.
    pub fn count(&mut self, seq: u64, record_bytes: usize, apply: Duration) {
        let overlay = &mut self.state.overlay;
        if overlay.ops == 0 {
            overlay.first_seq = seq;
        }
        overlay.last_seq = seq;
        overlay.ops += 1;
        overlay.log_bytes += record_bytes as u64 + 12;
        overlay.apply_ns += apply.as_nanos() as u64;
    }

    /// Serves until told to stop; then everything is frozen and handed to the fold.
    pub fn run(&mut self) {
        loop {
            let first = if self.state.overlay.is_empty() {
                self.jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.jobs.recv_timeout(self.limits.idle)
            };
            match first {
                #[cfg(test)]
                Ok(Job::Crash) => return,
                Ok(job) => {
                    if self.serve(job).is_break() {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.freeze(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while let Ok(job) = self.jobs.try_recv() {
            if let Job::Propose { proposal, done, .. } = job {
                self.leave_queue(&proposal);
                done(Err(StoreError::Closed));
            }
        }
        // The frozen overlay, if any, is folded first; the fold thread takes its jobs in order.
        while !self.state.overlay.is_empty() && self.meters.fold_trouble().is_none() {
            self.freeze();
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn serve(&mut self, job: Job) -> std::ops::ControlFlow<()> {
        match job {
            #[cfg(test)]
            Job::Crash => {}
            Job::Stop => return std::ops::ControlFlow::Break(()),
            Job::Fold => self.freeze(),
            Job::Rebind { resolver, binder, bound } => {
                self.rebind(resolver, binder);
                drop(bound);
            }
            Job::Propose { proposal, done, submitted } => {
                let next = self.serve_batch(proposal, done, submitted);
                self.after_batch();
                if let Some(job) = next {
                    return self.serve(job);
                }
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Takes what waits, applies, logs, publishes, answers. Gives back a job of another kind that ended the batch.
    fn serve_batch(&mut self, proposal: Vec<u8>, done: Done, submitted: Instant) -> Option<Job> {
        let started = Instant::now();
        let mut pending = Vec::new();
        let mut next = None;
        let pair = self.shared.pair();
        self.batch.restart(self.log.last() + 1);
        let mut bytes = 0;
        let mut job = Some((proposal, done, submitted));
        while let Some((proposal, done, submitted)) = job.take() {
            self.leave_queue(&proposal);
            bytes += proposal.len();
            let outcome = match &pair {
                Err(error) => Err(error.clone()),
                Ok(_) if self.state.overlay.bytes > OVERLAY_BYTES_MAX => {
                    Err(self.meters.fold_trouble().unwrap_or(StoreError::Busy))
                }
                Ok((version, txn, counts_frozen)) => {
                    let frozen = version.frozen.clone().filter(|_| *counts_frozen);
                    self.propose(txn, frozen.as_deref().map(|frozen| &frozen.overlay), &proposal)
                }
            };
            bytes += self.state.trace.len();
            pending.push(Pending { done, submitted, outcome });
            let is_full = pending.len() >= BATCH_OPS_MAX || bytes >= BATCH_BYTES_MAX;
            if is_full || started.elapsed() >= BATCH_APPLY_MAX {
                break;
            }
            match self.jobs.try_recv() {
                Ok(Job::Propose { proposal, done, submitted }) => job = Some((proposal, done, submitted)),
                Ok(other) => next = Some(other),
                Err(_) => {}
            }
        }
        drop(pair);
        self.commit(pending, started);
        next
    }

    fn propose(&mut self, txn: &ReadTxn, frozen: Option<&Overlay>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        let started = Instant::now();
        let result = self.apply(txn, frozen, proposal);
        let time = started.elapsed();
        self.meters.proposals.fetch_add(1, Ordering::Relaxed);
        Meters::add_ns(&self.meters.apply_total_ns, time);
        if let Ok(outcome) = &result
            && outcome.accepted
        {
            let seq = self.batch.push(outcome.code, proposal, &self.state.trace);
            self.count(seq, proposal.len() + self.state.trace.len(), time);
            self.meters.accepted.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    fn commit(&mut self, pending: Vec<Pending>, started: Instant) {
        let applied = Instant::now();
        let mut failure = None;
        if !self.batch.is_empty() {
            match self.log.append(&mut self.batch) {
                Ok(place) => {
                    self.meters.synced(applied.elapsed(), pending.len() as u64);
                    self.publish();
                    self.rules.settled(Some(place));
                }
                Err(error) => {
                    self.restore();
                    self.rules.forget();
                    self.rules.settled(None);
                    failure = Some(error);
                }
            }
        }
        let ended = Instant::now();
        for Pending { done, submitted, outcome } in pending {
            let reason = longest(&[
                (started.saturating_duration_since(submitted), WaitReason::Queue),
                (applied - started, WaitReason::Apply),
                (ended - applied, WaitReason::Sync),
            ]);
            self.meters.waited(ended.saturating_duration_since(submitted), reason);
            // A callback that panics must not take the writer with it.
            let answer = match &failure {
                Some(error) => Err(error.clone()),
                None => outcome,
            };
            let _ = catch_unwind(AssertUnwindSafe(move || done(answer)));
        }
    }

    fn publish(&mut self) {
        let (overlay, tables) = (self.state.overlay.clone(), self.state.tables.clone());
        let (next_entry, seq) = (self.state.next_entry, self.batch.last_seq());
        let (tree_generation, indexes) = (self.state.tree_generation, self.state.indexes.clone());
        self.shared.publish(|current| Version {
            active: overlay,
            frozen: current.frozen.clone(),
            base_txn: current.base_txn,
            tables,
            next_entry,
            seq,
            tree_generation,
            indexes,
        });
    }

    /// Back to what is published.
    fn restore(&mut self) {
        let version = self.shared.version.load();
        self.state.overlay = version.active.clone();
        self.state.tables = version.tables.clone();
        self.state.next_entry = version.next_entry;
        self.state.indexes = version.indexes.clone();
        self.state.builder = None;
    }

    /// Freezes if due, slows down if folds are behind.
    fn after_batch(&mut self) {
        let fill = self.limits.fill(&self.state.overlay);
        self.meters.fill_percent.store((fill * 100.0) as u64, Ordering::Relaxed);
        if fill < 1.0 {
            self.meters.is_behind.store(false, Ordering::Relaxed);
            return;
        }
        self.freeze();
        if self.state.overlay.is_empty() {
            return;
        }
        // A fold is under way and the next overlay is full already: the further over, the slower.
        self.meters.is_behind.store(true, Ordering::Relaxed);
        let delay = SLOW_MAX.mul_f64((fill - 1.0).clamp(0.0, 1.0));
        self.meters.slowed.fetch_add(1, Ordering::Relaxed);
        Meters::add_ns(&self.meters.slowed_total_ns, delay);
        self.meters.waited(delay, WaitReason::Fold);
        std::thread::sleep(delay);
    }

    /// Makes the active overlay the frozen one, if there is none and something to freeze.
    fn freeze(&mut self) {
        if self.state.overlay.is_empty() || self.shared.version.load().frozen.is_some() {
            return;
        }
        let overlay = std::mem::take(&mut self.state.overlay);
        let frozen = Arc::new(Frozen::new(overlay, self.state.next_entry, self.state.indexes.clone()));
        let published = frozen.clone();
        self.shared.publish(|current| Version {
            active: Overlay::default(),
            frozen: Some(published),
            base_txn: current.base_txn,
            tables: current.tables.clone(),
            next_entry: current.next_entry,
            seq: current.seq,
            tree_generation: current.tree_generation,
            indexes: current.indexes.clone(),
        });
        // The thread ends only after the writer.
        let _ = self.fold.send(FoldJob::Fold(frozen));
    }

    fn rebind(&mut self, resolver: Arc<dyn TypeResolver>, binder: Arc<dyn IndexBinder>) {
        // What was applied under the old schema should be in LMDB soon, so that a replay rarely meets the new one.
        self.freeze();
        Arc::make_mut(&mut self.state.tables).rebind(resolver);
        let (configured, states) = (self.state.indexes.configured().clone(), self.state.indexes.states().clone());
        let extractor = binder.bind(&configured, &states);
        self.state.indexes = Arc::new(BackendIndexes::new(configured, states, extractor));
        self.state.binder = binder;
        self.state.builder = None;
        let (tables, indexes) = (self.state.tables.clone(), self.state.indexes.clone());
        self.shared.publish(|current| Version {
            active: current.active.clone(),
            frozen: current.frozen.clone(),
            base_txn: current.base_txn,
            tables,
            next_entry: current.next_entry,
            seq: current.seq,
            tree_generation: current.tree_generation,
            indexes,
        });
    }

    fn leave_queue(&self, proposal: &[u8]) {
        self.meters.queue_length.fetch_sub(1, Ordering::Relaxed);
        self.meters.queue_bytes.fetch_sub(proposal.len() as u64, Ordering::Relaxed);
    }
}

fn longest(waits: &[(Duration, WaitReason)]) -> WaitReason {
    waits.iter().max_by_key(|(time, _)| *time).map_or(WaitReason::None, |(_, reason)| *reason)
}
