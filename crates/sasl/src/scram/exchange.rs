//! The exchange: the client's first message, the challenge, the proof, the server's signature.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use password::{ScramHash, ScramKeys, prepare};
use subtle::ConstantTimeEq;

use super::binding::{ChannelBindings, LIBLDAP};
use super::fault::ScramFault;
use super::message::{FinalMessage, FirstMessage};
use crate::gs2::BindingFlag;

/// What the server and the connection have to offer.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'b> {
    /// The hash function of the mechanism.
    pub hash: ScramHash,
    /// Whether the mechanism is the one with `-PLUS`.
    pub plus: bool,
    /// Whether the server announces a mechanism with `-PLUS` on this connection.
    pub plus_is_announced: bool,
    /// What the connection can be bound to.
    pub bindings: &'b ChannelBindings,
}

/// The first message of a client: who it says that it is.
#[derive(Debug)]
pub struct ClientFirst<'a> {
    message: FirstMessage<'a>,
    /// What the client has to repeat: the header and the data of the binding.
    binding: Vec<u8>,
    /// The name, prepared for comparison (RFC 4013).
    pub prepared_user: String,
}

/// An exchange that waits for the proof.
#[derive(Clone, Debug)]
pub struct Exchange {
    keys: ScramKeys,
    binding: Vec<u8>,
    nonce: String,
    /// Both first messages, as the proof covers them.
    messages: String,
}

/// The last message of the server, which belongs into the answer that says success.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerFinal(pub Vec<u8>);

impl<'a> ClientFirst<'a> {
    /// Reads the first message.
    ///
    /// # Errors
    /// When it is malformed, or when its channel binding does not go with what is offered.
    pub fn parse(message: &'a [u8], offer: &Offer<'_>) -> Result<Self, ScramFault> {
        let message = FirstMessage::parse(message)?;
        let mut binding = message.header.text.as_bytes().to_vec();
        match (offer.plus, message.header.flag) {
            (false, BindingFlag::None) => {}
            (false, BindingFlag::ServerHasNone) if offer.plus_is_announced => return Err(ScramFault::Downgrade),
            (false, BindingFlag::ServerHasNone) => {}
            // Cyrus SASL leaves -PLUS out of the name of the mechanism that it was told to use.
            (false, BindingFlag::Used(name)) if name != LIBLDAP => return Err(ScramFault::BindingUnexpected),
            (true, BindingFlag::None | BindingFlag::ServerHasNone) => return Err(ScramFault::BindingMissing),
            (_, BindingFlag::Used(name)) => {
                binding.extend(offer.bindings.data(name).ok_or(ScramFault::BindingUnknown)?);
            }
        }
        // A name with characters newer than SASLprep is compared as it is, as clients use it.
        let prepared_user = prepare(&message.user).unwrap_or(Cow::Borrowed(&message.user)).into_owned();
        Ok(ClientFirst { message, binding, prepared_user })
    }

    /// The name as it was sent.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.message.user
    }

    /// Whom the client wants to act as; none: who it authenticates as.
    #[must_use]
    pub fn authzid(&self) -> Option<&str> {
        self.message.header.authzid.as_ref().map(Cow::as_ref)
    }

    /// Asks for the proof. `nonce` is the server's part: visible ASCII without a comma, never used before.
    #[must_use]
    pub fn challenge(self, keys: ScramKeys, nonce: &str) -> (Exchange, Vec<u8>) {
        let nonce = format!("{}{nonce}", self.message.nonce);
        let challenge = format!("r={nonce},s={},i={}", STANDARD.encode(&keys.salt), keys.iterations);
        let messages = format!("{},{challenge}", self.message.bare);
        let exchange = Exchange { keys, binding: self.binding, nonce, messages };
        (exchange, challenge.into_bytes())
    }
}

impl Exchange {
    /// Judges the proof.
    ///
    /// # Errors
    /// When the message is malformed, of another exchange or connection, or the proof is wrong.
    pub fn finish(self, message: &[u8]) -> Result<ServerFinal, ScramFault> {
        let message = FinalMessage::parse(message)?;
        if message.nonce != self.nonce {
            return Err(ScramFault::NonceDiffers);
        }
        if message.binding.ct_ne(&self.binding).into() {
            return Err(ScramFault::BindingDiffers);
        }
        let covered = format!("{},{}", self.messages, message.without_proof);
        let hash = self.keys.hash;
        let signature = hash.hmac(&self.keys.stored_key, covered.as_bytes());
        let client_key: Vec<u8> = signature.iter().zip(&message.proof).map(|(left, right)| left ^ right).collect();
        let is_right = hash.digest(&client_key).ct_eq(&self.keys.stored_key);
        if message.proof.len() != hash.key_bytes() || !bool::from(is_right) {
            return Err(ScramFault::WrongProof);
        }
        let signature = hash.hmac(&self.keys.server_key, covered.as_bytes());
        Ok(ServerFinal(format!("v={}", STANDARD.encode(signature)).into_bytes()))
    }
}
