//! EXTERNAL (RFC 4422, appendix A): the client is who the connection says; it may name somebody to act as.

use thiserror::Error;

use crate::NAME_BYTES_MAX;

/// Why a message is not one of EXTERNAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("The credentials are no authorization identity: UTF-8 text of at most {NAME_BYTES_MAX} octets without NUL")]
pub struct ExternalFault;

/// Whom a client wants to act as; none (no credentials, or empty ones): who it is.
///
/// # Errors
/// When the credentials are no authorization identity.
pub fn authorization_id(credentials: Option<&[u8]>) -> Result<Option<&str>, ExternalFault> {
    let Some(credentials) = credentials.filter(|credentials| !credentials.is_empty()) else { return Ok(None) };
    if credentials.len() > NAME_BYTES_MAX || credentials.contains(&0) {
        return Err(ExternalFault);
    }
    std::str::from_utf8(credentials).map(Some).map_err(|_| ExternalFault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_absent_empty_or_an_authorization_identity() {
        assert_eq!(authorization_id(None), Ok(None));
        assert_eq!(authorization_id(Some(b"")), Ok(None));
        assert_eq!(authorization_id(Some(b"u:ann")), Ok(Some("u:ann")));
        for bad in [&b"a\0b"[..], b"\xff", &[b'a'; NAME_BYTES_MAX + 1]] {
            assert_eq!(authorization_id(Some(bad)), Err(ExternalFault));
        }
    }
}
