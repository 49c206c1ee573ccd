//! Known places of one backend's log, far apart: from a number or a time to where reading begins.

use std::collections::VecDeque;

use store::log::LogPlace;

/// Bytes of log between two places.
const APART_BYTES: u64 = 256 << 10;

/// A known place. What stands before it has lower numbers than `number`, and was proposed at `before_us` at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub place: LogPlace,
    /// The lowest number that may stand there or behind.
    pub number: u64,
    /// In µs since 1970.
    pub before_us: u64,
}

/// In the order of the log.
#[derive(Debug, Default)]
pub struct Points {
    list: VecDeque<Point>,
}

impl Points {
    /// Adds what was found when the log was opened.
    pub fn push(&mut self, point: Point) {
        self.list.push_back(point);
    }

    /// The log goes on at `place`, with `number` or a higher one.
    pub fn note(&mut self, place: LogPlace, number: u64, before_us: u64) {
        let is_near = |last: &Point| {
            last.place.generation == place.generation && place.offset < last.place.offset.saturating_add(APART_BYTES)
        };
        if !self.list.back().is_some_and(is_near) {
            let before_us = self.list.back().map_or(before_us, |last| last.before_us.max(before_us));
            self.push(Point { place, number, before_us });
        }
    }

    /// Forgets places in segments before that one.
    pub fn forget_before(&mut self, generation: u64) {
        while self.list.len() > 1 && self.list.front().is_some_and(|point| point.place.generation < generation) {
            self.list.pop_front();
        }
    }

    /// Where to begin reading for that number; the first place when it is before all.
    pub fn at_number(&self, number: u64) -> Option<Point> {
        let after = self.list.partition_point(|point| point.number <= number);
        self.list.get(after.saturating_sub(1)).copied()
    }

    /// Where to begin reading for what was proposed at that time or later.
    pub fn at_time(&self, time_us: u64) -> Option<Point> {
        let after = self.list.partition_point(|point| point.before_us < time_us);
        self.list.get(after.saturating_sub(1)).copied()
    }
}
