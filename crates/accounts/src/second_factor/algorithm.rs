//! The code of a counter: HOTP (RFC 4226 §5.3), with the hashes that RFC 6238 adds.

use hmac::{Hmac, KeyInit, Mac};

/// The hash of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// What all authenticators know.
    #[default]
    Sha1,
    /// HMAC-SHA-256.
    Sha256,
    /// HMAC-SHA-512.
    Sha512,
}

impl Algorithm {
    const NAMES: [(Algorithm, &'static str); 3] =
        [(Algorithm::Sha1, "SHA1"), (Algorithm::Sha256, "SHA256"), (Algorithm::Sha512, "SHA512")];

    /// Its name, as `otpauth` URIs write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha256 => "SHA256",
            Algorithm::Sha512 => "SHA512",
        }
    }

    /// The algorithm of that name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::NAMES.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(algorithm, _)| *algorithm)
    }
}

/// The code of `counter`, a number below 10 to the power of `digits`.
#[must_use]
pub fn one_time_code(algorithm: Algorithm, secret: &[u8], counter: u64, digits: u8) -> u32 {
    let truncated = match algorithm {
        Algorithm::Sha1 => truncated::<Hmac<sha1::Sha1>>(secret, counter),
        Algorithm::Sha256 => truncated::<Hmac<sha2::Sha256>>(secret, counter),
        Algorithm::Sha512 => truncated::<Hmac<sha2::Sha512>>(secret, counter),
    };
    truncated % 10u32.saturating_pow(u32::from(digits)).max(1)
}

/// Dynamic truncation: 31 bits from where the last four bits of the hash point to.
fn truncated<M: Mac + KeyInit>(secret: &[u8], counter: u64) -> u32 {
    let Ok(mac) = <M as KeyInit>::new_from_slice(secret) else { return 0 };
    let hash = mac.chain_update(counter.to_be_bytes()).finalize().into_bytes();
    let start = usize::from(hash.last().copied().unwrap_or_default() & 0x0f);
    let bytes = hash.get(start..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}
