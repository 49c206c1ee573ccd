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
//! (4) After [`Rules::apply`] returned an error no proposal is applied any more: the state that later ones expect is unknown.
//!     What was applied before it, in the same batch too, is logged and answered as usual.
//! (5) A job of another kind than a proposal is served after all that was sent before it, and before all that was sent after it.

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
use crate::queue::{Proposed, Queue};
use crate::rules::{Done, Outcome, Rules};
use crate::stats::{BatchFigures, Doing, Meters};
use crate::submitter::Submitter;
use crate::tables::TypeResolver;
use crate::txn::{Txn, TxnState};
use crate::version::{Frozen, Shared, Version};
use crate::waits::{Phases, Span, Timeline, WaitReason, us};

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
    Propose(Proposed),
    /// A new schema: descriptions are bound to types anew.
    Rebind {
        /// Served right before it, with nothing in between.
        first: Option<Proposed>,
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

impl Job {
    /// The proposal in it.
    pub fn into_proposed(self) -> Option<Proposed> {
        match self {
            Job::Propose(proposed) => Some(proposed),
            Job::Rebind { first, .. } => first,
            _ => None,
        }
    }
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
    pub queue: Queue,
    /// A job of another kind, which is served when the queue is empty. Until then nothing behind it is looked at.
    pub held: Option<Job>,
    pub timeline: Timeline,
}

struct Pending {
    done: Done,
    submitted: Instant,
    source: Submitter,
    /// When its turn came, and how long it was applied.
    begun: Instant,
    apply: Duration,
    outcome: Result<Outcome, StoreError>,
}

impl Writer {
    /// Applies one proposal onto the working state; a refusal, an error or a panic leaves the state as it was.
    pub fn apply(&mut self, txn: &ReadTxn, frozen: Option<&Overlay>, proposal: &[u8]) -> Result<Outcome, StoreError> {
        let dbs = *self.shared.env.dbs();
        let mut txn = Txn::begin(txn, &dbs, frozen, &mut self.state);
        let rules = &mut self.rules;
        let result = catch_unwind(AssertUnwindSafe(|| rules.apply(&mut txn, proposal)));
        match result {
            Ok(Ok(outcome)) if outcome.accepted => Ok(outcome),
            Ok(Ok(outcome)) => {
                txn.undo();
                Ok(outcome)
            }
            Ok(Err(error)) => {
                txn.undo();
                self.rules.forget();
                Err(error)
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
            if !self.queue.is_empty() {
                self.serve_batch();
                self.after_batch();
                continue;
            }
            self.meters.idle();
            let job = match self.held.take() {
                Some(held) => Ok(held),
                None if self.state.overlay.is_empty() => self.jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                None => self.jobs.recv_timeout(self.limits.idle),
            };
            match job {
                Ok(Job::Propose(proposed)) => self.queue.push(proposed),
                Ok(Job::Rebind { first: Some(first), resolver, binder, bound }) => {
                    self.queue.push(first);
                    self.held = Some(Job::Rebind { first: None, resolver, binder, bound });
                }
                Ok(Job::Rebind { first: None, resolver, binder, bound }) => {
                    self.meters.doing(Doing::Rebind, Instant::now());
                    self.rebind(resolver, binder);
                    drop(bound);
                }
                Ok(Job::Fold) | Err(RecvTimeoutError::Timeout) => self.freeze(),
                #[cfg(test)]
                Ok(Job::Crash) => return,
                Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while let Ok(job) = self.jobs.try_recv() {
            if let Some(Proposed { proposal, done, .. }) = job.into_proposed() {
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

    /// Takes in what was sent, up to a job of another kind.
    fn take_in(&mut self) {
        while self.held.is_none()
            && let Ok(job) = self.jobs.try_recv()
        {
            match job {
                Job::Propose(proposed) => self.queue.push(proposed),
                other => self.held = Some(other),
            }
        }
    }

    /// Takes what waits, applies, logs, publishes, answers.
    fn serve_batch(&mut self) {
        let started = Instant::now();
        self.meters.doing(Doing::Apply, started);
        let mut pending: Vec<Pending> = Vec::new();
        let pair = self.shared.pair();
        self.batch.restart(self.log.last() + 1);
        let mut bytes = 0;
        loop {
            self.take_in();
            let Some(Proposed { source, proposal, done, submitted }) = self.queue.pop() else { break };
            self.leave_queue(&proposal);
            bytes += proposal.len();
            let begun = Instant::now();
            let outcome = match &pair {
                Err(error) => Err(error.clone()),
                Ok(_) if let Some(stopped) = self.meters.updates_stopped() => Err(stopped.clone()),
                Ok(_) if self.state.overlay.bytes > OVERLAY_BYTES_MAX => {
                    Err(self.meters.fold_trouble().unwrap_or(StoreError::Busy))
                }
                Ok((version, txn, counts_frozen)) => {
                    let frozen = version.frozen.clone().filter(|_| *counts_frozen);
                    self.propose(txn, frozen.as_deref().map(|frozen| &frozen.overlay), &proposal, begun)
                }
            };
            bytes += self.state.trace.len();
            let (outcome, apply) = match outcome {
                Ok((outcome, apply)) => (Ok(outcome), apply),
                Err(error) => (Err(error), Duration::ZERO),
            };
            pending.push(Pending { done, submitted, source, begun, apply, outcome });
            let is_full = pending.len() >= BATCH_OPS_MAX || bytes >= BATCH_BYTES_MAX;
            if is_full || started.elapsed() >= BATCH_APPLY_MAX {
                break;
            }
        }
        drop(pair);
        self.commit(pending, started);
    }

    /// Applies, and tells how long that took.
    fn propose(
        &mut self,
        txn: &ReadTxn,
        frozen: Option<&Overlay>,
        proposal: &[u8],
        begun: Instant,
    ) -> Result<(Outcome, Duration), StoreError> {
        let result = self.apply(txn, frozen, proposal).map_err(|error| match error {
            StoreError::Panicked => error,
            error => self.meters.stop_updates(error),
        });
        let time = begun.elapsed();
        self.meters.proposals.fetch_add(1, Ordering::Relaxed);
        Meters::add_ns(&self.meters.apply_total_ns, time);
        if let Ok(outcome) = &result
            && outcome.accepted
        {
            let seq = self.batch.push(outcome.code, proposal, &self.state.trace);
            self.count(seq, proposal.len() + self.state.trace.len(), time);
            self.meters.accepted.fetch_add(1, Ordering::Relaxed);
        }
        Ok((result?, time))
    }

    fn commit(&mut self, pending: Vec<Pending>, started: Instant) {
        let applied = Instant::now();
        let (mut synced, mut failure, mut logged) = (applied, None, 0);
        if !self.batch.is_empty() {
            self.meters.doing(Doing::Sync, applied);
            let bytes = self.batch.frame_bytes() as u64;
            match self.log.append(&mut self.batch) {
                Ok(place) => {
                    synced = Instant::now();
                    logged = bytes;
                    self.publish();
                    self.rules.settled(Some(place));
                }
                Err(error) => {
                    synced = Instant::now();
                    self.restore();
                    self.rules.forget();
                    self.rules.settled(None);
                    failure = Some(error);
                }
            }
        }
        let ended = Instant::now();
        self.meters.doing(Doing::Answer, ended);
        let count = u32::try_from(pending.len()).unwrap_or(u32::MAX);
        let longest = pending.iter().map(|one| (one.apply, one.source)).max_by_key(|(apply, _)| *apply);
        let mut wait = (Duration::ZERO, WaitReason::None);
        for Pending { done, submitted, begun, apply, outcome, .. } in pending {
            let phases = Phases {
                queue_us: us(begun.saturating_duration_since(submitted)),
                apply_us: us(apply),
                batch_us: us(applied.saturating_duration_since(begun + apply)),
                sync_us: us(synced - applied),
                publish_us: us(ended - synced),
                batch: count,
                behind: self.timeline.behind(submitted, started),
            };
            let waited = ended.saturating_duration_since(submitted);
            if waited > wait.0 {
                wait = (waited, phases.reason());
            }
            // A callback that panics must not take the writer with it.
            let answer = match &failure {
                Some(error) => Err(error.clone()),
                None => outcome.map(|outcome| Outcome { phases, ..outcome }),
            };
            let _ = catch_unwind(AssertUnwindSafe(move || done(answer)));
        }
        let longest = longest.unwrap_or_default();
        self.timeline.push(Span { started, applied, synced, slowed: None, longest });
        let sync = synced - applied;
        self.meters.batch_ended(BatchFigures { proposals: u64::from(count), logged, sync, wait, hold: longest });
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
        let from = Instant::now();
        self.meters.doing(Doing::Slowed, from);
        std::thread::sleep(delay);
        let time = from.elapsed();
        self.timeline.slowed(from, time);
        self.meters.slowed(time);
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
