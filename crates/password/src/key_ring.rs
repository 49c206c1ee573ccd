//! The keys of encrypted passwords: OpenDJ keeps them as `ds-cfg-cipher-key` entries in `cn=secret keys,cn=admin data`,
//! here they are lines of a file, `KEY-ID TRANSFORMATION KEY`, with the key in hexadecimal.
//!
//! Knows no stored values.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use zeroize::Zeroizing;

/// Most keys in a file; OpenDJ makes one for each scheme and each key that got compromised.
const KEYS_MAX: usize = 1000;

/// The ciphers that OpenDJ encrypts passwords with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// `AES/CFB/NoPadding`
    Aes,
    /// `DESede/CFB/NoPadding`
    TripleDes,
    /// `Blowfish/CFB/NoPadding`
    Blowfish,
    /// `RC4/NONE/NoPadding`
    Rc4,
}

/// `ds-cfg-key-id`: a UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; 16]);

/// The keys that the server has.
#[derive(Default)]
pub struct KeyRing {
    keys: Vec<Key>,
}

struct Key {
    id: KeyId,
    cipher: Cipher,
    bytes: Zeroizing<Vec<u8>>,
}

/// What is wrong with a file of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct KeyFileError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: KeyProblem,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// Not three words.
    #[error("a key is written as KEY-ID TRANSFORMATION KEY, with blanks between")]
    Words,
    /// The first word is no UUID.
    #[error("the key id is not a UUID (the value of ds-cfg-key-id)")]
    Id,
    /// The second word is another transformation.
    #[error(
        "the transformation is none of AES/CFB/NoPadding, DESede/CFB/NoPadding, Blowfish/CFB/NoPadding, \
         RC4/NONE/NoPadding"
    )]
    Transformation,
    /// The third word is no key of that cipher.
    #[error("the key is not hexadecimal, or has a length that its cipher does not take")]
    Key,
    /// There are too many.
    #[error("there are more than {KEYS_MAX} keys")]
    TooMany,
}

impl Cipher {
    /// `ds-cfg-cipher-transformation-name` of passwords' keys.
    fn from_transformation(name: &str) -> Option<Cipher> {
        let rows = [
            ("AES/CFB/NoPadding", Cipher::Aes),
            ("DESede/CFB/NoPadding", Cipher::TripleDes),
            ("Blowfish/CFB/NoPadding", Cipher::Blowfish),
            ("RC4/NONE/NoPadding", Cipher::Rc4),
        ];
        rows.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
    }

    fn takes(self, key_bytes: usize) -> bool {
        match self {
            Cipher::Aes => matches!(key_bytes, 16 | 24 | 32),
            Cipher::TripleDes => key_bytes == 24,
            Cipher::Blowfish => (4..=56).contains(&key_bytes),
            Cipher::Rc4 => (5..=256).contains(&key_bytes),
        }
    }
}

impl KeyId {
    /// The id in an encrypted value.
    pub(super) fn from_bytes(bytes: [u8; 16]) -> KeyId {
        KeyId(bytes)
    }

    fn parse(text: &str) -> Option<KeyId> {
        let digits: String = text.split('-').collect();
        let is_uuid = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text.as_bytes().get(at) == Some(&b'-'));
        is_uuid.then(|| decode_hex(&digits)).flatten()?.as_slice().try_into().ok().map(KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl KeyRing {
    /// Reads a file of keys; empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// With the first line that is no key.
    pub fn read(text: &str) -> Result<KeyRing, KeyFileError> {
        let mut keys = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let fault = |problem| KeyFileError { line: index + 1, problem };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if keys.len() == KEYS_MAX {
                return Err(fault(KeyProblem::TooMany));
            }
            keys.push(read_key(line).map_err(fault)?);
        }
        Ok(KeyRing { keys })
    }

    /// Adds the keys of another file.
    pub fn append(&mut self, mut other: KeyRing) {
        self.keys.append(&mut other.keys);
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of that id, if it is one of that cipher.
    pub(super) fn key(&self, id: KeyId, cipher: Cipher) -> Option<&[u8]> {
        self.keys.iter().find(|key| key.id == id && key.cipher == cipher).map(|key| key.bytes.as_slice())
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|key| (key.id, key.cipher))).finish()
    }
}

/// The keys of this process. Stored values are verified where no configuration is at hand (in filters, too), so the
/// keys are found here.
static KEYS: RwLock<KeyRing> = RwLock::new(KeyRing { keys: Vec::new() });

/// Puts these keys in the place of those before.
pub fn set_keys(keys: KeyRing) {
    *KEYS.write().unwrap_or_else(PoisonError::into_inner) = keys;
}

/// Calls `with` with the keys of this process.
pub(super) fn with_keys<T>(with: impl FnOnce(&KeyRing) -> T) -> T {
    with(&KEYS.read().unwrap_or_else(PoisonError::into_inner))
}

fn read_key(line: &str) -> Result<Key, KeyProblem> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [id, transformation, key] = words.as_slice() else { return Err(KeyProblem::Words) };
    let id = KeyId::parse(id).ok_or(KeyProblem::Id)?;
    let cipher = Cipher::from_transformation(transformation).ok_or(KeyProblem::Transformation)?;
    let bytes = Zeroizing::new(decode_hex(key).ok_or(KeyProblem::Key)?);
    if !cipher.takes(bytes.len()) {
        return Err(KeyProblem::Key);
    }
    Ok(Key { id, cipher, bytes })
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|pair| Some((digit(pair[0])? << 4) | digit(pair[1])?)).collect()).flatten()
}
