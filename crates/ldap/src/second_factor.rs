//! The extended operation that manages the one-time codes of an account: Pando's own, described in
//! `docs/second-factor.md`.
//!
//! ```text
//! request   SEQUENCE { user OCTET STRING, action CHOICE {
//!             list [0] NULL,
//!             enrol [1] SEQUENCE { name OCTET STRING, kind OCTET STRING, algorithm OCTET STRING, digits INTEGER,
//!                                  period INTEGER, counter INTEGER, secret [0] OCTET STRING OPTIONAL },
//!             confirm [2] SEQUENCE { name OCTET STRING, code OCTET STRING },
//!             remove [3] OCTET STRING } }
//! response  SEQUENCE { uri [0] OCTET STRING OPTIONAL,
//!                      tokens SEQUENCE OF SEQUENCE { name OCTET STRING, kind OCTET STRING, digits INTEGER,
//!                                                    active BOOLEAN } OPTIONAL,
//!                      required BOOLEAN DEFAULT FALSE }
//! ```
//! The period of a button's token is 0, and so is the counter of one of the time.
//! An empty `user` is the user of the connection; an empty name to remove is all tokens. Knows how it is written; what
//! may be asked, and by whom, is decided elsewhere.

use std::fmt;

use ber::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE, Tag, Writer};
use zeroize::Zeroizing;

use crate::DecodeError;

/// `ENUMERATED` is not used: kinds and algorithms are words, as `otpauth` URIs write them.
const LIST: Tag = 0x80;
const ENROL: Tag = 0xa1;
const CONFIRM: Tag = 0xa2;
const REMOVE: Tag = 0x83;
const OPTIONAL: Tag = 0x80;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// Whose: a distinguished name; empty: that of the connection.
    pub user: String,
    /// What is to be done.
    pub action: FactorAction,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactorAction {
    /// Tell which tokens there are.
    List,
    /// Make a token, which is not asked for yet.
    Enrol(NewToken),
    /// Show the first code of a token: from then on binds are asked for one.
    Confirm {
        /// Of the token.
        name: String,
        /// What it shows.
        code: Zeroizing<String>,
    },
    /// Remove a token.
    Remove {
        /// Which; empty: all.
        name: String,
    },
}

/// A token that is to be made.
#[derive(Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What its user calls it.
    pub name: String,
    /// `TOTP` or `HOTP`.
    pub kind: String,
    /// `SHA1`, `SHA256` or `SHA512`.
    pub algorithm: String,
    /// Digits of a code.
    pub digits: i64,
    /// Of TOTP: seconds of a time step; else 0.
    pub period: i64,
    /// Of HOTP: the first counter; else 0.
    pub counter: i64,
    /// Its secret, where the server shall not make one.
    pub secret: Option<Zeroizing<Vec<u8>>>,
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A token that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownToken {
    /// What its user calls it.
    pub name: String,
    /// `TOTP` or `HOTP`.
    pub kind: String,
    /// Digits of a code.
    pub digits: i64,
    /// Whether binds are asked for its codes.
    pub is_active: bool,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondFactorAnswer {
    /// What an authenticator reads, with the secret: only after a token was made.
    pub uri: Option<Zeroizing<String>>,
    /// The tokens, where they were asked for.
    pub tokens: Vec<KnownToken>,
    /// Whether the account's policy asks for a code, whether there is a token or not.
    pub is_required: bool,
}

/// A request that was checked, and is still encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecondFactorRequest<'a>(&'a [u8]);

impl fmt::Debug for SecondFactorRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecondFactorRequest(..)")
    }
}

impl<'a> SecondFactorRequest<'a> {
    /// From a request value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        SecondFactor::decode(value)?;
        Ok(SecondFactorRequest(value.unwrap_or_default()))
    }

    /// What it asks for.
    ///
    /// # Errors
    /// None, of what was decoded.
    pub fn read(&self) -> Result<SecondFactor, DecodeError> {
        SecondFactor::decode(Some(self.0))
    }
}

impl SecondFactor {
    /// From a request value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of a second factor request"))?);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let user = text(inner.octets()?, "the user")?;
        let action = match inner.element()? {
            (LIST, []) => FactorAction::List,
            (ENROL, content) => FactorAction::Enrol(NewToken::decode(Reader::new(content))?),
            (CONFIRM, content) => {
                let mut content = Reader::new(content);
                let name = text(content.octets()?, "the token's name")?;
                let code = Zeroizing::new(text(content.octets()?, "the code")?);
                content.finish_extensible(&[])?;
                FactorAction::Confirm { name, code }
            }
            (REMOVE, name) => FactorAction::Remove { name: text(name, "the token's name")? },
            (tag, _) => return Err(DecodeError::BadEnumerated { field: "action", value: i64::from(tag) }),
        };
        inner.finish_extensible(&[])?;
        Ok(SecondFactor { user, action })
    }

    /// To a request value.
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        encoded(|w| {
            w.octets(OCTET_STRING, self.user.as_bytes());
            match &self.action {
                FactorAction::List => w.null(LIST),
                FactorAction::Enrol(new) => new.put(w),
                FactorAction::Confirm { name, code } => {
                    let mark = w.begin(CONFIRM);
                    w.octets(OCTET_STRING, name.as_bytes());
                    w.octets(OCTET_STRING, code.as_bytes());
                    w.end(mark);
                }
                FactorAction::Remove { name } => w.octets(REMOVE, name.as_bytes()),
            }
        })
    }
}

impl NewToken {
    fn decode(mut inner: Reader<'_>) -> Result<NewToken, DecodeError> {
        let name = text(inner.octets()?, "the token's name")?;
        let kind = text(inner.octets()?, "the kind of the token")?;
        let algorithm = text(inner.octets()?, "the algorithm of the token")?;
        let (digits, period, counter) = (inner.integer()?, inner.integer()?, inner.integer()?);
        let secret = inner.optional(OPTIONAL)?.map(|secret| Zeroizing::new(secret.to_vec()));
        inner.finish_extensible(&[OPTIONAL])?;
        Ok(NewToken { name, kind, algorithm, digits, period, counter, secret })
    }

    fn put(&self, w: &mut Writer<'_>) {
        let mark = w.begin(ENROL);
        for word in [&self.name, &self.kind, &self.algorithm] {
            w.octets(OCTET_STRING, word.as_bytes());
        }
        for number in [self.digits, self.period, self.counter] {
            w.integer(INTEGER, number);
        }
        if let Some(secret) = &self.secret {
            w.octets(OPTIONAL, secret);
        }
        w.end(mark);
    }
}

impl SecondFactorAnswer {
    /// From a response value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of a second factor response"))?);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let uri = inner.optional(OPTIONAL)?.map(|uri| text(uri, "the URI").map(Zeroizing::new)).transpose()?;
        let mut tokens = Vec::new();
        if !inner.is_empty() {
            let mut list = inner.sequence()?;
            while !list.is_empty() {
                let mut token = list.sequence()?;
                let name = text(token.octets()?, "the token's name")?;
                let kind = text(token.octets()?, "the kind of the token")?;
                let (digits, is_active) = (token.integer()?, token.boolean()?);
                token.finish_extensible(&[])?;
                tokens.push(KnownToken { name, kind, digits, is_active });
            }
        }
        let is_required = !inner.is_empty() && inner.boolean()?;
        inner.finish_extensible(&[])?;
        Ok(SecondFactorAnswer { uri, tokens, is_required })
    }

    /// To a response value.
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        encoded(|w| {
            if let Some(uri) = &self.uri {
                w.octets(OPTIONAL, uri.as_bytes());
            }
            let list = w.begin(SEQUENCE);
            for token in &self.tokens {
                let mark = w.begin(SEQUENCE);
                w.octets(OCTET_STRING, token.name.as_bytes());
                w.octets(OCTET_STRING, token.kind.as_bytes());
                w.integer(INTEGER, token.digits);
                w.boolean(BOOLEAN, token.is_active);
                w.end(mark);
            }
            w.end(list);
            if self.is_required {
                w.boolean(BOOLEAN, true);
            }
        })
    }
}

fn encoded(put: impl FnOnce(&mut Writer<'_>)) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::new());
    let mut w = Writer::new(&mut out);
    let mark = w.begin(SEQUENCE);
    put(&mut w);
    w.end(mark);
    out
}

fn text(bytes: &[u8], what: &'static str) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| DecodeError::NotUtf8(what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_round_trip(user: String, name: String, words: [String; 2], numbers: [i64; 3],
                             secret: Option<Vec<u8>>, flags: [bool; 2], kind in 0..4) {
            let [word, other] = words;
            let [is_active, is_required] = flags;
            let [digits, period, counter] = numbers;
            let secret = secret.map(Zeroizing::new);
            let action = match kind {
                0 => FactorAction::List,
                1 => FactorAction::Enrol(NewToken {
                    name: name.clone(), kind: word.clone(), algorithm: other.clone(), digits, period, counter, secret,
                }),
                2 => FactorAction::Confirm { name: name.clone(), code: Zeroizing::new(word.clone()) },
                _ => FactorAction::Remove { name: name.clone() },
            };
            let request = SecondFactor { user, action };
            let bytes = request.encode();
            prop_assert_eq!(SecondFactorRequest::decode(Some(&bytes)).unwrap().read(), Ok(request));
            let tokens = vec![KnownToken { name, kind: word, digits, is_active }];
            let answer = SecondFactorAnswer { uri: Some(Zeroizing::new(other)), tokens, is_required };
            prop_assert_eq!(SecondFactorAnswer::decode(Some(&answer.encode())), Ok(answer));
        }

        #[test]
        fn nonsense_is_an_error_and_no_panic(bytes: Vec<u8>) {
            let _ = (SecondFactor::decode(Some(&bytes)), SecondFactorAnswer::decode(Some(&bytes)));
        }
    }
}
