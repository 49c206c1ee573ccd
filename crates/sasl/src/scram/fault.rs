//! Why an exchange of SCRAM fails. The client is told nothing of it.

use thiserror::Error;

use crate::gs2::Gs2Fault;

/// Why an exchange fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScramFault {
    /// A message is too long or no UTF-8.
    #[error("The message is too long or not UTF-8 text")]
    NotText,
    /// The beginning of the first message.
    #[error(transparent)]
    Gs2(#[from] Gs2Fault),
    /// `m=`, which this server does not know.
    #[error("The client demands an extension (m=) that is not supported")]
    MandatoryExtension,
    /// Something is missing, in the wrong place or malformed.
    #[error("The message does not have the form of RFC 5802: {0} is missing or malformed")]
    Form(&'static str),
    /// Empty, too long, or with characters that are not printable.
    #[error("The nonce of the client is not valid")]
    Nonce,
    /// `y` although the server announces `-PLUS`.
    #[error(
        "The client believes that the server has no channel binding, but it announces one: somebody may have \
             removed the mechanisms that end in -PLUS from what the client saw"
    )]
    Downgrade,
    /// A mechanism with `-PLUS` and no binding.
    #[error("A mechanism that ends in -PLUS needs a channel binding, and the client uses none")]
    BindingMissing,
    /// A mechanism without `-PLUS` and a binding.
    #[error("The client uses a channel binding with a mechanism that does not end in -PLUS")]
    BindingUnexpected,
    /// A binding that this connection does not have.
    #[error("The channel binding that the client uses is not available on this connection")]
    BindingUnknown,
    /// The last message is about another header, or another TLS connection.
    #[error("The channel binding is not that of this connection: somebody may be between client and server")]
    BindingDiffers,
    /// The last message belongs to another exchange.
    #[error("The nonce is not the one that was agreed on")]
    NonceDiffers,
    /// The client does not know the password.
    #[error("The proof is wrong")]
    WrongProof,
}
