//! Guesses in flight: passwords that are being compared, and wrong ones that the state of their account does not have
//! yet.
//!
//! A guess is counted before it is compared, so that a thousand binds at once try no more passwords than the policy
//! allows. A guess goes when it was right, or when the failure has been written and can be seen.
//!
//! Knows accounts by their numbers; how many guesses one may have is decided by whoever asks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use query::entry_place::EntryPlace;

/// Guesses of all accounts together; beyond, none is given.
const GUESSES_MAX: usize = 1 << 16;
const SHARDS: usize = 64;

/// Whose password is guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guessed {
    /// That of an entry: its backend and number.
    Entry(usize, u64),
    /// That of a root user of the configuration, by a hash of the name.
    Root(u64),
    /// The one-time code of an entry, which is being used up: its backend and number.
    Code(usize, u64),
}

impl Guessed {
    /// That of an entry.
    #[must_use]
    pub fn entry(place: EntryPlace) -> Guessed {
        Guessed::Entry(place.backend.0, place.id.0)
    }

    /// One of so many parts.
    pub(crate) fn shard(self, shards: usize) -> usize {
        let number = match self {
            Guessed::Entry(backend, entry) | Guessed::Code(backend, entry) => entry.wrapping_add(backend as u64),
            Guessed::Root(hash) => hash,
        };
        (number % shards as u64) as usize
    }
}

type Shard = Mutex<HashMap<Guessed, u32>>;

/// See the module.
#[derive(Debug)]
pub struct Guesses {
    shards: Box<[Shard]>,
    count: AtomicUsize,
}

/// One guess. Dropped, it counts no more.
#[derive(Debug)]
#[must_use = "a guess that is dropped does not count"]
pub struct Guess {
    guesses: Arc<Guesses>,
    whose: Guessed,
    /// How many the account had before.
    before: u32,
}

impl Default for Guesses {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), count: AtomicUsize::new(0) }
    }
}

impl Guesses {
    /// Counts a guess, if `may` says so of the number that the account has in flight.
    pub fn count(self: &Arc<Self>, whose: Guessed, may: impl FnOnce(u32) -> bool) -> Option<Guess> {
        let mut shard = self.shard(whose)?;
        let before = shard.get(&whose).copied().unwrap_or_default();
        if !may(before) {
            return None;
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= GUESSES_MAX {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        shard.insert(whose, before.saturating_add(1));
        drop(shard);
        Some(Guess { guesses: Arc::clone(self), whose, before })
    }

    /// How many there are of all accounts.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn shard(&self, whose: Guessed) -> Option<MutexGuard<'_, HashMap<Guessed, u32>>> {
        let shard = self.shards.get(whose.shard(SHARDS))?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Guess {
    /// How many others the account had in flight when this one was counted.
    #[must_use]
    pub fn before(&self) -> u32 {
        self.before
    }
}

impl Drop for Guess {
    fn drop(&mut self) {
        let Some(mut shard) = self.guesses.shard(self.whose) else { return };
        match shard.get_mut(&self.whose) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(shard.remove(&self.whose)),
        }
        self.guesses.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const ANN: Guessed = Guessed::Entry(0, 7);

    #[test]
    fn a_guess_counts_until_it_is_dropped() {
        let guesses = Arc::new(Guesses::default());
        let most_two = |before: u32| before < 2;
        let first = guesses.count(ANN, most_two).unwrap();
        let second = guesses.count(ANN, most_two).unwrap();
        assert_eq!((first.before(), second.before(), guesses.in_flight()), (0, 1, 2));
        assert!(guesses.count(ANN, most_two).is_none());
        assert_eq!(guesses.count(Guessed::Entry(1, 7), most_two).unwrap().before(), 0, "another account");
        drop(first);
        assert_eq!(guesses.count(ANN, most_two).unwrap().before(), 1);
        drop(second);
        assert_eq!(guesses.in_flight(), 0);
        assert!(guesses.shards.iter().all(|shard| shard.lock().unwrap().is_empty()), "nothing is kept");
    }

    #[test]
    fn many_threads_get_no_more_than_there_are() {
        let (guesses, given) = (Arc::new(Guesses::default()), AtomicU32::new(0));
        let kept = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..125 {
                        if let Some(guess) = guesses.count(ANN, |before| before < 3) {
                            given.fetch_add(1, Ordering::Relaxed);
                            kept.lock().unwrap().push(guess);
                        }
                    }
                });
            }
        });
        assert_eq!(given.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn the_whole_is_bounded() {
        let guesses = Arc::new(Guesses::default());
        let all: Vec<_> = (0..GUESSES_MAX as u64).map(|id| guesses.count(Guessed::Entry(0, id), |_| true)).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(guesses.count(Guessed::Root(1), |_| true).is_none());
        drop(all);
        assert!(guesses.count(Guessed::Root(1), |_| true).is_some());
    }
}
