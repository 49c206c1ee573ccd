//! What a refused bind says of its account: it has ended, was not used for too long, its password has expired. Told
//! once in a while, not at each try: many programs try again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use accounts::{AccountEventKind, BindRefusal};

/// So long nothing is told again of the same account.
const AGAIN_AFTER: Duration = Duration::from_secs(3_600);

/// Accounts that are remembered at most.
const REMEMBERED_MAX: usize = 10_000;

/// What a refusal says, if it says what no change of the entry does.
pub(super) fn said(refusal: BindRefusal) -> Option<(AccountEventKind, &'static str)> {
    match refusal {
        BindRefusal::Ended => Some((AccountEventKind::Expired, "The account has ended")),
        BindRefusal::Idle => {
            Some((AccountEventKind::IdleLocked, "The account is locked because it was not used for too long"))
        }
        BindRefusal::ResetTooOld => Some((
            AccountEventKind::ResetLocked,
            "The account is locked because its password was reset and not changed in time",
        )),
        BindRefusal::Expired => Some((AccountEventKind::PasswordExpired, "The account's password has expired")),
        BindRefusal::Disabled | BindRefusal::NotStarted | BindRefusal::Locked(_) | BindRefusal::Delayed(_) => None,
    }
}

/// What was told lately.
#[derive(Default)]
pub(super) struct ToldLately(Mutex<HashMap<(String, AccountEventKind), Instant>>);

impl ToldLately {
    /// Whether it is to be told now; it is remembered then.
    pub(super) fn is_new(&self, dn: &str, kind: AccountEventKind, now: Instant) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (dn.to_owned(), kind);
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < AGAIN_AFTER;
        if told.get(&key).is_some_and(is_recent) {
            return false;
        }
        if told.len() >= REMEMBERED_MAX {
            told.retain(|_, at| is_recent(at));
        }
        // Of more accounts at once nothing is told: somebody tries them all.
        let has_room = told.len() < REMEMBERED_MAX;
        if has_room {
            told.insert(key, now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_told_once_an_hour() {
        let (told, now) = (ToldLately::default(), Instant::now());
        let kind = AccountEventKind::IdleLocked;
        assert!(told.is_new("uid=ann", kind, now));
        assert!(!told.is_new("uid=ann", kind, now + Duration::from_secs(3_599)));
        assert!(told.is_new("uid=ann", AccountEventKind::PasswordExpired, now));
        assert!(told.is_new("uid=bob", kind, now));
        assert!(told.is_new("uid=ann", kind, now + AGAIN_AFTER));
    }

    #[test]
    fn accounts_without_end_are_not_remembered() {
        let (told, now) = (ToldLately::default(), Instant::now());
        let new = |at| (0..20_000).filter(|n| told.is_new(&n.to_string(), AccountEventKind::Expired, at)).count();
        assert_eq!(new(now), REMEMBERED_MAX);
        assert_eq!(new(now + AGAIN_AFTER), REMEMBERED_MAX);
    }
}
