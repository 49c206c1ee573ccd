//! New stored values, and values that only take as long as real ones.

use super::digest::{Digest, encode_base64};
use super::fault::EncodeError;
use super::limits::PASSWORD_BYTES_MAX;
use super::parameters::Parameters;
use super::pbkdf::Family;
use super::random::Random;
use super::scheme::Scheme;
use super::scram::{ScramHash, ScramKeys};
use super::{argon, crypt};

/// The stored form of `clear`. `salt` has [`Scheme::salt_bytes`] random bytes; `None` if it has not, or if the password
/// is empty or longer than [`PASSWORD_BYTES_MAX`].
#[must_use]
pub fn encode(scheme: Scheme, parameters: &Parameters, clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    if salt.len() != scheme.salt_bytes() || clear.is_empty() || clear.len() > PASSWORD_BYTES_MAX {
        return None;
    }
    let rounds = parameters.iterations(scheme);
    let body = match Maker::of(scheme) {
        Maker::Clear => clear.to_vec(),
        Maker::Base64 => encode_base64(clear),
        Maker::Digest(digest) => digest.encode(clear, salt),
        Maker::Pbkdf2(family) => family.encode(clear, salt, rounds),
        Maker::Bcrypt => crypt::encode_bcrypt(clear, salt, parameters.bcrypt_cost())?,
        Maker::Crypt => crypt::encode(parameters.crypt(), clear, salt)?,
        Maker::Argon2 => argon::encode(parameters.argon2(), clear, salt)?,
        Maker::Scram(hash) => ScramKeys::of_password(hash, clear, salt, rounds).to_body(),
    };
    Some(with_prefix(scheme, &body))
}

/// [`encode`] with a salt from the operating system.
///
/// # Errors
/// When the system has no randomness to give, or the password is empty or too long.
pub fn encode_random(scheme: Scheme, parameters: &Parameters, clear: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut salt = [0u8; 16];
    let salt = &mut salt[..scheme.salt_bytes().min(16)];
    getrandom::fill(salt).map_err(|_| EncodeError::NoRandomness)?;
    encode(scheme, parameters, clear, salt).ok_or(EncodeError::Length)
}

/// A stored value that takes as long to verify as a new one of this scheme, and that no known password matches: to be
/// verified against where there is no account, so that the time does not tell. It is made without hashing. Keep one as
/// long as scheme and parameters stay the same.
///
/// # Errors
/// When the system has no randomness to give.
pub fn decoy(scheme: Scheme, parameters: &Parameters) -> Result<Vec<u8>, EncodeError> {
    let mut random: Random = [0; 128];
    getrandom::fill(&mut random).map_err(|_| EncodeError::NoRandomness)?;
    let (rounds, salt_bytes) = (parameters.iterations(scheme), scheme.salt_bytes());
    let body = match Maker::of(scheme) {
        Maker::Clear => encode_base64(&random[..12]),
        Maker::Base64 => encode_base64(&encode_base64(&random[..12])),
        Maker::Digest(digest) => digest.decoy(&random, salt_bytes),
        Maker::Pbkdf2(family) => family.decoy(&random, salt_bytes, rounds),
        Maker::Bcrypt => crypt::decoy_bcrypt(&random, parameters.bcrypt_cost()),
        Maker::Crypt => crypt::decoy(parameters.crypt(), &random),
        Maker::Argon2 => argon::decoy(parameters.argon2(), &random),
        Maker::Scram(hash) => ScramKeys::decoy(hash, &random, rounds).to_body(),
    };
    Ok(with_prefix(scheme, &body))
}

/// What makes the values of a scheme.
enum Maker {
    Clear,
    Base64,
    Digest(Digest),
    Pbkdf2(Family),
    Bcrypt,
    Crypt,
    Argon2,
    Scram(ScramHash),
}

impl Maker {
    fn of(scheme: Scheme) -> Maker {
        match scheme {
            Scheme::Clear => Maker::Clear,
            Scheme::Base64 => Maker::Base64,
            Scheme::Md5 | Scheme::SaltedMd5 => Maker::Digest(Digest::Md5),
            Scheme::Sha1 | Scheme::SaltedSha1 => Maker::Digest(Digest::Sha1),
            Scheme::Sha256 | Scheme::SaltedSha256 => Maker::Digest(Digest::Sha256),
            Scheme::Sha384 | Scheme::SaltedSha384 => Maker::Digest(Digest::Sha384),
            Scheme::Sha512 | Scheme::SaltedSha512 => Maker::Digest(Digest::Sha512),
            Scheme::Pbkdf2 => Maker::Pbkdf2(Family::Sha1),
            Scheme::Pbkdf2HmacSha256 => Maker::Pbkdf2(Family::Sha256),
            Scheme::Pbkdf2HmacSha512 => Maker::Pbkdf2(Family::Sha512),
            Scheme::Pkcs5s2 => Maker::Pbkdf2(Family::Atlassian),
            Scheme::Bcrypt => Maker::Bcrypt,
            Scheme::Crypt => Maker::Crypt,
            Scheme::Argon2 => Maker::Argon2,
            Scheme::ScramSha1 => Maker::Scram(ScramHash::Sha1),
            Scheme::ScramSha256 => Maker::Scram(ScramHash::Sha256),
            Scheme::ScramSha512 => Maker::Scram(ScramHash::Sha512),
        }
    }
}

fn with_prefix(scheme: Scheme, body: &[u8]) -> Vec<u8> {
    [b"{", scheme.prefix().as_bytes(), b"}", body].concat()
}
