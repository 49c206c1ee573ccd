//! The figures that `cn=monitor` shows: queue, batches, sync times, overlay, fold, readers, the longest wait with its
//! reason, and the longest times of each minute.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error::{StopCause, StoreError};
use crate::log::LogHealth;
use crate::submitter::Submitter;
use crate::waits::WaitReason;

/// Minutes that are remembered.
const MINUTES_MAX: usize = 60;

/// Figures of one backend at one moment. Counters are since the start.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Entries.
    pub entries: u64,
    /// Proposals waiting for the writer.
    pub queue_length: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// What the writer does at this moment.
    pub doing: Doing,
    /// For how long already; zero while it waits for work.
    pub doing_for: Duration,
    /// Proposals applied (accepted or refused).
    pub proposals: u64,
    /// Proposals accepted.
    pub accepted: u64,
    /// Batches written to the log.
    pub batches: u64,
    /// Largest batch so far, in proposals.
    pub batch_max: u64,
    /// Bytes written to the log.
    pub logged_bytes: u64,
    /// All log writes together, sync included.
    pub sync_total: Duration,
    /// Slowest log write.
    pub sync_max: Duration,
    /// Time spent applying.
    pub apply_total: Duration,
    /// Longest that any proposal waited from submission to its answer, and why.
    pub wait_max: Duration,
    /// The reason of the longest wait.
    pub wait_max_reason: WaitReason,
    /// Longest time that the writer took to apply one proposal.
    pub hold_max: Duration,
    /// Who submitted that proposal.
    pub hold_max_submitter: Submitter,
    /// The minutes of the last hour that had updates, the oldest first.
    pub minutes: Vec<Minute>,
    /// Changes in the active overlay.
    pub overlay_ops: u64,
    /// Memory they take.
    pub overlay_bytes: u64,
    /// Changes in the overlay that is being folded.
    pub frozen_ops: u64,
    /// Memory they take.
    pub frozen_bytes: u64,
    /// Folds done.
    pub folds: u64,
    /// Changes folded.
    pub folded_ops: u64,
    /// Time of the last fold.
    pub fold_last: Duration,
    /// The longest fold.
    pub fold_max: Duration,
    /// Time of its commit.
    pub fold_commit_last: Duration,
    /// Rows done and to do of the fold under way.
    pub fold_progress: (u64, u64),
    /// How often the writer was slowed because folds were behind.
    pub slowed: u64,
    /// Sum of those delays.
    pub slowed_total: Duration,
    /// Why the last fold failed, while it is being tried again.
    pub fold_trouble: Option<StoreError>,
    /// Why no update is taken any more ([`StoreError::UpdatesStopped`]).
    pub updates_stopped: Option<StoreError>,
    /// Why the order of proposals takes no proposals at this moment.
    pub order_trouble: Option<StoreError>,
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
    /// Changes replayed at the start.
    pub replayed: u64,
    /// Time the replay took.
    pub replay: Duration,
}

/// What the disk of a backend refuses at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// The log cannot be written, so no update is taken.
    Log(StoreError),
    /// A fold cannot be written; it is tried again.
    Database(StoreError),
}

/// What the writer is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// It waits for work.
    #[default]
    Nothing,
    /// It applies proposals.
    Apply,
    /// It waits for the disk of the log.
    Sync,
    /// It answers the submitters.
    Answer,
    /// It waits for folds.
    Slowed,
    /// It takes a new schema.
    Rebind,
}

impl Doing {
    const ALL: [Doing; 6] = [Doing::Nothing, Doing::Apply, Doing::Sync, Doing::Answer, Doing::Slowed, Doing::Rebind];
}

/// The figures of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// Minutes since 1970.
    pub minute: u64,
    /// Proposals.
    pub proposals: u64,
    /// Batches written to the log.
    pub batches: u64,
    /// Bytes written to the log.
    pub logged_bytes: u64,
    /// Longest time from the submission of a proposal to its answer.
    pub wait_max: Duration,
    /// The reason of that wait.
    pub wait_max_reason: WaitReason,
    /// Longest time that the writer took to apply one proposal.
    pub hold_max: Duration,
    /// Slowest log write.
    pub sync_max: Duration,
    /// Longest fold that ended in this minute.
    pub fold_max: Duration,
    /// How long the writer waited for folds.
    pub slowed: Duration,
}

/// The figures of a batch.
pub(crate) struct BatchFigures {
    pub proposals: u64,
    /// Bytes in the log; 0 when nothing was accepted, or the log failed.
    pub logged: u64,
    pub sync: Duration,
    /// Longest wait in it, and why.
    pub wait: (Duration, WaitReason),
    /// Longest time of applying one proposal in it, and who submitted that.
    pub hold: (Duration, Submitter),
}

/// The longest times, which change with each batch at most.
#[derive(Default)]
struct Worst {
    wait: (Duration, WaitReason),
    hold: (Duration, Submitter),
    minutes: VecDeque<Minute>,
}

impl Worst {
    /// The present minute.
    fn now(&mut self) -> &mut Minute {
        let minute = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60;
        self.at(minute)
    }

    fn at(&mut self, minute: u64) -> &mut Minute {
        while self.minutes.front().is_some_and(|oldest| oldest.minute + MINUTES_MAX as u64 <= minute) {
            self.minutes.pop_front();
        }
        // When the clock was set back, the newest minute is used on.
        if self.minutes.back().is_none_or(|newest| newest.minute < minute) {
            self.minutes.push_back(Minute { minute, ..Minute::default() });
        }
        let last = self.minutes.len() - 1;
        &mut self.minutes[last]
    }
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
    pub logged_bytes: AtomicU64,
    pub sync_total_ns: AtomicU64,
    pub sync_max_ns: AtomicU64,
    pub apply_total_ns: AtomicU64,
    pub folds: AtomicU64,
    pub folded_ops: AtomicU64,
    pub fold_last_ns: AtomicU64,
    pub fold_max_ns: AtomicU64,
    pub fold_commit_last_ns: AtomicU64,
    pub fold_done: AtomicU64,
    pub fold_total: AtomicU64,
    pub slowed: AtomicU64,
    pub slowed_total_ns: AtomicU64,
    pub replayed: AtomicU64,
    pub replay_ns: AtomicU64,
    /// The writer waits for the fold, which should make no pauses now.
    pub is_behind: AtomicBool,
    /// How full the overlay was after the last batch, in per cent of the limit for freezing.
    pub fill_percent: AtomicU64,
    /// What the writer does ([`Doing`], the low three bits), and since when (µs after `begun`).
    doing: AtomicU64,
    begun: OnceLock<Instant>,
    worst: Mutex<Worst>,
    fold_trouble: Mutex<Option<StoreError>>,
    order_trouble: Mutex<Option<StoreError>>,
    updates_stopped: OnceLock<StoreError>,
}

impl Meters {
    pub fn add_ns(counter: &AtomicU64, time: Duration) {
        counter.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// What the writer does from now on.
    pub fn doing(&self, what: Doing, since: Instant) {
        let begun = *self.begun.get_or_init(|| since);
        let since_us = since.saturating_duration_since(begun).as_micros() as u64;
        self.doing.store(since_us << 3 | what as u64, Ordering::Relaxed);
    }

    /// The writer waits for work.
    pub fn idle(&self) {
        self.doing.store(Doing::Nothing as u64, Ordering::Relaxed);
    }

    /// What the writer does, and for how long already.
    pub fn doing_now(&self) -> (Doing, Duration) {
        let doing = self.doing.load(Ordering::Relaxed);
        let (what, since) = (Doing::ALL.get(doing as usize & 7).copied(), Duration::from_micros(doing >> 3));
        match (what, self.begun.get()) {
            (Some(what), Some(begun)) if what != Doing::Nothing => (what, begun.elapsed().saturating_sub(since)),
            _ => (Doing::Nothing, Duration::ZERO),
        }
    }

    /// A proposal does not wait in the queue any more.
    pub fn left_queue(&self, proposal: &[u8]) {
        self.queue_length.fetch_sub(1, Ordering::Relaxed);
        self.queue_bytes.fetch_sub(proposal.len() as u64, Ordering::Relaxed);
    }

    pub fn batch_ended(&self, batch: BatchFigures) {
        let mut worst = self.worst();
        if batch.wait.0 > worst.wait.0 {
            worst.wait = batch.wait;
        }
        if batch.hold.0 > worst.hold.0 {
            worst.hold = batch.hold;
        }
        let minute = worst.now();
        minute.proposals += batch.proposals;
        if batch.wait.0 > minute.wait_max {
            (minute.wait_max, minute.wait_max_reason) = batch.wait;
        }
        minute.hold_max = minute.hold_max.max(batch.hold.0);
        if batch.logged > 0 {
            minute.batches += 1;
            minute.logged_bytes += batch.logged;
            minute.sync_max = minute.sync_max.max(batch.sync);
            self.batches.fetch_add(1, Ordering::Relaxed);
            self.batch_max.fetch_max(batch.proposals, Ordering::Relaxed);
            self.logged_bytes.fetch_add(batch.logged, Ordering::Relaxed);
            Meters::add_ns(&self.sync_total_ns, batch.sync);
            self.sync_max_ns.fetch_max(batch.sync.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// The writer waited for folds.
    pub fn slowed(&self, time: Duration) {
        self.slowed.fetch_add(1, Ordering::Relaxed);
        Meters::add_ns(&self.slowed_total_ns, time);
        self.worst().now().slowed += time;
    }

    fn worst(&self) -> MutexGuard<'_, Worst> {
        self.worst.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn fold_ended(&self, start: Instant, committing: Instant, ops: u64) {
        self.folds.fetch_add(1, Ordering::Relaxed);
        self.folded_ops.fetch_add(ops, Ordering::Relaxed);
        let time = start.elapsed();
        self.fold_last_ns.store(time.as_nanos() as u64, Ordering::Relaxed);
        self.fold_max_ns.fetch_max(time.as_nanos() as u64, Ordering::Relaxed);
        self.fold_commit_last_ns.store(committing.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.fold_done.store(0, Ordering::Relaxed);
        self.fold_total.store(0, Ordering::Relaxed);
        let mut worst = self.worst();
        let minute = worst.now();
        minute.fold_max = minute.fold_max.max(time);
    }

    pub fn set_fold_trouble(&self, error: Option<StoreError>) {
        *self.fold_trouble.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    pub fn fold_trouble(&self) -> Option<StoreError> {
        self.fold_trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_order_trouble(&self, error: Option<StoreError>) {
        *self.order_trouble.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// From now on no update is taken; gives the error that says so. The first reason stays.
    pub fn stop_updates(&self, cause: StopCause, reason: StoreError) -> StoreError {
        self.updates_stopped.get_or_init(|| StoreError::UpdatesStopped { cause, reason: Box::new(reason) }).clone()
    }

    /// Why no update is taken.
    pub fn updates_stopped(&self) -> Option<&StoreError> {
        self.updates_stopped.get()
    }

    /// The part of [`Stats`] that is kept here.
    pub fn look(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Ordering::Relaxed));
        let (doing, doing_for) = self.doing_now();
        let worst = self.worst();
        let ((wait_max, wait_max_reason), (hold_max, hold_max_submitter)) = (worst.wait, worst.hold);
        Stats {
            minutes: worst.minutes.iter().copied().collect(),
            hold_max,
            hold_max_submitter,
            doing,
            doing_for,
            queue_length: get(&self.queue_length),
            queue_bytes: get(&self.queue_bytes),
            logged_bytes: get(&self.logged_bytes),
            fold_max: time(&self.fold_max_ns),
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
            updates_stopped: self.updates_stopped().cloned(),
            order_trouble: self.order_trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            replayed: get(&self.replayed),
            replay: time(&self.replay_ns),
            ..Stats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_remembered_and_a_clock_may_go_back() {
        let mut worst = Worst::default();
        for minute in [100, 101, 101, 159, 158] {
            worst.at(minute).proposals += 1;
        }
        let minutes = |worst: &Worst| worst.minutes.iter().map(|one| (one.minute, one.proposals)).collect::<Vec<_>>();
        assert_eq!(minutes(&worst), [(100, 1), (101, 2), (159, 2)]);
        worst.at(160);
        assert_eq!(minutes(&worst), [(101, 2), (159, 2), (160, 0)]);
        worst.at(1000);
        assert_eq!(minutes(&worst), [(1000, 0)]);
    }
}
