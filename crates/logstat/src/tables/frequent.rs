//! Counts of the keys that come most often, in bounded memory (space saving, with rows thrown out by halves).
//!
//! A key that comes back after it was thrown out is counted from the largest count that was thrown out, so that a count
//! is never too low, and too high by at most [`Frequent::excess_max`].

use std::collections::HashMap;

/// A longer key is cut.
const KEY_BYTES_MAX: usize = 1024;

/// A key's row.
#[derive(Debug, Clone)]
pub struct Row<T> {
    /// How often it came.
    pub count: u64,
    /// What else is known.
    pub more: T,
}

/// The rows.
#[derive(Debug)]
pub struct Frequent<T> {
    rows: HashMap<Box<[u8]>, Row<T>>,
    rows_max: usize,
    excess_max: u64,
}

impl<T: Default> Frequent<T> {
    /// With at most so many rows.
    #[must_use]
    pub fn new(rows_max: usize) -> Self {
        Self { rows: HashMap::new(), rows_max: rows_max.max(2), excess_max: 0 }
    }

    /// Counts a key, and lets `update` note what else is known.
    pub fn add(&mut self, key: &[u8], update: impl FnOnce(&mut T)) {
        let key = key.get(..key.len().min(KEY_BYTES_MAX)).unwrap_or_default();
        if let Some(row) = self.rows.get_mut(key) {
            row.count += 1;
            update(&mut row.more);
            return;
        }
        if self.rows.len() >= self.rows_max {
            self.throw_out();
        }
        let mut row = Row { count: self.excess_max + 1, more: T::default() };
        update(&mut row.more);
        self.rows.insert(key.into(), row);
    }

    fn throw_out(&mut self) {
        let mut counts: Vec<u64> = self.rows.values().map(|row| row.count).collect();
        let middle = counts.len() / 2;
        let (_, bound, _) = counts.select_nth_unstable(middle);
        let bound = *bound;
        self.rows.retain(|_, row| row.count > bound);
        self.excess_max = bound;
    }

    /// By how much a count may be too high.
    #[must_use]
    pub fn excess_max(&self) -> u64 {
        self.excess_max
    }

    /// All rows, in no order.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &Row<T>)> {
        self.rows.iter().map(|(key, row)| (&**key, row))
    }

    /// So many rows, the one that `value` says most of first.
    pub fn top(&self, rows: usize, value: impl Fn(&Row<T>) -> u64) -> Vec<(&[u8], &Row<T>)> {
        let mut sorted: Vec<(&[u8], &Row<T>)> = self.rows().collect();
        sorted.sort_by(|one, other| value(other.1).cmp(&value(one.1)).then_with(|| one.0.cmp(other.0)));
        sorted.truncate(rows);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_keys_stay_and_memory_is_bounded() {
        let mut table: Frequent<u64> = Frequent::new(100);
        for number in 0..50_000_u32 {
            table.add(number.to_string().as_bytes(), |_| ());
            if number % 4 == 0 {
                table.add(b"often", |sum| *sum += 2);
            }
            assert!(table.rows.len() <= 100);
        }
        let top = table.top(1, |row| row.count);
        assert_eq!(top[0].0, b"often");
        let count = top[0].1.count;
        assert!(count >= 12_500 && count <= 12_500 + table.excess_max(), "{count}");
        table.add(&[b'x'; 5000], |_| ());
        assert!(table.rows().all(|(key, _)| key.len() <= KEY_BYTES_MAX));
    }

    #[test]
    fn rows_of_one_value_come_by_their_names() {
        let mut table: Frequent<()> = Frequent::new(10);
        for key in ["b", "a", "c", "c"] {
            table.add(key.as_bytes(), |()| ());
        }
        let names: Vec<&[u8]> = table.top(9, |row| row.count).into_iter().map(|(key, _)| key).collect();
        assert_eq!(names, [b"c", b"a", b"b"]);
    }
}
