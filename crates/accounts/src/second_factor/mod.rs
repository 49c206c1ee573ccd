//! One-time codes beside the password: tokens by time (TOTP, RFC 6238) and by counter (HOTP, RFC 4226).
//!
//! A token is one value of an attribute of its user's entry; its secret is in it sealed, so that neither a copy of the
//! database nor an export is of use without the instance's key. Which code was used last is in the value, too: a code
//! is good once, also after a restart.

mod algorithm;
mod seal;
mod token;
mod tokens;
mod uri;

#[cfg(test)]
mod tests;

pub use algorithm::{Algorithm, one_time_code};
pub use seal::{SEALED_BYTES_MAX, SECRET_BYTES, SealError, SealKey};
pub use token::{
    DIGITS_MAX, DIGITS_MIN, Kind, Token, TokenError, TokenKey, TokenPart, WINDOW_PRESSES_MAX, WINDOW_STEPS_MAX, Window,
};
pub use tokens::Tokens;
pub use uri::{base32, secret_of_base32};
