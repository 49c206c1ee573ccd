//! Keys of confidential indexes: a keyed hash stands for each normal form, so that the database file shows no value.
//!
//! Protected are keys on disk of indexes with `confidentiality-enabled`: the database file without the secret shows no
//! values and allows no guesses; it shows which entries share a value, and how many. Not protected are entry records
//! and the log, which hold entries in clear, and memory. A hash has no order: ranges, prefixes and short substrings
//! find nothing here.
//!
//! The caller keeps the secret.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a secret.
pub const SECRET_BYTES: usize = 32;

/// Bytes of a key: half of the hash. Two values with the same hash are expected among 2^64 values of an index; the
/// entry decides then.
pub const HASHED_KEY_BYTES: usize = 16;

/// What keys are hashed with: HMAC-SHA-256, prepared once.
#[derive(Clone)]
pub struct IndexSecret {
    mac: Arc<Hmac<Sha256>>,
    fingerprint: Arc<str>,
}

impl IndexSecret {
    /// Takes the secret.
    #[must_use]
    pub fn new(secret: &[u8; SECRET_BYTES]) -> Self {
        // HMAC fills keys up to its block with zeros.
        let mut key = [0; 64];
        key.iter_mut().zip(secret).for_each(|(place, byte)| *place = *byte);
        let mac = <Hmac<Sha256> as KeyInit>::new(&key.into());
        let mut named = mac.clone();
        named.update(b"name of this secret");
        let fingerprint =
            named.finalize().into_bytes().iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { mac: Arc::new(mac), fingerprint: fingerprint.into() }
    }

    /// Identifies the secret without revealing anything of it.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The key that stands for `key` in the index of that name: equal values have different keys in different indexes.
    #[must_use]
    pub fn hashed(&self, index: &str, key: &[u8]) -> [u8; HASHED_KEY_BYTES] {
        let mut mac = Hmac::clone(&self.mac);
        mac.update(index.as_bytes());
        mac.update(&[0]);
        mac.update(key);
        let mut out = [0; HASHED_KEY_BYTES];
        out.iter_mut().zip(mac.finalize().into_bytes()).for_each(|(out, byte)| *out = byte);
        out
    }
}

impl fmt::Debug for IndexSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "IndexSecret({})", self.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_depend_on_secret_index_and_value() {
        let (one, two) = (IndexSecret::new(&[1; SECRET_BYTES]), IndexSecret::new(&[2; SECRET_BYTES]));
        let key = one.hashed("mail.caseIgnoreIA5Match:hash", b"ann@example.com");
        assert_eq!(key, one.hashed("mail.caseIgnoreIA5Match:hash", b"ann@example.com"));
        assert_ne!(key, two.hashed("mail.caseIgnoreIA5Match:hash", b"ann@example.com"));
        assert_ne!(key, one.hashed("mail.caseIgnoreIA5Match:hash", b"bob@example.com"));
        assert_ne!(key, one.hashed("cn.caseIgnoreMatch:hash", b"ann@example.com"));
        assert_ne!(one.fingerprint(), two.fingerprint());
        assert_eq!(format!("{one:?}"), format!("IndexSecret({})", one.fingerprint()));
    }
}
