//! How much a pool does, and how many jobs may wait so that none waits too long.
//!
//! Knows no threads and no jobs.

use std::time::{Duration, Instant};

/// Jobs that may wait for each place whatever they take.
const QUEUE_PER_PLACE_MIN: usize = 4;

/// What a pool did since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Jobs that ended.
    pub ended: u64,
    /// Jobs that ended in the last whole second.
    pub ended_per_second: u64,
    /// Jobs that were refused.
    pub refused: u64,
    /// How long jobs waited to begin, of late.
    pub wait: Duration,
    /// How long they took, of late.
    pub time: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Load {
    ended: u64,
    refused: u64,
    /// Moving averages of the last eight or so.
    wait: Option<Duration>,
    time: Option<Duration>,
    /// The second in which jobs ended last: its begin, and how many did.
    second: Option<(Instant, u64)>,
    /// How many ended in the one before.
    second_before: u64,
}

impl Load {
    pub(super) fn refused(&mut self) {
        self.refused += 1;
    }

    pub(super) fn ended(&mut self, wait: Duration, time: Duration, now: Instant) {
        self.ended += 1;
        average(&mut self.wait, wait);
        average(&mut self.time, time);
        self.advance(now);
        if let Some((_, count)) = &mut self.second {
            *count += 1;
        }
    }

    /// How many jobs so many places do in that time; `None` before the first one ended.
    pub(super) fn jobs_in(&self, wait: Duration, places: usize) -> Option<usize> {
        let time = self.time?.as_nanos().max(1);
        let jobs = usize::try_from(wait.as_nanos() * places as u128 / time).unwrap_or(usize::MAX);
        Some(jobs.max(places * QUEUE_PER_PLACE_MIN))
    }

    pub(super) fn counts(&mut self, now: Instant) -> PoolCounts {
        self.advance(now);
        PoolCounts {
            ended: self.ended,
            ended_per_second: self.second_before,
            refused: self.refused,
            wait: self.wait.unwrap_or_default(),
            time: self.time.unwrap_or_default(),
        }
    }

    /// Begins another second if that one is over.
    fn advance(&mut self, now: Instant) {
        const SECOND: Duration = Duration::from_secs(1);
        let (begun, count) = *self.second.get_or_insert((now, 0));
        let since = now.saturating_duration_since(begun);
        if since >= SECOND {
            // After a second without any, it was not the one before.
            self.second_before = if since < SECOND * 2 { count } else { 0 };
            self.second = Some((now, 0));
        }
    }
}

fn average(average: &mut Option<Duration>, new: Duration) {
    *average = Some(average.map_or(new, |before| (before * 7 + new) / 8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_may_wait_as_are_done_in_time() {
        let mut load = Load::default();
        let (wait, now) = (Duration::from_secs(5), Instant::now());
        assert_eq!(load.jobs_in(wait, 2), None, "nothing is known yet");
        load.ended(Duration::ZERO, Duration::from_millis(40), now);
        assert_eq!(load.jobs_in(wait, 2), Some(250));
        assert_eq!(load.jobs_in(wait, 16), Some(2000));
        (0..100).for_each(|_| load.ended(Duration::ZERO, Duration::from_secs(60), now));
        assert_eq!(load.jobs_in(wait, 2), Some(8), "a few always may");
        (0..200).for_each(|_| load.ended(Duration::ZERO, Duration::from_millis(4), now));
        let jobs = load.jobs_in(wait, 2).unwrap_or_default();
        assert!((2450..=2500).contains(&jobs), "{jobs}");
    }

    #[test]
    fn rates_are_of_the_second_before() {
        let mut load = Load::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        (0..30).for_each(|job| load.ended(Duration::from_millis(3), Duration::from_millis(1), at(job * 10)));
        assert_eq!(load.counts(at(500)).ended_per_second, 0, "the first second is not over");
        load.ended(Duration::from_millis(3), Duration::from_millis(1), at(1001));
        load.refused();
        let counts = load.counts(at(1500));
        assert_eq!((counts.ended, counts.ended_per_second, counts.refused), (31, 30, 1));
        assert_eq!((counts.wait, counts.time), (Duration::from_millis(3), Duration::from_millis(1)));
        assert_eq!(load.counts(at(9000)).ended_per_second, 0);
    }
}
