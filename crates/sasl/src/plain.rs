//! PLAIN (RFC 4616): `[authzid] NUL authcid NUL password`.

use thiserror::Error;

use crate::NAME_BYTES_MAX;

/// What a client of PLAIN says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Plain<'a> {
    /// Whom it wants to act as; none: who it authenticates as.
    pub authzid: Option<&'a str>,
    /// Who it authenticates as.
    pub authcid: &'a str,
    /// The password as it was sent: it is compared like the one of a simple bind.
    pub password: &'a [u8],
}

/// Why a message is not one of PLAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PlainFault {
    /// It is not UTF-8.
    #[error("The credentials are not UTF-8 text")]
    NotUtf8,
    /// There are not exactly two NULs.
    #[error("The credentials are not an authorization identity, a name and a password, separated by NULs")]
    NotThreeParts,
    /// There is nobody to authenticate as.
    #[error("The credentials name nobody to authenticate as")]
    NoName,
    /// There is no password.
    #[error("The credentials have no password")]
    NoPassword,
    /// A name is too long.
    #[error("A name in the credentials is longer than {NAME_BYTES_MAX} octets")]
    TooLong,
}

impl<'a> Plain<'a> {
    /// Reads the only message of the mechanism.
    ///
    /// # Errors
    /// When the message is malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, PlainFault> {
        let text = std::str::from_utf8(message).map_err(|_| PlainFault::NotUtf8)?;
        let mut parts = text.split('\0');
        let (Some(authzid), Some(authcid), Some(password), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PlainFault::NotThreeParts);
        };
        if authcid.is_empty() {
            return Err(PlainFault::NoName);
        }
        if password.is_empty() {
            return Err(PlainFault::NoPassword);
        }
        if authzid.len().max(authcid.len()) > NAME_BYTES_MAX {
            return Err(PlainFault::TooLong);
        }
        let authzid = Some(authzid).filter(|authzid| !authzid.is_empty());
        Ok(Plain { authzid, authcid, password: password.as_bytes() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(message: &[u8]) -> Result<(Option<&str>, &str, &[u8]), PlainFault> {
        Plain::parse(message).map(|plain| (plain.authzid, plain.authcid, plain.password))
    }

    #[test]
    fn a_message_has_a_name_a_password_and_maybe_somebody_to_act_as() {
        // The examples of RFC 4616 §4.
        assert_eq!(parts(b"\0tim\0tanstaaftanstaaf"), Ok((None, "tim", &b"tanstaaftanstaaf"[..])));
        assert_eq!(parts(b"Ursel\0Kurt\0xipj3plmq"), Ok((Some("Ursel"), "Kurt", &b"xipj3plmq"[..])));
        assert_eq!(parts("\0zo\u{eb}\0p w".as_bytes()), Ok((None, "zo\u{eb}", &b"p w"[..])));
        assert_eq!(parts(b"dn:\0u:ann\0x"), Ok((Some("dn:"), "u:ann", &b"x"[..])));
    }

    #[test]
    fn anything_else_is_refused() {
        for (message, fault) in [
            (&b""[..], PlainFault::NotThreeParts),
            (b"tim", PlainFault::NotThreeParts),
            (b"tim\0secret", PlainFault::NotThreeParts),
            (b"\0tim\0sec\0ret", PlainFault::NotThreeParts),
            (b"\0\0secret", PlainFault::NoName),
            (b"\0tim\0", PlainFault::NoPassword),
            (b"\0tim\0\xff", PlainFault::NotUtf8),
        ] {
            assert_eq!(parts(message), Err(fault), "{message:?}");
        }
        let long = format!("\0{}\0x", "a".repeat(NAME_BYTES_MAX + 1));
        assert_eq!(parts(long.as_bytes()), Err(PlainFault::TooLong));
    }
}
