//! Passwords that come with other requests than binds: the old one beside a new one, one to be deleted, one to be
//! compared. Each is a guess as in a bind, is counted before it is compared, and goes the same way.
//!
//! Knows nothing of the requests. No session comes of it, and a right password changes nothing in the account's state.

use std::net::IpAddr;
use std::time::Instant;

use access::{Authentication, Identity};
use ldap::LdapResult;

use super::authenticate::is_password;
use super::claimed::{Claimed, Who};
use super::code::take_code;
use super::context::BindContext;
use super::remembered::Remembered;
use super::shown_code::ShownCode;
use super::step::{Attempt, Judged, Via, Wait, Wrong};

/// A password in clear, and whether this thread may take long with it.
#[derive(Clone, Copy)]
pub(crate) struct ClearPassword<'c> {
    pub(crate) clear: &'c [u8],
    /// Whether this is a pool's thread.
    pub(crate) may_be_slow: bool,
    /// Where the account has a second factor: whether a one-time code follows the password, as in a bind. Whoever is
    /// bound has shown one before.
    pub(crate) with_code: bool,
    /// Where the client is; none of a local socket.
    pub(crate) address: Option<IpAddr>,
}

/// What a password that was compared is.
pub(crate) enum ComparedPassword {
    /// The account's.
    Right(Box<Proven>),
    /// Not that, or nobody has a password by that name. The answer waits.
    Wrong(Box<Wait>),
    /// A pool's thread has to compare it.
    TakesLong,
}

/// An account whose password was given.
pub(crate) struct Proven(Claimed);

impl Proven {
    /// Who it is.
    pub(crate) fn identity(&self) -> Identity {
        match &self.0.who {
            Who::Entry(found) => found.bound.identity.clone(),
            Who::Root(found) => found.bound.identity.clone(),
            Who::Nobody { .. } => Identity::Anonymous,
        }
    }

    /// The stored forms that it was compared with.
    pub(crate) fn stored(&self) -> &[Vec<u8>] {
        &self.0.passwords
    }
}

impl BindContext<'_> {
    /// Compares a password with that of an account.
    pub(crate) fn compare_password(
        &self,
        claimed: Claimed,
        password: ClearPassword<'_>,
    ) -> Result<ComparedPassword, LdapResult> {
        let ClearPassword { clear, may_be_slow, with_code, address } = password;
        if claimed.is_slow() && !may_be_slow {
            return Ok(ComparedPassword::TakesLong);
        }
        // Whether the connection is good enough is for the request to say.
        let authentication = Authentication::Simple;
        let begun = Instant::now();
        let via = Via { authentication, begun, is_secure: true, wants_policy: false, wants_identity: false, address };
        let mut attempt = match self.count(claimed, via) {
            Ok(attempt) => attempt,
            Err(step) => return Err(step.into_result()),
        };
        let clear = if with_code {
            take_code(&mut attempt, clear)
        } else {
            attempt.code = Some(Box::new(ShownCode::NotNeeded));
            clear
        };
        let (is_right, attempt) = if attempt.claimed.is_slow() {
            self.verify_slowly(attempt, clear)?
        } else {
            (is_password(&attempt.claimed.passwords, clear), attempt)
        };
        let Judged { claimed, wrong, spending, .. } = self.judge(attempt, is_right);
        Ok(match wrong {
            None => {
                self.spend_unanswered(&claimed.who, spending);
                ComparedPassword::Right(Box::new(Proven(claimed)))
            }
            Some(Wrong { wait, .. }) => ComparedPassword::Wrong(Box::new(wait)),
        })
    }

    fn verify_slowly(&self, attempt: Attempt, clear: &[u8]) -> Result<(bool, Attempt), LdapResult> {
        // Requests that change passwords wait for nobody.
        let verification = match self.remembered(&attempt, clear, || Box::new(|_| {})) {
            Remembered::Right => return Ok((true, attempt)),
            Remembered::Waits => None,
            Remembered::Verify(verification) => verification,
        };
        let stored = attempt.claimed.passwords.clone();
        let made = Instant::now();
        let is_right = is_password(&stored, clear) && attempt.claimed.is_somebody();
        let now = Instant::now();
        let begun = attempt.via.begun + now.saturating_duration_since(made);
        if let Some(verification) = verification {
            verification.end(is_right, now);
        }
        // Much can have happened to the account meanwhile.
        let claimed = self.renew(attempt.claimed).map_err(|error| query::error::store_failure(&error))?;
        let is_same = claimed.passwords == stored;
        let via = Via { begun, ..attempt.via };
        Ok((is_right && is_same, Attempt { claimed, via, ..attempt }))
    }
}
