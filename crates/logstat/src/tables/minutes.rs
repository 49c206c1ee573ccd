//! What happened in each minute. Of more than 20,160 minutes (two weeks), two neighbours become one, as often as it
//! takes, so that a log of any length has a time line.

use std::collections::BTreeMap;

use crate::record::{Kind, Moment};

/// Rows of the time line.
pub const ROWS_MAX: usize = 20_160;

/// Classes of latencies: four for each doubling, from 1 µs on.
pub const CLASSES: usize = 144;

/// Minutes that one long operation is noted in.
const SPAN_MAX: i64 = 1440;

/// What happened in one of them.
#[derive(Debug, Clone)]
pub struct Minute {
    /// Operations by kind.
    pub kinds: [u32; Kind::ALL.len()],
    /// Of them with an error.
    pub errors: u32,
    /// Searches without an index.
    pub unindexed: u32,
    /// Answers that took as long as a stall.
    pub slow: u32,
    /// Operations that waited so long and were under way in it.
    pub waiting: u32,
    /// The longest.
    pub longest_ns: u64,
    /// What the log's clock was ahead of UTC.
    pub offset_seconds: i32,
    latencies: Box<[u32; CLASSES]>,
}

impl Default for Minute {
    fn default() -> Self {
        Self {
            kinds: Default::default(),
            errors: 0,
            unindexed: 0,
            slow: 0,
            waiting: 0,
            longest_ns: 0,
            offset_seconds: 0,
            latencies: Box::new([0; CLASSES]),
        }
    }
}

/// Class of a time.
fn class(ns: u64) -> usize {
    let us = ns / 1000;
    if us < 4 {
        return us as usize;
    }
    let exponent = us.ilog2();
    let quarter = (us >> (exponent - 2)) & 3;
    (exponent as usize * 4 + quarter as usize - 4).min(CLASSES - 1)
}

/// The end of a class, in nanoseconds.
fn class_end(class: usize) -> u64 {
    let next = class as u64 + 1;
    if next <= 4 {
        return next * 1000;
    }
    let (exponent, quarter) = ((next + 4) / 4, (next + 4) % 4);
    ((4 + quarter) << (exponent - 2)) * 1000
}

impl Minute {
    /// Operations.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.kinds.iter().map(|count| u64::from(*count)).sum()
    }

    /// The time within which so many of 1,000 answers came, in nanoseconds; 0 if there were none.
    #[must_use]
    pub fn within(&self, of_thousand: u64) -> u64 {
        let all: u64 = self.latencies.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all * of_thousand).div_ceil(1000);
        let mut sum = 0;
        for (class, count) in self.latencies.iter().enumerate() {
            sum += u64::from(*count);
            if sum >= wanted && sum > 0 {
                return class_end(class).min(self.longest_ns);
            }
        }
        0
    }

    fn add(&mut self, other: &Minute) {
        let add = |sum: &mut u32, more: u32| *sum = sum.saturating_add(more);
        self.kinds.iter_mut().zip(other.kinds).for_each(|(sum, more)| add(sum, more));
        self.latencies.iter_mut().zip(other.latencies.iter()).for_each(|(sum, more)| add(sum, *more));
        add(&mut self.errors, other.errors);
        add(&mut self.unindexed, other.unindexed);
        add(&mut self.slow, other.slow);
        // Who waits in two neighbours is mostly the same.
        self.waiting = self.waiting.max(other.waiting);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.offset_seconds = other.offset_seconds;
    }
}

/// What is noted of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Noted {
    /// What it did.
    pub kind: Kind,
    /// It failed.
    pub is_error: bool,
    /// No index answered it.
    pub is_unindexed: bool,
    /// How long it took, if it was answered.
    pub ns: Option<u64>,
    /// From so long on it counts as a stall.
    pub stall_ns: u64,
}

/// The time line.
#[derive(Debug)]
pub struct Minutes {
    rows: BTreeMap<i64, Minute>,
    /// Seconds of a row.
    width: i64,
    /// The row at hand, which is not among the others.
    current: Option<(i64, Minute)>,
}

impl Default for Minutes {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), width: 60, current: None }
    }
}

impl Minutes {
    /// Notes an operation that ended then.
    #[inline]
    pub fn add(&mut self, at: Moment, noted: Noted) {
        let second = at.unix_seconds();
        let minute = self.at(second);
        minute.offset_seconds = at.offset_seconds;
        let count = &mut minute.kinds[noted.kind.index()];
        *count = count.saturating_add(1);
        minute.errors = minute.errors.saturating_add(noted.is_error.into());
        minute.unindexed = minute.unindexed.saturating_add(noted.is_unindexed.into());
        let Some(ns) = noted.ns else { return };
        minute.longest_ns = minute.longest_ns.max(ns);
        let latency = &mut minute.latencies[class(ns)];
        *latency = latency.saturating_add(1);
        if ns >= noted.stall_ns {
            minute.slow = minute.slow.saturating_add(1);
            let seconds = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
            self.waited(second.saturating_sub(seconds), second, at.offset_seconds);
        }
    }

    fn waited(&mut self, from: i64, until: i64, offset_seconds: i32) {
        let last = until.div_euclid(self.width);
        let first = from.div_euclid(self.width).max(last - SPAN_MAX);
        for number in first..=last {
            let row = match &mut self.current {
                Some((own, minute)) if *own == number => minute,
                _ => self.rows.entry(number).or_default(),
            };
            row.waiting = row.waiting.saturating_add(1);
            row.offset_seconds = offset_seconds;
        }
        self.bound();
    }

    fn at(&mut self, second: i64) -> &mut Minute {
        let number = second.div_euclid(self.width);
        if self.current.as_ref().is_none_or(|(own, _)| *own != number) {
            self.put_away();
            self.bound();
            let number = second.div_euclid(self.width);
            let minute = self.rows.remove(&number).unwrap_or_default();
            self.current = Some((number, minute));
        }
        &mut self.current.get_or_insert_default().1
    }

    fn put_away(&mut self) {
        if let Some((number, minute)) = self.current.take() {
            self.rows.entry(number).or_default().add(&minute);
        }
    }

    /// Makes two rows one until there are few enough.
    fn bound(&mut self) {
        while self.rows.len() >= ROWS_MAX {
            self.put_away();
            self.width *= 2;
            for (number, minute) in std::mem::take(&mut self.rows) {
                self.rows.entry(number.div_euclid(2)).or_default().add(&minute);
            }
        }
    }

    /// Seconds of a row.
    #[must_use]
    pub fn width(&self) -> i64 {
        self.width
    }

    /// All rows that are not empty, with their begins in seconds since 1970.
    pub fn rows(&mut self) -> impl Iterator<Item = (i64, &Minute)> {
        self.put_away();
        let width = self.width;
        self.rows.iter().map(move |(number, minute)| (number * width, minute))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Noted =
        Noted { kind: Kind::Search, is_error: false, is_unindexed: false, ns: None, stall_ns: 1_000_000_000 };

    fn at(second: i64) -> Moment {
        Moment { unix_ns: second * 1_000_000_000, offset_seconds: 0 }
    }

    #[test]
    fn classes_hold_their_times() {
        for us in (0..5000).chain([1 << 20, (1 << 20) + 1, 1 << 35]) {
            let ns = us * 1000 + 500;
            let end = class_end(class(ns));
            assert!(ns < end && (us < 4 || end <= ns + ns / 4 + 1000), "{us}: {end}");
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn a_minute_has_counts_and_latencies() {
        let mut minutes = Minutes::default();
        for number in 0..100 {
            minutes.add(at(120 + number % 60), Noted { ns: Some(number as u64 * 1_000_000), ..SEARCH });
        }
        minutes.add(at(185), Noted { is_error: true, ns: Some(3_000_000_000), ..SEARCH });
        minutes.add(at(121), Noted { kind: Kind::Delete, ..SEARCH });
        minutes.add(at(310), Noted { ns: Some(200_000_000_000), ..SEARCH });
        let rows: Vec<(i64, &Minute)> = minutes.rows().collect();
        assert_eq!(rows.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [60, 120, 180, 240, 300]);
        let second = rows[1].1;
        assert_eq!((second.operations(), second.kinds[Kind::Delete.index()], second.longest_ns), (101, 1, 99_000_000));
        assert!((49_000_000..50_000_000).contains(&second.within(500)), "{}", second.within(500));
        assert_eq!(second.within(1000), 99_000_000);
        assert_eq!((rows[2].1.errors, rows[2].1.slow, rows[2].1.waiting), (1, 1, 2));
        assert_eq!((rows[0].1.waiting, rows[4].1.waiting, rows[0].1.operations()), (1, 1, 0));
    }

    #[test]
    fn a_long_log_has_wider_rows() {
        let mut minutes = Minutes::default();
        for number in 0..100_000 {
            minutes.add(at(number * 60), SEARCH);
        }
        assert_eq!(minutes.width(), 480);
        let rows: Vec<u64> = minutes.rows().map(|(_, minute)| minute.operations()).collect();
        assert!(rows.len() <= ROWS_MAX);
        assert_eq!(rows.iter().sum::<u64>(), 100_000);
    }
}
