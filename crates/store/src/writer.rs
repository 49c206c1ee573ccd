//! The writer: batches, group commit, freezing. Every update passes through its loop.
//!
//! ```text
//! take all waiting → have them ordered → apply onto the unpublished overlay → one log write, one sync
//!     → publish → answer → freeze if due
//! ```
//! Invariants:
//! (1) No update is acknowledged or visible before the sync of the log has returned.
//! (2) If the log refuses a batch, the working state goes back to the published version, and every proposal of the
//!     batch (refused ones too: they may have been refused because of an earlier one) gets the error.
//! (3) There is at most one frozen overlay. Only the writer freezes.
//! (4) After [`Rules::apply`] returned an error no proposal is applied any more: the state that later ones expect is
//!     unknown. What was applied before it, in the same batch too, is logged and answered as usual.
//! (5) A new schema is served after all jobs sent before it and before all jobs sent after it. A fold takes what is
//!     there: it waits for no proposal, and none for it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::env::ReadTxn;
use crate::error::{StopCause, StoreError};
use crate::extract::IndexBinder;
use crate::fold::FoldJob;
use crate::fold_limits::FoldLimits;
use crate::index::BackendIndexes;
use crate::job::Job;
use crate::log::{Batch, Log};
use crate::order::{Order, Ordered};
use crate::ordered_queue::{OrderedQueue, Turn};
use crate::overlay::Overlay;
use crate::proposed::{Proposed, Ticket};
use crate::rules::{Outcome, Rules};
use crate::stats::{BatchFigures, Doing, Meters};
use crate::submitter::Submitter;
use crate::tables::TypeResolver;
use crate::txn::{Txn, TxnState};
use crate::version::{Frozen, Shared, Version};
use crate::waits::{BatchTimes, Phases, Timeline, WaitReason, us};

/// Proposals in one batch.
const BATCH_OPS_MAX: usize = 1_024;
/// Bytes of proposals and their traces in one batch; a single larger proposal is a batch.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// A batch is closed when applying took this long, so that its first proposals do not wait for many expensive ones.
const BATCH_APPLY_MAX: Duration = Duration::from_millis(10);
/// Longest delay of a batch while folds are behind.
const SLOW_MAX: Duration = Duration::from_millis(50);
/// Overlay memory at which proposals are refused: folding has failed for long.
const OVERLAY_BYTES_MAX: usize = 1 << 30;

/// How far [`Writer::serve_batch`] came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    /// There was no proposal to serve.
    Nothing,
    /// All proposals that were there.
    All,
    /// As many as one batch takes.
    Part,
}

pub(crate) struct Writer<O> {
    pub shared: Arc<Shared>,
    pub rules: Box<dyn Rules>,
    pub log: Arc<dyn Log>,
    pub meters: Arc<Meters>,
    pub limits: FoldLimits,
    pub jobs: Receiver<Job>,
    pub fold: Sender<FoldJob>,
    pub state: TxnState,
    pub batch: Batch,
    pub queue: OrderedQueue<O>,
    /// A new schema that waits until everything before it is served, and the jobs behind it.
    pub held: VecDeque<Job>,
    /// A fold is asked for: the overlay is frozen after the batch.
    pub is_fold_asked: bool,
    pub timeline: Timeline,
}

struct Pending {
    ticket: Option<Ticket>,
    /// When its turn came, and how long it was applied.
    begun: Instant,
    apply: Duration,
    outcome: Result<Outcome, StoreError>,
}

impl Pending {
    fn submitter(&self) -> Submitter {
        self.ticket.as_ref().map_or(Submitter::SERVER, Ticket::submitter)
    }
}

impl<O: Order> Writer<O> {
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

    /// Counts an applied proposal in the working overlay.
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

    /// Serves until it is told to stop; then everything is frozen and handed to the fold.
    pub fn run(&mut self) {
        // The order may have something to give although nothing waits here.
        let mut is_due = false;
        loop {
            if is_due || self.queue.has_waiting() {
                let served = self.serve_batch();
                is_due = served == Served::Part;
                if std::mem::take(&mut self.is_fold_asked) {
                    self.freeze();
                }
                if served != Served::Nothing {
                    self.after_batch();
                    continue;
                }
            }
            self.refuse_held();
            self.meters.idle();
            let is_settled = self.queue.is_empty();
            if !is_settled && self.held.iter().any(|job| matches!(job, Job::Stop)) {
                // A proposal that does not come back from the order must not keep the backend open.
                break;
            }
            let held = if is_settled { self.held.pop_front() } else { None };
            let job = match held {
                Some(held) => Ok(held),
                None if is_settled && self.state.overlay.is_empty() => {
                    self.jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
                }
                None => self.jobs.recv_timeout(self.limits.idle),
            };
            match job {
                Err(RecvTimeoutError::Timeout) => {
                    self.freeze();
                    is_due = !is_settled;
                }
                Ok(Job::Ordered(is_called)) => {
                    is_called.store(false, Ordering::Release);
                    is_due = true;
                }
                #[cfg(test)]
                Ok(Job::Crash) => return,
                Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Job::Fold) => self.freeze(),
                Ok(job) if !is_settled && (!self.held.is_empty() || !matches!(job, Job::Propose(_))) => {
                    self.held.push_back(job);
                }
                Ok(Job::Propose(proposed)) => self.queue.push(proposed),
                Ok(Job::Rebind { first: Some(first), resolver, binder, bound }) => {
                    self.queue.push(first);
                    self.held.push_front(Job::Rebind { first: None, resolver, binder, bound });
                }
                Ok(Job::Rebind { first: None, resolver, binder, bound }) => {
                    self.meters.doing(Doing::Rebind, Instant::now());
                    self.rebind(resolver, binder);
                    drop(bound);
                }
            }
        }
        self.end();
    }

    /// Answers the proposals that still wait, and folds everything.
    fn end(&mut self) {
        let close = |proposed: Proposed| proposed.ticket.answer(Err(StoreError::Closed));
        std::iter::from_fn(|| self.queue.take()).for_each(close);
        self.queue.stop();
        self.held.drain(..).filter_map(Job::into_proposed).for_each(close);
        while let Ok(job) = self.jobs.try_recv() {
            if let Some(proposed) = job.into_proposed() {
                self.meters.left_queue(&proposed.proposal);
                close(proposed);
            }
        }
        // The frozen overlay, if any, is folded first; the fold thread takes its jobs in order.
        while !self.state.overlay.is_empty() && self.meters.fold_trouble().is_none() {
            self.freeze();
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// While the order takes no proposals, those behind a held schema are refused as those before it are: how long it
    /// is held depends on the order.
    fn refuse_held(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let Some(error) = self.queue.trouble() else { return };
        for mut job in std::mem::take(&mut self.held) {
            let proposed = match &mut job {
                Job::Rebind { first, .. } => first.take(),
                _ => None,
            };
            let refused = match (proposed, job) {
                (None, Job::Propose(proposed)) => Some(proposed),
                (proposed, job) => {
                    self.held.push_back(job);
                    proposed
                }
            };
            if let Some(Proposed { proposal, ticket }) = refused {
                self.meters.left_queue(&proposal);
                ticket.answer(Err(error.clone()));
            }
        }
    }

    /// Takes in the jobs sent, up to one that is neither a proposal nor asks for something at once.
    fn take_in(&mut self) {
        while self.held.is_empty()
            && let Ok(job) = self.jobs.try_recv()
        {
            match job {
                Job::Propose(proposed) => self.queue.push(proposed),
                // The order is asked next.
                Job::Ordered(is_called) => is_called.store(false, Ordering::Release),
                Job::Fold => self.is_fold_asked = true,
                other => self.held.push_back(other),
            }
        }
    }

    /// Takes what waits, has it ordered, applies it, logs, publishes and answers.
    fn serve_batch(&mut self) -> Served {
        let started = Instant::now();
        self.meters.doing(Doing::Apply, started);
        let mut pending: Vec<Pending> = Vec::new();
        let pair = self.shared.pair();
        self.batch.restart(self.log.last() + 1);
        let mut bytes = 0;
        let served = loop {
            self.take_in();
            let turn = match self.queue.next(self.refusal(&pair)) {
                Ok(turn) => turn,
                Err(error) => {
                    self.stop_updates(StopCause::Order, error);
                    continue;
                }
            };
            let begun = Instant::now();
            let (ticket, applied) = match (turn, &pair) {
                (None, _) => break if pending.is_empty() { Served::Nothing } else { Served::All },
                (Some(Turn::Refuse(ticket, error)), _) => (Some(ticket), Err(error)),
                (Some(Turn::Apply(ordered)), Err(error)) => (ordered.ticket, Err(error.clone())),
                (Some(Turn::Apply(Ordered { proposal, ticket, .. })), Ok((version, txn, counts_frozen))) => {
                    bytes += proposal.len();
                    let frozen = version.frozen.clone().filter(|_| *counts_frozen);
                    let frozen = frozen.as_deref().map(|frozen| &frozen.overlay);
                    (ticket, self.propose(txn, frozen, &proposal, begun))
                }
            };
            bytes += self.state.trace.len();
            let (outcome, apply) = match applied {
                Ok((outcome, apply)) => (Ok(outcome), apply),
                Err(error) => (Err(error), Duration::ZERO),
            };
            pending.push(Pending { ticket, begun, apply, outcome });
            let is_full = pending.len() >= BATCH_OPS_MAX || bytes >= BATCH_BYTES_MAX;
            if is_full || started.elapsed() >= BATCH_APPLY_MAX {
                break Served::Part;
            }
        };
        drop(pair);
        if served != Served::Nothing {
            self.commit(pending, started);
        }
        served
    }

    /// Why proposals are neither offered nor applied at this moment.
    #[inline]
    fn refusal<T>(&self, pair: &Result<T, StoreError>) -> Option<StoreError> {
        if let Err(error) = pair {
            return Some(error.clone());
        }
        if let Some(stopped) = self.meters.updates_stopped() {
            return Some(stopped.clone());
        }
        let is_over = self.state.overlay.bytes > OVERLAY_BYTES_MAX;
        is_over.then(|| self.meters.fold_trouble().unwrap_or(StoreError::Busy))
    }

    /// No proposal is applied from now on.
    fn stop_updates(&mut self, cause: StopCause, reason: StoreError) -> StoreError {
        let stopped = self.meters.stop_updates(cause, reason);
        self.queue.stop();
        stopped
    }

    /// Applies a proposal, and returns how long that took.
    fn propose(
        &mut self,
        txn: &ReadTxn,
        frozen: Option<&Overlay>,
        proposal: &[u8],
        begun: Instant,
    ) -> Result<(Outcome, Duration), StoreError> {
        let result = self.apply(txn, frozen, proposal).map_err(|error| match error {
            StoreError::Panicked => error,
            error => self.stop_updates(StopCause::Apply, error),
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
                    failure = Some(if O::IS_BINDING { self.stop_updates(StopCause::Log, error) } else { error });
                }
            }
        }
        if failure.is_none() {
            self.queue.applied();
        }
        let ended = Instant::now();
        self.meters.doing(Doing::Answer, ended);
        let count = u32::try_from(pending.len()).unwrap_or(u32::MAX);
        let longest = pending.iter().map(|one| (one.apply, one.submitter())).max_by_key(|(apply, _)| *apply);
        let mut wait = (Duration::ZERO, WaitReason::None);
        for Pending { ticket, begun, apply, outcome } in pending {
            let Some(ticket) = ticket else { continue };
            let submitted = ticket.submitted();
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
            ticket.answer(match &failure {
                Some(error) => Err(error.clone()),
                None => outcome.map(|outcome| Outcome { phases, ..outcome }),
            });
        }
        let longest = longest.unwrap_or_default();
        self.timeline.push(BatchTimes { started, applied, synced, slowed: None, longest });
        let sync = synced - applied;
        self.meters.batch_ended(BatchFigures { proposals: u64::from(count), logged, sync, wait, hold: longest });
    }

    fn publish(&mut self) {
        let (overlay, tables) = (self.state.overlay.clone(), self.state.tables.clone());
        let (next_entry, seq) = (self.state.next_entry, self.batch.last_seq());
        let (tree_generation, indexes) = (self.state.tree_generation, self.state.indexes.clone());
        let marks = self.state.marks.clone();
        self.shared.publish(|current| Version {
            active: overlay,
            frozen: current.frozen.clone(),
            base_txn: current.base_txn,
            tables,
            next_entry,
            seq,
            tree_generation,
            marks,
            indexes,
        });
        // Whoever was answered, and looks at its counter after that, sees the change in every snapshot.
        for id in self.state.written.drain(..) {
            self.shared.marks.count(id);
        }
    }

    /// Goes back to the published state.
    fn restore(&mut self) {
        let version = self.shared.version.load();
        self.state.overlay = version.active.clone();
        self.state.tables = version.tables.clone();
        self.state.next_entry = version.next_entry;
        self.state.indexes = version.indexes.clone();
        self.state.written.clear();
        self.state.builder = None;
    }

    /// Freezes if the overlay is full, slows down if folds are behind.
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
            ..current.clone()
        });
        // The thread ends only after the writer.
        let _ = self.fold.send(FoldJob::Fold(frozen));
    }

    fn rebind(&mut self, resolver: Arc<dyn TypeResolver>, binder: Arc<dyn IndexBinder>) {
        // Changes applied under the old schema should be in LMDB soon, so that they are rarely replayed under the new
        // one.
        self.freeze();
        Arc::make_mut(&mut self.state.tables).rebind(resolver);
        let (configured, states) = (self.state.indexes.configured().clone(), self.state.indexes.states().clone());
        let extractor = binder.bind(&configured, &states);
        self.state.indexes = Arc::new(BackendIndexes::new(configured, states, extractor));
        self.state.binder = binder;
        self.state.builder = None;
        let (tables, indexes) = (self.state.tables.clone(), self.state.indexes.clone());
        self.shared.publish(|current| Version { tables, indexes, ..current.clone() });
    }
}
