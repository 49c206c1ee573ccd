//! Values of extended requests and responses: password modify (RFC 3062), cancel (RFC 3909), refresh (RFC 2589). Who am
//! I (RFC 4532) and StartTLS have none to speak of: an authorization identity as it is, and nothing.

use std::fmt;

use ber::{Reader, SEQUENCE, Tag, Writer};

use crate::DecodeError;

const USER_IDENTITY: Tag = 0x80;
const OLD_PASSWORD: Tag = 0x81;
const NEW_PASSWORD: Tag = 0x82;
const GENERATED_PASSWORD: Tag = 0x80;
const ENTRY_NAME: Tag = 0x80;
const TIME_TO_LIVE: Tag = 0x81;

/// A password modify request.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordModify<'a> {
    /// Whose password; the requestor's own without it. A name, or an authorization identity.
    pub user_identity: Option<&'a [u8]>,
    /// The password as it is.
    pub old_password: Option<&'a [u8]>,
    /// The password to be; the server makes one without it.
    pub new_password: Option<&'a [u8]>,
}

/// Secrets stay out of debug output.
impl fmt::Debug for PasswordModify<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PasswordModify")
            .field("user_identity", &self.user_identity.map(String::from_utf8_lossy))
            .field("has_old_password", &self.old_password.is_some())
            .field("has_new_password", &self.new_password.is_some())
            .finish()
    }
}

impl<'a> PasswordModify<'a> {
    /// From a request value; no value at all asks for a new password of one's own.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let Some(value) = value else { return Ok(Self::default()) };
        let mut outer = Reader::new(value);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let found = Self {
            user_identity: inner.optional(USER_IDENTITY)?,
            old_password: inner.optional(OLD_PASSWORD)?,
            new_password: inner.optional(NEW_PASSWORD)?,
        };
        inner.finish()?;
        Ok(found)
    }

    /// To a request value.
    pub fn encode(&self) -> Vec<u8> {
        let fields =
            [(USER_IDENTITY, self.user_identity), (OLD_PASSWORD, self.old_password), (NEW_PASSWORD, self.new_password)];
        // Large enough from the beginning, so that no copy of a password is left behind.
        let value_bytes = fields.iter().map(|(_, value)| value.map_or(0, |value| value.len() + 8)).sum::<usize>();
        let mut out = Vec::with_capacity(value_bytes + 16);
        let mut w = Writer::new(&mut out);
        let mark = w.begin(SEQUENCE);
        for (tag, value) in fields {
            if let Some(value) = value {
                w.octets(tag, value);
            }
        }
        w.end(mark);
        out
    }
}

/// The value of a password modify response with a password that the server made.
pub fn encode_generated_password(password: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    let mark = w.begin(SEQUENCE);
    w.octets(GENERATED_PASSWORD, password);
    w.end(mark);
    out
}

/// The password that the server made, if it made one.
pub fn decode_generated_password(value: Option<&[u8]>) -> Result<Option<&[u8]>, DecodeError> {
    let Some(value) = value else { return Ok(None) };
    let mut outer = Reader::new(value);
    let mut inner = outer.sequence()?;
    outer.finish()?;
    let password = inner.optional(GENERATED_PASSWORD)?;
    inner.finish()?;
    Ok(password)
}

/// A refresh request: how long a dynamic entry is to live from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh<'a> {
    /// The entry's name.
    pub entry: &'a [u8],
    /// In seconds, as it was asked for: not always a time that can be given.
    pub ttl_seconds: i64,
}

impl<'a> Refresh<'a> {
    /// From a request value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of a refresh request"))?);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let found = Self { entry: inner.expect(ENTRY_NAME)?, ttl_seconds: inner.integer_tagged(TIME_TO_LIVE)? };
        inner.finish()?;
        Ok(found)
    }

    /// To a request value.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        let mark = w.begin(SEQUENCE);
        w.octets(ENTRY_NAME, self.entry);
        w.integer(TIME_TO_LIVE, self.ttl_seconds);
        w.end(mark);
        out
    }
}

/// The value of a refresh response: how long the entry lives, in seconds.
pub fn encode_refreshed(ttl_seconds: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    let mark = w.begin(SEQUENCE);
    w.integer(TIME_TO_LIVE, i64::try_from(ttl_seconds).unwrap_or(i64::MAX));
    w.end(mark);
    out
}

/// The message id in the value of a cancel request (RFC 3909 §2.1).
pub fn decode_cancel(value: Option<&[u8]>) -> Result<i32, DecodeError> {
    let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of a cancel request"))?);
    let mut inner = outer.sequence()?;
    let id = inner.integer()?;
    inner.finish()?;
    outer.finish()?;
    i32::try_from(id).map_err(|_| DecodeError::BadMessageId(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cancel_is_that_of_rfc_3909() {
        assert_eq!(decode_cancel(Some(b"\x30\x03\x02\x01\x07")), Ok(7));
        for bad in [b"".as_slice(), b"\x30\x00", b"\x30\x03\x02\x01\x07\x00", b"\x30\x04\x02\x01\x07\x00", b"\x04\x01a"]
        {
            assert!(decode_cancel(Some(bad)).is_err(), "{bad:?}");
        }
        assert!(decode_cancel(None).is_err());
    }

    #[test]
    fn refresh_is_that_of_rfc_2589() {
        let value = Refresh { entry: b"cn=a", ttl_seconds: 300 }.encode();
        assert_eq!(value, [0x30, 10, 0x80, 4, b'c', b'n', b'=', b'a', 0x81, 2, 1, 44]);
        assert_eq!(Refresh::decode(Some(&value)), Ok(Refresh { entry: b"cn=a", ttl_seconds: 300 }));
        assert_eq!(encode_refreshed(120), [0x30, 3, 0x81, 1, 120]);
        for bad in [None, Some(&b""[..]), Some(&value[..11]), Some(&[0x30, 2, 0x80, 0]), Some(&[0x30, 3, 0x81, 1, 1])] {
            assert!(Refresh::decode(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn password_modify_without_a_value_is_about_oneself() {
        assert_eq!(PasswordModify::decode(None), Ok(PasswordModify::default()));
        assert_eq!(PasswordModify::decode(Some(&[0x30, 0])), Ok(PasswordModify::default()));
        assert!(PasswordModify::decode(Some(&[])).is_err());
        let swapped = [0x30, 6, 0x82, 1, b'n', 0x81, 1, b'o'];
        assert!(PasswordModify::decode(Some(&swapped)).is_err(), "the fields have an order");
        let secret = PasswordModify { new_password: Some(b"hidden"), ..Default::default() };
        assert!(!format!("{secret:?}").contains("hidden"));
    }

    proptest! {
        #[test]
        fn password_modify_round_trips(user: Option<Vec<u8>>, old: Option<Vec<u8>>, new: Option<Vec<u8>>) {
            let request = PasswordModify {
                user_identity: user.as_deref(),
                old_password: old.as_deref(),
                new_password: new.as_deref(),
            };
            let value = request.encode();
            prop_assert_eq!(PasswordModify::decode(Some(&value)), Ok(request));
            if let Some(password) = &new {
                let value = encode_generated_password(password);
                prop_assert_eq!(decode_generated_password(Some(&value)), Ok(Some(&password[..])));
            }
        }
    }
}
