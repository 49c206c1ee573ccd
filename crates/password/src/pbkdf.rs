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

/// Rounds of a new value (OpenDJ's `pbkdf2-iterations`).
const ITERATIONS: u32 = 10_000;
/// Most rounds that a stored value may ask for: some seconds of one core, so that a stored value cannot stop a pool for
/// long.
const ITERATIONS_MAX: u32 = 10_000_000;
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
    pub(super) fn from_prefix(name: &[u8]) -> Option<Family> {
        let rows: [(&str, Family); 8] = [
            ("PBKDF2", Family::Sha1),
            ("PBKDF2-SHA1", Family::Sha1),
            ("PBKDF2-HMAC-SHA256", Family::Sha256),
            ("PBKDF2-SHA256", Family::Sha256),
            ("PBKDF2_SHA256", Family::Sha256Packed),
            ("PBKDF2-HMAC-SHA512", Family::Sha512),
            ("PBKDF2-SHA512", Family::Sha512),
            ("PKCS5S2", Family::Atlassian),
        ];
        rows.iter().find(|row| name.eq_ignore_ascii_case(row.0.as_bytes())).map(|row| row.1)
    }

    pub(super) fn verify(self, body: &[u8], clear: &[u8]) -> bool {
        let mut first = [0u8; PART_BYTES_MAX];
        let mut second = [0u8; PART_BYTES_MAX];
        let Some((iterations, salt, expected)) = self.parts(body, &mut first, &mut second) else {
            return false;
        };
        if iterations == 0 || iterations > ITERATIONS_MAX || expected.is_empty() {
            return false;
        }
        let mut computed = [0u8; PART_BYTES_MAX];
        let Some(computed) = computed.get_mut(..expected.len()) else {
            return false;
        };
        self.derive(clear, salt, iterations, computed);
        super::same::same(expected, computed)
    }

    pub(super) fn encode(self, clear: &[u8], salt: &[u8]) -> Vec<u8> {
        let mut digest = [0u8; 64];
        if self == Family::Atlassian {
            let mut body = salt.to_vec();
            self.derive(clear, salt, ITERATIONS_ATLASSIAN, &mut digest[..32]);
            body.extend_from_slice(&digest[..32]);
            return encode_base64(&body);
        }
        let digest = &mut digest[..self.digest_bytes()];
        self.derive(clear, salt, ITERATIONS, digest);
        let mut packed = digest.to_vec();
        packed.extend_from_slice(salt);
        let mut body = format!("{ITERATIONS}:").into_bytes();
        body.extend_from_slice(&encode_base64(&packed));
        body
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
