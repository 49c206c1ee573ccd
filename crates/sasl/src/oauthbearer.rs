//! OAUTHBEARER (RFC 7628): a bearer token in one message, and what the client is told when the token is not good.

use std::borrow::Cow;

use thiserror::Error;

use crate::MESSAGE_BYTES_MAX;
use crate::gs2::{BindingFlag, Gs2Fault, Gs2Header};

/// What the client answers to the refusal of its token.
pub const ACKNOWLEDGEMENT: &[u8] = b"\x01";

/// What a client says.
#[derive(PartialEq, Eq)]
pub struct Request<'a> {
    /// Whom it wants to act as; none: whom the token is about.
    pub authzid: Option<Cow<'a, str>>,
    /// The token (RFC 6750 §2.1).
    pub token: &'a str,
}

/// Why a message is not one of OAUTHBEARER.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OauthFault {
    /// It is too long or no UTF-8.
    #[error("The message is too long or not UTF-8 text")]
    NotText,
    /// Its beginning.
    #[error(transparent)]
    Gs2(#[from] Gs2Fault),
    /// The mechanism has no channel binding.
    #[error("The client uses a channel binding, which OAUTHBEARER does not have")]
    Binding,
    /// Its pairs.
    #[error("The message does not have the form of RFC 7628: keys and values between ^A, ended by ^A")]
    Form,
    /// No `auth`, or two, or another kind.
    #[error("The message does not have exactly one auth=Bearer TOKEN")]
    Token,
}

impl<'a> Request<'a> {
    /// Reads the first message.
    ///
    /// # Errors
    /// When it is malformed or has no bearer token.
    pub fn parse(message: &'a [u8]) -> Result<Self, OauthFault> {
        if message.len() > MESSAGE_BYTES_MAX {
            return Err(OauthFault::NotText);
        }
        let text = std::str::from_utf8(message).map_err(|_| OauthFault::NotText)?;
        let (header, rest) = Gs2Header::parse(text)?;
        if matches!(header.flag, BindingFlag::Used(_)) {
            return Err(OauthFault::Binding);
        }
        let rest = rest.strip_prefix('\x01').ok_or(OauthFault::Form)?;
        // The UnboundID SDK ends the last pair and not the message.
        let pairs = rest.strip_suffix('\x01').ok_or(OauthFault::Form)?;
        let pairs = pairs.strip_suffix('\x01').unwrap_or(pairs);
        let mut token = None;
        for pair in pairs.split('\x01') {
            let (key, value) = pair.split_once('=').ok_or(OauthFault::Form)?;
            if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphabetic()) || value.contains('\0') {
                return Err(OauthFault::Form);
            }
            if key == "auth" {
                let given = bearer(value).ok_or(OauthFault::Token)?;
                if token.replace(given).is_some() {
                    return Err(OauthFault::Token);
                }
            }
        }
        Ok(Request { authzid: header.authzid, token: token.ok_or(OauthFault::Token)? })
    }
}

/// The token in `Bearer TOKEN`; the first word in any case (RFC 9110 §11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty() && token.bytes().all(is_good)).then_some(token)
}

/// What the client is told of a token that is not good (RFC 7628 §3.2.2).
#[must_use]
pub fn refusal(status: &str, scope: Option<&str>, openid_configuration: Option<&str>) -> Vec<u8> {
    let mut told = serde_json::Map::new();
    told.insert("status".to_owned(), status.into());
    if let Some(scope) = scope {
        told.insert("scope".to_owned(), scope.into());
    }
    if let Some(url) = openid_configuration {
        told.insert("openid-configuration".to_owned(), url.into());
    }
    serde_json::Value::Object(told).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(message: &str) -> Result<(Option<String>, String), OauthFault> {
        Request::parse(message.as_bytes())
            .map(|request| (request.authzid.map(Cow::into_owned), request.token.to_owned()))
    }

    #[test]
    fn the_example_of_rfc_7628_is_read() {
        let message =
            "n,a=user@example.com,\x01host=server.example.com\x01port=143\x01auth=Bearer vF9dft4qmT_c2N\x01\x01";
        assert_eq!(parsed(message), Ok((Some("user@example.com".into()), "vF9dft4qmT_c2N".into())));
        assert_eq!(parsed("n,,\x01auth=bearer  a.b.c\x01\x01"), Ok((None, "a.b.c".into())));
    }

    /// What OAUTHBEARERBindRequest of the UnboundID SDK 7.0.3 sends.
    #[test]
    fn a_message_without_its_last_sign_is_understood() {
        assert_eq!(parsed("n,,\x01auth=Bearer a.b.c\x01"), Ok((None, "a.b.c".into())));
    }

    #[test]
    fn anything_else_is_refused() {
        for (message, fault) in [
            ("n,,", OauthFault::Form),
            ("n,,\x01auth=Bearer x", OauthFault::Form),
            ("n,,\x01", OauthFault::Form),
            ("n,,\x01\x01", OauthFault::Form),
            ("n,,\x01auth=Bearer x\x01\x01\x01", OauthFault::Form),
            ("n,,auth=Bearer x\x01\x01", OauthFault::Form),
            ("n,,\x01auth\x01\x01", OauthFault::Form),
            ("n,,\x01host=x\x01\x01", OauthFault::Token),
            ("n,,\x01auth=Basic eA\x01\x01", OauthFault::Token),
            ("n,,\x01auth=Bearer \x01\x01", OauthFault::Token),
            ("n,,\x01auth=Bearer x y\x01\x01", OauthFault::Token),
            ("n,,\x01auth=Bearer x\x01auth=Bearer y\x01\x01", OauthFault::Token),
            ("p=tls-exporter,,\x01auth=Bearer x\x01\x01", OauthFault::Binding),
            ("\x01", OauthFault::Gs2(Gs2Fault::Header)),
        ] {
            assert_eq!(parsed(message), Err(fault), "{message:?}");
        }
        assert_eq!(Request::parse(b"\xff").map(|_| ()), Err(OauthFault::NotText));
    }

    #[test]
    fn a_refusal_is_json() {
        assert_eq!(refusal("invalid_token", None, None), br#"{"status":"invalid_token"}"#);
        let told: serde_json::Value =
            serde_json::from_slice(&refusal("invalid_token", Some("a\"b"), Some("https://id.example.com/x"))).unwrap();
        assert_eq!(told["scope"], "a\"b");
        assert_eq!(told["openid-configuration"], "https://id.example.com/x");
    }
}
