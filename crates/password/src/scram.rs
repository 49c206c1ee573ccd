//! SCRAM keys (RFC 5802, RFC 7677) as stored values, in RFC 5803's form: `iterations:salt$StoredKey:ServerKey` under
//! `{SCRAM-SHA-1}`, `{SCRAM-SHA-256}` and `{SCRAM-SHA-512}`, as OpenDJ's descendants write it. Two more ways of writing
//! are read: RFC 5803's own, in which the mechanism's name and `$` stand before it, and Dovecot's, which has commas.
//!
//! A simple bind is verified against the stored key; a SASL mechanism asks for [`ScramKeys`]. Knows no SASL messages.

use std::borrow::Cow;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Digest as _;
use zeroize::{Zeroize, Zeroizing};

use super::digest::{decode_base64, encode_base64};
use super::fault::Unverifiable;
use super::limits::PBKDF2_ITERATIONS_MAX;
use super::random::Random;

/// Longest salt or key read. It bounds the stack buffers.
const PART_BYTES_MAX: usize = 128;

/// The hash function of a SCRAM mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScramHash {
    /// SCRAM-SHA-1.
    Sha1,
    /// SCRAM-SHA-256.
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

/// What a server keeps of a password to take part in SCRAM. It is no password, yet who has it can pretend to be the
/// server, so it is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramKeys {
    /// The mechanism's hash function.
    pub hash: ScramHash,
    /// Rounds of the key derivation.
    pub iterations: u32,
    /// Salt of the key derivation.
    pub salt: Vec<u8>,
    /// `H(HMAC(SaltedPassword, "Client Key"))`: a client's proof is checked with it.
    pub stored_key: Vec<u8>,
    /// `HMAC(SaltedPassword, "Server Key")`: the server's signature is made with it.
    pub server_key: Vec<u8>,
}

impl ScramHash {
    /// The mechanism without `-PLUS`, which is the prefix of stored values too.
    #[must_use]
    pub fn mechanism(self) -> &'static str {
        match self {
            ScramHash::Sha1 => "SCRAM-SHA-1",
            ScramHash::Sha256 => "SCRAM-SHA-256",
            ScramHash::Sha512 => "SCRAM-SHA-512",
        }
    }

    /// Bytes of a key.
    #[must_use]
    pub fn key_bytes(self) -> usize {
        match self {
            ScramHash::Sha1 => 20,
            ScramHash::Sha256 => 32,
            ScramHash::Sha512 => 64,
        }
    }

    /// `H(data)`.
    #[must_use]
    pub fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            ScramHash::Sha1 => sha1::Sha1::digest(data).to_vec(),
            ScramHash::Sha256 => sha2::Sha256::digest(data).to_vec(),
            ScramHash::Sha512 => sha2::Sha512::digest(data).to_vec(),
        }
    }

    /// `HMAC(key, data)`.
    #[must_use]
    pub fn hmac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        match self {
            ScramHash::Sha1 => keyed::<Hmac<sha1::Sha1>>(key, data),
            ScramHash::Sha256 => keyed::<Hmac<sha2::Sha256>>(key, data),
            ScramHash::Sha512 => keyed::<Hmac<sha2::Sha512>>(key, data),
        }
    }

    /// `Hi(password, salt, iterations)`: the key from which the others come, of a prepared password.
    #[must_use]
    pub fn salted_password(self, password: &[u8], salt: &[u8], iterations: u32) -> Zeroizing<Vec<u8>> {
        let mut key = Zeroizing::new(vec![0u8; self.key_bytes()]);
        match self {
            ScramHash::Sha1 => pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, iterations, &mut key),
            ScramHash::Sha256 => pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, iterations, &mut key),
            ScramHash::Sha512 => pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, iterations, &mut key),
        }
        key
    }

    fn stored_key(self, salted: &[u8]) -> Vec<u8> {
        self.digest(&Zeroizing::new(self.hmac(salted, b"Client Key")))
    }
}

impl ScramKeys {
    /// The keys of a clear password, which is prepared first ([`prepare`]).
    #[must_use]
    pub fn of_password(hash: ScramHash, clear: &[u8], salt: &[u8], iterations: u32) -> ScramKeys {
        let salted = hash.salted_password(&prepared_bytes(clear), salt, iterations);
        let (stored_key, server_key) = (hash.stored_key(&salted), hash.hmac(&salted, b"Server Key"));
        ScramKeys { hash, iterations, salt: salt.to_vec(), stored_key, server_key }
    }

    /// The keys in the body of a stored value, what follows its braces.
    pub(super) fn from_body(hash: ScramHash, body: &[u8]) -> Result<ScramKeys, Unverifiable> {
        let keys = ScramKeys::read(hash, body).ok_or(Unverifiable::Damaged)?;
        if keys.iterations > PBKDF2_ITERATIONS_MAX {
            return Err(Unverifiable::TooCostly);
        }
        Ok(keys)
    }

    fn read(hash: ScramHash, body: &[u8]) -> Option<ScramKeys> {
        let body = body.trim_ascii();
        let name_bytes = hash.mechanism().len();
        let body = match body.split_at_checked(name_bytes) {
            Some((name, rest)) if name.eq_ignore_ascii_case(hash.mechanism().as_bytes()) => rest.strip_prefix(b"$")?,
            _ => body,
        };
        let mut fields = body.split(|byte| matches!(byte, b':' | b'$' | b','));
        let iterations = std::str::from_utf8(fields.next()?).ok()?.trim().parse().ok()?;
        let mut part = || {
            let mut buffer = Zeroizing::new([0u8; PART_BYTES_MAX]);
            decode_base64(fields.next()?, &mut buffer[..]).map(<[u8]>::to_vec)
        };
        let keys = ScramKeys { hash, iterations, salt: part()?, stored_key: part()?, server_key: part()? };
        let is_whole = fields.next().is_none()
            && iterations > 0
            && !keys.salt.is_empty()
            && keys.stored_key.len() == hash.key_bytes()
            && keys.server_key.len() == hash.key_bytes();
        is_whole.then_some(keys)
    }

    /// Keys that cost what real ones cost, and that no known password has.
    pub(super) fn decoy(hash: ScramHash, random: &Random, iterations: u32) -> ScramKeys {
        let (salt, rest) = random.split_at(16);
        let stored_key = rest[..hash.key_bytes()].to_vec();
        ScramKeys { hash, iterations, salt: salt.to_vec(), server_key: stored_key.clone(), stored_key }
    }

    /// The body of a stored value.
    pub(super) fn to_body(&self) -> Vec<u8> {
        let mut body = self.iterations.to_string().into_bytes();
        for (separator, part) in [(b':', &self.salt), (b'$', &self.stored_key), (b':', &self.server_key)] {
            body.push(separator);
            body.extend_from_slice(&encode_base64(part));
        }
        body
    }

    /// Whether the keys were made from `clear`.
    #[must_use]
    pub fn verify(&self, clear: &[u8]) -> bool {
        let salted = self.hash.salted_password(&prepared_bytes(clear), &self.salt, self.iterations);
        super::same::same(&self.stored_key, &self.hash.stored_key(&salted))
    }
}

impl Drop for ScramKeys {
    fn drop(&mut self) {
        self.stored_key.zeroize();
        self.server_key.zeroize();
    }
}

impl std::fmt::Debug for ScramKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScramKeys").field("hash", &self.hash).field("iterations", &self.iterations).finish()
    }
}

/// SASLprep (RFC 4013) of a name or password; `None` if it has a character that SASLprep forbids or does not know (its
/// Unicode is 3.2), or nothing is left of it.
#[must_use]
pub fn prepare(text: &str) -> Option<Cow<'_, str>> {
    stringprep::saslprep(text).ok().filter(|prepared| !prepared.is_empty())
}

/// The bytes that are hashed. A password that SASLprep does not take is used as it is, as clients do that have newer
/// characters in theirs.
fn prepared_bytes(clear: &[u8]) -> Zeroizing<Vec<u8>> {
    let prepared = std::str::from_utf8(clear).ok().and_then(prepare);
    Zeroizing::new(prepared.map_or_else(|| clear.to_vec(), |prepared| prepared.into_owned().into_bytes()))
}

fn keyed<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
    // HMAC takes keys of every length.
    let Ok(mut mac) = M::new_from_slice(key) else { return Vec::new() };
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}
