//! From a stored value and a clear password to yes or no.

use zeroize::Zeroizing;

use super::argon::Argon2Value;
use super::digest::decode_base64;
use super::fault::Unverifiable;
use super::form::{Form, split};
use super::key_ring::with_keys;
use super::limits::PASSWORD_BYTES_MAX;
use super::same::same;
use super::scheme::Scheme;
use super::scram::{ScramHash, ScramKeys};
use super::scrypt_value::ScryptValue;
use super::{crypt, encrypted, md5_crypt, netscape_mail};

/// Whether `clear` is the password that `stored` was made from. The comparison takes the same time wherever the two
/// differ. No password matches a value that cannot be verified ([`unverifiable`] says why).
#[must_use]
pub fn verify(stored: &[u8], clear: &[u8]) -> bool {
    if clear.len() > PASSWORD_BYTES_MAX {
        return false;
    }
    match split(stored) {
        Some((form, body)) => form.verify(body, Some(clear)).unwrap_or(false),
        None => same(stored, clear),
    }
}

/// Why no password matches a stored value; `None` if one does.
#[must_use]
pub fn unverifiable(stored: &[u8]) -> Option<Unverifiable> {
    let (form, body) = split(stored)?;
    form.verify(body, None).err()
}

/// Whether verifying against `stored` takes so long (milliseconds) that it belongs on a pool.
#[must_use]
pub fn is_slow(stored: &[u8]) -> bool {
    split(stored).is_some_and(|(form, _)| form.is_slow())
}

/// The user's name in a value whose password saslauthd checks: `{SASL}USER@REALM` (slapd).
#[must_use]
pub fn sasl_user(stored: &[u8]) -> Option<&[u8]> {
    match split(stored)? {
        (Form::OtherProgram("SASL"), user) => Some(user),
        _ => None,
    }
}

/// Whether a value is in stored form: it begins with a scheme's name in braces. Anything else is a clear password.
#[must_use]
pub fn is_encoded(value: &[u8]) -> bool {
    split(value).is_some()
}

/// The scheme of a stored value, if new values can be made in it; a clear one has the scheme `Clear`.
#[must_use]
pub fn scheme_of(stored: &[u8]) -> Option<Scheme> {
    split(stored).map_or(Some(Scheme::Clear), |(form, _)| form.scheme())
}

/// The clear password in a value from which it can be read: one that is not encoded, or encoded with a scheme that
/// hides nothing, or encrypted with a key that the server has.
#[must_use]
pub fn clear_text(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    match split(value) {
        None => Some(value.to_vec().into()),
        Some((Form::Clear, rest)) => Some(rest.to_vec().into()),
        Some((Form::Base64, rest)) => {
            let mut buffer = Zeroizing::new([0u8; PASSWORD_BYTES_MAX]);
            decode_base64(rest, &mut buffer[..]).map(|plain| plain.to_vec().into())
        }
        Some((Form::Encrypted(cipher), rest)) => with_keys(|keys| encrypted::decrypt(keys, cipher, rest)).ok(),
        Some(_) => None,
    }
}

/// The keys that a SCRAM mechanism with this hash needs, if `stored` has them.
#[must_use]
pub fn scram_keys(stored: &[u8], hash: ScramHash) -> Option<ScramKeys> {
    match split(stored)? {
        (Form::Scram(of_value, _), body) if of_value == hash => ScramKeys::from_body(hash, body).ok(),
        _ => None,
    }
}

impl Form {
    /// Whether `body` was made from `clear`. Without `clear`, it is only read.
    fn verify(self, body: &[u8], clear: Option<&[u8]>) -> Result<bool, Unverifiable> {
        match self {
            Form::Digest(digest, _) => digest.verify(body, clear),
            Form::Clear => Ok(clear.is_some_and(|clear| same(body, clear))),
            Form::Base64 => {
                let mut buffer = Zeroizing::new([0u8; PASSWORD_BYTES_MAX]);
                let plain = decode_base64(body, &mut buffer[..]).ok_or(Unverifiable::Damaged)?;
                Ok(clear.is_some_and(|clear| same(plain, clear)))
            }
            Form::Pbkdf2(family, _) => family.verify(body, clear),
            Form::Scram(hash, _) => {
                let keys = ScramKeys::from_body(hash, body)?;
                Ok(clear.is_some_and(|clear| keys.verify(clear)))
            }
            Form::Argon2 => {
                let value = Argon2Value::read(body)?;
                Ok(clear.is_some_and(|clear| value.verify(clear)))
            }
            Form::Bcrypt | Form::Crypt => crypt::verify(body, clear),
            Form::Md5Crypt(mark) => md5_crypt::verify_base64(mark, body, clear),
            Form::Scrypt => {
                let value = ScryptValue::read(body)?;
                Ok(clear.is_some_and(|clear| value.verify(clear)))
            }
            Form::NetscapeMail => netscape_mail::verify(body, clear),
            Form::Encrypted(cipher) => {
                let plain = with_keys(|keys| encrypted::decrypt(keys, cipher, body))?;
                Ok(clear.is_some_and(|clear| same(&plain, clear)))
            }
            Form::OtherProgram(prefix) => Err(Unverifiable::OtherProgram(prefix)),
            Form::Unknown(prefix) => Err(Unverifiable::UnknownScheme(prefix)),
        }
    }
}
