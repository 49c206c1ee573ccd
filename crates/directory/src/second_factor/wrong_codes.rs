//! Wrong codes beside the right password: whoever shows them knows the password, and a code of six digits is soon
//! guessed. After some of them no code of the account is right for a while, whatever the policy says of wrong
//! passwords.
//!
//! Whoever does not know the password cannot bring this about. Kept in memory only.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use query::entry_place::EntryPlace;

/// So many wrong codes are looked at …
const CODES_MAX: u32 = 10;
/// … within this time.
const SPAN: Duration = Duration::from_secs(900);
/// Accounts that are remembered. Beyond, nobody's code is right until some are forgotten.
const ACCOUNTS_MAX: usize = 1 << 16;

/// Whether a code may be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    Yes,
    /// It may, and is the last one for now if it is wrong.
    Last,
    No,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct WrongCodes(Mutex<HashMap<EntryPlace, Tried>>);

#[derive(Debug)]
struct Tried {
    count: u32,
    since: Instant,
}

impl WrongCodes {
    /// Counts a code before it is looked at.
    pub(crate) fn count(&self, place: EntryPlace, now: Instant) -> Allowed {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |tried: &Tried| now.duration_since(tried.since) >= SPAN;
        if all.len() >= ACCOUNTS_MAX && !all.contains_key(&place) {
            all.retain(|_, tried| !is_over(tried));
            if all.len() >= ACCOUNTS_MAX {
                return Allowed::No;
            }
        }
        let tried = all.entry(place).or_insert(Tried { count: 0, since: now });
        if is_over(tried) {
            *tried = Tried { count: 0, since: now };
        }
        tried.count = tried.count.saturating_add(1);
        match tried.count.cmp(&CODES_MAX) {
            std::cmp::Ordering::Less => Allowed::Yes,
            std::cmp::Ordering::Equal => Allowed::Last,
            std::cmp::Ordering::Greater => Allowed::No,
        }
    }

    /// A code was right: those before it are forgotten.
    pub(crate) fn forget(&self, place: EntryPlace) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&place);
    }
}

#[cfg(test)]
mod tests {
    use query::backend::BackendIndex;
    use store::EntryId;

    use super::*;

    #[test]
    fn ten_wrong_codes_are_looked_at_in_a_quarter_of_an_hour() {
        let (codes, begun) = (WrongCodes::default(), Instant::now());
        let place = |id| EntryPlace { backend: BackendIndex(0), id: EntryId(id) };
        let later = |seconds| begun + Duration::from_secs(seconds);
        for _ in 0..9 {
            assert_eq!(codes.count(place(1), begun), Allowed::Yes);
        }
        assert_eq!(codes.count(place(1), begun), Allowed::Last);
        assert_eq!(codes.count(place(1), later(899)), Allowed::No);
        assert_eq!(codes.count(place(2), begun), Allowed::Yes, "another account");
        assert_eq!(codes.count(place(1), later(900)), Allowed::Yes);
        codes.forget(place(1));
        assert_eq!(codes.count(place(1), later(901)), Allowed::Yes);
    }
}
