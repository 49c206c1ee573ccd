//! The open snapshots and their ages: one slot of memory each, so that the oldest is known.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many slots there are; further snapshots are not counted.
const SLOTS: usize = 1_024;

thread_local! {
    /// Where this thread found a free slot last. With few snapshots a thread, it is free again.
    static HINT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The slots.
pub struct Readers {
    /// Microseconds since `start`, plus one; 0 for free.
    slots: Box<[AtomicU64]>,
    start: Instant,
}

/// A taken slot.
#[derive(Debug)]
pub struct ReaderSlot(usize);

impl Readers {
    /// All free.
    pub fn new() -> Readers {
        Readers { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), start: Instant::now() }
    }

    /// Notes a snapshot taken at `now`.
    #[inline]
    pub fn enter(&self, now: Instant) -> Option<ReaderSlot> {
        let stamp = now.saturating_duration_since(self.start).as_micros() as u64 + 1;
        let first = HINT.get();
        // The first search of a thread begins at a place that depends on its stack address, so that threads use
        // different slots.
        let first = if first == usize::MAX { std::ptr::from_ref(&stamp).addr() / 4_096 } else { first };
        for step in 0..SLOTS {
            let at = (first + step) % SLOTS;
            let slot = self.slots.get(at)?;
            let is_free = slot.load(Ordering::Relaxed) == 0;
            if is_free && slot.compare_exchange(0, stamp, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                HINT.set(at);
                return Some(ReaderSlot(at));
            }
        }
        None
    }

    /// Frees the slot.
    #[inline]
    pub fn leave(&self, slot: Option<ReaderSlot>) {
        if let Some(slot) = slot.and_then(|slot| self.slots.get(slot.0)) {
            slot.store(0, Ordering::Relaxed);
        }
    }

    /// How many snapshots are open, and the age of the oldest.
    pub fn look(&self) -> (usize, Duration) {
        let now = self.start.elapsed();
        let stamps = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|stamp| *stamp != 0);
        let (count, oldest) = stamps.fold((0, u64::MAX), |(count, oldest), stamp| (count + 1, oldest.min(stamp)));
        let age = if count == 0 { Duration::ZERO } else { now.saturating_sub(Duration::from_micros(oldest - 1)) };
        (count, age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_known() {
        let readers = Readers::new();
        let start = readers.start;
        let old = readers.enter(start);
        let young = readers.enter(start + Duration::from_secs(10));
        assert_eq!(readers.look().0, 2);
        readers.leave(old);
        let (count, age) = readers.look();
        assert_eq!((count, age), (1, Duration::ZERO));
        readers.leave(young);
        assert_eq!(readers.look(), (0, Duration::ZERO));
        let taken: Vec<_> = (0..SLOTS + 5).map(|_| readers.enter(start)).collect();
        assert_eq!(taken.iter().flatten().count(), SLOTS);
    }
}
