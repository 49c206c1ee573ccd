//! MD5 crypt: 1000 rounds of MD5 over password, salt and the round before. FreeBSD's `$1$` text, and OpenLDAP's
//! `{BSDMD5}` and `{APR1}`, which have base64 of digest ‖ salt.

use md5::{Digest as _, Md5};

use super::digest::decode_base64;
use super::fault::Unverifiable;
use super::itoa64;
use super::same::same;

/// The mark of crypt(3) itself.
const MARK: &[u8] = b"$1$";
/// Longest body read. It bounds the stack buffer.
const BODY_BYTES_MAX: usize = 64;
/// Bytes of digest.
const DIGEST_BYTES: usize = 16;

/// Whether salt and hash field of a `$1$` text were made from `clear`.
pub(super) fn verify_text(salt: &str, hash: &str, clear: &[u8]) -> bool {
    let salt = salt.as_bytes();
    let salt = salt.get(..8).unwrap_or(salt);
    same(hash.as_bytes(), &text_of(&digest(MARK, salt, clear)))
}

/// Whether base64 of digest ‖ salt was made from `clear`. Without `clear`, it is only read.
pub(super) fn verify_base64(mark: &[u8], body: &[u8], clear: Option<&[u8]>) -> Result<bool, Unverifiable> {
    let mut buffer = [0u8; BODY_BYTES_MAX];
    let decoded = decode_base64(body, &mut buffer).ok_or(Unverifiable::Damaged)?;
    let (expected, salt) = decoded.split_at_checked(DIGEST_BYTES).ok_or(Unverifiable::Damaged)?;
    Ok(clear.is_some_and(|clear| same(expected, &digest(mark, salt, clear))))
}

/// A new `$1$` value.
pub(super) fn encode(clear: &[u8], salt: &[u8]) -> Vec<u8> {
    let salt = itoa64::text(salt.get(..8).unwrap_or(salt));
    let hash = text_of(&digest(MARK, salt.as_bytes(), clear));
    [MARK, salt.as_bytes(), b"$", &hash].concat()
}

/// The rounds, in an order of parts that depends on the round.
fn digest(mark: &[u8], salt: &[u8], clear: &[u8]) -> [u8; DIGEST_BYTES] {
    let inner: [u8; 16] = Md5::new().chain_update(clear).chain_update(salt).chain_update(clear).finalize().into();
    let mut state = Md5::new().chain_update(clear).chain_update(mark).chain_update(salt);
    for start in (0..clear.len()).step_by(16) {
        state.update(&inner[..16.min(clear.len() - start)]);
    }
    let mut bits = clear.len();
    while bits != 0 {
        let byte = if bits & 1 == 1 { 0 } else { clear.first().copied().unwrap_or(0) };
        state.update([byte]);
        bits >>= 1;
    }
    let mut digest: [u8; 16] = state.finalize().into();
    for round in 0..1000u32 {
        let odd = round & 1 == 1;
        let mut state = Md5::new();
        state.update(if odd { clear } else { &digest[..] });
        if !round.is_multiple_of(3) {
            state.update(salt);
        }
        if !round.is_multiple_of(7) {
            state.update(clear);
        }
        state.update(if odd { &digest[..] } else { clear });
        digest = state.finalize().into();
    }
    digest
}

fn text_of(digest: &[u8; DIGEST_BYTES]) -> [u8; 22] {
    let mut text = [0u8; 22];
    // Five groups of three bytes, then the byte left over.
    const GROUPS: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
    for (group, target) in GROUPS.iter().zip(text.chunks_mut(4)) {
        let bits = u32::from(digest[group[0]]) << 16 | u32::from(digest[group[1]]) << 8 | u32::from(digest[group[2]]);
        itoa64::put(bits, target);
    }
    itoa64::put(u32::from(digest[11]), &mut text[20..]);
    text
}
