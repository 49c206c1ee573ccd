//! The state of an account: what its entry keeps beside the passwords.

use crate::moment::Moment;
use crate::second_factor::Tokens;

/// What an entry says of its account; [`AccountState::default`] is that of an entry which says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AccountState {
    /// When the entry was made: the age of a password that has no time of its own.
    pub created: Option<Moment>,
    /// `pwdChangedTime`.
    pub password_changed: Option<Moment>,
    /// `ds-pwp-reset-time`: when somebody else than its user set the password last.
    pub password_reset: Option<Moment>,
    /// `ds-pwp-account-disabled`, `nsAccountLock`: out of use by an administrator.
    pub is_disabled: bool,
    /// `ds-pwp-account-disabled-time`: when an administrator disabled it last, be it enabled since or not.
    pub last_disabled: Option<Moment>,
    /// `pwdStartTime`: not in use before.
    pub start: Option<Moment>,
    /// `ds-pwp-account-expiration-time`, `pwdEndTime`, the earlier of the two: not in use from then on.
    pub end: Option<Moment>,
    /// `pwdAccountLockedTime`.
    pub lock: Option<Lock>,
    /// `pwdFailureTime`, in ascending order, all different.
    pub failures: Vec<Moment>,
    /// `pwdAccountTmpLockoutEnd`: no bind before (`pwdMinDelay`).
    pub delayed_until: Option<Moment>,
    /// `pwdReset`: the password must be changed.
    pub must_change: bool,
    /// `pwdGraceUseTime`, in ascending order, all different.
    pub grace_uses: Vec<Moment>,
    /// `ds-pwp-warned-time`: when the user was first told that the password will expire.
    pub warned: Option<Moment>,
    /// `ds-pwp-password-changed-by-required-time`: the deadline (`require-change-by-time`) that was met.
    pub met_deadline: Option<Moment>,
    /// `ds-pwp-one-time-password-token`: what makes the codes that a bind shows beside the password.
    pub tokens: Tokens,
    /// The last successful bind, from the attribute that the policy names.
    pub last_login: Option<Moment>,
}

/// Why an account is locked after wrong passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Since that moment; the policy says for how long.
    Since(Moment),
    /// `000001010000Z`: until an administrator unlocks it.
    UntilUnlocked,
}
