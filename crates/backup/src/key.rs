//! What backups are sealed with: a key file, or a passphrase through Argon2id. Each backup has keys of its own, derived
//! with a random salt, so the numbers of its parts are nonces that never come twice.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::error::BackupError;
use crate::seal::{Derivation, Seal};

/// Least bytes of a key file.
const FILE_BYTES_MIN: usize = 32;
/// Least characters of a passphrase.
const PASSPHRASE_MIN: usize = 12;
/// Argon2id of new passphrase keys: memory in KiB, passes, lanes.
const ARGON2: (u32, u32, u32) = (64 << 10, 3, 1);
/// The most that a manifest may ask for.
const ARGON2_MAX: (u32, u32, u32) = (1 << 20, 16, 8);
/// Bytes of salts and keys.
const KEY_BYTES: usize = 32;

/// What its owner gives.
pub struct Key {
    given: Given,
    /// Whether backups that nothing seals are refused.
    pub(crate) is_demanded: bool,
    /// Keys from passphrases by their salt: one takes a tenth of a second.
    derived: Mutex<HashMap<[u8; KEY_BYTES], Zeroizing<[u8; KEY_BYTES]>>>,
}

enum Given {
    File(Zeroizing<Vec<u8>>),
    Passphrase(Zeroizing<String>),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// The content of a key file; blanks around it do not count.
    ///
    /// # Errors
    /// When it is too short to be a key.
    pub fn of_file(content: &[u8]) -> Result<Key, BackupError> {
        let content = Zeroizing::new(content.trim_ascii().to_vec());
        if content.len() < FILE_BYTES_MIN {
            let told = format!("the key file has {} bytes; a key has {FILE_BYTES_MIN} at least", content.len());
            return Err(BackupError::Key(told));
        }
        Ok(Key { given: Given::File(content), is_demanded: true, derived: Mutex::default() })
    }

    /// A passphrase.
    ///
    /// # Errors
    /// When it is too short.
    pub fn of_passphrase(text: Zeroizing<String>) -> Result<Key, BackupError> {
        if text.chars().count() < PASSPHRASE_MIN {
            let told = format!("the passphrase is too short: give {PASSPHRASE_MIN} characters or more");
            return Err(BackupError::Key(told));
        }
        Ok(Key { given: Given::Passphrase(text), is_demanded: true, derived: Mutex::default() })
    }

    /// The same key, tried only where a backup says that it is sealed.
    #[must_use]
    pub fn where_needed(self) -> Key {
        Key { is_demanded: false, ..self }
    }

    /// The content of a new key file.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Zeroizing<String>, BackupError> {
        let bytes = Zeroizing::new(random::<KEY_BYTES>()?);
        Ok(Zeroizing::new(format!("{}\n", data_encoding::BASE64.encode(&*bytes))))
    }

    /// How a new backup is sealed.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new_seal(&self, encrypts: bool) -> Result<Seal, BackupError> {
        let derivation = match &self.given {
            Given::File(_) => Derivation::File,
            Given::Passphrase(_) => {
                // One derivation serves for all backups of a run.
                let known = self.derived.lock().unwrap_or_else(PoisonError::into_inner).keys().next().copied();
                let salt = known.map_or_else(random, Ok)?;
                let (memory_kib, passes, lanes) = ARGON2;
                Derivation::Argon2id { salt: hex(&salt), memory_kib, passes, lanes }
            }
        };
        Ok(Seal { derivation, salt: hex(&random::<KEY_BYTES>()?), encrypts })
    }

    /// The keys of the backup that says it is sealed so.
    ///
    /// # Errors
    /// When what it says is not possible.
    pub fn keys(&self, backup: &str, seal: &Seal) -> Result<SealKeys, BackupError> {
        let wrong = || BackupError::WrongKey { backup: backup.to_owned() };
        let salt: [u8; KEY_BYTES] = unhex(&seal.salt).ok_or_else(wrong)?;
        let own = match (&self.given, &seal.derivation) {
            (Given::File(content), Derivation::File) => content.clone(),
            (Given::Passphrase(text), Derivation::Argon2id { salt, memory_kib, passes, lanes }) => {
                let salt = unhex(salt).ok_or_else(wrong)?;
                Zeroizing::new(self.argon2(text, salt, (*memory_kib, *passes, *lanes)).ok_or_else(wrong)?.to_vec())
            }
            (Given::File(_), _) => {
                return Err(BackupError::KeyNeeded { backup: backup.to_owned(), option: "--passphraseFile" });
            }
            (Given::Passphrase(_), _) => {
                return Err(BackupError::KeyNeeded { backup: backup.to_owned(), option: "--keyFile" });
            }
        };
        let expanded = Salt::new(HKDF_SHA256, &salt).extract(&own);
        let part = |purpose: &[u8]| -> Option<Zeroizing<[u8; KEY_BYTES]>> {
            let mut key = Zeroizing::new([0; KEY_BYTES]);
            expanded.expand(&[purpose], KeyBytes).ok()?.fill(&mut *key).ok()?;
            Some(key)
        };
        let failed = BackupError::Internal("the key of the backup cannot be derived");
        let (Some(parts), Some(manifest)) = (part(b"pando backup parts"), part(b"pando backup manifest")) else {
            return Err(failed);
        };
        let parts = UnboundKey::new(&AES_256_GCM, &*parts).map_err(|_| failed)?;
        let parts = seal.encrypts.then(|| LessSafeKey::new(parts));
        Ok(SealKeys { parts, manifest: hmac::Key::new(hmac::HMAC_SHA256, &*manifest) })
    }

    fn argon2(&self, text: &str, salt: [u8; KEY_BYTES], costs: (u32, u32, u32)) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = derived.get(&salt) {
            return Some(key.clone());
        }
        let (memory_kib, passes, lanes) = costs;
        if memory_kib > ARGON2_MAX.0 || passes > ARGON2_MAX.1 || lanes > ARGON2_MAX.2 {
            return None;
        }
        let params = Params::new(memory_kib, passes, lanes, Some(KEY_BYTES)).ok()?;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(text.as_bytes(), &salt, &mut *key).ok()?;
        derived.insert(salt, key.clone());
        Some(key)
    }
}

/// What HKDF is asked for.
struct KeyBytes;

impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

/// The keys of one backup.
pub struct SealKeys {
    parts: Option<LessSafeKey>,
    manifest: hmac::Key,
}

impl SealKeys {
    /// Encrypts a part, if the backup is encrypted.
    pub(crate) fn seal(&self, part: u32, bytes: &mut Vec<u8>) -> Result<(), BackupError> {
        let Some(key) = &self.parts else { return Ok(()) };
        let sealed = key.seal_in_place_append_tag(nonce(part), Aad::empty(), bytes);
        sealed.map_err(|_| BackupError::Internal("a part cannot be encrypted"))
    }

    /// Decrypts a part; `None` when it is not what was sealed.
    pub(crate) fn open(&self, part: u32, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let Some(key) = &self.parts else { return Some(bytes) };
        let length = key.open_in_place(nonce(part), Aad::empty(), &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }

    pub(crate) fn sign(&self, manifest: &[u8]) -> String {
        hex(hmac::sign(&self.manifest, manifest).as_ref())
    }

    pub(crate) fn is_signed(&self, manifest: &[u8], signature: &str) -> bool {
        let signature = data_encoding::HEXLOWER.decode(signature.as_bytes()).unwrap_or_default();
        hmac::verify(&self.manifest, manifest, &signature).is_ok()
    }
}

fn nonce(part: u32) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    if let Some(end) = bytes.last_chunk_mut::<4>() {
        *end = part.to_be_bytes();
    }
    Nonce::assume_unique_for_key(bytes)
}

fn random<const N: usize>() -> Result<[u8; N], BackupError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| BackupError::Internal("the system gives no random bytes"))?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    data_encoding::HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
