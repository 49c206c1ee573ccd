//! Stalls: times in which operations of several clients waited together, whatever they asked for.
//!
//! An operation that is slow by itself is no stall. One that ends with others, after all of them had been under way for
//! long, waited with them for one thing.

use std::collections::{BTreeSet, VecDeque};

use crate::record::Kind;

/// So many operations of so many connections are a stall.
const OPERATIONS_MIN: u32 = 3;
const CONNECTIONS_MIN: usize = 3;

/// Most stalls that are kept: those in which most time was lost.
const STALLS_MAX: usize = 100;

/// Most connections of a stall that are told apart.
const CONNECTIONS_MAX: usize = 1024;

/// Answers within this time are given together, however short the stall was.
const TOGETHER_NS: i64 = 10_000_000_000;

/// How long before a stall its cause is looked for.
pub const BEFORE_NS: i64 = 15 * 60 * 1_000_000_000;

/// Groups of operations that are watched at once.
const GROUPS_MAX: usize = 32;

/// Deletes that are remembered.
const DELETES_MAX: usize = 4096;

/// An operation that took long.
#[derive(Debug, Clone, Copy)]
pub struct Slow {
    /// When it was asked for, in nanoseconds since 1970.
    pub from: i64,
    /// When it was answered.
    pub until: i64,
    /// Its connection.
    pub connection: u64,
    /// What it did.
    pub kind: Kind,
    /// No index answered it.
    pub is_unindexed: bool,
    /// Entries returned.
    pub entries: u64,
    /// What the log's clock was ahead of UTC.
    pub offset_seconds: i32,
}

/// Deletes before a stall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletesBefore {
    /// How many.
    pub count: u32,
    /// When the first and the last of them came.
    pub first: i64,
    /// See `first`.
    pub last: i64,
}

/// A stall.
#[derive(Debug, Clone)]
pub struct Stall {
    /// Since when all of its operations waited, in nanoseconds since 1970.
    pub from: i64,
    /// When the first of them was answered.
    pub until: i64,
    /// When the last was.
    pub last_until: i64,
    /// The longest that one of them took.
    pub longest_ns: i64,
    /// How many.
    pub operations: u32,
    /// Of how many connections, up to 1,024.
    pub connections: usize,
    /// By kind.
    pub kinds: [u32; Kind::ALL.len()],
    /// Of the searches among them, those without an index.
    pub unindexed: u32,
    /// The most entries that one of them returned.
    pub entries_max: u64,
    /// What came before it.
    pub deletes: DeletesBefore,
    /// What the log's clock was ahead of UTC.
    pub offset_seconds: i32,
}

impl Stall {
    /// Whether an operation waited in it.
    #[must_use]
    pub fn holds(&self, from: i64, until: i64) -> bool {
        from <= self.from && until >= self.until && until <= self.last_until
    }

    fn lost(&self) -> i64 {
        (self.until - self.from).saturating_mul(self.operations.into())
    }
}

/// Operations that may become a stall.
#[derive(Debug)]
struct Group {
    stall: Stall,
    connections: BTreeSet<u64>,
}

impl Group {
    fn of(slow: Slow) -> Self {
        let stall = Stall {
            from: slow.from,
            until: slow.until,
            last_until: slow.until,
            longest_ns: 0,
            operations: 0,
            connections: 0,
            kinds: Default::default(),
            unindexed: 0,
            entries_max: 0,
            deletes: DeletesBefore::default(),
            offset_seconds: slow.offset_seconds,
        };
        let mut group = Self { stall, connections: BTreeSet::new() };
        group.add(slow);
        group
    }

    /// Whether an operation waited with the others: most of its time, and it was answered with them.
    fn fits(&self, slow: Slow) -> bool {
        let (from, until) = (self.stall.from.max(slow.from), self.stall.until.min(slow.until));
        let common = until - from;
        let is_together = (slow.until - self.stall.until).abs() <= together(common);
        is_together && common > 0 && common >= (slow.until - slow.from) / 2 && common >= self.stall.longest_ns / 2
    }

    /// So long after its first answer another belongs to it.
    fn together(&self) -> i64 {
        together(self.stall.until - self.stall.from)
    }

    fn add(&mut self, slow: Slow) {
        let stall = &mut self.stall;
        stall.from = stall.from.max(slow.from);
        stall.until = stall.until.min(slow.until);
        stall.last_until = stall.last_until.max(slow.until);
        stall.longest_ns = stall.longest_ns.max(slow.until - slow.from);
        stall.operations = stall.operations.saturating_add(1);
        stall.kinds[slow.kind.index()] += 1;
        stall.unindexed += u32::from(slow.is_unindexed);
        stall.entries_max = stall.entries_max.max(slow.entries);
        if self.connections.len() < CONNECTIONS_MAX {
            self.connections.insert(slow.connection);
        }
        stall.connections = self.connections.len();
    }
}

/// How far apart answers are that are given together, after so long a time.
fn together(common: i64) -> i64 {
    TOGETHER_NS.min(common).max(common / 2)
}

/// Finds stalls in operations that come as they are answered.
#[derive(Debug, Default)]
pub struct Stalls {
    /// Groups whose next operation may come, in the order of their first.
    groups: Vec<Group>,
    stalls: Vec<Stall>,
    found: u64,
    deletes: VecDeque<i64>,
}

impl Stalls {
    /// An operation took long.
    pub fn add(&mut self, slow: Slow) {
        let mut at = 0;
        while let Some(group) = self.groups.get(at) {
            if slow.until - group.stall.until > group.together().saturating_mul(2) {
                self.close(at);
            } else {
                at += 1;
            }
        }
        if let Some(group) = self.groups.iter_mut().find(|group| group.fits(slow)) {
            group.add(slow);
            return;
        }
        if self.groups.len() >= GROUPS_MAX {
            self.close(0);
        }
        self.groups.push(Group::of(slow));
    }

    /// Entries were deleted.
    pub fn note_delete(&mut self, at: i64) {
        if self.deletes.len() >= DELETES_MAX {
            self.deletes.pop_front();
        }
        self.deletes.push_back(at);
    }

    fn close(&mut self, at: usize) {
        let Group { mut stall, connections } = self.groups.remove(at);
        if stall.operations < OPERATIONS_MIN || connections.len() < CONNECTIONS_MIN {
            return;
        }
        self.found += 1;
        stall.deletes = self.deletes_before(stall.from);
        self.stalls.push(stall);
        if self.stalls.len() > 2 * STALLS_MAX {
            self.keep_worst();
        }
    }

    fn keep_worst(&mut self) {
        self.stalls.sort_by_key(|stall| std::cmp::Reverse(stall.lost()));
        self.stalls.truncate(STALLS_MAX);
    }

    fn deletes_before(&self, from: i64) -> DeletesBefore {
        let mut before = DeletesBefore::default();
        for at in self.deletes.iter().filter(|at| (from - BEFORE_NS..=from).contains(*at)) {
            if before.count == 0 {
                (before.first, before.last) = (*at, *at);
            }
            before.count += 1;
            (before.first, before.last) = (before.first.min(*at), before.last.max(*at));
        }
        before
    }

    /// How many stalls were found, and the worst of them in the order of time.
    pub fn finish(&mut self) -> (u64, Vec<Stall>) {
        while !self.groups.is_empty() {
            self.close(0);
        }
        self.keep_worst();
        let mut stalls = self.stalls.clone();
        stalls.sort_by_key(|stall| stall.from);
        (self.found, stalls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn slow(until: i64, took: i64, connection: u64) -> Slow {
        Slow {
            from: (until - took) * SECOND,
            until: until * SECOND,
            connection,
            kind: Kind::Search,
            is_unindexed: false,
            entries: 2,
            offset_seconds: 3600,
        }
    }

    // S3-14: what document 003 shows of the stall of 26/Mar/2008, in seconds of that day.
    #[test]
    fn operations_that_wait_together_are_a_stall() {
        let mut stalls = Stalls::default();
        for at in [62_526, 62_575, 62_762, 63_000] {
            stalls.note_delete(at * SECOND);
        }
        for (until, took, connection) in [
            (62_984, 220, 38954),
            (62_984, 220, 38154),
            (62_985, 220, 38299),
            (62_985, 221, 38254),
            (62_987, 223, 9997),
            (62_987, 227, 39071),
            (62_989, 225, 39045),
            (63_056, 288, 14666),
        ] {
            stalls.add(slow(until, took, connection));
        }
        let (found, stalls) = stalls.finish();
        assert_eq!((found, stalls.len()), (1, 1));
        let stall = &stalls[0];
        assert_eq!((stall.operations, stall.connections, stall.entries_max), (8, 8, 2));
        assert_eq!((stall.from / SECOND, stall.until / SECOND, stall.last_until / SECOND), (62_768, 62_984, 63_056));
        let before = DeletesBefore { count: 3, first: 62_526 * SECOND, last: 62_762 * SECOND };
        assert_eq!(stall.deletes, before);
    }

    #[test]
    fn slow_operations_one_by_one_are_no_stall() {
        let mut stalls = Stalls::default();
        for number in 0..1000 {
            stalls.add(slow(1000 + number * 3, 2, number.unsigned_abs()));
        }
        for number in 0..10 {
            stalls.add(slow(50_000 + number, 20, 7));
        }
        assert_eq!(stalls.finish().0, 0);
    }

    #[test]
    fn many_stalls_are_counted_and_the_worst_kept() {
        let mut stalls = Stalls::default();
        for number in 0..1000 {
            for connection in 0..3 {
                // One that is slow by itself, in between.
                stalls.add(slow(1000 + number * 100, 1, 9));
                stalls.add(slow(1000 + number * 100, if number == 500 { 90 } else { 5 }, connection));
            }
        }
        let (found, kept) = stalls.finish();
        assert_eq!((found, kept.len()), (1000, STALLS_MAX));
        assert!(kept.iter().any(|stall| stall.until == (1000 + 500 * 100) * SECOND));
    }
}
