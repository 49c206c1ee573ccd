//! Syntaxes that several classes use.

use crate::declare::{Property, Variant};
use crate::syntax::Syntax;
use crate::units::Unit;

pub(super) const WRITABILITY: Syntax = Syntax::Choice(&["enabled", "disabled", "internal-only"]);
/// A count that may be 0.
pub(super) const COUNT: Syntax = Syntax::Integer { min: 0, max: i32::MAX as i64 };
/// A count of at least 1.
pub(super) const POSITIVE: Syntax = Syntax::Integer { min: 1, max: i32::MAX as i64 };
pub(super) const SECONDS: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: u64::MAX };
pub(super) const MILLISECONDS: Syntax = Syntax::Duration { unit: Unit::Milliseconds, min_ms: 0, max_ms: u64::MAX };

/// Bits of encryption; a cipher of today has 128 or 256.
pub(super) const STRENGTH: Syntax = Syntax::Integer { min: 0, max: 1024 };

/// The schemes in which new passwords can be stored; a test of `pando` compares.
pub(super) const PASSWORD_SCHEMES: [&str; 22] = [
    "Clear",
    "Base64",
    "MD5",
    "Salted MD5",
    "SHA-1",
    "Salted SHA-1",
    "SHA-256",
    "SHA-384",
    "SHA-512",
    "Salted SHA-256",
    "Salted SHA-384",
    "Salted SHA-512",
    "PBKDF2",
    "PBKDF2-HMAC-SHA256",
    "PBKDF2-HMAC-SHA512",
    "PKCS5S2",
    "Bcrypt",
    "CRYPT",
    "Argon2",
    "SCRAM-SHA-1",
    "SCRAM-SHA-256",
    "SCRAM-SHA-512",
];

/// Those that stored values can have, which are told from others and verified; the same test compares.
pub(super) const STORED_SCHEMES: [&str; 29] = {
    let verified_only = ["3DES", "AES", "Blowfish", "RC4", "MD5-CRYPT", "SCRYPT", "NS-MTA-MD5"];
    let (mut all, mut at) = ([""; 29], 0);
    while at < all.len() {
        let new = PASSWORD_SCHEMES.len();
        all[at] = if at < new { PASSWORD_SCHEMES[at] } else { verified_only[at - new] };
        at += 1;
    }
    all
};

/// The only kind of object in its class.
pub(super) const fn single(help: &'static str, properties: &'static [Property]) -> Variant {
    Variant { type_name: "", help, properties }
}
