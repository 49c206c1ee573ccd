//! What is kept of names that nobody has: guesses at them are counted, and wait, and are refused under a lock, as those
//! at accounts, so that none of these tells which names there are.
//!
//! Kept in memory, and bounded: the name that was guessed at first is forgotten first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accounts::{AccountState, StateChange, apply_change};

use crate::locked_guesses::LockedGuesses;

/// Names.
const NAMES_MAX: usize = 1 << 14;
/// Times of wrong passwords, of all names together.
const TIMES_MAX: usize = 1 << 17;

/// See the module. Names are known by numbers that nobody outside can foresee.
#[derive(Debug, Default)]
pub struct UnknownNames {
    kept: Mutex<Kept>,
    /// Guesses under their locks; those of accounts are counted elsewhere, so that these take no room from them.
    pub locked_guesses: Arc<LockedGuesses>,
}

#[derive(Debug, Default)]
struct Kept {
    states: HashMap<u64, AccountState>,
    /// In the order of coming.
    order: VecDeque<u64>,
    times: usize,
}

impl UnknownNames {
    /// What the state of the account would be.
    #[must_use]
    pub fn state(&self, number: u64) -> AccountState {
        self.lock().states.get(&number).cloned().unwrap_or_default()
    }

    /// Changes it.
    pub fn change(&self, number: u64, change: &StateChange) {
        let kept = &mut *self.lock();
        let state = kept.states.entry(number).or_insert_with(|| {
            kept.order.push_back(number);
            AccountState::default()
        });
        let before = state.failures.len();
        apply_change(state, change);
        kept.times = (kept.times + state.failures.len()).saturating_sub(before);
        while kept.states.len() > NAMES_MAX || (kept.times > TIMES_MAX && kept.states.len() > 1) {
            let Some(oldest) = kept.order.pop_front() else { return };
            let gone = kept.states.remove(&oldest).unwrap_or_default();
            kept.times = kept.times.saturating_sub(gone.failures.len());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use accounts::{Lock, LockRules, Moment};

    use super::*;

    fn failure(at: u64, count: u32) -> StateChange {
        StateChange::CountFailure { at: Moment(at), rules: LockRules { count, ..LockRules::default() } }
    }

    #[test]
    fn a_name_is_locked_as_an_account_is() {
        let names = UnknownNames::default();
        names.change(7, &failure(1_000, 2));
        assert_eq!((names.state(7).lock, names.state(8).failures.len()), (None, 0));
        names.change(7, &failure(2_000, 2));
        assert_eq!(names.state(7).lock, Some(Lock::Since(Moment(2_000))));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let names = UnknownNames::default();
        for number in 0..NAMES_MAX as u64 + 5 {
            names.change(number, &failure(number, 3));
        }
        let kept = names.lock();
        assert_eq!((kept.states.len(), kept.order.len(), kept.times), (NAMES_MAX, NAMES_MAX, NAMES_MAX));
        assert!(!kept.states.contains_key(&4) && kept.states.contains_key(&5), "the oldest went");
        drop(kept);
        let names = UnknownNames::default();
        for number in 0..3 {
            for at in 0..TIMES_MAX as u64 / 2 {
                names.lock().states.entry(number).or_default().failures.push(Moment(at));
            }
            let kept = &mut *names.lock();
            kept.order.push_back(number);
            kept.times += TIMES_MAX / 2;
        }
        names.change(9, &failure(1, 3));
        let kept = names.lock();
        assert_eq!((kept.times, kept.states.len()), (TIMES_MAX / 2 + 1, 2), "the two oldest went");
    }
}
