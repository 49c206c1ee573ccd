//! crypt(3) values: `$1$` (MD5), `$2a$`/`$2b$`/`$2y$` (Blowfish), `$5$` and `$6$` (SHA-2), `$y$` (yescrypt).
//!
//! The old DES form is refused: no kept implementation was found, and it holds no more than eight characters. Every
//! cost that a stored value may ask for is bounded here. Knows nothing of the braces around it, except that `{BCRYPT}`
//! and `{CRYPT}` share the forms.

use md5::{Digest as _, Md5};
use sha_crypt::{CustomizedPasswordHasher, PasswordVerifier, ShaCrypt};

/// Most rounds of `$5$` and `$6$` that a stored value may ask for: a second or two of one core.
const SHA_ROUNDS_MAX: u32 = 5_000_000;
/// Highest Blowfish cost that a stored value may ask for: some 15 seconds of one core.
const BCRYPT_COST_MAX: u32 = 18;
/// Cost of a new Blowfish value (OpenDJ's `bcrypt-cost`).
const BCRYPT_COST: u32 = 12;
/// Longest password that Blowfish sees; it would ignore the rest silently.
const BCRYPT_PASSWORD_BYTES_MAX: usize = 71;
/// Most memory that yescrypt may ask for (128 · N · r bytes).
const YESCRYPT_BYTES_MAX: u64 = 1 << 30;
/// Shortest hash field accepted, so that a value cut short matches nothing.
const HASH_FIELD_MIN: usize = 22;
/// Alphabet of crypt's base64.
const ITOA64: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether `stored` (without its braces) was made from `clear`.
pub(super) fn verify(stored: &[u8], clear: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(stored) else {
        return false;
    };
    let mut fields = text.split('$');
    if fields.next() != Some("") || text.rsplit('$').next().is_none_or(|hash| hash.len() < HASH_FIELD_MIN) {
        return false;
    }
    match fields.next() {
        Some("1") => verify_md5(fields.next().unwrap_or_default(), text, clear),
        Some("2a" | "2b" | "2x" | "2y") => {
            let cost = fields.next().and_then(|cost| cost.parse::<u32>().ok());
            cost.is_some_and(|cost| cost <= BCRYPT_COST_MAX) && bcrypt::verify(clear, text).unwrap_or(false)
        }
        Some("5" | "6") => {
            let rounds = fields.next().and_then(|field| field.strip_prefix("rounds="));
            rounds.is_none_or(|rounds| rounds.parse::<u32>().is_ok_and(|rounds| rounds <= SHA_ROUNDS_MAX))
                && sha_crypt::PasswordHash::new(text)
                    .is_ok_and(|hash| ShaCrypt::default().verify_password(clear, &hash).is_ok())
        }
        Some("y") => {
            let params = fields.next().and_then(|field| field.parse::<yescrypt::Params>().ok());
            params.is_some_and(|params| {
                let memory = 128u64.saturating_mul(params.n()).saturating_mul(u64::from(params.r()));
                memory.saturating_mul(u64::from(params.p())) <= YESCRYPT_BYTES_MAX
            }) && PasswordVerifier::verify_password(&yescrypt::Yescrypt::default(), clear, text).is_ok()
        }
        _ => false,
    }
}

/// A new `$2b$` value.
pub(super) fn encode_bcrypt(clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    if clear.len() > BCRYPT_PASSWORD_BYTES_MAX {
        return None;
    }
    let salt: [u8; 16] = salt.try_into().ok()?;
    let parts = bcrypt::hash_with_salt(clear, BCRYPT_COST, salt).ok()?;
    Some(parts.format_for_version(bcrypt::Version::TwoB).into_bytes())
}

/// A new `$6$` value.
pub(super) fn encode_sha512(clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    let hash =
        ShaCrypt::SHA512.hash_password_customized(clear, salt, None, None, sha_crypt::Params::RECOMMENDED).ok()?;
    Some(hash.as_str().as_bytes().to_vec())
}

fn verify_md5(salt: &str, text: &str, clear: &[u8]) -> bool {
    let salt = salt.as_bytes();
    let salt = salt.get(..8).unwrap_or(salt);
    let Some((_, expected)) = text.rsplit_once('$') else {
        return false;
    };
    super::same::same(expected.as_bytes(), &md5_crypt(salt, clear))
}

/// The hash field of `$1$`: 1000 rounds of MD5 over password, salt and the round before, in an order that depends on
/// the round.
fn md5_crypt(salt: &[u8], clear: &[u8]) -> [u8; 22] {
    let inner: [u8; 16] = Md5::new().chain_update(clear).chain_update(salt).chain_update(clear).finalize().into();
    let mut state = Md5::new().chain_update(clear).chain_update(b"$1$").chain_update(salt);
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
    let mut text = [0u8; 22];
    // Five groups of three bytes, then the byte left over.
    const GROUPS: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
    for (group, target) in GROUPS.iter().zip(text.chunks_mut(4)) {
        let bits = u32::from(digest[group[0]]) << 16 | u32::from(digest[group[1]]) << 8 | u32::from(digest[group[2]]);
        put_itoa64(bits, target);
    }
    put_itoa64(u32::from(digest[11]), &mut text[20..]);
    text
}

fn put_itoa64(mut bits: u32, target: &mut [u8]) {
    for byte in target {
        *byte = ITOA64[(bits & 0x3f) as usize];
        bits >>= 6;
    }
}
