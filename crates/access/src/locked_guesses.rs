//! Guesses at the passwords of accounts that are locked: who finds the right one is told of the lock, so only so many
//! wrong ones are compared while a lock lasts.
//!
//! Kept in memory, and bounded: where there is no room for another account, its guesses are not compared, and none
//! that is there makes way. Room comes from locks that have ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accounts::{Moment, UnderLock};

use crate::guesses::Guessed;

/// Locked accounts whose passwords were guessed.
const ACCOUNTS_MAX: usize = 1 << 16;
const SHARDS: usize = 64;
const ACCOUNTS_PER_SHARD: usize = ACCOUNTS_MAX / SHARDS;

/// See the module.
#[derive(Debug)]
pub struct LockedGuesses {
    shards: Box<[Mutex<HashMap<Guessed, Spent>>]>,
    count: AtomicUsize,
}

/// What was guessed while one lock lasted.
#[derive(Clone, Copy, Debug)]
struct Spent {
    lock: UnderLock,
    guesses: u32,
}

/// One guess. It stays spent unless it is given back.
#[derive(Debug)]
pub struct LockedGuess {
    guesses: Arc<LockedGuesses>,
    whose: Guessed,
    lock: UnderLock,
}

impl Default for LockedGuesses {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), count: AtomicUsize::new(0) }
    }
}

impl LockedGuesses {
    /// Takes one of the guesses that are left under a lock, if one is.
    pub fn take(self: &Arc<Self>, whose: Guessed, lock: UnderLock, now: Moment) -> Option<LockedGuess> {
        let mut shard = self.shard(whose)?;
        if !shard.contains_key(&whose) && shard.len() >= ACCOUNTS_PER_SHARD {
            let before = shard.len();
            shard.retain(|_, spent| spent.lock.until.is_none_or(|until| now < until));
            self.count.fetch_sub(before - shard.len(), Ordering::Relaxed);
            if shard.len() >= ACCOUNTS_PER_SHARD {
                return None;
            }
        }
        let spent = shard.entry(whose).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            Spent { lock, guesses: 0 }
        });
        if spent.lock.mark != lock.mark {
            *spent = Spent { lock, guesses: 0 };
        }
        if spent.guesses >= lock.most {
            return None;
        }
        spent.guesses += 1;
        drop(shard);
        Some(LockedGuess { guesses: Arc::clone(self), whose, lock })
    }

    /// An account is not locked: what was spent under its last lock does not matter any more.
    pub fn unlocked(&self, whose: Guessed) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(mut shard) = self.shard(whose) else { return };
        if shard.remove(&whose).is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn shard(&self, whose: Guessed) -> Option<MutexGuard<'_, HashMap<Guessed, Spent>>> {
        let shard = self.shards.get(whose.shard(SHARDS))?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LockedGuess {
    /// The guess was right, or was not compared.
    pub fn give_back(self) {
        let Some(mut shard) = self.guesses.shard(self.whose) else { return };
        if let Some(spent) = shard.get_mut(&self.whose)
            && spent.lock.mark == self.lock.mark
        {
            spent.guesses = spent.guesses.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Guessed = Guessed::Entry(0, 7);

    fn lock(mark: u64, until: Option<u64>) -> UnderLock {
        UnderLock { mark: Moment(mark), until: until.map(Moment), most: 2 }
    }

    #[test]
    fn each_lock_has_its_own_guesses_and_right_ones_are_given_back() {
        let guesses = Arc::new(LockedGuesses::default());
        let take = |lock| guesses.take(ANN, lock, Moment(1));
        let first = lock(1, Some(9));
        take(first).unwrap().give_back();
        assert!(take(first).is_some() && take(first).is_some());
        assert!(take(first).is_none());
        assert!(guesses.take(Guessed::Entry(1, 7), first, Moment(1)).is_some(), "another account");
        let second = lock(2, Some(9));
        assert!(take(second).is_some() && take(second).is_some());
        assert!(take(second).is_none());
        guesses.unlocked(ANN);
        assert!(take(second).is_some());
    }

    #[test]
    fn who_is_there_makes_way_for_nobody_while_the_lock_lasts() {
        let guesses = Arc::new(LockedGuesses::default());
        let same_shard = |number: usize| Guessed::Entry(0, (number * SHARDS) as u64);
        for number in 0..ACCOUNTS_PER_SHARD {
            let until = if number == 0 { None } else { Some(9) };
            let taken = |_| guesses.take(same_shard(number), lock(1, until), Moment(1)).is_some();
            assert!((0..2).all(taken));
        }
        let other = same_shard(ACCOUNTS_PER_SHARD);
        assert!(guesses.take(other, lock(1, Some(9)), Moment(8)).is_none());
        assert!(guesses.take(same_shard(1), lock(1, Some(9)), Moment(8)).is_none(), "its guesses are still spent");
        // The locks have ended, but for one.
        assert!(guesses.take(other, lock(10, None), Moment(9)).is_some());
        assert!(guesses.take(same_shard(0), lock(1, None), Moment(9)).is_none());
        assert_eq!(guesses.count.load(Ordering::Relaxed), 2);
    }
}
