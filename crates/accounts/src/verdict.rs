//! What a bind leads to: after the right password, after a wrong one, and before any is compared.

use ldap::controls::{PasswordPolicyResponse, PolicyError, PolicyWarning};

use crate::account::{Account, LockEnd};
use crate::change::StateChange;
use crate::moment::Moment;
use crate::state::Lock;
use crate::usability::Usability;

/// What proves who binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The account's password, in whatever mechanism.
    Password,
    /// Something else: a certificate, a ticket. The password's age does not matter then.
    Other,
}

/// Why a bind is refused although the credentials are right. Clients are told the policy's error, the log the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindRefusal {
    /// `ds-pwp-account-disabled`.
    #[error("The account is disabled")]
    Disabled,
    /// `pwdStartTime`.
    #[error("The account may not be used yet")]
    NotStarted,
    /// `ds-pwp-account-expiration-time`, `pwdEndTime`.
    #[error("The account has expired")]
    Ended,
    /// Too many wrong passwords.
    #[error("The account is locked after too many wrong passwords")]
    Locked(LockEnd),
    /// `pwdMinDelay`.
    #[error("The account refuses binds for a time after a wrong password")]
    Delayed(Moment),
    /// Nobody used it for too long.
    #[error("The account is locked because it was not used for too long")]
    Idle,
    /// `max-password-reset-age`.
    #[error("The account is locked because its password was reset and not changed in time")]
    ResetTooOld,
    /// No grace login is left.
    #[error("The password has expired")]
    Expired,
}

impl BindRefusal {
    /// What the password policy control says of it. Who disabled an account says so elsewhere.
    #[must_use]
    pub fn policy_error(&self) -> Option<PolicyError> {
        match self {
            BindRefusal::Disabled | BindRefusal::NotStarted | BindRefusal::Ended => None,
            BindRefusal::Locked(_) | BindRefusal::Delayed(_) | BindRefusal::Idle | BindRefusal::ResetTooOld => {
                Some(PolicyError::AccountLocked)
            }
            BindRefusal::Expired => Some(PolicyError::PasswordExpired),
        }
    }
}

/// What follows from the right credentials.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Verdict {
    /// None: the bind succeeds.
    pub refusal: Option<BindRefusal>,
    /// For the client's controls.
    pub told: PasswordPolicyResponse,
    /// The session may do nothing but change the password.
    pub must_change: bool,
    /// What is to be written; nothing in the common case.
    pub changes: Vec<StateChange>,
}

/// Whether a password may be compared with the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayGuess {
    /// A wrong one changes nothing: they are not counted.
    Uncounted,
    /// A wrong one changes nothing: the account is locked already.
    UnderLock(UnderLock),
    /// After the guess was counted as one in flight.
    Counted,
    /// The guesses in flight may use up those that are left.
    NotNow,
}

/// A lock, or a delay, as guesses under it are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderLock {
    /// Another one for each lock of an account.
    pub mark: Moment,
    /// When it ends, if it does by itself.
    pub until: Option<Moment>,
    /// So many wrong passwords are compared while it lasts.
    pub most: u32,
}

impl Account<'_> {
    /// What follows from the right credentials.
    #[must_use]
    pub fn after_right_password(&self, credential: Credential) -> Verdict {
        let mut verdict = Verdict::default();
        if let Some(refusal) = self.standing().and_then(refusal_for) {
            return Verdict::refused(refusal);
        }
        if credential == Credential::Password {
            if self.is_reset_too_old() {
                return Verdict::refused(BindRefusal::ResetTooOld);
            }
            let expiry = self.expiry();
            if expiry.is_expired {
                let left = self.grace_left_after(&expiry);
                if left == 0 {
                    return Verdict::refused(BindRefusal::Expired);
                }
                verdict.must_change = true;
                verdict.told.warning = Some(PolicyWarning::GraceLeft(left - 1));
                verdict.told.error = Some(PolicyError::PasswordExpired);
                verdict.changes.push(StateChange::UseGrace { at: self.now });
            } else if expiry.warns {
                let seconds = expiry.at.unwrap_or_default().since(self.now).as_secs();
                let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
                verdict.told.warning = Some(PolicyWarning::SecondsBeforeExpiration(seconds));
                if expiry.is_first_warning {
                    verdict.changes.push(StateChange::Warned { at: self.now });
                }
            }
            if self.must_change() {
                verdict.must_change = true;
                verdict.told.error.get_or_insert(PolicyError::ChangeAfterReset);
            }
            let state = self.state;
            let lock = match state.lock {
                Some(Lock::Since(since)) => Some(since),
                Some(Lock::UntilUnlocked) | None => None,
            };
            let last = state.failures.last().copied().max(lock);
            if last.is_some() || state.delayed_until.is_some() {
                // Of failures within a millisecond all but the first are noted later than they were.
                let at = last.map_or(self.now, |last| last.max(self.now));
                verdict.changes.push(StateChange::ClearFailures { at });
            }
        }
        verdict.changes.extend(self.login_change());
        verdict
    }

    /// What a wrong password changes. A locked account stays locked as it is.
    #[must_use]
    pub fn after_wrong_password(&self) -> Option<StateChange> {
        let rules = self.policy.lock_rules();
        let counts = rules.count_failures() && self.lock().is_none() && self.delay().is_none();
        counts.then_some(StateChange::CountFailure { at: self.now, rules })
    }

    /// Whether another password may be compared, while so many guesses that were counted are in flight: being
    /// compared, or wrong and not in the state yet.
    #[must_use]
    pub fn may_guess(&self, in_flight: u32) -> MayGuess {
        let rules = self.policy.lock_rules();
        if !rules.count_failures() {
            return MayGuess::Uncounted;
        }
        if let Some(lock) = self.under_lock(rules.count.max(1)) {
            return MayGuess::UnderLock(lock);
        }
        let left = self.failures_left().unwrap_or(u32::MAX);
        let together = if rules.min_delay.is_zero() { left } else { left.min(1) };
        if in_flight < together { MayGuess::Counted } else { MayGuess::NotNow }
    }

    fn under_lock(&self, most: u32) -> Option<UnderLock> {
        if let Some(end) = self.lock() {
            let mark = match self.state.lock {
                Some(Lock::Since(since)) => since,
                Some(Lock::UntilUnlocked) => Moment::default(),
                None => self.state.failures.last().copied().unwrap_or_default(),
            };
            let until = match end {
                LockEnd::At(until) => Some(until),
                LockEnd::ByAdministrator => None,
            };
            return Some(UnderLock { mark, until, most });
        }
        self.delay().map(|until| UnderLock { mark: until, until: Some(until), most })
    }

    /// The time of this login, if one is kept and that which is stored is too old.
    fn login_change(&self) -> Option<StateChange> {
        let rules = self.policy.last_login.as_ref()?;
        let idle = self.policy.idle_lockout_interval;
        let precision = if idle.is_zero() { rules.precision } else { rules.precision.min(idle / 10) };
        if self.state.last_login.is_some_and(|last| self.now <= last || self.now.since(last) < precision) {
            return None;
        }
        let value = rules.write(self.now);
        if self.state.last_login.is_some_and(|last| rules.write(last) == value) {
            return None;
        }
        Some(StateChange::LastLogin { at: self.now, attribute: rules.attribute.clone(), value })
    }
}

impl Verdict {
    fn refused(refusal: BindRefusal) -> Verdict {
        let told = PasswordPolicyResponse { warning: None, error: refusal.policy_error() };
        Verdict { refusal: Some(refusal), told, must_change: false, changes: Vec::new() }
    }
}

fn refusal_for(reason: Usability) -> Option<BindRefusal> {
    Some(match reason {
        Usability::Disabled => BindRefusal::Disabled,
        Usability::NotStarted(_) => BindRefusal::NotStarted,
        Usability::Ended(_) => BindRefusal::Ended,
        Usability::Locked(end) => BindRefusal::Locked(end),
        Usability::Delayed(until) => BindRefusal::Delayed(until),
        Usability::Idle => BindRefusal::Idle,
        Usability::ResetTooOld => BindRefusal::ResetTooOld,
        Usability::Expired { .. } => BindRefusal::Expired,
        Usability::MustChange | Usability::Usable { .. } => return None,
    })
}
