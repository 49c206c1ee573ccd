//! What a backup says of how it is sealed. Knows no keys.

use serde::{Deserialize, Serialize};

/// How a backup is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// From what its owner gives to a key.
    pub derivation: Derivation,
    /// For keys of this backup alone.
    pub salt: String,
    /// Whether the parts are encrypted; signed it is in any case.
    pub encrypts: bool,
}

/// From what its owner gives to a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Derivation {
    /// A key file.
    File,
    /// A passphrase.
    Argon2id {
        /// Its salt.
        salt: String,
        /// Memory.
        memory_kib: u32,
        /// Passes.
        passes: u32,
        /// Lanes.
        lanes: u32,
    },
}
