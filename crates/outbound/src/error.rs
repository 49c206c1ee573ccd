//! Why another server could not be asked.

use std::io;
use std::time::Duration;

use ber::FrameError;
use ldap::{DecodeError, LdapResult};

/// Why another server could not be asked, or gave no answer that can be read.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The host has no address.
    #[error("the name {host} has no address: {problem}")]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver says.
        problem: String,
    },
    /// Nobody answers there.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server does not want to begin TLS.
    #[error("StartTLS is refused: {0}")]
    StartTls(Box<LdapResult>),
    /// The connection cannot be bound as configured.
    #[error("the bind as {dn} is refused: {result}")]
    Bind {
        /// As whom.
        dn: String,
        /// What the server says.
        result: Box<LdapResult>,
    },
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(io::Error),
    /// No answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The server ended the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server said that it ends the connection.
    #[error("the server ends the connection: {0}")]
    Disconnected(Box<LdapResult>),
    /// Whoever asked wants no more of the answer.
    #[error("the rest of the answer is not read")]
    Enough,
    /// What comes is no message, or one longer than what is read.
    #[error("the answer cannot be read: {0}")]
    Frame(#[from] FrameError),
    /// The answer is no answer.
    #[error("the answer cannot be read: {0}")]
    Malformed(#[from] DecodeError),
}

impl OutboundError {
    /// Whether a connection that was kept open may just have been closed meanwhile: a new one is worth a try.
    #[must_use]
    pub fn may_be_stale(&self) -> bool {
        matches!(self, OutboundError::Io(_) | OutboundError::Closed | OutboundError::Disconnected(_))
    }
}
