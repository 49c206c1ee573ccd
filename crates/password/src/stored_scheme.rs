//! Schemes by which stored values are told apart: those of new values, and those that are only verified.

use super::form::{Form, split};
use super::key_ring::Cipher;
use super::scheme::Scheme;

/// The scheme of a stored value that can be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredScheme {
    /// New values can be made in it, too.
    New(Scheme),
    /// Encrypted by OpenDJ.
    Encrypted(Cipher),
    /// OpenLDAP's `{APR1}` and `{BSDMD5}`.
    Md5Crypt,
    /// OpenLDAP's `{SCRYPT}`.
    Scrypt,
    /// Netscape's mail server.
    NetscapeMail,
}

/// Those in which no new value is made, with their names in the configuration.
const VERIFIED_ONLY: [(StoredScheme, &str); 7] = [
    (StoredScheme::Encrypted(Cipher::TripleDes), "3DES"),
    (StoredScheme::Encrypted(Cipher::Aes), "AES"),
    (StoredScheme::Encrypted(Cipher::Blowfish), "Blowfish"),
    (StoredScheme::Encrypted(Cipher::Rc4), "RC4"),
    (StoredScheme::Md5Crypt, "MD5-CRYPT"),
    (StoredScheme::Scrypt, "SCRYPT"),
    (StoredScheme::NetscapeMail, "NS-MTA-MD5"),
];

impl StoredScheme {
    /// Every one, those of new values first.
    pub fn all() -> impl Iterator<Item = StoredScheme> {
        Scheme::all().map(StoredScheme::New).chain(VERIFIED_ONLY.iter().map(|row| row.0))
    }

    /// The scheme of that configuration name, in any case; those of new values have their prefix as a name, too.
    #[must_use]
    pub fn from_name(name: &str) -> Option<StoredScheme> {
        let verified_only = VERIFIED_ONLY.iter().find(|row| row.1.eq_ignore_ascii_case(name)).map(|row| row.0);
        Scheme::from_name(name).map(StoredScheme::New).or(verified_only)
    }

    /// The name that the configuration uses.
    #[must_use]
    pub fn config_name(self) -> &'static str {
        match self {
            StoredScheme::New(scheme) => scheme.config_name(),
            other => VERIFIED_ONLY.iter().find(|row| row.0 == other).map_or("", |row| row.1),
        }
    }

    /// The scheme of a stored value; none of one that cannot be verified. A clear one has the scheme `Clear`.
    #[must_use]
    pub fn of(stored: &[u8]) -> Option<StoredScheme> {
        let Some((form, _)) = split(stored) else { return Some(StoredScheme::New(Scheme::Clear)) };
        match form {
            Form::Encrypted(cipher) => Some(StoredScheme::Encrypted(cipher)),
            Form::Md5Crypt(_) => Some(StoredScheme::Md5Crypt),
            Form::Scrypt => Some(StoredScheme::Scrypt),
            Form::NetscapeMail => Some(StoredScheme::NetscapeMail),
            other => other.scheme().map(StoredScheme::New),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_a_name_by_which_it_is_found() {
        for scheme in StoredScheme::all() {
            assert_eq!(StoredScheme::from_name(scheme.config_name()), Some(scheme));
        }
        assert_eq!(StoredScheme::from_name("ssha"), Some(StoredScheme::New(Scheme::SaltedSha1)));
        assert_eq!(StoredScheme::from_name("none"), None);
    }

    #[test]
    fn the_scheme_of_a_value_is_told_by_its_prefix() {
        for (stored, scheme) in [
            (&b"plain"[..], Some(StoredScheme::New(Scheme::Clear))),
            (b"{clear}plain", Some(StoredScheme::New(Scheme::Clear))),
            (b"{SMD5}x", Some(StoredScheme::New(Scheme::SaltedMd5))),
            (b"{crypt}x", Some(StoredScheme::New(Scheme::Crypt))),
            (b"{3DES}x", Some(StoredScheme::Encrypted(Cipher::TripleDes))),
            (b"{APR1}x", Some(StoredScheme::Md5Crypt)),
            (b"{SCRYPT}x", Some(StoredScheme::Scrypt)),
            (b"{NS-MTA-MD5}x", Some(StoredScheme::NetscapeMail)),
            (b"{SASL}user", None),
            (b"{DES}x", None),
        ] {
            assert_eq!(StoredScheme::of(stored), scheme, "{}", String::from_utf8_lossy(stored));
        }
    }
}
