//! A name and a password that somebody claims to belong together, and the keyed hash of the two.

use blake2::Blake2bMac;
use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, KeyInit, Update};
use subtle::ConstantTimeEq;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Who it is and what was given as the password.
#[derive(Clone, Copy)]
pub struct Claim<'a> {
    /// The entry's UUID.
    pub uuid: &'a [u8; 16],
    /// The values that the password is verified against, as stored.
    pub stored: &'a [Vec<u8>],
    /// When the password was changed last, in whatever form: only that it differs counts.
    pub changed: &'a [u8],
    /// The password that was given.
    pub password: &'a [u8],
}

/// The key of one process: [`KEY_BYTES`] random bytes, which the caller keeps in memory that is neither swapped nor
/// dumped.
pub struct MacKey(Box<dyn AsRef<[u8]> + Send + Sync>);

/// A key has another length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key for verified binds has {KEY_BYTES} bytes, not {found}")]
pub struct KeyLength {
    /// Bytes of what was given.
    pub found: usize,
}

/// The keyed hash of a claim.
#[derive(Clone, Copy, Eq)]
pub(super) struct Mac([u8; 16]);

impl MacKey {
    /// Takes a key.
    ///
    /// # Errors
    /// When it has not [`KEY_BYTES`] bytes.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<MacKey, KeyLength> {
        match bytes.as_ref().len() {
            KEY_BYTES => Ok(MacKey(Box::new(bytes))),
            found => Err(KeyLength { found }),
        }
    }

    /// The hash of a claim. Each part but the last is preceded by its length, so that no two claims read the same.
    pub(super) fn mac(&self, claim: &Claim<'_>) -> Mac {
        // The length was checked when the key was taken.
        let Ok(mut state) = Blake2bMac::<U16>::new_from_slice((*self.0).as_ref()) else { return Mac([0; 16]) };
        state.update(claim.uuid);
        state.update(&(claim.stored.len() as u64).to_le_bytes());
        for part in claim.stored.iter().map(Vec::as_slice).chain([claim.changed]) {
            state.update(&(part.len() as u64).to_le_bytes());
            state.update(part);
        }
        state.update(claim.password);
        Mac(state.finalize_fixed().into())
    }
}

/// In constant time.
impl PartialEq for Mac {
    fn eq(&self, other: &Mac) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::hash::Hash for Mac {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl std::fmt::Debug for MacKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MacKey")
    }
}
