//! Storage schemes of `userPassword`: which ones exist, how a stored value is told from a clear one, how it is verified
//! and how a new one is made.
//!
//! This module knows byte strings and nothing else: not entries, not policies, not where the salt comes from
//! (the caller gives it, so that encoding is a function and can be tested against published vectors).
//! It refuses to guess: a stored value that names a scheme it cannot check matches no password.

mod argon;
mod crypt;
mod digest;
mod generate;
mod pbkdf;
mod same;
mod scram;

#[cfg(test)]
mod tests;

pub use generate::{GENERATED_LENGTH, generate};
pub use scram::{ScramHash, ScramKeys, prepare};

use same::same;

/// Longest clear password that is hashed. Some schemes cost time in proportion to the length, so that it must end
/// somewhere.
pub const PASSWORD_BYTES_MAX: usize = 4096;

/// Rounds of a new SCRAM value (OpenDJ's `scram-iterations`).
const SCRAM_ITERATIONS: u32 = 10_000;

/// How a password is stored; names and prefixes are OpenDJ's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// As it is.
    Clear,
    /// As it is, in base64.
    Base64,
    /// MD5 without salt.
    Md5,
    /// MD5 with salt.
    SaltedMd5,
    /// SHA-1 without salt.
    Sha1,
    /// SHA-1 with salt.
    SaltedSha1,
    /// SHA-256 without salt.
    Sha256,
    /// SHA-384 without salt.
    Sha384,
    /// SHA-512 without salt.
    Sha512,
    /// SHA-256 with salt.
    SaltedSha256,
    /// SHA-384 with salt.
    SaltedSha384,
    /// SHA-512 with salt: what new passwords get unless the configuration says otherwise.
    SaltedSha512,
    /// PBKDF2 with HMAC-SHA-1.
    Pbkdf2,
    /// PBKDF2 with HMAC-SHA-256.
    Pbkdf2HmacSha256,
    /// PBKDF2 with HMAC-SHA-512.
    Pbkdf2HmacSha512,
    /// Atlassian's PBKDF2 form.
    Pkcs5s2,
    /// Blowfish crypt.
    Bcrypt,
    /// crypt(3); new values are SHA-512 crypt.
    Crypt,
    /// Argon2id as OpenLDAP writes it.
    Argon2,
    /// Keys for SCRAM-SHA-1.
    ScramSha1,
    /// Keys for SCRAM-SHA-256.
    ScramSha256,
    /// Keys for SCRAM-SHA-512.
    ScramSha512,
}

/// (scheme, name in the configuration, prefix, bytes of salt, deliberately slow).
const SCHEMES: [(Scheme, &str, &str, usize, bool); 22] = [
    (Scheme::Clear, "Clear", "CLEAR", 0, false),
    (Scheme::Base64, "Base64", "BASE64", 0, false),
    (Scheme::Md5, "MD5", "MD5", 0, false),
    (Scheme::SaltedMd5, "Salted MD5", "SMD5", 8, false),
    (Scheme::Sha1, "SHA-1", "SHA", 0, false),
    (Scheme::SaltedSha1, "Salted SHA-1", "SSHA", 8, false),
    (Scheme::Sha256, "SHA-256", "SHA256", 0, false),
    (Scheme::Sha384, "SHA-384", "SHA384", 0, false),
    (Scheme::Sha512, "SHA-512", "SHA512", 0, false),
    (Scheme::SaltedSha256, "Salted SHA-256", "SSHA256", 8, false),
    (Scheme::SaltedSha384, "Salted SHA-384", "SSHA384", 8, false),
    (Scheme::SaltedSha512, "Salted SHA-512", "SSHA512", 8, false),
    (Scheme::Pbkdf2, "PBKDF2", "PBKDF2", 8, true),
    (Scheme::Pbkdf2HmacSha256, "PBKDF2-HMAC-SHA256", "PBKDF2-HMAC-SHA256", 16, true),
    (Scheme::Pbkdf2HmacSha512, "PBKDF2-HMAC-SHA512", "PBKDF2-HMAC-SHA512", 16, true),
    (Scheme::Pkcs5s2, "PKCS5S2", "PKCS5S2", 16, true),
    (Scheme::Bcrypt, "Bcrypt", "BCRYPT", 16, true),
    (Scheme::Crypt, "CRYPT", "CRYPT", 12, true),
    (Scheme::Argon2, "Argon2", "ARGON2", 16, true),
    (Scheme::ScramSha1, "SCRAM-SHA-1", "SCRAM-SHA-1", 16, true),
    (Scheme::ScramSha256, "SCRAM-SHA-256", "SCRAM-SHA-256", 16, true),
    (Scheme::ScramSha512, "SCRAM-SHA-512", "SCRAM-SHA-512", 16, true),
];

/// Prefixes that other servers write and that are read here, beside those of [`SCHEMES`].
const READ_ONLY_PREFIXES: [(&str, bool); 7] = [
    ("CLEARTEXT", false),
    ("PBKDF2-SHA1", true),
    ("PBKDF2-SHA256", true),
    ("PBKDF2_SHA256", true),
    ("PBKDF2-SHA512", true),
    ("CRYPT-MD5", true),
    ("CRYPT-SHA256", true),
];

/// Prefixes that mark a value as encoded although it cannot be checked here. Taking such a value for a clear password
/// would let whoever reads the stored value log in with it.
const UNREADABLE_PREFIXES: [&str; 9] =
    ["3DES", "AES", "BLOWFISH", "RC4", "SASL", "KERBEROS", "SCRYPT", "NS-MTA-MD5", "GOST_YESCRYPT"];

impl Scheme {
    /// Every scheme, in the order the documentation lists them.
    pub fn all() -> impl Iterator<Item = Scheme> {
        SCHEMES.iter().map(|row| row.0)
    }

    /// The scheme of that configuration name (`Salted SHA-512`) or prefix (`SSHA512`), in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Scheme> {
        SCHEMES.iter().find(|row| row.1.eq_ignore_ascii_case(name) || row.2.eq_ignore_ascii_case(name)).map(|row| row.0)
    }

    /// The name that the configuration uses.
    #[must_use]
    pub fn config_name(self) -> &'static str {
        self.row().1
    }

    /// What stands between the braces.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        self.row().2
    }

    /// How many random bytes [`encode`] wants.
    #[must_use]
    pub fn salt_bytes(self) -> usize {
        self.row().3
    }

    /// Whether hashing takes so long that it belongs on a pool.
    #[must_use]
    pub fn is_slow(self) -> bool {
        self.row().4
    }

    fn row(self) -> &'static (Scheme, &'static str, &'static str, usize, bool) {
        // The table is in the order of the enum (a test holds it to that).
        SCHEMES.get(self as usize).unwrap_or(&SCHEMES[0])
    }
}

/// Whether `clear` is the password that `stored` was made from. The comparison takes the same time wherever the two
/// differ.
#[must_use]
pub fn verify(stored: &[u8], clear: &[u8]) -> bool {
    if clear.len() > PASSWORD_BYTES_MAX {
        return false;
    }
    let Some((name, rest)) = split(stored) else {
        return same(stored, clear);
    };
    let is = |candidate: &str| name.eq_ignore_ascii_case(candidate.as_bytes());
    if let Some(scheme) = digest::Digest::from_prefix(name) {
        return scheme.verify(rest, clear);
    }
    if let Some(family) = pbkdf::Family::from_prefix(name) {
        return family.verify(rest, clear);
    }
    if let Some(hash) = ScramHash::from_prefix(name) {
        return ScramKeys::from_body(hash, rest).is_some_and(|keys| keys.verify(clear));
    }
    if is("CLEAR") || is("CLEARTEXT") {
        same(rest, clear)
    } else if is("BASE64") {
        let mut buffer = zeroize::Zeroizing::new([0u8; PASSWORD_BYTES_MAX]);
        digest::decode_base64(rest, &mut buffer[..]).is_some_and(|plain| same(plain, clear))
    } else if is("ARGON2") {
        argon::verify(rest, clear)
    } else if is("BCRYPT") || is("CRYPT") || has_prefix(name, "CRYPT-") {
        crypt::verify(rest, clear)
    } else {
        false
    }
}

/// The keys that a SCRAM mechanism with this hash needs, if `stored` has them.
#[must_use]
pub fn scram_keys(stored: &[u8], hash: ScramHash) -> Option<ScramKeys> {
    let (name, body) = split(stored)?;
    name.eq_ignore_ascii_case(hash.mechanism().as_bytes()).then(|| ScramKeys::from_body(hash, body)).flatten()
}

/// Whether verifying against `stored` takes so long (milliseconds) that it belongs on a pool.
#[must_use]
pub fn is_slow(stored: &[u8]) -> bool {
    split(stored).is_some_and(|(name, _)| {
        SCHEMES.iter().any(|row| row.4 && name.eq_ignore_ascii_case(row.2.as_bytes()))
            || READ_ONLY_PREFIXES.iter().any(|row| row.1 && name.eq_ignore_ascii_case(row.0.as_bytes()))
            || has_prefix(name, "CRYPT-")
    })
}

/// Whether a value is in stored form: it begins with a scheme's name in braces. Anything else is a clear password.
#[must_use]
pub fn is_encoded(value: &[u8]) -> bool {
    split(value).is_some()
}

/// The clear password in a value from which it can be read: one that is not encoded, or encoded with a scheme that
/// hides nothing.
#[must_use]
pub fn clear_text(value: &[u8]) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    let Some((name, rest)) = split(value) else { return Some(value.to_vec().into()) };
    let is = |candidate: &str| name.eq_ignore_ascii_case(candidate.as_bytes());
    if is("CLEAR") || is("CLEARTEXT") {
        return Some(rest.to_vec().into());
    }
    let mut buffer = zeroize::Zeroizing::new([0u8; PASSWORD_BYTES_MAX]);
    let plain = is("BASE64").then(|| digest::decode_base64(rest, &mut buffer[..])).flatten();
    plain.map(|plain| plain.to_vec().into())
}

/// The stored form of `clear`. `salt` has [`Scheme::salt_bytes`] random bytes; `None` if it has not, or if the password
/// is empty or longer than [`PASSWORD_BYTES_MAX`].
#[must_use]
pub fn encode(scheme: Scheme, clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    if salt.len() != scheme.salt_bytes() || clear.is_empty() || clear.len() > PASSWORD_BYTES_MAX {
        return None;
    }
    let body = match scheme {
        Scheme::Clear => clear.to_vec(),
        Scheme::Base64 => digest::encode_base64(clear),
        Scheme::Pbkdf2 => pbkdf::Family::Sha1.encode(clear, salt),
        Scheme::Pbkdf2HmacSha256 => pbkdf::Family::Sha256.encode(clear, salt),
        Scheme::Pbkdf2HmacSha512 => pbkdf::Family::Sha512.encode(clear, salt),
        Scheme::Pkcs5s2 => pbkdf::Family::Atlassian.encode(clear, salt),
        Scheme::Bcrypt => crypt::encode_bcrypt(clear, salt)?,
        Scheme::Crypt => crypt::encode_sha512(clear, salt)?,
        Scheme::Argon2 => argon::encode(clear, salt)?,
        Scheme::ScramSha1 | Scheme::ScramSha256 | Scheme::ScramSha512 => {
            let hash = ScramHash::from_prefix(scheme.prefix().as_bytes())?;
            ScramKeys::of_password(hash, clear, salt, SCRAM_ITERATIONS).to_body()
        }
        _ => digest::Digest::from_prefix(scheme.prefix().as_bytes())?.encode(clear, salt),
    };
    let mut stored = Vec::with_capacity(scheme.prefix().len() + 2 + body.len());
    stored.push(b'{');
    stored.extend_from_slice(scheme.prefix().as_bytes());
    stored.push(b'}');
    stored.extend_from_slice(&body);
    Some(stored)
}

/// [`encode`] with a salt from the operating system.
///
/// # Errors
/// When the system has no randomness to give, or the password is empty or too long.
pub fn encode_random(scheme: Scheme, clear: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut salt = [0u8; 16];
    let salt = &mut salt[..scheme.salt_bytes().min(16)];
    getrandom::fill(salt).map_err(|_| EncodeError::NoRandomness)?;
    encode(scheme, clear, salt).ok_or(EncodeError::Length)
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

/// `{NAME}rest`, when NAME is a scheme of ours or one known elsewhere.
fn split(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = value.strip_prefix(b"{")?;
    let end = inner.iter().take(24).position(|&byte| byte == b'}')?;
    let (name, rest) = (inner.get(..end)?, inner.get(end + 1..)?);
    let known = SCHEMES.iter().any(|row| name.eq_ignore_ascii_case(row.2.as_bytes()))
        || READ_ONLY_PREFIXES.iter().any(|row| name.eq_ignore_ascii_case(row.0.as_bytes()))
        || UNREADABLE_PREFIXES.iter().any(|prefix| name.eq_ignore_ascii_case(prefix.as_bytes()))
        || has_prefix(name, "CRYPT-");
    known.then_some((name, rest))
}

fn has_prefix(name: &[u8], prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}
