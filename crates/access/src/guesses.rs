//! Guesses in flight: passwords that are being compared, and wrong ones that the state of their account does not have
//! yet.
//!
//! A guess is counted before it is compared, so that a thousand binds at once try no more passwords than the policy
//! allows. A guess goes when it was right, or when the failure has been written and can be seen.
//!
//! Who cannot have a guess now waits in line until one goes.
//!
//! Knows accounts by their numbers; how many guesses one may have is decided by whoever asks.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use query::entry_place::EntryPlace;

/// Guesses of all accounts together; beyond, none is given.
const GUESSES_MAX: usize = 1 << 16;
const SHARDS: usize = 64;

/// Binds that wait for a guess of one account.
const WAITERS_MAX: usize = 4096;

/// Whose password is guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guessed {
    /// That of an entry: its backend and number.
    Entry(usize, u64),
    /// That of a root user of the configuration, by a hash of the name.
    Root(u64),
    /// That of a name that nobody has, by a number that only this server gives to a name.
    Nobody(u64),
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
            Guessed::Root(hash) | Guessed::Nobody(hash) => hash,
        };
        (number % shards as u64) as usize
    }
}

/// What is done when it is a waiter's turn, or it has waited for too long. Called wherever a guess ends: must be quick.
pub type Wake = Box<dyn FnOnce(Turn) + Send>;

/// Why a waiter is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Another guess went, or there was none: try again.
    Try,
    /// It has waited for too long, or too many wait.
    TooLong,
}

/// Where in the line somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Behind all others.
    Back,
    /// Before all others: it was its turn, and somebody else was faster.
    Front,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    whose: Guessed,
    number: u64,
}

/// The guesses of one account.
#[derive(Default)]
struct Kept {
    in_flight: u32,
    waiting: VecDeque<(u64, Wake)>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Kept").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

type Shard = Mutex<HashMap<Guessed, Kept>>;

/// See the module.
#[derive(Debug)]
pub struct Guesses {
    shards: Box<[Shard]>,
    count: AtomicUsize,
    waiters: AtomicU64,
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
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
            waiters: AtomicU64::new(0),
        }
    }
}

impl Guesses {
    /// Counts a guess, if `may` says so of the number that the account has in flight.
    pub fn count(self: &Arc<Self>, whose: Guessed, may: impl FnOnce(u32) -> bool) -> Option<Guess> {
        let mut shard = self.shard(whose)?;
        let before = shard.get(&whose).map(|kept| kept.in_flight).unwrap_or_default();
        if !may(before) {
            return None;
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= GUESSES_MAX {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        shard.entry(whose).or_default().in_flight = before.saturating_add(1);
        drop(shard);
        Some(Guess { guesses: Arc::clone(self), whose, before })
    }

    /// Waits until another guess of the account goes; none: there is no other, or too many wait, and it was woken.
    pub fn wait(&self, whose: Guessed, line: Line, wake: Wake) -> Option<Waiting> {
        let mut shard = self.shard(whose)?;
        let number = self.waiters.fetch_add(1, Ordering::Relaxed);
        let turn = match shard.get_mut(&whose).filter(|kept| kept.in_flight > 0) {
            None => Turn::Try,
            Some(kept) if kept.waiting.len() >= WAITERS_MAX => Turn::TooLong,
            Some(kept) => {
                match line {
                    Line::Back => kept.waiting.push_back((number, wake)),
                    Line::Front => kept.waiting.push_front((number, wake)),
                }
                return Some(Waiting { whose, number });
            }
        };
        drop(shard);
        wake(turn);
        None
    }

    /// Wakes somebody who has waited for too long, if he still waits.
    pub fn give_up(&self, waiting: Waiting) {
        let Some(mut shard) = self.shard(waiting.whose) else { return };
        let found = shard.get_mut(&waiting.whose).and_then(|kept| {
            let at = kept.waiting.iter().position(|(number, _)| *number == waiting.number)?;
            kept.waiting.remove(at)
        });
        tidy(&mut shard, waiting.whose);
        drop(shard);
        if let Some((_, wake)) = found {
            wake(Turn::TooLong);
        }
    }

    /// Wakes who has waited longest.
    pub fn wake_next(&self, whose: Guessed) {
        let Some(mut shard) = self.shard(whose) else { return };
        let next = shard.get_mut(&whose).and_then(|kept| kept.waiting.pop_front());
        tidy(&mut shard, whose);
        drop(shard);
        if let Some((_, wake)) = next {
            wake(Turn::Try);
        }
    }

    /// Whether all accounts together have so many that none has another one.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.in_flight() >= GUESSES_MAX
    }

    /// How many there are of all accounts.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn shard(&self, whose: Guessed) -> Option<MutexGuard<'_, HashMap<Guessed, Kept>>> {
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
        let next = shard.get_mut(&self.whose).and_then(|kept| {
            kept.in_flight = kept.in_flight.saturating_sub(1);
            kept.waiting.pop_front()
        });
        tidy(&mut shard, self.whose);
        drop(shard);
        self.guesses.count.fetch_sub(1, Ordering::Relaxed);
        if let Some((_, wake)) = next {
            wake(Turn::Try);
        }
    }
}

/// Forgets an account of which there is nothing.
fn tidy(shard: &mut HashMap<Guessed, Kept>, whose: Guessed) {
    if shard.get(&whose).is_some_and(|kept| kept.in_flight == 0 && kept.waiting.is_empty()) {
        shard.remove(&whose);
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
    fn who_waits_is_woken_in_the_order_of_coming_or_when_it_takes_too_long() {
        let (guesses, woken) = (Arc::new(Guesses::default()), Arc::new(Mutex::new(Vec::new())));
        let wait = |name: &'static str, line| {
            let woken = Arc::clone(&woken);
            guesses.wait(ANN, line, Box::new(move |turn| woken.lock().unwrap().push((name, turn))))
        };
        let told = || std::mem::take(&mut *woken.lock().unwrap());
        assert_eq!(wait("nobody is there", Line::Back), None);
        assert_eq!(told(), [("nobody is there", Turn::Try)]);
        let guess = guesses.count(ANN, |_| true).unwrap();
        let (first, second) = (wait("first", Line::Back), wait("second", Line::Back).unwrap());
        assert!(first.is_some() && wait("third", Line::Back).is_some() && wait("before", Line::Front).is_some());
        guesses.give_up(second);
        guesses.give_up(second);
        assert_eq!(told(), [("second", Turn::TooLong)]);
        drop(guess);
        assert_eq!(told(), [("before", Turn::Try)]);
        guesses.wake_next(ANN);
        drop(guesses.count(ANN, |_| true));
        assert_eq!(told(), [("first", Turn::Try), ("third", Turn::Try)]);
        assert!(guesses.shards.iter().all(|shard| shard.lock().unwrap().is_empty()), "nothing is kept");
        let _guess = guesses.count(ANN, |_| true).unwrap();
        assert!((0..WAITERS_MAX).all(|_| wait("many", Line::Back).is_some()));
        assert_eq!(wait("too many", Line::Back), None);
        assert_eq!(told(), [("too many", Turn::TooLong)]);
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
