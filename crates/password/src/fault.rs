//! Why a stored value, or a new one, cannot be had.

use super::key_ring::KeyId;
use super::limits::PASSWORD_BYTES_MAX;

/// Why no password at all matches a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverifiable {
    /// It is encrypted with a key that the server does not have.
    #[error("it is encrypted with the key {0}, which is not in the server's file of keys")]
    NoKey(KeyId),
    /// It names a scheme that only another program can check.
    #[error("passwords of the scheme {{{0}}} are checked by another program, not by this server")]
    OtherProgram(&'static str),
    /// It names a scheme that is not supported.
    #[error("the scheme {{{0}}} is not supported; give the account a new password")]
    UnknownScheme(&'static str),
    /// It is not what its scheme prescribes.
    #[error("it is damaged: it does not have the form that its scheme prescribes")]
    Damaged,
    /// It asks for more memory or time than a stored value may.
    #[error("it asks for more memory or time than is allowed for one password")]
    TooCostly,
}

/// Why a password could not be put into stored form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes for a salt")]
    NoRandomness,
    /// The password is empty, or longer than the scheme takes.
    #[error("a password has 1 to {PASSWORD_BYTES_MAX} bytes (72 for Bcrypt)")]
    Length,
}
