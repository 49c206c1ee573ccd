//! What a backup says of itself: JSON on one line, and below it a hash of that line, or its signature by the backup's
//! key. It is stored last: a backup without manifest is none.

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::error::BackupError;
use crate::key::{Key, SealKeys, hex, unhex};
use crate::seal::{Derivation, Seal};

/// Format of backups.
pub const FORMAT: u32 = 1;
/// Largest manifest that is read: some hundred bytes a part, 16 MiB each.
pub(crate) const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`] when it was made.
    pub format: u32,
    /// Version of the program that made it.
    pub program: String,
    /// Its name.
    pub id: String,
    /// The backend.
    pub backend: String,
    /// The backend's base DNs.
    pub base_dns: Vec<String>,
    /// Full or not.
    pub kind: Kind,
    /// Identity of the data, in hexadecimal digits.
    pub data: String,
    /// Format of the database.
    pub database_format: u32,
    /// Version of the rules by which its records were made.
    pub rules: u32,
    /// The backup before, of an incremental one.
    pub base: Option<String>,
    /// The first change that it has as a record. In a full one, the changes before are in the copy.
    pub first_change: u64,
    /// The last change that it has.
    pub last_change: u64,
    /// Digest of the record before the first, if it was known: the records follow on no others.
    pub digest_before: Option<String>,
    /// Digest of the last record; none when there is no record.
    pub digest: Option<String>,
    /// Everything acknowledged up to this time is in it, or in the ones before: microseconds since 1970.
    pub until_us: u64,
    /// Nothing that was made after this time is in it: microseconds since 1970.
    pub within_us: u64,
    /// When it was completed, in microseconds since 1970.
    pub made_us: u64,
    /// How it is sealed, if it is.
    pub seal: Option<Seal>,
    /// Its parts, in order.
    pub parts: Vec<PartEntry>,
}

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The whole backend.
    Full,
    /// The changes since another one.
    Incremental,
    /// The same, made by the archiving of a running server.
    Archived,
}

impl Kind {
    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Kind::Full => "full",
            Kind::Incremental => "incremental",
            Kind::Archived => "archived",
        }
    }
}

/// A part of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEntry {
    /// What it is a piece of.
    pub stream: Stream,
    /// Bytes before compression.
    pub plain: u64,
    /// Bytes as stored.
    pub stored: u64,
    /// SHA-256 of the bytes as stored, in hexadecimal digits.
    pub sha256: String,
}

/// What parts are pieces of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Files of the instance.
    Files,
    /// Records of the log.
    Records,
    /// The copy of the database.
    Database,
}

impl Manifest {
    /// Identity of the data.
    pub(crate) fn data(&self) -> Option<[u8; 16]> {
        unhex(&self.data)
    }

    /// Bytes as stored, the manifest left out.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.stored).sum()
    }

    /// Bytes of a stream before compression.
    #[must_use]
    pub fn plain_bytes(&self, stream: Stream) -> u64 {
        self.parts.iter().filter(|part| part.stream == stream).map(|part| part.plain).sum()
    }

    /// Whether its parts can be read by their owner only.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.encrypts)
    }

    pub(crate) fn write(&self, keys: Option<&SealKeys>) -> Result<Vec<u8>, BackupError> {
        let json = serde_json::to_string(self).map_err(|_| BackupError::Internal("the manifest cannot be written"))?;
        let proof = match keys {
            Some(keys) => format!("hmac-sha256 {}", keys.sign(json.as_bytes())),
            None => format!("sha256 {}", sha256(json.as_bytes())),
        };
        Ok(format!("{json}\n{proof}\n").into_bytes())
    }

    /// Reads a manifest for a list: without a key its signature proves nothing.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Sealed, BackupError> {
        let damaged = || BackupError::damaged(name, "its manifest cannot be read");
        let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
        let (json, proof) = text.split_once('\n').ok_or_else(damaged)?;
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let Format { format } = serde_json::from_str(json).map_err(|_| damaged())?;
        if format > FORMAT {
            return Err(BackupError::Newer { backup: name.to_owned(), found: format, ours: FORMAT });
        }
        let manifest: Manifest = serde_json::from_str(json).map_err(|_| damaged())?;
        let (method, proof) = proof.trim_end().split_once(' ').ok_or_else(damaged)?;
        let is_right = match (method, &manifest.seal) {
            ("sha256", None) => proof == sha256(json.as_bytes()),
            ("hmac-sha256", Some(_)) => true,
            _ => false,
        };
        if !is_right || manifest.first_change > manifest.last_change.saturating_add(1) {
            return Err(damaged());
        }
        Ok(Sealed { manifest, json: json.to_owned(), proof: proof.to_owned() })
    }
}

/// A manifest that was read, and what proves it.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// What it says.
    pub manifest: Manifest,
    json: String,
    proof: String,
}

impl Sealed {
    /// The keys of the backup, when its signature is right; none when it has none and no key is given.
    ///
    /// # Errors
    /// When the key does not fit.
    pub(crate) fn keys(&self, key: Option<&Key>) -> Result<Option<SealKeys>, BackupError> {
        let backup = &self.manifest.id;
        match (&self.manifest.seal, key) {
            (None, key) if !key.is_some_and(|key| key.is_demanded) => Ok(None),
            (None, _) => Err(BackupError::NotSealed { backup: backup.clone() }),
            (Some(seal), None) => {
                let option = match seal.derivation {
                    Derivation::File => "--keyFile",
                    Derivation::Argon2id { .. } => "--passphraseFile",
                };
                Err(BackupError::KeyNeeded { backup: backup.clone(), option })
            }
            (Some(seal), Some(key)) => {
                let keys = key.keys(backup, seal)?;
                if !keys.is_signed(self.json.as_bytes(), &self.proof) {
                    return Err(BackupError::WrongKey { backup: backup.clone() });
                }
                Ok(Some(keys))
            }
        }
    }
}

/// In hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}
