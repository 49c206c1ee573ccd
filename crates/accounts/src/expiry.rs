//! When a password expires, when its user is warned, and how often it still serves after that.

use crate::account::Account;
use crate::moment::Moment;

/// What age and deadlines say of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Expiry {
    /// When it expires or expired; none: never.
    pub at: Option<Moment>,
    /// From when on its user is warned.
    pub warns_from: Option<Moment>,
    /// It has expired.
    pub is_expired: bool,
    /// Its user is to be warned.
    pub warns: bool,
    /// No warning was given before this one.
    pub is_first_warning: bool,
    /// Grace logins are for passwords that expire by age or by a deadline, not for those that were reset.
    pub allows_grace: bool,
}

impl Account<'_> {
    /// What age and deadlines say of the password. Where passwords do not expire without a warning, they expire one
    /// warning interval after the first one, and never before.
    #[must_use]
    pub fn expiry(&self) -> Expiry {
        let Some((plain, allows_grace)) = self.plain_expiry() else { return Expiry::default() };
        let policy = self.policy;
        let interval = policy.password_expiration_warning_interval;
        let expiry = Expiry { at: Some(plain), is_expired: plain <= self.now, allows_grace, ..Expiry::default() };
        if !allows_grace || interval.is_zero() {
            return expiry;
        }
        let warns_from = plain.before(interval);
        let expiry = Expiry { warns_from: Some(warns_from), ..expiry };
        if self.now < warns_from {
            return expiry;
        }
        let is_first_warning = self.state.warned.is_none();
        if policy.expire_passwords_without_warning {
            let warns = !expiry.is_expired;
            return Expiry { warns, is_first_warning: warns && is_first_warning, ..expiry };
        }
        let end = self.state.warned.unwrap_or(self.now).after(interval);
        let is_expired = end <= self.now && expiry.is_expired;
        Expiry { at: Some(end), is_expired, warns: !is_expired, is_first_warning, ..expiry }
    }

    /// When the password expires, warnings aside, and whether grace logins are possible then.
    fn plain_expiry(&self) -> Option<(Moment, bool)> {
        let policy = self.policy;
        let by_age = (!policy.max_password_age.is_zero())
            .then(|| (self.password_changed().after(policy.max_password_age), true));
        let by_reset = self.reset_lock_at().map(|at| (at, false));
        let by_deadline = policy.require_change_by_time.filter(|deadline| self.state.met_deadline != Some(*deadline));
        let by_deadline = by_deadline.map(|deadline| (deadline, true));
        // Of two at the same time, the first one decides about grace.
        [by_age, by_reset, by_deadline].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// How many binds with an expired password are left, if that is expired.
    #[must_use]
    pub fn grace_left(&self) -> u32 {
        let used = u32::try_from(self.state.grace_uses.len()).unwrap_or(u32::MAX);
        self.policy.grace_login_count.saturating_sub(used)
    }

    /// The same, when the password expired as `expiry` says.
    pub(crate) fn grace_left_after(&self, expiry: &Expiry) -> u32 {
        let interval = self.policy.grace_login_interval;
        let in_time = interval.is_zero() || expiry.at.is_some_and(|at| self.now < at.after(interval));
        if expiry.allows_grace && in_time { self.grace_left() } else { 0 }
    }
}
