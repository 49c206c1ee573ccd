//! How a bind ended.

use access::{Bound, Identity};
use accounts::BindRefusal;
use ldap::oids::control;
use ldap::{ControlBuf, LdapResult};

/// How a bind ended.
pub struct BindDone {
    /// For the client.
    pub result: LdapResult,
    /// Controls of the response.
    pub controls: Vec<ControlBuf>,
    /// What the session is from now on: anonymous unless it succeeded.
    pub bound: Bound,
    /// Why the credentials were not good, for the log's reader; the client is told by configuration only.
    pub failure: Option<BindFailure>,
}

/// What was wrong with a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindFailure {
    /// A simple bind with an empty name.
    #[error("There is a password, but no name")]
    NoName,
    /// No backend, or no entry.
    #[error("There is no entry with this name")]
    NoEntry,
    /// An entry that nobody can bind as.
    #[error("The entry has no password")]
    NoPassword,
    /// None of the entry's passwords, or a proof that does not fit.
    #[error("The password is wrong")]
    WrongPassword,
    /// The password is right; the one-time code after it is not, or was used before, or is missing.
    #[error("The password is right, the one-time code is wrong, missing, or was used before")]
    WrongCode,
    /// The password is right, the policy asks for a code, and the account has nothing that shows one.
    #[error(
        "The password is right, but the policy requires a second factor and the account has no token: make one with \
         pando account otp enrol"
    )]
    NoSecondFactor,
    /// The guesses in flight may use up those that the policy allows.
    #[error("Too many guesses of this account's password are in flight")]
    TooManyGuesses,
    /// Those that the policy lets be compared while the account is locked are spent.
    #[error("The account is locked, and too many wrong passwords were tried since")]
    GuessesSpentUnderLock,
    /// The policy asks for encryption (`require-secure-authentication`).
    #[error("The account's policy takes passwords over encrypted connections only")]
    NotSecure,
    /// The state of the account cannot be written (`state-update-failure-policy`).
    #[error("The state of the account cannot be written")]
    StateNotWritten,
    /// The right password of an account that may not bind.
    #[error("The account is inactivated (nsAccountLock)")]
    Inactivated,
    /// The right password of an account that its state or its age keeps out.
    #[error("{0}")]
    Refused(BindRefusal),
}

impl BindFailure {
    /// Whether somebody guessed wrong.
    pub(super) fn is_wrong_guess(self) -> bool {
        matches!(self, BindFailure::WrongPassword | BindFailure::WrongCode | BindFailure::NoSecondFactor)
    }

    /// Whether the client did not prove to be anybody, whatever the reason.
    pub(crate) fn proves_nobody(self) -> bool {
        !matches!(
            self,
            BindFailure::NotSecure | BindFailure::StateNotWritten | BindFailure::Inactivated | BindFailure::Refused(_)
        )
    }
}

impl BindDone {
    pub(super) fn succeeded(bound: Bound) -> BindDone {
        BindDone { result: LdapResult::success(), controls: Vec::new(), bound, failure: None }
    }
}

/// Tells a client who it is (RFC 3829).
pub(super) fn authorization_identity(identity: &Identity) -> ControlBuf {
    ControlBuf::new(control::AUTHORIZATION_IDENTITY_RESPONSE, Some(identity.authorization_id().into_bytes()))
}
