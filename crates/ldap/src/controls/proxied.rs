//! Proxied authorization: who a request acts as (RFC 4370, and draft-weltman-ldapv3-proxy before it), and authorization
//! identities (RFC 4513 §5.2.1.8).

use ber::Reader;

use crate::DecodeError;

/// Somebody, as an authorization identity names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationId<'a> {
    /// Nobody: empty, `dn:` or `u:`.
    Anonymous,
    /// `dn:` and a name, which may not be valid.
    Dn(&'a [u8]),
    /// `u:` and what a user is called outside of the directory.
    User(&'a [u8]),
}

impl<'a> AuthorizationId<'a> {
    /// From its string form; none when it begins with neither `dn:` nor `u:`.
    #[must_use]
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        match (text, name_after_dn(text), after(text, b"u:")) {
            (b"", _, _) | (_, Some(b""), _) | (_, _, Some(b"")) => Some(Self::Anonymous),
            (_, Some(dn), _) => Some(Self::Dn(dn)),
            (_, _, Some(user)) => Some(Self::User(user)),
            _ => None,
        }
    }
}

/// The name of an authorization identity that begins with `dn:`; empty for nobody.
#[must_use]
pub fn name_after_dn(text: &[u8]) -> Option<&[u8]> {
    after(text, b"dn:")
}

fn after<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Who a request with the proxied authorization control (version 2) acts as.
pub fn decode_proxied_authorization(value: Option<&[u8]>) -> Result<AuthorizationId<'_>, DecodeError> {
    let text = value.ok_or(DecodeError::Empty("the value of the control"))?;
    AuthorizationId::parse(text).ok_or(DecodeError::NoAuthorizationId)
}

/// The same of version 1, whose value is a sequence with a distinguished name.
pub fn decode_proxied_authorization_v1(value: Option<&[u8]>) -> Result<AuthorizationId<'_>, DecodeError> {
    let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of the control"))?);
    let mut inner = outer.sequence()?;
    let dn = inner.octets()?;
    inner.finish()?;
    outer.finish()?;
    Ok(if dn.is_empty() { AuthorizationId::Anonymous } else { AuthorizationId::Dn(dn) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorization_identities_are_nobody_a_name_or_a_user() {
        for (text, expected) in [
            (&b""[..], Some(AuthorizationId::Anonymous)),
            (b"dn:", Some(AuthorizationId::Anonymous)),
            (b"u:", Some(AuthorizationId::Anonymous)),
            (b"DN:uid=a", Some(AuthorizationId::Dn(b"uid=a"))),
            (b"u:carol", Some(AuthorizationId::User(b"carol"))),
            (b"garbage", None),
            (b"d", None),
        ] {
            assert_eq!(AuthorizationId::parse(text), expected, "{}", String::from_utf8_lossy(text));
        }
        assert!(decode_proxied_authorization(None).is_err());
        let v1 = decode_proxied_authorization_v1;
        assert_eq!(v1(Some(b"\x30\x07\x04\x05uid=a")).unwrap(), AuthorizationId::Dn(b"uid=a"));
        assert_eq!(v1(Some(b"\x30\x02\x04\x00")).unwrap(), AuthorizationId::Anonymous);
        for bad in [&b"uid=a"[..], b"\x30\x07\x04\x05uid=", b"\x30\x02\x04\x00\x00", b""] {
            assert!(v1(Some(bad)).is_err());
        }
    }
}
