//! Plain and salted digests: `{MD5}` `{SMD5}` `{SHA}` `{SSHA}` `{SHA256}` … `{SSHA512}`.
//!
//! The body is base64 of digest ‖ salt, the salt of any length that other servers write. Knows no other scheme.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

use super::fault::Unverifiable;
use super::random::Random;

/// Longest decoded body read: 64 bytes of digest and more salt than anyone writes. It bounds the stack buffer.
const BODY_BYTES_MAX: usize = 256;

/// Standard base64; the padding may be missing, as some servers leave it away.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// One digest function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Digest {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Digest {
    /// Whether `body` is the digest of `clear` with the salt that follows it. Without `clear`, it is only read.
    pub(super) fn verify(self, body: &[u8], clear: Option<&[u8]>) -> Result<bool, Unverifiable> {
        let mut buffer = [0u8; BODY_BYTES_MAX];
        let decoded = decode_base64(body, &mut buffer).ok_or(Unverifiable::Damaged)?;
        let (expected, salt) = decoded.split_at_checked(self.length()).ok_or(Unverifiable::Damaged)?;
        let mut computed = [0u8; 64];
        Ok(clear.is_some_and(|clear| super::same::same(expected, self.compute(clear, salt, &mut computed))))
    }

    /// A body of the right length that no known password matches.
    pub(super) fn decoy(self, random: &Random, salt_bytes: usize) -> Vec<u8> {
        encode_base64(&random[..self.length() + salt_bytes])
    }

    /// base64 of digest ‖ salt.
    pub(super) fn encode(self, clear: &[u8], salt: &[u8]) -> Vec<u8> {
        let mut computed = [0u8; 64];
        let mut body = self.compute(clear, salt, &mut computed).to_vec();
        body.extend_from_slice(salt);
        encode_base64(&body)
    }

    fn length(self) -> usize {
        match self {
            Digest::Md5 => 16,
            Digest::Sha1 => 20,
            Digest::Sha256 => 32,
            Digest::Sha384 => 48,
            Digest::Sha512 => 64,
        }
    }

    fn compute<'b>(self, clear: &[u8], salt: &[u8], out: &'b mut [u8; 64]) -> &'b [u8] {
        match self {
            Digest::Md5 => hash::<md5::Md5>(clear, salt, out),
            Digest::Sha1 => hash::<sha1::Sha1>(clear, salt, out),
            Digest::Sha256 => hash::<sha2::Sha256>(clear, salt, out),
            Digest::Sha384 => hash::<sha2::Sha384>(clear, salt, out),
            Digest::Sha512 => hash::<sha2::Sha512>(clear, salt, out),
        }
    }
}

/// base64 with padding, as every server writes it.
pub(super) fn encode_base64(bytes: &[u8]) -> Vec<u8> {
    ENGINE.encode(bytes).into_bytes()
}

/// Decodes into `out`; `None` when the text is no base64 or does not fit.
pub(super) fn decode_base64<'b>(text: &[u8], out: &'b mut [u8]) -> Option<&'b [u8]> {
    let length = ENGINE.decode_slice(text.trim_ascii(), out).ok()?;
    out.get(..length)
}

fn hash<'b, D: sha2::Digest>(clear: &[u8], salt: &[u8], out: &'b mut [u8; 64]) -> &'b [u8] {
    let mut state = D::new();
    state.update(clear);
    state.update(salt);
    let digest = state.finalize();
    let target = &mut out[..digest.len()];
    target.copy_from_slice(&digest);
    target
}
