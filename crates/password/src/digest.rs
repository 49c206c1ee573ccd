//! Plain and salted digests: `{MD5}` `{SMD5}` `{SHA}` `{SSHA}` `{SHA256}` … `{SSHA512}`.
//!
//! The body is base64 of digest ‖ salt, the salt of any length that other servers write. Knows no other scheme.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

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
    /// The function behind a prefix, salted or not.
    pub(super) fn from_prefix(name: &[u8]) -> Option<Digest> {
        let rows: [(&str, &str, Digest); 5] = [
            ("SSHA", "SHA", Digest::Sha1),
            ("SSHA512", "SHA512", Digest::Sha512),
            ("SSHA256", "SHA256", Digest::Sha256),
            ("SSHA384", "SHA384", Digest::Sha384),
            ("SMD5", "MD5", Digest::Md5),
        ];
        rows.iter()
            .find(|(salted, plain, _)| {
                name.eq_ignore_ascii_case(salted.as_bytes()) || name.eq_ignore_ascii_case(plain.as_bytes())
            })
            .map(|row| row.2)
    }

    /// Whether `body` is the digest of `clear` with the salt that follows it.
    pub(super) fn verify(self, body: &[u8], clear: &[u8]) -> bool {
        let mut buffer = [0u8; BODY_BYTES_MAX];
        let Some(decoded) = decode_base64(body, &mut buffer) else {
            return false;
        };
        let Some((expected, salt)) = decoded.split_at_checked(self.length()) else {
            return false;
        };
        let mut computed = [0u8; 64];
        super::same::same(expected, self.compute(clear, salt, &mut computed))
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
