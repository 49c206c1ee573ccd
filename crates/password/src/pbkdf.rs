//! The PBKDF2 family. Four products write it in four ways, all of which are read:
//!
//! * OpenDJ: `iterations:base64(digest ‖ salt)` under `{PBKDF2}` (SHA-1), `{PBKDF2-HMAC-SHA256}`,
//!   `{PBKDF2-HMAC-SHA512}`;
//! * OpenLDAP and newer 389: `iterations$ab64(salt)$ab64(digest)` under `{PBKDF2}`, `{PBKDF2-SHA1}`, `-SHA256`,
//!   `-SHA512` (`ab64` has `.` for `+` and no padding; 389 writes ordinary base64);
//! * older 389: `base64(iterations as u32 ‖ 64 bytes of salt ‖ 256 bytes of digest)` under `{PBKDF2_SHA256}`;
//! * Atlassian: `base64(16 bytes of salt ‖ 32 bytes of digest)`, always 10,000 rounds of SHA-1, under `{PKCS5S2}`.
//!
//! New values are written in OpenDJ's way.

use super::digest::{decode_base64, encode_base64};
use super::fault::Unverifiable;
use super::limits::PBKDF2_ITERATIONS_MAX;
use super::random::Random;

/// Atlassian's fixed number of rounds.
const ITERATIONS_ATLASSIAN: u32 = 10_000;
/// Bytes of digest that older 389 stores.
const DIGEST_BYTES_389: usize = 256;
/// Bytes of salt that older 389 stores.
const SALT_BYTES_389: usize = 64;
/// Longest decoded part read. It bounds the stack buffers.
const PART_BYTES_MAX: usize = 512;

/// The function and the way of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Sha1,
    Sha256,
    Sha512,
    Sha256Packed,
    Atlassian,
}

impl Family {
    /// Whether `body` was made from `clear`. Without `clear`, it is only read.
    pub(super) fn verify(self, body: &[u8], clear: Option<&[u8]>) -> Result<bool, Unverifiable> {
        let mut first = [0u8; PART_BYTES_MAX];
        let mut second = [0u8; PART_BYTES_MAX];
        let parts = self.parts(body, &mut first, &mut second);
        let (iterations, salt, expected) = parts.ok_or(Unverifiable::Damaged)?;
        if iterations == 0 || expected.is_empty() {
            return Err(Unverifiable::Damaged);
        }
        if iterations > PBKDF2_ITERATIONS_MAX {
            return Err(Unverifiable::TooCostly);
        }
        let mut computed = [0u8; PART_BYTES_MAX];
        let computed = computed.get_mut(..expected.len()).ok_or(Unverifiable::Damaged)?;
        let Some(clear) = clear else { return Ok(false) };
        self.derive(clear, salt, iterations, computed);
        Ok(super::same::same(expected, computed))
    }

    /// The body of a new value; Atlassian's has always the same rounds.
    pub(super) fn encode(self, clear: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        let mut digest = [0u8; 64];
        let digest = &mut digest[..self.written_bytes()];
        let iterations = if self == Family::Atlassian { ITERATIONS_ATLASSIAN } else { iterations };
        self.derive(clear, salt, iterations, digest);
        self.write(salt, digest, iterations)
    }

    /// A body that costs what one with these rounds costs, and that no known password matches.
    pub(super) fn decoy(self, random: &Random, salt_bytes: usize, iterations: u32) -> Vec<u8> {
        let (salt, digest) = random.split_at(salt_bytes.min(16));
        self.write(salt, &digest[..self.written_bytes()], iterations)
    }

    fn write(self, salt: &[u8], digest: &[u8], iterations: u32) -> Vec<u8> {
        if self == Family::Atlassian {
            return encode_base64(&[salt, digest].concat());
        }
        let mut body = format!("{iterations}:").into_bytes();
        body.extend_from_slice(&encode_base64(&[digest, salt].concat()));
        body
    }

    /// Bytes of digest in a new value.
    fn written_bytes(self) -> usize {
        if self == Family::Atlassian { 32 } else { self.digest_bytes() }
    }

    fn digest_bytes(self) -> usize {
        match self {
            Family::Sha1 | Family::Atlassian => 20,
            Family::Sha256 | Family::Sha256Packed => 32,
            Family::Sha512 => 64,
        }
    }

    fn derive(self, clear: &[u8], salt: &[u8], iterations: u32, out: &mut [u8]) {
        match self {
            Family::Sha1 | Family::Atlassian => pbkdf2::pbkdf2_hmac::<sha1::Sha1>(clear, salt, iterations, out),
            Family::Sha256 | Family::Sha256Packed => {
                pbkdf2::pbkdf2_hmac::<sha2::Sha256>(clear, salt, iterations, out);
            }
            Family::Sha512 => pbkdf2::pbkdf2_hmac::<sha2::Sha512>(clear, salt, iterations, out),
        }
    }

    /// (iterations, salt, digest) from whichever form `body` has.
    fn parts<'b>(
        self,
        body: &[u8],
        first: &'b mut [u8; PART_BYTES_MAX],
        second: &'b mut [u8; PART_BYTES_MAX],
    ) -> Option<(u32, &'b [u8], &'b [u8])> {
        match self {
            Family::Atlassian => {
                let (salt, digest) = decode_base64(body, first)?.split_at_checked(16)?;
                (digest.len() == 32).then_some((ITERATIONS_ATLASSIAN, salt, digest))
            }
            Family::Sha256Packed => {
                let (iterations, rest) = decode_base64(body, first)?.split_first_chunk::<4>()?;
                let (salt, digest) = rest.split_at_checked(SALT_BYTES_389)?;
                (digest.len() == DIGEST_BYTES_389).then_some((u32::from_be_bytes(*iterations), salt, digest))
            }
            _ if body.contains(&b':') => {
                let colon = body.iter().position(|&byte| byte == b':')?;
                let packed = decode_base64(body.get(colon + 1..)?, first)?;
                let (digest, salt) = packed.split_at_checked(self.digest_bytes())?;
                Some((number(body.get(..colon)?)?, salt, digest))
            }
            _ => {
                let mut fields = body.split(|&byte| byte == b'$');
                let iterations = number(fields.next()?)?;
                let salt = decode_ab64(fields.next()?, first)?;
                let digest = decode_ab64(fields.next()?, second)?;
                // A digest cut short would make guessing easy.
                (fields.next().is_none() && digest.len() >= 16).then_some((iterations, salt, digest))
            }
        }
    }
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn decode_ab64<'b>(text: &[u8], out: &'b mut [u8]) -> Option<&'b [u8]> {
    if text.len() > PART_BYTES_MAX * 2 {
        return None;
    }
    let standard: Vec<u8> = text.iter().map(|&byte| if byte == b'.' { b'+' } else { byte }).collect();
    decode_base64(&standard, out)
}
