//! `{AES}`, `{3DES}`, `{BLOWFISH}`, `{RC4}`: passwords that OpenDJ encrypted with a key of its own. Read, so that such
//! accounts can log in and be given a better scheme; never written.
//!
//! The body is base64 of: 1 (version), the key's UUID (16 bytes), the initialisation vector (one block; none for RC4),
//! the password in cipher feedback mode with full blocks.

use cfb_mode::Decryptor;
use cfb_mode::cipher::{KeyInit, KeyIvInit, StreamCipher};
use zeroize::Zeroizing;

use super::digest::decode_base64;
use super::fault::Unverifiable;
use super::key_ring::{Cipher, KeyId, KeyRing};
use super::limits::PASSWORD_BYTES_MAX;

/// The only version there is.
const VERSION: u8 = 1;
/// Longest body read.
const BODY_BYTES_MAX: usize = 1 + 16 + 16 + PASSWORD_BYTES_MAX;

/// The clear password in an encrypted one.
pub(super) fn decrypt(keys: &KeyRing, cipher: Cipher, body: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unverifiable> {
    let mut buffer = Zeroizing::new([0u8; BODY_BYTES_MAX]);
    let decoded = decode_base64(body, &mut buffer[..]).ok_or(Unverifiable::Damaged)?;
    let (id, rest) = match decoded.split_first_chunk::<17>() {
        Some(([VERSION, id @ ..], rest)) => (KeyId::from_bytes(*id), rest),
        _ => return Err(Unverifiable::Damaged),
    };
    let key = keys.key(id, cipher).ok_or(Unverifiable::NoKey(id))?;
    let vector_bytes = match cipher {
        Cipher::Aes => 16,
        Cipher::TripleDes | Cipher::Blowfish => 8,
        Cipher::Rc4 => 0,
    };
    let (vector, text) = rest.split_at_checked(vector_bytes).ok_or(Unverifiable::Damaged)?;
    let mut clear = Zeroizing::new(text.to_vec());
    let done = match (cipher, key.len()) {
        (Cipher::Aes, 16) => feedback::<Decryptor<aes::Aes128>>(key, vector, |with| with.decrypt(&mut clear)),
        (Cipher::Aes, 24) => feedback::<Decryptor<aes::Aes192>>(key, vector, |with| with.decrypt(&mut clear)),
        (Cipher::Aes, _) => feedback::<Decryptor<aes::Aes256>>(key, vector, |with| with.decrypt(&mut clear)),
        (Cipher::TripleDes, _) => feedback::<Decryptor<des::TdesEde3>>(key, vector, |with| with.decrypt(&mut clear)),
        (Cipher::Blowfish, _) => {
            feedback::<Decryptor<blowfish::Blowfish>>(key, vector, |with| with.decrypt(&mut clear))
        }
        (Cipher::Rc4, _) => rc4::Rc4::new_from_slice(key).ok().map(|mut stream| stream.apply_keystream(&mut clear)),
    };
    done.map(|()| clear).ok_or(Unverifiable::Damaged)
}

fn feedback<D: KeyIvInit>(key: &[u8], vector: &[u8], decrypt: impl FnOnce(D)) -> Option<()> {
    D::new_from_slices(key, vector).ok().map(decrypt)
}
