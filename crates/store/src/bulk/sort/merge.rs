//! Merging the runs of one slot: each key once, with its ids from all runs.
//!
//! Runs cover ascending, disjoint ranges of ids, so the ids of a key are those of its runs one after the other;
//! nothing is compared but keys.

use std::cmp::Ordering;

use super::error::SortError;
use super::run::Cursor;

/// The keys of one slot in ascending order.
#[derive(Debug)]
pub struct Merge<'a> {
    cursors: Vec<Cursor<'a>>,
    /// A heap of cursors by (key, run), smallest first.
    heap: Vec<usize>,
    /// The cursors that stand on the current key, in run order.
    current: Vec<usize>,
    key: Vec<u8>,
}

impl<'a> Merge<'a> {
    /// `cursors` in the order of their runs.
    pub(super) fn new(cursors: Vec<Cursor<'a>>) -> Result<Self, SortError> {
        let current = (0..cursors.len()).collect();
        Ok(Self { heap: Vec::with_capacity(cursors.len()), cursors, current, key: Vec::new() })
    }

    /// Goes to the next key; returns how many ids it has, or `None` at the end.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    #[allow(clippy::should_implement_trait)] // what is lent out lives in `self`
    pub fn next(&mut self) -> Result<Option<u64>, SortError> {
        while let Some(run) = self.current.pop() {
            let alive = match self.cursors.get_mut(run) {
                Some(cursor) => cursor.advance()?,
                None => false,
            };
            if alive {
                self.push(run);
            }
        }
        let Some(first) = self.pop() else { return Ok(None) };
        self.current.push(first);
        let mut count = 0;
        if let Some(cursor) = self.cursors.get(first) {
            self.key.clear();
            self.key.extend_from_slice(&cursor.key);
            count = cursor.count;
        }
        while let Some(&run) = self.heap.first() {
            let Some(cursor) = self.cursors.get(run).filter(|cursor| cursor.key == self.key) else { break };
            count += cursor.count;
            self.pop();
            self.current.push(run);
        }
        Ok(Some(count))
    }

    /// The current key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Gives the current key's ids, ascending, each once. To be called at most once per key.
    ///
    /// # Errors
    /// When the temporary file cannot be read, and those of `take`.
    pub fn ids<E: From<SortError>>(&mut self, mut take: impl FnMut(u64) -> Result<(), E>) -> Result<(), E> {
        for &run in &self.current {
            let Some(cursor) = self.cursors.get_mut(run) else { continue };
            while cursor.count > 0 {
                take(cursor.next_id()?)?;
            }
        }
        Ok(())
    }

    fn less(&self, a: usize, b: usize) -> bool {
        let (Some(x), Some(y)) = (self.cursors.get(a), self.cursors.get(b)) else { return false };
        let order = x.prefix.cmp(&y.prefix).then_with(|| x.key.cmp(&y.key)).then(a.cmp(&b));
        order == Ordering::Less
    }

    fn less_at(&self, i: usize, j: usize) -> bool {
        matches!((self.heap.get(i), self.heap.get(j)), (Some(&a), Some(&b)) if self.less(a, b))
    }

    fn push(&mut self, run: usize) {
        self.heap.push(run);
        let mut i = self.heap.len() - 1;
        while i > 0 && self.less_at(i, (i - 1) / 2) {
            self.heap.swap(i, (i - 1) / 2);
            i = (i - 1) / 2;
        }
    }

    fn pop(&mut self) -> Option<usize> {
        if self.heap.is_empty() {
            return None;
        }
        let run = self.heap.swap_remove(0);
        let mut i = 0;
        loop {
            let mut least = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if self.less_at(child, least) {
                    least = child;
                }
            }
            if least == i {
                return Some(run);
            }
            self.heap.swap(i, least);
            i = least;
        }
    }
}
