//! Where the time of a proposal went: its phases in the writer, and what the writer did while the proposal waited for
//! its turn.
//!
//! Knows times only, which the writer takes anyway; what happened during a wait is looked up only for long waits.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::submitter::Submitter;

/// Batches that are remembered to explain waits. A wait that began earlier is explained in part.
const SPANS_MAX: usize = 256;
/// Shorter waits for a turn are not explained.
const EXPLAINED_FROM: Duration = Duration::from_millis(10);

/// The phases of one proposal, in microseconds (at most some 71 minutes each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// From submission to its turn.
    pub queue_us: u32,
    /// Applying it.
    pub apply_us: u32,
    /// Applying others of its batch after it.
    pub batch_us: u32,
    /// Write and sync of the log.
    pub sync_us: u32,
    /// From the sync until readers see it.
    pub publish_us: u32,
    /// Proposals in its batch.
    pub batch: u32,
    /// What the writer did during `queue_us`, if that was long.
    pub behind: Behind,
}

/// What the writer did while a proposal waited for its turn, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Applied others.
    pub apply_us: u32,
    /// Wrote and synced the log.
    pub sync_us: u32,
    /// Waited for folds.
    pub fold_us: u32,
    /// Longest time of applying one of them.
    pub longest_us: u32,
    /// Who submitted that one.
    pub longest: Submitter,
}

/// What a proposal waited for longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    /// Nothing yet.
    #[default]
    None,
    /// For its turn.
    Queue,
    /// For itself to be applied.
    Apply,
    /// For others to be applied.
    Others,
    /// For the disk of the log.
    Sync,
    /// For readers to get it.
    Publish,
    /// Folds were behind.
    Fold,
}

impl Phases {
    /// All of them together.
    #[must_use]
    pub fn total_us(&self) -> u64 {
        let parts = [self.queue_us, self.apply_us, self.batch_us, self.sync_us, self.publish_us];
        parts.into_iter().map(u64::from).sum()
    }

    /// What took longest.
    #[must_use]
    pub fn reason(&self) -> WaitReason {
        let behind = &self.behind;
        let sum = |one: u32, other: u32| u64::from(one) + u64::from(other);
        let explained = sum(behind.apply_us, behind.sync_us) + u64::from(behind.fold_us);
        let waits = [
            (u64::from(self.queue_us).saturating_sub(explained), WaitReason::Queue),
            (u64::from(self.apply_us), WaitReason::Apply),
            (sum(self.batch_us, behind.apply_us), WaitReason::Others),
            (sum(self.sync_us, behind.sync_us), WaitReason::Sync),
            (u64::from(self.publish_us), WaitReason::Publish),
            (u64::from(behind.fold_us), WaitReason::Fold),
        ];
        waits.into_iter().max_by_key(|(time, _)| *time).map_or(WaitReason::None, |(_, reason)| reason)
    }

    /// The phases of two proposals, one after the other.
    #[must_use]
    pub fn and(self, next: Phases) -> Phases {
        let (one, other) = (self.behind, next.behind);
        let longer = if other.longest_us > one.longest_us { other } else { one };
        Phases {
            queue_us: self.queue_us.saturating_add(next.queue_us),
            apply_us: self.apply_us.saturating_add(next.apply_us),
            batch_us: self.batch_us.saturating_add(next.batch_us),
            sync_us: self.sync_us.saturating_add(next.sync_us),
            publish_us: self.publish_us.saturating_add(next.publish_us),
            batch: self.batch.max(next.batch),
            behind: Behind {
                apply_us: one.apply_us.saturating_add(other.apply_us),
                sync_us: one.sync_us.saturating_add(other.sync_us),
                fold_us: one.fold_us.saturating_add(other.fold_us),
                ..longer
            },
        }
    }
}

/// Microseconds as the phases count them.
pub(crate) fn us(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// When one batch did what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchTimes {
    pub started: Instant,
    pub applied: Instant,
    pub synced: Instant,
    /// The wait for folds after it, if any, and its length.
    pub slowed: Option<(Instant, Duration)>,
    /// Longest time of applying one proposal in it, and who submitted that.
    pub longest: (Duration, Submitter),
}

/// The last batches, the newest last.
#[derive(Default)]
pub(crate) struct Timeline(VecDeque<BatchTimes>);

impl Timeline {
    pub fn push(&mut self, span: BatchTimes) {
        if self.0.len() >= SPANS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(span);
    }

    /// After the newest batch the writer waited for folds.
    pub fn slowed(&mut self, from: Instant, time: Duration) {
        if let Some(span) = self.0.back_mut() {
            span.slowed = Some((from, time));
        }
    }

    /// What happened between `from` and `to`; nothing if that is short.
    pub fn behind(&self, from: Instant, to: Instant) -> Behind {
        let mut found = Behind::default();
        if to.saturating_duration_since(from) < EXPLAINED_FROM {
            return found;
        }
        let common = |begin: Instant, end: Instant| us(end.min(to).saturating_duration_since(begin.max(from)));
        for span in self.0.iter().rev() {
            let slowed = span.slowed.map_or(0, |(begin, time)| common(begin, begin + time));
            found.fold_us = found.fold_us.saturating_add(slowed);
            found.sync_us = found.sync_us.saturating_add(common(span.applied, span.synced));
            let applied = common(span.started, span.applied);
            found.apply_us = found.apply_us.saturating_add(applied);
            let longest = us(span.longest.0).min(applied);
            if longest > found.longest_us {
                (found.longest_us, found.longest) = (longest, span.longest.1);
            }
            if span.started <= from {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_explained_by_what_happened_meanwhile() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut timeline = Timeline::default();
        // Long ago; then 5 ms of applying (4 of them for connection 7) and 300 of the disk; then 2 and 20 and 50 for
        // the fold.
        let longest = (Duration::from_millis(4), Submitter(7));
        timeline.push(BatchTimes {
            started: at(0),
            applied: at(9),
            synced: at(90),
            slowed: None,
            longest: (at(9) - at(0), Submitter(3)),
        });
        timeline.push(BatchTimes { started: at(100), applied: at(105), synced: at(405), slowed: None, longest });
        timeline.push(BatchTimes {
            started: at(405),
            applied: at(407),
            synced: at(427),
            slowed: None,
            longest: (at(1) - at(0), Submitter(8)),
        });
        timeline.slowed(at(430), Duration::from_millis(50));
        let behind = timeline.behind(at(102), at(480));
        let expected =
            Behind { apply_us: 5_000, sync_us: 320_000, fold_us: 50_000, longest_us: 3_000, longest: Submitter(7) };
        assert_eq!(behind, expected);
        let phases = Phases { queue_us: 378_000, sync_us: 9_000, apply_us: 10, behind, ..Phases::default() };
        assert_eq!((phases.reason(), phases.total_us()), (WaitReason::Sync, 387_010));
        // The same wait, had nothing of it been the disk's.
        let phases = Phases { behind: Behind { sync_us: 0, fold_us: 370_000, ..behind }, ..phases };
        assert_eq!(phases.reason(), WaitReason::Fold);
        assert_eq!(timeline.behind(at(470), at(479)), Behind::default(), "too short to be worth it");
    }

    #[test]
    fn the_largest_part_names_the_reason() {
        for (phases, reason) in [
            (Phases { queue_us: 9, apply_us: 3, ..Phases::default() }, WaitReason::Queue),
            (Phases { queue_us: 2, apply_us: 3, ..Phases::default() }, WaitReason::Apply),
            (Phases { batch_us: 4, apply_us: 3, ..Phases::default() }, WaitReason::Others),
            (Phases { publish_us: 4, apply_us: 3, ..Phases::default() }, WaitReason::Publish),
        ] {
            assert_eq!(phases.reason(), reason, "{phases:?}");
        }
        let twice = Phases { queue_us: 9, batch: 2, ..Phases::default() }.and(Phases {
            queue_us: u32::MAX,
            batch: 1,
            ..Phases::default()
        });
        assert_eq!((twice.queue_us, twice.batch), (u32::MAX, 2));
    }
}
