//! How a token gets into an authenticator: `otpauth` URIs, and base32 (RFC 4648), which people type.

use std::fmt::Write;

use data_encoding::BASE32_NOPAD;
use zeroize::Zeroizing;

use super::token::{Kind, Token};

/// A secret as authenticators take it.
#[must_use]
pub fn base32(secret: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(BASE32_NOPAD.encode(secret))
}

/// A secret from base32, as people copy it: in any case, with spaces, hyphens and padding.
#[must_use]
pub fn secret_of_base32(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let wanted = |c: &char| !matches!(c, ' ' | '-' | '=');
    let text: Zeroizing<String> = Zeroizing::new(text.chars().filter(wanted).collect::<String>().to_ascii_uppercase());
    BASE32_NOPAD.decode(text.as_bytes()).ok().map(Zeroizing::new)
}

impl Token {
    /// The URI that authenticators read as a QR code (the key URI format of Google Authenticator).
    #[must_use]
    pub fn uri(&self, secret: &[u8], issuer: &str, account: &str) -> Zeroizing<String> {
        let (issuer, account) = (escaped(issuer), escaped(account));
        let mut uri = Zeroizing::new(String::with_capacity(256));
        let kind = match self.kind {
            Kind::Totp { .. } => "totp",
            Kind::Hotp => "hotp",
        };
        let (algorithm, digits, secret) = (self.algorithm.name(), self.digits, base32(secret));
        // Writing to a string does not fail.
        let _ = write!(
            uri,
            "otpauth://{kind}/{issuer}:{account}?secret={}&issuer={issuer}&algorithm={algorithm}&digits={digits}",
            secret.as_str()
        );
        let _ = match self.kind {
            Kind::Totp { period_seconds } => write!(uri, "&period={period_seconds}"),
            Kind::Hotp => write!(uri, "&counter={}", self.next),
        };
        uri
    }
}

/// Percent-encoding of all that is not unreserved (RFC 3986 §2.3).
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
