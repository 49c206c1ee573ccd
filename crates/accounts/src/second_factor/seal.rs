//! Secrets of tokens, encrypted by the instance's key: AES-256-GCM. A sealed secret belongs to one entry and one token;
//! elsewhere it cannot be opened.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

/// Bytes of a new secret: as many as SHA-1 gives (RFC 4226 §4 asks for 16 and recommends 20).
pub const SECRET_BYTES: usize = 20;

/// Most bytes of a sealed secret.
pub const SEALED_BYTES_MAX: usize = 256;

/// What secrets are sealed with.
pub struct SealKey(LessSafeKey);

/// Why a secret is not sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Sealed by another key, for another token, or damaged.
    #[error("the secret was sealed by another instance's key, for another entry, or is damaged")]
    Foreign,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
    /// The cipher refuses its input.
    #[error("the secret cannot be encrypted")]
    Cipher,
}

impl SealKey {
    /// Takes a key of 32 random bytes.
    ///
    /// # Errors
    /// When the cipher refuses it.
    pub fn new(key: &[u8; 32]) -> Result<SealKey, SealError> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| SealError::Cipher)?;
        Ok(SealKey(LessSafeKey::new(key)))
    }

    /// Seals a secret for the token `token` of the entry with that entryUUID.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn seal(&self, secret: &[u8], entry_uuid: &[u8; 16], token: &str) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        let mut sealed = secret.to_vec();
        let bound = Aad::from(bound_to(entry_uuid, token));
        let done = self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut sealed);
        done.map_err(|_| SealError::Cipher)?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Opens what [`SealKey::seal`] made.
    ///
    /// # Errors
    /// When it is not what this key sealed for this token.
    pub fn open(&self, sealed: &[u8], entry_uuid: &[u8; 16], token: &str) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(SealError::Foreign)?;
        let mut body = Zeroizing::new(body.to_vec());
        let bound = Aad::from(bound_to(entry_uuid, token));
        let opened = self.0.open_in_place(Nonce::assume_unique_for_key(*nonce), bound, &mut body);
        let length = opened.map_err(|_| SealError::Foreign)?.len();
        body.truncate(length);
        Ok(body)
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(..)")
    }
}

fn bound_to(entry_uuid: &[u8; 16], token: &str) -> Vec<u8> {
    [&entry_uuid[..], token.as_bytes()].concat()
}
