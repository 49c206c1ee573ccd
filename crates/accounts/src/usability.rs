//! What an account can be used for at a moment: the first reason that stands against it.

use ldap::controls::{AccountUsability, NotAvailable, UnlockedWhen};

use crate::account::{Account, LockEnd};
use crate::moment::Moment;

/// Whether an account can be used. Each reason hides those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usability {
    /// An administrator took it out of use.
    Disabled,
    /// It may be used from then on.
    NotStarted(Moment),
    /// It could be used until then.
    Ended(Moment),
    /// Too many wrong passwords.
    Locked(LockEnd),
    /// Binds are refused until then, after a wrong password.
    Delayed(Moment),
    /// Nobody used it for too long.
    Idle,
    /// Its password was reset and not changed in time.
    ResetTooOld,
    /// Its password has expired.
    Expired {
        /// So many binds still succeed.
        grace_left: u32,
    },
    /// Its password must be changed first.
    MustChange,
    /// Nothing stands against it.
    Usable {
        /// None: never.
        seconds_until_expiry: Option<u64>,
    },
}

impl Account<'_> {
    /// What stands against a bind, whatever proves the identity.
    #[must_use]
    pub(crate) fn standing(&self) -> Option<Usability> {
        let state = self.state;
        if state.is_disabled {
            return Some(Usability::Disabled);
        }
        if let Some(start) = state.start.filter(|_| self.has_not_started()) {
            return Some(Usability::NotStarted(start));
        }
        if let Some(end) = state.end.filter(|_| self.has_ended()) {
            return Some(Usability::Ended(end));
        }
        if let Some(end) = self.lock() {
            return Some(Usability::Locked(end));
        }
        if let Some(until) = self.delay() {
            return Some(Usability::Delayed(until));
        }
        self.is_idle().then_some(Usability::Idle)
    }

    /// What stands against a bind with the password.
    #[must_use]
    pub fn usability(&self) -> Usability {
        if let Some(reason) = self.standing() {
            return reason;
        }
        if self.is_reset_too_old() {
            return Usability::ResetTooOld;
        }
        let expiry = self.expiry();
        if expiry.is_expired {
            return Usability::Expired { grace_left: self.grace_left_after(&expiry) };
        }
        if self.must_change() {
            return Usability::MustChange;
        }
        Usability::Usable { seconds_until_expiry: expiry.at.map(|at| at.since(self.now).as_secs()) }
    }

    /// What the account usability control says: everything that stands against the account, not the first only.
    #[must_use]
    pub fn usability_control(&self) -> AccountUsability {
        let seconds = |at: Moment| u32::try_from(at.since(self.now).as_secs()).unwrap_or(u32::MAX);
        let expiry = self.expiry();
        let lock = match (self.lock(), self.delay()) {
            // Whatever ends by itself before that.
            _ if self.is_idle() || self.is_reset_too_old() => Some(UnlockedWhen::ByAdministrator),
            (Some(LockEnd::At(end)), _) | (None, Some(end)) => Some(UnlockedWhen::InSeconds(seconds(end))),
            (Some(LockEnd::ByAdministrator), _) => Some(UnlockedWhen::ByAdministrator),
            (None, None) => None,
        };
        let reasons = NotAvailable {
            is_inactive: self.state.is_disabled || self.has_not_started() || self.has_ended(),
            is_reset: self.must_change(),
            is_expired: expiry.is_expired,
            // As OpenDJ: nothing is said of grace logins where there are none.
            grace_left: (expiry.is_expired && self.policy.grace_login_count > 0)
                .then(|| self.grace_left_after(&expiry)),
            lock,
        };
        if reasons == NotAvailable::default() {
            return AccountUsability::Available { seconds_before_expiration: expiry.at.map(seconds) };
        }
        AccountUsability::NotAvailable(reasons)
    }
}
