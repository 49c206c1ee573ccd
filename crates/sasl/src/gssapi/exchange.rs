//! What one step of an exchange comes to.

use thiserror::Error;

use super::layer::LayerFault;

/// How an exchange goes on.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// The client has to answer this.
    Challenge(Vec<u8>),
    /// The client is known.
    Accepted(Accepted),
}

/// A client that has shown a ticket.
#[derive(Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its principal.
    pub client: String,
    /// The server's principal that the ticket is for.
    pub server: String,
    /// Whom the client wants to act as; none: who it is.
    pub authzid: Option<String>,
    /// What it is sent with the success.
    pub last: Option<Vec<u8>>,
}

/// Why an exchange comes to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GssFault {
    /// This program has no Kerberos.
    #[error("This program is built without Kerberos")]
    NotBuilt,
    /// What the library says.
    #[error("Kerberos: {0}")]
    Library(String),
    /// A message is too long, or there are too many.
    #[error("The client's messages are too long or too many")]
    TooMuch,
    /// Between the last ticket and the offer of layers there is nothing to send.
    #[error("The client sent something where nothing was to be sent")]
    NotEmpty,
    /// The choice of a layer.
    #[error(transparent)]
    Layer(#[from] LayerFault),
    /// GSS-SPNEGO has no message in which it could be refused.
    #[error("The client wants to sign or encrypt what follows, which this server leaves to TLS: set maxssf=0")]
    WantsLayer,
    /// A ticket of nobody.
    #[error("The client is anonymous for Kerberos")]
    Anonymous,
    /// Something else than Kerberos was negotiated.
    #[error("The client negotiated another mechanism than Kerberos")]
    NotKerberos,
}
