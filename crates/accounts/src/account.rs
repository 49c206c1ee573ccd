//! An account at a moment: its state as its policy sees it. What the two together say of locks, idleness and grace.

use crate::moment::Moment;
use crate::policy::PasswordPolicy;
use crate::state::{AccountState, Lock};

/// An account at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The policy in force.
    pub policy: &'a PasswordPolicy,
    /// What the entry says.
    pub state: &'a AccountState,
    /// When it is asked.
    pub now: Moment,
}

/// When a lock ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockEnd {
    /// By itself.
    At(Moment),
    /// When an administrator unlocks the account or resets its password.
    ByAdministrator,
}

impl Account<'_> {
    /// Whether the account may not be used yet (`pwdStartTime`).
    #[must_use]
    pub fn has_not_started(&self) -> bool {
        self.state.start.is_some_and(|start| self.now < start)
    }

    /// Whether the account may not be used any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state.end.is_some_and(|end| end <= self.now)
    }

    /// The lock after wrong passwords, while it lasts. One that an administrator set counts under every policy, others
    /// where failures lock at all.
    #[must_use]
    pub fn lock(&self) -> Option<LockEnd> {
        let rules = self.policy.lock_rules();
        match self.state.lock {
            Some(Lock::UntilUnlocked) => Some(LockEnd::ByAdministrator),
            _ if rules.count == 0 => None,
            Some(Lock::Since(since)) => self.lock_since(since),
            // Enough failures came together without a lock: from elsewhere, or before the policy changed.
            None => {
                let from = rules.counts_from(self.now);
                let counted = self.state.failures.iter().filter(|failure| **failure >= from).count();
                let too_few = u32::try_from(counted).is_ok_and(|counted| counted < rules.count);
                if too_few { None } else { self.lock_since(*self.state.failures.last()?) }
            }
        }
    }

    fn lock_since(&self, since: Moment) -> Option<LockEnd> {
        let duration = self.policy.lockout_duration;
        if duration.is_zero() {
            return Some(LockEnd::ByAdministrator);
        }
        let end = since.after(duration);
        (self.now < end).then_some(LockEnd::At(end))
    }

    /// Until when binds are refused after a wrong password (`pwdMinDelay`).
    #[must_use]
    pub fn delay(&self) -> Option<Moment> {
        let is_on = !self.policy.min_delay.is_zero();
        self.state.delayed_until.filter(|until| is_on && self.now < *until)
    }

    /// The failures that count now, in ascending order: none after a lock that has ended.
    #[must_use]
    pub fn counted_failures(&self) -> &[Moment] {
        let failures = self.state.failures.as_slice();
        if failures.is_empty() {
            return failures;
        }
        let rules = self.policy.lock_rules();
        let from = rules.counts_from(self.now);
        let counted = &failures[failures.partition_point(|failure| *failure < from)..];
        let was_locked = match self.state.lock {
            Some(Lock::Since(_)) => true,
            Some(Lock::UntilUnlocked) => false,
            None => rules.count > 0 && u32::try_from(counted.len()).is_ok_and(|counted| counted >= rules.count),
        };
        if was_locked && rules.count > 0 && self.lock().is_none() { &[] } else { counted }
    }

    /// How many more wrong passwords lock the account; none where they never do.
    #[must_use]
    pub fn failures_left(&self) -> Option<u32> {
        let count = self.policy.lockout_failure_count;
        let counted = u32::try_from(self.counted_failures().len()).unwrap_or(u32::MAX);
        (count > 0).then(|| count.saturating_sub(counted))
    }

    /// When the account is or was locked because nobody uses it; none where that does not happen.
    #[must_use]
    pub fn idle_lock_at(&self) -> Option<Moment> {
        let interval = self.policy.idle_lockout_interval;
        if interval.is_zero() || self.policy.last_login.is_none() {
            return None;
        }
        let used = self.state.last_login.unwrap_or_default().max(self.password_changed());
        Some(used.after(interval))
    }

    /// Whether nobody used the account for too long.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.idle_lock_at().is_some_and(|lock| lock <= self.now)
    }

    /// When the password was set: with the entry, if nothing says otherwise.
    #[must_use]
    pub fn password_changed(&self) -> Moment {
        self.state.password_changed.or(self.state.created).unwrap_or_default()
    }

    /// Whether the password must be changed before anything else is done.
    #[must_use]
    pub fn must_change(&self) -> bool {
        let policy = self.policy;
        self.state.must_change
            && policy.allow_user_password_changes
            && (policy.force_change_on_add || policy.force_change_on_reset)
    }

    /// When the account is or was locked because a reset password was not changed; none where that does not happen.
    #[must_use]
    pub fn reset_lock_at(&self) -> Option<Moment> {
        let age = self.policy.max_password_reset_age;
        (!age.is_zero() && self.must_change()).then(|| self.password_changed().after(age))
    }

    /// Whether a reset password was not changed in time.
    #[must_use]
    pub fn is_reset_too_old(&self) -> bool {
        self.reset_lock_at().is_some_and(|lock| lock < self.now)
    }
}
