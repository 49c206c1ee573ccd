//! Why a connection ends.

/// The reason, for the protocol's last words and its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The client said that it is done.
    Goodbye,
    /// The client closed the connection without a word.
    ClientDisconnect,
    /// Refused at the door: address not allowed, or too many connections.
    Rejected,
    /// Reading or writing failed.
    IoError,
    /// Something that the protocol does not allow, or not now.
    ProtocolError,
    /// The client is bound as a user that is gone or has another password.
    InvalidCredentials,
    /// An administrator wants it.
    Administrator,
    /// The server stops.
    ServerShutdown,
    /// A TLS handshake failed or a trusted proxy sent no valid header.
    SecurityProblem,
    /// A request larger than the listener takes.
    MaxRequestSize,
    /// Nothing happened for as long as the client may be idle.
    IdleTimeLimit,
    /// The client did not read for too long.
    IoTimeout,
    /// A defect of the server.
    ServerError,
}

/// What a client is told that may not connect from where it is.
pub(crate) const ADDRESS_NOT_ALLOWED: &str = "connections from this address are not allowed";

/// Why and with what words a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub reason: EndReason,
    /// The words; may be empty.
    pub message: String,
}

impl End {
    /// An end with words of its own.
    pub fn new(reason: EndReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// Whether the client should get to read what was sent last: an answer, or why it is shut out.
    pub(crate) fn is_farewell(&self) -> bool {
        matches!(
            self.reason,
            EndReason::Rejected | EndReason::ProtocolError | EndReason::InvalidCredentials | EndReason::MaxRequestSize
        )
    }
}
