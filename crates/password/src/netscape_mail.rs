//! `{NS-MTA-MD5}`: what Netscape's mail server wrote and 389 and OpenLDAP still read. Never written.
//!
//! 32 hexadecimal digits of MD5, then 32 characters of salt; hashed are salt, `Y`, password, byte 247, salt.

use md5::{Digest as _, Md5};

use super::fault::Unverifiable;
use super::same::same;

/// Characters of hash, and of salt.
const PART_BYTES: usize = 32;

/// Whether `body` was made from `clear`. Without `clear`, it is only read.
pub(super) fn verify(body: &[u8], clear: Option<&[u8]>) -> Result<bool, Unverifiable> {
    let (expected, salt) = body.split_at_checked(PART_BYTES).ok_or(Unverifiable::Damaged)?;
    if salt.len() != PART_BYTES || !expected.iter().all(u8::is_ascii_hexdigit) {
        return Err(Unverifiable::Damaged);
    }
    let Some(clear) = clear else { return Ok(false) };
    let digest = Md5::new().chain_update(salt).chain_update(b"Y").chain_update(clear).chain_update([247]);
    let digest: [u8; 16] = digest.chain_update(salt).finalize().into();
    let mut hex = [0u8; PART_BYTES];
    for (byte, digits) in digest.iter().zip(hex.chunks_exact_mut(2)) {
        for (digit, value) in digits.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = b"0123456789abcdef"[usize::from(value)];
        }
    }
    Ok(same(&expected.to_ascii_lowercase(), &hex))
}
