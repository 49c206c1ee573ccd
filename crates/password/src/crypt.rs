//! crypt(3) values: `$1$` (MD5), `$2a$`/`$2b$`/`$2y$` (Blowfish), `$5$` and `$6$` (SHA-2), `$7$` (scrypt), `$y$`
//! (yescrypt).
//!
//! The old DES form is refused: no kept implementation was found, and it holds no more than eight characters. Every
//! cost that a stored value may ask for is bounded here. Knows nothing of the braces around it, except that `{BCRYPT}`
//! and `{CRYPT}` share the forms.

use sha_crypt::{CustomizedPasswordHasher, PasswordVerifier, ShaCrypt};

use super::fault::Unverifiable;
use super::itoa64;
use super::limits::MEMORY_BYTES_MAX;
use super::parameters::{BCRYPT_COSTS, CryptAlgorithm};
use super::random::Random;
use super::scrypt_value::ScryptValue;

/// Most rounds of `$5$` and `$6$` that a stored value may ask for: a second or two of one core.
const SHA_ROUNDS_MAX: u32 = 5_000_000;
/// Longest password that Blowfish sees; it would ignore the rest silently.
const BCRYPT_PASSWORD_BYTES_MAX: usize = 71;
/// Characters of the old DES form.
const DES_BYTES: usize = 13;
/// Shortest hash field accepted, so that a value cut short matches nothing.
const HASH_FIELD_MIN: usize = 22;

/// A stored value that was read, as far as its costs are concerned.
enum Value<'t> {
    /// `$1$`: salt and hash.
    Md5(&'t str, &'t str),
    Bcrypt,
    Sha,
    Yescrypt,
    Scrypt(ScryptValue),
}

/// Whether `stored` (without its braces) was made from `clear`. Without `clear`, it is only read.
pub(super) fn verify(stored: &[u8], clear: Option<&[u8]>) -> Result<bool, Unverifiable> {
    let text = std::str::from_utf8(stored).map_err(|_| Unverifiable::Damaged)?;
    let value = read(text)?;
    let Some(clear) = clear else { return Ok(false) };
    Ok(match value {
        Value::Md5(salt, hash) => super::md5_crypt::verify_text(salt, hash, clear),
        Value::Bcrypt => bcrypt::verify(clear, text).unwrap_or(false),
        Value::Sha => sha_crypt::PasswordHash::new(text)
            .is_ok_and(|hash| ShaCrypt::default().verify_password(clear, &hash).is_ok()),
        Value::Yescrypt => PasswordVerifier::verify_password(&yescrypt::Yescrypt::default(), clear, text).is_ok(),
        Value::Scrypt(value) => value.verify(clear),
    })
}

fn read(text: &str) -> Result<Value<'_>, Unverifiable> {
    let mut fields = text.split('$');
    let (first, hash) = (fields.next(), text.rsplit('$').next().unwrap_or_default());
    if first == Some(text) && text.len() == DES_BYTES {
        return Err(Unverifiable::UnknownScheme("CRYPT (DES)"));
    }
    if first != Some("") || hash.len() < HASH_FIELD_MIN {
        return Err(Unverifiable::Damaged);
    }
    let (value, is_too_costly) = match fields.next() {
        Some("1") => (Value::Md5(fields.next().unwrap_or_default(), hash), false),
        Some("2a" | "2b" | "2x" | "2y") => {
            let cost = fields.next().and_then(|cost| cost.parse::<u32>().ok()).ok_or(Unverifiable::Damaged)?;
            (Value::Bcrypt, cost > *BCRYPT_COSTS.end())
        }
        Some("5" | "6") => {
            let rounds = fields.next().and_then(|field| field.strip_prefix("rounds="));
            let rounds = rounds.map(|rounds| rounds.parse::<u32>().map_err(|_| Unverifiable::Damaged)).transpose()?;
            (Value::Sha, rounds.is_some_and(|rounds| rounds > SHA_ROUNDS_MAX))
        }
        Some("7") => (Value::Scrypt(ScryptValue::read_crypt(text)?), false),
        Some("gy") => return Err(Unverifiable::UnknownScheme("CRYPT $gy$")),
        Some("y") => {
            let params = fields.next().and_then(|field| field.parse::<yescrypt::Params>().ok());
            let params = params.ok_or(Unverifiable::Damaged)?;
            let memory = 128u64.saturating_mul(params.n()).saturating_mul(u64::from(params.r()));
            (Value::Yescrypt, memory.saturating_mul(u64::from(params.p())) > MEMORY_BYTES_MAX)
        }
        _ => return Err(Unverifiable::UnknownScheme("CRYPT")),
    };
    if is_too_costly { Err(Unverifiable::TooCostly) } else { Ok(value) }
}

/// A new `$2b$` value.
pub(super) fn encode_bcrypt(clear: &[u8], salt: &[u8], cost: u32) -> Option<Vec<u8>> {
    if clear.len() > BCRYPT_PASSWORD_BYTES_MAX {
        return None;
    }
    let salt: [u8; 16] = salt.try_into().ok()?;
    let parts = bcrypt::hash_with_salt(clear, cost, salt).ok()?;
    Some(parts.format_for_version(bcrypt::Version::TwoB).into_bytes())
}

/// A new `$1$`, `$5$` or `$6$` value.
pub(super) fn encode(algorithm: CryptAlgorithm, clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    let sha = match algorithm {
        CryptAlgorithm::Md5 => return Some(super::md5_crypt::encode(clear, salt)),
        CryptAlgorithm::Sha256 => ShaCrypt::SHA256,
        CryptAlgorithm::Sha512 => ShaCrypt::SHA512,
    };
    let hash = sha.hash_password_customized(clear, salt, None, None, sha_crypt::Params::RECOMMENDED).ok()?;
    Some(hash.as_str().as_bytes().to_vec())
}

/// A body that costs what a new value with that cost costs, and that no known password matches.
pub(super) fn decoy_bcrypt(random: &Random, cost: u32) -> Vec<u8> {
    // The last character of salt and hash stands for fewer bits than six: `.` stands for none.
    format!("$2b${cost:02}${}.{}.", itoa64::text(&random[..21]), itoa64::text(&random[21..51])).into_bytes()
}

/// Likewise for a new crypt value.
pub(super) fn decoy(algorithm: CryptAlgorithm, random: &Random) -> Vec<u8> {
    let rounds = format!("rounds={}$", sha_crypt::Params::RECOMMENDED_ROUNDS);
    let (mark, rounds, salt_characters, hash_characters) = match algorithm {
        CryptAlgorithm::Md5 => ("1", "", 8, 21),
        CryptAlgorithm::Sha256 => ("5", rounds.as_str(), 16, 42),
        CryptAlgorithm::Sha512 => ("6", rounds.as_str(), 16, 85),
    };
    let (salt, rest) = random.split_at(salt_characters);
    format!("${mark}${rounds}{}${}.", itoa64::text(salt), itoa64::text(&rest[..hash_characters])).into_bytes()
}
