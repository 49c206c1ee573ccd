//! Which form a stored value has, by its prefix: every prefix that this server or another one writes.

use super::digest::Digest;
use super::key_ring::Cipher;
use super::pbkdf::Family;
use super::scheme::Scheme;
use super::scram::ScramHash;

/// Longest prefix that has a name here.
const PREFIX_BYTES_MAX: usize = 20;
/// Longest prefix of 389's encrypted values, which has the parameters of the cipher in it.
const PREFIX_389_BYTES_MAX: usize = 512;

/// How the text behind a prefix is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Clear,
    Base64,
    Digest(Digest, Scheme),
    Pbkdf2(Family, Scheme),
    Scram(ScramHash, Scheme),
    Argon2,
    Bcrypt,
    Crypt,
    /// OpenLDAP's forms of MD5 crypt, by the mark that is hashed with the password.
    Md5Crypt(&'static [u8]),
    Scrypt,
    NetscapeMail,
    Encrypted(Cipher),
    /// Another program checks it.
    OtherProgram(&'static str),
    /// It is encoded, and cannot be checked here. Taking it for a clear password would let whoever reads the stored
    /// value log in with it.
    Unknown(&'static str),
}

/// `{PREFIX}rest`, when the prefix is one that some server writes.
pub(super) fn split(value: &[u8]) -> Option<(Form, &[u8])> {
    let inner = value.strip_prefix(b"{")?;
    let end = inner.iter().take(PREFIX_389_BYTES_MAX).position(|&byte| byte == b'}')?;
    let (prefix, rest) = (inner.get(..end)?, inner.get(end + 1..)?);
    Some((Form::from_prefix(prefix)?, rest))
}

impl Form {
    fn from_prefix(prefix: &[u8]) -> Option<Form> {
        let mut upper = [0u8; PREFIX_BYTES_MAX];
        let Some(upper) = upper.get_mut(..prefix.len()) else {
            // 389 writes `{AES-` and the parameters in base64.
            let is_389 = prefix.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"AES-"));
            return is_389.then_some(Form::Unknown("AES-…"));
        };
        upper.copy_from_slice(prefix);
        upper.make_ascii_uppercase();
        Some(match &*upper {
            b"SSHA" => Form::Digest(Digest::Sha1, Scheme::SaltedSha1),
            b"SSHA512" => Form::Digest(Digest::Sha512, Scheme::SaltedSha512),
            b"SSHA256" => Form::Digest(Digest::Sha256, Scheme::SaltedSha256),
            b"SSHA384" => Form::Digest(Digest::Sha384, Scheme::SaltedSha384),
            b"SMD5" => Form::Digest(Digest::Md5, Scheme::SaltedMd5),
            b"SHA" => Form::Digest(Digest::Sha1, Scheme::Sha1),
            b"SHA512" => Form::Digest(Digest::Sha512, Scheme::Sha512),
            b"SHA256" => Form::Digest(Digest::Sha256, Scheme::Sha256),
            b"SHA384" => Form::Digest(Digest::Sha384, Scheme::Sha384),
            b"MD5" => Form::Digest(Digest::Md5, Scheme::Md5),
            b"CLEAR" | b"CLEARTEXT" => Form::Clear,
            b"BASE64" => Form::Base64,
            b"PBKDF2" | b"PBKDF2-SHA1" => Form::Pbkdf2(Family::Sha1, Scheme::Pbkdf2),
            b"PBKDF2-HMAC-SHA256" | b"PBKDF2-SHA256" => Form::Pbkdf2(Family::Sha256, Scheme::Pbkdf2HmacSha256),
            b"PBKDF2_SHA256" => Form::Pbkdf2(Family::Sha256Packed, Scheme::Pbkdf2HmacSha256),
            b"PBKDF2-HMAC-SHA512" | b"PBKDF2-SHA512" => Form::Pbkdf2(Family::Sha512, Scheme::Pbkdf2HmacSha512),
            b"PKCS5S2" => Form::Pbkdf2(Family::Atlassian, Scheme::Pkcs5s2),
            b"SCRAM-SHA-1" => Form::Scram(ScramHash::Sha1, Scheme::ScramSha1),
            b"SCRAM-SHA-256" => Form::Scram(ScramHash::Sha256, Scheme::ScramSha256),
            b"SCRAM-SHA-512" => Form::Scram(ScramHash::Sha512, Scheme::ScramSha512),
            b"ARGON2" => Form::Argon2,
            b"BCRYPT" => Form::Bcrypt,
            b"CRYPT" => Form::Crypt,
            b"APR1" => Form::Md5Crypt(b"$apr1$"),
            b"BSDMD5" => Form::Md5Crypt(b"$1$"),
            other if other.starts_with(b"CRYPT-") => Form::Crypt,
            b"SCRYPT" => Form::Scrypt,
            b"NS-MTA-MD5" => Form::NetscapeMail,
            b"3DES" => Form::Encrypted(Cipher::TripleDes),
            b"AES" => Form::Encrypted(Cipher::Aes),
            b"BLOWFISH" => Form::Encrypted(Cipher::Blowfish),
            b"RC4" => Form::Encrypted(Cipher::Rc4),
            b"SASL" => Form::OtherProgram("SASL"),
            b"KERBEROS" => Form::OtherProgram("KERBEROS"),
            b"RADIUS" => Form::OtherProgram("RADIUS"),
            b"UNIX" => Form::OtherProgram("UNIX"),
            b"GOST_YESCRYPT" => Form::Unknown("GOST_YESCRYPT"),
            b"DES" => Form::Unknown("DES"),
            other if other.starts_with(b"AES-") => Form::Unknown("AES-…"),
            b"TOTP1" | b"TOTP256" | b"TOTP512" => Form::Unknown("TOTP…"),
            b"TOTP1ANDPW" | b"TOTP256ANDPW" | b"TOTP512ANDPW" => Form::Unknown("TOTP…ANDPW"),
            _ => return None,
        })
    }

    /// Whether verifying takes so long (milliseconds) that it belongs on a pool.
    pub(super) fn is_slow(self) -> bool {
        self.scheme().map_or(matches!(self, Form::Scrypt | Form::Md5Crypt(_)), Scheme::is_slow)
    }

    /// The scheme in which a new value like this would be made.
    pub(super) fn scheme(self) -> Option<Scheme> {
        Some(match self {
            Form::Clear => Scheme::Clear,
            Form::Base64 => Scheme::Base64,
            Form::Digest(_, scheme) | Form::Pbkdf2(_, scheme) | Form::Scram(_, scheme) => scheme,
            Form::Argon2 => Scheme::Argon2,
            Form::Bcrypt => Scheme::Bcrypt,
            Form::Crypt => Scheme::Crypt,
            Form::Md5Crypt(_)
            | Form::Scrypt
            | Form::NetscapeMail
            | Form::Encrypted(_)
            | Form::OtherProgram(_)
            | Form::Unknown(_) => {
                return None;
            }
        })
    }
}
