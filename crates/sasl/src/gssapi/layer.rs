//! The end of an exchange of GSSAPI (RFC 4752 §3.1): which security layers the server has, which one the client takes,
//! and whom it wants to act as.
//!
//! This server has none: encryption is for TLS. Whoever asks for one is refused.

use thiserror::Error;

use crate::external::{ExternalFault, authorization_id};

/// No layer.
const NONE: u8 = 1;

/// No layer, as go-ldap says it: none of the bits.
const NO_BITS: u8 = 0;

/// What the server offers: no layer, and so no messages of a layer.
#[cfg_attr(not(feature = "gssapi"), allow(dead_code, reason = "sent by the library's exchange"))]
pub(super) const OFFER: [u8; 4] = [NONE, 0, 0, 0];

/// Why what a client chose cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LayerFault {
    /// Less than four octets.
    #[error("The choice of a security layer is shorter than four octets")]
    TooShort,
    /// One of the layers that the server does not have.
    #[error("The client chose a security layer, which was not offered: TLS is there for that")]
    NotOffered,
    /// RFC 4752 §3.1: it has to be 0.
    #[error("The client chose no security layer, and yet a size of its messages")]
    Size,
    /// After the four octets.
    #[error(transparent)]
    AuthorizationId(#[from] ExternalFault),
}

/// Whom a client wants to act as that chose no layer; none: who it is.
///
/// # Errors
/// When it chose anything else.
#[cfg_attr(not(feature = "gssapi"), allow(dead_code, reason = "called by the library's exchange"))]
pub(super) fn chosen(answer: &[u8]) -> Result<Option<&str>, LayerFault> {
    let (choice, authzid) = answer.split_first_chunk::<4>().ok_or(LayerFault::TooShort)?;
    match choice {
        [NONE | NO_BITS, 0, 0, 0] => Ok(authorization_id(Some(authzid))?),
        [NONE | NO_BITS, ..] => Err(LayerFault::Size),
        _ => Err(LayerFault::NotOffered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layer_is_all_there_is() {
        assert_eq!(chosen(&OFFER), Ok(None));
        assert_eq!(chosen(b"\x01\0\0\0u:ann"), Ok(Some("u:ann")));
        assert_eq!(chosen(b"\x01\0\0"), Err(LayerFault::TooShort));
        assert_eq!(chosen(b""), Err(LayerFault::TooShort));
        assert_eq!(chosen(b"\0\0\0\0u:ann"), Ok(Some("u:ann")));
        for layer in [2, 3, 4, 5, 0xff] {
            assert_eq!(chosen(&[layer, 0, 0, 0]), Err(LayerFault::NotOffered), "{layer}");
        }
        for sized in [b"\x01\0\0\x01", b"\0\0\0\x01"] {
            assert_eq!(chosen(sized), Err(LayerFault::Size));
        }
        assert_eq!(chosen(b"\x01\0\0\0a\0b"), Err(LayerFault::AuthorizationId(ExternalFault)));
    }
}
