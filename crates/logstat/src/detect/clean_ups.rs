//! Updates that look like the clean-up of references after deletes: the same entries changed once for each of them, one
//! after the other, minutes later. Servers that clean up by themselves log only that, and only on replicas.

use std::collections::{HashMap, VecDeque};

use crate::record::Moment;

/// A pause of so long ends a row of updates.
const PAUSE_NS: i64 = 60_000_000_000;

/// So long before the updates, the deletes are looked for.
const BEFORE_NS: i64 = 15 * 60 * 1_000_000_000;

/// So many entries are changed, each so often.
const ENTRIES_MIN: usize = 3;
const TIMES_MIN: u32 = 2;

/// Most connections whose updates are followed at once, and entries of each.
const CONNECTIONS_MAX: usize = 256;
const ENTRIES_MAX: usize = 4096;

/// Deletes that are remembered.
const DELETES_MAX: usize = 4096;

/// Clean-ups that are kept.
const FOUND_MAX: usize = 100;

const NAME_BYTES_MAX: usize = 256;

/// What looks like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanUp {
    /// The connection of the updates.
    pub connection: u64,
    /// Times of the first and the last update, in nanoseconds since 1970.
    pub from: i64,
    /// See `from`.
    pub until: i64,
    /// Updates.
    pub updates: u32,
    /// Entries that each were changed `times` times.
    pub entries: usize,
    /// See `entries`.
    pub times: u32,
    /// Deletes before them, and the time of the first.
    pub deletes: u32,
    /// See `deletes`.
    pub first_delete: i64,
    /// One of the deleted names, and one of the changed ones.
    pub deleted_name: String,
    /// See `deleted_name`.
    pub changed_name: String,
    /// What the log's clock was ahead of UTC.
    pub offset_seconds: i32,
}

/// Updates of a connection without a pause.
#[derive(Debug)]
struct Row {
    offset_seconds: i32,
    from: i64,
    until: i64,
    updates: u32,
    first_name: Box<[u8]>,
    /// Entry → how often it was changed.
    entries: HashMap<Box<[u8]>, u32>,
}

impl Row {
    fn of(at: Moment, name: &[u8]) -> Self {
        let (from, offset_seconds) = (at.unix_ns, at.offset_seconds);
        Self { offset_seconds, from, until: from, updates: 0, first_name: kept(name), entries: HashMap::new() }
    }

    fn add(&mut self, at: i64, name: &[u8]) {
        self.until = self.until.max(at);
        self.updates = self.updates.saturating_add(1);
        let name = cut(name);
        if let Some(times) = self.entries.get_mut(name) {
            *times += 1;
        } else if self.entries.len() < ENTRIES_MAX {
            self.entries.insert(name.into(), 1);
        }
    }

    /// How many entries were changed how often: the most that were changed equally often, more than once.
    fn repeated(&self) -> Option<(usize, u32)> {
        let mut by_times: HashMap<u32, usize> = HashMap::new();
        for times in self.entries.values().filter(|times| **times >= TIMES_MIN) {
            *by_times.entry(*times).or_default() += 1;
        }
        let (times, entries) = by_times.into_iter().max_by_key(|(times, entries)| (*entries, *times))?;
        let share = entries as u64 * u64::from(times) * 2;
        (entries >= ENTRIES_MIN && share >= u64::from(self.updates)).then_some((entries, times))
    }
}

fn cut(name: &[u8]) -> &[u8] {
    name.get(..NAME_BYTES_MAX).unwrap_or(name)
}

fn kept(name: &[u8]) -> Box<[u8]> {
    cut(name).into()
}

/// Finds them in requests that come as they were logged.
#[derive(Debug, Default)]
pub struct CleanUps {
    rows: HashMap<u64, Row>,
    deletes: VecDeque<(i64, Box<[u8]>)>,
    clean_ups: Vec<CleanUp>,
    found: u64,
}

impl CleanUps {
    /// An entry was deleted.
    pub fn note_delete(&mut self, at: i64, name: &[u8]) {
        if self.deletes.len() >= DELETES_MAX {
            self.deletes.pop_front();
        }
        self.deletes.push_back((at, kept(name)));
    }

    /// An entry was changed.
    pub fn note_change(&mut self, moment: Moment, connection: u64, name: &[u8]) {
        let at = moment.unix_ns;
        // Nothing to clean up: most logs have few deletes.
        if name.is_empty() || self.deletes.is_empty() {
            return;
        }
        if let Some(row) = self.rows.get_mut(&connection) {
            if at - row.until <= PAUSE_NS {
                row.add(at, name);
                return;
            }
            self.close(connection);
        }
        if self.rows.len() >= CONNECTIONS_MAX {
            let oldest = self.rows.iter().min_by_key(|(_, row)| row.until).map(|(connection, _)| *connection);
            oldest.into_iter().for_each(|connection| self.close(connection));
        }
        let mut row = Row::of(moment, name);
        row.add(at, name);
        self.rows.insert(connection, row);
    }

    fn close(&mut self, connection: u64) {
        let Some(row) = self.rows.remove(&connection) else { return };
        let Some((entries, times)) = row.repeated() else { return };
        let before = self.deletes.iter().filter(|(at, _)| (row.from - BEFORE_NS..row.from).contains(at));
        let deletes = u32::try_from(before.clone().count()).unwrap_or(u32::MAX);
        let first = before.min_by_key(|(at, _)| *at);
        // Each delete changes an entry once at most.
        let Some((first_delete, name)) = first.filter(|_| deletes >= times) else { return };
        self.found += 1;
        let clean_up = CleanUp {
            connection,
            from: row.from,
            until: row.until,
            updates: row.updates,
            entries,
            times,
            deletes,
            first_delete: *first_delete,
            deleted_name: String::from_utf8_lossy(name).into_owned(),
            changed_name: String::from_utf8_lossy(&row.first_name).into_owned(),
            offset_seconds: row.offset_seconds,
        };
        self.clean_ups.push(clean_up);
        if self.clean_ups.len() > 2 * FOUND_MAX {
            self.keep_largest();
        }
    }

    fn keep_largest(&mut self) {
        self.clean_ups.sort_by_key(|it| std::cmp::Reverse((it.until - it.from, it.updates)));
        self.clean_ups.truncate(FOUND_MAX);
    }

    /// How many were found, and the longest of them first.
    pub fn finish(&mut self) -> (u64, Vec<CleanUp>) {
        let open: Vec<u64> = self.rows.keys().copied().collect();
        open.into_iter().for_each(|connection| self.close(connection));
        self.keep_largest();
        (self.found, self.clean_ups.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn at(unix_ns: i64) -> Moment {
        Moment { unix_ns, offset_seconds: 7200 }
    }

    /// Document 003: two deletes at 15:01, and three minutes later the roles of both.
    fn document() -> CleanUps {
        let mut found = CleanUps::default();
        found.note_change(at(10 * SECOND), 1, b"uid=other,o=customer");
        found.note_delete(65 * SECOND, b"uid=d015897,o=customer");
        found.note_delete(106 * SECOND, b"uid=d015898,o=customer");
        for (second, role) in
            [274, 274, 277, 279, 285, 288, 288, 289, 289, 291, 291, 298, 304, 304].into_iter().zip((1..8).chain(1..8))
        {
            found.note_change(at(second * SECOND), 249_197, format!("cn=role{role},o=customer").as_bytes());
        }
        found
    }

    // S3-17
    #[test]
    fn the_same_entries_once_for_each_delete_are_a_clean_up() {
        let (count, found) = document().finish();
        assert_eq!(count, 1);
        let expected = CleanUp {
            connection: 249_197,
            from: 274 * SECOND,
            until: 304 * SECOND,
            updates: 14,
            entries: 7,
            times: 2,
            deletes: 2,
            first_delete: 65 * SECOND,
            deleted_name: "uid=d015897,o=customer".to_owned(),
            changed_name: "cn=role1,o=customer".to_owned(),
            offset_seconds: 7200,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn other_updates_are_none() {
        let mut found = document();
        // Entries changed more often than entries were deleted, entries changed once, and those of long ago.
        for second in 0..9 {
            for entry in 0..4 {
                found.note_change(at((400 + second) * SECOND), 1, format!("uid={entry},o=x").as_bytes());
            }
            found.note_change(at((400 + second) * SECOND), 2, format!("uid={second},o=x").as_bytes());
        }
        for entry in (0..4).chain(0..4) {
            found.note_change(at(40_000 * SECOND), 3, format!("uid={entry},o=x").as_bytes());
        }
        assert_eq!(found.finish().0, 1);
    }

    #[test]
    fn memory_is_bounded() {
        let mut found = CleanUps::default();
        for number in 0..20_000_i64 {
            found.note_delete(number, b"uid=a");
            found.note_change(at(number), number.unsigned_abs(), b"uid=b");
            found.note_change(at(number), 7, number.to_string().as_bytes());
        }
        assert!(found.deletes.len() <= DELETES_MAX && found.rows.len() <= CONNECTIONS_MAX);
        assert!(found.rows.values().all(|row| row.entries.len() <= ENTRIES_MAX));
    }
}
