//! The storage schemes in which new values can be made: their names, prefixes and salts.

/// How a password is stored; names and prefixes are OpenDJ's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// As it is.
    Clear,
    /// As it is, in base64.
    Base64,
    /// MD5 without salt.
    Md5,
    /// MD5 with salt.
    SaltedMd5,
    /// SHA-1 without salt.
    Sha1,
    /// SHA-1 with salt.
    SaltedSha1,
    /// SHA-256 without salt.
    Sha256,
    /// SHA-384 without salt.
    Sha384,
    /// SHA-512 without salt.
    Sha512,
    /// SHA-256 with salt.
    SaltedSha256,
    /// SHA-384 with salt.
    SaltedSha384,
    /// SHA-512 with salt: what new passwords get unless the configuration says otherwise.
    SaltedSha512,
    /// PBKDF2 with HMAC-SHA-1.
    Pbkdf2,
    /// PBKDF2 with HMAC-SHA-256.
    Pbkdf2HmacSha256,
    /// PBKDF2 with HMAC-SHA-512.
    Pbkdf2HmacSha512,
    /// Atlassian's PBKDF2 form.
    Pkcs5s2,
    /// Blowfish crypt.
    Bcrypt,
    /// crypt(3); new values are SHA-512 crypt unless set otherwise.
    Crypt,
    /// Argon2id as OpenLDAP writes it.
    Argon2,
    /// Keys for SCRAM-SHA-1.
    ScramSha1,
    /// Keys for SCRAM-SHA-256.
    ScramSha256,
    /// Keys for SCRAM-SHA-512.
    ScramSha512,
}

/// (scheme, name in the configuration, prefix, bytes of salt, deliberately slow).
const SCHEMES: [(Scheme, &str, &str, usize, bool); 22] = [
    (Scheme::Clear, "Clear", "CLEAR", 0, false),
    (Scheme::Base64, "Base64", "BASE64", 0, false),
    (Scheme::Md5, "MD5", "MD5", 0, false),
    (Scheme::SaltedMd5, "Salted MD5", "SMD5", 8, false),
    (Scheme::Sha1, "SHA-1", "SHA", 0, false),
    (Scheme::SaltedSha1, "Salted SHA-1", "SSHA", 8, false),
    (Scheme::Sha256, "SHA-256", "SHA256", 0, false),
    (Scheme::Sha384, "SHA-384", "SHA384", 0, false),
    (Scheme::Sha512, "SHA-512", "SHA512", 0, false),
    (Scheme::SaltedSha256, "Salted SHA-256", "SSHA256", 8, false),
    (Scheme::SaltedSha384, "Salted SHA-384", "SSHA384", 8, false),
    (Scheme::SaltedSha512, "Salted SHA-512", "SSHA512", 8, false),
    (Scheme::Pbkdf2, "PBKDF2", "PBKDF2", 8, true),
    (Scheme::Pbkdf2HmacSha256, "PBKDF2-HMAC-SHA256", "PBKDF2-HMAC-SHA256", 16, true),
    (Scheme::Pbkdf2HmacSha512, "PBKDF2-HMAC-SHA512", "PBKDF2-HMAC-SHA512", 16, true),
    (Scheme::Pkcs5s2, "PKCS5S2", "PKCS5S2", 16, true),
    (Scheme::Bcrypt, "Bcrypt", "BCRYPT", 16, true),
    (Scheme::Crypt, "CRYPT", "CRYPT", 12, true),
    (Scheme::Argon2, "Argon2", "ARGON2", 16, true),
    (Scheme::ScramSha1, "SCRAM-SHA-1", "SCRAM-SHA-1", 16, true),
    (Scheme::ScramSha256, "SCRAM-SHA-256", "SCRAM-SHA-256", 16, true),
    (Scheme::ScramSha512, "SCRAM-SHA-512", "SCRAM-SHA-512", 16, true),
];

impl Scheme {
    /// Every scheme, in the order the documentation lists them.
    pub fn all() -> impl Iterator<Item = Scheme> {
        SCHEMES.iter().map(|row| row.0)
    }

    /// The scheme of that configuration name (`Salted SHA-512`) or prefix (`SSHA512`), in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Scheme> {
        SCHEMES.iter().find(|row| row.1.eq_ignore_ascii_case(name) || row.2.eq_ignore_ascii_case(name)).map(|row| row.0)
    }

    /// The name that the configuration uses.
    #[must_use]
    pub fn config_name(self) -> &'static str {
        self.row().1
    }

    /// What stands between the braces.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        self.row().2
    }

    /// How many random bytes a new value wants.
    #[must_use]
    pub fn salt_bytes(self) -> usize {
        self.row().3
    }

    /// Whether hashing takes so long that it belongs on a pool.
    #[must_use]
    pub fn is_slow(self) -> bool {
        self.row().4
    }

    fn row(self) -> &'static (Scheme, &'static str, &'static str, usize, bool) {
        // The table is in the order of the enum (a test holds it to that).
        SCHEMES.get(self as usize).unwrap_or(&SCHEMES[0])
    }
}
