//! Passwords made by the server (RFC 3062: a password modify request without a new password).
//!
//! Letters and digits that a person can read out: no `0`/`O`/`o`, no `1`/`l`/`I`.

use super::fault::EncodeError;

/// Characters of a generated password: 12 of 56 make some 70 bits.
pub const GENERATED_LENGTH: usize = 12;

const ALPHABET: &[u8; 56] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// A new random password.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn generate() -> Result<Vec<u8>, EncodeError> {
    let mut password = Vec::with_capacity(GENERATED_LENGTH);
    while password.len() < GENERATED_LENGTH {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| EncodeError::NoRandomness)?;
        // 224 is the largest multiple of 56 in a byte: bytes above it would favour some letters.
        let letters = bytes.iter().filter(|&&byte| byte < 224).map(|&byte| ALPHABET[usize::from(byte) % 56]);
        password.extend(letters.take(GENERATED_LENGTH - password.len()));
    }
    Ok(password)
}
