//! What is to change in the state of an account because of a bind.
//!
//! A change is merged, when it is applied, with the state that is there then: binds of one account run at the same
//! time, and none of them must undo what another one counted.

use std::time::Duration;

use crate::moment::Moment;
use crate::second_factor::TokenKey;

/// One change of an account's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// A wrong password: a failure time is added, those that no longer count go, and the account is locked when the
    /// count is reached. A locked account keeps its failures and its lock as they are.
    CountFailure {
        /// When.
        at: Moment,
        /// What the policy says of it.
        rules: LockRules,
    },
    /// A right password: failures, delay and lock of that moment and before go.
    ClearFailures {
        /// When the password was found right.
        at: Moment,
    },
    /// A bind with an expired password.
    UseGrace {
        /// When.
        at: Moment,
    },
    /// `ds-pwp-warned-time`, unless there is one.
    Warned {
        /// When.
        at: Moment,
    },
    /// The time of the last login, unless there is a later one.
    LastLogin {
        /// When.
        at: Moment,
        /// Attribute type.
        attribute: String,
        /// The time as the policy's format writes it.
        value: Vec<u8>,
    },
    /// A code of a token was shown: it and those before it are not good any more, and the token is in use.
    SpendCode {
        /// Which token.
        token: TokenKey,
        /// The first counter or time step whose code is good now.
        next: u64,
    },
    /// A token is added. One of the same name goes, unless it is in use: then nothing changes.
    PutToken {
        /// As the attribute has it.
        value: Vec<u8>,
    },
    /// A token is removed, or all are.
    RemoveToken {
        /// Which; none: all.
        token: Option<TokenKey>,
    },
    /// A stored password in another form, if the old form is still there.
    Reencode {
        /// Attribute type.
        attribute: String,
        /// The value as it was.
        old: Vec<u8>,
        /// What takes its place.
        new: Vec<Vec<u8>>,
    },
    /// A password that another directory said is right, kept for a time.
    CachePassword {
        /// When it said so.
        at: Moment,
        /// In the form in which it is kept.
        value: Vec<u8>,
    },
    /// Such a password goes, if it is not a later one.
    ForgetCachedPassword {
        /// When the other directory said that a password is wrong.
        at: Moment,
    },
}

/// What a policy says of wrong passwords, as it was at the bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LockRules {
    /// `lockout-failure-count`; 0: wrong passwords are not counted.
    pub count: u32,
    /// `lockout-duration`.
    pub duration: Duration,
    /// `lockout-failure-expiration-interval`.
    pub expiration: Duration,
    /// `pwdMinDelay`.
    pub min_delay: Duration,
    /// `pwdMaxDelay`; a delay does not grow when this is less than `min_delay`.
    pub max_delay: Duration,
    /// `pwdMaxRecordedFailure`: so many failures are kept, also those that no longer count; 0: those that count.
    pub recorded: u32,
}

/// Failures that are kept for the sake of a growing delay, where no number of them locks the account.
const DELAY_FAILURES_MAX: u32 = 16;

impl LockRules {
    /// Whether wrong passwords are counted at all.
    #[must_use]
    pub fn count_failures(&self) -> bool {
        self.count > 0 || self.recorded > 0 || !self.min_delay.is_zero()
    }

    /// How many failures are kept at most.
    pub(crate) fn failures_kept(&self) -> usize {
        let least = match self.count {
            0 if self.recorded > 0 => 1,
            0 => DELAY_FAILURES_MAX,
            count => count,
        };
        usize::try_from(least.max(self.recorded)).unwrap_or(usize::MAX)
    }

    /// How long binds are refused after so many failures.
    pub(crate) fn delay_after(&self, failures: usize) -> Duration {
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(31);
        self.min_delay.saturating_mul(1 << doublings).min(self.max_delay.max(self.min_delay))
    }

    /// From when on a failure counts at that moment.
    pub(crate) fn counts_from(&self, now: Moment) -> Moment {
        if self.expiration.is_zero() { Moment(0) } else { now.before(self.expiration) }
    }
}
