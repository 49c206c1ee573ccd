//! The header of GS2 (RFC 5801 §4), with which messages of SCRAM and OAUTHBEARER begin: what the client says of channel
//! binding, and whom it wants to act as.

use std::borrow::Cow;

use thiserror::Error;

use crate::NAME_BYTES_MAX;

/// What a client says of channel binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindingFlag<'a> {
    /// `n`: the client has none.
    None,
    /// `y`: it has, and thinks that the server has none.
    ServerHasNone,
    /// `p=`: it uses the binding of that name.
    Used(&'a str),
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gs2Header<'a> {
    pub(crate) flag: BindingFlag<'a>,
    pub(crate) authzid: Option<Cow<'a, str>>,
    /// The header as it was sent, with its last comma.
    pub(crate) text: &'a str,
}

/// Why a message does not begin with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Gs2Fault {
    /// It ends too early, or does not begin with `n`, `y` or `p=`.
    #[error("The message does not begin with n, y or p= and an authorization identity or none")]
    Header,
    /// RFC 5801 §4: letters, digits, `.` and `-`.
    #[error("The name of the channel binding is not valid")]
    BindingName,
    /// `=` that stands neither for `,` nor for `=`.
    #[error("A name contains = that is neither =2C nor =3D, or is empty or too long")]
    Name,
}

impl<'a> Gs2Header<'a> {
    /// Reads the header; returns it with what follows.
    pub(crate) fn parse(message: &'a str) -> Result<(Self, &'a str), Gs2Fault> {
        let (flag, rest) = message.split_once(',').ok_or(Gs2Fault::Header)?;
        let (authzid, rest) = rest.split_once(',').ok_or(Gs2Fault::Header)?;
        let flag = match flag {
            "n" => BindingFlag::None,
            "y" => BindingFlag::ServerHasNone,
            flag => BindingFlag::Used(binding_name(flag.strip_prefix("p=").ok_or(Gs2Fault::Header)?)?),
        };
        let authzid = match authzid {
            "" => None,
            authzid => Some(unescaped(authzid.strip_prefix("a=").ok_or(Gs2Fault::Header)?)?),
        };
        let text = &message[..message.len() - rest.len()];
        Ok((Gs2Header { flag, authzid, text }, rest))
    }
}

fn binding_name(name: &str) -> Result<&str, Gs2Fault> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    match !name.is_empty() && name.len() <= 64 && name.bytes().all(is_good) {
        true => Ok(name),
        false => Err(Gs2Fault::BindingName),
    }
}

/// A name as it was before `,` and `=` were escaped (RFC 5802 §5.1, `saslname`).
pub(crate) fn unescaped(name: &str) -> Result<Cow<'_, str>, Gs2Fault> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
        return Err(Gs2Fault::Name);
    }
    let mut pieces = name.split('=');
    let first = pieces.next().unwrap_or_default();
    if first.len() == name.len() {
        return Ok(Cow::Borrowed(name));
    }
    let mut plain = first.to_owned();
    for piece in pieces {
        let (sign, rest) = match (piece.strip_prefix("2C"), piece.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            (None, None) => return Err(Gs2Fault::Name),
        };
        plain.push(sign);
        plain.push_str(rest);
    }
    Ok(Cow::Owned(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_which_binding_and_whom_to_act_as() {
        let (header, rest) = Gs2Header::parse("n,,n=user,r=1").unwrap();
        assert_eq!((header.flag, header.authzid, header.text, rest), (BindingFlag::None, None, "n,,", "n=user,r=1"));
        let (header, rest) = Gs2Header::parse("p=tls-exporter,a=dn:cn=3Da=2Cdc=3Db,x").unwrap();
        assert_eq!(header.flag, BindingFlag::Used("tls-exporter"));
        assert_eq!(header.authzid.as_deref(), Some("dn:cn=a,dc=b"));
        assert_eq!((header.text, rest), ("p=tls-exporter,a=dn:cn=3Da=2Cdc=3Db,", "x"));
        assert_eq!(Gs2Header::parse("y,,").unwrap().0.flag, BindingFlag::ServerHasNone);
    }

    #[test]
    fn other_beginnings_are_refused() {
        for (message, fault) in [
            ("", Gs2Fault::Header),
            ("n", Gs2Fault::Header),
            ("n,", Gs2Fault::Header),
            ("N,,", Gs2Fault::Header),
            ("n,b=x,", Gs2Fault::Header),
            ("p,,", Gs2Fault::Header),
            ("p=,,", Gs2Fault::BindingName),
            ("p=tls_unique,,", Gs2Fault::BindingName),
            ("n,a=,", Gs2Fault::Name),
            ("n,a=x=2c,", Gs2Fault::Name),
            ("n,a=x=,", Gs2Fault::Name),
            ("n,a=x=4,", Gs2Fault::Name),
        ] {
            assert_eq!(Gs2Header::parse(message).map(|(header, _)| header), Err(fault), "{message}");
        }
    }
}
